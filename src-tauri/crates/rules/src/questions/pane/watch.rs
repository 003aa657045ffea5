//! Which panes a tick captures at all.

/// What is remembered of a pane's last look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Last {
    /// tmux's activity time at that look, in seconds of the epoch.
    pub activity: i64,
    /// When the look was made, in seconds of the epoch.
    pub looked_at: i64,
    /// Its state could still change without output (working, unknown, unwatchable, an answer on its way).
    pub hot: bool,
}

/// True when a pane's screen may differ from the last look: it was never looked at, is hot, or was
/// active since. tmux counts whole seconds, so activity within the second of the look counts as later.
pub fn wants_look(activity: i64, last: Option<Last>) -> bool {
    last.is_none_or(|last| last.hot || activity != last.activity || activity >= last.looked_at)
}
