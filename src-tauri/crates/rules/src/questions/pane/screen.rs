//! A captured screen: text, and the ink of each character where colour decides.

/// How a character is drawn, as far as it says something.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ink {
    /// Drawn faint (SGR 2): a suggestion, a hint, not typed text.
    pub faint: bool,
    /// Drawn inverted (SGR 7): a drawn cursor, a selected row.
    pub inverse: bool,
    /// Foreground colour, as `0x00` to `0xFF` of the palette or `0x1RRGGBB`.
    pub colour: Option<u32>,
}

/// One line of a screen, without its trailing blanks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    text: String,
    /// One per character of `text`.
    inks: Vec<Ink>,
}

impl Line {
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn is_blank(&self) -> bool {
        self.text.is_empty()
    }

    /// Characters with their ink.
    pub fn cells(&self) -> impl Iterator<Item = (char, Ink)> + '_ {
        self.text.chars().zip(self.inks.iter().copied())
    }
}

/// What one capture showed, oldest line first, without the blank lines below the last drawn one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Screen {
    lines: Vec<Line>,
}

/// Lines of a capture that are kept: the bottom ones.
const LINES_CAP: usize = 400;
/// Characters of one line that are kept.
const LINE_CAP: usize = 4_000;

impl Screen {
    /// Reads what `tmux capture-pane -p -e` printed. Escape sequences other than colour are dropped;
    /// bytes that are no text become U+FFFD.
    pub fn parse(raw: &[u8]) -> Self {
        let text = String::from_utf8_lossy(raw);
        let mut reader = Reader::default();
        let mut lines: Vec<Line> = text.split('\n').map(|line| reader.line(line)).collect();
        while lines.last().is_some_and(Line::is_blank) {
            lines.pop();
        }
        let surplus = lines.len().saturating_sub(LINES_CAP);
        lines.drain(..surplus);
        Self { lines }
    }

    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The last lines as plain text, each cut to `columns` characters: what may be shown or judged.
    pub fn tail(&self, rows: usize, columns: usize) -> String {
        let from = self.lines.len().saturating_sub(rows);
        let cut = |line: &Line| line.text.chars().take(columns).collect::<String>();
        self.lines[from..].iter().map(cut).collect::<Vec<_>>().join("\n")
    }
}

/// Colours carry over from line to line in a capture.
#[derive(Default)]
struct Reader {
    ink: Ink,
}

impl Reader {
    fn line(&mut self, raw: &str) -> Line {
        let mut line = Line::default();
        let mut rest = raw.chars();
        let mut kept = 0_usize;
        while let Some(c) = rest.next() {
            match c {
                '\u{1b}' => self.escape(&mut rest),
                '\u{9b}' => self.control(&mut rest),
                '\t' if kept < LINE_CAP => {
                    kept += 1;
                    line.text.push(' ');
                    line.inks.push(self.ink);
                }
                c if c.is_control() => {}
                c if kept < LINE_CAP => {
                    kept += 1;
                    // A no-break space looks like a space, and agents put one after their prompt sign.
                    line.text.push(if c == '\u{a0}' { ' ' } else { c });
                    line.inks.push(self.ink);
                }
                _beyond_the_cap => {}
            }
        }
        let trimmed = line.text.trim_end_matches(' ').len();
        line.text.truncate(trimmed);
        line.inks.truncate(line.text.chars().count());
        line
    }

    fn escape(&mut self, rest: &mut std::str::Chars<'_>) {
        match rest.next() {
            Some('[') => self.control(rest),
            // Strings (OSC, DCS, APC, PM, SOS) last to BEL or ST; they carry no text.
            Some(']' | 'P' | '_' | '^' | 'X') => {
                while let Some(c) = rest.next() {
                    if c == '\u{7}' || (c == '\u{1b}' && rest.next() == Some('\\')) {
                        break;
                    }
                }
            }
            Some('(' | ')' | '*' | '+' | '#' | '%') => {
                rest.next();
            }
            Some(_) | None => {}
        }
    }

    fn control(&mut self, rest: &mut std::str::Chars<'_>) {
        let mut words = String::new();
        for c in rest.by_ref() {
            if ('\u{40}'..='\u{7e}').contains(&c) {
                if c == 'm' {
                    self.colour(&words);
                }
                return;
            }
            if words.len() < 128 {
                words.push(c);
            }
        }
    }

    fn colour(&mut self, words: &str) {
        let mut codes = words.split([';', ':']).map(|code| code.parse::<u32>().unwrap_or(0));
        while let Some(code) = codes.next() {
            match code {
                0 => self.ink = Ink::default(),
                2 => self.ink.faint = true,
                22 => self.ink.faint = false,
                7 => self.ink.inverse = true,
                27 => self.ink.inverse = false,
                30..=37 => self.ink.colour = Some(code - 30),
                90..=97 => self.ink.colour = Some(code - 90 + 8),
                39 => self.ink.colour = None,
                38 | 48 | 58 => {
                    let picked = match codes.next() {
                        Some(5) => codes.next(),
                        Some(2) => {
                            let mut part = || codes.next().unwrap_or(0) & 0xFF;
                            Some(0x100_0000 | part() << 16 | part() << 8 | part())
                        }
                        Some(_) | None => None,
                    };
                    if code == 38 {
                        self.ink.colour = picked;
                    }
                }
                _backgrounds_and_the_rest => {}
            }
        }
    }
}
