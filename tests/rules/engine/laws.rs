//! Section 20: what holds for every history, however it came about. A history is drawn from a tape of
//! numbers, so that a failing one shrinks to a short tape.

use chrono::{DateTime, Duration, Utc};
use proptest::prelude::*;
use steward_rules::diff::{Kind, RepoPath};
use steward_rules::engine::facts::*;
use steward_rules::engine::hold::{Hold, Merging};
use steward_rules::engine::memory::{HeadSeen, Memory};
use steward_rules::engine::merge::assess;
use steward_rules::engine::policy::Policy;
use steward_rules::engine::why::why;
use steward_rules::ids::PullNumber;
use steward_rules::reading::Reading;
use steward_rules::review::facts::{CheckState, PullState};
use steward_rules::review::verdict::Verdict;

use super::oracle::may_merge;
use super::world::*;

/// Numbers that decide everything; past its end all of them are 0, which is the good choice.
struct Tape<'t> {
    numbers: &'t [u16],
    at: usize,
}

impl Tape<'_> {
    fn draw(&mut self, below: usize) -> usize {
        let number = self.numbers.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        usize::from(number) % below
    }

    /// True in one of so many draws.
    fn one_in(&mut self, n: usize) -> bool {
        self.draw(n) == n - 1
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.draw(list.len())]
    }
}

/// A history: what one tick saw, after re-runs, cancellations, skips, wrong apps and heads, cut pages.
#[derive(Debug)]
struct History {
    pr: PrObs,
    memory: Memory,
    policy: Policy,
}

impl History {
    fn merges(&self) -> bool {
        is_merge(&assess(&self.pr, &self.memory, &self.policy, now()))
    }
}

const WORDS: [&str; 16] = [
    "success",
    "success",
    "success",
    "success",
    "success",
    "success",
    "success",
    "success",
    "skipped",
    "neutral",
    "failure",
    "cancelled",
    "timed_out",
    "a word of tomorrow",
    "queued",
    "in_progress",
];

fn a_run(tape: &mut Tape<'_>, name: &str, id: u64) -> Run {
    let on = if tape.one_in(8) { old_head() } else { head() };
    let ended = 5 + tape.draw(40) as i64;
    let mut run = run_at(&on, name, 1 + tape.draw(3) as u32, tape.pick(&WORDS), ended);
    run.check.id = id;
    if tape.one_in(10) {
        run.check.app = "other-ci".to_owned();
    }
    if tape.one_in(12) {
        run.workflow = if tape.one_in(2) { None } else { Some("mine.yml".to_owned()) };
    }
    if tape.one_in(12) {
        run.check.started_at = None;
    }
    if tape.one_in(25) {
        run.ended_at = None;
    }
    if tape.one_in(12) {
        run.check.name = format!("{name}-extra");
    }
    run
}

fn checks(tape: &mut Tape<'_>, pr: &mut PrObs) {
    let mut id = 10;
    for name in ["check", "compose", "site", "lint"] {
        // Most names ran once and well, as in life: else nothing would ever merge.
        let is_wild = tape.one_in(4);
        for _ in 0..if is_wild { 1 + tape.draw(3) } else { 0 } {
            id += 1;
            pr.check_runs.items.push(a_run(tape, name, id));
        }
        if is_wild && tape.one_in(2) {
            pr.check_runs.items.retain(|run| run.check.id > 5 || run.check.name != name);
        }
    }
    if tape.one_in(2) {
        for _ in 0..1 + tape.draw(3) {
            id += 1;
            let run = a_run(tape, "verify", id);
            if tape.one_in(4) {
                pr.check_runs.items.push(run.clone());
            }
            pr.verdict_runs.items.push(run);
        }
    }
    for number in 0..tape.draw(5).saturating_sub(2) {
        let mut status = status(
            tape.pick(&["ci/x", "lint", "check"]),
            tape.pick(&["success", "success", "pending", "error"]),
        );
        status.id = number as u64;
        status.created_at = minutes_ago(tape.draw(20) as i64);
        pr.statuses.items.push(status);
    }
}

