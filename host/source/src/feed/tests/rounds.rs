//! Kinds that begin anew: dropped because nothing reads them, followed again, or compiled otherwise.

use super::*;

fn dropped() -> Change {
    Change::Dropped { kind: KIND }
}

fn recompiled(objects: &[(&str, u32)], version: u32) -> Change {
    let objects = objects.iter().map(|(uid, version)| object(uid, *version)).collect();
    Change::Recompiled { kind: KIND, objects, version: Arc::from(version.to_string()) }
}

/// A namespace with a label, in place of other annotations.
fn relabelled(uid: &str, version: u32, label: &str) -> Compiled {
    let labels: nodesift_cache::metadata::Labels = vec![(Arc::from("a"), Arc::from(label))].into();
    Compiled { identity: identity(uid, version), record: Record::Namespace(Arc::from(uid), labels) }
}

#[test]
fn a_dropped_kind_leaves_nothing_behind_and_what_comes_late_does_not_bring_it_back() {
    let mut bench = Bench::new();
    bench.fail("half", Fault::PanicHalfway);
    bench.push([list(&[("a", 1), ("b", 2), ("half", 3)], 9)]);
    bench.turn();
    assert_eq!(bench.held(), held(&[("a", 1), ("b", 2), ("half", 3)]));
    bench.mend();
    // What waits in the queue goes too, however new it is.
    bench.push([applied("c", 99), dropped(), applied("d", 100), deleted("a", 101)]);
    bench.queue.push_object(ObjectChange::Repaired(object("e", 5)), bench.now);
    bench.turn();
    assert_eq!(bench.held(), []);
    bench.push([applied("f", 102)]);
    bench.now += Duration::from_secs(100);
    bench.turn();
    assert_eq!((bench.held(), bench.applier.next_due()), (Vec::new(), None));
}

#[test]
fn a_dropped_kind_that_is_listed_again_is_taken_at_any_version_and_synced_anew() {
    let mut bench = Bench::new();
    bench.push([list(&[("a", 50), ("b", 60)], 90)]);
    assert_eq!(bench.turn().synced, [KIND]);
    bench.push([deleted("b", 95)]);
    bench.turn();
    bench.push([dropped()]);
    assert_eq!(bench.turn().synced, []);
    // A server that lags: what was known of the versions is forgotten, tombstones included.
    bench.push([list(&[("a", 50), ("b", 60)], 80)]);
    assert_eq!(bench.turn().synced, [KIND]);
    assert_eq!(bench.held(), held(&[("a", 50), ("b", 60)]));
    // All in one turn, and the other way round.
    bench.push([list(&[("c", 100)], 110), dropped(), list(&[("d", 120)], 130)]);
    assert_eq!(bench.turn().synced, [KIND]);
    assert_eq!(bench.held(), held(&[("d", 120)]));
    bench.push([list(&[("e", 140)], 150), dropped()]);
    assert_eq!((bench.turn().synced, bench.held()), (vec![], vec![]));
}

#[test]
fn only_a_list_that_is_compiled_otherwise_replaces_what_is_held_at_the_same_version() {
    let mut bench = Bench::new();
    bench.push([list(&[("a", 1), ("b", 2)], 9)]);
    assert_eq!(bench.turn().synced, [KIND]);
    bench.tried();
    bench.push([list(&[("a", 1), ("b", 2)], 9)]);
    assert_eq!((bench.turn().synced, bench.tried()), (vec![], vec![]));
    bench.push([recompiled(&[("a", 1)], 9)]);
    assert_eq!((bench.turn().synced, bench.tried()), (vec![KIND], vec!["a".to_owned(), "b".to_owned()]));
    assert_eq!(bench.held(), held(&[("a", 1)]));
    // One that waits is replaced by a later list, which takes its part.
    bench.push([recompiled(&[("a", 1)], 10), list(&[("a", 1)], 11)]);
    assert_eq!((bench.turn().synced, bench.tried()), (vec![KIND], vec!["a".to_owned()]));
    bench.push([list(&[("a", 1)], 12)]);
    assert_eq!((bench.turn().synced, bench.tried()), (vec![], vec![]));
}

#[test]
fn a_recompiled_object_that_fails_is_waited_for() {
    let mut bench = Bench::new();
    bench.push([list(&[("a", 1), ("bad", 2)], 9)]);
    bench.turn();
    bench.fail("bad", Fault::Panic);
    bench.push([recompiled(&[("a", 1), ("bad", 2)], 9)]);
    assert_eq!(bench.turn().synced, []);
    bench.mend();
    bench.now += Duration::from_secs(1);
    assert_eq!(bench.turn().synced, [KIND]);
}

