//! Faults on demand: which exchange goes wrong, how, and how often.

use std::time::Duration;

/// How one answer goes wrong.
#[derive(Debug, Clone)]
pub enum Fault {
    /// The effect is done, the connection ends without an answer.
    LostReply,
    /// The connection ends before anything is done.
    Cut,
    /// The head promises the whole body and half of it arrives.
    Truncated,
    /// The body is JSON of another type: an object for a list, a list for an object.
    WrongType,
    /// A page for people with status 200: a captive portal, an error page.
    Html,
    /// A body of this many bytes.
    Oversized(usize),
    /// A small gzip body that unpacks to this many bytes.
    GzipBomb(usize),
    /// The right answer, late.
    Slow(Duration),
    /// This status with GitHub's usual error body; nothing is done.
    Status(u16),
    /// This status, after the effect is done.
    StatusAfterEffect(u16),
    /// Moved to another address with this status.
    Moved { status: u16, to: String },
    /// A secondary limit with this status.
    Secondary { status: u16, retry: Retry },
    /// The primary limit, as REST (403) and GraphQL (200 with an error) say it.
    PrimaryLimit,
    /// GraphQL: the data with an error beside it and the last entry missing.
    PartialData,
    /// GraphQL: the last entry of the first list that was asked by ids is not found, as by a replica that
    /// has not heard of it yet.
    LostNode,
    /// A list that has nothing in it.
    EmptyPage,
    /// What this address answered last, whatever has happened since.
    Stale,
    /// This body in place of its own, as from a replica that is behind.
    Body(String),
    /// Each item twice.
    Duplicated,
    /// The items backwards.
    Reordered,
}

/// Whether a secondary limit says when to come back.
#[derive(Debug, Clone, Copy)]
pub enum Retry {
    Silent,
    Seconds(u64),
    /// As an HTTP date, this many seconds ahead of the double's clock.
    Date(u64),
}

#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub operation: String,
    pub containing: Option<String>,
    pub page: Option<u64>,
    pub skip: u64,
    pub left: Option<u64>,
    pub fault: Fault,
}

impl Plan {
    pub(crate) fn meets(&self, operation: &str, target: &str, page: u64) -> bool {
        let named = self.operation == "*"
            || self.operation == operation
            || self
                .operation
                .strip_suffix(" *")
                .is_some_and(|method| operation.starts_with(&format!("{method} ")));
        named
            && self.containing.as_ref().is_none_or(|part| target.contains(part.as_str()))
            && self.page.is_none_or(|wanted| wanted == page)
    }
}

/// Takes the fault planned for this exchange, if there is one, and uses it up.
pub(crate) fn take(plans: &mut Vec<Plan>, operation: &str, target: &str, page: u64) -> Option<Fault> {
    let at = plans.iter().position(|plan| plan.meets(operation, target, page))?;
    let plan = &mut plans[at];
    if plan.skip > 0 {
        plan.skip -= 1;
        return None;
    }
    let fault = plan.fault.clone();
    if let Some(left) = &mut plan.left {
        *left -= 1;
        if *left == 0 {
            plans.remove(at);
        }
    }
    Some(fault)
}