fn labels_and_people(tape: &mut Tape<'_>, pr: &mut PrObs) {
    if tape.one_in(6) {
        pr.labels = labels(tape.pick(&[
            &["ai-verified"][..],
            &["AI-Verified", "data"],
            &["ai-verified", "ai-flagged"],
            &["ai-flagged", "bot-intake"],
            &["data"],
            &["ai-verified", "wip"],
            &["ai-verified", "bot-sync"],
        ]));
    }
    if tape.one_in(6) {
        pr.labels_read_at = minutes_ago(tape.draw(40) as i64);
    }
    let actors = [account(41898282, "github-actions[bot]"), account(5, "ann"), account(6, "helper[bot]")];
    let events = (0..tape.draw(4).saturating_sub(1)).map(|_| Labelled {
        label: tape.pick(&["ai-verified", "data", "ai-flagged"]).to_owned(),
        actor: actors[tape.draw(3)].clone(),
        at: minutes_ago(tape.draw(40) as i64),
    });
    pr.labelled = Reading::known(events.collect());
    let people = [account(1, "ann"), account(2, "bob"), account(31, "contributor"), account(3, "r[bot]")];
    let states = [
        ReviewState::Approved,
        ReviewState::Commented,
        ReviewState::Approved,
        ReviewState::Dismissed,
        ReviewState::Pending,
        ReviewState::ChangesRequested,
    ];
    for number in 0..tape.draw(6).saturating_sub(2) {
        let by = people[tape.draw(4)].clone();
        let mut review = review(&by, tape.pick(&states), tape.draw(60) as i64);
        review.id = number as u64;
        if tape.one_in(6) {
            review.head = Some(old_head());
        }
        if tape.one_in(6) {
            review.can_write = if tape.one_in(2) { unread() } else { Reading::known(false) };
        }
        pr.reviews.items.push(review);
    }
    if !tape.one_in(4) {
        let verdict = tape.pick(&[Verdict::Accepted, Verdict::Accepted, Verdict::Changes]);
        let head = if tape.one_in(6) { old_head() } else { head() };
        pr.seat = Reading::known(Some(SeatReview { head, verdict, stale: tape.one_in(6) }));
    }
}

fn shape(tape: &mut Tape<'_>, pr: &mut PrObs) {
    if tape.one_in(10) {
        match tape.draw(14) {
            0 => pr.draft = true,
            1 => pr.state = PullState::Merged,
            2 => pr.head.repo = None,
            3 => pr.head.repo = Some(8),
            4 => pr.base.branch = "next".to_owned(),
            5 => pr.head.branch = "sync/x".to_owned(),
            6 => pr.entries = entries(101),
            7 => pr.entries = entries(100),
            8 => pr.links = Reading::known(vec![RepoPath::from("data/link")]),
            9 => pr.links = Reading::known(vec![RepoPath::from("tools/link")]),
            10 => pr.files.items.clear(),
            11 => pr.linked_issues.items[0].labels.push("data:import".to_owned()),
            12 => pr.linked_issues.items.clear(),
            _ => *pr = behind(pr.clone(), 2),
        }
    }
    for _ in 0..tape.draw(5).saturating_sub(2) {
        let path = tape.pick(&[
            "data/works/b.json",
            "data/x",
            "data/a/b/c",
            "data",
            "tools/x",
            "Data/x",
            "data/../x",
            "data/.gitmodules",
            "data/AGENTS.md",
        ]);
        let mut file = modified(if tape.one_in(3) { path } else { "data/works/b.json" });
        if tape.one_in(6) {
            file.old_path = Some(RepoPath::from(path));
        }
        if tape.one_in(8) {
            file.new_kind = Reading::known(tape.pick(&[
                Kind::File,
                Kind::Absent,
                Kind::Executable,
                Kind::Symlink,
                Kind::Submodule,
            ]));
        }
        if tape.one_in(20) {
            file.old_kind = unread();
        }
        pr.files.items.push(file);
    }
}

/// Takes away one part of the observation, as a failed or cut reading does.
fn cut(pr: &mut PrObs, part: usize, keep: usize) {
    fn first<T>(listing: &mut Listing<T>, keep: usize) {
        let length = listing.items.len();
        listing.items.truncate(if length == 0 { 0 } else { keep % (length + 1) });
        listing.complete = false;
    }
    match part {
        0 => first(&mut pr.files, keep),
        1 => first(&mut pr.check_runs, keep),
        2 => first(&mut pr.statuses, keep),
        3 => first(&mut pr.verdict_runs, keep),
        4 => first(&mut pr.reviews, keep),
        5 => first(&mut pr.linked_issues, keep),
        6 => pr.labels = unread(),
        7 => pr.compare = unread(),
        8 => pr.labelled = unread(),
        9 => pr.seat = unread(),
        10 => pr.entries = unread(),
        11 => pr.links = unread(),
        12 => pr.flag = unread(),
        13 => {
            for file in &mut pr.files.items {
                file.new_kind = unread();
            }
        }
        _ => {
            for review in &mut pr.reviews.items {
                review.can_write = unread();
            }
        }
    }
}
const PARTS: usize = 15;

