//! The secret engine as a program of its own, so that its CPU is measured like that of the others.
//!
//! `files DIR` scans each file whole · `stdin` scans a diff's added lines · `plant DIR` writes the
//! planted corpus · `hostile DIR` writes the adversarial files. Run by `cargo xtask bench secrets`.
// The crate is pure; its benchmark is a program and reads files.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use steward_rules::secret::plant::{Dice, Kind, plant};
use steward_rules::secret::{Decode, Engine, Options, Scan, Tier};

const MEGABYTES: usize = 5;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["files", folder] => files(Path::new(folder), Decode::Off),
        ["files", folder, "--decode"] => files(Path::new(folder), Decode::OneLevel),
        ["stdin"] => stdin(),
        ["plant", folder] => plant_all(Path::new(folder)),
        ["hostile", folder] => hostile(Path::new(folder)),
        // `cargo bench` and `cargo test --benches` call it bare: nothing to measure without the others.
        _ => println!("usage: secrets files DIR [--decode] | stdin | plant DIR | hostile DIR"),
    }
}

/// Scans every file and prints one JSON object per file with hits.
fn files(folder: &Path, decode: Decode) {
    let engine = Engine::shared();
    for path in walk(folder) {
        let text = std::fs::read(&path).unwrap();
        let mut counts: BTreeMap<(String, bool), usize> = BTreeMap::new();
        for hit in engine.scan_text(&text, Options { decode }) {
            *counts.entry((hit.rule.id.clone(), hit.tier == Tier::High)).or_default() += 1;
        }
        for ((rule, high), count) in counts {
            let file = path.file_name().unwrap().to_string_lossy();
            println!("{}", serde_json::json!({ "file": file, "rule": rule, "high": high, "count": count }));
        }
    }
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

/// Scans the added lines of a diff the way the gate does.
fn stdin() {
    let mut diff = Vec::new();
    std::io::stdin().read_to_end(&mut diff).unwrap();
    let mut scan = Scan::new(Engine::shared(), Options::default(), "salt");
    let mut path = String::new();
    let mut number = 0;
    for line in diff.split(|byte| *byte == b'\n') {
        if let Some(name) = line.strip_prefix(b"+++ b/") {
            path = String::from_utf8_lossy(name).into_owned();
            scan.file_name("head", &path);
        } else if line.starts_with(b"@@ ") {
            let start = String::from_utf8_lossy(line);
            let start =
                start.split('+').nth(1).and_then(|rest| rest.split([',', ' ']).next().map(str::to_owned));
            number = start.and_then(|start| start.parse().ok()).unwrap_or(1);
        } else if let Some(added) = line.strip_prefix(b"+") {
            scan.line("head", &path, number, added);
            number += 1;
        } else if line.starts_with(b" ") {
            number += 1;
        }
    }
    let report = scan.finish(&[]);
    println!(
        "{}",
        serde_json::json!({ "hits": report.hits.len(), "lines": report.lines, "bytes": report.bytes })
    );
}

/// One file per rule, kind and seed: `kind--rule--seed.conf`.
fn plant_all(folder: &Path) {
    for seed in 1..=3u64 {
        for rule in Engine::shared().rules() {
            let kinds = [
                ("secret", Kind::Secret),
                ("short", Kind::Short),
                ("checksum", Kind::WrongChecksum),
                ("filler", Kind::Placeholder),
            ];
            for (name, kind) in kinds {
                let Some(planted) = plant(rule, kind, seed) else { continue };
                let path = folder.join(format!("{name}--{}--{seed}.conf", rule.id));
                std::fs::write(path, format!("# settings\n{}\n# end\n", planted.text)).unwrap();
            }
        }
    }
}

/// Files of 5 MB that are built to hurt a scanner.
fn hostile(folder: &Path) {
    let engine = Engine::shared();
    let size = MEGABYTES * 1_000_000;
    let mut dice = Dice::new(5);
    let base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let keywords: Vec<&str> =
        engine.rules().iter().flat_map(|rule| rule.keywords.iter().map(String::as_str)).collect();
    let dashes = "-".repeat(5);
    let header = format!("{dashes}BEGIN RSA PRIVATE KEY{dashes}");
    let secrets: Vec<String> =
        engine.rules().iter().filter_map(|rule| Some(plant(rule, Kind::Secret, 1)?.text)).collect();
    let body = dice.text(base62, 66);
    let pieces: Vec<(&str, String)> = vec![
        ("one-letter", "a".repeat(64)),
        ("keywords", keywords.join(" ")),
        ("keywords-assigned", keywords.join(" = ")),
        ("keywords-dense", keywords.concat()),
        ("pem-headers", format!("{header}\n")),
        ("pem-headers-one-line", header.clone()),
        ("pem-bodies", format!("{header}\n{body}\n")),
        ("pem-short-bodies", format!("{header}\n{}\n", &body[..60])),
        ("password", "password=".into()),
        ("secret-token", "secret_token: ".into()),
        ("prefix-github", "ghp_".into()),
        ("prefix-sk", "sk-".into()),
        ("prefix-pat", "pat.".into()),
        ("jwt-starts", "eyJ".into()),
        ("jwt-parts", "eyJhbGciOiJIUzI1NiJ9.".into()),
        ("url-users", "://user:".into()),
        ("percent", "%41%2B".into()),
        ("hex", "6768705f".into()),
        ("marker-inside", "T3BlbkFJ".into()),
        ("marker-behind", "0123456789abcdef0123456789abcdef-us".into()),
        ("atlas", "aaaaaaaaaaaaaa.atlasv1.".into()),
        ("providers", "twitter discord sentry datadog ".into()),
        ("providers-assigned", "twitter_discord_sentry_datadog=".into()),
        ("all-secrets", secrets.join("\n")),
        ("quotes", "token=\"\"\"\"''".into()),
    ];
    for (name, piece) in pieces {
        let text: String = piece.repeat(size / piece.len() + 1);
        std::fs::write(folder.join(format!("{name}.txt")), &text[..size]).unwrap();
    }
    std::fs::write(folder.join("random-one-line.txt"), dice.text(base62, size)).unwrap();
    std::fs::write(folder.join("nested-base64.txt"), nested(size)).unwrap();
}

/// Base64 of base64 of base64 …, to the size.
fn nested(size: usize) -> String {
    use base64::Engine as _;
    let mut text = "key = value and more words, ".repeat(2000);
    while text.len() * 4 / 3 < size {
        text = base64::engine::general_purpose::STANDARD.encode(&text);
    }
    text.repeat(size / text.len() + 1)[..size].to_owned()
}
