//! What the steward engine says of a pull request.

use chrono::{DateTime, Utc};

use super::{count, list};
use crate::engine::checks::NameWarning;
use crate::engine::classify::{Class, CodeReason, ForeignReason, NeverReason, Unreadable};
use crate::engine::decision::{Decision, Ended, Fault, Fix, Listed, Missing, Place, SeatGap, Wait, WaitFor};
use crate::engine::entries::EntryKey;
use crate::engine::hold::{Held, NotNow};
use crate::engine::ladder::TooMuch;
use crate::engine::paths::NotData;
use crate::engine::report::Item;
use crate::engine::supersede::{Overtaken, Stop};
use crate::engine::triage::NotProven;
use crate::engine::verdict_label::Unbound;
use crate::engine::verify::Refused;
use crate::untrusted::Untrusted;

fn line(text: &str) -> String {
    Untrusted::new(text).one_line(120)
}

fn lines(names: &[String]) -> String {
    list(&names.iter().map(|name| line(name)).collect::<Vec<_>>())
}

fn clock(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d %H:%M UTC").to_string()
}

/// What makes a pull request of its class.
pub fn class(class: &Class) -> String {
    match class {
        Class::OwnBot => "another bot's own pull request".to_owned(),
        Class::Draft => "a draft".to_owned(),
        Class::Unreadable(unread) => unreadable(unread),
        Class::Code(reason) => code(reason),
        Class::Foreign(reason) => foreign(reason),
        Class::Oversize { touched, cap } => {
            format!("it touches {touched} entries, {cap} are the most that merge at once")
        }
        Class::NeverMerge(reason) => never(reason),
        Class::Data { touched: 1 } => "data: 1 entry".to_owned(),
        Class::Data { touched } => format!("data: {touched} entries"),
    }
}

pub fn unreadable(unread: &Unreadable) -> String {
    match unread {
        Unreadable::Labels => "its labels could not be read".to_owned(),
        Unreadable::Files { read } => {
            format!("its list of files was cut off after {}", count(*read, "file"))
        }
        Unreadable::NoFiles => "it changes no file".to_owned(),
        Unreadable::Modes { path } => {
            format!("what {} is in the trees could not be read", line(&path.shown()))
        }
        Unreadable::Links => "the trees could not be read for links and submodules".to_owned(),
        Unreadable::Base => {
            "which branch is the base is not known: GitHub has not named the default branch".to_owned()
        }
        Unreadable::Entries => "its entries could not be counted".to_owned(),
    }
}

pub fn code(reason: &CodeReason) -> String {
    match reason {
        CodeReason::Path { path, why } => not_data(&line(&path.shown()), *why),
        CodeReason::Symlink { path } => format!("code: {} is a symlink", line(&path.shown())),
        CodeReason::Submodule { path } => format!("code: {} is a submodule", line(&path.shown())),
        CodeReason::Executable { path } => format!("code: {} is executable", line(&path.shown())),
        CodeReason::LinkInTree { path } => {
            format!("code: the tree holds a symlink or submodule, {}", line(&path.shown()))
        }
    }
}

pub fn not_data(path: &str, why: NotData) -> String {
    match why {
        NotData::Odd => format!("code: the path {path} is not a plain one"),
        NotData::Outside => format!("code: {path} is outside the safe paths"),
        NotData::Git => format!("code: {path} changes how git or GitHub behaves"),
        NotData::Instructions => format!("code: {path} is read as instructions by agents"),
        NotData::Protected => format!("code: {path} is protected"),
    }
}

pub fn foreign(reason: &ForeignReason) -> String {
    match reason {
        ForeignReason::Fork => "from another repository, where the verdict job cannot run".to_owned(),
        ForeignReason::DeletedFork => "from a repository that was deleted".to_owned(),
        ForeignReason::Base { branch } => format!("it wants to go to {}", line(branch)),
    }
}

pub fn never(reason: &NeverReason) -> String {
    match reason {
        NeverReason::Label { label } => format!("the label {} forbids a merge", line(label)),
        NeverReason::Form { issue, label } => {
            format!("it comes from issue #{issue}, and the label {} forbids a merge", line(label))
        }
        NeverReason::Author { login } => format!("pull requests of {} are left alone", line(login)),
    }
}

/// What is decided, and why.
pub fn decision(decision: &Decision) -> String {
    match decision {
        Decision::Ignore(class) => format!("left alone: {}", self::class(class)),
        Decision::ListOnly(listed) => self::listed(listed),
        Decision::ReviewCode { head } => format!("review {}: it is code", head.short()),
        Decision::Wait(wait) => self::wait(wait),
        Decision::Rerun { run_ids } => {
            format!("re-run the failed jobs of {}", count(run_ids.len(), "workflow run"))
        }
        Decision::RetryVerify { n, .. } => format!("ask for the verdict again, try {n}"),
        Decision::Rebase(place) => format!("rebase onto the base, {}", self::place(place)),
        Decision::Fix { what, place } => format!("{}, {}", self::fix(what), self::place(place)),
        Decision::Merge(ready) => format!("ready to merge at {}", ready.sha().short()),
        Decision::Gone(Ended::Merged) => "it was merged".to_owned(),
        Decision::Gone(Ended::Closed) => "it was closed".to_owned(),
        Decision::ConfigFault(fault) => self::fault(*fault),
    }
}

