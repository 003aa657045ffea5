//! Seat files: one per role, read strictly, seeded once.

use rstest::rstest;
use steward_core::config::seats::{self, Network, Seat, SeatLimits, parse_seat, read, seed, template};
use steward_core::config::{Adapter, AgentChoice, Role};

use crate::store::fresh;

fn parsed(text: &str) -> Seat {
    parse_seat(text, Role::Reviewer, None).unwrap()
}

#[test]
fn seeding_writes_one_file_per_role_and_keeps_what_is_there() {
    let (_folder, home) = fresh();
    assert_eq!(read(&home, Role::Reviewer, None).unwrap(), None);
    let fixer = home.seat_file("fixer");
    std::fs::create_dir_all(fixer.parent().unwrap()).unwrap();
    std::fs::write(&fixer, "mine").unwrap();
    let seeded = seed(&home).unwrap();
    assert_eq!(seeded.len(), 8);
    assert_eq!(
        seeded.iter().filter(|seat| !seat.written).map(|seat| seat.role).collect::<Vec<_>>(),
        [Role::Fixer]
    );
    assert_eq!(std::fs::read_to_string(&fixer).unwrap(), "mine");
    assert!(seed(&home).unwrap().iter().all(|seat| !seat.written));
    for role in Role::ALL.into_iter().filter(|role| *role != Role::Fixer) {
        let seat = read(&home, role, None).unwrap().unwrap();
        assert_eq!((seat.role, seat.adapter), (role, Adapter::Claude));
    }
    assert!(read(&home, Role::Fixer, None).is_err());
}

#[test]
fn each_role_has_words_of_its_own_and_every_commented_key_of_a_template_may_be_switched_on() {
    let mut words = std::collections::BTreeSet::new();
    for role in Role::ALL {
        let text = template(role);
        words.insert(parse_seat(&text, role, None).unwrap().prompt);
        let (head, keys) = text.split_at(text.find("adapter: claude").unwrap());
        assert!(head.contains(role.as_str()));
        let on = parse_seat(&keys.replace("\n# ", "\n"), role, None).unwrap();
        assert_eq!(
            on.limits,
            SeatLimits { idle_seconds: Some(300), max_turns: Some(60), max_tokens: Some(2_000_000) }
        );
        assert_eq!(on.prompt, "Your own words");
        assert_eq!(on.command, Some(vec!["/path/to/claude".to_owned()]));
        assert!(on.model.is_some() && on.endpoint.is_some());
    }
    assert_eq!(words.len(), Role::ALL.len());
}

#[rstest]
#[case::no_adapter("model: x\nprompt: p\n", "adapter")]
#[case::empty("", "adapter")]
#[case::no_block("mine", "a block of keys")]
#[case::near("adapter: cluade\nprompt: p\n", "did you mean `claude`")]
#[case::no_words("adapter: claude\nprompt: ' '\n", "1 to 20000 characters")]
#[case::reference("adapter: claude\nprompt: read @/etc/passwd\n", "begins with `@`")]
#[case::no_limit("adapter: claude\nlimits: {maxTurns: 0}\n", "limits.maxTurns: 0 would mean no limit")]
#[case::below("adapter: claude\nlimits: {idleSeconds: -1}\n", "at least 1")]
#[case::large("adapter: claude\nlimits: {maxTurns: 99999999999}\n", "too large")]
#[case::no_program("adapter: command\nprompt: p\n", "needs a program")]
#[case::empty_program("adapter: command\ncommand: []\n", "must name a program")]
#[case::network("adapter: command\ncommand: [x]\nnetwork: hots\n", "did you mean `host`")]
#[case::unknown("adapter: claude\npromt: p\n", "did you mean `prompt`")]
#[case::unknown_limit("adapter: claude\nlimits: {maxTurn: 3}\n", "did you mean `maxTurns`")]
#[case::syntax("adapter: [claude\n", "not read")]
fn a_seat_with_an_error_is_no_seat(#[case] text: &str, #[case] word: &str) {
    let problems = parse_seat(text, Role::Reviewer, None).unwrap_err();
    let shown: Vec<String> = problems
        .iter()
        .map(|problem| format!("{problem} {}", problem.hint.as_deref().unwrap_or_default()))
        .collect();
    assert!(shown.iter().any(|text| text.contains(word)), "{shown:?}");
}

