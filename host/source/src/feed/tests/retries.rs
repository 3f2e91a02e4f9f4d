//! What fails is tried again, holds nobody up, and is not said to have been seen meanwhile.

use super::*;

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
