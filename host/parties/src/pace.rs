//! How often a party may speak: so often for each call of a stream, and so often by itself, whatever streams it opens. Start at
//! [`Pace::speak`] and [`Paces::for_peer`].

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use nodesift_api::limits::PARTY_STREAMS;
use nodesift_negotiation::Owner;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::limits::{PARTY_MESSAGES, PARTY_MESSAGES_PER_CALL, PARTY_MESSAGES_PER_SECOND};

/// Messages by which a party may answer the calls that it was sent; clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Called(Arc<AtomicU32>);

/// Rate limiter of the messages of a party on a stream.
#[derive(Debug)]
pub(super) struct Pace {
    called: Called,
    rest: Rest,
}

/// Messages that no call asked for; clones share them.
#[derive(Debug, Clone)]
struct Rest(Arc<Mutex<Left>>);

#[derive(Debug)]
struct Left {
    messages: u32,
    /// When these were last increased.
    since: Instant,
}

/// Rate limiters by party and by owner of the stream: a peer that attends again goes on where it was.
#[derive(Debug, Default)]
pub(super) struct Paces(Vec<(Arc<str>, Owner, Rest)>);

impl Called {
    /// The party is sent a call.
    pub(super) fn note(&self) {
        let more = |left: u32| Some(left.saturating_add(PARTY_MESSAGES_PER_CALL));
        // Only the number matters: nothing is published with it.
        let _changed = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
    }
}

impl Rest {
    fn whole() -> Self {
        Self(Arc::new(Mutex::new(Left { messages: PARTY_MESSAGES, since: Instant::now() })))
    }

    fn take(&self) -> bool {
        let mut left = self.0.lock();
        if left.messages == 0 {
            let more = earned(left.since);
            if more == 0 {
                return false;
            }
            *left = Left { messages: more, since: Instant::now() };
        }
        left.messages -= 1;
        true
    }

    /// Whether a new one would allow no more.
    fn is_whole(&self) -> bool {
        let left = self.0.lock();
        left.messages == PARTY_MESSAGES || earned(left.since) == PARTY_MESSAGES
    }
}

/// Messages that have become free since a time: no more than what may be sent at once.
fn earned(since: Instant) -> u32 {
    let more = since.elapsed().as_secs_f64() * f64::from(PARTY_MESSAGES_PER_SECOND);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and the limit")]
    let more = more.min(f64::from(PARTY_MESSAGES)) as u32;
    more
}

impl Paces {
    /// The pace of a stream of a party, by who is at its other end.
    pub(super) fn for_peer(&mut self, party: &Arc<str>, peer: Owner, called: Called) -> Pace {
        let known = self.0.iter().find(|(of, by, _)| of == party && *by == peer);
        if let Some((_, _, rest)) = known {
            return Pace { called, rest: rest.clone() };
        }
        self.0.retain(|(_, _, rest)| !rest.is_whole());
        // Each of these was used in the last seconds, and by another peer.
        if self.0.len() >= 2 * PARTY_STREAMS {
            self.0.remove(0);
        }
        let rest = Rest::whole();
        self.0.push((Arc::clone(party), peer, rest.clone()));
        Pace { called, rest }
    }
}

impl Pace {
    /// That of a stream of nobody yet.
    pub(super) fn new(called: Called) -> Self {
        Self { called, rest: Rest::whole() }
    }

    /// Counts a message; `answers` says that it is about a call. False where the party floods.
    pub(super) fn speak(&self, answers: bool) -> bool {
        let less = |left: u32| left.checked_sub(1);
        let is_called = answers && self.called.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok();
        is_called || self.rest.take()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_no_call_asked_for_is_limited_at_once_and_by_the_second() {
        let pace = Pace::new(Called::default());
        let all = |pace: &Pace| (0..).take_while(|_| pace.speak(false)).count();
        assert_eq!(all(&pace), PARTY_MESSAGES as usize);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(all(&pace), PARTY_MESSAGES_PER_SECOND as usize);
        tokio::time::advance(Duration::from_secs(3_600)).await;
        assert_eq!(all(&pace), PARTY_MESSAGES as usize);
    }

    #[tokio::test(start_paused = true)]
    async fn each_call_may_be_answered_in_parts() {
        let called = Called::default();
        let pace = Pace::new(called.clone());
        while pace.speak(false) {}
        called.note();
        assert!(!pace.speak(false), "what a call allows is for its answers");
        assert_eq!((0..).take_while(|_| pace.speak(true)).count(), PARTY_MESSAGES_PER_CALL as usize);
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_attends_again_goes_on_with_the_pace_that_it_had() {
        let mut paces = Paces::default();
        let all = |pace: &Pace| (0..).take_while(|_| pace.speak(false)).count();
        let peer = |identity: &str| Owner { identity: identity.into(), ..Owner::default() };
        let (a, b): (Arc<str>, Arc<str>) = ("a".into(), "b".into());
        assert_eq!(all(&paces.for_peer(&a, peer("uid:1"), Called::default())), PARTY_MESSAGES as usize);
        for _ in 0..100 {
            assert_eq!(all(&paces.for_peer(&a, peer("uid:1"), Called::default())), 0);
        }
        // Another party, and another peer of the same.
        assert_eq!(all(&paces.for_peer(&b, peer("uid:1"), Called::default())), PARTY_MESSAGES as usize);
        assert_eq!(all(&paces.for_peer(&a, peer("uid:2"), Called::default())), PARTY_MESSAGES as usize);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(all(&paces.for_peer(&a, peer("uid:1"), Called::default())), PARTY_MESSAGES_PER_SECOND as usize);
        // What has become whole again is not kept.
        tokio::time::advance(Duration::from_secs(3_600)).await;
        paces.for_peer(&a, peer("uid:3"), Called::default());
        assert_eq!(paces.0.len(), 1);
    }
}
