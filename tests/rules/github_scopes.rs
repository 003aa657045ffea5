//! What a token may do, against what the systems want.

use steward_rules::github::scopes::{Granted, Held, Need, System, judge, missing, unneeded};

const ALL: [System; 5] =
    [System::Review, System::Engine, System::Memory, System::Questions, System::Pipeline];

fn scopes(text: &str) -> Granted {
    Granted::Scopes(text.split_whitespace().map(str::to_owned).collect())
}

fn shown(granted: &Granted, systems: &[System]) -> String {
    let rows = judge(granted, systems);
    let line = |row: &steward_rules::github::scopes::ScopeRow| {
        format!("{:?} {} {:?}", row.need, row.scope, row.held)
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn only_what_switched_on_systems_want_is_asked_for() {
    insta::assert_snapshot!(shown(&scopes(""), &[System::Review]), @r"
    Required public_repo Missing
    Recommended repo Missing
    ");
    insta::assert_snapshot!(shown(&scopes("repo"), &ALL), @r"
    Required public_repo Granted
    Required gist Missing
    Recommended repo Granted
    Recommended workflow Missing
    Recommended notifications Granted
    Recommended read:org Missing
    ");
    assert_eq!(shown(&scopes("repo"), &[System::Questions]), "");
    assert_eq!(shown(&scopes("repo"), &[]), "");
}

#[test]
fn a_wider_scope_holds_the_narrower_and_never_the_other_way_round() {
    for (held, lacking) in [
        ("public_repo gist", vec![]),
        ("repo gist", vec![]),
        ("repo", vec!["gist"]),
        ("repo:status gist", vec!["public_repo"]),
        ("notifications", vec!["public_repo", "gist"]),
        ("repository gist", vec!["public_repo"]),
        ("", vec!["public_repo", "gist"]),
    ] {
        assert_eq!(missing(&judge(&scopes(held), &ALL)), lacking, "{held}");
    }
    let of = |held: &str, scope: &str| {
        judge(&scopes(held), &ALL).into_iter().find(|row| row.scope == scope).unwrap().held
    };
    assert_eq!([of("admin:org", "read:org"), of("write:org", "read:org")], [Held::Granted; 2]);
    assert_eq!([of("public_repo", "repo"), of("read:org", "workflow")], [Held::Missing; 2]);
}

#[test]
fn a_token_that_does_not_tell_is_unknown_and_never_refused() {
    let rows = judge(&Granted::Untold, &ALL);
    assert!(rows.iter().all(|row| row.held == Held::Unknown));
    assert!(missing(&rows).is_empty());
    assert!(
        rows.iter()
            .flat_map(|row| &row.wanted_by)
            .all(|use_| !use_.permission.is_empty() && !use_.why.is_empty())
    );
}

#[test]
fn the_strongest_want_counts_and_every_system_is_named() {
    let rows = judge(&scopes(""), &ALL);
    let first = &rows[0];
    assert_eq!((first.scope.as_str(), first.need), ("public_repo", Need::Required));
    let systems: Vec<System> = first.wanted_by.iter().map(|use_| use_.system).collect();
    assert_eq!(systems, [System::Review, System::Engine, System::Memory, System::Pipeline]);
}

#[test]
fn scopes_that_nobody_wants_are_named() {
    assert_eq!(
        unneeded(&scopes("repo gist delete_repo admin:org"), &[System::Review]),
        ["gist", "delete_repo", "admin:org"]
    );
    assert_eq!(unneeded(&scopes("repo admin:org"), &ALL), Vec::<&str>::new());
    assert_eq!(unneeded(&scopes("delete_repo"), &[]), ["delete_repo"]);
    assert!(unneeded(&Granted::Untold, &ALL).is_empty());
}