#[test]
fn a_problem_names_its_line_and_column() {
    let text = "adapter: claude\nlimits:\n  maxTurns: 0\n";
    let problem = parse_seat(text, Role::Reviewer, None).unwrap_err().remove(0);
    assert_eq!((problem.line, problem.column, problem.key.as_str()), (3, 13, "limits.maxTurns"));
    assert!(problem.snippet.is_some());
}

#[test]
fn a_file_that_is_too_long_is_refused() {
    let (_folder, home) = fresh();
    seed(&home).unwrap();
    let long = format!("adapter: claude\n# {}\n", "x".repeat(64 * 1024));
    std::fs::write(home.seat_file("reviewer"), long).unwrap();
    let error = read(&home, Role::Reviewer, None).unwrap_err().to_string();
    assert!(error.contains("longer than"), "{error}");
}

#[test]
fn a_mail_address_in_a_prompt_is_no_reference() {
    assert_eq!(parsed("adapter: claude\nprompt: ask a@b.example\n").prompt, "ask a@b.example");
}

#[test]
fn a_command_reaches_the_network_only_when_its_seat_says_so() {
    assert_eq!(parsed("adapter: command\ncommand: [x]\n").network, Network::None);
    assert_eq!(parsed("adapter: command\ncommand: [x]\nnetwork: host\n").network, Network::Host);
}

#[test]
fn the_configuration_goes_before_the_seat_file() {
    let choice = |adapter, model: Option<&str>, command: Option<&str>| AgentChoice {
        adapter,
        model: model.map(str::to_owned),
        command: command.map(|word| vec![word.to_owned()]),
    };
    let text = "adapter: claude\nmodel: m1\ncommand: [/opt/claude]\n";
    let under = |over: &AgentChoice| parse_seat(text, Role::Reviewer, Some(over));
    assert_eq!(parsed(text).model.as_deref(), Some("m1"));
    assert_eq!(under(&choice(None, Some("m2"), None)).unwrap().model.as_deref(), Some("m2"));
    let other = under(&choice(Some(Adapter::Command), None, Some("/opt/other"))).unwrap();
    assert_eq!((other.model, other.command), (None, Some(vec!["/opt/other".to_owned()])));
    // Claude's program is none of the contract's.
    assert!(under(&choice(Some(Adapter::Command), None, None)).is_err());
    let bare =
        parse_seat("adapter: command\n", Role::Reviewer, Some(&choice(None, None, Some("x")))).unwrap();
    assert_eq!(bare.command, Some(vec!["x".to_owned()]));
}

#[test]
fn the_schema_in_docs_is_what_the_keys_say_and_refuses_what_the_reader_refuses() {
    let path = steward_kit::binary::workspace_root().join("docs/schemas/seat.schema.json");
    let text = seats::schema_text();
    if std::env::var_os("STEWARD_GENERATE").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == text, "{} is not what the keys say; run with STEWARD_GENERATE=1", path.display());
    let schema = jsonschema::validator_for(&serde_json::from_str(&text).unwrap()).unwrap();
    let fits = |json: serde_json::Value| {
        let fits = schema.is_valid(&json);
        assert_eq!(fits, parse_seat(&json.to_string(), Role::Reviewer, None).is_ok(), "{json}");
        fits
    };
    let limits = serde_json::json!({"idleSeconds": 1, "maxTurns": 2, "maxTokens": 3});
    assert!(fits(serde_json::json!({"adapter": "command", "command": ["x"], "network": "host",
        "endpoint": "http://127.0.0.1:1", "model": "m", "prompt": "p", "limits": limits})));
    assert!(!fits(serde_json::json!({"model": "m"})));
    assert!(!fits(serde_json::json!({"adapter": "other"})));
    assert!(!fits(serde_json::json!({"adapter": "claude", "steps": 3})));
    assert!(!fits(serde_json::json!({"adapter": "claude", "limits": {"maxTurns": 0}})));
    assert!(!fits(serde_json::json!({"adapter": "claude", "limits": {"minutes": 3}})));
}
