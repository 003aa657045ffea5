//! The findings of a submission, with what they cite at the head and their life from before.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use steward_rules::diff::Diff;
use steward_rules::ids::ReviewId;
use steward_rules::review::findings::{
    ExcerptLine, Finding, FreshFinding, Life, carry as carry_on, cited_hash,
};
use steward_rules::review::submission::Submission;
use steward_rules::untrusted::Untrusted;

use super::digesting::Prepared;
use crate::git::export;

/// Lines shown before and after the cited one.
const CONTEXT: u32 = 3;
/// A shown line is cut here.
const LINE: usize = 400;
/// A file longer than this has no excerpt.
const FILE: u64 = 4 << 20;

/// Gives the findings of this review, the seat's and Steward's own, and the earlier ones their states.
pub(super) fn carry(review: ReviewId, prepared: &Prepared, submission: &Submission) -> Vec<Finding> {
    let diff = prepared.observed.diff().ok();
    let mut fresh = Vec::new();
    for finding in &submission.findings {
        let (content, excerpt) = cited(prepared, diff, &finding.file, finding.line);
        let excerpt = named_only(excerpt);
        fresh.push(FreshFinding::submitted(finding, content, excerpt));
    }
    for own in &prepared.table.own_findings {
        let (content, excerpt) = cited(prepared, diff, &own.file, own.line);
        let excerpt = named_only(excerpt);
        fresh.push(FreshFinding::own(own, content, excerpt));
    }
    let life = Life {
        review,
        earlier: &prepared.earlier,
        answers: &submission.earlier,
        marks: &prepared.marks,
        lines_changed: &|finding| lines_changed(prepared, finding),
        // No check of a finding is ever run: a branch could say anything in it.
        check_passes: &|_| None,
    };
    carry_on(&life, fresh)
}

/// The submission without the secrets that the seat repeats.
pub(super) fn without_secrets(mut said: Submission) -> Submission {
    let clean = |text: &mut Untrusted| {
        let redacted = redacted(text.as_data());
        if redacted != text.as_data() {
            *text = Untrusted::new(redacted);
        }
    };
    clean(&mut said.summary);
    for finding in &mut said.findings {
        clean(&mut finding.title);
        clean(&mut finding.why);
        clean(&mut finding.check);
        finding.severity.iter_mut().for_each(clean);
    }
    said.frames.iter_mut().for_each(|frame| clean(&mut frame.observation));
    said
}

/// A possible secret is named, never shown.
fn named_only(excerpt: Vec<ExcerptLine>) -> Vec<ExcerptLine> {
    excerpt.into_iter().map(|line| ExcerptLine { text: redacted(&line.text), ..line }).collect()
}

fn redacted(text: &str) -> String {
    steward_rules::secret::Engine::shared().redact(text)
}

/// The cited line and the lines around it: at the head, or before the change when the file went.
fn cited(prepared: &Prepared, diff: Option<&Diff>, file: &str, line: u32) -> (String, Vec<ExcerptLine>) {
    let (export, folders) = (&prepared.export, &prepared.folders);
    let read = || text_of(&folders.tree(), &export.tree, file);
    let Some(text) = read().or_else(|| text_of(&folders.base(), &export.base, file)) else {
        return (String::new(), Vec::new());
    };
    let added: Vec<u32> = diff
        .into_iter()
        .flat_map(|diff| &diff.files)
        .filter(|changed| changed.path.shown() == file)
        .flat_map(|changed| changed.hunks.iter().flat_map(|hunk| hunk.added.iter().map(|line| line.number)))
        .collect();
    let mut content = String::new();
    let mut excerpt = Vec::new();
    for (number, text) in (1_u32..).zip(text.lines()) {
        if number == line {
            content = text.to_owned();
        }
        if number.abs_diff(line) <= CONTEXT {
            excerpt.push(ExcerptLine {
                number,
                text: text.chars().take(LINE).collect(),
                cited: number == line,
                added: added.contains(&number),
            });
        }
    }
    (content, excerpt)
}

/// Whether the lines an earlier finding cites are gone from its file. What was left out of the export
/// was not read, so nothing is believed of it.
fn lines_changed(prepared: &Prepared, finding: &Finding) -> bool {
    match text_of(&prepared.folders.tree(), &prepared.export.tree, &finding.file) {
        Some(text) => !text.lines().any(|line| cited_hash(line) == finding.cited),
        None => !prepared.export.left_out.iter().any(|(path, _)| path.shown() == finding.file),
    }
}

/// A text file of the export, by the name that the digest gives it: that of a name which is no UTF-8
/// is not the name on disk.
fn text_of(root: &Path, written: &[export::Written], shown: &str) -> Option<String> {
    let file = written.iter().find(|file| file.path.shown() == shown)?;
    if file.bytes > FILE {
        return None;
    }
    let path = root.join(OsStr::from_bytes(file.path.raw()));
    let meta = std::fs::symlink_metadata(&path).ok()?;
    if !meta.is_file() || meta.len() > FILE {
        return None;
    }
    Some(String::from_utf8_lossy(&std::fs::read(path).ok()?).into_owned())
}
