//! What effects say: what holds them back, why they are refused, what is left to do.

use crate::deed::{Closes, Deed, OffLimits, Reason};
use crate::guard::{Gone, Hold, Refusal};
use crate::untrusted::Untrusted;

fn line(text: &str) -> String {
    Untrusted::new(text).one_line(200)
}

/// What an effect waits for.
pub fn hold(hold: &Hold) -> String {
    match hold {
        Hold::Paused { why } => format!("everything is paused: {}", line(why)),
        Hold::Off => "the engine is switched off".to_owned(),
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
        Refusal::Foreign { class } => {
            format!("the switch `{}` is for something else, so it lets this not out", class.as_str())
        }
        Refusal::OffLimits { branch, why } => {
            let branch = Untrusted::new(branch.as_str()).one_line(100);
            match why {
                OffLimits::Name => format!("{branch} is no name of a branch"),
                OffLimits::Base => {
                    format!("{branch} is the base, which is never pushed to and never deleted")
                }
                OffLimits::NotNamed => format!("the policy does not let the app touch the branch {branch}"),
                OffLimits::NotTheBase => format!("{branch} may go to the base only"),
            }
        }
    }
}

/// Everything that goes out by a deed beside its text, by name; what others named is shown as it is and no
/// longer than a line.
pub fn facts(deed: &Deed) -> Vec<(&'static str, String)> {
    let name = |text: &str| Untrusted::new(text).one_line(250);
    let list = |labels: &[String]| labels.iter().map(|label| name(label)).collect::<Vec<_>>().join(", ");
    match deed {
        Deed::Comment { .. } | Deed::Report { .. } => Vec::new(),
        Deed::Rerun { run, attempt } => {
            vec![("Workflow run", run.to_string()), ("After attempt", attempt.to_string())]
        }
        Deed::RetryVerdict { run, attempt, n } => vec![
            ("Workflow run", run.to_string()),
            ("After attempt", attempt.to_string()),
            ("Try", n.to_string()),
        ],
        Deed::Merge { method } => vec![("By", method.as_str().to_owned())],
        Deed::DeleteBranch { branch, at } => vec![("Branch", name(branch)), ("Ends at", at.to_string())],
        Deed::Label { add, remove } => [("Puts on", add), ("Takes off", remove)]
            .into_iter()
            .filter(|(_, labels)| !labels.is_empty())
            .map(|(what, labels)| (what, list(labels)))
            .collect(),
        Deed::Close { reason, .. } => {
            reason.iter().map(|reason| ("As", reason.as_str().to_owned())).collect()
        }
        Deed::OpenPull { branch, at, base, title, labels, .. } => {
            let mut all = vec![
                ("Branch", name(branch)),
                ("Ends at", at.to_string()),
                ("Into", name(base)),
                ("Title", name(title)),
            ];
            if !labels.is_empty() {
                all.push(("Labels", list(labels)));
            }
            all
        }
        Deed::Push { branch, from, to } => vec![
            ("Branch", name(branch)),
            ("From", from.as_ref().map_or_else(|| "nothing, it is new".to_owned(), ToString::to_string)),
            ("To", to.to_string()),
        ],
    }
}

/// What a deed does, as a title; `place` is `owner/name#12`.
pub fn deed(deed: &Deed, place: &str) -> String {
    let name = |text: &str| Untrusted::new(text).one_line(100);
    match deed {
        Deed::Comment { .. } => format!("Comment on {place}"),
        Deed::Rerun { run, .. } => format!("Run the failed jobs of run {run} again for {place}"),
        Deed::RetryVerdict { n, .. } => format!("Ask for the verdict of {place} again, try {n}"),
        Deed::Merge { method } => format!("Merge {place} by {}", method.as_str()),
        Deed::DeleteBranch { branch, .. } => format!("Delete the branch {} of {place}", name(branch)),
        Deed::Label { add, remove } => {
            let list = |sign: &str, labels: &[String]| {
                labels.iter().map(|label| format!(" {sign}{}", name(label))).collect::<String>()
            };
            format!("Label {place}:{}{}", list("+", add), list("−", remove))
        }
        Deed::Close { what: Closes::Pull, .. } => format!("Close the pull request {place}"),
        Deed::Close { what: Closes::Issue, reason } => match reason {
            Some(Reason::NotPlanned) => format!("Close {place} as not planned"),
            Some(Reason::Completed) => format!("Close {place} as completed"),
            None => format!("Close {place}"),
        },
        Deed::OpenPull { branch, .. } => format!("Open a pull request of {} for {place}", name(branch)),
        Deed::Push { branch, from, .. } => match from {
            Some(_) => format!("Push to {} for {place}", name(branch)),
            None => format!("Push the new branch {} for {place}", name(branch)),
        },
        Deed::Report { .. } => format!("Replace the report of {place}"),
    }
}

pub fn gone(gone: &Gone) -> String {
    match gone {
        Gone::Moved { head } => format!("the head is {} by now", head.short()),
        Gone::Closed => "it was closed or merged meanwhile".to_owned(),
        Gone::NotMerged => "the pull request is not merged, so its branch stays".to_owned(),
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
        "config_fault" => {
            Some("look at `steward auth status`: the token lacks a permission, or the branch is protected")
        }
        "lease" => Some("somebody pushed meanwhile; the engine looks again"),
        "off_limits" => Some("name the branch in `policy.engine.push.allowed` if it is meant"),
        "unprocessable" => Some("read what GitHub said; the engine decides anew"),
        _ => None,
    }
}
