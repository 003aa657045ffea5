//! Section 4: the conditions of the gate in their order, but the labels.

use chrono::Duration;
use steward_rules::engine::classify::{Class, CodeReason};
use steward_rules::engine::decision::*;
use steward_rules::engine::facts::*;
use steward_rules::engine::hold::{Held, Hold, Merging};
use steward_rules::engine::memory::{HeadSeen, Memory};
use steward_rules::engine::merge::{assess, reread};
use steward_rules::engine::policy::{MergeMethod, Policy, PushPolicy, SweepBy};
use steward_rules::engine::supersede::Overtaken;
use steward_rules::ids::PullNumber;
use steward_rules::reading::Reading;
use steward_rules::review::facts::PullState;
use steward_rules::review::verdict::Verdict;

use super::world::*;

fn own() -> Place {
    Place::Own { branch: "intake/issue-9".to_owned() }
}

fn with(memory: &Memory, pr: &PrObs) -> Decision {
    assess(pr, memory, &policy(), now())
}

#[test]
fn what_is_ready_merges_at_its_head() {
    let Decision::Merge(ready) = decide(&ready()) else { panic!("it is ready") };
    assert_eq!((ready.sha(), ready.number()), (&head(), PullNumber(12)));
}

#[test]
fn what_ended_is_gone_whatever_else_it_is() {
    for (state, ended) in [(PullState::Merged, Ended::Merged), (PullState::Closed, Ended::Closed)] {
        let mut pr = ready();
        pr.state = state;
        pr.draft = true;
        assert_eq!(decide(&pr), Decision::Gone(ended));
    }
}

#[test]
fn one_that_was_made_for_another_goes_no_further_than_that() {
    let original = PullNumber(3);
    let by = |overtaken| Memory { overtaken: Some(overtaken), ..memory() };
    let mut red = ready();
    red.check_runs.items = vec![run("check", 1, "failure", 20)];
    for pr in [ready(), red] {
        let ended = by(Overtaken::Ended { original });
        assert_eq!(listed(&with(&ended, &pr)), Listed::Overtaken { original });
        for how in [Overtaken::Moved { original }, Overtaken::Unread { original }] {
            waits_for(&with(&by(how), &pr), WaitFor::Overtaken(how));
        }
    }
    let gone = PrObs { state: PullState::Merged, ..ready() };
    assert_eq!(with(&by(Overtaken::Ended { original }), &gone), Decision::Gone(Ended::Merged));
}

#[test]
fn a_part_that_was_not_read_whole_waits() {
    let cases: [(Missing, Spoil); 7] = [
        (Missing::CheckRuns, |pr| pr.check_runs.complete = false),
        (Missing::Statuses, |pr| pr.statuses.complete = false),
        (Missing::VerdictRuns, |pr| pr.verdict_runs.complete = false),
        (Missing::LabelEvents, |pr| pr.labelled = unread()),
        (Missing::Compare, |pr| pr.compare = unread()),
        (Missing::Reviews, |pr| pr.reviews.complete = false),
        (Missing::LinkedIssues, |pr| pr.linked_issues.complete = false),
    ];
    for (part, spoil) in cases {
        let mut pr = ready();
        spoil(&mut pr);
        waits_for(&decide(&pr), WaitFor::Incomplete(vec![part]));
        // Not even red checks lead to a step then.
        pr.check_runs.items = vec![run("check", 1, "failure", 20)];
        waits_for(&decide(&pr), WaitFor::Incomplete(vec![part]));
    }
    let mut pr = ready();
    pr.seat = unread();
    let seat = Policy { require_seat_accepted: true, ..policy() };
    waits_for(&assess(&pr, &memory(), &seat, now()), WaitFor::Incomplete(vec![Missing::SeatReview]));
    assert!(is_merge(&decide(&pr)), "the seat is not asked for");
    pr.check_runs.items = vec![run("check", 1, "failure", 20)];
    waits_for(&assess(&pr, &memory(), &seat, now()), WaitFor::Incomplete(vec![Missing::SeatReview]));
    // What only a verdict job needs is not needed without one.
    let accepted = SeatReview { head: head(), verdict: Verdict::Accepted, stale: false };
    let mut pr = PrObs { labelled: unread(), seat: Reading::known(Some(accepted)), ..ready() };
    pr.verdict_runs.complete = false;
    let seat_only = Policy { verdict: None, ..seat };
    assert!(is_merge(&assess(&pr, &memory(), &seat_only, now())));
}

