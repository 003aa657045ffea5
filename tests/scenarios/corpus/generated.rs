//! Texts made of pieces of documents, fed to every parser.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use steward_core::agent::parse_line;
use steward_core::config::seats::parse_seat;
use steward_core::config::{self, Role};
use steward_core::loops::task::documents;
use steward_rules::untrusted::is_hidden;

/// Pieces of YAML and JSON documents, well-formed and not.
const PIECES: &[&str] = &[
    "review:",
    " enabled: true",
    " maxTurns: 3",
    " budgetUsd: .nan",
    "\n",
    "\n  ",
    "- ",
    "{",
    "}",
    "[",
    "]",
    ": ",
    ", ",
    "\"",
    "'",
    "&a ",
    "*a",
    "<<: *a",
    "!!str ",
    "|\n",
    ">-\n",
    "---\n",
    "# c\n",
    "\t",
    "\r\n",
    "\u{feff}",
    "\u{202e}",
    "\0",
    "~",
    "workspaces:\n  - title: a\n    path: /p\n",
    "adapter: claude\n",
    "adapter: command\n",
    "prompt: p\n",
    "limits: {maxTurns: 0}\n",
    "command: [sh]\n",
    "writeScope: [\"**\"]\n",
    "mutations: none\n",
    "\"writeScope\": [\"a[\"]",
    "\"mutations\": \"none\"",
    "99999999999999999999",
    "-1",
    "1e999",
    "\"type\":\"result\"",
    "\"type\":\"assistant\"",
    "\"message\":{\"content\":[{\"type\":\"tool_use\"}]}",
    "\"is_error\":false",
    "\"usage\":{\"input_tokens\":18446744073709551615}",
    "\"\\ud800\"",
];

fn pieces() -> impl Strategy<Value = String> {
    let free = proptest::collection::vec(proptest::sample::select(PIECES), 0..14);
    let object = proptest::collection::vec(proptest::sample::select(PIECES), 0..6);
    prop_oneof![
        3 => free.prop_map(|pieces| pieces.concat()),
        1 => object.prop_map(|pieces| format!("{{{}}}", pieces.join(","))),
    ]
}

/// What one small text may take at the very most.
const MOMENT: Duration = Duration::from_secs(5);

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_a_parser_of_documents_panic_or_linger(text in pieces()) {
        let begun = Instant::now();
        match config::check(&text, None) {
            Ok(checked) => {
                let words: Vec<String> = checked.problems.iter().map(ToString::to_string).collect();
                prop_assert!(!words.concat().contains(|c| is_hidden(c) && c != '\n' && c != '\t'), "{words:?}");
            }
            Err(problem) => {
                let words = problem.to_string();
                prop_assert!(!words.contains(|c| is_hidden(c) && c != '\n' && c != '\t'), "{words:?}");
            }
        }
        let _either = parse_seat(&text, Role::Reviewer, None);
        for read in [documents::contract(&text).map(drop), documents::handoff(&text).map(drop), documents::validator(&text).map(drop)] {
            let words = read.map_or_else(|error| error.to_string(), |()| String::new());
            prop_assert!(!words.contains(|c| is_hidden(c) && c != '\n' && c != '\t'), "{words:?}");
        }
        prop_assert!(begun.elapsed() < MOMENT);
    }

    #[test]
    fn no_line_makes_the_stream_parser_panic_or_linger(text in pieces(), broken in proptest::option::of((0_usize..200, any::<u8>()))) {
        let mut line = text.into_bytes();
        if let Some((at, byte)) = broken.filter(|(at, _)| *at < line.len()) {
            line[at] = byte;
        }
        let begun = Instant::now();
        let events = parse_line(&line);
        prop_assert!(events.len() <= line.len());
        prop_assert!(begun.elapsed() < MOMENT);
    }
}
