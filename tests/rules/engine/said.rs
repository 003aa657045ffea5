//! What a person reads: `why`, and every sentence of a decision.

use chrono::Duration;
use steward_rules::diff::RepoPath;
use steward_rules::engine::classify::*;
use steward_rules::engine::decision::*;
use steward_rules::engine::entries::EntryKey;
use steward_rules::engine::facts::*;
use steward_rules::engine::hold::{Held, Hold, Merging, NotNow};
use steward_rules::engine::merge::assess;
use steward_rules::engine::paths::NotData;
use steward_rules::engine::steps::StepId;
use steward_rules::engine::supersede::{Overtaken, Stop};
use steward_rules::engine::triage::NotProven;
use steward_rules::engine::verdict_label::Unbound;
use steward_rules::engine::why::{StepState, table, why};
use steward_rules::ids::PullNumber;
use steward_rules::reading::{Cause, Why};
use steward_rules::wording::engine as say;

use super::world::*;

#[test]
fn why_tells_every_unmet_condition_in_the_order_of_the_gate() {
    let mut pr = behind(with_check(run("check", 1, "failure", 20)), 2);
    pr.check_runs.items.push(Run { workflow_run: Some(4), ..run("lint", 1, "failure", 3) });
    pr.check_runs.items.push(Run { workflow_run: Some(5), ..run("slow\u{202e}", 1, "queued", 1) });
    pr.reviews = Listing::whole([review(&account(1, "ann"), ReviewState::ChangesRequested, 5)]);
    pr.labels = labels(&["bot-intake"]);
    let mut memory = seen_for(Duration::seconds(60));
    memory.behind_since = Some(minutes_ago(10));
    memory.merging =
        Merging { hold: Some(Hold { pull: PullNumber(99), since: now() }), ..Merging::default() };
    let unmet = why(&pr, &memory, &policy(), now());
    let said: Vec<String> = unmet
        .iter()
        .map(|one| {
            let evidence: Vec<String> = one
                .evidence
                .iter()
                .map(|item| {
                    let at = item.at.map_or("-".to_owned(), |at| at.format("%H:%M:%S").to_string());
                    format!("{}={} @{at}", item.name, item.value)
                })
                .collect();
            format!("{}: {} [{}]", one.step.as_str(), one.message, evidence.join("; "))
        })
        .collect();
    insta::assert_snapshot!(said.join("\n"), @r"
    stable: the head must be there unchanged for 120 s; again 2026-11-30 12:01 UTC [head first seen=000000000000000000000000000000000000aaaa @11:59:00]
    required_checks: 2 commits behind its base; the sweep moves it; again 2026-11-30 12:20 UTC [commits behind=2 @12:00:00; check=failure (github-actions) @11:40:00]
    up_to_date: 2 commits behind its base; the sweep moves it; again 2026-11-30 12:20 UTC [commits behind=2 @12:00:00]
    nothing_pending: running: slow\u{202e} [slow\u{202e}=queued (github-actions) @11:57:00]
    other_checks: failed, though not required: lint [lint=failure (github-actions) @11:57:00]
    people: changes requested by ann [changes requested by=ann @11:55:00]
    label_bound: the pass label is not there [labels=bot-intake @12:00:00; verify=success at 0000000 @11:50:00]
    not_held: the task of #99 must start first; again 2026-11-30 12:30 UTC [held for=#99 @12:00:00]
    ");
    assert_eq!(unmet[0].decision, assess(&pr, &memory, &policy(), now()).slug());
    assert!(unmet.windows(2).all(|pair| pair[0].step < pair[1].step));
    assert_eq!(why(&ready(), &super::world::memory(), &policy(), now()), []);
}

#[test]
fn what_has_ended_or_is_no_data_has_no_further_conditions() {
    let mut code = behind(ready(), 3);
    code.files = Listing::whole([modified("tools/x")]);
    let unmet = why(&code, &memory(), &policy(), now());
    assert_eq!(unmet.iter().map(|one| one.step).collect::<Vec<_>>(), [StepId::Class]);
    let mut gone = code;
    gone.state = steward_rules::review::facts::PullState::Merged;
    assert_eq!(why(&gone, &memory(), &policy(), now())[0].step, StepId::Open);
}

#[test]
fn the_table_of_the_gate_says_of_each_condition_whether_it_holds() {
    let states = |pr: &PrObs| -> Vec<(&str, StepState)> {
        let rows = table(pr, &memory(), &policy(), now());
        let unmet: Vec<_> = rows.iter().filter_map(|(_, _, unmet)| unmet.clone()).collect();
        assert_eq!(unmet, why(pr, &memory(), &policy(), now()));
        rows.iter().map(|(id, state, _)| (id.as_str(), *state)).collect()
    };
    assert_eq!(states(&ready()).iter().filter(|(_, state)| *state == StepState::Met).count(), 15);
    let not_met = |pr: &PrObs| -> Vec<(&str, StepState)> {
        states(pr).into_iter().filter(|(_, state)| *state != StepState::Met).collect()
    };
    assert_eq!(not_met(&behind(ready(), 3)), [("up_to_date", StepState::Unmet)]);
    let mut cut = ready();
    cut.statuses.complete = false;
    let rows = not_met(&cut);
    assert_eq!(rows[0], ("whole", StepState::Unmet));
    assert_eq!(rows.len(), 12);
    assert!(rows[1..].iter().all(|(_, state)| *state == StepState::NotJudged));
    let mut code = ready();
    code.files = Listing::whole([modified("tools/x")]);
    let rows = not_met(&code);
    assert_eq!(rows[0], ("class", StepState::Unmet));
    assert!(rows.len() == 14 && rows[1..].iter().all(|(_, state)| *state == StepState::NotJudged));
}

#[test]
fn what_was_not_read_is_told_as_such_and_nothing_is_concluded_from_it() {
    let mut pr = behind(ready(), 3);
    pr.statuses.complete = false;
    pr.labelled = unread();
    let unmet = why(&pr, &memory(), &policy(), now());
    assert_eq!(unmet.len(), 1);
    assert_eq!(unmet[0].message, "not read to the end: commit statuses, label events");
    assert_eq!(unmet[0].evidence.len(), 2);
}

#[test]
fn every_sentence_of_a_decision() {
    let path = || RepoPath::from("tools/x\n.sh");
    let at = now();
    let classes = vec![
        Class::OwnBot,
        Class::Draft,
        Class::Unreadable(Unreadable::Labels),
        Class::Unreadable(Unreadable::Files { read: 1 }),
        Class::Unreadable(Unreadable::NoFiles),
        Class::Unreadable(Unreadable::Modes { path: path() }),
        Class::Unreadable(Unreadable::Links),
        Class::Unreadable(Unreadable::Base),
        Class::Unreadable(Unreadable::Entries),
        Class::Code(CodeReason::Path { path: path(), why: NotData::Outside }),
        Class::Code(CodeReason::Path { path: path(), why: NotData::Odd }),
        Class::Code(CodeReason::Path { path: path(), why: NotData::Git }),
        Class::Code(CodeReason::Path { path: path(), why: NotData::Instructions }),
        Class::Code(CodeReason::Path { path: path(), why: NotData::Protected }),
        Class::Code(CodeReason::Symlink { path: path() }),
        Class::Code(CodeReason::Submodule { path: path() }),
        Class::Code(CodeReason::Executable { path: path() }),
        Class::Code(CodeReason::LinkInTree { path: path() }),
        Class::Foreign(ForeignReason::Fork),
        Class::Foreign(ForeignReason::DeletedFork),
        Class::Foreign(ForeignReason::Base { branch: "next".to_owned() }),
        Class::Oversize { touched: 101, cap: 100 },
        Class::NeverMerge(NeverReason::Label { label: "wip".to_owned() }),
        Class::NeverMerge(NeverReason::Form { issue: 9, label: "data:import".to_owned() }),
        Class::NeverMerge(NeverReason::Author { login: "ann".to_owned() }),
        Class::Data { touched: 1 },
        Class::Data { touched: 0 },
    ];
    let waits = vec![
        WaitFor::Incomplete(vec![Missing::Compare, Missing::SeatReview, Missing::FlagFindings]),
        WaitFor::Stable { seconds: 120 },
        WaitFor::Sweep { behind_by: 1 },
        WaitFor::Rerun { names: strings(&["check"]) },
        WaitFor::WorkflowEnd { names: strings(&["check"]) },
        WaitFor::VerdictRetry { n: 2 },
        WaitFor::Backoff { failures: 3, what: Some(Fix::Flag) },
        WaitFor::Absent { names: strings(&["a", "b", "c", "d"]) },
        WaitFor::Running { names: strings(&["a\u{1b}"]) },
        WaitFor::VerdictAbsent,
        WaitFor::VerdictRunning,
        WaitFor::OtherFailed { names: strings(&["lint"]) },
        WaitFor::ChangesRequested { by: strings(&["ann"]) },
        WaitFor::Approvals { have: 1, need: 2 },
        WaitFor::Seat(SeatGap::None),
        WaitFor::Seat(SeatGap::OtherHead),
        WaitFor::Seat(SeatGap::Stale),
        WaitFor::Seat(SeatGap::NotAccepted),
        WaitFor::Unbound(Unbound::EndUnknown),
        WaitFor::Unbound(Unbound::OtherHead { head: old_head(), ended_at: None }),
        WaitFor::Unbound(Unbound::OtherHead { head: old_head(), ended_at: Some(at) }),
        WaitFor::Unbound(Unbound::ReadBefore { ended_at: at }),
        WaitFor::Unbound(Unbound::BothLabels),
        WaitFor::Unbound(Unbound::FlagPresent),
        WaitFor::Unbound(Unbound::PassAbsent),
        WaitFor::Unbound(Unbound::PutOnBy { login: "ann".to_owned(), at }),
        WaitFor::Unbound(Unbound::SkippedLast),
        WaitFor::Held(Held::For { pull: PullNumber(3), until: at }),
        WaitFor::Held(Held::Running { pull: PullNumber(3) }),
        WaitFor::Overtaken(Overtaken::Moved { original: PullNumber(3) }),
        WaitFor::Overtaken(Overtaken::Unread { original: PullNumber(3) }),
        WaitFor::NextTick,
    ];
    let own = Place::Own { branch: "intake/issue-9".to_owned() };
    let decisions = vec![
        Decision::Ignore(Class::Draft),
        Decision::ReviewCode { head: head() },
        Decision::Wait(Wait { reason: WaitFor::Stable { seconds: 120 }, not_before: Some(at) }),
        Decision::Rerun { run_ids: vec![1, 2] },
        Decision::RetryVerify { run: 7, n: 2 },
        Decision::Rebase(Place::Supersede { branch: "steward/pr-1".to_owned() }),
        Decision::Fix { what: Fix::Flag, place: own.clone() },
        Decision::Fix { what: Fix::Checks { names: strings(&["check"]), run_ids: vec![1] }, place: own },
        decide(&ready()),
        Decision::Gone(Ended::Merged),
        Decision::Gone(Ended::Closed),
        Decision::ConfigFault(Fault::NoRequiredChecks),
        Decision::ConfigFault(Fault::NoJudge),
        Decision::ListOnly(Listed::Class(Class::Foreign(ForeignReason::Fork))),
        Decision::ListOnly(Listed::Reviewed),
        Decision::ListOnly(Listed::NoVerdict { tries: 4, next_at: at }),
        Decision::ListOnly(Listed::NoVerdict { tries: 1, next_at: at }),
        Decision::ListOnly(Listed::NoVerdictRun),
        Decision::ListOnly(Listed::FlagElsewhere),
        Decision::ListOnly(Listed::Rebased { times: 3 }),
        Decision::ListOnly(Listed::Unprocessable { times: 3 }),
        Decision::ListOnly(Listed::Overtaken { original: PullNumber(3) }),
        Decision::ListOnly(Listed::NoValidator),
        Decision::ListOnly(Listed::NoBranch),
    ];
    let mut said: Vec<String> =
        classes.iter().map(|class| format!("{}: {}", class.slug(), class.message())).collect();
    said.extend(waits.iter().map(say::wait_for));
    said.extend(decisions.iter().map(|decision| format!("{}: {}", decision.slug(), decision.message())));
    insta::assert_snapshot!(said.join("\n"), @r"
    own_bot: another bot's own pull request
    draft: a draft
    unreadable: its labels could not be read
    unreadable: its list of files was cut off after 1 file
    unreadable: it changes no file
    unreadable: what tools/x\n.sh is in the trees could not be read
    unreadable: the trees could not be read for links and submodules
    unreadable: which branch is the base is not known: GitHub has not named the default branch
    unreadable: its entries could not be counted
    code: code: tools/x\n.sh is outside the safe paths
    code: code: the path tools/x\n.sh is not a plain one
    code: code: tools/x\n.sh changes how git or GitHub behaves
    code: code: tools/x\n.sh is read as instructions by agents
    code: code: tools/x\n.sh is protected
    code: code: tools/x\n.sh is a symlink
    code: code: tools/x\n.sh is a submodule
    code: code: tools/x\n.sh is executable
    code: code: the tree holds a symlink or submodule, tools/x\n.sh
    foreign: from another repository, where the verdict job cannot run
    foreign: from a repository that was deleted
    foreign: it wants to go to next
    oversize: it touches 101 entries, 100 are the most that merge at once
    never_merge: the label wip forbids a merge
    never_merge: it comes from issue #9, and the label data:import forbids a merge
    never_merge: pull requests of ann are left alone
    data: data: 1 entry
    data: data: 0 entries
    not read to the end: comparison with the base, review of the seat, findings of the flag
    the head must be there unchanged for 120 s
    1 commit behind its base; the sweep moves it
    the re-run has no result yet: check
    the workflow must end before it is re-run: check
    no verdict; try 2 is not due
    after 3 attempts the next one is not due
    required and not reported: a, b, c and 1 more
    running: a\u{1b}
    no verdict run at this head
    the verdict job runs
    failed, though not required: lint
    changes requested by ann
    1 of 2 approvals of this head
    the seat has not reviewed it
    the seat reviewed another head
    the review of the seat is stale
    the seat did not accept it
    GitHub does not say when the verdict was given
    the verdict job still runs at 0000000, and will set the labels
    the verdict of 0000000 came last, at 2026-11-30 12:00 UTC, and set the labels
    the labels were read before the verdict was given
    both verdict labels are there
    the verdict flagged it
    the pass label is not there
    ann put the pass label on at 2026-11-30 12:00 UTC, after the verdict
    the newest run of the verdict job was skipped
    the task of #3 must start first
    a task runs on the branch of #3
    #3, which it was made for, went on; it is made anew from there
    what is remembered of #3, which it was made for, cannot be read
    something merged just now and will move its branch
    ignore: left alone: a draft
    review_code: review 0000000: it is code
    wait: the head must be there unchanged for 120 s; again 2026-11-30 12:00 UTC
    rerun: re-run the failed jobs of 2 workflow runs
    retry_verify: ask for the verdict again, try 2
    rebase: rebase onto the base, in a pull request of its own, steward/pr-1
    fix: fix what the verdict flagged, on intake/issue-9
    fix: fix what fails: check, on intake/issue-9
    merge: ready to merge at 0000000
    gone: it was merged
    gone: it was closed
    config_fault: policy.engine.requiredChecks names no check
    config_fault: policy.engine has no verdict job, and requireSeatAccepted is not true
    list_only: from another repository, where the verdict job cannot run
    list_only: this head was reviewed; a maintainer decides
    list_only: no verdict after 4 tries; the next one is 2026-11-30 12:00 UTC
    list_only: no verdict after 1 try; the next one is 2026-11-30 12:00 UTC
    list_only: no verdict, and no run of the verdict job that could be run again
    list_only: the flag is about content this change does not touch
    list_only: rebased 3 times without a merge
    list_only: GitHub refused 3 merges in a row
    list_only: #3, which it was made for, was closed or merged meanwhile
    list_only: it needs a change, and the policy names no validator
    list_only: it needs a change, and the policy lets nothing be pushed
    ");
    assert_eq!(decisions[2].not_before(), Some(at));
    assert_eq!(decisions[15].not_before(), Some(at));
    assert_eq!(decisions[0].not_before(), None);
}

#[test]
fn every_refusal_of_a_policy_says_what_is_wrong() {
    let said = [
        say::empty_key(),
        say::nothing_to_merge(),
        say::no_required_checks(),
        say::no_judge(),
        say::safe_path_of_git(".github/"),
        say::no_path("../x"),
        say::no_glob("["),
        say::push_too_wide("*", Some("main")),
        say::push_too_wide("*", None),
        say::verdict_label_routes("data", "data"),
        say::verdict_labels_equal(),
        say::no_lines(),
    ];
    insta::assert_snapshot!(said.join("\n"), @r"
    it is empty
    merge is in act, and no path is safe; name the paths whose changes may merge
    merge is in act, and no check is required; name the checks that must succeed
    merge is in act, and nothing judges a change: name a verdict job, or set this to true
    .github/ changes how git or GitHub behaves, and is never safe
    ../x names no folder and is no glob
    [ is no glob
    * matches main or any branch; name a folder of branches
    * matches the base or any branch; name a folder of branches
    data is also data, which means something else
    the pass and the flag label are one
    an entry has at least one line
    ");
}

#[test]
fn why_nothing_starts_is_closed_or_goes_on() {
    let why = Why::new(Cause::GitFailed, "no bubblewrap");
    let keys = vec![EntryKey::new("works", "dune")];
    let ids = || strings(&["dune"]);
    let said = [
        say::not_now(&NotNow::NoBoundary(why.clone())),
        say::not_now(&NotNow::Priority),
        say::not_now(&NotNow::PriorityUnread(why.clone())),
        say::not_now(&NotNow::Lock),
        say::not_now(&NotNow::Memory { available: 100, needed: 3072 }),
        say::not_now(&NotNow::MemoryUnread(why)),
        say::not_now(&NotNow::DayCap { cap: 24 }),
        say::not_now(&NotNow::Limited { until: now() }),
        say::not_now(&NotNow::Parked { items: 4 }),
        say::not_proven(&NotProven::NoClaim),
        say::not_proven(&NotProven::Missing { ids: ids() }),
        say::not_proven(&NotProven::QuotedOnly { ids: ids() }),
        say::not_proven(&NotProven::NoReason),
        say::not_proven(&NotProven::Contradicted { ids: ids() }),
        say::not_proven(&NotProven::Questions { number: 2 }),
        say::not_proven(&NotProven::AskedBefore),
        say::not_proven(&NotProven::Unread),
        say::stopped(&Stop::OriginalEnded),
        say::stopped(&Stop::Refused),
        say::stopped(&Stop::Reverted),
        say::stopped(&Stop::Differs { entries: keys.clone() }),
        say::stopped(&Stop::Lost { entries: keys }),
    ];
    insta::assert_snapshot!(said.join("\n"), @r"
    there is no boundary for agents: no bubblewrap
    the automation that comes first is busy
    whether the automation that comes first is busy is not known: no bubblewrap
    another heavy tool runs
    100 MB of memory are available, 3072 are needed
    how much memory is available is not known: no bubblewrap; `minAvailableMb: 0` does not ask
    24 agent runs were started today
    a limit of the provider holds until 2026-11-30 12:00 UTC
    4 items wait on faults of the configuration; mend those first
    it says the entry is there and names none
    not in the tree: dune
    named in a quote of the issue only: dune
    it declines and gives no reason
    the tree says otherwise of dune
    it asks 2 questions, and one is to be asked
    it asks what was asked before
    the tree could not be read
    the original was closed or merged meanwhile
    a person closed the superseding pull request
    what was merged is not on the base any more
    on the base these are not as merged: works dune
    these of the original were lost: works dune
    ");
}