fn history(numbers: &[u16]) -> History {
    let mut tape = Tape { numbers, at: 0 };
    let tape = &mut tape;
    let (mut pr, mut policy) = (ready(), policy());
    for (id, run) in pr.check_runs.items.iter_mut().enumerate() {
        run.check.id = 1 + id as u64;
    }
    // The list of all verdict runs shows the very run that the head lists.
    pr.verdict_runs.items[0].check.id = 4;
    checks(tape, &mut pr);
    labels_and_people(tape, &mut pr);
    shape(tape, &mut pr);
    if tape.one_in(12) {
        let (part, keep) = (tape.draw(PARTS), tape.draw(4));
        cut(&mut pr, part, keep);
    }
    let mut memory = seen_for(Duration::seconds(tape.pick(&[1800, 900, 120, 119, 0, -60])));
    if tape.one_in(12) {
        memory.head = tape.one_in(2).then(|| HeadSeen {
            sha: old_head(),
            first_seen_at: minutes_ago(30),
            last_seen_at: now(),
        });
    } else if tape.one_in(20)
        && let Some(seen) = &mut memory.head
    {
        seen.last_seen_at = now() + Duration::minutes(5);
    }
    if tape.one_in(8) {
        let since: DateTime<Utc> = minutes_ago(tape.draw(60) as i64);
        let hold = tape.one_in(2).then_some(Hold { pull: PullNumber(99), since });
        let running = tape.one_in(3).then_some(PullNumber(98));
        memory.merging = Merging { hold, running, merged_this_tick: tape.one_in(2) };
    }
    if tape.one_in(6) {
        memory.reruns.insert((head(), 100), minutes_ago(tape.draw(60) as i64));
    }
    if tape.one_in(3) {
        match tape.draw(9) {
            0 => policy.skippable = strings(&["site", "verify"]),
            1 => policy.skippable = strings(&["site"]),
            2 => policy.ignored_checks = strings(&["lint", "check", "ci/x"]),
            3 => policy.pending_status_blocks = false,
            4 => policy.require_up_to_date = false,
            5 => policy.required_approvals = 1,
            6 => policy.require_seat_accepted = true,
            7 => policy.verdict.as_mut().unwrap().human_label_counts = true,
            _ => {
                policy.verdict = None;
                policy.require_seat_accepted = !tape.one_in(4);
            }
        }
    }
    History { pr, memory, policy }
}

fn a_tape() -> impl Strategy<Value = Vec<u16>> {
    prop::collection::vec(any::<u16>(), 0..160)
}

