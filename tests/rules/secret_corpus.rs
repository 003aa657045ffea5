//! Every rule against texts of its own format: positives, near misses, placeholders, other rules'.

use steward_rules::secret::plant::{Dice, Kind, Plant, plant};
use steward_rules::secret::{Decode, Engine, Options, Tier};

const PLAIN: Options = Options { decode: Decode::Off };
const SEEDS: [u64; 5] = [1, 2, 3, 1_000_003, 0xDEAD_BEEF_0BAD_F00D];

fn planted(kind: Kind, seed: u64) -> Vec<Plant> {
    Engine::shared().rules().iter().filter_map(|rule| plant(rule, kind, seed)).collect()
}

/// Where a text that is one character short is a whole secret of another rule.
const SHORTER_IS: [(&str, &str); 4] = [
    ("clerk-key", "stripe-key"),
    ("highnote-key", "stripe-key"),
    ("workos-key", "stripe-key"),
    ("etsy-open-key", "etsy-token"),
];

/// The hits of a text whose range lies over the planted secret.
fn rules_at(engine: &Engine, text: &str, secret: &str) -> Vec<(String, Tier)> {
    let start = text.find(secret).unwrap_or(0);
    let end = start + secret.len();
    let hits = engine.scan_text(text.as_bytes(), PLAIN);
    let over = hits.iter().filter(|hit| hit.start < end && hit.end > start);
    over.map(|hit| (hit.rule.id.clone(), hit.tier)).collect()
}

#[test]
fn every_rule_finds_its_own_secrets() {
    let engine = Engine::shared();
    let mut missed = Vec::new();
    for seed in SEEDS {
        for planted in planted(Kind::Secret, seed) {
            let found = rules_at(engine, &planted.text, &planted.secret);
            if !found.iter().any(|(rule, _)| *rule == planted.rule) {
                missed.push(format!("{} in `{}` -> {found:?}", planted.rule, planted.text));
            }
        }
    }
    assert!(missed.is_empty(), "{} missed:\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn near_misses_are_silent_at_the_high_tier() {
    let engine = Engine::shared();
    let mut wrong = Vec::new();
    for seed in SEEDS {
        for kind in [Kind::Short, Kind::WrongChecksum, Kind::Placeholder] {
            for planted in planted(kind, seed) {
                let hits = engine.scan_text(planted.text.as_bytes(), PLAIN);
                let known = |rule: &str| SHORTER_IS.contains(&(planted.rule.as_str(), rule));
                if let Some(hit) = hits.iter().find(|hit| hit.tier == Tier::High && !known(&hit.rule.id)) {
                    wrong.push(format!(
                        "{kind:?} of {} hit {}: `{}`",
                        planted.rule, hit.rule.id, planted.text
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn there_are_rules_for_every_family_and_no_two_have_one_id() {
    let rules = Engine::shared().rules();
    assert!(rules.len() >= 150, "only {} rules", rules.len());
    let ids: std::collections::BTreeSet<&str> = rules.iter().map(|rule| rule.id.as_str()).collect();
    assert_eq!(ids.len(), rules.len());
}

#[test]
fn dice_fall_the_same_for_the_same_seed() {
    let mut one = Dice::new(9);
    let mut two = Dice::new(9);
    assert_eq!(
        (0..50).map(|_| one.roll()).collect::<Vec<_>>(),
        (0..50).map(|_| two.roll()).collect::<Vec<_>>()
    );
    assert_eq!(planted(Kind::Secret, 4), planted(Kind::Secret, 4));
    assert_ne!(planted(Kind::Secret, 4), planted(Kind::Secret, 5));
}

#[test]
fn twenty_thousand_generated_texts_do_no_harm() {
    let engine = Engine::shared();
    let words: Vec<&str> =
        engine.rules().iter().flat_map(|rule| rule.keywords.iter().map(String::as_str)).collect();
    let joints = [
        "=", ": ", "\"", "'", "\n", "\\n", "\0", "%2", "%41", "://", "@", "é", "\u{202e}", "-----", ".", "_",
        " ",
    ];
    let members = "abcXYZ0189+/=_-";
    let mut dice = Dice::new(20_000);
    for round in 0..20_000 {
        let mut text = String::new();
        for _ in 0..1 + dice.below(12) {
            match dice.below(3) {
                0 => text.push_str(words[dice.below(words.len())]),
                1 => text.push_str(joints[dice.below(joints.len())]),
                _ => {
                    let width = dice.below(70);
                    text.push_str(&dice.text(members, width));
                }
            }
        }
        let mut bytes = text.clone().into_bytes();
        if round % 4 == 0 && !bytes.is_empty() {
            let at = dice.below(bytes.len());
            bytes[at] = dice.below(256) as u8;
        }
        let hits = engine.scan_text(&bytes, Options { decode: Decode::OneLevel });
        for pair in hits.windows(2) {
            assert!(pair[0].end <= pair[1].start, "hits overlap in {text:?}");
        }
        assert!(hits.iter().all(|hit| hit.start < hit.end && hit.end <= bytes.len()), "{text:?}");
        engine.redact(&text);
    }
}
