//! A gate before an exchange: it comes so far, waits, and goes on when the test lets it.

use tokio::sync::watch;

use crate::fault::Plan;

/// The test's side of a held exchange. It opens when it is dropped, so that a test that fails ends.
#[derive(Debug)]
pub struct Gate {
    reached: watch::Receiver<bool>,
    open: watch::Sender<bool>,
}

/// The double's side.
#[derive(Debug)]
pub(crate) struct Held {
    plan: Plan,
    reached: watch::Sender<bool>,
    open: watch::Receiver<bool>,
}

impl Gate {
    pub(crate) fn of(plan: Plan) -> (Self, Held) {
        let (reach, reached) = watch::channel(false);
        let (open, opened) = watch::channel(false);
        (Self { reached, open }, Held { plan, reached: reach, open: opened })
    }

    /// Waits until the exchange is there.
    pub async fn reached(&self) {
        let mut reached = self.reached.clone();
        reached.wait_for(|is_there| *is_there).await.expect("the double ended before the exchange came");
    }

    /// Lets it go on.
    pub fn opens(self) {
        self.open.send_replace(true);
    }
}

impl Held {
    /// Waits for the test; a gate that is gone is open.
    pub(crate) async fn pass(mut self) {
        self.reached.send_replace(true);
        let _gone = self.open.wait_for(|is_open| *is_open).await;
    }
}

/// Takes the gate planned for this exchange, if there is one.
pub(crate) fn take(held: &mut Vec<Held>, operation: &str, target: &str, page: u64) -> Option<Held> {
    let at = held.iter().position(|one| one.plan.meets(operation, target, page))?;
    let plan = &mut held[at].plan;
    if plan.skip > 0 {
        plan.skip -= 1;
        return None;
    }
    Some(held.remove(at))
}
