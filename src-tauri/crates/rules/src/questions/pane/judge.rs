//! One verdict over one look, or over two looks two seconds apart.

use super::layout::Layout;
use super::signs::{self, Banner};
use super::{Agent, Composer, Fault, Judgement, PaneState, Screen, Seen, Unsure, is_shell, modal};

/// Says what a pane shows. `foreground` is the program in front at the (last) look.
///
/// A prompt and a fault are said from one look. Work needs two: a spinner counts when it moved. Idle
/// needs two as well, with nothing above the composer moving between them; silence alone is nothing.
pub fn judge(agent: Agent, foreground: &str, seen: &Seen) -> Judgement {
    let (first, second) = match seen {
        Seen::Failed { .. } => return bare(PaneState::Unwatchable),
        Seen::Looked { first, second } => (first, second.as_ref()),
    };
    let now = second.unwrap_or(first);
    if is_shell(foreground) && agent != Agent::Generic {
        return bare(PaneState::Error { fault: Fault::Ended });
    }
    if now.is_empty() {
        return bare(PaneState::Unknown { why: Unsure::Empty });
    }
    let layout = Layout::of(agent, now);
    if let Some(prompt) = modal::find(agent, now, &layout) {
        return bare(PaneState::Waiting { prompt });
    }
    let state = settle(agent, &layout, first, second);
    let question = (layout.composer != Composer::None).then(|| signs::said(agent, &layout));
    let busy = signs::spinner(agent, &layout).is_some();
    Judgement { state, composer: layout.composer, busy, question }
}

fn bare(state: PaneState) -> Judgement {
    Judgement { state, composer: Composer::None, busy: false, question: None }
}

fn settle(agent: Agent, layout: &Layout<'_>, first: &Screen, second: Option<&Screen>) -> PaneState {
    let unknown = |why| PaneState::Unknown { why };
    if let Some(spinner) = signs::spinner(agent, layout) {
        if second.is_none() {
            return unknown(Unsure::LookAgain);
        }
        let before = signs::spinner(agent, &Layout::of(agent, first));
        return if before.as_deref() == Some(spinner.as_str()) {
            unknown(Unsure::Stuck)
        } else {
            PaneState::Working
        };
    }
    match signs::banner(agent, layout) {
        Banner::Fault(fault) => return PaneState::Error { fault },
        Banner::Doubtful => return unknown(Unsure::Unrecognised),
        Banner::None => {}
    }
    if layout.composer == Composer::None {
        return unknown(Unsure::Unrecognised);
    }
    if second.is_none() {
        return unknown(Unsure::LookAgain);
    }
    let before = Layout::of(agent, first);
    let same = signs::steady(agent, before.above).eq(signs::steady(agent, layout.above));
    if before.composer != Composer::None && same { PaneState::Idle } else { unknown(Unsure::LookAgain) }
}

/// What a member with an empty capture is: unknown at first, unwatchable from the second tick in a row.
pub fn after_empty_ticks(state: PaneState, empty_before: u32) -> PaneState {
    let is_empty = state == PaneState::Unknown { why: Unsure::Empty };
    if is_empty && empty_before > 0 { PaneState::Unwatchable } else { state }
}
