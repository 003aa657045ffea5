//! Keeps the configuration in force while the file changes under it.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use notify_debouncer_full::notify::{RecommendedWatcher, RecursiveMode};
use notify_debouncer_full::{DebounceEventResult, Debouncer, RecommendedCache, new_debouncer};
use sha2::{Digest, Sha256};
use tokio::sync::watch;

use super::problem::{Problem, Severity};
use super::raw::{MAX_BYTES, Spot};
use super::{Checked, Config, Effective, check};
use crate::home::Home;

/// Where the configuration in force was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadedFrom {
    /// There is no file.
    Defaults,
    File,
    /// The file cannot be read or does not parse; this is the last one that did.
    LastGood,
}

/// A configuration in force.
#[derive(Debug, Clone)]
pub struct Loaded {
    pub config: Config,
    pub problems: Vec<Problem>,
    pub effective: Vec<Effective>,
    pub from: LoadedFrom,
    /// SHA-256 of the text the configuration was made from.
    pub text_hash: String,
}

/// The configuration of a home, read again when its file changes.
pub struct ConfigWatch {
    shared: Arc<Shared>,
    _watcher: Option<Debouncer<RecommendedWatcher, RecommendedCache>>,
}

struct Shared {
    file: PathBuf,
    kept: PathBuf,
    person: Option<PathBuf>,
    current: ArcSwap<Loaded>,
    /// One reading at a time, so that an older text never lands on a newer one.
    reading: Mutex<()>,
    changed: watch::Sender<u64>,
}

impl ConfigWatch {
    /// Reads the file. It is looked at again whenever [`ConfigWatch::reread`] is called.
    pub fn open(home: &Home, person: Option<PathBuf>) -> Self {
        let shared = Shared {
            file: home.config_file(),
            kept: home.data_dir().join("config.last-good.yaml"),
            person,
            current: ArcSwap::from_pointee(defaults(None)),
            reading: Mutex::new(()),
            changed: watch::Sender::new(0),
        };
        shared.reread();
        Self { shared: Arc::new(shared), _watcher: None }
    }

    /// Reads the file and watches its folder: editors write a new file and rename it.
    pub fn watch(home: &Home, person: Option<PathBuf>) -> Result<Self, notify_debouncer_full::notify::Error> {
        let mut opened = Self::open(home, person);
        let shared = Arc::clone(&opened.shared);
        let mut watcher =
            new_debouncer(Duration::from_millis(200), None, move |events: DebounceEventResult| {
                // After an error some events may be lost, so the file is read in that case too.
                let ours = |path: &PathBuf| path.file_name() == shared.file.file_name();
                if events.is_err()
                    || events.is_ok_and(|events| events.iter().any(|event| event.paths.iter().any(ours)))
                {
                    shared.reread();
                }
            })?;
        watcher.watch(home.config_dir(), RecursiveMode::NonRecursive)?;
        // A change between the reading and the watching is not missed.
        opened.shared.reread();
        opened._watcher = Some(watcher);
        Ok(opened)
    }

    /// The configuration in force.
    pub fn current(&self) -> Arc<Loaded> {
        self.shared.current.load_full()
    }

    /// Reads the file now and gives what is in force then: before every decision that spends money or
    /// speaks. Blocks for the reading of one small file.
    pub fn reread(&self) -> Arc<Loaded> {
        self.shared.reread();
        self.current()
    }

    /// Counts the changes of what is in force or of what is wrong with the file.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.shared.changed.subscribe()
    }
}

impl Shared {
    fn reread(&self) {
        let _turn = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.current.load_full();
        let loaded = self.load(&before);
        let same = loaded.from == before.from
            && loaded.text_hash == before.text_hash
            && loaded.problems == before.problems;
        if !same {
            self.current.store(Arc::new(loaded));
            self.changed.send_modify(|count| *count += 1);
        }
    }

    fn load(&self, before: &Loaded) -> Loaded {
        match self.settled(before) {
            Ok(None) => defaults(None),
            Ok(Some(text)) => match check(&text, self.person.as_deref()) {
                Ok(checked) => {
                    let mut loaded = loaded(checked, LoadedFrom::File, &text);
                    if loaded.text_hash != before.text_hash || before.from != LoadedFrom::File {
                        loaded.problems.extend(self.keep(&text).err());
                    }
                    loaded
                }
                Err(problem) => self.last_good(problem),
            },
            Err(problem) => self.last_good(problem),
        }
    }

    /// The text of the file. Editors empty or remove a file for an instant before the new text is
    /// there; what such an instant says would cancel reviews, so it is looked at again.
    fn settled(&self, before: &Loaded) -> Result<Option<String>, Problem> {
        let had_text = before.from != LoadedFrom::Defaults;
        for _ in 0..5 {
            let text = self.read()?;
            let is_instant = had_text && text.as_deref().is_none_or(|text| text.trim().is_empty());
            if !is_instant {
                return Ok(text);
            }
            std::thread::sleep(Duration::from_millis(30));
        }
        self.read()
    }

    fn read(&self) -> Result<Option<String>, Problem> {
        let fatal = |message: String| Problem::at(Severity::Fatal, Spot::default(), "", message);
        let file = match fs::File::open(&self.file) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(fatal(format!("the file cannot be read: {error}"))),
        };
        let mut bytes = Vec::new();
        file.take(MAX_BYTES as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| fatal(format!("the file cannot be read: {error}")))?;
        String::from_utf8(bytes).map(Some).map_err(|error| {
            let line = 1 + error.as_bytes()[..error.utf8_error().valid_up_to()]
                .iter()
                .filter(|byte| **byte == b'\n')
                .count();
            let spot = Spot { line: line as u32, column: 1, ..Spot::default() };
            Problem::at(Severity::Fatal, spot, "", "the file is not UTF-8 text")
        })
    }

    /// What was in force before the file broke, also in an earlier run.
    fn last_good(&self, problem: Problem) -> Loaded {
        let kept = fs::read_to_string(&self.kept).ok();
        let checked = kept.as_deref().and_then(|text| check(text, self.person.as_deref()).ok());
        match (checked, kept) {
            (Some(mut checked), Some(text)) => {
                let note = problem.hint("the last file that could be read stays in force");
                checked.problems = vec![note];
                loaded(checked, LoadedFrom::LastGood, &text)
            }
            _ => defaults(Some(problem.hint("no earlier file is known, so everything is off"))),
        }
    }

    fn keep(&self, text: &str) -> Result<(), Problem> {
        write_private(&self.kept, text.as_bytes()).map_err(|error| {
            let message = format!("a copy of this file could not be kept for later: {error}");
            Problem::at(Severity::Warning, Spot::default(), "", message)
        })
    }
}

fn loaded(checked: Checked, from: LoadedFrom, text: &str) -> Loaded {
    Loaded {
        config: checked.config,
        problems: checked.problems,
        effective: checked.effective,
        from,
        text_hash: hex::encode(Sha256::digest(text)),
    }
}

fn defaults(problem: Option<Problem>) -> Loaded {
    let checked = check("", None).expect("BUG: an empty configuration is always valid");
    let mut loaded = loaded(checked, LoadedFrom::Defaults, "");
    loaded.problems.extend(problem);
    loaded
}

/// Writes a file whole or not at all, readable by the person alone.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let temporary = PathBuf::from(name);
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options
        .open(&temporary)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}
