//! Tests of retries: a change that fails is retried with backoff, delays no other object, and keeps its version from being observed
//! meanwhile.

use super::*;

#[test]
fn what_fails_is_retried_with_growing_backoff_and_delays_no_other_object() {
    for fault in [Fault::Error, Fault::Panic] {
        let mut bench = Bench::new();
        bench.fail("bad", fault);
        bench.push([applied("a", 1), applied("bad", 2), applied("b", 3)]);
        let published = bench.turn();
        assert_eq!(bench.held(), held(&[("a", 1), ("b", 3)]));
        assert_eq!(published.changed.len(), 2);
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
fn a_newer_event_is_attempted_at_once_and_an_older_one_does_not_replace_the_retry() {
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
    bench.push([deleted("b", 7)]);
    bench.turn();
    bench.mend();
    bench.now += Duration::from_secs(60);
    bench.turn();
    assert_eq!(bench.held(), held(&[("a", 5)]), "the deletion is what is retried");
}

#[test]
fn requeueing_an_object_attempts_its_retry_at_once() {
    let mut bench = Bench::new();
    bench.fail("a", Fault::Error);
    bench.push([applied("a", 5)]);
    bench.turn();
    bench.mend();
    bench.queue.push_object(ObjectChange::Requeued((KIND, Arc::from("a"))), bench.now);
    let published = bench.turn();
    assert_eq!(bench.held(), held(&[("a", 5)]));
    assert_eq!((published.changed.len(), bench.target.lock().recounts), (1, 0), "applied, not merely recounted");
    bench.queue.push_object(ObjectChange::Requeued((KIND, Arc::from("a"))), bench.now);
    bench.turn();
    assert_eq!(bench.target.lock().recounts, 1);
}

#[test]
fn a_kind_is_synced_when_each_object_of_its_first_list_has_been_applied_once() {
    let mut bench = Bench::new();
    bench.fail("bad", Fault::Panic);
    bench.fail("worse", Fault::Panic);
    bench.push([list(&[("a", 1), ("bad", 2), ("worse", 3)], 9)]);
    assert_eq!(bench.turn().synced, []);
    bench.target.lock().faults.remove("bad");
    bench.now += Duration::from_secs(1);
    assert_eq!(bench.turn().synced, []);
    bench.push([deleted("worse", 10)]);
    bench.mend();
    assert_eq!(bench.turn().synced, [KIND], "a deleted object is no longer waited for");
    bench.push([list(&[("a", 1)], 11)]);
    assert_eq!(bench.turn().synced, [], "only the first list counts");
}

#[test]
fn the_start_is_complete_once_the_first_lists_of_nodes_and_pods_are_applied_and_published() {
    let mut bench = Bench::new();
    let listed = |kind, objects| Change::Replaced { kind, objects, version: Arc::from("9") };
    bench.fail("bad", Fault::Error);
    bench.push([listed(Kind::Pod, vec![pod("a", 1), pod("bad", 2)])]);
    bench.turn();
    bench.push([listed(Kind::Node, Vec::new())]);
    bench.turn();
    assert_eq!(bench.target.lock().completed, 0, "a pod of the list is missing");
    bench.mend();
    bench.now += Duration::from_secs(1);
    bench.target.lock().publish_panics = true;
    bench.turn();
    assert_eq!(bench.target.lock().completed, 0, "nothing is published");
    bench.target.lock().publish_panics = false;
    bench.now += Duration::from_secs(1);
    bench.turn();
    assert_eq!(bench.target.lock().completed, 1);
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
    assert_eq!(bench.turn().synced, [KIND]);
    assert_eq!(bench.held(), held(&[("bad", 2)]));
}

#[test]
fn what_could_not_be_published_is_published_later_and_reported_only_then() {
    let mut bench = Bench::new();
    bench.target.lock().publish_panics = true;
    bench.push([list(&[("a", 1)], 2)]);
    assert_eq!(bench.turn(), Published::default());
    assert_eq!(bench.applier.remark().unwrap(), "publishing is retried");
    bench.target.lock().publish_panics = false;
    bench.now = bench.applier.next_due().unwrap();
    let published = bench.turn();
    assert_eq!((published.changed.len(), published.synced), (1, vec![KIND]));
    assert_eq!(bench.applier.next_due(), None);
}

#[test]
fn a_version_is_not_observed_while_an_object_of_its_kind_waits_for_a_retry() {
    let mut bench = Bench::new();
    bench.fail("bad", Fault::Panic);
    bench.push([applied("a", 1), applied("bad", 2), applied("b", 3)]);
    bench.queue.push(Change::Bookmark { kind: Kind::Node, version: Arc::from("50") }, bench.now);
    bench.turn();
    assert_eq!(bench.observed(), [("b".to_owned(), "50".to_owned())], "nothing of another kind waits");
    bench.push([applied("c", 4)]);
    bench.turn();
    assert!(bench.observed().is_empty());
    bench.mend();
    bench.now += Duration::from_secs(1);
    bench.turn();
    assert_eq!(bench.observed(), [("bad".to_owned(), "4".to_owned())], "observed once all of it is applied");
    // The same goes for what supersedes it: a newer event, or a list.
    for last in [vec![deleted("bad", 6)], vec![list(&[("a", 1)], 6)]] {
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
fn what_was_half_applied_is_applied_again_although_its_version_is_held() {
    let mut bench = Bench::new();
    bench.fail("a", Fault::PanicHalfway);
    bench.push([Change::Object(ObjectChange::Applied(pod("a", 5)))]);
    bench.turn();
    assert_eq!((bench.held(), bench.tried()), (held(&[("a", 5)]), vec!["a".to_owned()]));
    bench.now += Duration::from_secs(1);
    bench.turn();
    assert_eq!(bench.tried(), ["a"], "it is retried");
    // A list that shows the same version has it applied once more too.
    let listed = Change::Replaced { kind: Kind::Pod, objects: vec![pod("a", 5)], version: Arc::from("9") };
    bench.mend();
    bench.push([listed]);
    assert_eq!(bench.turn().synced, [Kind::Pod]);
    assert_eq!(bench.tried(), ["a"]);
    assert_eq!(bench.applier.next_due(), None);
    bench.push([Change::Object(ObjectChange::Applied(pod("a", 5)))]);
    bench.turn();
    assert_eq!(bench.tried(), [""; 0], "from now on the version holds");
}