/// The same lists in another order.
fn shuffled(pr: &PrObs, seed: u64) -> PrObs {
    fn shuffle<T>(items: &mut [T], seed: &mut u64) {
        for at in (1..items.len()).rev() {
            *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            items.swap(at, (*seed >> 33) as usize % (at + 1));
        }
    }
    let (mut pr, mut seed) = (pr.clone(), seed);
    shuffle(&mut pr.files.items, &mut seed);
    shuffle(&mut pr.check_runs.items, &mut seed);
    shuffle(&mut pr.verdict_runs.items, &mut seed);
    shuffle(&mut pr.statuses.items, &mut seed);
    shuffle(&mut pr.reviews.items, &mut seed);
    shuffle(&mut pr.linked_issues.items, &mut seed);
    for list in [&mut pr.labelled] {
        if let Reading::Known { value } = list {
            shuffle(value, &mut seed);
        }
    }
    if let Reading::Known { value } = &mut pr.labels {
        shuffle(value, &mut seed);
    }
    if let Reading::Known { value } = &mut pr.links {
        shuffle(value, &mut seed);
    }
    pr
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_history_merges_but_those_the_oracle_lets(numbers in a_tape()) {
        let history = history(&numbers);
        let lets = may_merge(&history.pr, &history.memory, &history.policy, now());
        prop_assert_eq!(history.merges(), lets, "{:?}", history);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_order_of_a_list_never_changes_a_decision(numbers in a_tape(), seed in any::<u64>()) {
        let history = history(&numbers);
        let other = shuffled(&history.pr, seed);
        let decide = |pr: &PrObs| assess(pr, &history.memory, &history.policy, now());
        prop_assert_eq!(decide(&history.pr), decide(&other));
    }

    #[test]
    fn taking_evidence_away_never_makes_a_merge(numbers in a_tape(), part in 0..PARTS, keep in 0_usize..4, which in 0_usize..6) {
        let history = history(&numbers);
        if history.merges() {
            return Ok(());
        }
        let mut less = history.pr.clone();
        cut(&mut less, part, keep);
        prop_assert!(!is_merge(&assess(&less, &history.memory, &history.policy, now())), "{} {:?}", part, history);
        // What speaks for it: a passing check with all its runs, the pass label, an approval, the seat, the memory.
        let (mut bare, mut memory) = (history.pr.clone(), history.memory.clone());
        match which {
            0 => {
                let is_check = |run: &Run| run.check.name == "site" && run.check.app == "github-actions";
                bare.check_runs.items.retain(|run| !is_check(run));
            }
            1 => bare.labels = bare.labels.map(|list| list.into_iter().filter(|one| !one.to_lowercase().ends_with("verified")).collect()),
            2 => bare.reviews.items.retain(|review| review.state != ReviewState::Approved || review.by.id != 1),
            3 => bare.seat = Reading::known(None),
            4 => memory.head = None,
            _ => bare.verdict_runs.items.retain(|run| run.head != head()),
        }
        // Without an approval, an older request of the same person stands again: still no merge.
        if which != 5 || bare.check_runs.items.iter().all(|run| run.check.name != "verify") {
            prop_assert!(!is_merge(&assess(&bare, &memory, &history.policy, now())), "{} {:?}", which, history);
        }
    }

    #[test]
    fn an_unknown_conclusion_never_counts_as_well(numbers in a_tape(), at in any::<prop::sample::Index>()) {
        let history = history(&numbers);
        let mut pr = history.pr.clone();
        let all = pr.check_runs.items.len() + pr.verdict_runs.items.len();
        if all == 0 {
            return Ok(());
        }
        let at = at.index(all);
        let runs = pr.check_runs.items.iter_mut().chain(&mut pr.verdict_runs.items);
        for run in runs.skip(at).take(1) {
            run.check.state = CheckState::Ended("a word of next year".to_owned());
        }
        let merges = is_merge(&assess(&pr, &history.memory, &history.policy, now()));
        prop_assert!(!merges || history.merges(), "{:?}", history);
        // Every run of a required name that is well, at once: nothing is well any more.
        for run in pr.check_runs.items.iter_mut().chain(&mut pr.verdict_runs.items) {
let was_well = |word: &str| matches!(word, "success" | "skipped" | "neutral");
            let is_well = matches!(&run.check.state, CheckState::Ended(word) if was_well(word));
            if run.check.name == "check" && is_well {
                run.check.state = CheckState::Ended("Success".to_owned());
            }
        }
        let merges = is_merge(&assess(&pr, &history.memory, &history.policy, now()));
        prop_assert!(!merges || !history.policy.required_checks.iter().any(|name| name == "check"));
    }

    #[test]
    fn why_begins_with_what_is_decided(numbers in a_tape()) {
        let history = history(&numbers);
        let decision = assess(&history.pr, &history.memory, &history.policy, now());
        let unmet = why(&history.pr, &history.memory, &history.policy, now());
        match unmet.first() {
            None => prop_assert!(is_merge(&decision)),
            Some(first) => {
                prop_assert_eq!(first.decision, decision.slug());
                prop_assert_eq!(&first.message, &decision.message());
            }
        }
    }
}

/// The laws say nothing about a generator that never merges, or always.
#[test]
fn the_histories_are_of_every_kind() {
    let mut seed = 7_u64;
    let mut counted = std::collections::BTreeMap::new();
    for _ in 0..3_000 {
        let numbers: Vec<u16> = (0..160)
            .map(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (seed >> 40) as u16
            })
            .collect();
        let history = history(&numbers);
        let decision = assess(&history.pr, &history.memory, &history.policy, now());
        *counted.entry(decision.slug()).or_insert(0) += 1;
    }
    assert!(counted["merge"] > 100 && counted["merge"] < 1_500, "{counted:?}");
    for kind in
        ["ignore", "list_only", "review_code", "wait", "rerun", "retry_verify", "fix", "gone", "config_fault"]
    {
        assert!(counted.get(kind).is_some_and(|times| *times > 5), "{kind}: {counted:?}");
    }
}
