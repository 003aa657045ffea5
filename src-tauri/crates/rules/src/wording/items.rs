//! What the steward engine says of what it follows: ends, issues, what it writes on GitHub, and why somebody
//! is wanted.

use crate::engine::triage::IssueStep;
use crate::ids::PullNumber;
use crate::untrusted::Untrusted;

fn line(text: &str) -> String {
    Untrusted::new(text).one_line(300)
}

pub fn merged() -> String {
    "merged".to_owned()
}

pub fn closed() -> String {
    "closed without a merge".to_owned()
}

/// A next step whose task is queued and does not start yet.
pub fn waits(step: &str, why: &str) -> String {
    format!("{step}; it waits: {}", line(why))
}

/// The comment on an issue that a merge answers.
pub fn answered_by(pull: PullNumber) -> String {
    format!("Answered by #{pull}, which is merged.")
}

/// The text of a pull request in the place of somebody else's.
pub fn supersedes(original: PullNumber) -> String {
    format!(
        "This carries on the change of #{original}, whose branch Steward may not push to. The original stays open until this one \
         merged and its content is seen on the base.\n"
    )
}

/// The comment on the original.
pub fn went_on_in(pull: PullNumber) -> String {
    format!("This change goes on in #{pull}. This pull request stays open until that one merged.")
}

/// The comment on a pull request that could not be rebased; why stands below it.
pub fn rebase_failed() -> String {
    "This branch could not be brought onto its base, so nothing of it is merged. It is tried again when the branch or the \
     base moves; a push that settles it by hand helps at once."
        .to_owned()
}

/// The comment on an issue that asks for what is there already; the evidence stands below it.
pub fn already_present(ids: &[String]) -> String {
    let ids: Vec<String> = ids.iter().map(|id| format!("`{}`", line(id).replace('`', "'"))).collect();
    format!("This is there already: {}. It was looked for at the base as it is now.", ids.join(", "))
}

/// The comment on an issue that is declined; the reason stands below it.
pub fn declined() -> String {
    "This is declined. A comment takes it up again once the issue is open.".to_owned()
}

/// The comment on an issue with a question; it stands below.
pub fn asks() -> String {
    "One question, before this can go on. A reply here, or an edit of the issue's text, is enough.".to_owned()
}

/// What a pull request for an issue says first.
pub fn change_for(number: i64) -> String {
    format!("What issue {number} asks for, made by Steward.")
}

/// Whether an issue is worked on.
pub fn issue_scope(is_in_scope: bool) -> String {
    if is_in_scope { "in scope by its labels" } else { "no label of it is in scope" }.to_owned()
}

/// The next step of an issue: its slug, and a sentence.
pub fn issue(step: &IssueStep) -> (&'static str, String) {
    match step {
        IssueStep::Skip => ("skip", "not worked on".to_owned()),
        IssueStep::ListOnly => ("list_only", "listed only: out of scope".to_owned()),
        IssueStep::Unreadable => ("unreadable", "it could not be read whole".to_owned()),
        IssueStep::WaitsForPull { pull } => ("waits_for_pr", format!("#{pull} is about it")),
        IssueStep::WaitsForIntake { .. } => {
            ("waits_for_intake", "the intake has not answered yet".to_owned())
        }
        IssueStep::NeedsInfo => ("needs_info", "a question was asked, and no person has answered".to_owned()),
        IssueStep::Declined => ("declined", "declined, and nobody has said anything since".to_owned()),
        IssueStep::Backoff { .. } => ("backoff", "the next attempt is not due".to_owned()),
        IssueStep::Triage => ("triage", "to be triaged".to_owned()),
    }
}

/// The state of an issue of which a person turned the answer down: its slug, and a sentence.
pub fn turned_down() -> (&'static str, String) {
    ("turned_down", "the answer was turned down, and nobody has said anything since".to_owned())
}

/// The state of an issue whose pull request a person closed.
pub fn pull_closed(pull: PullNumber) -> String {
    format!("a person closed #{pull}, which was made for it, and nobody has said anything since")
}

/// The state of an issue that Steward closed and somebody opened again.
pub fn opened_again() -> String {
    "it was opened again, and nobody has said anything since it was answered".to_owned()
}

/// An item that failed so often that a person should look.
pub fn stuck(number: i64, failures: u32, evidence: Option<&str>) -> String {
    let last = evidence.and_then(|text| text.trim_end().lines().last()).map(line);
    let times = super::count(failures as usize, "attempt");
    match last {
        Some(last) => format!("#{number} is stuck after {times}: {last}"),
        None => format!("#{number} is stuck after {times}"),
    }
}

/// An item that goes no further by itself.
pub fn stands_still(number: i64, why: &str) -> String {
    format!("#{number} stands still: {}", line(why))
}

/// A memory that cannot be read.
pub fn memory_unread(number: i64, why: &str) -> String {
    format!("nothing is done about #{number}: {}", line(why))
}

/// One failure of many pull requests.
pub fn incident(check: &str, numbers: &[PullNumber], last: &str) -> String {
    let numbers: Vec<String> = numbers.iter().map(|number| format!("#{number}")).collect();
    let what = format!("{} fails the same way on {}", line(check), numbers.join(", "));
    if last.is_empty() { what } else { format!("{what}: {}", line(last)) }
}

/// What of the configuration stops a repository.
pub fn fault(detail: &str) -> String {
    format!("nothing is done here: {}", line(detail))
}

/// Why nothing merges in a repository.
pub fn no_merges(number: i64, why: &str) -> String {
    format!("nothing merges here since the merge of #{number} was refused: {}", line(why))
}

/// Why no issue of a repository is triaged.
pub fn no_tasks(why: &str) -> String {
    format!("no issue here is triaged until it is mended: {}", line(why))
}

/// Why the verdict job is not relied on.
pub fn no_verdicts() -> String {
    "the verdict job ended three times in a row without a verdict".to_owned()
}