pub fn listed(listed: &Listed) -> String {
    match listed {
        Listed::Class(class) => self::class(class),
        Listed::Reviewed => "this head was reviewed; a maintainer decides".to_owned(),
        Listed::NoVerdict { tries, next_at } => {
            format!("no verdict after {}; the next one is {}", tried(*tries), clock(*next_at))
        }
        Listed::NoVerdictRun => {
            "no verdict, and no run of the verdict job that could be run again".to_owned()
        }
        Listed::Unbound(gap) => format!("{}, and nothing has changed that since", unbound(gap)),
        Listed::FlagElsewhere => "the flag is about content this change does not touch".to_owned(),
        Listed::Rebased { times } => format!("rebased {times} times without a merge"),
        Listed::Unprocessable { times } => format!("GitHub refused {times} merges in a row"),
        Listed::Overtaken { original } => {
            format!("#{original}, which it was made for, was closed or merged meanwhile")
        }
        Listed::NoValidator => "it needs a change, and the policy names no validator".to_owned(),
        Listed::NoBranch => "it needs a change, and the policy lets nothing be pushed".to_owned(),
    }
}

fn tried(tries: u32) -> String {
    match tries {
        1 => "1 try".to_owned(),
        tries => format!("{tries} tries"),
    }
}

pub fn wait(wait: &Wait) -> String {
    match (wait_for(&wait.reason), wait.not_before) {
        (reason, Some(at)) => format!("{reason}; again {}", clock(at)),
        (reason, None) => reason,
    }
}

/// What is waited for.
pub fn wait_for(reason: &WaitFor) -> String {
    match reason {
        WaitFor::Incomplete(missing) => incomplete(missing),
        WaitFor::Stable { seconds } => format!("the head must be there unchanged for {seconds} s"),
        WaitFor::Sweep { behind_by } => {
            format!("{} behind its base; the sweep moves it", count(*behind_by as usize, "commit"))
        }
        WaitFor::Rerun { names } => format!("the re-run has no result yet: {}", lines(names)),
        WaitFor::WorkflowEnd { names } => {
            format!("the workflow must end before it is re-run: {}", lines(names))
        }
        WaitFor::VerdictRetry { n } => format!("no verdict; try {n} is not due"),
        WaitFor::Backoff { failures, .. } => {
            format!("after {} the next one is not due", count(*failures as usize, "attempt"))
        }
        WaitFor::Absent { names } => format!("required and not reported: {}", lines(names)),
        WaitFor::Running { names } => format!("running: {}", lines(names)),
        WaitFor::VerdictAbsent => "no verdict run at this head".to_owned(),
        WaitFor::VerdictRunning => "the verdict job runs".to_owned(),
        WaitFor::OtherFailed { names } => format!("failed, though not required: {}", lines(names)),
        WaitFor::ChangesRequested { by } => format!("changes requested by {}", lines(by)),
        WaitFor::Approvals { have, need } => format!("{have} of {need} approvals of this head"),
        WaitFor::Seat(gap) => seat(*gap).to_owned(),
        WaitFor::Unbound(gap) => unbound(gap),
        WaitFor::Held(held) => self::held(held),
        WaitFor::Overtaken(Overtaken::Moved { original } | Overtaken::Ended { original }) => {
            format!("#{original}, which it was made for, went on; it is made anew from there")
        }
        WaitFor::Overtaken(Overtaken::Unread { original }) => {
            format!("what is remembered of #{original}, which it was made for, cannot be read")
        }
        WaitFor::NextTick => "something merged just now and will move its branch".to_owned(),
    }
}

pub fn incomplete(missing: &[Missing]) -> String {
    let names: Vec<String> = missing.iter().map(|part| part.name().to_owned()).collect();
    format!("not read to the end: {}", list(&names))
}

pub fn seat(gap: SeatGap) -> &'static str {
    match gap {
        SeatGap::None => "the seat has not reviewed it",
        SeatGap::OtherHead => "the seat reviewed another head",
        SeatGap::Stale => "the review of the seat is stale",
        SeatGap::NotAccepted => "the seat did not accept it",
    }
}

