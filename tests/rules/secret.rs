//! The secret engine: what is found, what is not, and where it is said to be.

use steward_rules::secret::plant::{Dice, Kind, plant};
use steward_rules::secret::{Decode, Engine, Options, Place, Rule, Scan, Tier, line_hash};

const PLAIN: Options = Options { decode: Decode::Off };
const DEEP: Options = Options { decode: Decode::OneLevel };

fn rule(id: &str) -> &'static Rule {
    Engine::shared().rules().iter().find(|rule| rule.id == id).unwrap_or_else(|| panic!("no rule {id}"))
}

fn planted(id: &str, kind: Kind) -> String {
    plant(rule(id), kind, 7).expect("the rule has that kind").text
}

fn secret_of(id: &str) -> String {
    plant(rule(id), Kind::Secret, 7).expect("the rule has that kind").secret
}

/// The rules that hit, with their tiers.
fn hits(text: &str, options: Options) -> Vec<(String, Tier)> {
    let found = Engine::shared().scan_text(text.as_bytes(), options);
    found.iter().map(|hit| (hit.rule.id.clone(), hit.tier)).collect()
}

fn high(id: &str) -> Vec<(String, Tier)> {
    vec![(id.to_owned(), Tier::High)]
}

#[test]
fn github_checksum_agrees_with_the_published_vectors() {
    for (body, check) in [
        ("zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ", "0mLq17"),
        ("adE7dp8rHP6gUTuPwxLTZjZdtya3sV", "0UQzQM"),
        ("H3xbiBdlzffNx7Y56iNsPw3joObj7U", "2nO29h"),
    ] {
        assert_eq!(hits(&format!("x = ghp_{body}{check}"), PLAIN), high("github-pat"));
    }
}

#[test]
fn wrong_checksum_is_a_look_and_no_block() {
    let text = planted("github-pat", Kind::WrongChecksum);
    assert!(hits(&text, PLAIN).iter().all(|(_, tier)| *tier == Tier::Generic));
}

#[test]
fn documented_samples_and_filled_in_values_are_no_hit() {
    for text in ["AKIAIOSFODNN7EXAMPLE", "password: ${DB_PASS}", "token = process.env.TOKEN_1234567890abcdef"]
    {
        assert_eq!(hits(text, DEEP), vec![], "{text}");
    }
}

#[test]
fn key_over_several_added_lines_is_found_at_its_first_line() {
    let text = planted("private-key", Kind::Secret);
    let mut scan = Scan::new(Engine::shared(), DEEP, "salt");
    for (index, line) in text.lines().enumerate() {
        scan.line("c1", "keys/dev.pem", 10 + index as u32, line.as_bytes());
    }
    let report = scan.finish(&[]);
    assert_eq!(report.hits.len(), 1);
    assert_eq!(
        report.hits[0].place,
        Place::Line { commit: "c1".into(), path: "keys/dev.pem".into(), line: 10 }
    );
}

#[test]
fn excepted_line_is_no_hit_and_only_that_line() {
    let one = format!("a = {}", secret_of("github-pat"));
    let two = format!("b = {}", plant(rule("github-pat"), Kind::Secret, 8).expect("kind").secret);
    let mut scan = Scan::new(Engine::shared(), DEEP, "salt");
    scan.line("c1", "a.env", 1, one.as_bytes());
    scan.line("c1", "a.env", 2, two.as_bytes());
    let report = scan.finish(&[line_hash("salt", one.as_bytes())]);
    assert_eq!(report.hits.len(), 1);
    assert_eq!(report.hits[0].line_hash, line_hash("salt", two.as_bytes()));
}

#[test]
fn redacted_text_keeps_everything_but_the_secret() {
    let secret = secret_of("github-pat");
    let text = format!("pushed with {secret} → ok");
    assert_eq!(Engine::shared().redact(&text), "pushed with [redacted:github-pat] → ok");
}

#[test]
fn same_seed_writes_the_same_text() {
    assert_eq!(Dice::new(3).roll(), Dice::new(3).roll());
    assert_ne!(Dice::new(3).roll(), Dice::new(4).roll());
}

#[test]
fn secret_that_one_commit_adds_and_the_next_removes_is_still_found() {
    // Only added lines are fed, so the commit that removes it says nothing.
    let mut scan = Scan::new(Engine::shared(), DEEP, "salt");
    scan.line("c1", "a.env", 1, format!("A={}", secret_of("stripe-key")).as_bytes());
    scan.line("c2", "a.env", 1, b"A=");
    let report = scan.finish(&[]);
    assert_eq!(report.hits.len(), 1);
    assert_eq!(report.hits[0].place, Place::Line { commit: "c1".into(), path: "a.env".into(), line: 1 });
    assert_eq!((report.commits, report.lines), (2, 2));
}

