//! What Steward's own findings say.

use crate::review::findings::OwnFinding;

/// A path that shows or behaves otherwise than it seems; `odd` says how.
pub fn odd_path(path: &str, odd: &str) -> OwnFinding {
    OwnFinding {
        title: "A path that needs a look".to_owned(),
        file: path.to_owned(),
        line: 1,
        why: format!("This path is odd: {odd}."),
        check: "Rename it, so that it reads the same everywhere.".to_owned(),
    }
}

pub fn colliding_path(path: &str, twin: &str) -> OwnFinding {
    OwnFinding {
        title: "Two paths that differ by case only".to_owned(),
        file: path.to_owned(),
        line: 1,
        why: format!("On a file system without case this and {twin} are one file."),
        check: "Rename one of the two.".to_owned(),
    }
}

pub fn generic_secret(file: String, line: u32, family: &str, prefix: &str, hash: &str) -> OwnFinding {
    OwnFinding {
        title: "Text that may be a secret".to_owned(),
        file,
        line,
        why: format!("It looks like a secret ({family}) and begins with {prefix}. Needs a look."),
        check: format!("Take it out of every commit, or list {hash} under secretExceptions."),
    }
}

pub fn message_of(commit: &str) -> String {
    format!("(message of {commit})")
}

pub fn more_of_our_own(number: usize) -> OwnFinding {
    OwnFinding {
        title: "More findings of this kind".to_owned(),
        file: "(whole change)".to_owned(),
        line: 1,
        why: format!("{number} more findings of Steward's own are not listed."),
        check: "Settle the listed ones and review again.".to_owned(),
    }
}
