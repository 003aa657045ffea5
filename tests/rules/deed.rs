//! Deeds: which switch lets which one out, which branches are left alone, and that nothing in them is alive.

use chrono::{DateTime, Utc};
use steward_rules::deed::{Branches, Closes, Deed, Needs, OffLimits, Reason};
use steward_rules::engine::policy::MergeMethod;
use steward_rules::guard::{Ask, Gone, Holds, Refusal, Step, Subject, Way, judge};
use steward_rules::ids::{RepoName, Sha};
use steward_rules::outgoing::{self, MOST, fit};
use steward_rules::power::{EffectClass, Mode, RepoPower};
use steward_rules::reading::Reading;
use steward_rules::secret::Engine;
use steward_rules::secret::plant::{Kind, plant};

const HEAD: &str = "89abcdef0123456789abcdef0123456789abcdef";
const OTHER: &str = "0123456789abcdef0123456789abcdef01234567";

fn sha(text: &str) -> Sha {
    Sha::new(text).unwrap()
}

fn now() -> DateTime<Utc> {
    "2026-11-30T09:00:00Z".parse().unwrap()
}

fn comment(text: &str) -> Deed {
    Deed::Comment { body: format!("{}\n{text}", outgoing::marker_for("said", "n=1")) }
}

/// One of each kind, and the classes whose switch lets it out.
fn table() -> Vec<(Deed, Vec<EffectClass>)> {
    use EffectClass as C;
    let branch = || "steward/pr-3".to_owned();
    vec![
        (comment("hello"), vec![C::CommentReview, C::Rebase, C::Supersede, C::CommentIssue]),
        (Deed::Rerun { run: 7, attempt: 1 }, vec![C::RerunCheck]),
        (Deed::RetryVerdict { run: 7, attempt: 1, n: 2 }, vec![C::RetryVerdict]),
        (Deed::Merge { method: MergeMethod::Merge }, vec![C::Merge]),
        (Deed::DeleteBranch { branch: branch(), at: sha(HEAD) }, vec![C::DeleteBranch]),
        (Deed::Label { add: vec!["x".to_owned()], remove: vec!["y".to_owned()] }, vec![C::Label]),
        (Deed::Close { what: Closes::Issue, reason: Some(Reason::NotPlanned) }, vec![C::CloseIssue]),
        (Deed::Close { what: Closes::Pull, reason: None }, vec![C::Supersede]),
        (
            Deed::OpenPull {
                branch: branch(),
                at: sha(HEAD),
                base: "main".to_owned(),
                title: "[steward] more".to_owned(),
                body: "Closes #12\n".to_owned(),
                labels: vec!["data".to_owned()],
            },
            vec![C::OpenPr, C::Supersede],
        ),
        (
            Deed::Push { branch: branch(), from: Some(sha(OTHER)), to: sha(HEAD) },
            vec![C::Rebase, C::PushFix, C::OpenPr, C::Supersede],
        ),
        (Deed::Report { body: "all is well".to_owned() }, vec![C::Report]),
    ]
}

fn ask(class: EffectClass, deed: Deed) -> Ask {
    Ask {
        class,
        deed,
        host: "github.com".to_owned(),
        repo: RepoName::parse("octo/app").unwrap(),
        number: Some(3),
        head: Some(sha(HEAD)),
        account: "octo".to_owned(),
        approved: true,
        turned_down: false,
        step: Step::Send,
    }
}

fn free(deed: &Deed) -> Holds {
    let subject = match deed {
        Deed::DeleteBranch { .. } => Subject::Merged(sha(HEAD)),
        _ => Subject::Open(sha(HEAD)),
    };
    let own = || vec!["steward/*".to_owned(), "intake/issue-*".to_owned()];
    Holds {
        paused: None,
        frozen: None,
        subject: Reading::known(subject),
        branches: Branches { base: Some("main".to_owned()), push: own(), delete: own() },
        stale: None,
        acting: Reading::known("octo".to_owned()),
        limited_until: None,
        sent: Vec::new(),
    }
}

