//! Where on a screen its agent's composer stands, and what is above and below it.

use super::{Agent, Composer, Line, Screen};
use crate::untrusted::Untrusted;

/// A screen taken apart. Without a composer everything is `above`.
#[derive(Debug)]
pub(super) struct Layout<'a> {
    pub above: &'a [Line],
    pub composer: Composer,
    pub below: &'a [Line],
}

/// Lines under a composer: status, hints, a queue.
const BELOW_CAP: usize = 8;
/// A rule is at least this wide: agents draw it over the whole pane.
const RULE_WIDTH: usize = 10;

impl<'a> Layout<'a> {
    pub fn of(agent: Agent, screen: &'a Screen) -> Self {
        let lines = screen.lines();
        let found = match agent {
            Agent::Claude => between_rules(lines).or_else(|| in_a_box(lines)),
            Agent::Codex => after_sign(lines),
            Agent::Generic => in_a_box(lines).or_else(|| last_line(lines)),
        };
        match found {
            Some(field) => Self {
                above: &lines[..field.top],
                composer: field.content,
                below: lines.get(field.bottom + 1..).unwrap_or_default(),
            },
            None => Self { above: lines, composer: Composer::None, below: &[] },
        }
    }
}

/// The rows a composer takes, edges included.
struct Field {
    top: usize,
    bottom: usize,
    content: Composer,
}

/// True for a line that is drawn as an edge from side to side.
pub(super) fn is_rule(line: &Line) -> bool {
    let text = line.text().trim();
    text.chars().count() >= RULE_WIDTH && text.chars().all(|c| matches!(c, '─' | '━' | '▔' | '▁'))
}

/// A row like `❯ 1. Yes`: a selected row of a list, not something typed.
fn is_numbered(text: &str) -> bool {
    let digits = text.trim_start().bytes().take_while(u8::is_ascii_digit).count();
    digits > 0 && text.trim_start()[digits..].starts_with(['.', ')'])
}

/// Claude Code: `❯ …` between two rules.
fn between_rules(lines: &[Line]) -> Option<Field> {
    let bottom = lines.iter().rposition(is_rule)?;
    if lines[bottom + 1..].iter().filter(|line| !line.is_blank()).count() > BELOW_CAP {
        return None;
    }
    // The upper edge may carry a name: it only has to begin as a rule.
    let edge = |line: &Line| line.text().chars().take_while(|c| *c == '─').count() >= RULE_WIDTH;
    let top = lines[..bottom].iter().rposition(|line| edge(line) || is_scrolled(line))?;
    let field = &lines[top + 1..bottom];
    if is_scrolled(&lines[top]) {
        // A long text: its beginning, and the sign before it, are above what is shown.
        let indented = field.iter().all(|line| line.is_blank() || line.text().starts_with("  "));
        let content = read(field, 0, |line| line.text().chars().count());
        return indented.then_some(Field { top, bottom, content });
    }
    let sign = field.first()?.text().chars().next()?;
    let content = match sign {
        '❯' | '>' if is_numbered(&field[0].text()[sign.len_utf8()..]) => return None,
        '❯' | '>' => read(field, 1, |line| line.text().chars().count()),
        // Another sign is another mode, in which the same words would be a command.
        '!' | '#' | '&' => Composer::Draft { text: Untrusted::new(text_of(field)) },
        _anything_else => return None,
    };
    Some(Field { top, bottom, content })
}

/// The upper edge of a composer that shows the end of a long text: `─── ↑ 3 more ─────`.
fn is_scrolled(line: &Line) -> bool {
    let text = line.text();
    let words = text.trim_matches('─').trim();
    let count = words.strip_prefix("↑ ").and_then(|rest| rest.strip_suffix(" more"));
    text.starts_with('─')
        && text.ends_with('─')
        && count.is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()))
}