#[test]
fn a_head_must_be_there_unchanged_for_two_minutes() {
    let stable = WaitFor::Stable { seconds: 120 };
    for (seconds, merges) in [(0, false), (119, false), (120, true), (121, true)] {
        let memory = seen_for(Duration::seconds(seconds));
        let decision = with(&memory, &ready());
        assert_eq!(is_merge(&decision), merges, "{seconds} s");
        if !merges {
            let at = now() - Duration::seconds(seconds) + Duration::seconds(120);
            assert_eq!(waits(&decision), (stable.clone(), Some(at)), "looked at again right then");
        }
    }
    let mut ahead = memory();
    ahead.head.as_mut().unwrap().first_seen_at = now() + Duration::minutes(9);
    let at = Some(now() + Duration::seconds(120));
    assert_eq!(waits(&with(&ahead, &ready())), (stable.clone(), at));
    let mut other = memory();
    other.head = Some(HeadSeen { sha: old_head(), ..other.head.unwrap() });
    waits_for(&with(&other, &ready()), stable.clone());
    waits_for(&with(&Memory::default(), &ready()), stable);
}

#[test]
fn a43_a_clock_that_went_back_restarts_the_two_minutes() {
    let mut memory = memory();
    let back = now() - Duration::hours(1);
    let decision = assess(&ready(), &memory, &policy(), back);
    assert_eq!(
        waits(&decision),
        (WaitFor::Stable { seconds: 120 }, Some(back + Duration::seconds(120))),
        "the head was first seen after this moment"
    );
    memory.observe(&head(), Some(false), back);
    assert_eq!(memory.head.as_ref().unwrap().first_seen_at, back);
    // First seen long before, and last seen ahead of the clock.
    let mut long = seen_for(Duration::hours(9));
    waits_for(&assess(&ready(), &long, &policy(), back), WaitFor::Stable { seconds: 120 });
    long.observe(&head(), Some(false), back);
    assert_eq!(long.head.as_ref().unwrap().first_seen_at, back);
    // The same head at a later tick keeps its time, another one does not.
    let later = back + Duration::minutes(5);
    long.observe(&head(), Some(false), later);
    assert_eq!(long.head.as_ref().unwrap().first_seen_at, back);
    long.observe(&old_head(), Some(false), later);
    assert_eq!(long.head.as_ref().unwrap().first_seen_at, later);
}

#[test]
fn since_when_a_head_is_behind_is_remembered_per_head() {
    let mut memory = Memory::default();
    let at = |minutes| now() + Duration::minutes(minutes);
    memory.observe(&head(), Some(true), at(0));
    memory.observe(&head(), None, at(1));
    memory.observe(&head(), Some(true), at(2));
    assert_eq!(memory.behind_since, Some(at(0)));
    memory.observe(&old_head(), Some(true), at(3));
    assert_eq!(memory.behind_since, Some(at(3)), "another head");
    memory.observe(&old_head(), Some(true), at(1));
    assert_eq!(memory.behind_since, Some(at(1)), "the clock went back");
    memory.observe(&old_head(), Some(false), at(4));
    assert_eq!(memory.behind_since, None);
}

#[test]
fn a1_a2_a_forced_head_with_the_old_label_waits() {
    let mut pr = with_verdict(&[run_at(&old_head(), "verify", 1, "success", 30)]);
    pr.check_runs = Listing::whole([]);
    waits_for(&with(&seen_for(Duration::minutes(1)), &pr), WaitFor::Stable { seconds: 120 });
    let names = strings(&["check", "compose", "site"]);
    waits_for(&with(&seen_for(Duration::minutes(6)), &pr), WaitFor::Absent { names });
    let mut green =
        with_verdict(&[run_at(&old_head(), "verify", 1, "success", 30), run("verify", 2, "queued", 1)]);
    waits_for(&decide(&green), WaitFor::VerdictRunning);
    green.verdict_runs.items.pop();
    waits_for(&decide(&green), WaitFor::VerdictAbsent);
}

