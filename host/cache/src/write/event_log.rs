//! The last events of all nodes, in order, for any number of readers. A reader that is too slow learns how many it has lost; one that comes
//! later may begin with events that are still kept. Start at [`EventLog::follow`].

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;

use super::events::Event;
use crate::columns::Generation;
use crate::limits::{EVENTS, EVENTS_BYTES, EVENTS_READ};

/// The writer's side: events in, in the order of their generations.
#[derive(Debug)]
pub(super) struct EventLog {
    ring: Arc<Mutex<Ring>>,
    /// Wakes readers; closed once the writer is gone.
    published: watch::Sender<()>,
}

/// Events that are kept, and how many there were before them.
#[derive(Debug, Default)]
struct Ring {
    events: VecDeque<Arc<Event>>,
    /// Sum of the bytes that the events count for.
    bytes: usize,
    /// Number of the first event that is kept; the first of all is 0.
    first: u64,
    /// After this generation every event is kept.
    complete_since: Generation,
}

/// Number of events that a reader has lost, because it was too slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LostEvents(pub u64);

/// Reads events in their order.
#[derive(Debug)]
pub struct EventReader {
    ring: Arc<Mutex<Ring>>,
    /// Number of the next event to be read.
    next: u64,
    published: watch::Receiver<()>,
}

impl Default for EventLog {
    fn default() -> Self {
        Self { ring: Arc::default(), published: watch::Sender::new(()) }
    }
}

impl EventLog {
    /// Keeps events of one publication. `dropped` is how many there were before these that nobody has kept.
    pub(super) fn publish(&self, generation: Generation, dropped: u64, events: Vec<Arc<Event>>) {
        let mut ring = self.ring.lock();
        if dropped > 0 {
            while ring.drop_oldest() {}
            ring.first += dropped;
            ring.complete_since = generation;
        }
        for event in events {
            ring.bytes += event.bytes();
            ring.events.push_back(event);
            while (ring.events.len() > EVENTS || ring.bytes > EVENTS_BYTES) && ring.drop_oldest() {}
        }
        drop(ring);
        self.published.send_replace(());
    }

    /// A reader of what is published after `since`, or from `now` on, and the generation after which it gets every event: `since`, unless
    /// some after that are not kept any more, or the cache has not come as far.
    pub(super) fn follow(&self, since: Option<Generation>, now: Generation) -> (Generation, EventReader) {
        // Before the ring is read, so that what comes after that wakes the reader.
        let published = self.published.subscribe();
        let ring = self.ring.lock();
        let start = since.map_or(now, |since| since.max(ring.complete_since).min(now));
        let earlier = ring.events.partition_point(|event| event.generation() <= start);
        let next = ring.first + earlier as u64;
        (start, EventReader { ring: Arc::clone(&self.ring), next, published })
    }

    /// Bytes of the events that are kept, at most.
    pub(super) fn bytes(&self) -> usize {
        self.ring.lock().bytes
    }
}

impl Ring {
    /// Drops the oldest event; false where there is none.
    fn drop_oldest(&mut self) -> bool {
        let Some(oldest) = self.events.pop_front() else { return false };
        self.bytes = self.bytes.saturating_sub(oldest.bytes());
        self.first += 1;
        self.complete_since = oldest.generation();
        true
    }
}

impl EventReader {
    /// Takes the next events, [`EVENTS_READ`] at most; none where nothing more has happened yet.
    ///
    /// # Errors
    ///
    /// [`LostEvents`] where events are not kept any more that were not read. The next call goes on after them.
    pub fn read(&mut self) -> Result<Vec<Arc<Event>>, LostEvents> {
        let ring = self.ring.lock();
        if let Some(lost) = ring.first.checked_sub(self.next).filter(|lost| *lost > 0) {
            self.next = ring.first;
            return Err(LostEvents(lost));
        }
        let at = usize::try_from(self.next - ring.first).unwrap_or(usize::MAX).min(ring.events.len());
        let events: Vec<_> = ring.events.range(at..).take(EVENTS_READ).cloned().collect();
        self.next += events.len() as u64;
        Ok(events)
    }

    /// Waits until something has happened since the last wait; false once nothing will, because the cache is gone.
    pub async fn wait(&mut self) -> bool {
        self.published.changed().await.is_ok()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::write::events::{AllocationChange, AllocationEvent};
    use crate::write::model::{random_pod, text};

    #[test]
    fn readers_get_every_event_that_is_kept_and_the_number_of_the_others() {
        let seed = nodesift_seed::seed();
        let mut random = fastrand::Rng::with_seed(seed);
        let log = EventLog::default();
        let pod = random_pod(&mut random, "p", Some(text("n")));
        let event = |generation: u64| {
            let event = AllocationEvent::new(AllocationChange::Added, &pod, false, Vec::new());
            Arc::new(Event::Allocation(AllocationEvent { generation: Generation(generation), ..event }))
        };
        // All that ever happened, by generation; and each reader with how many of these it has read or lost.
        let (mut all, mut now) = (Vec::<u64>::new(), 1);
        let mut readers: Vec<(EventReader, usize)> = vec![(log.follow(None, Generation(now)).1, 0)];
        let (mut lost_some, mut began_early) = (0, 0);
        for _ in 0..400 {
            now += random.u64(1..4);
            let count = random.usize(0..EVENTS / 20);
            let dropped = if random.u8(0..60) == 0 { random.u64(1..9) } else { 0 };
            all.extend((0..dropped).map(|_| now).chain((0..count).map(|_| now)));
            log.publish(Generation(now), dropped, (0..count).map(|_| event(now)).collect());
            if random.u8(0..8) == 0 {
                let since = random.u64(0..now + 3);
                let (start, reader) = log.follow(Some(Generation(since)), Generation(now));
                assert!(start.0 <= now && start.0 >= since.min(now), "seed {seed}: {start:?} for {since} at {now}");
                let read = all.iter().filter(|generation| **generation <= start.0).count();
                began_early += usize::from(read < all.len());
                readers.push((reader, read));
            }
            for (reader, read) in &mut readers {
                while random.u8(0..4) > 0 {
                    match reader.read() {
                        Ok(events) if events.is_empty() => {
                            assert_eq!(*read, all.len(), "seed {seed}");
                            break;
                        }
                        Ok(events) => {
                            let found: Vec<u64> = events.iter().map(|event| event.generation().0).collect();
                            assert_eq!(found, all[*read..*read + found.len()], "seed {seed}");
                            *read += found.len();
                        }
                        Err(LostEvents(lost)) => {
                            *read += usize::try_from(lost).unwrap();
                            lost_some += 1;
                        }
                    }
                }
            }
        }
        assert!(lost_some > 3 && began_early > 3, "seed {seed}: {lost_some} {began_early}");
        let ring = log.ring.lock();
        let bytes: usize = ring.events.iter().map(|event| event.bytes()).sum();
        assert_eq!(
            (ring.bytes, usize::try_from(ring.first).unwrap() + ring.events.len()),
            (bytes, all.len()),
            "seed {seed}"
        );
        assert!(ring.events.len() <= EVENTS && bytes <= EVENTS_BYTES, "seed {seed}");
    }
}