/// Why the verdict labels do not count.
pub fn unbound(gap: &Unbound) -> String {
    match gap {
        Unbound::EndUnknown => "GitHub does not say when the verdict was given".to_owned(),
        Unbound::OtherHead { head, ended_at: None } => {
            format!("the verdict job still runs at {}, and will set the labels", head.short())
        }
        Unbound::OtherHead { head, ended_at: Some(at) } => {
            format!("the verdict of {} came last, at {}, and set the labels", head.short(), clock(*at))
        }
        Unbound::ReadBefore { .. } => "the labels were read before the verdict was given".to_owned(),
        Unbound::BothLabels => "both verdict labels are there".to_owned(),
        Unbound::FlagPresent => "the verdict flagged it".to_owned(),
        Unbound::PassAbsent => "the pass label is not there".to_owned(),
        Unbound::PutOnBy { login, at } => {
            format!("{} put the pass label on at {}, after the verdict", line(login), clock(*at))
        }
        Unbound::SkippedLast => "the newest run of the verdict job was skipped".to_owned(),
    }
}

pub fn held(held: &Held) -> String {
    match held {
        Held::For { pull, .. } => format!("the task of #{pull} must start first"),
        Held::Running { pull } => format!("a task runs on the branch of #{pull}"),
    }
}

pub fn place(place: &Place) -> String {
    match place {
        Place::Own { branch } => format!("on {}", line(branch)),
        Place::Supersede { branch } => format!("in a pull request of its own, {}", line(branch)),
    }
}

pub fn fix(what: &Fix) -> String {
    match what {
        Fix::Checks { names, .. } => format!("fix what fails: {}", lines(names)),
        Fix::Flag => "fix what the verdict flagged".to_owned(),
    }
}

pub fn fault(fault: Fault) -> String {
    match fault {
        Fault::NoRequiredChecks => "policy.engine.requiredChecks names no check".to_owned(),
        Fault::NoJudge => "policy.engine has no verdict job, and requireSeatAccepted is not true".to_owned(),
    }
}

pub fn empty_key() -> String {
    "it is empty".to_owned()
}

pub fn nothing_to_merge() -> String {
    "merge is in act, and no path is safe; name the paths whose changes may merge".to_owned()
}

pub fn no_required_checks() -> String {
    "merge is in act, and no check is required; name the checks that must succeed".to_owned()
}

pub fn no_judge() -> String {
    "merge is in act, and nothing judges a change: name a verdict job, or set this to true".to_owned()
}

pub fn safe_path_of_git(pattern: &str) -> String {
    format!("{} changes how git or GitHub behaves, and is never safe", line(pattern))
}

pub fn no_path(pattern: &str) -> String {
    format!("{} names no folder and is no glob", line(pattern))
}

pub fn no_glob(pattern: &str) -> String {
    format!("{} is no glob", line(pattern))
}

pub fn push_too_wide(pattern: &str, base: Option<&str>) -> String {
    let base = base.map_or_else(|| "the base".to_owned(), line);
    format!("{} matches {base} or any branch; name a folder of branches", line(pattern))
}

pub fn verdict_label_routes(label: &str, route: &str) -> String {
    format!("{} is also {}, which means something else", line(label), line(route))
}

pub fn verdict_labels_equal() -> String {
    "the pass and the flag label are one".to_owned()
}

pub fn no_research(word: &str, known: &[&str]) -> String {
    format!("nothing is looked up by `{}`; known: {}", line(word), known.join(", "))
}

pub fn no_lines() -> String {
    "an entry has at least one line".to_owned()
}

/// Why what an agent left is discarded.
pub fn refused(refused: &Refused) -> String {
    let shown = |path: &crate::diff::RepoPath| line(&path.shown());
    match refused {
        Refused::Unread(why) => {
            format!("what the agent left could not be read: {}", line(&why.detail))
        }
        Refused::Processes { alive } => {
            format!("{} of the agent did not end", count_processes(*alive))
        }
        Refused::GitTouched { what } => format!("git itself was changed: {}", lines(what)),
        Refused::Path { path, why } => not_data(&shown(path), *why),
        Refused::Dotfile { path } => format!("{} is a dotfile", shown(path)),
        Refused::Mode { path, .. } => format!("{} is no regular file", shown(path)),
        Refused::OddName { path, why } => format!("{}: {why}", shown(path)),
        Refused::Collision { path, with } => {
            format!("{} and {} are one name where case does not count", shown(path), shown(with))
        }
        Refused::Tool { name, exit: Some(code) } => format!("{} failed with {code}", line(name)),
        Refused::Tool { name, exit: None } => format!("{} did not end by itself", line(name)),
        Refused::NotValidated => "no validator ran over it".to_owned(),
        Refused::Nothing => "nothing was changed".to_owned(),
        Refused::TooMuch(much) => too_much(much),
        Refused::Secret { rule } => format!("it holds a secret: {}", line(rule)),
    }
}

fn count_processes(alive: u32) -> String {
    match alive {
        1 => "1 process".to_owned(),
        alive => format!("{alive} processes"),
    }
}