#[test]
fn a9_red_and_behind_waits_for_the_sweep_or_is_rebased() {
    let red = behind(with_check(run("check", 1, "failure", 20)), 3);
    let mut memory = memory();
    memory.behind_since = Some(minutes_ago(29));
    let until = Some(now() + Duration::minutes(1));
    assert_eq!(waits(&with(&memory, &red)), (WaitFor::Sweep { behind_by: 3 }, until));
    memory.behind_since = Some(minutes_ago(30));
    assert_eq!(with(&memory, &red), Decision::Rebase(own()), "the sweep did not act");
    for unknown in [None, Some(now() + Duration::minutes(9))] {
        memory.behind_since = unknown;
        let until = Some(now() + Duration::minutes(30));
        assert_eq!(waits(&with(&memory, &red)), (WaitFor::Sweep { behind_by: 3 }, until));
    }
    // Without the sweep label nobody moves it.
    let mut alone = red.clone();
    alone.labels = labels(&["data", "ai-verified"]);
    assert_eq!(with(&memory, &alone), Decision::Rebase(own()));
    // Steward sweeps itself.
    let push = PushPolicy { sweep_by: SweepBy::Steward, ..policy().push };
    let own_sweep = Policy { push, ..policy() };
    assert_eq!(assess(&red, &memory, &own_sweep, now()), Decision::Rebase(own()));
    // Being behind means nothing where the policy does not mind.
    let mindless = Policy { require_up_to_date: false, ..policy() };
    assert_eq!(assess(&red, &memory, &mindless, now()), Decision::Rerun { run_ids: vec![100] });
}

#[test]
fn green_and_behind_waits_for_the_sweep_too() {
    let pr = behind(ready(), 1);
    waits_for(&decide(&pr), WaitFor::Sweep { behind_by: 1 });
    let mindless = Policy { require_up_to_date: false, ..policy() };
    assert!(is_merge(&assess(&pr, &memory(), &mindless, now())));
}

#[test]
fn a_branch_of_somebody_else_is_superseded() {
    let mut pr = behind(ready(), 1);
    pr.labels = labels(&["data", "ai-verified"]);
    pr.head.branch = "my-fix".to_owned();
    let place = Place::Supersede { branch: "steward/pr-12".to_owned() };
    assert_eq!(decide(&pr), Decision::Rebase(place));
    let push = PushPolicy { allowed: strings(&["intake/issue-*"]), ..policy().push };
    let narrow = Policy { push, ..policy() };
    assert_eq!(listed(&assess(&pr, &memory(), &narrow, now())), Listed::NoBranch);
    let bare = Policy { validate: None, ..policy() };
    assert_eq!(listed(&assess(&pr, &memory(), &bare, now())), Listed::NoValidator);
}

#[test]
fn three_rebases_without_a_merge_are_listed() {
    let mut memory = memory();
    memory.behind_since = Some(minutes_ago(40));
    for (times, is_listed) in [(2, false), (3, true)] {
        memory.rebases = times;
        let decision = with(&memory, &behind(ready(), 1));
        assert_eq!(matches!(decision, Decision::ListOnly(Listed::Rebased { .. })), is_listed);
    }
}

