//! Where a typed answer stands on a screen: the proof of each step of its delivery.

use super::layout::Layout;
use super::{Agent, Composer, Line, Screen, modal, signs};

/// Where an answer is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// In the composer, and nothing else is: typed, not submitted.
    Composer,
    /// The composer holds the agent's stand-in for a long paste: typed, not submitted.
    Placeholder,
    /// Not in the composer, which is empty, and in the transcript above it.
    Transcript,
    /// Not in the composer, which is empty, and the agent works.
    Working,
    /// The composer is empty and the answer is nowhere.
    Nowhere,
    /// A prompt is open.
    Modal,
    /// Something else is in the composer, or there is none.
    Other,
}

impl Shown {
    /// True while the answer waits in the composer for its Enter.
    pub fn is_typed(self) -> bool {
        matches!(self, Self::Composer | Self::Placeholder)
    }
}

/// The share of a long answer that is looked for in a transcript, in characters without blanks: agents
/// cut what they repeat.
const REPEATED: usize = 60;

/// Where `answer` stands on this screen. A stand-in in the transcript proves nothing here: whose paste it was
/// does not show.
pub fn shown(agent: Agent, screen: &Screen, answer: &str) -> Shown {
    shown_after(agent, screen, answer, None)
}

/// The same after an Enter on a composer that held our stand-in, with so many sent stand-ins on the screen
/// before it: one more is ours.
pub fn shown_after(agent: Agent, screen: &Screen, answer: &str, pastes: Option<usize>) -> Shown {
    let layout = Layout::of(agent, screen);
    if modal::find(agent, screen, &layout).is_some() {
        return Shown::Modal;
    }
    let ours = squeezed(answer);
    match &layout.composer {
        Composer::None => Shown::Other,
        Composer::Draft { text } => in_composer(&squeezed(text.as_data()), &ours),
        Composer::Empty => {
            if is_in_transcript(layout.above, &ours, pastes) {
                Shown::Transcript
            } else if signs::spinner(agent, &layout).is_some() {
                Shown::Working
            } else {
                Shown::Nowhere
            }
        }
    }
}

/// True when a screen with an open prompt shows the answer above it: then it was sent, since the prompt stands
/// in the composer's place. `screen` is what is visible: what scrolled off may hold an older drawing.
pub fn was_sent(agent: Agent, screen: &Screen, answer: &str, pastes: Option<usize>) -> bool {
    let layout = Layout::of(agent, screen);
    layout.composer == Composer::None && is_in_transcript(layout.above, &squeezed(answer), pastes)
}

fn is_in_transcript(above: &[Line], ours: &str, pastes: Option<usize>) -> bool {
    let start: String = ours.chars().take(REPEATED).collect();
    let said: String = above.iter().map(|line| squeezed(line.text())).collect();
    let pasted = || above.iter().filter(|line| is_sent_paste(line)).count();
    said.contains(&start) || pastes.is_some_and(|before| pasted() > before)
}

/// How many stand-ins of sent pastes the transcript on this screen shows.
pub fn sent_pastes(agent: Agent, screen: &Screen) -> usize {
    Layout::of(agent, screen).above.iter().filter(|line| is_sent_paste(line)).count()
}

fn in_composer(there: &str, ours: &str) -> Shown {
    if there == ours {
        return Shown::Composer;
    }
    // A composer that scrolls shows the end of a long text.
    if there.chars().count() >= REPEATED && ours.ends_with(there) {
        return Shown::Composer;
    }
    if has_stand_in(there, ours) { Shown::Placeholder } else { Shown::Other }
}

/// `[Pasted text #1 +12 lines]` or `[Pasted Content 2048 chars]`, blanks left out, after nothing but the
/// beginning of ours and before nothing but its end, in place of some of it: beside all of ours it is a
/// paste of somebody else's.
fn has_stand_in(there: &str, ours: &str) -> bool {
    let lower = there.to_ascii_lowercase();
    let Some(at) = lower.find("[pastedtext#").or_else(|| lower.find("[pastedcontent")) else { return false };
    let Some(length) = lower[at..].find(']') else { return false };
    let rest = &there[at + length + 1..];
    let rest = rest.strip_suffix("pasteagaintoexpand").unwrap_or(rest);
    ours.starts_with(&there[..at]) && ours.ends_with(rest) && at + rest.len() < ours.len()
}

fn is_sent_paste(line: &Line) -> bool {
    let text = line.text().trim_start_matches(['❯', '›', '>', ' ']);
    text.starts_with("[Pasted text #") || text.starts_with("[Pasted Content")
}

/// Without blanks: agents wrap and indent what they show.
fn squeezed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}
