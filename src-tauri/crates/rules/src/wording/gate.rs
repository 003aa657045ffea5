//! What the gates say in one line.

use super::{and_more, count, list};
use crate::ids::{PullNumber, Sha};
use crate::reading::{Cause, Why};
use crate::review::facts::PeerStatus;
use crate::title::TitleError;
use crate::untrusted::Untrusted;

pub fn switched_off() -> String {
    "switched off in the config".to_owned()
}

/// Why a gate is undecided, and what would decide it.
pub fn unread(why: &Why) -> String {
    let detail = Untrusted::new(why.detail.as_str()).one_line(200);
    let said = if detail.is_empty() { String::new() } else { format!(" ({detail})") };
    match why.cause {
        Cause::SignedOut => signed_out(),
        Cause::FetchFailed => format!("the fetch failed{said}; Steward tries again by itself"),
        Cause::ForgeFailed => format!("GitHub could not be read{said}; Steward tries again by itself"),
        Cause::NoBase => {
            format!("nothing to measure against{said}; name policy.review.integrationBranch in the config")
        }
        Cause::GitFailed => format!("git could not read its objects{said}; run git fsck in the clone"),
        Cause::NotReadYet => format!("not read yet{said}"),
        Cause::TooLarge => format!("larger than Steward reads{said}; split the change"),
    }
}

pub fn signed_out() -> String {
    "sign in to GitHub, or set forge: none for the workspace".to_owned()
}

pub fn no_forge() -> String {
    "no GitHub remote, judged without GitHub".to_owned()
}

pub fn no_contract() -> String {
    "the task has no contract".to_owned()
}

pub fn not_pushed() -> String {
    "not pushed: the remote branch does not hold this head".to_owned()
}

pub fn no_ci() -> String {
    "the tree defines no CI and no check ran".to_owned()
}

pub fn no_check_yet() -> String {
    "CI is defined, no check has started yet".to_owned()
}

pub fn no_check_at_all(minutes: i64) -> String {
    format!("CI is defined, and no check started within {minutes} minutes")
}

pub fn checks_failed(failing: &[String], waiting: usize) -> String {
    match waiting {
        0 => list(failing),
        waiting => format!("{}; {} still running", list(failing), waiting),
    }
}

pub fn checks_missing(names: &[String]) -> String {
    format!("required and absent: {}", list(names))
}

pub fn checks_running(names: &[String]) -> String {
    format!("still running: {}", list(names))
}

pub fn checks_well(number: usize) -> String {
    format!("{} passed", count(number, "check"))
}

pub fn no_validator_verdict(version: u32, older: Option<u32>) -> String {
    match older {
        None => format!("no validator verdict for contract version {version}"),
        Some(older) => {
            format!("no validator verdict for contract version {version}; the newest is for version {older}")
        }
    }
}

pub fn validator_elsewhere(validated: &Sha, head: &Sha) -> String {
    format!("the validator judged {}, the head is {}", validated.short(), head.short())
}

pub fn validator_running() -> String {
    "the validator is still running".to_owned()
}

pub fn validator_failed() -> String {
    "the validator says fail".to_owned()
}

pub fn validator_scope_violation() -> String {
    "the validator reports a scope violation".to_owned()
}

pub fn validator_passed(version: u32) -> String {
    format!("passed at the head for contract version {version}")
}

pub fn no_ui_touched() -> String {
    "the change touches no user interface path".to_owned()
}

pub fn no_frames_asked() -> String {
    "the config asks for no width or no theme".to_owned()
}

pub fn frame_cell(width: u32, theme: &str) -> String {
    format!("{width} {}", Untrusted::new(theme).one_line(40))
}

pub fn frame_absent() -> String {
    "no frame".to_owned()
}

pub fn frames_missing(cells: &[String]) -> String {
    format!("no fresh frame for {}", list(cells))
}

pub fn frames_shared(a: &str, b: &str) -> String {
    format!("{a} and {b} are one image")
}

pub fn frames_fresh(number: usize) -> String {
    format!("{} captured at the head", count(number, "frame"))
}

pub fn frame_of_other_head(sha: &Sha) -> String {
    format!("captured at {}", sha.short())
}

pub fn frame_dirty() -> String {
    "captured in a worktree with uncommitted changes".to_owned()
}

pub fn frame_undecodable() -> String {
    "the image does not decode".to_owned()
}

pub fn frame_scale(scale: u32) -> String {
    format!("scale {scale} is not 1 to 3")
}

pub fn frame_width(actual: u32, wanted: u64) -> String {
    format!("the image is {actual} pixels wide, not {wanted}")
}

pub fn no_binaries() -> String {
    "no binary file added or changed".to_owned()
}

pub fn binaries(path: &str, note: &str, more: usize) -> String {
    and_more(&format!("{path}: {note}"), more)
}

pub fn binary() -> String {
    "binary".to_owned()
}

pub fn binary_by_reference() -> String {
    "binary by reference (Git LFS)".to_owned()
}

pub fn submodule() -> String {
    "submodule, not reviewable".to_owned()
}

pub fn no_churn() -> String {
    "no build output, no lockfile without its manifest".to_owned()
}

pub fn churn(path: &str, note: &str, more: usize) -> String {
    and_more(&format!("{path}: {note}"), more)
}

pub fn churn_finder() -> String {
    "folder settings of a desktop".to_owned()
}

pub fn churn_dependencies() -> String {
    "installed dependencies".to_owned()
}

pub fn churn_schemas() -> String {
    "generated schemas".to_owned()
}

pub fn churn_output(folder: &str) -> String {
    format!("output below a folder named {folder}")
}

pub fn churn_glob() -> String {
    "listed in churnGlobs".to_owned()
}