#[test]
fn a10_red_is_re_run_once_per_run_and_head_then_fixed() {
    let mut red = with_check(run("check", 1, "failure", 20));
    red.check_runs.items.retain(|run| run.check.name != "site");
    red.check_runs.items.push(run("site", 1, "timed_out", 20));
    assert_eq!(decide(&red), Decision::Rerun { run_ids: vec![100] }, "two red jobs of one run cost one");
    let mut memory = memory();
    memory.reruns.insert((head(), 100), minutes_ago(10));
    let names = strings(&["check", "site"]);
    waits_for(&with(&memory, &red), WaitFor::Rerun { names: names.clone() });
    memory.reruns.insert((head(), 100), minutes_ago(20));
    waits_for(&with(&memory, &red), WaitFor::Rerun { names: names.clone() });
    let what = Fix::Checks { names, run_ids: vec![100] };
    let fix = Decision::Fix { what, place: own() };
    let mut stale = red.clone();
    for run in &mut stale.check_runs.items {
        run.ended_at = Some(minutes_ago(40));
    }
    memory.reruns.insert((head(), 100), minutes_ago(29));
    assert_eq!(waits(&with(&memory, &stale)).1, Some(now() + Duration::minutes(1)));
    memory.reruns.insert((head(), 100), minutes_ago(30));
    assert_eq!(with(&memory, &stale), fix, "no result came of it");
    // Red again after the re-run.
    memory.reruns.insert((head(), 100), minutes_ago(25));
    assert_eq!(with(&memory, &red), fix);
    // A re-run at another head spends nothing here.
    memory.reruns.clear();
    memory.reruns.insert((old_head(), 100), minutes_ago(25));
    assert_eq!(with(&memory, &red), Decision::Rerun { run_ids: vec![100] });
    // Of two runs the one that was not re-run is.
    red.check_runs.items.push(Run { workflow_run: Some(101), ..run("compose", 2, "failure", 5) });
    memory.reruns.insert((head(), 100), minutes_ago(25));
    assert_eq!(with(&memory, &red), Decision::Rerun { run_ids: vec![101] });
    // Both are named in one order, whatever the checks are called.
    let mut two = with_check(Run { workflow_run: Some(105), ..run("check", 1, "failure", 20) });
    two.check_runs.items.retain(|run| run.check.name != "site");
    two.check_runs.items.push(run("site", 1, "failure", 20));
    assert_eq!(decide(&two), Decision::Rerun { run_ids: vec![100, 105] });
    for id in [100, 105] {
        memory.reruns.insert((head(), id), minutes_ago(25));
    }
    let what = Fix::Checks { names: strings(&["check", "site"]), run_ids: vec![100, 105] };
    assert_eq!(with(&memory, &two), Decision::Fix { what, place: own() });
}

#[test]
fn what_cannot_be_re_run_is_fixed_and_what_runs_on_is_waited_for() {
    let fixes = |red: &PrObs| matches!(decide(red), Decision::Fix { what: Fix::Checks { .. }, .. });
    assert!(fixes(&with_check(Run { workflow_run: None, ..run("check", 1, "failure", 20) })));
    let days = |n: i64| with_check(run("check", 1, "failure", n * 24 * 60 + 1));
    assert!(fixes(&days(30)));
    let month = with_check(run("check", 1, "failure", 30 * 24 * 60));
    assert_eq!(decide(&month), Decision::Rerun { run_ids: vec![100] });
    let mut going = with_check(run("check", 1, "failure", 20));
    going.check_runs.items.push(run("slow", 1, "in_progress", 1));
    waits_for(&decide(&going), WaitFor::WorkflowEnd { names: strings(&["check"]) });
    // What runs at another head, or in another workflow run, is not waited for.
    for other in [
        run_at(&old_head(), "slow", 1, "queued", 1),
        Run { workflow_run: Some(7), ..run("slow", 1, "queued", 1) },
    ] {
        let mut free = with_check(run("check", 1, "failure", 20));
        free.check_runs.items.push(other);
        assert_eq!(decide(&free), Decision::Rerun { run_ids: vec![100] });
    }
}

#[test]
fn a_fix_waits_for_its_next_attempt() {
    let mut memory = memory();
    memory.reruns.insert((head(), 100), minutes_ago(25));
    memory.attempts.spent = 2;
    memory.attempts.next_at = Some(now() + Duration::minutes(1));
    let red = with_check(run("check", 1, "failure", 20));
    let at = memory.attempts.next_at;
    let what = Some(Fix::Checks { names: strings(&["check"]), run_ids: vec![100] });
    assert_eq!(waits(&with(&memory, &red)), (WaitFor::Backoff { failures: 2, what }, at));
    memory.attempts.next_at = Some(now());
    assert!(matches!(with(&memory, &red), Decision::Fix { .. }));
}

