//! The stream parser against streams as agents write them, and as they never should.

use steward_core::agent::{Event, ToolInput, parse_line};

fn one(line: &str) -> Event {
    let mut events = parse_line(line.as_bytes());
    assert_eq!(events.len(), 1, "{line}: {events:?}");
    events.remove(0)
}

#[test]
fn the_first_line_names_tools_and_servers_in_any_order_of_keys() {
    let expected = Event::Init {
        tools: vec!["Read".into(), "mcp__steward__digest_get".into()],
        servers: vec![("steward".into(), "connected".into())],
        model: Some("m".into()),
        version: Some("2.1.332".into()),
    };
    for line in [
        r#"{"type":"system","subtype":"init","tools":["Read","mcp__steward__digest_get"],"mcp_servers":[{"name":"steward","status":"connected"}],"model":"m","claude_code_version":"2.1.332"}"#,
        r#"{"claude_code_version":"2.1.332","mcp_servers":[{"status":"connected","scope":"x","name":"steward"}],"model":"m","new":{"a":[1]},"subtype":"init","tools":["Read",7,"mcp__steward__digest_get"],"type":"system"}"#,
    ] {
        assert_eq!(one(line), expected);
    }
}

#[test]
fn a_message_gives_its_tokens_and_each_tool_call() {
    let line = r#"{"type":"assistant","message":{"id":"msg_1","content":[{"type":"text","text":"x"},{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"/review/tree/a","offset":"five"}},{"type":"tool_use","id":"t2","name":"Grep","input":{"pattern":"x","path":3}}],"usage":{"input_tokens":10,"output_tokens":1,"cache_read_input_tokens":100}}}"#;
    assert_eq!(
        parse_line(line.as_bytes()),
        [
            Event::Usage { message: "msg_1".into(), tokens: 111 },
            Event::ToolUse {
                id: "t1".into(),
                name: "Read".into(),
                input: ToolInput { path: Some("/review/tree/a".into()), pattern: None }
            },
            Event::ToolUse {
                id: "t2".into(),
                name: "Grep".into(),
                input: ToolInput { path: None, pattern: Some("x".into()) }
            },
        ]
    );
}

#[test]
fn a_tool_call_of_a_strange_shape_still_names_its_tool() {
    for input in ["7", "null", "[]", "\"x\"", "{\"file_path\":{\"deep\":1}}"] {
        let line = format!(
            r#"{{"type":"assistant","message":{{"content":[{{"type":"tool_use","id":1,"name":"Bash","input":{input}}}]}}}}"#
        );
        assert!(matches!(one(&line), Event::ToolUse { name, .. } if name == "Bash"), "{line}");
    }
}

#[test]
fn an_answer_gives_its_text_and_the_lines_it_showed() {
    let line = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"     1→x"},{"type":"image"}]}]},"tool_use_result":{"type":"text","file":{"filePath":"/review/tree/a","content":"x","numLines":4,"startLine":7,"totalLines":40}}}"#;
    assert_eq!(
        one(line),
        Event::ToolResult {
            id: "t1".into(),
            failed: false,
            text: "     1→x".into(),
            file: Some(("/review/tree/a".into(), 7, 4)),
        }
    );
    let line = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"no"}]},"tool_use_result":"Error: no"}"#;
    assert_eq!(one(line), Event::ToolResult { id: "t1".into(), failed: true, text: "no".into(), file: None });
}

#[test]
fn a_result_counts_as_well_only_when_it_clearly_says_so() {
    for (flag, is_error) in [
        ("\"is_error\":false,", false),
        ("\"is_error\":true,", true),
        ("\"is_error\":\"no\",", true),
        ("", true),
    ] {
        let line = format!(
            r#"{{"type":"result",{flag}"subtype":"success","num_turns":3,"total_cost_usd":0.5,"usage":{{"input_tokens":5}}}}"#
        );
        let Event::Result { is_error: said, usd, turns, .. } = one(&line) else { panic!("{line}") };
        assert_eq!((said, usd, turns), (is_error, Some(0.5), Some(3)), "{line}");
    }
    let line = r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":529,"total_cost_usd":-1,"result":"API Error: Overloaded","usage":{}}"#;
    let Event::Result { api_status, usd, errors, .. } = one(line) else { panic!() };
    assert_eq!((api_status, usd, errors), (Some(529), None, vec!["API Error: Overloaded".to_owned()]));
}

