//! Finds an open prompt: permission, trust, menu (questions.md 2).
//!
//! A prompt is believed only where it can still be answered: in the last lines of the screen, with its
//! structural marks, and with no composer in place.

use super::layout::{Layout, is_rule};
use super::{Agent, Choice, Composer, Line, Modal, Prompt, Screen};
use crate::untrusted::Untrusted;
use sha2::{Digest, Sha256};

/// Drawn lines at the bottom in which an open prompt must stand.
const BOTTOM: usize = 15;
/// Drawn lines under the last choice: hints.
const UNDER: usize = 4;
/// Lines above a list that can be its prompt's.
const SUBJECT: usize = 14;
/// Characters kept of the subject.
const SUBJECT_CAP: usize = 4_000;

/// What only a list that waits for a key says under its rows.
pub(super) const HINTS: &[&str] = &[
    "esc to cancel",
    "enter to confirm",
    "enter to select",
    "enter select",
    "esc to go back",
    "esc back",
    "esc to exit",
    "to navigate",
    "enter to save",
    "enter to continue",
    "use enter to select",
    "use arrow keys",
];

/// How a sentence begins that asks for permission.
const PERMISSION: &[&str] = &[
    "do you want to",
    "would you like to run",
    "would you like to make",
    "would you like to grant",
    "would you like to proceed",
    "do you want to proceed",
    "allow ",
    "apply this change",
    "exit plan mode",
    "claude wants to",
    "approve ",
];

/// The open prompt of a screen, if one is open.
pub(super) fn find(agent: Agent, screen: &Screen, layout: &Layout<'_>) -> Option<Prompt> {
    if layout.composer != Composer::None {
        return None;
    }
    let drawn: Vec<&Line> = screen.lines().iter().filter(|line| !line.is_blank()).collect();
    let from = drawn.len().saturating_sub(BOTTOM);
    let Some(list) = numbered(agent, &drawn, from).or_else(|| unnumbered(agent, &drawn, from)) else {
        return yes_or_no(agent, &drawn);
    };
    let hints: String = drawn[list.end..].iter().map(|line| line.text().to_lowercase() + "\n").collect();
    let above = own_lines(&drawn[..list.start]);
    let title_at = title(agent, above);
    let title = title_at.map_or_else(String::new, |at| inner(above[at]).trim().to_owned());
    let asks = title.ends_with(['?', ':']) || wording(&title);
    let hinted = HINTS.iter().any(|hint| hints.contains(hint) || title.to_lowercase().contains(hint));
    if !(hinted || (list.is_numbered && asks)) {
        return None;
    }
    let subject = subject(above, title_at);
    let modal = kind(&title, &subject, &hints, &list.choices);
    let hash = hash(modal, &title, &subject, &list.choices);
    Some(Prompt {
        modal,
        title: Untrusted::new(title),
        subject: Untrusted::new(subject),
        choices: list.choices,
        hash,
    })
}

struct List {
    choices: Vec<Choice>,
    /// First row of the list and the first below it, among the drawn lines.
    start: usize,
    end: usize,
    is_numbered: bool,
}

/// One numbered row, taken apart.
struct Row<'a> {
    number: u8,
    selected: bool,
    /// Column of the digit.
    column: usize,
    label: &'a str,
}

/// A line without the sides of a box around it.
fn inner(line: &Line) -> &str {
    let text = line.text();
    match text.trim_start().strip_prefix('│') {
        Some(inside) => inside.trim_end().strip_suffix('│').unwrap_or(inside).trim_end(),
        None => text,
    }
}

fn row(agent: Agent, line: &Line) -> Option<Row<'_>> {
    let text = inner(line);
    let rest = text.trim_start();
    let is_mark =
        |c: char| matches!(c, '❯' | '›' | '>' | '▶') || (agent == Agent::Generic && matches!(c, '●' | '→'));
    let selected = rest.starts_with(is_mark);
    let rest = rest.trim_start_matches(is_mark).trim_start();
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let number: u8 = rest.get(..digits)?.parse().ok()?;
    let label = rest[digits..].strip_prefix(['.', ')'])?;
    if !label.starts_with(' ') || label.trim().is_empty() {
        return None;
    }
    let column = text[..text.len() - rest.len()].chars().count();
    Some(Row { number, selected, column, label: label.trim() })
}