fn everything() -> RepoPower {
    RepoPower::new(Mode::Act, EffectClass::ALL.iter().copied())
}

#[test]
fn the_switch_of_one_class_lets_no_deed_of_another_out() {
    let table = table();
    for (deed, classes) in &table {
        for class in EffectClass::ALL.iter().copied() {
            let way = judge(&ask(class, deed.clone()), &everything(), &free(deed), now());
            match way {
                Way::Go(permit) => {
                    assert!(classes.contains(&class), "{class:?} let {} out", deed.kind());
                    assert_eq!(permit.deed(), deed, "and exactly it");
                }
                other => {
                    assert!(!classes.contains(&class), "{class:?} {}: {other:?}", deed.kind());
                    assert_eq!(other, Way::Refuse(Refusal::Foreign { class }));
                }
            }
        }
    }
    // Each class that acts on GitHub has a deed, and each kind of deed a row.
    let kinds: std::collections::BTreeSet<&str> = table.iter().map(|(deed, _)| deed.kind()).collect();
    assert_eq!(kinds.len(), 10);
    let without: Vec<EffectClass> = EffectClass::ALL
        .iter()
        .copied()
        .filter(|class| !table.iter().any(|(_, classes)| classes.contains(class)))
        .collect();
    use EffectClass as C;
    assert_eq!(without, [C::Reply, C::RequestApproval, C::DispatchWork, C::Claim]);
}

#[test]
fn the_base_and_what_the_policy_does_not_name_are_never_pushed_to_nor_deleted() {
    let to = |branch: &str| {
        let branch = branch.to_owned();
        [
            (EffectClass::PushFix, Deed::Push { branch: branch.clone(), from: None, to: sha(HEAD) }),
            (EffectClass::DeleteBranch, Deed::DeleteBranch { branch: branch.clone(), at: sha(HEAD) }),
            (
                EffectClass::OpenPr,
                Deed::OpenPull {
                    branch,
                    at: sha(HEAD),
                    base: "main".to_owned(),
                    title: "x".to_owned(),
                    body: String::new(),
                    labels: Vec::new(),
                },
            ),
        ]
    };
    for (branch, wanted) in [
        ("steward/pr-3", None),
        ("intake/issue-12", None),
        ("main", Some(OffLimits::Base)),
        ("feat", Some(OffLimits::NotNamed)),
        ("steward/a/b", Some(OffLimits::NotNamed)),
        ("Steward/pr-3", Some(OffLimits::NotNamed)),
        ("intake/issue", Some(OffLimits::NotNamed)),
        ("steward/", Some(OffLimits::Name)),
        ("steward/a:refs/heads/main", Some(OffLimits::Name)),
        ("steward/..", Some(OffLimits::Name)),
        ("refs/heads/steward/x", Some(OffLimits::Name)),
        ("steward/a b", Some(OffLimits::Name)),
        ("steward/*", Some(OffLimits::Name)),
    ] {
        for (class, deed) in to(branch) {
            let holds = free(&deed);
            let way = judge(&ask(class, deed), &everything(), &holds, now());
            match &wanted {
                None => assert!(matches!(way, Way::Go(_)), "{branch}: {way:?}"),
                Some(why) => {
                    let refused = Refusal::OffLimits { branch: branch.to_owned(), why: why.clone() };
                    assert_eq!(way, Way::Refuse(refused), "{branch}");
                }
            }
        }
    }
    // A glob that reaches the base opens it all the same to nobody, and a policy nobody read opens nothing.
    let push = Deed::Push { branch: "main".to_owned(), from: None, to: sha(HEAD) };
    let wide =
        Branches { base: Some("main".to_owned()), push: vec!["*".to_owned()], delete: vec!["*".to_owned()] };
    assert_eq!(wide.forbid(&push), Some(("main".to_owned(), OffLimits::Base)));
    let own = Deed::Push { branch: "steward/x".to_owned(), from: None, to: sha(HEAD) };
    assert_eq!(Branches::default().forbid(&own), Some(("steward/x".to_owned(), OffLimits::Base)));
    // What may be pushed to is not deleted for that alone, and a pull request goes to the base only.
    let kept = Branches { delete: Vec::new(), ..free(&own).branches };
    let deletes = Deed::DeleteBranch { branch: "steward/x".to_owned(), at: sha(HEAD) };
    assert_eq!(kept.forbid(&deletes), Some(("steward/x".to_owned(), OffLimits::NotNamed)));
    // While nobody knows which branch is the base no branch is touched.
    let unknown = Branches { base: None, ..free(&own).branches };
    assert_eq!(unknown.may_push("steward/x"), Err(OffLimits::Base));
    assert_eq!(unknown.forbid(&deletes), Some(("steward/x".to_owned(), OffLimits::Base)));
    let elsewhere = Deed::OpenPull {
        branch: "steward/x".to_owned(),
        at: sha(HEAD),
        base: "release".to_owned(),
        title: "x".to_owned(),
        body: String::new(),
        labels: Vec::new(),
    };
    assert_eq!(kept.forbid(&elsewhere), Some(("steward/x".to_owned(), OffLimits::NotTheBase)));
}

