//! What the feed promises: order, merging, retries that hold nobody up, readiness, waiters. The clock is handed in where
//! time matters; where a thread is involved, tests wait for what they want to see.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nodesift_tests::patience;

use super::apply::Apply;
use super::queue::{ObjectId, Step};
use super::*;
use crate::metadata::{Ownership, PodFacts, PodRecord};
use crate::source::change::Record;

/// What the feed writes to, with faults on demand: the edge that stands for the cache.
#[derive(Default)]
struct Faulty {
    held: BTreeMap<ObjectId, Arc<str>>,
    /// How an object fails, as long as it is in here.
    faults: BTreeMap<Arc<str>, Fault>,
    /// What was tried, in order.
    tried: Vec<String>,
    /// Which versions were said to have been seen, each with what had been tried last.
    observed: Vec<(String, String)>,
    published: usize,
    publish_panics: bool,
    again: usize,
    /// How long one object takes.
    pace: Duration,
}

#[derive(Clone, Copy)]
enum Fault {
    Error,
    Panic,
    /// A panic after the object is held.
    PanicHalfway,
}

impl Faulty {
    fn trip(&mut self, uid: &str) -> Result<(), ApplyError> {
        let began = Instant::now();
        while began.elapsed() < self.pace {}
        self.tried.push(uid.to_owned());
        match self.faults.get(uid) {
            None => Ok(()),
            Some(Fault::Error) => Err(ApplyError::NoNamespace { key: uid.to_owned() }),
            Some(Fault::Panic) => panic!("on purpose"),
            // Not yet.
            Some(Fault::PanicHalfway) => Ok(()),
        }
    }
}

impl Apply for Faulty {
    fn apply(&mut self, object: &Compiled) -> Result<(), ApplyError> {
        let Identity { kind, uid, version, .. } = &object.identity;
        self.trip(uid)?;
        self.held.insert((*kind, Arc::clone(uid)), Arc::clone(version));
        assert!(!matches!(self.faults.get(uid), Some(Fault::PanicHalfway)), "on purpose");
        Ok(())
    }

    fn remove(&mut self, gone: &Identity) -> Result<(), ApplyError> {
        self.trip(&gone.uid)?;
        self.held.remove(&(gone.kind, Arc::clone(&gone.uid)));
        Ok(())
    }

    fn again(&mut self, _: Kind, uid: &str) -> Result<(), ApplyError> {
        self.again += 1;
        self.trip(uid)
    }

    fn pod(&self, uid: &str, _: &str) -> Option<Arc<PodRecord>> {
        let version = self.held.get(&(Kind::Pod, Arc::from(uid)))?;
        Some(Arc::new(record(uid, version)))
    }

    fn pods(&self) -> Vec<Arc<PodRecord>> {
        Vec::new()
    }

    fn pod_count(&self) -> usize {
        0
    }

    fn observe(&mut self, _: Kind, version: &Arc<str>) {
        self.observed.push((self.tried.last().cloned().unwrap_or_default(), version.to_string()));
    }

    fn publish(&mut self) {
        self.published += 1;
        assert!(!self.publish_panics, "on purpose");
    }
}

const KIND: Kind = Kind::Namespace;

fn identity(uid: &str, version: u32) -> Identity {
    let (uid, version) = (Arc::from(uid), Arc::from(version.to_string()));
    Identity { kind: KIND, key: Arc::clone(&uid), uid, version }
}

fn object(uid: &str, version: u32) -> Compiled {
    Compiled { identity: identity(uid, version), record: Record::Namespace(Arc::default()) }
}

/// A pod that is pending.
fn record(uid: &str, version: &str) -> PodRecord {
    PodRecord {
        uid: Arc::from(uid),
        namespace: Arc::from("ns"),
        name: Arc::from(uid),
        resource_version: Arc::from(version),
        node_name: None,
        terminating: false,
        ownership: Ownership::Own,
        priority: 0,
        nominated_node: None,
        facts: Arc::new(PodFacts::default()),
    }
}

