//! Laws that hold for every table and every history, however it came about.

use chrono::Duration;
use proptest::prelude::*;
use steward_rules::ids::ReviewId;
use steward_rules::reading::{Cause, Reading};
use steward_rules::review::gate::{
    GATES, GateId, GateResult, GateState, GateTable, cap, cap_so_far, lowered_by,
};
use steward_rules::review::lifecycle::{Breaker, EndReason, Ending, Trigger, next_slot};
use steward_rules::review::verdict::{StaleFacts, Verdict, clamp, finish, stale};
use steward_rules::wording;

use crate::world::*;

const STATES: [GateState; 4] = [PASS, FAIL, UNDECIDED, NOT_APPLICABLE];
const VERDICTS: [Verdict; 3] = [Verdict::Blocked, Verdict::Changes, Verdict::Accepted];

fn a_table() -> impl Strategy<Value = GateTable> {
    (prop::collection::vec(0_usize..4, 11), 0_usize..3).prop_map(|(states, own)| {
        let results = GateId::ALL
            .into_iter()
            .zip(states)
            .map(|(id, state)| GateResult {
                id,
                state: STATES[state],
                detail: String::new(),
                evidence: vec![],
            })
            .collect();
        let own_findings = vec![wording::finding::colliding_path("a", "A"); own / 2];
        GateTable { head: head(), at: now(), results, own_findings }
    })
}

fn with(table: &GateTable, gate: usize, state: GateState) -> GateTable {
    let mut table = table.clone();
    table.results[gate].state = state;
    table
}

#[test]
fn the_gates_are_the_ids_in_their_order_and_two_block() {
    assert_eq!(GATES.iter().map(|gate| gate.id).collect::<Vec<_>>(), GateId::ALL);
    for id in GateId::ALL {
        assert_eq!(GateId::parse(id.as_str()), Some(id));
        let blocks = matches!(id, GateId::NoSecrets | GateId::NotStacked);
        assert_eq!(id.cap(), if blocks { Verdict::Blocked } else { Verdict::Changes });
        assert_eq!(id.is_always_on(), blocks);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn adding_a_failure_never_raises_the_verdict(table in a_table(), gate in 0_usize..11) {
        let worse = with(&table, gate, FAIL);
        prop_assert!(cap_so_far(&worse) <= cap_so_far(&table));
        if let (Some(before), Some(after)) = (cap(&table), cap(&worse)) {
            for seat in VERDICTS {
                prop_assert!(clamp(seat, after) <= clamp(seat, before));
            }
        }
    }

    #[test]
    fn an_undecided_gate_always_holds(table in a_table(), gate in 0_usize..11) {
        prop_assert_eq!(cap(&with(&table, gate, UNDECIDED)), None);
    }

    #[test]
    fn a_gate_that_does_not_apply_lowers_as_little_as_one_that_passes(table in a_table(), gate in 0_usize..11) {
        prop_assert_eq!(cap(&with(&table, gate, PASS)), cap(&with(&table, gate, NOT_APPLICABLE)));
    }

    #[test]
    fn the_cap_is_the_least_of_what_the_failures_allow(table in a_table()) {
        let failed = |id: GateId| table.results.iter().any(|one| one.id == id && one.state == FAIL);
        let oracle = if failed(GateId::NoSecrets) || failed(GateId::NotStacked) {
            Verdict::Blocked
        } else if GateId::ALL.into_iter().any(failed) || !table.own_findings.is_empty() {
            Verdict::Changes
        } else {
            Verdict::Accepted
        };
        prop_assert_eq!(cap_so_far(&table), oracle);
    }

    #[test]
    fn whatever_lowers_is_named(table in a_table()) {
        for seat in VERDICTS {
            let end = finish(seat, cap_so_far(&table));
            let named = wording::review::lowered(seat, &table).is_some();
            prop_assert_eq!(end.lowered, named);
            for gate in lowered_by(seat, &table) {
                prop_assert!(gate.cap() < seat);
            }
        }
    }

    /// Staleness only grows: what is stale stays stale for the same reason, whatever happens after.
    #[test]
    fn staleness_is_monotone(history in prop::collection::vec((0_u64..3, 0_u32..3, any::<bool>(), -30_i64..60), 1..12)) {
        let reviewed = sha(1);
        let mut already = None;
        for (head, contract, is_newer, hours) in history {
            let head = match head {
                0 => Reading::unread(Cause::GitFailed, ""),
                head => Reading::known(Some(sha(head))),
            };
            let facts = StaleFacts {
                already,
                reviewed: &reviewed,
                head: &head,
                reviewed_contract: Some(1),
                contract: Some(contract),
                newer: is_newer.then_some(ReviewId(8)),
                held_since: Some(now()),
            };
            let after = stale(&facts, now() + Duration::hours(hours));
            if already.is_some() {
                prop_assert_eq!(after, already);
            }
            already = after;
        }
    }

    /// Held against an oracle that reads the endings backwards.
    #[test]
    fn the_breaker_counts_crashes_since_the_last_completed_one(endings in prop::collection::vec(0_usize..6, 0..20)) {
        let kinds = [
            Ending::Ended(EndReason::Crashed),
            Ending::Ended(EndReason::Timeout),
            Ending::Ended(EndReason::Budget),
            Ending::Ended(EndReason::Cancelled),
            Ending::Ended(EndReason::ScopeViolation),
            Ending::Completed(Trigger::Manual),
        ];
        let breaker = endings.iter().fold(Breaker::default(), |breaker, kind| breaker.after(kinds[*kind]));
        let since = endings.iter().rposition(|kind| *kind == 5).map_or(0, |at| at + 1);
        let oracle = endings[since..].iter().filter(|kind| **kind < 2).count();
        prop_assert_eq!(breaker.consecutive as usize, oracle);
        prop_assert_eq!(breaker.is_open(), oracle >= 3);
    }

    /// Starting whenever a slot is free never puts more than the cap into any hour.
    #[test]
    fn no_hour_holds_more_starts_than_the_cap(waits in prop::collection::vec(0_i64..40, 1..60), cap in 1_u32..8) {
        let (mut started, mut clock) = (Vec::new(), now());
        for wait in waits {
            clock += Duration::minutes(wait);
            if next_slot(&started, cap, clock).is_none() {
                started.push(clock);
            }
        }
        for at in &started {
            let within = started.iter().filter(|other| *other >= at && **other - *at < Duration::minutes(60)).count();
            prop_assert!(within <= cap as usize);
        }
    }
}