fn restored(objects: &[(&str, u32)], version: u32) -> Change {
    let objects = objects.iter().map(|(uid, version)| object(uid, *version)).collect();
    Change::Restored { kind: KIND, objects, version: Arc::from(version.to_string()) }
}

#[test]
fn the_list_of_a_restored_cluster_replaces_what_is_held_at_any_version() {
    let mut bench = Bench::new();
    bench.push([list(&[("a", 50), ("b", 60), ("c", 70)], 90), deleted("c", 95)]);
    bench.turn();
    bench.observed();
    // What waits is of the same history that is no more; what comes after the list is not.
    bench.push([applied("d", 99), restored(&[("a", 50), ("b", 40), ("c", 30)], 45), applied("e", 46)]);
    assert_eq!(bench.turn().synced, [KIND], "a list that is waited for");
    assert_eq!(bench.held(), held(&[("a", 50), ("b", 40), ("c", 30), ("e", 46)]));
    let observed: Vec<String> = bench.observed().into_iter().map(|(_, version)| version).collect();
    assert_eq!(observed, [format!("{KIND} void"), "46".to_owned()]);
    // Versions begin anew.
    bench.push([applied("b", 47), deleted("a", 51), applied("f", 44)]);
    bench.turn();
    assert_eq!(bench.held(), held(&[("b", 47), ("c", 30), ("e", 46)]));
    // A later list takes the part of one that waits.
    bench.push([restored(&[("z", 3)], 5), list(&[("z", 3), ("y", 6)], 7)]);
    bench.turn();
    assert_eq!(bench.held(), held(&[("y", 6), ("z", 3)]));
}

#[test]
fn what_fails_of_a_restored_list_is_not_kept_as_it_was() {
    for fault in [Fault::Panic, Fault::Error, Fault::PanicHalfway] {
        let mut bench = Bench::new();
        bench.push([list(&[("a", 50), ("b", 60)], 90)]);
        bench.turn();
        bench.fail("b", fault);
        bench.push([restored(&[("a", 10), ("b", 11)], 20)]);
        bench.turn();
        bench.mend();
        bench.now += Duration::from_secs(100);
        bench.turn();
        assert_eq!(bench.held(), held(&[("a", 10), ("b", 11)]));
    }
    let mut bench = Bench::new();
    bench.push([list(&[("a", 50)], 90)]);
    bench.turn();
    let unreadable = Compiled { identity: identity("a", 10), record: Record::Unreadable };
    bench.push([Change::Restored { kind: KIND, objects: vec![unreadable], version: Arc::from("20") }]);
    bench.turn();
    assert_eq!(bench.held(), [], "what is held of it is of a history that is no more");
}

/// Notes that it was dropped.
struct Guard(Arc<Mutex<bool>>);

impl Drop for Guard {
    fn drop(&mut self) {
        *self.0.lock() = true;
    }
}

#[test]
fn a_guard_waits_for_the_list_after_the_last_drop_and_the_drop_of_its_kind_releases_it() {
    let (writer, reader) = nodesift_cache::new();
    let writer = Arc::new(Mutex::new(writer));
    let feed = Feed::start(Arc::clone(&writer), Metrics::default()).unwrap();
    let hold = |feed: &Feed| {
        let dropped = Arc::<Mutex<bool>>::default();
        feed.hold_until_synced(KIND, Box::new(Guard(Arc::clone(&dropped))));
        dropped
    };
    let until = |dropped: &Arc<Mutex<bool>>| {
        let began = Instant::now();
        while !*dropped.lock() {
            assert!(began.elapsed() < Duration::from_secs(60), "the guard is never dropped");
            thread::yield_now();
        }
    };
    let first = hold(&feed);
    feed.deliver(vec![list(&[("a", 1)], 9)]);
    until(&first);
    assert!(*hold(&feed).lock(), "synced already");
    {
        // The feed applies nothing meanwhile.
        let _writer = writer.lock();
        feed.deliver(vec![list(&[("a", 1)], 10)]);
        feed.deliver(vec![dropped()]);
        let again = hold(&feed);
        assert!(!*again.lock(), "the list before the drop says nothing about the kind");
        feed.deliver(vec![dropped()]);
        assert!(*again.lock(), "nobody waits for a kind that is not followed");
    }
    let last = hold(&feed);
    let objects = vec![relabelled("b", 2, "x")];
    feed.deliver(vec![Change::Replaced { kind: KIND, objects, version: Arc::from("20") }]);
    until(&last);
    drop(reader);
    assert!(writer.lock().holds(&relabelled("b", 2, "x").record));
    assert!(!writer.lock().holds(&object("a", 1).record));
}
