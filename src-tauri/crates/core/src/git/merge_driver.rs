//! The structured merge driver as a command of git: `%O %A %B %P`, three files of which ours becomes the
//! result (engine.md 7).

use std::io::{Read, Write};
use std::path::Path;

use steward_rules::engine::drivers::{self, Refusal, Versions};
use steward_rules::engine::policy::DriverKind;

use super::runner::{Git, Limits};

/// Longest version of a file.
const MOST: u64 = 64 << 20;

/// Why a file is not merged.
#[derive(Debug, thiserror::Error)]
pub enum NotMerged {
    #[error("{0}")]
    Refused(#[from] Refusal),
    #[error("could not {doing}: {source}")]
    Io { doing: &'static str, source: std::io::Error },
    #[error("one version is longer than {MOST} bytes, or no text")]
    NoText,
    #[error(transparent)]
    Git(#[from] super::GitError),
}

impl NotMerged {
    /// What git is told: 1 cannot, 3 not a keyed file, 5 a real conflict.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Refused(refusal) => u8::try_from(refusal.exit_code()).unwrap_or(1),
            Self::Io { .. } | Self::NoText | Self::Git(_) => 1,
        }
    }
}

/// Merges three versions of a file and leaves the result in the place of ours: whole, or not at all.
/// Plain text that both sides changed is merged by git's own lines, and any conflict refuses.
pub fn merge_files(
    git: &Git,
    kind: &DriverKind,
    union_keys: &[String],
    [base, ours, theirs]: [&Path; 3],
) -> Result<(), NotMerged> {
    let (below, our, their) = (read(base)?, read(ours)?, read(theirs)?);
    let base_text = (!below.is_empty()).then_some(below.as_str());
    let versions = Versions { base: base_text, ours: &our, theirs: &their };
    let merged = match drivers::merge(kind, union_keys, &versions) {
        Err(Refusal::PlainText) => by_lines(git, [base, ours, theirs])?,
        made => made?.into_bytes(),
    };
    let io = |doing| move |source| NotMerged::Io { doing, source };
    let folder = ours.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let fresh = folder.join(format!(".steward-merge-{}", std::process::id()));
    let mut out = std::fs::File::options()
        .write(true)
        .create_new(true)
        .open(&fresh)
        .map_err(io("write beside the file"))?;
    let written = out.write_all(&merged).and_then(|()| out.sync_all());
    let put = written.and_then(|()| {
        std::fs::set_permissions(&fresh, std::fs::metadata(ours)?.permissions())?;
        std::fs::rename(&fresh, ours)
    });
    if put.is_err() {
        let _gone_already = std::fs::remove_file(&fresh);
    }
    put.map_err(io("put the result in place"))
}

fn by_lines(git: &Git, [base, ours, theirs]: [&Path; 3]) -> Result<Vec<u8>, NotMerged> {
    let here = std::env::current_dir()
        .map_err(|source| NotMerged::Io { doing: "find the folder this runs in", source })?;
    let mut args = vec!["merge-file".into(), "-p".into(), "--quiet".into()];
    args.extend([ours, base, theirs].map(|file| here.join(file).into_os_string()));
    let mut out = Vec::new();
    let call = git.call(Path::new("/"), args).limits(Limits { bytes: 3 * MOST, ..Limits::SHORT });
    let made = call.stream(|chunk| {
        out.extend_from_slice(chunk);
        Ok(super::Flow::More)
    });
    match made {
        Ok(()) => Ok(out),
        // Its exit code is the number of conflicts.
        Err(super::GitError::Failed { .. }) => Err(Refusal::PlainText.into()),
        Err(error) => Err(error.into()),
    }
}

fn read(path: &Path) -> Result<String, NotMerged> {
    let io = |source| NotMerged::Io { doing: "read a version", source };
    let file = std::fs::File::open(path).map_err(io)?;
    let mut bytes = Vec::new();
    file.take(MOST + 1).read_to_end(&mut bytes).map_err(io)?;
    if bytes.len() as u64 > MOST {
        return Err(NotMerged::NoText);
    }
    String::from_utf8(bytes).map_err(|_| NotMerged::NoText)
}