fn pod(uid: &str, version: u32) -> Compiled {
    let record = record(uid, &version.to_string());
    let key = Arc::from(format!("ns/{uid}"));
    let (uid, version) = (Arc::clone(&record.uid), Arc::clone(&record.resource_version));
    Compiled { identity: Identity { kind: Kind::Pod, key, uid, version }, record: Record::Pod(Arc::new(record)) }
}

fn applied(uid: &str, version: u32) -> Change {
    Change::Applied(object(uid, version))
}

fn gone(uid: &str, version: u32) -> Change {
    Change::Gone(identity(uid, version))
}

fn list(objects: &[(&str, u32)], version: u32) -> Change {
    let objects = objects.iter().map(|(uid, version)| object(uid, *version)).collect();
    Change::Replaced { kind: KIND, objects, version: Arc::from(version.to_string()) }
}

/// An applier without its thread, and a clock of its own.
struct Bench {
    target: Arc<Mutex<Faulty>>,
    applier: Applier<Faulty>,
    queue: Queue,
    now: Instant,
}

impl Bench {
    fn new() -> Self {
        let target = Arc::<Mutex<Faulty>>::default();
        let applier = Applier::new(Arc::clone(&target), Arc::default(), Metrics::default());
        Self { target, applier, queue: Queue::default(), now: Instant::now() }
    }

    fn push(&mut self, changes: impl IntoIterator<Item = Change>) {
        for change in changes {
            self.queue.push(change, self.now);
        }
    }

    fn turn(&mut self) -> Done {
        let drained = self.queue.drain();
        self.applier.turn(drained, self.now)
    }

    fn held(&self) -> Vec<(String, String)> {
        let held = &self.target.lock().held;
        held.iter().map(|((_, uid), version)| (uid.to_string(), version.to_string())).collect()
    }

    fn tried(&self) -> Vec<String> {
        std::mem::take(&mut self.target.lock().tried)
    }

    fn observed(&self) -> Vec<(String, String)> {
        std::mem::take(&mut self.target.lock().observed)
    }

    fn fail(&self, uid: &str, fault: Fault) {
        self.target.lock().faults.insert(Arc::from(uid), fault);
    }

    fn mend(&self) {
        self.target.lock().faults.clear();
    }
}

fn held(pairs: &[(&str, u32)]) -> Vec<(String, String)> {
    pairs.iter().map(|(uid, version)| ((*uid).to_owned(), version.to_string())).collect()
}

#[test]
fn events_of_one_object_merge_and_keep_the_place_of_the_first() {
    let mut bench = Bench::new();
    bench.push([applied("a", 1), applied("b", 2), applied("a", 3), applied("c", 4), applied("a", 5)]);
    assert_eq!(bench.queue.depth(), 3);
    bench.turn();
    assert_eq!(bench.tried(), ["a", "b", "c"]);
    assert_eq!(bench.held(), held(&[("a", 5), ("b", 2), ("c", 4)]));
    assert_eq!(bench.target.lock().published, 1);
}

#[test]
fn the_queue_is_bounded_by_objects_however_many_events_there_are() {
    let mut bench = Bench::new();
    for version in 0..100_000 {
        bench.push([applied(&format!("u{}", version % 7), version + 1)]);
    }
    assert_eq!(bench.queue.depth(), 7);
    let drained = bench.queue.drain();
    assert_eq!(drained.steps.len(), 7);
}

#[test]
fn an_older_event_never_takes_the_place_of_a_newer_one_in_the_queue_or_after_it() {
    let mut bench = Bench::new();
    bench.push([applied("a", 5), applied("a", 4)]);
    bench.turn();
    assert_eq!(bench.held(), held(&[("a", 5)]));
    bench.push([applied("a", 3)]);
    bench.turn();
    bench.push([applied("a", 5)]);
    bench.turn();
    assert_eq!(bench.tried(), ["a"], "neither the older nor the same version is applied");
}

