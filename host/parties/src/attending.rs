//! Open streams of parties, and which of those that have said something is heard next. Start at [`Attending`].

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::ops::Bound;
use std::sync::Arc;
use std::task::Poll;

use nodesift_api::access::Caller;
use nodesift_api::parties::Outbox;
use nodesift_negotiation::Event;
use tokio::sync::mpsc;

use crate::pace::Called;

/// An open stream of a party (`Attend`).
pub(crate) struct Attending {
    pub(crate) session: u64,
    /// Connection at the other end of the stream.
    pub(crate) peer: Caller,
    pub(crate) calls: Outbox,
    pub(crate) called: Called,
    /// Messages of the party that wait for the broker.
    pub(crate) heard: mpsc::Receiver<Event>,
}

/// Next message of a party, of those with messages in turn. Streams that have ended are not waited for.
pub(crate) fn next_heard<'a>(
    attending: &'a mut BTreeMap<Arc<str>, Attending>,
    last: &'a mut Option<Arc<str>>,
) -> impl Future<Output = Event> + use<'a> {
    poll_fn(move |context| {
        let after = last.clone().map_or(Bound::Unbounded, Bound::Excluded);
        for range in [(after, Bound::Unbounded), (Bound::Unbounded, Bound::Unbounded)] {
            for (party, attending) in attending.range_mut::<Arc<str>, _>(range) {
                if let Poll::Ready(Some(event)) = attending.heard.poll_recv(context) {
                    *last = Some(Arc::clone(party));
                    return Poll::Ready(event);
                }
            }
        }
        Poll::Pending
    })
}

#[cfg(test)]
#[allow(clippy::panic, reason = "tests")]
mod tests {
    use super::*;

    #[tokio::test]
    async fn parties_with_messages_take_turns() {
        let mut attending = BTreeMap::new();
        for name in ["a", "b", "c"] {
            let (say, heard) = mpsc::channel(3);
            for session in 0..3 {
                assert!(say.try_send(Event::Left { party: Arc::from(name), session }).is_ok());
            }
            let calls = Outbox::closed();
            let of = Attending { session: 0, peer: Caller::ANONYMOUS, calls, called: Called::default(), heard };
            attending.insert(Arc::from(name), of);
        }
        let (mut last, mut order) = (None, String::new());
        for _ in 0..9 {
            match next_heard(&mut attending, &mut last).await {
                Event::Left { party, .. } => order.push_str(&party),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(order, "abcabcabc");
    }
}
