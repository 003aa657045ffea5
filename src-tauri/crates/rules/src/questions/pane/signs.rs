//! Signs of life and of fault above a composer: spinners, banners, and what was said last.

use sha2::{Digest, Sha256};

use super::layout::Layout;
use super::{Agent, Fault, Ink, Line};

/// Drawn lines above a composer in which a spinner stands: below it may be a tip, a list of tasks or
/// queued messages.
const NEAR: usize = 14;
/// Characters of the last words that are hashed.
const SAID_CAP: usize = 4_000;

fn first(line: &Line) -> Option<char> {
    line.text().chars().next()
}

fn near<'a>(layout: &Layout<'a>) -> impl Iterator<Item = &'a Line> {
    layout.above.iter().rev().filter(|line| !line.is_blank()).take(NEAR)
}

/// The line that says the agent works, as it is drawn now. Two looks at it show whether it moves.
pub(super) fn spinner(agent: Agent, layout: &Layout<'_>) -> Option<String> {
    let found = match agent {
        Agent::Claude => {
            let running = layout.below.iter().any(|line| line.text().contains("esc to interrupt"));
            let is_spinner = |line: &&Line| {
                first(line).is_some_and(is_star) && line.text().chars().any(|c| c == '…')
                    || line.text().contains("esc to interrupt")
            };
            let line = near(layout).take_while(|line| !is_said(Agent::Claude, line)).find(is_spinner);
            line.map(drawn).or_else(|| {
                // Its status says so even where the spinner's own line is not recognised.
                running.then(|| layout.above.iter().map(Line::text).collect::<Vec<_>>().join("\n"))
            })
        }
        Agent::Codex => {
            let is_spinner = |line: &&Line| line.text().contains("s • esc to interrupt)");
            near(layout).find(is_spinner).map(drawn)
        }
        Agent::Generic => {
            let turning = |line: &&Line| {
                let text = line.text().trim_start();
                text.starts_with(|c| ('\u{2801}'..='\u{28ff}').contains(&c)) || is_timer(text)
            };
            let last = layout.above.iter().rev().find(|line| !line.is_blank());
            last.filter(turning).map(drawn)
        }
    };
    // Foreign text of any length; only its identity counts.
    found.map(|text| text.chars().take(2_000).collect())
}

/// A line as it is drawn: a sheen that runs over its letters is movement, too.
fn drawn(line: &Line) -> String {
    let mut text = String::new();
    let mut ink = Ink::default();
    for (c, now) in line.cells() {
        if now != ink {
            ink = now;
            text.push_str(&format!("<{:?}{}>", now.colour, u8::from(now.faint)));
        }
        text.push(c);
    }
    text
}

fn is_star(c: char) -> bool {
    matches!(c, '·' | '✢' | '✳' | '✶' | '✻' | '✽' | '✺' | '*' | '∗')
}

fn is_timer(text: &str) -> bool {
    text.contains("(esc to ") || text.contains("esc to interrupt") || text.contains("(ctrl+c to interrupt")
}

/// A line that begins what somebody said: the agent's own words or tool, or the person's message.
fn is_said(agent: Agent, line: &Line) -> bool {
    match (agent, first(line)) {
        (Agent::Claude, Some('●' | '⏺')) => !line.text().contains("esc to interrupt"),
        (Agent::Claude, Some('❯' | '>')) => true,
        (Agent::Codex, Some('•' | '■' | '✗' | '⚠' | '›')) => {
            !line.text().contains("esc to interrupt")
        }
        (Agent::Claude | Agent::Codex | Agent::Generic, _) => false,
    }
}

/// What begins a notice of the agent's program, not of its model.
const NOTICES: &[&str] = &[
    "API Error",
    "Please run /login",
    "Invalid API key",
    "Not logged in",
    "Credit balance",
    "OAuth",
    "Claude usage limit",
    "You've hit your",
    "You’ve hit your",
    "5-hour limit",
    "Weekly limit",
    "Prompt is too long",
    "Context limit",
    "Context low",
    "Unable to connect",
    "Request timed out",
];

/// What the banner says that the agent stopped at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Banner {
    None,
    /// Its words are there without its colour: the model may have written them.
    Doubtful,
    Fault(Fault),
}

