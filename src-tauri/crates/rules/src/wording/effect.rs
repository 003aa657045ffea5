//! What effects say: what holds them back, why they are refused, what is left to do.

use crate::guard::{Gone, Hold, Refusal};
use crate::untrusted::Untrusted;

fn line(text: &str) -> String {
    Untrusted::new(text).one_line(200)
}

/// What an effect waits for.
pub fn hold(hold: &Hold) -> String {
    match hold {
        Hold::Paused { why } => format!("everything is paused: {}", line(why)),
        Hold::Unread { why } => {
            format!("GitHub must be read before anything is sent: {}", line(&why.detail))
        }
        Hold::Limited { until } => {
            format!("a limit of GitHub holds until {}", until.format("%H:%M:%S UTC"))
        }
        Hold::Apart { .. } => "two writes are at least a second apart".to_owned(),
        Hold::Minute { until } => {
            format!("the writes of this minute are used up until {}", until.format("%H:%M:%S UTC"))
        }
        Hold::Hour { until } => {
            format!("the writes of this hour are used up until {}", until.format("%H:%M:%S UTC"))
        }
    }
}

pub fn refusal(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Observed => "the repository is observed only, so nothing goes out".to_owned(),
        Refusal::Account { wanted, acting } => {
            format!("it was to go out as {}, and the token is of {}", line(wanted), line(acting))
        }
        Refusal::Frozen { why } => format!("merging is frozen in this repository: {}", line(why)),
    }
}

pub fn gone(gone: &Gone) -> String {
    match gone {
        Gone::Moved { head } => format!("the head is {} by now", head.short()),
        Gone::Closed => "the pull request was closed or merged meanwhile".to_owned(),
        Gone::Stale { why } => format!("the review is stale: {}", super::review::stale(*why)),
    }
}

/// Why an effect waits for the person where others of its class go out by themselves.
pub fn turned_down() -> String {
    "an earlier text about this commit was turned down or deleted, so this one does not go out by itself"
        .to_owned()
}

/// The next step for a reason of the journal; `None` when there is none to take.
pub fn hint(slug: &str) -> Option<&'static str> {
    match slug {
        "paused" => Some("`steward resume` lifts the pause"),
        "observed" => Some("set the repository's mode to suggest or act"),
        "frozen" => Some("look at what landed, then `steward repo unfreeze owner/name`"),
        "account" => Some("name the account in the repository's block, and review again"),
        "auth" | "signed_out" => Some("run `steward auth login`; it goes out by itself afterwards"),
        "forbidden" => Some("look at `steward auth status`: a scope is missing, or the thread is locked"),
        "not_found" => Some("check the name, and that the token may see the repository"),
        "moved" => Some("put the repository's new name into config.yaml"),
        "head_moved" | "stale" => Some("review the new head"),
        "secret" => Some("look at the review: a secret was quoted in it"),
        "removed" => Some("send it again yourself if it is still wanted"),
        "gave_up" => Some("look at the thread, then send it again yourself"),
        _ => None,
    }
}