#[test]
fn a_deed_is_of_no_use_once_its_subject_stands_otherwise() {
    let moved = || Gone::Moved { head: sha(OTHER) };
    for (deed, classes) in table() {
        let way = |subject: Subject| {
            let holds = Holds { subject: Reading::known(subject), ..free(&deed) };
            judge(&ask(classes[0], deed.clone()), &everything(), &holds, now())
        };
        let goes = |subject| assert!(matches!(way(subject), Way::Go(_)), "{}", deed.kind());
        match &deed {
            Deed::Report { .. } => {
                [Subject::Closed, Subject::OpenIssue, Subject::Nothing].into_iter().for_each(goes);
            }
            Deed::DeleteBranch { .. } => {
                assert_eq!(way(Subject::Open(sha(HEAD))), Way::Obsolete(Gone::NotMerged));
                assert_eq!(way(Subject::Closed), Way::Obsolete(Gone::NotMerged));
                assert_eq!(way(Subject::Merged(sha(OTHER))), Way::Obsolete(moved()));
                goes(Subject::Merged(sha(HEAD)));
            }
            _ => {
                assert_eq!(way(Subject::Open(sha(OTHER))), Way::Obsolete(moved()), "{}", deed.kind());
                assert_eq!(way(Subject::Closed), Way::Obsolete(Gone::Closed), "{}", deed.kind());
                assert_eq!(way(Subject::Merged(sha(HEAD))), Way::Obsolete(Gone::Closed), "{}", deed.kind());
                goes(Subject::Open(sha(HEAD)));
            }
        }
    }
}

fn body_of(deed: Deed) -> String {
    fit(deed).unwrap().text().to_owned()
}

#[test]
fn nothing_that_goes_out_mentions_anybody_or_closes_anything() {
    for (said, sent) in [
        ("ask @maria", "ask @ maria"),
        ("fixes #3", "fixes – #3"),
        ("Closes:  octo/app#3", "Closes:  – octo/app#3"),
        ("resolve\nhttps://github.com/o/r/issues/4", "resolve\n– https://github.com/o/r/issues/4"),
        ("see #3, which is fine", "see #3, which is fine"),
    ] {
        let whole = body_of(comment(said));
        assert_eq!(whole, format!("<!-- steward:said n=1 -->\n{sent}"), "{said:?}");
        // Once more it stays as it is: what is wanted again is the same deed.
        assert_eq!(body_of(Deed::Comment { body: whole.clone() }), whole);
    }
    let open = |title: &str, body: &str| Deed::OpenPull {
        branch: "steward/issue-12".to_owned(),
        at: sha(HEAD),
        base: "main".to_owned(),
        title: title.to_owned(),
        body: body.to_owned(),
        labels: vec!["data".to_owned()],
    };
    let own = outgoing::pull_body(Some(12), "A change for #12.", &[(None, "Closes #13\n@maria fixes #14")]);
    let body = body_of(open("[steward] fix @maria closes #9", &own.unwrap()));
    assert_eq!(body.lines().next(), Some("Closes #12"), "{body}");
    assert!(body.contains("| Closes – #13") && body.contains("@ maria fixes – #14"), "{body}");
    let Ok(Deed::OpenPull { title, .. }) = fit(open("fix @maria\n: closes #9", "")) else {
        panic!("it is fit")
    };
    assert!(title.contains("@ maria") && title.contains("closes – #9") && !title.contains('\n'), "{title}");
    // A closing line that does not come first, or says more than its number, is somebody else's.
    assert_eq!(body_of(open("t", "Hello\nCloses #13")), "Hello\nCloses – #13");
    assert_eq!(body_of(open("t", "Closes #13 and #14")), "Closes – #13 and #14");
}