#[test]
fn a_deletion_stays_one_unless_something_newer_follows() {
    let mut bench = Bench::new();
    bench.push([applied("a", 1), gone("a", 2), applied("b", 3), gone("b", 4), applied("b", 3), applied("c", 5)]);
    bench.push([gone("c", 6), applied("c", 7)]);
    bench.turn();
    assert_eq!(bench.held(), held(&[("c", 7)]));
    bench.push([applied("a", 2), applied("b", 1)]);
    bench.turn();
    assert_eq!(bench.held(), held(&[("c", 7)]), "what was deleted does not come back");
}

#[test]
fn a_list_replaces_what_is_not_newer_and_is_published_as_one() {
    let mut bench = Bench::new();
    bench.push([applied("a", 1), applied("b", 2), applied("late", 12)]);
    bench.turn();
    bench.push([applied("a", 8), applied("later", 13), list(&[("a", 5), ("c", 6)], 10), applied("d", 11)]);
    let published = bench.target.lock().published;
    bench.turn();
    assert_eq!(bench.target.lock().published, published + 1);
    assert_eq!(bench.held(), held(&[("a", 5), ("c", 6), ("d", 11), ("late", 12), ("later", 13)]));
}

#[test]
fn another_object_of_the_same_name_is_gone_even_where_the_new_one_cannot_be_read() {
    let unreadable = |uid: &str| {
        let identity = Identity { key: Arc::from("a"), ..identity(uid, 9) };
        Compiled { identity, record: Record::Unreadable }
    };
    let list = |uid| Change::Replaced { kind: KIND, objects: vec![unreadable(uid)], version: Arc::from("10") };
    for (uid, expected) in [("recreated", held(&[])), ("a", held(&[("a", 1)]))] {
        let mut bench = Bench::new();
        bench.push([applied("a", 1)]);
        bench.turn();
        bench.push([list(uid)]);
        bench.turn();
        assert_eq!(bench.held(), expected, "{uid}");
    }
}

#[test]
fn the_later_of_two_lists_stands_for_both() {
    let mut bench = Bench::new();
    bench.push([list(&[("a", 1), ("b", 2)], 5), applied("b", 6), list(&[("a", 7)], 9)]);
    assert_eq!(bench.queue.depth(), 1);
    bench.turn();
    assert_eq!(bench.held(), held(&[("a", 7)]));
    bench.push([list(&[("a", 7), ("b", 2)], 5)]);
    bench.turn();
    assert_eq!(bench.held(), held(&[("a", 7)]), "a list that lags brings nothing back");
}

#[test]
fn versions_that_are_no_numbers_fall_back_to_the_order_of_arrival() {
    let mut bench = Bench::new();
    let odd = |version: &str| {
        let mut object = object("a", 0);
        object.identity.version = Arc::from(version);
        Change::Applied(object)
    };
    bench.push([odd("x9")]);
    bench.turn();
    bench.push([odd("x1")]);
    bench.turn();
    assert_eq!(bench.held(), [("a".to_owned(), "x1".to_owned())]);
    assert_eq!(bench.applier_metrics().unordered.get(), 1);
}

impl Bench {
    fn applier_metrics(&self) -> Metrics {
        self.applier.metrics().clone()
    }
}

#[test]
fn what_fails_is_tried_again_with_growing_waits_and_holds_nobody_up() {
    for fault in [Fault::Error, Fault::Panic] {
        let mut bench = Bench::new();
        bench.fail("bad", fault);
        bench.push([applied("a", 1), applied("bad", 2), applied("b", 3)]);
        let done = bench.turn();
        assert_eq!(bench.held(), held(&[("a", 1), ("b", 3)]));
        assert_eq!(done.changed.len(), 2);
        assert_eq!(bench.applier.remark().unwrap(), "1 object is retried: Namespace bad");
        bench.tried();
        let mut waited = Vec::new();
        for _ in 0..15 {
            let due = bench.applier.next_due().unwrap();
            waited.push(due - bench.now);
            bench.now = due - Duration::from_millis(1);
            bench.turn();
            assert_eq!(bench.tried(), [""; 0], "not before its time");
            bench.now = due;
            bench.push([applied("other", u32::try_from(waited.len()).unwrap())]);
            bench.turn();
            assert_eq!(bench.tried(), ["other", "bad"]);
        }
        assert_eq!(waited[..3], [100, 200, 400].map(Duration::from_millis));
        assert_eq!(waited.last(), Some(&Duration::from_secs(60)));
        bench.mend();
        bench.now = bench.applier.next_due().unwrap();
        bench.turn();
        assert_eq!((bench.applier.next_due(), bench.applier.remark()), (None, None));
        assert_eq!(bench.held().len(), 4);
    }
}