#[test]
fn the_driver_rebases_whenever_the_base_moved_and_an_agent_in_its_turn() {
    let pr = behind(ready(), 1);
    let mut memory = memory();
    memory.behind_since = Some(minutes_ago(40));
    memory.attempts.spent = 1;
    memory.attempts.next_at = Some(now() + Duration::minutes(1));
    assert_eq!(with(&memory, &pr), Decision::Rebase(own()));
    for elsewhere in [(old_head(), pr.base.sha.clone()), (head(), sha(0x101))] {
        memory.refused_rebase = Some(elsewhere);
        assert_eq!(with(&memory, &pr), Decision::Rebase(own()));
    }
    memory.refused_rebase = Some((head(), pr.base.sha.clone()));
    let backoff = WaitFor::Backoff { failures: 1, what: None };
    assert_eq!(waits(&with(&memory, &pr)), (backoff, memory.attempts.next_at));
    memory.attempts.next_at = Some(now());
    assert_eq!(with(&memory, &pr), Decision::Rebase(own()));
}

#[test]
fn a_person_who_wants_changes_holds_it_until_they_say_otherwise() {
    let (ann, bob, bot) = (account(1, "ann"), account(2, "bob"), account(3, "robot[bot]"));
    let reviewed = |reviews: &[PersonReview]| {
        let mut pr = ready();
        pr.reviews = Listing::whole(reviews.iter().cloned());
        decide(&pr)
    };
    use ReviewState::*;
    let wants = WaitFor::ChangesRequested { by: strings(&["ann"]) };
    waits_for(&reviewed(&[review(&ann, ChangesRequested, 9)]), wants.clone());
    waits_for(&reviewed(&[review(&ann, ChangesRequested, 9), review(&ann, Commented, 5)]), wants.clone());
    waits_for(&reviewed(&[review(&ann, ChangesRequested, 5), review(&ann, Approved, 9)]), wants.clone());
    waits_for(&reviewed(&[review(&ann, ChangesRequested, 9), review(&bob, Approved, 5)]), wants.clone());
    let mut unsent = review(&ann, Approved, 1);
    unsent.state = Pending;
    waits_for(&reviewed(&[review(&ann, ChangesRequested, 9), unsent]), wants.clone());
    let mut same = review(&ann, Approved, 9);
    same.id = review(&ann, ChangesRequested, 9).id;
    waits_for(&reviewed(&[review(&ann, ChangesRequested, 9), same.clone()]), wants.clone());
    waits_for(&reviewed(&[same, review(&ann, ChangesRequested, 9)]), wants);
    // Of two at one time the later id is the newer.
    let at_once = |state, id| PersonReview { id, ..review(&ann, state, 9) };
    for order in [[2, 1], [1, 2]] {
        let two = [at_once(ChangesRequested, order[0]), at_once(Approved, order[1])];
        assert_eq!(is_merge(&reviewed(&two)), order[1] == 2);
        let turned = [two[1].clone(), two[0].clone()];
        assert_eq!(is_merge(&reviewed(&turned)), order[1] == 2);
    }
    for fine in [Approved, Dismissed] {
        assert!(is_merge(&reviewed(&[review(&ann, ChangesRequested, 9), review(&ann, fine, 5)])));
    }
    assert!(is_merge(&reviewed(&[review(&bot, ChangesRequested, 9)])), "a bot is no person");
}

#[test]
fn f14_what_is_not_submitted_is_not_said() {
    let mut pr = ready();
    let mut pending = review(&account(1, "owner"), ReviewState::Pending, 1);
    pending.at = None;
    pr.reviews = Listing::whole([pending]);
    assert!(is_merge(&decide(&pr)));
    let asking = Policy { required_approvals: 1, ..policy() };
    waits_for(&assess(&pr, &memory(), &asking, now()), WaitFor::Approvals { have: 0, need: 1 });
}

