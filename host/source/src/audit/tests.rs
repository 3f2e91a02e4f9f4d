//! Drift made on purpose is found and repaired; what is merely late is not drift. Clocks are paused.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use super::metrics::{OfPart, Part};
use super::*;
use crate::change::{Change, Compiled, Identity, ObjectChange, Record};
use crate::feed::{self, Feed};
use crate::kube::Listed;
use crate::limits::{AUDIT_AFTER_OUTAGE, AUDIT_PERIOD, AUDIT_SETTLE};
use nodesift_cache::metadata::{NodeFacts, Ownership, PodFacts, PodRecord};
use nodesift_cache::{self as cache, Reader, Row, SharedWriter};
use nodesift_object::Kind;
use nodesift_tests::timeout;

/// How long drift may last at most.
const FOUND_WITHIN: Duration = AUDIT_PERIOD.saturating_add(AUDIT_PERIOD);

fn node(name: &str, version: u32, limit: i64) -> Compiled {
    let (name, version): (Arc<str>, Arc<str>) = (Arc::from(name), Arc::from(version.to_string()));
    let facts = NodeFacts {
        name: Arc::clone(&name),
        resource_version: Arc::clone(&version),
        pod_limit: limit,
        ..NodeFacts::default()
    };
    let uid = Arc::from(format!("uid-{name}"));
    Compiled { identity: Identity { kind: Kind::Node, key: name, uid, version }, record: Record::Node(Arc::new(facts)) }
}

fn pod(name: &str, version: u32, node: &str) -> Compiled {
    let record = PodRecord {
        uid: Arc::from(format!("uid-{name}")),
        namespace: Arc::from("ns"),
        name: Arc::from(name),
        resource_version: Arc::from(version.to_string()),
        node_name: Some(Arc::from(node)),
        terminating: false,
        ownership: Ownership::Own,
        priority: 0,
        nominated_node: None,
        facts: Arc::new(PodFacts::default()),
        account: None,
        pending: None,
    };
    let identity = Identity {
        kind: Kind::Pod,
        key: Arc::from(format!("ns/{name}")),
        uid: Arc::clone(&record.uid),
        version: Arc::clone(&record.resource_version),
    };
    Compiled { identity, record: Record::Pod(Arc::new(record)) }
}

/// Lists of a scripted server, by kind, each at its version.
type Lists = Arc<Mutex<FxHashMap<Kind, (Vec<Compiled>, Arc<str>)>>>;

/// Scripted server, and the cache that is to equal it.
struct Bench {
    writer: SharedWriter,
    reader: Reader,
    feed: Feed,
    server: Lists,
    audit: Audit,
}

impl Bench {
    async fn new() -> Self {
        let (writer, reader) = cache::new();
        let writer = Arc::new(Mutex::new(writer));
        let feed = Feed::start(Arc::clone(&writer), feed::Metrics::default()).unwrap();
        let server = Arc::<Mutex<FxHashMap<Kind, (Vec<Compiled>, Arc<str>)>>>::default();
        let listed = Arc::clone(&server);
        let list: List = Box::new(move |kind| {
            let (objects, version) = listed.lock().get(&kind).cloned().unwrap_or_default();
            Box::pin(async move { Ok(Listed { objects, version }) })
        });
        let kinds = vec![Kind::Node, Kind::Pod];
        let audit =
            Audit::new(Arc::clone(&writer), feed.clone(), Box::new(move || kinds.clone()), list, Metrics::default());
        let bench = Self { writer, reader, feed, server, audit };
        bench.set(Kind::Node, vec![node("a", 1, 10), node("b", 2, 10)], 9);
        bench.set(Kind::Pod, vec![pod("p", 3, "a"), pod("q", 4, "b")], 9);
        for kind in [Kind::Node, Kind::Pod] {
            let (objects, version) = bench.server.lock().get(&kind).cloned().unwrap();
            bench.deliver(Change::Replaced { kind, objects, version }).await;
        }
        bench
    }

    fn set(&self, kind: Kind, objects: Vec<Compiled>, version: u32) {
        self.server.lock().insert(kind, (objects, Arc::from(version.to_string())));
    }

    /// Delivers a change and waits until it is applied.
    async fn deliver(&self, change: Change) {
        self.feed.deliver(vec![change]);
        self.settled().await;
    }

    async fn settled(&self) {
        while self.feed.backlog() != feed::Backlog::default() {
            tokio::task::yield_now().await;
        }
    }

    fn pods_on(&self, row: u32) -> Option<i64> {
        self.reader.snapshot().pods().get(Row(row)).copied()
    }
}

