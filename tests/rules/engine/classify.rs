//! Section 3: every class, every near miss, every edge rule.

use steward_rules::diff::{Kind, RepoPath};
use steward_rules::engine::classify::*;
use steward_rules::engine::decision::{Decision, Listed};
use steward_rules::engine::facts::*;
use steward_rules::engine::merge::assess;
use steward_rules::engine::paths::{NotData, SafePaths};
use steward_rules::engine::policy::{Policy, Preset};
use steward_rules::reading::Reading;

use super::world::*;

fn class_of(spoil: impl FnOnce(&mut PrObs)) -> Class {
    let mut pr = ready();
    spoil(&mut pr);
    classify(&pr, &policy())
}

fn files(list: &[FileChange]) -> Class {
    class_of(|pr| pr.files = Listing::whole(list.iter().cloned()))
}

fn renamed(from: &str, to: &str) -> FileChange {
    FileChange { old_path: Some(RepoPath::from(from)), ..modified(to) }
}

fn kinds(path: &str, old: Kind, new: Kind) -> FileChange {
    FileChange { old_kind: Reading::known(old), new_kind: Reading::known(new), ..modified(path) }
}

#[track_caller]
fn is(class: &Class, slug: &str) {
    assert_eq!(class.slug(), slug, "{class:?}");
}

#[test]
fn the_classes_in_their_order_each_beats_every_later_one() {
    // From the last class to the first, each spoil stays in place.
    let mut pr = ready();
    is(&classify(&pr, &policy()), "data");
    pr.linked_issues = Listing::whole([LinkedIssue { number: 9, labels: strings(&["data:import"]) }]);
    is(&classify(&pr, &policy()), "never_merge");
    pr.entries = entries(101);
    is(&classify(&pr, &policy()), "oversize");
    pr.entries = unread();
    is(&classify(&pr, &policy()), "unreadable");
    pr.head.repo = Some(8);
    is(&classify(&pr, &policy()), "foreign");
    pr.files = Listing::whole([modified("tools/x.sh")]);
    is(&classify(&pr, &policy()), "code");
    pr.files.complete = false;
    is(&classify(&pr, &policy()), "unreadable");
    pr.draft = true;
    is(&classify(&pr, &policy()), "draft");
    pr.head.branch = "sync/series".to_owned();
    is(&classify(&pr, &policy()), "own_bot");
}

#[test]
fn own_by_either_the_label_or_the_branch() {
    is(&class_of(|pr| pr.labels = labels(&["Bot-Sync"])), "own_bot");
    is(&class_of(|pr| pr.head.branch = "sync/x".to_owned()), "own_bot");
    for near in ["sync", "synced/x", "my/sync/x", "Sync/x"] {
        is(&class_of(|pr| pr.head.branch = near.to_owned()), "data");
    }
    is(&class_of(|pr| pr.labels = labels(&["ai-verified", "not-bot-sync"])), "data");
    // Whether it is the other bot's own is not known.
    assert_eq!(class_of(|pr| pr.labels = unread()), Class::Unreadable(Unreadable::Labels));
}

#[test]
fn a14_a_list_cut_short_is_never_data() {
    let cut = class_of(|pr| pr.files.complete = false);
    assert_eq!(cut, Class::Unreadable(Unreadable::Files { read: 1 }));
    let many = |n: usize| (0..n).map(|n| modified(&format!("data/{n}.json"))).collect::<Vec<_>>();
    is(&files(&many(FILES_CAP)), "unreadable");
    is(&files(&many(FILES_CAP - 1)), "data");
    assert_eq!(files(&[]), Class::Unreadable(Unreadable::NoFiles));
    assert_eq!(class_of(|pr| pr.links = unread()), Class::Unreadable(Unreadable::Links));
    assert_eq!(class_of(|pr| pr.entries = unread()), Class::Unreadable(Unreadable::Entries));
    let path = RepoPath::from("data/a.json");
    for side in 0..2 {
        let mut file = modified("data/a.json");
        if side == 0 {
            file.old_kind = unread()
        } else {
            file.new_kind = unread()
        };
        assert_eq!(files(&[file]), Class::Unreadable(Unreadable::Modes { path: path.clone() }));
    }
    let nowhere = kinds("data/a.json", Kind::Absent, Kind::Absent);
    assert_eq!(files(&[nowhere]), Class::Unreadable(Unreadable::Modes { path }));
    let mut pr = ready();
    pr.files.complete = false;
    let decision = assess(&pr, &memory(), &policy(), now());
    assert_eq!(listed(&decision), Listed::Class(Class::Unreadable(Unreadable::Files { read: 1 })));
}