pub fn too_much(much: &TooMuch) -> String {
    match much {
        TooMuch::Entries { touched, cap } => {
            format!("a batch import: {touched} entries, and {cap} are the most for one change")
        }
        TooMuch::Beyond { entries } => {
            let names: Vec<String> =
                entries.iter().map(|key| line(&format!("{} {}", key.family, key.id))).collect();
            format!("it touches what the pull request does not: {}", list(&names))
        }
    }
}

pub fn not_scanned() -> String {
    "a part was too large to be looked at".to_owned()
}

/// Why no agent task starts now.
pub fn not_now(reason: &NotNow) -> String {
    match reason {
        NotNow::NoBoundary(why) => format!("there is no boundary for agents: {}", line(&why.detail)),
        NotNow::Priority => "the automation that comes first is busy".to_owned(),
        NotNow::PriorityUnread(why) => {
            format!("whether the automation that comes first is busy is not known: {}", line(&why.detail))
        }
        NotNow::Lock => "another heavy tool runs".to_owned(),
        NotNow::Memory { available, needed } => {
            format!("{available} MB of memory are available, {needed} are needed")
        }
        NotNow::MemoryUnread(why) => {
            let way_on = "`minAvailableMb: 0` does not ask";
            format!("how much memory is available is not known: {}; {way_on}", line(&why.detail))
        }
        NotNow::DayCap { cap } => format!("{cap} agent runs were started today"),
        NotNow::Limited { until } => format!("a limit of the provider holds until {}", clock(*until)),
        NotNow::Parked { items } => {
            format!("{items} items wait on faults of the configuration; mend those first")
        }
    }
}

/// Why an answer of the triager is not acted on.
pub fn not_proven(reason: &NotProven) -> String {
    match reason {
        NotProven::NoClaim => "it says the entry is there and names none".to_owned(),
        NotProven::Missing { ids } => format!("not in the tree: {}", lines(ids)),
        NotProven::QuotedOnly { ids } => format!("named in a quote of the issue only: {}", lines(ids)),
        NotProven::NoReason => "it declines and gives no reason".to_owned(),
        NotProven::Contradicted { ids } => format!("the tree says otherwise of {}", lines(ids)),
        NotProven::Questions { number } => {
            format!("it asks {}, and one is to be asked", count(*number, "question"))
        }
        NotProven::AskedBefore => "it asks what was asked before".to_owned(),
        NotProven::Unread => "the tree could not be read".to_owned(),
    }
}

/// Why superseding a pull request goes no further.
pub fn stopped(stop: &Stop) -> String {
    let names = |entries: &[EntryKey]| {
        let names: Vec<String> =
            entries.iter().map(|key| line(&format!("{} {}", key.family, key.id))).collect();
        list(&names)
    };
    match stop {
        Stop::OriginalEnded => "the original was closed or merged meanwhile".to_owned(),
        Stop::Refused => "a person closed the superseding pull request".to_owned(),
        Stop::Reverted => "what was merged is not on the base any more".to_owned(),
        Stop::Differs { entries } => format!("on the base these are not as merged: {}", names(entries)),
        Stop::Lost { entries } => format!("these of the original were lost: {}", names(entries)),
    }
}

pub fn report_title() -> String {
    "What Steward follows here".to_owned()
}

pub fn report_no_boundary() -> String {
    "No agent works: there is no boundary for it. Merging goes on.".to_owned()
}

pub fn report_warnings() -> String {
    "The configuration".to_owned()
}

pub fn report_stuck_title() -> String {
    "Stuck: these failed again and again, and the cause is to be found".to_owned()
}

pub fn report_items() -> String {
    "Followed".to_owned()
}

pub fn report_stuck(number: i64, failures: u32, last: &str) -> String {
    format!("#{number} failed {failures} times, last: {last}")
}

/// One line of the list; the time stands last.
pub fn report_item(item: &Item, next_at: Option<DateTime<Utc>>) -> String {
    let attempts = match item.attempts {
        0 => String::new(),
        attempts => format!(" ({})", count(attempts as usize, "attempt")),
    };
    let next = next_at.map(|at| format!("; again {}", clock(at))).unwrap_or_default();
    format!("#{} {}: {}{attempts}{next}", item.number, item.class, item.state)
}

pub fn report_at(at: DateTime<Utc>) -> String {
    format!("As of {}.", clock(at))
}

/// Why the report warns of a required name.
pub fn name_warning(warning: &NameWarning) -> String {
    match warning {
        NameWarning::NeverSeen { name, since } => format!(
            "{} is required and was never seen since {}: was the job renamed?",
            line(name),
            clock(*since)
        ),
        NameWarning::Silent { name, since } => {
            format!("{} is required and was last seen {}: was it removed?", line(name), clock(*since))
        }
    }
}
