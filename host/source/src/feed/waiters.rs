//! Requests that wait for the next change of an object.

use rustc_hash::FxHashMap;
use tokio::sync::oneshot;

use crate::change::ObjectId;
use crate::limits::FEED_WAITERS;

/// Waiters by object, at most [`FEED_WAITERS`]. Waiters whose receiver was dropped are removed when the limit is reached.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    by_object: FxHashMap<ObjectId, Vec<oneshot::Sender<()>>>,
    count: usize,
}

impl Waiters {
    /// A receiver for the next change of an object; `None` at the limit.
    pub(super) fn register(&mut self, id: ObjectId) -> Option<oneshot::Receiver<()>> {
        if self.count >= FEED_WAITERS {
            self.remove_cancelled();
        }
        if self.count >= FEED_WAITERS {
            return None;
        }
        let (sender, receiver) = oneshot::channel();
        self.by_object.entry(id).or_default().push(sender);
        self.count += 1;
        Some(receiver)
    }

    /// Wakes those who wait for any of these objects.
    pub(super) fn wake(&mut self, changed: &[ObjectId]) {
        if self.by_object.is_empty() {
            return;
        }
        for id in changed {
            for waiter in self.by_object.remove(id).into_iter().flatten() {
                self.count -= 1;
                // The receiver may be gone.
                let _cancelled = waiter.send(());
            }
        }
    }

    fn remove_cancelled(&mut self) {
        self.by_object.retain(|_, waiters| {
            waiters.retain(|waiter| !waiter.is_closed());
            !waiters.is_empty()
        });
        self.count = self.by_object.values().map(Vec::len).sum();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use super::*;
    use nodesift_object::Kind;

    fn id(uid: usize) -> ObjectId {
        (Kind::Pod, Arc::from(format!("u{uid}")))
    }

    #[test]
    fn cancelled_waiters_make_room_for_others() {
        let mut waiters = Waiters::default();
        let mut held: Vec<_> = (0..FEED_WAITERS).map(|uid| waiters.register(id(uid)).unwrap()).collect();
        assert!(waiters.register(id(0)).is_none());
        held.pop();
        let mut receiver = waiters.register(id(0)).unwrap();
        waiters.wake(&[id(0)]);
        assert_eq!(receiver.try_recv(), Ok(()));
        assert_eq!(waiters.count, FEED_WAITERS - 2);
    }
}
