//! The house's own rules, read off its files: direction of modules, sizes, names, no file forgotten.

#![allow(clippy::disallowed_methods, reason = "this test reads the tree; the rules it guards do not")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

const WARN_LINES: usize = 400;
const FAIL_LINES: usize = 600;
const FAIL_TEST_LINES: usize = 800;

/// Floor 1 of core: one outside thing each.
const FLOOR_ONE: &[&str] = &[
    "agent",
    "clock",
    "config",
    "frames",
    "git",
    "github",
    "group",
    "home",
    "keychain",
    "lock",
    "peers",
    "sandbox",
    "store",
    "telemetry",
    "tmux",
];
/// What every floor-1 module may use: where things stand, what is set, what time it is.
const SHARED: &[&str] = &["clock", "config", "home", "store"];
/// Uses between floor-1 modules beyond the shared ones, each with its reason.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("agent", "sandbox", "a seat is an agent inside the boundary, started as one process tree"),
    ("peers", "group", "a command past its time ends with everything it started"),
    ("tmux", "group", "as does ssh, which may have started what leads it there"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).expect("the workspace").to_path_buf()
}

/// Every file git would commit, as paths from the root.
fn tracked() -> Vec<String> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .expect("git lists the tree");
    assert!(output.status.success(), "git ls-files: {}", String::from_utf8_lossy(&output.stderr));
    let names = String::from_utf8(output.stdout).expect("our own names are UTF-8");
    names
        .split('\0')
        .filter(|name| !name.is_empty() && root().join(name).is_file())
        .map(str::to_owned)
        .collect()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn rust_under(folder: &str) -> Vec<(String, String)> {
    let all = tracked();
    let inside = all.into_iter().filter(|path| path.starts_with(folder) && path.ends_with(".rs"));
    inside.map(|path| (path.clone(), read(&path))).collect()
}

/// The code of a file without comments and without its `#[cfg(test)]` tail.
fn code(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let is_tail = |at: usize| {
        let gate = lines[at];
        (gate == "#[cfg(test)]" || gate.starts_with("#[cfg(all(test,"))
            && lines.get(at + 1).is_some_and(|next| next.starts_with("mod "))
    };
    let end = (0..lines.len()).find(|at| is_tail(*at)).unwrap_or(lines.len());
    let kept = lines[..end].iter().filter(|line| !line.trim_start().starts_with("//"));
    kept.copied().collect::<Vec<_>>().join("\n")
}

/// The first path words that follow `crate::` in a text, through nested `use` groups.
fn crate_modules(code: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, matched) in code.match_indices("crate::") {
        let before = code[..at].chars().next_back();
        if before.is_some_and(|letter| letter.is_alphanumeric() || letter == '_' || letter == '$') {
            continue;
        }
        let rest = &code[at + matched.len()..];
        if let Some(group) = rest.strip_prefix('{') {
            let mut depth = 0;
            for word in group.split_inclusive([',', '{', '}']) {
                let name: String =
                    word.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                if depth == 0 && !name.is_empty() {
                    found.insert(name);
                }
                match word.chars().next_back() {
                    Some('{') => depth += 1,
                    Some('}') if depth == 0 => break,
                    Some('}') => depth -= 1,
                    _ => {}
                }
            }
        } else {
            found.insert(rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect());
        }
    }
    found
}

/// The module of core a file belongs to: `store` for `store/tx.rs` and for `store.rs`.
fn module_of(path: &str) -> String {
    let inside = path.strip_prefix("src-tauri/crates/core/src/").unwrap_or(path);
    inside.split('/').next().unwrap_or_default().trim_end_matches(".rs").to_owned()
}

fn none(faults: Vec<String>, rule: &str) {
    assert!(faults.is_empty(), "{rule}\n  {}", faults.join("\n  "));
}

#[test]
fn floor_one_modules_do_not_know_each_other() {
    let mut faults = Vec::new();
    for (path, text) in rust_under("src-tauri/crates/core/src/") {
        let from = module_of(&path);
        if !FLOOR_ONE.contains(&from.as_str()) {
            continue;
        }
        for to in crate_modules(&code(&text)) {
            let peer = FLOOR_ONE.contains(&to.as_str()) && to != from;
            let upward = to == "loops" || to == "api";
            let excepted = EXCEPTIONS.iter().any(|(a, b, _)| *a == from && *b == to);
            if upward || (peer && !SHARED.contains(&to.as_str()) && !excepted) {
                faults.push(format!("{path} uses crate::{to}"));
            }
        }
    }
    none(faults, "modules of floor 1 use only store, config, home and clock beside themselves:");
}

#[test]
fn the_loops_do_not_know_the_api() {
    let mut faults = Vec::new();
    for (path, text) in rust_under("src-tauri/crates/core/src/loops/") {
        if crate_modules(&code(&text)).contains("api") {
            faults.push(format!("{path} uses crate::api"));
        }
    }
    none(faults, "floor 2 does not look up to floor 3:");
}