/// Two or more rows numbered from 1 in one column, exactly one of them selected.
fn numbered(agent: Agent, drawn: &[&Line], from: usize) -> Option<List> {
    let last = (from..drawn.len()).rev().find(|at| row(agent, drawn[*at]).is_some())?;
    let column = row(agent, drawn[last])?.column;
    let mut want = row(agent, drawn[last])?.number;
    let mut rows = Vec::new();
    let mut at = last;
    loop {
        match row(agent, drawn[at]) {
            Some(found) if found.column == column => {
                if found.number != want {
                    return None;
                }
                rows.push((at, found));
                if want == 1 {
                    break;
                }
                want -= 1;
            }
            Some(_) | None => {
                // Between rows stand only their own continuation, set in deeper than the number, and
                // edges inside the list.
                let depth = inner(drawn[at]).chars().take_while(|c| *c == ' ').count();
                if !is_rule(drawn[at]) && depth < column {
                    return None;
                }
            }
        }
        if at == from {
            return None;
        }
        at -= 1;
    }
    rows.reverse();
    if rows.len() < 2 || rows.iter().filter(|(_, row)| row.selected).count() != 1 {
        return None;
    }
    let start = rows[0].0;
    let after = |at: usize| -> usize {
        let depth = |line: &Line| inner(line).chars().take_while(|c| *c == ' ').count();
        let own = drawn[at + 1..].iter().take_while(|line| depth(line) > column && !is_rule(line));
        at + 1 + own.count()
    };
    let end = after(last);
    if drawn.len() - end > UNDER {
        return None;
    }
    let ends: Vec<usize> = rows.iter().skip(1).map(|(at, _)| *at).chain([end]).collect();
    let choices = rows
        .iter()
        .zip(ends)
        .map(|((at, row), next)| {
            let mut label = row.label.to_owned();
            for line in drawn[at + 1..next].iter().filter(|line| !is_rule(line)) {
                label.push(' ');
                label.push_str(inner(line).trim());
            }
            Choice { digit: Some(row.number), label: Untrusted::new(label), selected: row.selected }
        })
        .collect();
    Some(List { choices, start, end, is_numbered: true })
}

/// Rows without numbers, one behind a mark and the others aligned with its label.
fn unnumbered(agent: Agent, drawn: &[&Line], from: usize) -> Option<List> {
    let is_mark = |c: char| matches!(c, '❯' | '›' | '▶');
    let marked = |line: &Line| inner(line).trim_start().starts_with(is_mark);
    let at = (from..drawn.len()).rev().find(|at| marked(drawn[*at]))?;
    let label_column = |line: &Line| {
        let text = inner(line);
        text.chars().position(|c| c != ' ' && !is_mark(c)).unwrap_or(usize::MAX)
    };
    let column = label_column(drawn[at]);
    let belongs = |line: &Line| label_column(line) == column && !marked(line) && !is_rule(line);
    let start = at - drawn[from..at].iter().rev().take_while(|line| belongs(line)).count();
    let end = at + 1 + drawn[at + 1..].iter().take_while(|line| belongs(line)).count();
    let has_numbers = drawn[start..end].iter().any(|line| row(agent, line).is_some());
    if has_numbers || end - start < 2 || drawn.len() - end > UNDER {
        return None;
    }
    let choices = drawn[start..end]
        .iter()
        .map(|line| Choice {
            digit: None,
            label: Untrusted::new(inner(line).trim_start().trim_start_matches(is_mark).trim()),
            selected: marked(line),
        })
        .collect();
    Some(List { choices, start, end, is_numbered: false })
}

