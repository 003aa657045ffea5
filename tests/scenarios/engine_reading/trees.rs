//! Files, modes, links, entries and the comparison, by real git (cases A13 to A16, A19).

use steward_rules::engine::classify::{Class, CodeReason, Unreadable, classify};
use steward_rules::engine::policy::{EntriesPolicy, Unit};

use super::*;

fn class(seen: &PrObs) -> Class {
    classify(seen, &Preset::DataCatalogue.policy().on(Some("main")))
}

#[tokio::test]
async fn a_moved_file_shows_both_of_its_places() {
    let desk = desk();
    let text = "{\"a\": {\"v\": 1}}\n";
    app(&desk).commit("move", "chore: move").remove("data/works/a.json").write("tools/a.json", text).push();
    let pull = app(&desk).open_pull("maria", "move", "chore: move");
    let seen = read(&desk, pull.number()).await;
    let [file] = seen.files.items.as_slice() else { panic!("{:?}", seen.files) };
    let old = file.old_path.as_ref().map(RepoPath::shown);
    assert_eq!((file.path.shown().as_str(), old.as_deref()), ("tools/a.json", Some("data/works/a.json")));
    assert!(matches!(class(&seen), Class::Code(CodeReason::Path { .. })), "{:?}", class(&seen));
}

#[tokio::test]
async fn links_are_told_where_they_are_added_and_where_they_lie() {
    let desk = desk();
    app(&desk).commit("link", "data: link").symlink("data/works/x.json", "/etc/passwd").push();
    let pull = app(&desk).open_pull("maria", "link", "data: link");
    let seen = read(&desk, pull.number()).await;
    assert_eq!(known(&seen.files.items[0].new_kind), Kind::Symlink);
    assert_eq!(paths(&known(&seen.links)), ["data/works/x.json"]);
    assert!(matches!(class(&seen), Class::Code(CodeReason::Symlink { .. })));

    // One that the head takes away stands in the tree of the merge base.
    app(&desk)
        .commit("main", "data: links")
        .symlink("data/old", "b")
        .submodule("data/sub", &"1".repeat(40))
        .push();
    let tip = app(&desk).tip("main");
    app(&desk)
        .commit("gone", "data: gone")
        .from(&tip)
        .remove("data/old")
        .write("data/works/y.json", "{}\n")
        .push();
    let pull = app(&desk).open_pull("maria", "gone", "data: gone");
    let seen = read(&desk, pull.number()).await;
    assert_eq!(paths(&known(&seen.links)), ["data/old", "data/sub"]);
    app(&desk).commit("code", "feat: run").from(&tip).executable("data/run", "#!/bin/sh\n").push();
    let pull = app(&desk).open_pull("maria", "code", "feat: run");
    let seen = read(&desk, pull.number()).await;
    assert_eq!(known(&seen.files.items[0].new_kind), Kind::Executable);
}

#[tokio::test]
async fn entries_are_counted_over_all_files_at_once() {
    let desk = desk();
    let two = "{\"a\": {\"v\": 1}, \"c\": {\"v\": 2}}\n";
    app(&desk).push("main", "data: two", &[("data/works/a.json", two)]);
    let tip = app(&desk).tip("main");
    // The same entries in other files are no change; a third is added, a fourth changed.
    app(&desk)
        .commit("split", "data: split")
        .from(&tip)
        .write("data/works/a.json", "{\"a\": {\"v\": 1}}\n")
        .write("data/works/c.json", "{\"c\": {\"v\": 3}, \"d\": {}}\n")
        .push();
    let pull = app(&desk).open_pull("maria", "split", "data: split");
    let entries = known(&read(&desk, pull.number()).await.entries);
    assert_eq!(
        (entries.added, entries.modified),
        ([EntryKey::new("works", "d")].into(), [EntryKey::new("works", "c")].into())
    );
    assert!(entries.removed.is_empty() && entries.moved.is_empty());
}