pub fn lock_alone(manifest: &str) -> String {
    format!("changed without its {}", Untrusted::new(manifest).one_line(80))
}

pub fn no_secrets(generic: usize) -> String {
    match generic {
        0 => "no secret in any commit".to_owned(),
        generic => format!("no certain secret; {} to look at", count(generic, "line")),
    }
}

pub fn secrets(family: &str, place: &str, more: usize) -> String {
    and_more(&format!("{family} at {place}"), more)
}

pub fn secrets_unlooked(bytes: u64) -> String {
    format!("{bytes} bytes are more than Steward scans; take the large file out of the range")
}

pub fn secret_note(family: &str, prefix: &str, commit: &str) -> String {
    format!("{family}, begins with {prefix}, commit {commit}")
}

pub fn in_file_name(path: &str) -> String {
    format!("the name of {path}")
}

pub fn in_message(commit: &str) -> String {
    format!("the message of {commit}")
}

pub fn in_binary(path: &str) -> String {
    format!("{path} (binary)")
}

pub fn not_stacked(notes: &[String]) -> String {
    match notes.first() {
        None => "stands on the integration branch alone".to_owned(),
        Some(note) => and_more(&format!("stands on the integration branch; {note}"), notes.len() - 1),
    }
}

pub fn pull_targets(branch: &str) -> String {
    format!("targets {branch}")
}

pub fn wrong_target(branch: &str, wanted: &str) -> String {
    format!("targets {branch}, not {wanted}")
}

pub fn also_in(number: PullNumber) -> String {
    format!("also in open pull request #{number}")
}

pub fn picked_also_in(number: PullNumber) -> String {
    format!("same patch as one of open pull request #{number}")
}

pub fn shares_commit(sha: &Sha, number: PullNumber) -> String {
    format!("{} is also in open pull request #{number}", sha.short())
}

pub fn same_patch(sha: &Sha, number: PullNumber) -> String {
    format!("{} is the same patch as one of open pull request #{number}", sha.short())
}

pub fn tip_of(branch: &str) -> String {
    format!("tip of {branch}")
}

pub fn base_not_fetched(branch: &str) -> String {
    format!("{branch} was not fetched freshly; Steward tries again by itself")
}

pub fn fork_point_outside(sha: &Sha, branch: &str) -> String {
    format!("the fork point {} is not in {branch}", sha.short())
}

pub fn pull_base_outside(sha: &Sha, branch: &str) -> String {
    format!("the pull request's base {} is not in {branch}", sha.short())
}

pub fn no_pull() -> String {
    "no pull request yet".to_owned()
}

pub fn pull_closed() -> String {
    "the pull request is closed and not merged".to_owned()
}

pub fn pull_merged() -> String {
    "already merged".to_owned()
}

pub fn pull_draft() -> String {
    "still a draft".to_owned()
}

pub fn title_fault(error: &TitleError) -> String {
    error.to_string()
}

pub fn section_absent(name: &str) -> String {
    format!("the body has no section \"{name}\"")
}

pub fn section_empty(name: &str) -> String {
    format!("the section \"{name}\" is empty")
}

pub fn hygiene_well(notes: &[String]) -> String {
    let well = "title and body say what they must";
    match notes {
        [] => well.to_owned(),
        notes => format!("{well}; {}", notes.join(", ")),
    }
}

pub fn outside_scope(path: &str, more: usize) -> String {
    and_more(&format!("outside the write scope: {path}"), more)
}

pub fn inside_scope(files: usize) -> String {
    format!("{} inside the write scope", count(files, "changed file"))
}

pub fn no_mutations_asked() -> String {
    "the contract asks for no mutations".to_owned()
}

pub fn no_mutation_run(version: u32) -> String {
    format!("no mutation run reported for contract version {version}")
}

pub fn mutations_elsewhere(ran_at: &Sha, head: &Sha) -> String {
    format!("the mutations ran at {}, the head is {}", ran_at.short(), head.short())
}

pub fn mutated_nothing() -> String {
    "the mutation run touched no file".to_owned()
}

pub fn mutation_left(path: &str, more: usize) -> String {
    and_more(&format!("not restored: {path}"), more)
}

pub fn mutation_unread(path: &str) -> String {
    format!("{path} is not read at the head yet")
}

pub fn mutations_back(files: usize) -> String {
    format!("ran at the head, {} restored", count(files, "file"))
}

pub fn no_peers() -> String {
    "no Peer handed anything off".to_owned()
}

pub fn peer_status(status: PeerStatus) -> &'static str {
    match status {
        PeerStatus::Done => "done",
        PeerStatus::Running => "running",
        PeerStatus::Blocked => "blocked",
        PeerStatus::Failed => "failed",
    }
}

pub fn peer_stuck(peer: &str, status: &str) -> String {
    format!("{peer} handed off {status}")
}

pub fn peer_running(peer: &str) -> String {
    format!("{peer} is still running")
}

pub fn peer_wrong(peer: &str, wrong: &str) -> String {
    format!("{peer} {wrong}")
}

pub fn claimed_commit(id: &str) -> String {
    format!("claims commit {id}, which is not in the range")
}

pub fn claimed_file(path: &str) -> String {
    format!("claims {path}, which is not changed")
}

pub fn claimed_pull(claimed: PullNumber, actual: Option<PullNumber>) -> String {
    match actual {
        Some(actual) => format!("claims pull request #{claimed}, the task has #{actual}"),
        None => format!("claims pull request #{claimed}, the task has none"),
    }
}

pub fn first_of(fault: &str, more: usize) -> String {
    and_more(fault, more)
}

pub fn peers_agree(peers: usize) -> String {
    format!("{} handed off done, all claims hold", count(peers, "Peer"))
}