#[test]
fn lines_that_are_no_stream_are_unreadable_or_unknown_and_never_a_success() {
    for line in [
        "x",
        "{",
        "[]",
        "7",
        "null",
        "\"result\"",
        "\u{1b}[31m{\"type\":\"result\"}",
        "{\"type\":\"result\"} {}",
    ] {
        assert_eq!(one(line), Event::Unreadable, "{line}");
    }
    for line in
        ["{}", "{\"type\":7}", "{\"type\":\"hologram\",\"is_error\":false}", "{\"type\":\"assistant\"}"]
    {
        assert_eq!(one(line), Event::Unknown, "{line}");
    }
    assert!(parse_line(b"").is_empty() && parse_line(b" \r\n").is_empty());
    assert_eq!(parse_line(b"\x00\x00"), [Event::Unreadable]);
    assert_eq!(
        parse_line(&b"[".repeat(100_000)),
        [Event::Unreadable],
        "deep nesting is refused, not followed"
    );
    // Bytes that are no UTF-8 are shown as such and do not hide the rest of the line.
    let line =
        b"{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"tool_use\",\"name\":\"Ba\xffsh\"}]}}";
    assert!(matches!(&parse_line(line)[..], [Event::ToolUse { name, .. }] if name.contains('\u{fffd}')));
}

/// A small generator of its own, so that a failure can be repeated from its seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).expect("small")
    }
}

#[test]
fn twenty_thousand_broken_lines_are_read_without_harm() {
    let whole: [&[u8]; 5] = [
        br#"{"type":"system","subtype":"init","tools":["Read"],"mcp_servers":[{"name":"steward","status":"connected"}]}"#,
        br#"{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"Read","input":{"file_path":"/a"}}],"usage":{"input_tokens":1}}}"#,
        br#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"     1\tx"}]},"tool_use_result":{"file":{"filePath":"/a","numLines":1}}}"#,
        br#"{"type":"result","subtype":"success","is_error":false,"num_turns":1,"total_cost_usd":0.1,"usage":{"input_tokens":18446744073709551615,"output_tokens":18446744073709551615}}"#,
        br#"{"type":"system","subtype":"api_retry","attempt":1,"max_retries":2,"error_status":529}"#,
    ];
    let spice: [&[u8]; 12] =
        [b"\"", b"{", b"}", b"[", b"]", b",", b"\\u0000", b"\xff", b"\x1b[0m", b"null", b"1e999", b"-0"];
    let mut dice = Dice(0x5eed_0001);
    let mut kinds = std::collections::BTreeSet::new();
    for round in 0..20_000 {
        let mut line = whole[dice.below(whole.len())].to_vec();
        for _ in 0..dice.below(4) {
            let at = dice.below(line.len());
            match dice.below(4) {
                0 => line.truncate(at.max(1)),
                1 => line[at] = u8::try_from(dice.below(256)).expect("a byte"),
                2 => {
                    let piece = spice[dice.below(spice.len())];
                    line.splice(at..at, piece.iter().copied());
                }
                _ => {
                    let end = (at + dice.below(20)).min(line.len());
                    line.drain(at..end);
                    line.push(b' ');
                }
            }
        }
        let events = parse_line(&line);
        assert!(events.len() <= 8, "round {round}: {events:?}");
        for event in events {
            let text = format!("{event:?}");
            kinds.insert(text.split([' ', '(']).next().unwrap_or_default().to_owned());
        }
    }
    for kind in ["Init", "ToolUse", "ToolResult", "Usage", "Result", "Retry", "Unknown", "Unreadable"] {
        assert!(kinds.contains(kind), "the lines reach {kind}: {kinds:?}");
    }
}
