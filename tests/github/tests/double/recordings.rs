//! The judge held to what GitHub really sent, where a folder of recordings is at hand.

use serde_json::Value;
use steward_github_double::judge_answer;

/// Recordings are other projects' data and are not kept here: `STEWARD_GITHUB_RECORDINGS` names their folder.
#[test]
fn recent_recordings_of_github_meet_the_contract() {
    let Some(folder) = std::env::var_os("STEWARD_GITHUB_RECORDINGS") else {
        println!("skipped: STEWARD_GITHUB_RECORDINGS names no folder");
        return;
    };
    let (mut well, mut broken) = (0, std::collections::BTreeMap::<String, usize>::new());
    for entry in std::fs::read_dir(folder).expect("the folder of recordings") {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        for line in text.lines() {
            let one: Value = serde_json::from_str(line).expect("a recording a line");
            if one["year"].as_u64().is_none_or(|year| year < 2021) {
                continue;
            }
            let word = |name: &str| one[name].as_str().unwrap_or_default();
            let path = word("url").trim_start_matches("https://api.github.com");
            let path = path.split('?').next().unwrap_or_default();
            let status = one["status"].as_u64().unwrap_or_default() as u16;
            let Some(faults) = judge_answer(word("method"), path, status, word("body").as_bytes()) else {
                continue;
            };
            if faults.is_empty() {
                well += 1;
            }
            for fault in faults {
                let digits = |c: char| if c.is_ascii_digit() { '0' } else { c };
                let what: String = fault.chars().map(digits).take(110).collect();
                *broken.entry(format!("{} {status} {what}", word("operation"))).or_default() += 1;
            }
        }
    }
    println!("{well} recordings are well");
    assert!(broken.is_empty(), "the description or the overlay is behind GitHub: {broken:#?}");
    assert!(well > 0, "no recording was read");
}