#[test]
fn a15_a_path_is_safe_by_whole_components_with_its_case() {
    let code = |path: &str, why: NotData| {
        let class = files(&[modified("data/ok.json"), modified(path)]);
        assert_eq!(class, Class::Code(CodeReason::Path { path: RepoPath::from(path), why }), "{path}");
    };
    for outside in ["tools/x", "Data/x", "data", "data.json", "database/x", "x/data/y", "README.md"] {
        code(outside, NotData::Outside);
    }
    for odd in ["data/../tools/x", "data//x", "/data/x", "data/", "data/./x", "./data/x", "data/a\0b", ""] {
        code(odd, NotData::Odd);
    }
    for git in [
        "data/.gitattributes",
        "data/x/.gitmodules",
        "data/.github/workflows/x.yml",
        "data/.GitHub/x",
        "data/.gitignore",
        ".git/config",
    ] {
        code(git, NotData::Git);
    }
    is(&files(&[modified("data/a/b/c.json"), modified("data/.keep"), modified("data/dögg.json")]), "data");
    let bytes = RepoPath::new(b"data/\xff.json".to_vec());
    let why = NotData::Odd;
    let file = FileChange { path: bytes.clone(), ..modified("x") };
    assert_eq!(files(&[file]), Class::Code(CodeReason::Path { path: bytes, why }));
}

#[test]
fn a15_both_sides_of_a_rename_and_deletions_count() {
    is(&files(&[renamed("data/x.json", "tools/x.json")]), "code");
    is(&files(&[renamed("tools/x.json", "data/x.json")]), "code");
    is(&files(&[renamed("data/x.json", "data/y.json")]), "data");
    is(&files(&[kinds("tools/x", Kind::File, Kind::Absent)]), "code");
    is(&files(&[kinds("data/x", Kind::File, Kind::Absent)]), "data");
    is(&files(&[kinds("data/x", Kind::Absent, Kind::File)]), "data");
}

#[test]
fn a16_a_symlink_or_submodule_on_either_side_is_code() {
    let path = || RepoPath::from("data/x");
    for (old, new) in
        [(Kind::Symlink, Kind::File), (Kind::File, Kind::Symlink), (Kind::Symlink, Kind::Absent)]
    {
        assert_eq!(files(&[kinds("data/x", old, new)]), Class::Code(CodeReason::Symlink { path: path() }));
    }
    for (old, new) in [(Kind::Submodule, Kind::File), (Kind::Absent, Kind::Submodule)] {
        assert_eq!(files(&[kinds("data/x", old, new)]), Class::Code(CodeReason::Submodule { path: path() }));
    }
    let link = |at: &str| class_of(|pr| pr.links = Reading::known(vec![RepoPath::from(at)]));
    assert_eq!(link("data/x"), Class::Code(CodeReason::LinkInTree { path: path() }));
    is(&link("tools/link"), "data");
    is(&link("data//link"), "code");
    is(&link("tools/../data/link"), "code");
    // A mode that is code for certain counts before one that is not known.
    let hidden = FileChange { new_kind: unread(), ..modified("data/a") };
    is(&files(&[hidden, kinds("data/x", Kind::File, Kind::Symlink)]), "code");
}

#[test]
fn an_executable_is_code_unless_the_policy_allows_it() {
    let mut pr = ready();
    for (old, new) in [(Kind::File, Kind::Executable), (Kind::Executable, Kind::File)] {
        pr.files = Listing::whole([kinds("data/x", old, new)]);
        is(&classify(&pr, &policy()), "code");
        is(&classify(&pr, &Policy { allow_exec: true, ..policy() }), "data");
    }
}

