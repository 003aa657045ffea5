//! What the proof of a merge says.

use crate::diff::RepoPath;
use crate::engine::landed::Unproven;
use crate::untrusted::Untrusted;

/// Paths as a person may read them, the first few by name.
pub fn paths(paths: &[RepoPath]) -> String {
    let names: Vec<String> = paths.iter().map(|path| Untrusted::new(path.shown()).one_line(120)).collect();
    super::list(&names)
}

/// The alarm: something else landed.
pub fn different(pull: i64, found: &[RepoPath]) -> String {
    format!("what landed with #{pull} is not what its merge makes: it differs at {}", paths(found))
}

/// Why nothing is proven.
pub fn unproven(why: &Unproven) -> String {
    match why {
        Unproven::Unread(why) => {
            format!(
                "the merge could not be read whole: {}",
                Untrusted::new(why.detail.as_str()).one_line(300)
            )
        }
        Unproven::NotOnBase => "the base branch does not show the landed commit yet".to_owned(),
        Unproven::Conflict { paths: found } => format!(
            "both sides changed {}, and somebody decided by hand what becomes of it; all else is as it must be",
            paths(found)
        ),
        Unproven::Shape { parents } => {
            format!(
                "the landed commit has {}, as no merge of a pull request has",
                super::count(*parents, "parent")
            )
        }
    }
}

/// What is left to the person after the last try.
pub fn left(pull: i64, why: &Unproven) -> String {
    format!("the merge of #{pull} is not proven: {}", unproven(why))
}