#[test]
fn a_newer_event_is_tried_at_once_and_an_older_one_does_not_replace_what_waits() {
    let mut bench = Bench::new();
    bench.fail("a", Fault::Panic);
    bench.push([applied("a", 5)]);
    bench.turn();
    bench.mend();
    bench.push([applied("a", 3)]);
    bench.turn();
    assert_eq!(bench.held(), held(&[("a", 5)]));
    bench.fail("b", Fault::Panic);
    bench.push([applied("b", 6)]);
    bench.turn();
    bench.push([gone("b", 7)]);
    bench.turn();
    bench.mend();
    bench.now += Duration::from_secs(60);
    bench.turn();
    assert_eq!(bench.held(), held(&[("a", 5)]), "the deletion is what is retried");
}

#[test]
fn asking_for_an_object_again_tries_at_once_what_waits_for_a_retry() {
    let mut bench = Bench::new();
    bench.fail("a", Fault::Error);
    bench.push([applied("a", 5)]);
    bench.turn();
    bench.mend();
    bench.queue.push_work(Work::Again((KIND, Arc::from("a"))), bench.now);
    let done = bench.turn();
    assert_eq!(bench.held(), held(&[("a", 5)]));
    assert_eq!((done.changed.len(), bench.target.lock().again), (1, 0), "applied, not merely counted again");
    bench.queue.push_work(Work::Again((KIND, Arc::from("a"))), bench.now);
    bench.turn();
    assert_eq!(bench.target.lock().again, 1);
}

#[test]
fn a_first_list_is_whole_when_each_of_its_objects_has_been_applied_once() {
    let mut bench = Bench::new();
    bench.fail("bad", Fault::Panic);
    bench.fail("worse", Fault::Panic);
    bench.push([list(&[("a", 1), ("bad", 2), ("worse", 3)], 9)]);
    assert_eq!(bench.turn().whole, []);
    bench.target.lock().faults.remove("bad");
    bench.now += Duration::from_secs(1);
    assert_eq!(bench.turn().whole, []);
    bench.push([gone("worse", 10)]);
    bench.mend();
    assert_eq!(bench.turn().whole, [KIND], "what is deleted is no longer waited for");
    bench.push([list(&[("a", 1)], 11)]);
    assert_eq!(bench.turn().whole, [], "only the first list counts");
}

#[test]
fn an_object_that_fails_in_a_list_is_retried_although_it_is_older_than_the_list() {
    let mut bench = Bench::new();
    bench.fail("bad", Fault::Panic);
    bench.push([list(&[("bad", 2)], 9)]);
    bench.turn();
    bench.push([list(&[("bad", 2)], 9)]);
    bench.turn();
    bench.mend();
    bench.now += Duration::from_secs(1);
    assert_eq!(bench.turn().whole, [KIND]);
    assert_eq!(bench.held(), held(&[("bad", 2)]));
}

#[test]
fn what_could_not_be_published_is_published_later_and_told_only_then() {
    let mut bench = Bench::new();
    bench.target.lock().publish_panics = true;
    bench.push([list(&[("a", 1)], 2)]);
    assert_eq!(bench.turn(), Done::default());
    assert_eq!(bench.applier.remark().unwrap(), "publishing is retried");
    bench.target.lock().publish_panics = false;
    bench.now = bench.applier.next_due().unwrap();
    let done = bench.turn();
    assert_eq!((done.changed.len(), done.whole), (1, vec![KIND]));
    assert_eq!(bench.applier.next_due(), None);
}

