//! Every sentence about a task of an agent or a rebase, and the messages of the commits they make. None of them
//! holds what somebody else wrote.

/// Why the mechanical rebase made nothing.
pub fn not_rebased(why: &str) -> String {
    format!("not rebased: {}", crate::untrusted::Untrusted::new(why).one_line(1_000))
}

/// The message of a repair.
pub fn fix_message(number: i64) -> String {
    format!("fix: what failed in pull request {number}\n")
}

/// The message of a change that an agent put onto the base anew.
pub fn reapply_message(number: i64) -> String {
    format!("fix: take the change of pull request {number} up on the present base\n")
}

/// The message of a change that an issue asks for.
pub fn triage_message(number: i64) -> String {
    format!("feat: what issue {number} asks for\n")
}

pub fn no_identity() -> &'static str {
    "commit.name and commit.email are missing in the config file, so Steward makes no commit"
}

pub fn no_branch(branch: &str) -> String {
    let shown = crate::untrusted::Untrusted::new(branch).one_line(200);
    format!("{shown} is no branch that policy.engine.push.allowed names")
}

pub fn no_safe_path() -> &'static str {
    "policy.engine.safePaths names nothing that could be written here"
}

pub fn preempted() -> &'static str {
    "the automation that comes first started, so the task was ended"
}

pub fn paused(why: &str) -> String {
    format!("everything rests: {}", crate::untrusted::Untrusted::new(why).one_line(300))
}

pub fn switched_off() -> &'static str {
    "it was switched off while the task ran"
}

pub fn closed() -> &'static str {
    "what it was about was closed meanwhile"
}

pub fn moved() -> &'static str {
    "somebody pushed meanwhile, so it was of no use any more"
}

pub fn spend_cap() -> &'static str {
    "the cap on money over all agents is reached"
}

pub fn restarted() -> &'static str {
    "Steward ended while it ran; it starts anew"
}

pub fn rests() -> &'static str {
    "its last start came to nothing, so it rests for a while before the next"
}

pub fn limited() -> &'static str {
    "the provider of the agent takes no more from this account for now"
}