/// The banner that is the last thing said above a composer.
pub(super) fn banner(agent: Agent, layout: &Layout<'_>) -> Banner {
    let Some(from) = layout.above.iter().rposition(|line| is_said(agent, line)) else { return Banner::None };
    let words_of = |line: &Line| line.text().trim_start_matches([' ', '●', '⏺', '⎿', '■']).trim().to_owned();
    let is_notice = |line: &Line| {
        let words = words_of(line);
        match agent {
            // Older ones hang a notice under the person's own words.
            Agent::Claude => NOTICES.iter().any(|start| words.starts_with(start)),
            Agent::Codex => first(line) == Some('■') && !words.starts_with("Conversation interrupted"),
            Agent::Generic => false,
        }
    };
    let opens = |line: &&Line| line.text().trim_start().starts_with(['●', '⏺', '⎿', '■']);
    let Some(line) = layout.above[from..].iter().find(|line| opens(line) && is_notice(line)) else {
        return Banner::None;
    };
    // A notice is drawn in one colour; what a model says after its sign is not coloured.
    let mut inks = line.cells().filter(|(c, _)| *c != ' ').map(|(_, ink)| ink.colour);
    let colour = inks.next().flatten();
    let coloured = colour.is_some() && inks.all(|ink| ink == colour);
    let block = || {
        let rest = layout.above[from..].iter().map(Line::text);
        rest.collect::<Vec<_>>().join(" ").to_lowercase()
    };
    if coloured { Banner::Fault(fault(&block())) } else { Banner::Doubtful }
}

fn fault(words: &str) -> Fault {
    let any = |list: &[&str]| list.iter().any(|word| words.contains(word));
    if any(&["/login", "api key", "not logged in", "oauth", " 401", " 403", "unauthorized", "forbidden"]) {
        Fault::Auth
    } else if any(&["prompt is too long", "context limit", "context low", "context window"]) {
        Fault::Context
    } else if any(&[
        "usage limit",
        "rate limit",
        " 429",
        "too many requests",
        "credit balance",
        "limit reached",
        "hit your",
        "quota",
        "5-hour limit",
        "weekly limit",
    ]) {
        Fault::Limit
    } else if any(&[
        "connection",
        "econn",
        "enotfound",
        "unable to connect",
        "network",
        "timed out",
        "stream disconnected",
        "error sending request",
    ]) {
        Fault::Network
    } else {
        Fault::Service
    }
}

/// Hash of what was said last above a composer: from the agent's last words to the composer, without
/// what moves or is only a hint. Blanks do not count, so that another width does not change it.
pub(super) fn said(agent: Agent, layout: &Layout<'_>) -> String {
    let of_agent = |line: &Line| match agent {
        Agent::Claude => matches!(first(line), Some('●' | '⏺')),
        Agent::Codex => first(line) == Some('•') && !line.text().contains("esc to interrupt"),
        Agent::Generic => false,
    };
    let from = layout.above.iter().rposition(of_agent).unwrap_or(0);
    let kept: Vec<char> = steady(agent, &layout.above[from..]).collect();
    let surplus = kept.len().saturating_sub(SAID_CAP);
    let text: String = kept[surplus..].iter().collect();
    hex::encode(Sha256::digest(text.as_bytes()))
}

/// What is said in lines, without blanks and without what comes and goes beside it.
pub(super) fn steady(agent: Agent, lines: &[Line]) -> impl Iterator<Item = char> + '_ {
    let lines = lines.iter().filter(move |line| !is_passing(agent, line));
    // Block elements draw pictures, and pictures move.
    let is_said = |c: &char| !c.is_whitespace() && !('\u{2580}'..='\u{259f}').contains(c);
    lines.flat_map(move |line| line.text().chars().filter(is_said))
}

/// Lines that come and go beside what is said: spinners, tips, hints at the right edge, faint lines.
fn is_passing(agent: Agent, line: &Line) -> bool {
    let text = line.text();
    let mut drawn = line.cells().filter(|(c, _)| *c != ' ').peekable();
    let faint = drawn.peek().is_some() && drawn.all(|(_, ink)| ink.faint);
    let star = agent == Agent::Claude && first(line).is_some_and(is_star);
    let indent = text.chars().take_while(|c| *c == ' ').count();
    let tip = text.trim_start().trim_start_matches('⎿').trim_start().starts_with("Tip:");
    faint || star || tip || indent >= 40 || text.contains("esc to interrupt")
}
