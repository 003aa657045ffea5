//! Logs: one file per day, no secret in it, no character that moves a terminal.

use std::borrow::Cow;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use chrono::{DateTime, Duration, NaiveDate, Utc};
use secrecy::{ExposeSecret, SecretString};
use steward_rules::untrusted::is_hidden;
use tracing::Subscriber;
use tracing_appender::rolling::{RollingFileAppender, Rotation};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;

/// What stands where a secret stood.
const MASK: &str = "[secret]";
/// Characters of one line; the rest is left away.
const LINE: usize = 8_000;
/// Bytes of one line that are looked through for secrets. More than is written, so that the end of
/// what is written is no half of one.
const LOOKED_AT: usize = 8 * LINE;
/// A shorter literal would mask ordinary words.
const SHORTEST: usize = 6;

/// Replaces secrets in text: the registered ones in every form they travel in, and what the rules find.
/// Everything that leaves the process as text goes through it.
#[derive(Clone)]
pub struct Scrub {
    literals: Arc<RwLock<Vec<String>>>,
    rules: Arc<dyn Fn(&str) -> String + Send + Sync>,
}

impl Scrub {
    /// A scrub with these rules; `rules` gives the text back without what they match.
    pub fn new(rules: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        Self { literals: Arc::default(), rules: Arc::new(rules) }
    }

    /// Masks this secret from now on, plain, in base64 at any alignment, and URL-encoded.
    pub fn register(&self, secret: &SecretString) {
        let text = secret.expose_secret().trim();
        if text.len() < SHORTEST {
            return;
        }
        let mut literals = self.literals.write().unwrap_or_else(PoisonError::into_inner);
        for form in forms(text) {
            if !literals.contains(&form) {
                literals.push(form);
            }
        }
        // Longest first, so that a form inside another leaves no rest of the longer one.
        literals.sort_by_key(|form| std::cmp::Reverse(form.len()));
    }

    /// The text without secrets.
    pub fn clean(&self, text: &str) -> String {
        let mut text = Cow::Borrowed(text);
        for literal in self.literals.read().unwrap_or_else(PoisonError::into_inner).iter() {
            if text.contains(literal.as_str()) {
                text = Cow::Owned(text.replace(literal.as_str(), MASK));
            }
        }
        (self.rules)(&text)
    }
}

fn forms(secret: &str) -> Vec<String> {
    let mut forms = vec![secret.to_owned(), url_encoded(secret)];
    for lead in 0..3_usize {
        // With `lead` bytes before it (as in `user:secret`), the digits that hold only bytes of the
        // secret are the same whatever stands around it.
        let padded = [vec![0; lead], secret.as_bytes().to_vec()].concat();
        let skip = (lead * 8).div_ceil(6);
        let keep = padded.len() * 8 / 6;
        for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
            let encoded = engine.encode(&padded);
            forms.extend(encoded.get(skip..keep).filter(|form| form.len() >= SHORTEST).map(str::to_owned));
        }
    }
    forms
}

fn url_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => encoded.push(byte.into()),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    #[error("could not open a log in {0}: {1}")]
    Open(String, String),
    #[error("logging was started already")]
    Twice,
}

/// Starts logging to `<date>.log` in `folder`, with the level from `STEWARD_LOG` (`info` when unset).
pub fn start(folder: &Path, scrub: Scrub) -> Result<(), TelemetryError> {
    let filter = std::env::var("STEWARD_LOG").unwrap_or_default();
    let subscriber = subscriber(folder, scrub, &filter)?;
    tracing::subscriber::set_global_default(subscriber).map_err(|_| TelemetryError::Twice)
}

/// The subscriber that [`start`] installs.
pub fn subscriber(
    folder: &Path,
    scrub: Scrub,
    filter: &str,
) -> Result<impl Subscriber + Send + Sync + use<>, TelemetryError> {
    let failed = |error: String| TelemetryError::Open(folder.display().to_string(), error);
    let files = RollingFileAppender::builder()
        .rotation(Rotation::DAILY)
        .filename_suffix("log")
        .build(folder)
        .map_err(|error| failed(error.to_string()))?;
    let filter = EnvFilter::builder().with_default_directive(tracing::Level::INFO.into()).parse_lossy(filter);
    let lines = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(Lines { files, scrub });
    Ok(tracing_subscriber::registry().with(filter).with(lines))
}

/// Removes the logs of days that lie further back than `days`; gives how many.
pub fn prune(folder: &Path, now: DateTime<Utc>, days: u32) -> io::Result<usize> {
    let oldest = (now - Duration::days(days.into())).date_naive();
    let mut removed = 0;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let date = name.strip_suffix(".log").and_then(|date| date.parse::<NaiveDate>().ok());
        if date.is_some_and(|date| date < oldest) {
            fs::remove_file(&path)?;
            removed += 1;
        }
    }
    Ok(removed)
}

struct Lines {
    files: RollingFileAppender,
    scrub: Scrub,
}

/// One event on its way to the file.
struct Line<'a> {
    lines: &'a Lines,
    bytes: Vec<u8>,
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Line<'a>;
    fn make_writer(&'a self) -> Line<'a> {
        Line { lines: self, bytes: Vec::new() }
    }
}

impl Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Line<'_> {
    fn drop(&mut self) {
        let text = String::from_utf8_lossy(&self.bytes);
        let text = text.trim_end_matches('\n');
        let text = &text[..text.floor_char_boundary(LOOKED_AT)];
        if text.is_empty() {
            return;
        }
        let mut line = one_line(&self.lines.scrub.clean(text));
        line.push('\n');
        // A log that cannot be written must not stop the work it tells about.
        let _ = self.lines.files.make_writer().write_all(line.as_bytes());
    }
}

/// The text as one line that moves nothing on a terminal.
fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len().min(2 * LINE));
    for (count, c) in text.chars().enumerate() {
        match c {
            _ if count == LINE => {
                line.push('…');
                break;
            }
            '\n' => line.push_str("\\n"),
            '\t' => line.push(' '),
            c if is_hidden(c) => {
                line.push_str(&format!("\\u{{{:x}}}", u32::from(c)));
            }
            c => line.push(c),
        }
    }
    line
}