#[test]
fn approvals_count_for_this_head_by_others_who_may_write() {
    let asking = Policy { required_approvals: 2, ..policy() };
    let (ann, bob) = (account(1, "ann"), account(2, "bob"));
    let approve = |by: &Account| review(by, ReviewState::Approved, 5);
    let have = |reviews: Vec<PersonReview>| {
        let mut pr = ready();
        pr.reviews = Listing::whole(reviews);
        match assess(&pr, &memory(), &asking, now()) {
            Decision::Wait(Wait { reason: WaitFor::Approvals { have, need: 2 }, .. }) => have,
            other => {
                assert!(is_merge(&other), "{other:?}");
                2
            }
        }
    };
    assert_eq!(have(vec![approve(&ann), approve(&bob)]), 2);
    assert_eq!(have(vec![approve(&ann), approve(&ann)]), 1, "one person counts once");
    assert_eq!(have(vec![approve(&ann), approve(&account(31, "contributor"))]), 1, "not the author's");
    assert_eq!(have(vec![approve(&ann), PersonReview { head: Some(old_head()), ..approve(&bob) }]), 1);
    assert_eq!(have(vec![approve(&ann), PersonReview { head: None, ..approve(&bob) }]), 1);
    assert_eq!(
        have(vec![approve(&ann), PersonReview { can_write: Reading::known(false), ..approve(&bob) }]),
        1
    );
    // A right that was not read is no known lack where it could be what is missing.
    let unknown = |by: &Account| PersonReview { can_write: unread(), ..approve(by) };
    let eve = account(4, "eve");
    let waiting = |reviews: Vec<PersonReview>| {
        let pr = PrObs { reviews: Listing::whole(reviews), ..ready() };
        waits(&assess(&pr, &memory(), &asking, now())).0
    };
    let unread = WaitFor::Incomplete(vec![Missing::Reviews]);
    assert_eq!(waiting(vec![approve(&ann), unknown(&bob)]), unread);
    assert_eq!(waiting(vec![unknown(&ann), unknown(&bob), unknown(&eve)]), unread);
    assert_eq!(waiting(vec![unknown(&ann)]), WaitFor::Approvals { have: 0, need: 2 });
    let old = PersonReview { head: Some(old_head()), ..unknown(&bob) };
    assert_eq!(waiting(vec![approve(&ann), old]), WaitFor::Approvals { have: 1, need: 2 });
    assert_eq!(have(vec![approve(&ann), approve(&bob), unknown(&eve)]), 2);
    assert_eq!(have(vec![approve(&ann), approve(&account(3, "robot[bot]"))]), 1);
}

#[test]
fn without_a_verdict_job_the_seat_must_have_accepted_this_head() {
    let policy = Policy { verdict: None, require_seat_accepted: true, ..policy() };
    let seat = |head: &steward_rules::ids::Sha, verdict, stale| {
        let mut pr = ready();
        pr.labels = labels(&[]);
        pr.seat = Reading::known(Some(SeatReview { head: head.clone(), verdict, stale }));
        assess(&pr, &memory(), &policy, now())
    };
    assert!(is_merge(&seat(&head(), Verdict::Accepted, false)));
    waits_for(&seat(&head(), Verdict::Accepted, true), WaitFor::Seat(SeatGap::Stale));
    waits_for(&seat(&old_head(), Verdict::Accepted, false), WaitFor::Seat(SeatGap::OtherHead));
    for verdict in [Verdict::Changes, Verdict::Blocked] {
        waits_for(&seat(&head(), verdict, false), WaitFor::Seat(SeatGap::NotAccepted));
    }
    let mut pr = ready();
    waits_for(&assess(&pr, &memory(), &policy, now()), WaitFor::Seat(SeatGap::None));
    pr.seat = unread();
    waits_for(&assess(&pr, &memory(), &policy, now()), WaitFor::Incomplete(vec![Missing::SeatReview]));
    // With a verdict job it is one condition more, never instead of another.
    let both = Policy { require_seat_accepted: true, ..super::world::policy() };
    waits_for(&assess(&ready(), &memory(), &both, now()), WaitFor::Seat(SeatGap::None));
}

#[test]
fn a_policy_that_names_no_judge_or_no_check_merges_nothing() {
    let none = Policy { verdict: None, ..policy() };
    assert_eq!(assess(&ready(), &memory(), &none, now()), Decision::ConfigFault(Fault::NoJudge));
    let unchecked = Policy { required_checks: Vec::new(), ..policy() };
    let fault = Decision::ConfigFault(Fault::NoRequiredChecks);
    assert_eq!(assess(&ready(), &memory(), &unchecked, now()), fault);
    let mut code = ready();
    code.files = Listing::whole([modified("tools/x")]);
    assert_eq!(assess(&code, &memory(), &none, now()).slug(), "review_code");
}

