//! A program that draws an agent's screen in a terminal and does with keys what its script says.
//!
//! Words: `question TEXT` (what it said last), `log FILE` (every byte it is sent), `swallow N` (Enters it
//! does not take), `paste` (long input becomes a stand-in), `prompt-after N` (a permission prompt opens
//! after N bytes), `permission` (it begins with one), `next-prompt` (another follows the first), `plain`
//! (one prompt line, nothing drawn around it). Ctrl-G opens a prompt at any moment, or exchanges the one that
//! is open for another; it stands in no log.

use std::io::{Read, Write};
use std::os::fd::AsFd;

use nix::sys::termios::{SetArg, cfmakeraw, tcgetattr, tcsetattr};

/// Ctrl-G.
const BELL: u8 = 7;

#[derive(Default)]
struct Script {
    said: Vec<String>,
    log: Option<std::fs::File>,
    swallow: u32,
    paste: bool,
    prompt_after: Option<usize>,
    next_prompt: bool,
    plain: bool,
}

struct Agent {
    script: Script,
    typed: String,
    stand_in: bool,
    received: usize,
    prompt: Option<&'static str>,
}

fn main() {
    let mut script =
        Script { said: vec!["● Which journal, WAL or rollback?".to_owned()], ..Script::default() };
    let mut prompt = None;
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().expect("a word that needs a value has one");
        match word.as_str() {
            "question" => script.said = vec![format!("● {}", value())],
            "log" => script.log = Some(std::fs::File::create(value()).expect("a log that can be written")),
            "swallow" => script.swallow = value().parse().expect("a number"),
            "prompt-after" => script.prompt_after = Some(value().parse().expect("a number")),
            "paste" => script.paste = true,
            "permission" => prompt = Some("cargo test"),
            "next-prompt" => script.next_prompt = true,
            "plain" => script.plain = true,
            other => panic!("no such word: {other}"),
        }
    }
    let stdin = std::io::stdin();
    let mut mode = tcgetattr(stdin.as_fd()).expect("a terminal");
    cfmakeraw(&mut mode);
    tcsetattr(stdin.as_fd(), SetArg::TCSANOW, &mode).expect("a raw terminal");
    let mut agent = Agent { script, typed: String::new(), stand_in: false, received: 0, prompt };
    agent.draw();
    let mut buffer = [0_u8; 4096];
    let mut pending = Vec::new();
    loop {
        let count = stdin.lock().read(&mut buffer).unwrap_or(0);
        if count == 0 {
            return;
        }
        let keys: Vec<u8> = buffer[..count].iter().copied().filter(|byte| *byte != BELL).collect();
        if let Some(log) = &mut agent.script.log {
            log.write_all(&keys).expect("a log that can be written");
        }
        if keys.len() < count {
            agent.prompt = Some(if agent.prompt.is_some() { "cargo test --all" } else { "rm -rf build" });
        }
        pending.extend_from_slice(&keys);
        // A character may arrive in two reads.
        let whole = match std::str::from_utf8(&pending) {
            Ok(text) => text.len(),
            Err(error) => error.valid_up_to(),
        };
        let text: String = String::from_utf8(pending.drain(..whole).collect()).expect("just checked");
        agent.take(&text);
        agent.draw();
    }
}

impl Agent {
    fn take(&mut self, text: &str) {
        self.received += text.len();
        if self.script.paste && text.len() > 100 {
            self.stand_in = true;
        }
        for c in text.chars() {
            if self.prompt.is_some() {
                self.answer(c);
                continue;
            }
            match c {
                '\r' if self.script.swallow > 0 => self.script.swallow -= 1,
                '\r' => {
                    let sent = std::mem::take(&mut self.typed).replace('\n', "\r\n  ");
                    self.script.said.push(format!("❯ {}", sent.trim_end()));
                    self.script.said.push("● Noted.".to_owned());
                    self.stand_in = false;
                }
                '\u{7f}' | '\u{8}' => {
                    self.typed.pop();
                }
                c => self.typed.push(c),
            }
        }
        if self.script.prompt_after.is_some_and(|limit| self.received >= limit) {
            self.script.prompt_after = None;
            self.prompt = Some("rm -rf build");
        }
    }

    fn answer(&mut self, c: char) {
        let word = match c {
            '1' | '\r' => "allowed",
            '2' => "allowed for good",
            '3' | '\u{1b}' => "denied",
            _another_key => return,
        };
        let command = self.prompt.take().unwrap_or_default();
        self.script.said.push(format!("● {word}: {command}"));
        if std::mem::take(&mut self.script.next_prompt) {
            self.prompt = Some("git push --force");
        }
    }

    fn draw(&self) {
        let mut out = String::from("\x1b[H\x1b[2J");
        out.push_str(&self.script.said.join("\r\n\r\n"));
        let rule = "─".repeat(70);
        if let Some(command) = self.prompt {
            out.push_str(&format!(
                "\r\n{rule}\r\n Bash command\r\n\r\n   {command}\r\n\r\n Do you want to proceed?\r\n ❯ 1. Yes\r\n   \
                 2. Yes, and don't ask again for: {command}\r\n   3. No\r\n\r\n Esc to cancel · Tab to amend"
            ));
        } else if self.script.plain {
            out.push_str(&format!("\r\n> {}", self.typed));
        } else {
            let typed =
                if self.stand_in { "[Pasted text #1 +3 lines]".to_owned() } else { self.typed.clone() };
            let typed = typed.replace('\n', "\r\n  ");
            out.push_str(&format!(
                "\r\n\r\n{rule}\r\n❯\u{a0}{typed}\x1b[7m \x1b[0m\r\n{rule}\r\n  ⏸ manual mode on · ? for shortcuts"
            ));
        }
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(out.as_bytes()).and_then(|()| stdout.flush()).expect("a terminal that is there");
    }
}