/// `Overwrite notes.md? [y/N]` as the last line of a plain program. It has no row and no key of ours.
fn yes_or_no(agent: Agent, drawn: &[&Line]) -> Option<Prompt> {
    const ENDS: &[&str] = &["[y/n]", "(y/n)", "[yes/no]", "(yes/no)"];
    let line = drawn.last().filter(|_| agent == Agent::Generic)?;
    let title = line.text().trim();
    let asked = title.trim_end_matches([':', '?', ' ']).to_lowercase();
    if !ENDS.iter().any(|end| asked.ends_with(end)) {
        return None;
    }
    let subject = subject(own_lines(&drawn[..drawn.len() - 1]), None);
    let hash = hash(Modal::Permission, title, &subject, &[]);
    Some(Prompt {
        modal: Modal::Permission,
        title: Untrusted::new(title),
        subject: Untrusted::new(subject),
        choices: Vec::new(),
        hash,
    })
}

/// The lines above a list that belong to its prompt: up to the prompt's own edge or the transcript.
fn own_lines<'a, 'b>(above: &'a [&'b Line]) -> &'a [&'b Line] {
    let is_edge = |line: &Line| {
        let text = inner(line);
        is_rule(line) || line.text().starts_with('╭') || text.starts_with(['●', '•', '■', '✗', '❯', '›'])
    };
    let from = above.iter().rposition(|line| is_edge(line)).map_or(0, |at| at + 1);
    &above[from.max(above.len().saturating_sub(SUBJECT))..]
}

/// The sentence that asks. Codex puts it first and its reasons below it; others put it last.
fn title(agent: Agent, above: &[&Line]) -> Option<usize> {
    let words = |at: usize| inner(above[at]).trim();
    let asks = |at: &usize| words(*at).ends_with('?') || wording(words(*at));
    let first = || (0..above.len()).find(|at| wording(words(*at)));
    let near = || (above.len().saturating_sub(3)..above.len()).rev().find(asks);
    let found = match agent {
        Agent::Codex => first().or_else(near),
        Agent::Claude | Agent::Generic => near(),
    };
    found.or_else(|| above.len().checked_sub(1))
}

fn wording(title: &str) -> bool {
    let title = title.to_lowercase();
    PERMISSION.iter().any(|start| title.starts_with(start))
}

/// What the prompt says beside its sentence.
fn subject(above: &[&Line], title: Option<usize>) -> String {
    let inner_rule = |text: &str| text.chars().all(|c| c == '╌' || c == '┈');
    let kept = above
        .iter()
        .enumerate()
        .filter(|(at, _)| Some(*at) != title)
        .map(|(_, line)| inner(line).trim())
        .filter(|text| !inner_rule(text) && !text.starts_with("Tip:"));
    kept.collect::<Vec<_>>().join("\n").chars().take(SUBJECT_CAP).collect()
}

fn kind(title: &str, subject: &str, hints: &str, choices: &[Choice]) -> Modal {
    let label = |choice: &Choice| choice.label.as_data().to_lowercase();
    let trusts = |text: &str| text.contains("trust") || text.contains("bypass permissions");
    let whole = format!("{title}\n{subject}").to_lowercase();
    if choices.iter().any(|choice| trusts(&label(choice))) || (trusts(&whole) && !wording(title)) {
        return Modal::Trust;
    }
    // A question of the agent's own, drawn by the agent's program, can be moved through.
    if hints.contains("to navigate") {
        return Modal::Menu;
    }
    let yes = choices.iter().any(|choice| label(choice).starts_with("yes"));
    let no = choices.iter().any(|choice| label(choice).starts_with("no"));
    if wording(title) && (yes || no) { Modal::Permission } else { Modal::Menu }
}

fn hash(modal: Modal, title: &str, subject: &str, choices: &[Choice]) -> String {
    let mut hasher = Sha256::new();
    let mut part = |text: &str| {
        // Without blanks, so that the same prompt in another width is the same prompt.
        let squeezed: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        hasher.update((squeezed.len() as u64).to_be_bytes());
        hasher.update(squeezed);
    };
    part(match modal {
        Modal::Permission => "permission",
        Modal::Trust => "trust",
        Modal::Menu => "menu",
    });
    part(title);
    part(subject);
    for choice in choices {
        part(choice.label.as_data());
    }
    hex::encode(hasher.finalize())
}