#[test]
fn every_module_of_core_stands_on_a_floor() {
    let known: BTreeSet<&str> = FLOOR_ONE.iter().copied().chain(["loops", "api", "lib"]).collect();
    let mut faults = Vec::new();
    for (path, _) in rust_under("src-tauri/crates/core/src/") {
        let module = module_of(&path);
        if !known.contains(module.as_str()) {
            faults.push(format!("{path}: say in tests/tidy.rs which floor {module} stands on"));
        }
    }
    none(faults, "a module without a floor is a module without a rule:");
}

#[test]
fn the_reader_of_uses_sees_groups_paths_and_no_other_crates() {
    let text = "use crate::store::{WriteTx, ReadTx};\nuse crate::{git::Runner, config::{self, Config}, clock};\n\
                let x = crate::home::find(); let y = $crate::api::z; use steward_crate::lock;";
    let found: Vec<_> = crate_modules(text).into_iter().collect();
    assert_eq!(found, ["clock", "config", "git", "home", "store"]);
    assert!(crate_modules(&code("fn a() {}\n#[cfg(test)]\nmod tests { use crate::api; }")).is_empty());
    let gated = "fn a() {}\n#[cfg(all(test, target_os = \"linux\"))]\nmod tests { use crate::api; }";
    assert!(crate_modules(&code(gated)).is_empty());
    assert!(crate_modules(&code("// see crate::api\n")).is_empty());
}

#[test]
fn outside_crates_are_used_in_one_place() {
    const HOMES: &[(&str, &str)] = &[
        ("octocrab", "src-tauri/crates/core/src/github/"),
        ("rusqlite", "src-tauri/crates/core/src/store/"),
        ("rusqlite_migration", "src-tauri/crates/core/src/store/"),
        ("serde_saphyr", "src-tauri/crates/core/src/config/raw.rs"),
        ("tauri", "src-tauri/src/"),
    ];
    let mut faults = Vec::new();
    for (path, text) in rust_under("src-tauri/") {
        if path == "src-tauri/build.rs" {
            continue;
        }
        let code = code(&text);
        for (name, home) in HOMES {
            let used = code.match_indices(&format!("{name}::")).any(|(at, _)| {
                !code[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':')
            });
            if used && !path.starts_with(home) {
                faults.push(format!("{path} uses {name}, which belongs to {home}"));
            }
        }
    }
    none(faults, "foreign types stop at their adapter:");
}

#[test]
fn only_the_dispatch_of_the_api_handles_loose_json() {
    // The dispatch itself, and the page that shows the config file's values as they are.
    let allowed = ["dispatch.rs", "settings.rs"];
    let mut faults = Vec::new();
    for (path, text) in rust_under("src-tauri/crates/core/src/api/") {
        let name = path.rsplit('/').next().unwrap_or_default();
        if code(&text).contains("serde_json::Value") && !allowed.contains(&name) {
            faults.push(path);
        }
    }
    none(faults, "views are types; only dispatch sees JSON values:");
}

#[test]
fn rules_and_core_know_no_window_and_rules_know_no_runtime() {
    const BANNED: &[(&str, &[&str])] = &[
        (
            "src-tauri/crates/rules/Cargo.toml",
            &[
                "tauri",
                "tokio",
                "rusqlite",
                "octocrab",
                "reqwest",
                "notify",
                "rand",
                "steward-core",
                "nix",
                "libc",
            ],
        ),
        ("src-tauri/crates/core/Cargo.toml", &["tauri", "gtk", "steward-app", "steward-cli"]),
        ("src-tauri/crates/cli/Cargo.toml", &["tauri", "gtk", "rusqlite", "steward-app"]),
    ];
    let mut faults = Vec::new();
    for (manifest, banned) in BANNED {
        for line in read(manifest).lines() {
            let name = line.split([' ', '.', '=']).next().unwrap_or_default();
            if banned.iter().any(|ban| name == *ban || name.starts_with(&format!("{ban}-plugin"))) {
                faults.push(format!("{manifest}: {line}"));
            }
        }
    }
    none(faults, "down only:");
}

#[test]
fn only_the_host_folder_of_the_window_imports_tauri() {
    let mut faults = Vec::new();
    for path in tracked() {
        let source = [".ts", ".svelte", ".js"].iter().any(|end| path.ends_with(end));
        let inside = path.starts_with("ui/src/") && !path.starts_with("ui/src/host/");
        if inside && source && read(&path).contains("@tauri-apps") {
            faults.push(path);
        }
    }
    none(faults, "the window reaches its host through ui/src/host:");
}

