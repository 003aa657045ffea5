//! What the pane of a watched agent shows, judged by facts alone (questions.md 2 and 3).
//!
//! Facts may prove `working`, `error`, a prompt or an idle composer. That something is a *question* is
//! never said here: that is for the watcher seat or a NEED.

mod address;
mod judge;
mod layout;
mod modal;
mod screen;
mod shown;
mod signs;
mod state;
mod watch;
mod witness;

pub use address::{Agent, PaneId, PaneIdError, PaneIdentity, is_shell};
pub use judge::{after_empty_ticks, judge};
pub use screen::{Ink, Line, Screen};
pub use shown::{Shown, sent_pastes, shown, shown_after, was_sent};
pub use state::{Choice, Composer, Fault, Judgement, Modal, PaneState, Prompt, Seen, Unsure};
pub use watch::{Last, wants_look};
pub use witness::{composer_lines, prompt_marks};
