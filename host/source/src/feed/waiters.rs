//! Who asked to be told when an object changes.

use rustc_hash::FxHashMap;
use tokio::sync::oneshot;

use super::queue::ObjectId;
use crate::limits::FEED_WAITERS;

/// Waiters by object. Those who have given up are forgotten when others ask.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    by_object: FxHashMap<ObjectId, Vec<oneshot::Sender<()>>>,
    count: usize,
}

impl Waiters {
    /// A receiver for the next change of an object; none where too many wait already.
    pub(super) fn register(&mut self, id: ObjectId) -> Option<oneshot::Receiver<()>> {
        if self.count >= FEED_WAITERS {
            self.forget_closed();
        }
        if self.count >= FEED_WAITERS {
            return None;
        }
        let (sender, receiver) = oneshot::channel();
        self.by_object.entry(id).or_default().push(sender);
        self.count += 1;
        Some(receiver)
    }

    /// Tells those who wait for any of these objects.
    pub(super) fn tell(&mut self, changed: &[ObjectId]) {
        if self.by_object.is_empty() {
            return;
        }
        for id in changed {
            for waiter in self.by_object.remove(id).into_iter().flatten() {
                self.count -= 1;
                // Who has given up need not be told.
                let _gave_up = waiter.send(());
            }
        }
    }

    fn forget_closed(&mut self) {
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
    fn those_who_gave_up_make_room_for_others() {
        let mut waiters = Waiters::default();
        let mut held: Vec<_> = (0..FEED_WAITERS).map(|uid| waiters.register(id(uid)).unwrap()).collect();
        assert!(waiters.register(id(0)).is_none());
        held.pop();
        let mut receiver = waiters.register(id(0)).unwrap();
        waiters.tell(&[id(0)]);
        assert_eq!(receiver.try_recv(), Ok(()));
        assert_eq!(waiters.count, FEED_WAITERS - 2);
    }
}
