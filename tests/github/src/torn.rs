//! A body of which only the first half arrives.

use std::pin::Pin;
use std::task::{Context, Poll};

use crate::wire::Ended;

pub(crate) struct Torn {
    half: Option<Vec<u8>>,
    /// The half must be on the wire before the connection ends.
    waited: bool,
}

impl Torn {
    pub(crate) fn half_of(mut body: Vec<u8>) -> Self {
        body.truncate(body.len() / 2);
        Self { half: Some(body), waited: false }
    }
}

impl futures_core::Stream for Torn {
    type Item = Result<Vec<u8>, Ended>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(half) = self.half.take() {
            return Poll::Ready(Some(Ok(half)));
        }
        if !self.waited {
            self.waited = true;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Some(Err(Ended)))
    }
}
