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