#[tokio::test(start_paused = true)]
async fn a_cache_that_is_right_is_left_alone() {
    let bench = Bench::new().await;
    let before = bench.reader.snapshot().generation();
    assert_eq!(bench.audit.once().await.differences, 0);
    assert_eq!(bench.reader.snapshot().generation(), before);
}

#[tokio::test(start_paused = true)]
async fn what_is_listed_and_does_not_decode_is_not_removed() {
    let bench = Bench::new().await;
    // The UID is read, or the key stands for it.
    for uid in ["uid-a", "a"] {
        let mut unreadable = node("a", 5, 10);
        unreadable.record = Record::Unreadable;
        unreadable.identity.uid = Arc::from(uid);
        bench.set(Kind::Node, vec![unreadable, node("b", 2, 10)], 12);
        assert_eq!(bench.audit.once().await.differences, 0, "{uid}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_broken_cell_is_found_within_a_period_and_repaired() {
    let bench = Bench::new().await;
    is_found_within(FOUND_WITHIN, bench).await;
}

#[tokio::test(start_paused = true)]
async fn after_an_outage_it_is_found_much_sooner() {
    const { assert!(AUDIT_AFTER_OUTAGE.as_secs() < AUDIT_PERIOD.as_secs() / 5) };
    let bench = Bench::new().await;
    let over = Arc::<Notify>::default();
    let bench = Bench { audit: bench.audit.after(Arc::clone(&over)), ..bench };
    over.notify_one();
    is_found_within(AUDIT_AFTER_OUTAGE + Duration::from_secs(1), bench).await;
}

async fn is_found_within(most: Duration, bench: Bench) {
    let Bench { writer, reader, audit, .. } = bench;
    let metrics = audit.metrics.clone();
    writer.lock().break_cell(Row(0), 0);
    writer.lock().publish();
    assert_eq!(reader.snapshot().pods().get(Row(0)), Some(&2));
    let began = Instant::now();
    let running = tokio::spawn(audit.run());
    let deadline = std::time::Instant::now() + timeout::limit();
    while metrics.runs.get() == 0 {
        assert!(std::time::Instant::now() < deadline, "nothing was checked within {most:?}");
        // Time stands still at the end, while the check takes its turns: not all of them are on this thread.
        if began.elapsed() < most {
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        tokio::task::yield_now().await;
    }
    assert_eq!(reader.snapshot().pods().get(Row(0)), Some(&1));
    assert_eq!(metrics.differences.get_or_create(&OfPart { part: Part::Cells }).get(), 1);
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn a_device_in_use_that_no_claim_holds_is_found_and_repaired() {
    let bench = Bench::new().await;
    bench.writer.lock().break_use();
    assert_eq!(bench.audit.once().await.differences, 1);
    assert_eq!(bench.audit.once().await.differences, 0);
}

#[tokio::test(start_paused = true)]
async fn what_differs_from_the_server_is_repaired_and_counted() {
    let bench = Bench::new().await;
    // Lost: a new pod, a changed node, a deleted pod.
    bench.set(Kind::Node, vec![node("a", 1, 10), node("b", 12, 20)], 15);
    bench.set(Kind::Pod, vec![pod("p", 3, "a"), pod("new", 13, "a")], 15);
    assert_eq!(bench.audit.once().await.differences, 3);
    bench.settled().await;
    assert_eq!(bench.audit.once().await.differences, 0);
    assert_eq!((bench.pods_on(0), bench.pods_on(1)), (Some(2), Some(0)));
    assert_eq!(bench.reader.snapshot().pod_limit().get(Row(1)), Some(&20));
}

#[tokio::test(start_paused = true)]
async fn another_content_at_the_same_version_is_repaired() {
    let bench = Bench::new().await;
    bench.set(Kind::Pod, vec![pod("p", 3, "b"), pod("q", 4, "b")], 15);
    bench.set(Kind::Node, vec![node("a", 1, 11), node("b", 2, 10)], 15);
    assert_eq!(bench.audit.once().await.differences, 2);
    bench.settled().await;
    assert_eq!((bench.pods_on(0), bench.pods_on(1)), (Some(0), Some(2)));
    assert_eq!(bench.audit.once().await.differences, 0);
}

#[tokio::test(start_paused = true)]
async fn what_the_watch_brings_a_moment_later_is_no_drift() {
    let bench = Bench::new().await;
    let pods = vec![pod("p", 3, "a"), pod("late", 13, "a")];
    bench.set(Kind::Pod, pods.clone(), 15);
    let feed = bench.feed.clone();
    let late = async move {
        sleep(AUDIT_SETTLE / 2).await;
        feed.deliver(vec![Change::Object(ObjectChange::Applied(pod("late", 13, "a")))]);
        feed.deliver(vec![Change::Object(ObjectChange::Deleted(Identity {
            version: Arc::from("14"),
            ..pod("q", 4, "b").identity
        }))]);
        while feed.backlog() != feed::Backlog::default() {
            tokio::task::yield_now().await;
        }
    };
    let (checked, ()) = tokio::join!(bench.audit.once(), late);
    assert_eq!(checked.differences, 0);
    // Nothing is repaired by a list that is older than what the cache has seen.
    bench.deliver(Change::Object(ObjectChange::Applied(pod("newer", 16, "a")))).await;
    bench
        .deliver(Change::Object(ObjectChange::Deleted(Identity {
            version: Arc::from("17"),
            ..pod("p", 3, "a").identity
        })))
        .await;
    assert_eq!(bench.audit.once().await.differences, 0);
}

#[tokio::test(start_paused = true)]
async fn what_is_held_of_a_history_that_is_no_more_is_found_and_replaced() {
    let bench = Bench::new().await;
    bench.deliver(Change::Object(ObjectChange::Applied(pod("p", 16, "b")))).await;
    bench.deliver(Change::Object(ObjectChange::Applied(node("a", 17, 20)))).await;
    // Restored from a backup of version 9, and beyond 17 by now: no list of one history shows an object older than it was.
    bench.set(Kind::Pod, vec![pod("p", 3, "a"), pod("q", 4, "b")], 30);
    bench.set(Kind::Node, vec![node("a", 1, 10), node("b", 2, 10)], 30);
    // Deleted in that history, and there again.
    let deleted = Identity { version: Arc::from("18"), ..pod("q", 4, "b").identity };
    bench.deliver(Change::Object(ObjectChange::Deleted(deleted))).await;
    assert_eq!(bench.audit.once().await.differences, 3);
    bench.settled().await;
    assert_eq!((bench.pods_on(0), bench.pods_on(1)), (Some(1), Some(1)));
    assert_eq!(bench.reader.snapshot().pod_limit().get(Row(0)), Some(&10));
    assert_eq!(bench.audit.once().await.differences, 0);
}

/// Its version is higher than that of any list for a long time, and says nothing.
#[tokio::test(start_paused = true)]
async fn a_pod_of_a_history_that_is_no_more_is_removed_where_no_list_has_it() {
    let bench = Bench::new().await;
    // As after a restored list where it could not be removed.
    let pods = {
        let mut writer = bench.writer.lock();
        writer.apply(pod("gone", 500, "a").record);
        writer.publish();
        writer.pods().all()
    };
    bench.feed.ledger().lock().forget_versions(Kind::Pod, &pods);
    bench.set(Kind::Pod, vec![pod("p", 3, "a"), pod("q", 4, "b")], 30);
    assert_eq!(bench.audit.once().await.differences, 1);
    bench.settled().await;
    assert_eq!((bench.pods_on(0), bench.pods_on(1)), (Some(1), Some(1)));
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_not_served_any_more_keeps_its_objects() {
    let bench = Bench::new().await;
    bench.server.lock().insert(Kind::Pod, (Vec::new(), Arc::default()));
    assert_eq!(bench.audit.once().await.differences, 0);
    bench.settled().await;
    assert_eq!((bench.pods_on(0), bench.pods_on(1)), (Some(1), Some(1)));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_lags_brings_nothing_back() {
    let bench = Bench::new().await;
    // A pod was created and deleted unseen; the newest list shows neither.
    let (objects, version) = (vec![pod("p", 3, "a"), pod("q", 4, "b")], Arc::from("100"));
    bench.deliver(Change::Replaced { kind: Kind::Pod, objects, version }).await;
    bench.set(Kind::Pod, vec![pod("p", 3, "a"), pod("q", 4, "b"), pod("ghost", 75, "a")], 78);
    let checked = bench.audit.once().await;
    let why = "the server's list, at version 78, lags behind 100".to_owned();
    let expected = Checked { differences: 0, compared: 1, not_compared: vec![(Kind::Pod, why)] };
    assert_eq!(checked, expected, "that nothing differs is not known of the pods");
    bench.settled().await;
    assert_eq!(bench.pods_on(0), Some(1));
    assert_eq!(bench.audit.metrics.failures.get(), 1);
}

#[tokio::test(start_paused = true)]
async fn repairing_one_object_does_not_observe_everything_up_to_its_version() {
    let bench = Bench::new().await;
    bench.set(Kind::Pod, vec![pod("p", 190, "b"), pod("q", 4, "b")], 195);
    assert_eq!(bench.audit.once().await.differences, 1);
    bench.settled().await;
    assert_eq!((bench.pods_on(0), bench.pods_on(1)), (Some(0), Some(2)));
    assert_eq!(bench.reader.snapshot().pods_resource_version(), "9");
}