#[test]
fn a24_nothing_merges_while_a_task_is_held_or_runs() {
    let other = PullNumber(99);
    let mut memory = memory();
    for (minutes, merges) in [(0, false), (29, false), (30, true)] {
        let hold = Hold { pull: other, since: minutes_ago(minutes) };
        memory.merging = Merging { hold: Some(hold), ..Merging::default() };
        let decision = with(&memory, &ready());
        assert_eq!(is_merge(&decision), merges, "{minutes} min");
        if !merges {
            let until = hold.since + Duration::minutes(30);
            assert_eq!(waits(&decision), (WaitFor::Held(Held::For { pull: other, until }), Some(until)));
        }
    }
    memory.merging = Merging { running: Some(other), ..Merging::default() };
    waits_for(&with(&memory, &ready()), WaitFor::Held(Held::Running { pull: other }));
    // In a tick that merged, a fix of a swept branch waits; one that nobody sweeps does not.
    memory.merging = Merging { merged_this_tick: true, ..Merging::default() };
    memory.reruns.insert((head(), 100), minutes_ago(25));
    let mut red = with_check(run("check", 1, "failure", 20));
    waits_for(&with(&memory, &red), WaitFor::NextTick);
    red.labels = labels(&["data", "ai-verified"]);
    assert!(matches!(with(&memory, &red), Decision::Fix { .. }));
    assert!(is_merge(&with(&memory, &ready())), "another ready one merges in the same tick");
}

#[test]
fn three_unprocessable_merges_are_listed() {
    let mut memory = memory();
    for (times, merges) in [(2, true), (3, false)] {
        memory.unprocessable = times;
        assert_eq!(is_merge(&with(&memory, &ready())), merges);
    }
}

#[test]
fn a13_the_second_reading_refuses_what_moved() {
    let later = now() + Duration::seconds(5);
    let judged = || match decide(&ready()) {
        Decision::Merge(judged) => judged,
        other => panic!("{other:?}"),
    };
    let fresh = || PrObs { read_at: later, ..ready() };
    let permit = reread(judged(), &fresh(), &memory(), &policy(), later).unwrap();
    assert_eq!((permit.sha(), permit.number()), (&head(), PullNumber(12)));
    assert_eq!((permit.repo().to_string().as_str(), permit.method()), ("octo/catalogue", MergeMethod::Merge));

    let mut script = fresh();
    script.files.items.push(modified("tools/run.sh"));
    let refused = reread(judged(), &script, &memory(), &policy(), later).unwrap_err();
    assert_eq!(refused, Decision::ReviewCode { head: head() });
    assert!(matches!(
        steward_rules::engine::classify::classify(&script, &policy()),
        Class::Code(CodeReason::Path { .. })
    ));
    let mut moved = fresh();
    moved.head.sha = old_head();
    assert_eq!(reread(judged(), &moved, &memory(), &policy(), later).unwrap_err().slug(), "wait");
    // Another head that is ready, too.
    for run in moved.check_runs.items.iter_mut().chain(&mut moved.verdict_runs.items) {
        run.head = old_head();
    }
    let mut seen = memory();
    seen.head.as_mut().unwrap().sha = old_head();
    assert!(is_merge(&assess(&moved, &seen, &policy(), later)));
    assert!(reread(judged(), &moved, &seen, &policy(), later).is_err());
    // The same head of another pull request, or another repository.
    let other = PrObs { number: PullNumber(13), ..fresh() };
    assert!(reread(judged(), &other, &memory(), &policy(), later).is_err());
    let mut elsewhere = fresh();
    elsewhere.base.name = steward_rules::ids::RepoName::parse("octo/other").unwrap();
    assert!(reread(judged(), &elsewhere, &memory(), &policy(), later).is_err());
    // The first reading again, one of the future, and one of long ago.
    assert!(reread(judged(), &ready(), &memory(), &policy(), now()).is_err());
    assert!(reread(judged(), &fresh(), &memory(), &policy(), now()).is_err());
    let minute = later + Duration::seconds(60);
    let mut known = memory();
    known.head.as_mut().unwrap().last_seen_at = now();
    assert!(reread(judged(), &fresh(), &known, &policy(), minute).is_ok());
    assert!(reread(judged(), &fresh(), &known, &policy(), minute + Duration::seconds(1)).is_err());
}
