//! Fault 9: two runtimes of one account, on two machines, in every order of their steps.

use super::*;

/// A generator that makes the same order from the same seed.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// One runtime on its way, and whether it has come to rest.
struct Hand<'o> {
    office: &'o Office,
    id: i64,
    sending: Sending,
    rests: bool,
}

impl<'o> Hand<'o> {
    fn new(office: &'o Office, id: i64) -> Self {
        Self { office, id, sending: Sending::new(id), rests: false }
    }

    async fn step(&mut self) {
        if self.rests {
            // Its time has come, or something has woken it.
            let row = self.office.get(self.id).await;
            if row.state.is_final() {
                return;
            }
            if let Some(at) = row.retry_at {
                let left = at - steward_core::clock::Clock::now(&*self.office.hand);
                self.office.hand.pass(left.max(chrono::Duration::zero()));
            }
            self.rests = false;
        }
        self.rests = self.sending.step(&self.office.ctx).await.unwrap() == Progress::Rests;
    }

    /// As `kill -9` would: what is in memory is gone, the row stays.
    fn die(&mut self) {
        self.sending = Sending::new(self.id);
        self.rests = false;
    }
}

#[tokio::test]
async fn fault_09_two_runtimes_in_any_order_of_their_steps_leave_one_comment() {
    const ORDERS: u64 = 200;
    let world = world();
    let pulls = world.repo("octo/app").open_pulls("maria", ORDERS);
    let (left, right) = (Office::new(&world, ACT).await, Office::new(&world, ACT).await);
    let (mut both_posted, mut deaths) = (0, 0);
    for (seed, pull) in pulls.iter().enumerate() {
        let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ (seed as u64 + 1).wrapping_mul(0x2545_f491_4f6c_dd1d));
        let (number, head) = (pull.number(), pull.head());
        let mut ids = Vec::new();
        for office in [&left, &right] {
            office.review_of(number, &head, "Well done.").await;
            ids.push(office.rows().await[0].id);
        }
        world.mark();
        let mut hands = [Hand::new(&left, ids[0]), Hand::new(&right, ids[1])];
        for _ in 0..24 {
            let which = dice.throw(2) as usize;
            if dice.throw(12) == 0 {
                hands[which].die();
                deaths += 1;
            }
            hands[which].step().await;
        }
        for hand in &mut hands {
            hand.die();
            left_to_itself(hand).await;
        }
        // One more look of both, as after a restart, changes nothing.
        let there = own(&world, number);
        assert_eq!(there.len(), 1, "order {seed}");
        for (office, id) in [(&left, ids[0]), (&right, ids[1])] {
            let row = office.get(id).await;
            assert_eq!(
                (row.state, row.posted),
                (State::Done, Some(there[0] as i64)),
                "order {seed}: {row:?}"
            );
        }
        if world.tally().by_operation.get(POST).copied().unwrap_or(0) > 1 {
            both_posted += 1;
        }
    }
    assert!(both_posted > 5 && deaths > 100, "the orders meet: {both_posted} doubled, {deaths} deaths");
    left.trail().await;
    right.trail().await;
    world.assert_contract();
}

async fn left_to_itself(hand: &mut Hand<'_>) {
    for _ in 0..80 {
        if hand.rests && hand.office.get(hand.id).await.state.is_final() {
            return;
        }
        hand.step().await;
    }
    panic!("it does not come to an end: {:?}", hand.office.get(hand.id).await);
}

#[tokio::test]
async fn what_another_runtime_said_is_not_said_again() {
    let world = world();
    let (left, right) = (Office::new(&world, ACT).await, Office::new(&world, SUGGEST).await);
    left.review(&world).await;
    right.review(&world).await;
    assert_eq!(left.carry(left.row().await.id).await.state, State::Done);
    // The person says yes on the other machine, where nothing is known of the first.
    let id = right.row().await.id;
    right.approve(id).await;
    let row = right.carry(id).await;
    assert_eq!((row.state, row.attempt), (State::Done, 0));
    assert_eq!((own(&world, 1), posts(&world)), (vec![row.posted.unwrap() as u64], 1));
    assert_eq!(right.trail().await, ["suggested", "approved", "done"]);
}

#[tokio::test]
async fn a_stranger_who_copies_the_marker_neither_speaks_for_us_nor_keeps_us_silent() {
    let world = world();
    let office = Office::new(&world, ACT).await;
    office.review(&world).await;
    let row = office.row().await;
    let pull = world.repo("octo/app").pull(1);
    pull.comment("mallory", &row.content);
    pull.comment("octo", &format!("> quoted\n\n{}", row.content));
    assert_eq!(office.carry(row.id).await.state, State::Done);
    assert_eq!((own(&world, 1).len(), pull.comments().len()), (1, 3), "nobody else's comment is touched");
}