#[test]
fn healing_replaces_what_is_held_at_the_same_version_and_nothing_newer() {
    let mut bench = Bench::new();
    bench.push([applied("a", 5), applied("b", 6)]);
    bench.turn();
    bench.tried();
    for healed in [object("a", 5), object("b", 5), object("lost", 1)] {
        bench.queue.push_work(Work::Healed(healed), bench.now);
    }
    bench.turn();
    assert_eq!(bench.tried(), ["a", "lost"]);
    bench.queue.push_work(Work::Healed(object("a", 5)), bench.now);
    bench.push([applied("a", 5)]);
    assert!(matches!(bench.queue.drain().steps.as_slice(), [Step::Object(Work::Healed(_))]));
}

/// Drops with a trace.
struct Guard(Arc<AtomicBool>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

async fn until(condition: impl Fn() -> bool) {
    let patience = Instant::now() + patience::wait();
    while !condition() {
        assert!(Instant::now() < patience, "it never happened");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_guard_is_held_until_the_list_is_published_and_a_waiter_is_told_of_its_object_alone() {
    let target = Arc::<Mutex<Faulty>>::default();
    let feed = Feed::start_into(Arc::clone(&target), Metrics::default()).unwrap();
    let dropped = Arc::new(AtomicBool::new(false));
    feed.hold_until_whole(KIND, Box::new(Guard(Arc::clone(&dropped))));
    let b = feed.changed(KIND, "b");
    let a = feed.changed(KIND, "a");
    feed.deliver(applied("a", 1));
    assert_eq!(a.await, Ok(()));
    assert!(target.lock().published > 0);
    assert!(!dropped.load(Ordering::SeqCst));
    feed.deliver(list(&[("a", 1), ("b", 2)], 3));
    assert_eq!(b.await, Ok(()));
    until(|| dropped.load(Ordering::SeqCst)).await;
    let late = Arc::new(AtomicBool::new(false));
    feed.hold_until_whole(KIND, Box::new(Guard(Arc::clone(&late))));
    assert!(late.load(Ordering::SeqCst));
    let never = feed.changed(KIND, "never");
    drop(feed);
    assert_eq!(never.await, Err(Untold));
}

#[tokio::test]
async fn the_thread_retries_by_itself_and_says_so_meanwhile() {
    let target = Arc::<Mutex<Faulty>>::default();
    target.lock().faults.insert(Arc::from("bad"), Fault::Panic);
    let feed = Feed::start_into(Arc::clone(&target), Metrics::default()).unwrap();
    feed.deliver(applied("bad", 1));
    until(|| feed.remark().is_some()).await;
    assert_eq!(feed.remark().unwrap(), "1 object is retried: Namespace bad");
    let healed = feed.changed(KIND, "bad");
    target.lock().faults.clear();
    assert_eq!(healed.await, Ok(()));
    until(|| feed.remark().is_none()).await;
    assert_eq!(feed.backlog().objects, 0);
}

#[test]
fn nobody_else_finds_a_part_of_what_was_queued_together() {
    const OBJECTS: u32 = 2_000;
    let target = Arc::<Mutex<Faulty>>::default();
    let feed = Feed::start_into(Arc::clone(&target), Metrics::default()).unwrap();
    let mut held_back = target.lock();
    held_back.pace = Duration::from_micros(10);
    feed.deliver(applied("first", 1));
    // The feed has taken the first one out and waits for its target; what comes now is the next turn, all of it.
    while feed.shared.intake.lock().queue.depth() > 0 {
        thread::yield_now();
    }
    for version in 0..OBJECTS {
        feed.deliver(applied(&format!("u{version}"), version + 2));
    }
    drop(held_back);
    let patience = Instant::now() + patience::wait();
    loop {
        assert!(Instant::now() < patience, "it never ends");
        let found = target.lock().held.len();
        if found == 1 + OBJECTS as usize {
            break;
        }
        assert!(found <= 1, "{found} objects of a turn that is not over");
    }
}

#[test]
fn what_was_seen_is_said_once_all_of_it_is_applied_deletions_included() {
    let mut bench = Bench::new();
    bench.push([applied("a", 1), applied("b", 2), applied("a", 7)]);
    bench.turn();
    // Up to the last try nothing had been said: "b" came after the newest of "a".
    assert_eq!(bench.observed(), [("b".to_owned(), "7".to_owned())]);
    bench.push([applied("c", 8), gone("b", 9)]);
    bench.turn();
    assert_eq!(bench.observed(), [("b".to_owned(), "9".to_owned())]);
    bench.push([list(&[("a", 7), ("c", 8)], 12), applied("d", 13)]);
    bench.turn();
    assert_eq!(bench.observed(), [("d".to_owned(), "13".to_owned())]);
}

#[test]
fn a_version_is_not_said_to_have_been_seen_while_an_object_of_its_kind_waits_for_a_retry() {
    let mut bench = Bench::new();
    bench.fail("bad", Fault::Panic);
    bench.push([applied("a", 1), applied("bad", 2), applied("b", 3)]);
    bench.queue.push(Change::Seen { kind: Kind::Node, version: Arc::from("50") }, bench.now);
    bench.turn();
    assert_eq!(bench.observed(), [("b".to_owned(), "50".to_owned())], "another kind has nothing to wait for");
    bench.push([applied("c", 4)]);
    bench.turn();
    assert!(bench.observed().is_empty());
    bench.mend();
    bench.now += Duration::from_secs(1);
    bench.turn();
    assert_eq!(bench.observed(), [("bad".to_owned(), "4".to_owned())], "once it is applied, all of it is said");
    // What supersedes it does as well: a newer event, or a list.
    for last in [vec![gone("bad", 6)], vec![list(&[("a", 1)], 6)]] {
        bench.fail("bad", Fault::Error);
        bench.push([applied("bad", 5)]);
        bench.turn();
        assert!(bench.observed().is_empty());
        bench.mend();
        bench.push(last);
        bench.turn();
        assert_eq!(bench.observed().pop().unwrap().1, "6");
        bench = Bench::new();
    }
}

#[test]
fn what_broke_off_halfway_is_applied_again_although_its_version_is_held() {
    let mut bench = Bench::new();
    bench.fail("a", Fault::PanicHalfway);
    bench.push([Change::Applied(pod("a", 5))]);
    bench.turn();
    assert_eq!((bench.held(), bench.tried()), (held(&[("a", 5)]), vec!["a".to_owned()]));
    bench.now += Duration::from_secs(1);
    bench.turn();
    assert_eq!(bench.tried(), ["a"], "it is tried again");
    // A list that shows the same version has it applied once more too.
    let listed = Change::Replaced { kind: Kind::Pod, objects: vec![pod("a", 5)], version: Arc::from("9") };
    bench.mend();
    bench.push([listed]);
    assert_eq!(bench.turn().whole, [Kind::Pod]);
    assert_eq!(bench.tried(), ["a"]);
    assert_eq!(bench.applier.next_due(), None);
    bench.push([Change::Applied(pod("a", 5))]);
    bench.turn();
    assert_eq!(bench.tried(), [""; 0], "from now on the version is what it says");
}

#[test]
fn a_guard_that_holds_the_last_feed_does_not_stop_its_thread_from_ending() {
    let target = Arc::<Mutex<Faulty>>::default();
    let feed = Feed::start_into(Arc::clone(&target), Metrics::default()).unwrap();
    let clone = feed.clone();
    feed.hold_until_whole(KIND, Box::new(clone));
    feed.deliver(list(&[("a", 1)], 2));
    drop(feed);
    let patience = Instant::now() + patience::wait();
    while Arc::strong_count(&target) > 1 {
        assert!(Instant::now() < patience, "the thread never ended");
        thread::yield_now();
    }
}