#[test]
fn f11_instructions_and_settings_are_code_wherever_they_lie() {
    for name in [
        ".aider.conf.yml",
        "steward.prod.yaml",
        "AGENTS.md",
        "claude.md",
        ".claude/settings.json",
        ".mcp.json",
        "steward.yaml",
        ".cursorrules",
    ] {
        let path = RepoPath::from(format!("data/notes/{name}").as_str());
        let why = NotData::Instructions;
        assert_eq!(files(&[modified(&path.shown())]), Class::Code(CodeReason::Path { path, why }));
    }
    is(&files(&[modified("data/agents.json"), modified("data/my-agents.md")]), "data");
    let docs = Preset::DocsSite.policy().on(Some("main"));
    let mut pr = ready();
    pr.files = Listing::whole([modified("AGENTS.md")]);
    is(&classify(&pr, &docs), "code");
    pr.files = Listing::whole([modified("README.md"), modified("docs/a/b.md")]);
    is(&classify(&pr, &docs), "data");
    pr.files = Listing::whole([modified("src/README.md")]);
    is(&classify(&pr, &docs), "code");
}

#[test]
fn everything_may_be_safe_but_what_is_gits_or_protected() {
    let policy =
        Policy { safe_paths: strings(&["**"]), protected_paths: strings(&["deploy/**"]), ..policy() };
    let class = |path: &str| {
        let mut pr = ready();
        pr.files = Listing::whole([modified(path)]);
        classify(&pr, &policy).slug()
    };
    for data in ["src/main.rs", "Makefile", ".editorconfig", "deployment/x"] {
        assert_eq!(class(data), "data", "{data}");
    }
    for code in ["deploy/x.sh", ".github/workflows/ci.yml", ".gitattributes", "sub/.gitmodules", "a/../b"] {
        assert_eq!(class(code), "code", "{code}");
    }
    // A protected pattern that cannot be read protects everything.
    let broken = SafePaths::new(&strings(&["**"]), &strings(&["a[b"]));
    assert_eq!(broken.refuses(&RepoPath::from("x")), Some(NotData::Protected));
}

#[test]
fn a_pattern_without_a_wildcard_names_a_folder() {
    for pattern in ["data", "data/", "data/**"] {
        let safe = SafePaths::new(&strings(&[pattern]), &[]);
        assert_eq!(safe.refuses(&RepoPath::from("data/a/b")), None, "{pattern}");
        for outside in ["data", "datax/a", "a/data/b"] {
            assert_eq!(safe.refuses(&RepoPath::from(outside)), Some(NotData::Outside), "{pattern}");
        }
    }
    let none = SafePaths::new(&[], &[]);
    assert_eq!(none.refuses(&RepoPath::from("data/a")), Some(NotData::Outside));
    for no_pattern in ["", "/", "/data", "../data", "data//x", "a[b"] {
        assert!(!SafePaths::is_pattern(no_pattern), "{no_pattern}");
        let safe = SafePaths::new(&strings(&[no_pattern]), &[]);
        assert_eq!(safe.refuses(&RepoPath::from("data/a")), Some(NotData::Outside), "{no_pattern}");
    }
}

#[test]
fn a18_a_fork_a_deleted_fork_and_another_base_are_listed_only() {
    let cases: [(&str, Spoil, ForeignReason); 3] = [
        ("fork", |pr| pr.head.repo = Some(8), ForeignReason::Fork),
        ("deleted", |pr| pr.head.repo = None, ForeignReason::DeletedFork),
        ("base", |pr| pr.base.branch = "next".to_owned(), ForeignReason::Base { branch: "next".to_owned() }),
    ];
    for (name, spoil, reason) in cases {
        let mut pr = ready();
        spoil(&mut pr);
        let class = Class::Foreign(reason);
        assert_eq!(classify(&pr, &policy()), class, "{name}");
        assert_eq!(listed(&decide(&pr)), Listed::Class(class), "{name}");
        // Its code still gets a review, since that reads only the text of the change.
        pr.files = Listing::whole([modified("tools/x")]);
        assert!(matches!(decide(&pr), Decision::ReviewCode { .. }), "{name}");
    }
}

#[test]
fn a19_exactly_a_hundred_entries_still_merge() {
    for (touched, slug) in [(0, "data"), (100, "data"), (101, "oversize")] {
        is(&class_of(|pr| pr.entries = entries(touched)), slug);
    }
    let mut pr = ready();
    pr.entries = entries(101);
    assert_eq!(listed(&decide(&pr)), Listed::Class(Class::Oversize { touched: 101, cap: 100 }));
    // A re-split: many files, no entry changed.
    pr.entries = entries(0);
    pr.files = Listing::whole((0..400).map(|n| modified(&format!("data/works/{n}.json"))));
    assert!(is_merge(&decide(&pr)));
}