#[test]
fn files_are_short() {
    let mut faults = Vec::new();
    for path in tracked() {
        let source = [".rs", ".ts", ".svelte", ".css", ".mjs"].iter().any(|end| path.ends_with(end));
        if !source || path.contains("/generated/") {
            continue;
        }
        let lines = read(&path).lines().count();
        let is_test = path.starts_with("tests/") || path.contains(".test.");
        let limit = if is_test { FAIL_TEST_LINES } else { FAIL_LINES };
        if lines > limit {
            faults.push(format!("{path}: {lines} lines, {limit} are the limit"));
        } else if lines > WARN_LINES && !is_test {
            println!("{path}: {lines} lines: it may hold two ideas");
        }
    }
    none(faults, "one idea per file:");
}

#[test]
fn no_test_file_is_forgotten() {
    let mut faults = Vec::new();
    for suite in ["cli", "desktop", "rules", "scenarios"] {
        let main = read(&format!("tests/{suite}/main.rs"));
        let prefix = format!("tests/{suite}/");
        for (path, _) in rust_under(&prefix) {
            let inside = &path[prefix.len()..];
            let is_root = inside == "main.rs" || inside.starts_with("src/");
            let named = inside.split('/').next().unwrap_or_default().trim_end_matches(".rs");
            if !is_root && !main.lines().any(|line| line.trim() == format!("mod {named};")) {
                faults.push(format!("{path} is in no main.rs: add mod {named};"));
            }
        }
    }
    none(faults, "a test that is not compiled tests nothing:");
}

#[test]
fn migrations_are_numbered_without_a_gap_and_all_in_the_list() {
    let names: Vec<String> = tracked()
        .iter()
        .filter_map(|path| path.strip_prefix("migrations/"))
        .filter(|name| name.ends_with(".sql") && *name != "schema.sql")
        .map(str::to_owned)
        .collect();
    let list = read("src-tauri/crates/core/src/store/migrate.rs");
    for (index, name) in names.iter().enumerate() {
        let number = format!("{:04}_", index + 1);
        assert!(name.starts_with(&number), "{name} should begin with {number}");
        assert!(list.contains(name.as_str()), "migrations/{name} is not in store/migrate.rs");
    }
    assert!(!names.is_empty());
}

#[test]
fn nothing_is_left_to_do_and_no_test_is_switched_off() {
    // Split, so that this file does not find itself.
    let words = [
        concat!("todo", "!("),
        concat!("unimplemented", "!("),
        concat!("#[ig", "nore"),
        concat!("dbg", "!("),
    ];
    let in_pages = [
        concat!("test.sk", "ip("),
        concat!("it.sk", "ip("),
        concat!("describe.sk", "ip("),
        concat!(".on", "ly("),
    ];
    let mut faults = Vec::new();
    for path in tracked() {
        let words: &[&str] = if path.ends_with(".rs") {
            &words
        } else if [".ts", ".mjs", ".svelte"].iter().any(|end| path.ends_with(end)) {
            &in_pages
        } else {
            continue;
        };
        for (number, line) in read(&path).lines().enumerate() {
            if let Some(word) = words.iter().find(|word| line.contains(**word)) {
                faults.push(format!("{path}:{}: {word}", number + 1));
            }
        }
    }
    none(faults, "a promise in the code is not code:");
}

#[test]
fn no_text_names_the_machine_it_was_written_on() {
    let homes = [concat!("/ro", "ot/"), concat!("/wo", "rk/"), concat!("/ho", "me/"), concat!("/Us", "ers/")];
    let invented = ["/home/seat", "/home/me", "/home/you", "/home/someone", "/home/octo", "/home/user"];
    let mut faults = Vec::new();
    for path in tracked() {
        let Ok(text) = std::fs::read_to_string(root().join(&path)) else { continue };
        for (number, line) in text.lines().enumerate() {
            let mut line = line.to_owned();
            for name in invented {
                line = line.replace(name, "");
            }
            let begins =
                |at: usize| !line[..at].ends_with(|c: char| c.is_alphanumeric() || "._-/".contains(c));
            if let Some(word) = homes.iter().find(|word| line.match_indices(**word).any(|(at, _)| begins(at)))
            {
                faults.push(format!("{path}:{}: {word}", number + 1));
            }
        }
    }
    none(faults, "a path of one machine means nothing on another:");
}

#[test]
fn sentences_for_people_are_not_panics() {
    // An unwrap outside tests says nothing; an expect must name the invariant it stands on.
    let mut faults = Vec::new();
    for (path, text) in rust_under("src-tauri/") {
        for (number, line) in code(&text).lines().enumerate() {
            let bare = line.contains(".unwrap()");
            let unsaid = line.contains(".expect(\"") && !line.contains(".expect(\"BUG: ");
            if bare || unsaid {
                faults.push(format!("{path}: code line {}: {}", number + 1, line.trim()));
            }
        }
    }
    none(faults, "no unwrap, and no expect without \"BUG: \" and the invariant:");
}
