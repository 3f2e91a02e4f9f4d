//! The feed with its thread: tests wait for conditions.

use std::sync::atomic::{AtomicBool, Ordering};

use nodesift_tests::timeout;

use super::*;
use crate::limits::YIELD_PERIOD;

/// Drops with a trace.
struct Guard(Arc<AtomicBool>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

async fn until(condition: impl Fn() -> bool) {
    let deadline = Instant::now() + timeout::limit();
    while !condition() {
        assert!(Instant::now() < deadline, "it never happened");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_guard_is_held_until_the_list_is_published_and_a_waiter_is_woken_for_its_object_only() {
    let target = Arc::<Mutex<Faulty>>::default();
    let feed = Feed::start_into(Arc::clone(&target), Metrics::default()).unwrap();
    let dropped = Arc::new(AtomicBool::new(false));
    feed.hold_until_synced(KIND, Box::new(Guard(Arc::clone(&dropped))));
    let b = feed.changed(KIND, "b");
    let a = feed.changed(KIND, "a");
    feed.deliver(vec![applied("a", 1)]);
    assert_eq!(a.await, Ok(()));
    assert!(target.lock().published > 0);
    assert!(!dropped.load(Ordering::SeqCst));
    feed.deliver(vec![list(&[("a", 1), ("b", 2)], 3)]);
    assert_eq!(b.await, Ok(()));
    until(|| dropped.load(Ordering::SeqCst)).await;
    let late = Arc::new(AtomicBool::new(false));
    feed.hold_until_synced(KIND, Box::new(Guard(Arc::clone(&late))));
    assert!(late.load(Ordering::SeqCst));
    let never = feed.changed(KIND, "never");
    drop(feed);
    assert_eq!(never.await, Err(WaitError));
}

#[tokio::test]
async fn the_thread_retries_by_itself_and_remarks_on_it_meanwhile() {
    let target = Arc::<Mutex<Faulty>>::default();
    target.lock().faults.insert(Arc::from("bad"), Fault::Panic);
    let feed = Feed::start_into(Arc::clone(&target), Metrics::default()).unwrap();
    feed.deliver(vec![applied("bad", 1)]);
    until(|| feed.remark().is_some()).await;
    assert_eq!(feed.remark().unwrap(), "1 object is retried: Namespace bad");
    let repaired = feed.changed(KIND, "bad");
    target.lock().faults.clear();
    assert_eq!(repaired.await, Ok(()));
    until(|| feed.remark().is_none()).await;
    assert_eq!(feed.backlog().objects, 0);
}

#[test]
fn no_other_holder_of_the_writer_sees_a_part_of_a_batch() {
    const OBJECTS: u32 = 2_000;
    let target = Arc::<Mutex<Faulty>>::default();
    let feed = Feed::start_into(Arc::clone(&target), Metrics::default()).unwrap();
    let mut held_back = target.lock();
    held_back.pace = Duration::from_micros(10);
    feed.deliver(vec![applied("first", 1)]);
    // The worker has taken the first change and waits for the target: what follows is one batch.
    while feed.shared.intake.lock().queue.depth() > 0 {
        thread::yield_now();
    }
    for version in 0..OBJECTS {
        feed.deliver(vec![applied(&format!("u{version}"), version + 2)]);
    }
    drop(held_back);
    let deadline = Instant::now() + timeout::limit();
    loop {
        assert!(Instant::now() < deadline, "it never ends");
        let found = target.lock().held.len();
        if found == 1 + OBJECTS as usize {
            break;
        }
        assert!(found <= 1, "{found} objects of a turn that has not ended");
    }
}

#[test]
fn a_guard_that_holds_the_last_feed_does_not_stop_its_thread_from_ending() {
    let target = Arc::<Mutex<Faulty>>::default();
    let feed = Feed::start_into(Arc::clone(&target), Metrics::default()).unwrap();
    let clone = feed.clone();
    feed.hold_until_synced(KIND, Box::new(clone));
    feed.deliver(vec![list(&[("a", 1)], 2)]);
    drop(feed);
    let deadline = Instant::now() + timeout::limit();
    while Arc::strong_count(&target) > 1 {
        assert!(Instant::now() < deadline, "the thread never ended");
        thread::yield_now();
    }
}

#[tokio::test]
async fn what_is_delivered_together_is_one_turn_and_counted_as_a_whole() {
    const OBJECTS: u32 = 2_000;
    let (target, metrics) = (Arc::<Mutex<Faulty>>::default(), Metrics::default());
    let feed = Feed::start_into(Arc::clone(&target), metrics.clone()).unwrap();
    let last = feed.changed(KIND, "last");
    let changes = (0..OBJECTS).map(|number| applied(&format!("u{number}"), number + 10));
    let again = [applied("u0", 5_000), applied("u1", 5_001), applied("u2", 1), applied("last", 5_002)];
    feed.deliver(changes.chain(again).collect());
    assert_eq!(last.await, Ok(()));
    assert_eq!((metrics.merged.get(), metrics.stale.get()), (2, 1));
    let target = target.lock();
    assert_eq!((target.held.len(), target.published), (1 + OBJECTS as usize, 1));
}

#[test]
fn a_long_turn_yields_the_core() {
    let mut bench = Bench::new();
    bench.target.lock().pace = YIELD_PERIOD / 5;
    bench.push((0..200).map(|number| applied(&format!("u{number}"), number + 2)));
    bench.turn();
    assert!(bench.applier.yields() > 0, "after forty periods of work");
}