#[test]
fn names_messages_and_binaries_are_looked_at_too() {
    let secret = secret_of("github-pat");
    let mut scan = Scan::new(Engine::shared(), DEEP, "salt");
    scan.file_name("c1", &format!("notes/{secret}.txt"));
    scan.message("c1", format!("subject\n\nuse {secret}").as_bytes());
    scan.binary("c1", "app.bin", format!("\0\u{1}{secret}\0\0short\0").as_bytes());
    let places: Vec<Place> = scan.finish(&[]).hits.into_iter().map(|hit| hit.place).collect();
    let commit = || "c1".to_owned();
    assert_eq!(
        places,
        [
            Place::FileName { commit: commit(), path: format!("notes/{secret}.txt") },
            Place::Message { commit: commit(), line: 3 },
            Place::Binary { commit: commit(), path: "app.bin".into() },
        ]
    );
}

#[test]
fn one_level_of_encoding_is_looked_into() {
    use base64::Engine as _;
    let secret = secret_of("github-pat");
    let text = format!("token={secret}");
    let once = base64::engine::general_purpose::STANDARD.encode(&text);
    let web = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(&text);
    let twice = base64::engine::general_purpose::STANDARD.encode(&once);
    let escaped: String = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
    for encoded in [once, web, hex::encode(&text), escaped] {
        let line = format!("v: \"{encoded}\"");
        assert_eq!(hits(&line, DEEP), high("github-pat"), "{line}");
        assert_eq!(hits(&line, PLAIN), vec![], "{line}");
    }
    assert_eq!(hits(&format!("v: \"{twice}\""), DEEP), vec![], "a second level is not looked into");
}

#[test]
fn report_holds_four_characters_and_no_secret() {
    for rule in Engine::shared().rules() {
        let planted = plant(rule, Kind::Secret, 11).expect("every rule writes a secret");
        let mut scan = Scan::new(Engine::shared(), DEEP, "salt");
        for (index, line) in planted.text.lines().enumerate() {
            scan.line("c1", "a.txt", index as u32 + 1, line.as_bytes());
        }
        let report = scan.finish(&[]);
        assert!(!report.hits.is_empty(), "{}", rule.id);
        let stored = serde_json::to_string(&report).expect("a report is JSON");
        for hit in &report.hits {
            assert!(hit.prefix.chars().count() <= 4, "{}", rule.id);
        }
        let tail = &planted.secret[planted.secret.len() / 2..];
        assert!(!stored.contains(tail), "{} is in {stored}", rule.id);
    }
}

#[test]
fn ignore_comments_in_the_tree_are_not_honoured() {
    let secret = secret_of("github-pat");
    for comment in ["gitleaks:allow", "kingfisher:ignore", "pragma: allowlist secret", "nosec", "noqa"] {
        assert_eq!(hits(&format!("k = \"{secret}\" # {comment}"), DEEP), high("github-pat"), "{comment}");
    }
}

#[test]
fn line_hash_depends_on_the_salt_and_not_on_indentation() {
    assert_eq!(line_hash("s", b"  a = 1"), line_hash("s", b"a = 1\n"));
    assert_ne!(line_hash("s", b"a = 1"), line_hash("t", b"a = 1"));
}

#[test]
fn two_keys_with_one_header_have_two_hashes() {
    let mut scan = Scan::new(Engine::shared(), DEEP, "salt");
    let mut number = 1;
    for seed in [1, 9] {
        let key = plant(rule("private-key"), Kind::Secret, seed).expect("kind").text;
        for line in key.lines() {
            scan.line("c1", "two.pem", number, line.as_bytes());
            number += 1;
        }
        number += 5;
    }
    let hits = scan.finish(&[]).hits;
    assert_eq!(hits.len(), 2);
    assert_ne!(hits[0].line_hash, hits[1].line_hash);
}

#[test]
fn header_of_a_key_without_a_body_is_no_hit() {
    let header = format!("{0}BEGIN RSA PRIVATE KEY{0}", "-".repeat(5));
    for text in [header.clone(), format!("{header}\n...\n"), format!("starts_with(\"{header}\")")] {
        assert_eq!(hits(&text, DEEP), vec![], "{text}");
    }
}

#[test]
fn placeholders_of_every_kind_are_no_hit() {
    for value in [
        "${API_TOKEN_12345678}",
        "<your-token-here-12345>",
        "{{ secrets.TOKEN_1234567 }}",
        "%s",
        "changeme12345678",
        "xxxxxxxxxxxxxxxxxxxx1234",
        "your_api_key_12345678",
        "EXAMPLE1234567890abcd",
        "$TOKEN_1234567890AB",
        "process.env.SECRET_12345",
        "os.environ[TOKEN_12345]",
        "0000000000000000abcd12",
    ] {
        for line in [format!("api_token = \"{value}\""), format!("password: {value}")] {
            assert_eq!(hits(&line, DEEP), vec![], "{line}");
        }
    }
}

#[test]
fn keys_printed_in_manuals_are_no_hit_and_their_neighbours_are() {
    // Put together here, so that no whole key stands in this file.
    let printed = |tail: &str| format!("key = \"sk_{}_{tail}\"", "test");
    assert_eq!(hits(&printed("4eC39HqLyjWDarjtT1zdp7dc"), PLAIN), vec![]);
    assert_eq!(hits(&printed("4eC39HqLyjWDarjtT1zdp7dd"), PLAIN), high("stripe-key"));
    let emulator = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw";
    assert_eq!(hits(&format!("Account{}={emulator}==", "Key"), PLAIN), vec![]);
}
