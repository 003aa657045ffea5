//! Section 16: the checks that are proposed to be required.

use steward_rules::engine::facts::{Listing, Run};
use steward_rules::engine::setup::*;
use steward_rules::reading::Reading;

use super::world::{run, strings, unread};

fn usual(heads: &[&[Run]]) -> Practice {
    Practice {
        protection: Reading::known(Vec::new()),
        rulesets: Reading::known(Vec::new()),
        merged_heads: heads.iter().map(|runs| Listing::whole(runs.iter().cloned())).collect(),
    }
}

fn green(name: &str) -> Run {
    run(name, 1, "success", 10)
}

#[test]
fn what_the_forge_requires_counts_first() {
    let practice = Practice {
        protection: Reading::known(strings(&["test", "lint"])),
        rulesets: Reading::known(strings(&["lint", "build"])),
        ..usual(&[])
    };
    let names = strings(&["build", "lint", "test"]);
    assert_eq!(propose(&practice, "github-actions"), Proposal::Required { names });
    for unread in [
        Practice { protection: unread(), ..practice.clone() },
        Practice { rulesets: super::world::unread(), ..practice },
    ] {
        assert!(matches!(propose(&unread, "github-actions"), Proposal::Unread(_)));
    }
}

#[test]
fn else_what_was_well_at_every_merged_head() {
    let (a, b) = (green("test"), green("lint"));
    let red = run("lint", 2, "failure", 5);
    let mut foreign = green("test");
    foreign.check.app = "other-ci".to_owned();
    let of = |heads: &[&[Run]]| propose(&usual(heads), "github-actions");
    let both: &[Run] = &[a.clone(), b.clone()];
    let usual_of = |names: &[&str], heads| Proposal::Usual { names: strings(names), heads };
    assert_eq!(of(&[both, both, both]), usual_of(&["lint", "test"], 3));
    assert_eq!(of(&[both, both]), Proposal::None { heads: 2 });
    assert_eq!(of(&[both, both, std::slice::from_ref(&a)]), usual_of(&["test"], 3));
    assert_eq!(
        of(&[both, both, &[a.clone(), b.clone(), red]]),
        usual_of(&["test"], 3),
        "its newest run is red"
    );
    assert_eq!(of(&[both, both, &[a.clone(), run("lint", 1, "skipped", 5)]]), usual_of(&["test"], 3));
    let mut later = run("test", 2, "failure", 1);
    later.check.app = "other-ci".to_owned();
    assert_eq!(of(&[both, both, &[a.clone(), b.clone(), later]]), usual_of(&["lint", "test"], 3));
    assert_eq!(of(&[both, both, &[foreign, b]]), usual_of(&["lint"], 3), "another app's is another check");
    assert_eq!(of(&[both, both, &[]]), Proposal::None { heads: 3 });
    // A list that was cut is not looked at, and older heads than twenty are not either.
    let mut cut = usual(&[both, both, both, std::slice::from_ref(&a)]);
    cut.merged_heads[3].complete = false;
    assert_eq!(propose(&cut, "github-actions"), usual_of(&["lint", "test"], 3));
    let mut many: Vec<&[Run]> = vec![both; 20];
    many.push(std::slice::from_ref(&a));
    assert_eq!(of(&many), usual_of(&["lint", "test"], 20));
}