#[test]
fn a38_a_label_a_form_or_an_author_forbids_automation() {
    let mut pr = ready();
    pr.linked_issues = Listing::whole([LinkedIssue { number: 9, labels: strings(&["data", "Data:Import"]) }]);
    pr.entries = entries(40);
    let form = NeverReason::Form { issue: 9, label: "Data:Import".to_owned() };
    assert_eq!(listed(&decide(&pr)), Listed::Class(Class::NeverMerge(form)));
    let forms = [4, 9].map(|number| LinkedIssue { number, labels: strings(&["data:import"]) });
    for forms in [forms.clone(), [forms[1].clone(), forms[0].clone()]] {
        let first = NeverReason::Form { issue: 4, label: "data:import".to_owned() };
        let class = class_of(|pr| pr.linked_issues = Listing::whole(forms));
        assert_eq!(class, Class::NeverMerge(first), "the order of the list says nothing");
    }
    for label in ["do-not-merge", "WIP", "hold", "data:import"] {
        let class = class_of(|pr| pr.labels = labels(&["ai-verified", label]));
        assert_eq!(class, Class::NeverMerge(NeverReason::Label { label: label.to_owned() }));
    }
    is(&class_of(|pr| pr.labels = labels(&["ai-verified", "on-hold"])), "data");
    let guarded = Policy { protected_authors: strings(&["Contributor"]), ..policy() };
    is(&classify(&ready(), &guarded), "never_merge");
}

#[test]
fn a17_drafts_and_other_bots_are_left_alone() {
    let mut pr = ready();
    pr.draft = true;
    assert_eq!(decide(&pr), Decision::Ignore(Class::Draft));
    let mut pr = ready();
    pr.labels = labels(&["bot-sync", "ai-verified"]);
    assert_eq!(decide(&pr), Decision::Ignore(Class::OwnBot));
}

#[test]
fn code_is_reviewed_once_per_head() {
    let mut pr = ready();
    pr.files = Listing::whole([modified("tools/x")]);
    let mut memory = memory();
    memory.reviewed_head = Some(old_head());
    let review = Decision::ReviewCode { head: head() };
    assert_eq!(assess(&pr, &memory, &policy(), now()), review);
    memory.reviewed_head = Some(head());
    assert_eq!(listed(&assess(&pr, &memory, &policy(), now())), Listed::Reviewed);
}

/// The policy names no base, and GitHub has not named the default branch.
#[test]
fn an_unread_default_branch_is_unread_and_no_branch_is_taken_for_the_base() {
    let open = Policy { base: None, ..policy() };
    let class = |pr: &PrObs| classify(pr, &open);
    let unread = Class::Unreadable(Unreadable::Base);
    for branch in ["main", "master", "trunk"] {
        let mut pr = ready();
        pr.base.branch = branch.to_owned();
        assert_eq!(class(&pr), unread, "{branch}");
        assert_eq!(
            listed(&assess(&pr, &memory(), &open, now())),
            Listed::Class(Class::Unreadable(Unreadable::Base))
        );
    }
    // What is so whatever the base is, is said.
    let mut fork = ready();
    fork.head.repo = Some(8);
    assert_eq!(class(&fork), Class::Foreign(ForeignReason::Fork));
    let mut draft = ready();
    draft.draft = true;
    assert_eq!(class(&draft), Class::Draft);
    // Named by GitHub, or by the file, which goes first.
    assert!(is_merge(&assess(&ready(), &memory(), &open.clone().on(Some("main")), now())));
    let elsewhere = ForeignReason::Base { branch: "main".to_owned() };
    assert_eq!(classify(&ready(), &open.clone().on(Some("trunk"))), Class::Foreign(elsewhere.clone()));
    let named = Policy { base: Some("trunk".to_owned()), ..policy() };
    assert_eq!(classify(&ready(), &named.on(Some("main"))), Class::Foreign(elsewhere));
    assert_eq!(open.clone().on(None), open);
    // And nothing is pushed.
    assert!(!steward_rules::engine::ladder::may_push("steward/pr-1", &open));
    assert!(steward_rules::engine::ladder::may_push("steward/pr-1", &open.on(Some("main"))));
}