#[test]
fn a_secret_in_any_part_of_a_deed_keeps_it_in_and_is_not_shown() {
    let rule = Engine::shared().rules().iter().find(|rule| rule.id == "github-pat").unwrap();
    let secret = plant(rule, Kind::Secret, 7).unwrap().secret;
    let open = |title: &str, body: &str, label: &str| Deed::OpenPull {
        branch: "steward/x".to_owned(),
        at: sha(HEAD),
        base: "main".to_owned(),
        title: title.to_owned(),
        body: body.to_owned(),
        labels: vec![label.to_owned()],
    };
    for deed in [
        comment(&format!("look: {secret}")),
        Deed::Report { body: format!("| {secret}") },
        Deed::Label { add: vec![secret.clone()], remove: Vec::new() },
        Deed::Label { add: Vec::new(), remove: vec![secret.clone()] },
        open(&format!("use {secret}"), "", "x"),
        open("t", &format!("Closes #1\n{secret}"), "x"),
        open("t", "", &secret),
        Deed::Push { branch: format!("steward/{secret}"), from: None, to: sha(HEAD) },
    ] {
        let unfit = fit(deed.clone()).unwrap_err();
        assert_eq!(unfit.why.slug(), "secret", "{deed:?}");
        assert!(!format!("{unfit:?}").contains(&secret), "{unfit:?}");
    }
    // Wrapped into a code block it would be parted, so it is looked for before.
    let said = format!("{} {secret}", "x".repeat(80));
    let marker = outgoing::marker_for("said", "n=1");
    assert!(outgoing::say(&marker, "They wrote:", &[(None, &said)]).is_err());
    assert!(outgoing::pull_body(None, "They wrote:", &[(Some("why"), &said)]).is_err());
    let fine = outgoing::say(&marker, "They wrote:", &[(Some("why"), "@maria fixes #3\n/close")]).unwrap();
    insta::assert_snapshot!(fine, @r"
    <!-- steward:said n=1 -->
    They wrote:

    ```text
    why: @ maria fixes – #3
       | /close
    ```
    ");
    assert_eq!(body_of(Deed::Comment { body: fine.clone() }), fine);
}

#[test]
fn what_could_not_be_found_again_or_is_too_long_or_empty_is_not_sent() {
    let label = |add: &[&str]| Deed::Label {
        add: add.iter().map(|one| (*one).to_owned()).collect(),
        remove: Vec::new(),
    };
    for (deed, slug) in [
        (Deed::Comment { body: "hello".to_owned() }, "no_marker"),
        (Deed::Comment { body: "\n<!-- steward:said n=1 -->\nhello".to_owned() }, "no_marker"),
        (comment(&"x".repeat(MOST)), "too_long"),
        (Deed::Report { body: " \n".to_owned() }, "empty"),
        (label(&[]), "empty"),
        (label(&["a", " "]), "empty"),
    ] {
        assert_eq!(fit(deed.clone()).unwrap_err().why.slug(), slug, "{deed:?}");
    }
}

#[test]
fn the_same_deed_has_the_same_key_and_another_one_another() {
    let keys: Vec<String> = table().iter().map(|(deed, _)| deed.key(0)).collect();
    let unique: std::collections::BTreeSet<&String> = keys.iter().collect();
    // A run that is made again has one key, whatever it is for; its class is in the key as well.
    assert_eq!(unique.len(), keys.len() - 2, "{keys:?}");
    let push = |from: Option<&str>, to: &str| {
        Deed::Push { branch: "steward/x".to_owned(), from: from.map(sha), to: sha(to) }.key(0)
    };
    assert_ne!(push(None, HEAD), push(Some(OTHER), HEAD));
    assert_ne!(push(None, HEAD), push(None, OTHER));
    let close = Deed::Close { what: Closes::Issue, reason: None };
    assert_ne!(close.key(0), close.key(1), "what was opened again may be closed again");
    assert_eq!(comment("one").key(0), comment("two").key(5), "a text keeps its marker's key");
}

#[test]
fn a_deed_says_in_one_line_what_it_does() {
    let lines: Vec<String> =
        table().iter().map(|(deed, _)| steward_rules::wording::effect::deed(deed, "octo/app#3")).collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    Comment on octo/app#3
    Run the failed jobs of run 7 again for octo/app#3
    Ask for the verdict of octo/app#3 again, try 2
    Merge octo/app#3 by merge
    Delete the branch steward/pr-3 of octo/app#3
    Label octo/app#3: +x −y
    Close octo/app#3 as not planned
    Close the pull request octo/app#3
    Open a pull request of steward/pr-3 for octo/app#3
    Push to steward/pr-3 for octo/app#3
    Replace the report of octo/app#3
    ");
}

#[test]
fn what_a_deed_is_stands_in_a_table() {
    let lines: Vec<String> = table()
        .into_iter()
        .map(|(deed, _)| {
            let needs = match deed.needs() {
                Needs::Open => "open",
                Needs::Merged => "merged",
                Needs::Nothing => "nothing",
            };
            let replaces = if deed.replaces_older() { "replaces" } else { "stands beside" };
            let (kind, writes, text) =
                (deed.kind(), deed.writes(), deed.text().lines().last().unwrap_or("-"));
            format!("{kind}: needs {needs}, {replaces}, {writes} write(s), says {text}, {}", deed.key(4))
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    comment: needs open, stands beside, 1 write(s), says hello, comment:<!-- steward:said n=1 -->
    rerun: needs open, stands beside, 1 write(s), says -, run:7:1
    retry_verdict: needs open, stands beside, 1 write(s), says -, run:7:1
    merge: needs open, replaces, 1 write(s), says -, merge
    delete_branch: needs merged, replaces, 1 write(s), says -, branch:steward/pr-3@89abcdef0123456789abcdef0123456789abcdef
    label: needs open, replaces, 2 write(s), says -, label:4
    close: needs open, replaces, 1 write(s), says -, close:4
    close: needs open, replaces, 1 write(s), says -, close:4
    open_pull: needs open, replaces, 2 write(s), says Closes #12, open:steward/pr-3@89abcdef0123456789abcdef0123456789abcdef
    push: needs open, replaces, 1 write(s), says -, push:steward/pr-3:0123456789abcdef0123456789abcdef01234567..89abcdef0123456789abcdef0123456789abcdef
    report: needs nothing, replaces, 1 write(s), says all is well, report:4
    ");
    let label = |add: &[&str], remove: &[&str]| {
        let list = |of: &[&str]| of.iter().map(|one| (*one).to_owned()).collect();
        Deed::Label { add: list(add), remove: list(remove) }.writes()
    };
    assert_eq!([label(&[], &[]), label(&["a", "b"], &[]), label(&[], &["a", "b"])], [1, 1, 2]);
    assert_eq!([Reason::Completed.as_str(), Reason::NotPlanned.as_str()], ["completed", "not_planned"]);
}
