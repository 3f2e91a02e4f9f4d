//! The newest version wins, whatever the order of arrival; a list replaces everything of its kind.

use super::*;

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
    let batch = bench.queue.drain();
    assert_eq!(batch.steps.len(), 7);
}

#[test]
fn an_older_event_never_replaces_a_newer_one_in_the_queue_or_after_it() {
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
fn a_deletion_stays_unless_something_newer_follows() {
    let mut bench = Bench::new();
    bench.push([applied("a", 1), deleted("a", 2), applied("b", 3), deleted("b", 4), applied("b", 3), applied("c", 5)]);
    bench.push([deleted("c", 6), applied("c", 7)]);
    bench.turn();
    assert_eq!(bench.held(), held(&[("c", 7)]));
    bench.push([applied("a", 2), applied("b", 1)]);
    bench.turn();
    assert_eq!(bench.held(), held(&[("c", 7)]), "a tombstone keeps it away");
}

#[test]
fn a_deletion_with_the_version_of_the_last_change_removes_the_object_that_still_waits() {
    // Some servers send a deletion with the version at which the object was last modified.
    let mut bench = Bench::new();
    bench.push([applied("a", 5), deleted("a", 5)]);
    bench.turn();
    assert_eq!(bench.held(), held(&[]), "both waited at once");
    bench.push([applied("b", 6)]);
    bench.turn();
    bench.push([deleted("b", 6)]);
    bench.turn();
    assert_eq!(bench.held(), held(&[]), "the change had been applied before");
    bench.push([applied("c", 8), deleted("c", 7)]);
    bench.turn();
    assert_eq!(bench.held(), held(&[("c", 8)]), "an older deletion is not of this object's last state");
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
fn another_object_of_the_same_name_is_removed_even_where_the_new_one_cannot_be_read() {
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
fn the_later_of_two_lists_replaces_the_earlier() {
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
        Change::Object(ObjectChange::Applied(object))
    };
    bench.push([odd("x9")]);
    bench.turn();
    bench.push([odd("x1")]);
    bench.turn();
    assert_eq!(bench.held(), [("a".to_owned(), "x1".to_owned())]);
    assert_eq!(bench.applier_metrics().unordered.get(), 1);
}

#[test]
fn a_repair_replaces_the_same_version_and_nothing_newer() {
    let mut bench = Bench::new();
    bench.push([applied("a", 5), applied("b", 6)]);
    bench.turn();
    bench.tried();
    for repaired in [object("a", 5), object("b", 5), object("lost", 1)] {
        bench.queue.push_object(ObjectChange::Repaired(repaired), bench.now);
    }
    bench.turn();
    assert_eq!(bench.tried(), ["a", "lost"]);
    bench.queue.push_object(ObjectChange::Repaired(object("a", 5)), bench.now);
    bench.push([applied("a", 5)]);
    assert!(matches!(bench.queue.drain().steps.as_slice(), [Step::Object(ObjectChange::Repaired(_))]));
}

#[test]
fn a_version_is_observed_once_everything_up_to_it_is_applied_deletions_included() {
    let mut bench = Bench::new();
    bench.push([applied("a", 1), applied("b", 2), applied("a", 7)]);
    bench.turn();
    // Nothing was observed before the last attempt: "b" came after the newest of "a".
    assert_eq!(bench.observed(), [("b".to_owned(), "7".to_owned())]);
    bench.push([applied("c", 8), deleted("b", 9)]);
    bench.turn();
    assert_eq!(bench.observed(), [("b".to_owned(), "9".to_owned())]);
    bench.push([list(&[("a", 7), ("c", 8)], 12), applied("d", 13)]);
    bench.turn();
    assert_eq!(bench.observed(), [("d".to_owned(), "13".to_owned())]);
}