/// Older Claude Code and others: `│ > … │` inside a box.
fn in_a_box(lines: &[Line]) -> Option<Field> {
    let bottom = lines.iter().rposition(|line| line.text().trim_start().starts_with('╰'))?;
    if lines[bottom + 1..].iter().filter(|line| !line.is_blank()).count() > BELOW_CAP {
        return None;
    }
    let top = lines[..bottom].iter().rposition(|line| line.text().trim_start().starts_with('╭'))?;
    let field = &lines[top + 1..bottom];
    let inside = field.first()?.text().trim_start().strip_prefix('│')?.trim_start();
    let sign = inside.chars().next().filter(|c| matches!(c, '❯' | '>' | '›' | '!' | '#'))?;
    if is_numbered(&inside[sign.len_utf8()..]) {
        return None;
    }
    if matches!(sign, '!' | '#') {
        return Some(Field {
            top,
            bottom,
            content: Composer::Draft { text: Untrusted::new(text_of(field)) },
        });
    }
    let skip = field[0].text().chars().position(|c| c == sign)? + 1;
    let end = |line: &Line| line.text().chars().count().saturating_sub(1);
    if !field.iter().all(|line| line.text().trim_end().ends_with('│')) {
        return None;
    }
    Some(Field { top, bottom, content: read(field, skip, end) })
}

/// Codex: a `›` that is not faint (its transcript draws the person's words behind a faint one), then
/// rows up to the blank line above the footer.
fn after_sign(lines: &[Line]) -> Option<Field> {
    let is_sign = |line: &Line| line.cells().next().is_some_and(|(c, ink)| c == '›' && !ink.faint);
    let top = lines.iter().rposition(is_sign)?;
    if is_numbered(lines[top].text().trim_start_matches('›')) {
        return None;
    }
    let rest = &lines[top..];
    let footer = rest.iter().rposition(Line::is_blank).unwrap_or(rest.len());
    let rows = &rest[..footer.max(1)];
    let drawn = rows.len() - rows.iter().rev().take_while(|line| line.is_blank()).count();
    let rows = &rows[..drawn.max(1)];
    if rows.iter().skip(1).any(|line| !line.is_blank() && !line.text().starts_with("  ")) {
        return None;
    }
    if rest[footer.min(rest.len())..].iter().filter(|line| !line.is_blank()).count() > BELOW_CAP {
        return None;
    }
    let content = read(rows, 1, |line| line.text().chars().count());
    Some(Field { top, bottom: top + rows.len() - 1, content })
}

/// Anything else: the last line begins with a prompt sign.
fn last_line(lines: &[Line]) -> Option<Field> {
    let line = lines.last()?;
    let text = line.text();
    let sign = ["> ", "❯ ", "› ", ">>> ", ">", "❯", "›", ">>>"]
        .iter()
        .find(|sign| text.strip_prefix(**sign).is_some_and(|rest| sign.ends_with(' ') || rest.is_empty()))?;
    if is_numbered(&text[sign.len()..]) {
        return None;
    }
    let content = read(std::slice::from_ref(line), sign.chars().count(), |line| line.text().chars().count());
    Some(Field { top: lines.len() - 1, bottom: lines.len() - 1, content })
}

/// What stands in the rows of a composer, after `skip` characters of each and before `end`.
fn read(rows: &[Line], skip: usize, end: impl Fn(&Line) -> usize) -> Composer {
    let mut text = String::new();
    let mut solid = 0_usize;
    let mut faint = 0_usize;
    let mut first_is_cursor = false;
    for (at, row) in rows.iter().enumerate() {
        if at > 0 {
            text.push('\n');
        }
        let until = end(row);
        for (column, (c, ink)) in row.cells().enumerate() {
            if column < skip || column >= until {
                continue;
            }
            text.push(c);
            if c == ' ' {
                continue;
            }
            if ink.faint {
                faint += 1;
            } else {
                // A drawn cursor lies on the first letter of a suggestion and takes its faintness.
                if solid == 0 && faint == 0 {
                    first_is_cursor = ink.inverse;
                }
                solid += 1;
            }
        }
    }
    let suggestion = solid == 0 || (solid == 1 && first_is_cursor && faint > 0);
    if suggestion { Composer::Empty } else { Composer::Draft { text: Untrusted::new(text.trim()) } }
}

fn text_of(rows: &[Line]) -> String {
    rows.iter().map(Line::text).collect::<Vec<_>>().join("\n")
}
