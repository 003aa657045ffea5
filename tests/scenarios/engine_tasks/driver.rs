//! `steward merge-driver`: what git is told, and real git that uses it.

use std::process::Command;

use steward_kit::binary;

use super::stage::{Stage, works};

fn run(stage: &Stage, [base, ours, theirs]: [&[u8]; 3], flags: &[&str]) -> (Option<i32>, Vec<u8>, String) {
    let put = |name: &str, bytes: &[u8]| {
        let path = stage.home.outside(name);
        std::fs::write(&path, bytes).expect("a version");
        path
    };
    let (base, ours, theirs) = (put("base", base), put("ours", ours), put("theirs", theirs));
    let out = Command::new(binary::steward())
        .env_clear()
        .envs(stage.home.environment())
        .current_dir(stage.home.path())
        .arg("merge-driver")
        .args([&base, &ours, &theirs])
        .arg("data/works/a.json")
        .args(flags)
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    (out.status.code(), std::fs::read(&ours).expect("our version"), said)
}

#[test]
fn it_exits_as_git_asks_and_leaves_ours_alone_when_it_refuses() {
    let stage = Stage::new();
    let base = works(&[("a", "A"), ("b", "B")]);
    let ours = works(&[("a", "A"), ("b", "B"), ("c", "C")]);
    let theirs = works(&[("a", "A"), ("b", "B"), ("d", "D")]);
    let changed = works(&[("a", "A"), ("b", "Bee")]);
    let removed = works(&[("a", "A")]);
    let text = (b"one\ntwo\nthree\n".to_vec(), b"ONE\ntwo\nthree\n".to_vec(), b"one\ntwo\nTHREE\n".to_vec());
    type Case<'a> = (&'a str, [&'a [u8]; 3], &'a [&'a str], i32);
    let cases: [Case<'_>; 9] = [
        ("merged", [&base, &ours, &theirs], &["--kind", "json-map"], 0),
        ("new on both sides", [b"", &ours, &theirs], &["--kind", "json-map"], 0),
        ("lines of git's own", [&text.0, &text.1, &text.2], &["--kind", "text"], 0),
        ("cannot be read", [&base, b"{\"a\":", &theirs], &["--kind", "json-map"], 1),
        ("no text", [&base, b"\xff\xfe", &theirs], &["--kind", "json-map"], 1),
        ("wrong use", [&base, &ours, &theirs], &["--kind", "yaml"], 2),
        ("no keyed file", [&base, b"[1]", &theirs], &["--kind", "json-map"], 3),
        ("a29: lines that conflict", [b"x\n", b"y\n", b"z\n"], &["--kind", "text"], 3),
        ("a26: deleted and changed", [&base, &changed, &removed], &["--kind", "json-map"], 5),
    ];
    for (name, versions, flags, code) in cases {
        let (exit, left, said) = run(&stage, versions, flags);
        assert_eq!(exit, Some(code), "{name}: {said}");
        assert_eq!(left == versions[1], code != 0, "{name}");
        assert_eq!(said.is_empty(), code == 0, "{name}: {said}");
    }
    let (_, merged, _) = run(&stage, [&base, &ours, &theirs], &["--kind", "json-map"]);
    let merged: serde_json::Value = serde_json::from_slice(&merged).expect("JSON");
    let keys: Vec<&String> = merged.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["a", "b", "c", "d"]);
    let lists = [
        b"{\"a\":{\"sources\":[1]}}".as_slice(),
        b"{\"a\":{\"sources\":[1,2]}}".as_slice(),
        b"{\"a\":{\"sources\":[1,3]}}".as_slice(),
    ];
    let (exit, merged, said) = run(&stage, lists, &["--kind", "json-map", "--union-keys", "sources"]);
    assert_eq!((exit, merged.as_slice()), (Some(0), b"{\"a\":{\"sources\":[1,2,3]}}".as_slice()), "{said}");
}

#[test]
fn the_rule_of_a_file_is_the_config_files() {
    let stage = Stage::new();
    let config = "accounts: [{host: github.com, login: octo}]\nrepositories: [{name: octo/catalogue, preset: data-catalogue}]\n";
    stage.home.write_config(config);
    let put = |name: &str, bytes: &[u8]| {
        let path = stage.home.outside(name);
        std::fs::write(&path, bytes).expect("a version");
        path
    };
    let base = put("base", &works(&[("a", "A"), ("b", "B")]));
    let theirs = put("theirs", &works(&[("a", "A"), ("b", "B"), ("d", "D")]));
    let run = |folder: &std::path::Path, path: &str, flags: &[&str]| {
        let ours = put("ours", &works(&[("a", "A"), ("b", "B"), ("c", "C")]));
        let out = Command::new(binary::steward())
            .env_clear()
            .envs(stage.home.environment())
            .current_dir(folder)
            .arg("merge-driver")
            .args([&base, &ours, &theirs])
            .arg(path)
            .args(flags)
            .output()
            .expect("it runs");
        (out.status.code(), String::from_utf8_lossy(&out.stderr).into_owned())
    };
    let (here, checkout) = (stage.home.path(), stage.repo.path().to_owned());
    let (code, said) = run(&here, "data/works/a.json", &["--repo", "octo/catalogue"]);
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = run(&here, "data/redirects.json", &["--repo", "octo/catalogue"]);
    assert_eq!(code, Some(3), "{said}");
    let (code, said) = run(&here, "README.md", &["--repo", "octo/catalogue"]);
    assert_eq!(code, Some(3), "plain text: {said}");
    let (code, said) = run(&here, "data/works/a.json", &["--repo", "octo/other"]);
    assert_eq!((code, said.contains("octo/other")), (Some(1), true), "{said}");
    let (code, said) = run(&checkout, "data/works/a.json", &[]);
    assert_eq!((code, said.contains("--repo")), (Some(1), true), "it has no origin yet: {said}");
    stage.repo.git(&["remote", "add", "origin", "https://github.com/octo/catalogue.git"]);
    let (code, said) = run(&checkout, "data/works/a.json", &[]);
    assert_eq!(code, Some(0), "{said}");
    let (code, _) = run(&checkout, "data/works/a.json", &["--repo", "octo/catalogue", "--kind", "text"]);
    assert_eq!(code, Some(2), "one of the two");
}

#[test]
fn git_itself_merges_by_it() {
    let stage = Stage::new();
    let repo = &stage.repo;
    let driver = format!(
        "env STEWARD_HOME={} {} merge-driver %O %A %B %P --kind json-map",
        stage.home.path().display(),
        binary::steward().display()
    );
    repo.git(&["config", "merge.steward.driver", &driver]);
    repo.commit("by the driver", &[(".gitattributes", Some(b"data/works/*.json merge=steward\n"))]);
    repo.git(&["checkout", "--quiet", "-b", "one"]);
    let one = works(&[("alpha", "Alpha"), ("beta", "Beta"), ("delta", "Delta"), ("gamma", "Gamma")]);
    repo.commit("one", &[("data/works/a.json", Some(&one))]);
    repo.git(&["checkout", "--quiet", "main"]);
    let two = works(&[("alpha", "Alpha"), ("beta", "Beta"), ("epsilon", "Epsilon"), ("gamma", "Gamma")]);
    repo.commit("two", &[("data/works/a.json", Some(&two))]);
    assert!(repo.try_git(&["merge", "--quiet", "-m", "both", "one"]), "the driver merges it");
    let all = repo.git(&["show", "HEAD:data/works/a.json"]);
    for key in ["alpha", "beta", "delta", "epsilon", "gamma"] {
        assert_eq!(all.matches(&format!("\"{key}\"")).count(), 1, "{all}");
    }
    repo.git(&["checkout", "--quiet", "-b", "three", "HEAD"]);
    repo.commit("three", &[("data/works/a.json", Some(&works(&[("alpha", "A"), ("beta", "Beta")])))]);
    repo.git(&["checkout", "--quiet", "main"]);
    repo.commit("four", &[("data/works/a.json", Some(&works(&[("alpha", "The first"), ("beta", "Beta")])))]);
    assert!(!repo.try_git(&["merge", "--quiet", "-m", "no", "three"]), "a real conflict stays one");
}