#[tokio::test]
async fn what_does_not_parse_or_is_too_long_has_no_count() {
    let desk = desk();
    app(&desk).push("bad", "data: bad", &[("data/works/bad.json", "{\"a\": 1, \"a\": 2}\n")]);
    let bad = app(&desk).open_pull("maria", "bad", "data: bad");
    let seen = read(&desk, bad.number()).await;
    assert_eq!(cause(&seen.entries), Cause::GitFailed);
    assert!(seen.files.complete && matches!(class(&seen), Class::Unreadable(Unreadable::Entries)));

    let long = vec![b' '; (16 << 20) + 1];
    app(&desk).commit("long", "data: long").bytes("data/works/long.json", &long).push();
    let pull = app(&desk).open_pull("maria", "long", "data: long");
    let number = pull.number();
    let seen = read(&desk, number).await;
    assert_eq!(cause(&seen.entries), Cause::TooLarge);
    // Where nothing looks into files, their length says nothing.
    let entries = EntriesPolicy { unit: Unit::Files, globs: Vec::new(), root: String::new() };
    let place = place_by(&desk, Policy { entries, ..Preset::DataCatalogue.policy().on(Some("main")) });
    let seen = reading::pull(&desk.ctx, &place, PullNumber(number as i64)).await.unwrap();
    assert_eq!(known(&seen.entries).touched(), 1);
}

#[tokio::test]
async fn how_far_a_head_is_behind_is_counted_after_one_fetch() {
    let desk = desk();
    let pull = intake(&desk);
    let fork = app(&desk).tip("main");
    app(&desk).push("main", "docs: one", &[("README.md", "one\n")]);
    app(&desk).push("main", "docs: two", &[("README.md", "two\n")]);
    let seen = read(&desk, pull.number()).await;
    let compare = known(&seen.compare);
    assert_eq!((compare.behind_by, compare.ahead_by, compare.merge_base), (2, 1, sha(&fork)));
    assert_eq!(seen.files.items.len(), 1, "what the base did is no change of it");
    assert_eq!(seen.base.sha, sha(&app(&desk).tip("main")));
    // A head that was force-pushed is read as it is now.
    app(&desk)
        .commit("intake/issue-9", "data: again")
        .from("main")
        .write("data/works/e.json", "{\"e\": {}}\n")
        .push();
    let seen = read(&desk, pull.number()).await;
    assert_eq!(
        (known(&seen.compare).behind_by, known(&seen.entries).added),
        (0, [EntryKey::new("works", "e")].into())
    );
}

#[tokio::test]
async fn a_change_of_too_many_files_is_cut() {
    let desk = desk();
    let commit = (0..3001).fold(app(&desk).commit("many", "data: many"), |commit, at| {
        commit.write(&format!("data/many/{at}.json"), "{}\n")
    });
    commit.push();
    let pull = app(&desk).open_pull("maria", "many", "data: many");
    let seen = read(&desk, pull.number()).await;
    assert_eq!((seen.files.items.len(), seen.files.complete), (3000, false));
    assert_eq!(cause(&seen.entries), Cause::TooLarge);
    assert!(matches!(class(&seen), Class::Unreadable(Unreadable::Files { read: 3000 })));
}

#[test]
fn clones_that_are_made_at_the_same_time_do_not_get_in_each_others_way() {
    let folder = tempfile::tempdir().unwrap();
    let clones = folder.path().join("clones");
    std::fs::create_dir_all(&clones).unwrap();
    let git = steward_core::git::Git::find(&clones).unwrap();
    for round in 0..8 {
        let make = |at: usize| {
            let name = RepoName::parse(&format!("octo/r{round}-{}", at % 2)).unwrap();
            steward_core::git::BareClone::open_alone(&git, &clones, "github.com", &name).map(drop)
        };
        let start = std::sync::Barrier::new(6);
        let made: Vec<_> = std::thread::scope(|scope| {
            let hands: Vec<_> = (0..6)
                .map(|at| {
                    let (make, start) = (&make, &start);
                    scope.spawn(move || {
                        start.wait();
                        make(at)
                    })
                })
                .collect();
            hands.into_iter().map(|hand| hand.join().unwrap()).collect()
        });
        assert!(made.iter().all(Result::is_ok), "{made:?}");
    }
    let left = std::fs::read_dir(&clones).unwrap().flatten();
    let left: Vec<_> = left.filter(|one| one.file_name().to_string_lossy().starts_with(".new")).collect();
    assert!(left.is_empty(), "{left:?}");
}
