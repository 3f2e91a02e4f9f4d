//! Kinds and annotation keys that come and go, against a scripted server.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::time::Duration;

use tokio::time::advance;

use tokio::time::sleep;

use super::*;
use crate::change::{Change, Record};
use crate::kube::failure::Failure;
use crate::kube::reflector::script::{Answer, Do, Script, bookmark, event, page, seconds};

/// Follower of a scripted server, and the changes that it has delivered, in words.
struct Bench {
    following: Following,
    server: Arc<Script>,
    told: Arc<Mutex<Vec<String>>>,
    freshness: Freshness,
    health: Health,
}

impl Bench {
    fn new(script: Script) -> Self {
        let (server, told) = (Arc::new(script), Arc::<Mutex<Vec<String>>>::default());
        let into = Arc::clone(&told);
        let deliver: Deliver = Arc::new(move |changes| into.lock().extend(changes.iter().map(tell)));
        let (freshness, health) = (Freshness::default(), Health::default());
        let compiler = Compiler::new(&["default-scheduler".to_owned()]);
        let following = Following::new(&server, &compiler, &deliver, (&freshness, &health), &Metrics::default());
        Self { following, server, told, freshness, health }
    }

    fn lease(&self, kinds: &[Kind], keys: &[&str]) -> Lease {
        let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        self.following.lease(kinds.iter().copied().collect(), &Selection::annotations(&keys))
    }

    /// Lets tasks run for a time.
    async fn run(&self, time: Duration) {
        sleep(time).await;
    }

    /// Takes the changes that were delivered since the last call.
    fn told(&self) -> Vec<String> {
        std::mem::take(&mut *self.told.lock())
    }

    /// The requests for a kind since the beginning, without their parameters.
    fn asked(&self, plural: &str) -> Vec<&'static str> {
        let asked = self.server.asked();
        let of_kind = asked.iter().filter(|uri| uri.contains(&format!("/{plural}?")));
        of_kind.map(|uri| if uri.contains("watch=1") { "watch" } else { "list" }).collect()
    }
}

fn tell(change: &Change) -> String {
    let objects = |objects: &[crate::change::Compiled]| {
        let object = |object: &crate::change::Compiled| {
            let annotations = match &object.record {
                Record::Pod(pod) => {
                    pod.facts.annotations.iter().map(|(key, value)| format!("+{key}={value}")).collect()
                }
                _ => String::new(),
            };
            format!(" {}{annotations}", object.identity.key)
        };
        objects.iter().map(object).collect::<String>()
    };
    match change {
        Change::Replaced { kind, objects: listed, .. } => format!("{kind} listed:{}", objects(listed)),
        Change::Restored { kind, objects: listed, .. } => format!("{kind} restored:{}", objects(listed)),
        Change::Recompiled { kind, objects: listed, .. } => format!("{kind} listed again:{}", objects(listed)),
        Change::Dropped { kind } => format!("{kind} dropped"),
        Change::Bookmark { kind, .. } => format!("{kind} bookmark"),
        Change::Object(crate::change::ObjectChange::Applied(object)) => {
            format!("{} applied:{}", object.identity.kind, objects(std::slice::from_ref(object)))
        }
        Change::Object(_) => "another change".to_owned(),
    }
}

fn pod(name: &str, version: u32) -> String {
    format!(
        r#"{{"metadata":{{"name":"{name}","namespace":"ns","uid":"u-{name}","resourceVersion":"{version}","annotations":{{"team":"a","tier":"b","other":"c"}}}}}}"#
    )
}

fn class(name: &str) -> String {
    format!(r#"{{"metadata":{{"name":"{name}","uid":"u-{name}","resourceVersion":"5"}},"provisioner":"p"}}"#)
}

const NOW: Duration = Duration::from_millis(1);

#[tokio::test(start_paused = true)]
async fn a_kind_is_followed_for_as_long_as_a_lease_names_it_and_dropped_after_its_task() {
    let script = Script::default().page("10", &[pod("a", 3)]).page("20", &[class("slow")]);
    let bench = Bench::new(script.watch([Do::Silence]));
    let first = bench.lease(&[Kind::Pod], &[]);
    first.count();
    bench.run(NOW).await;
    let second = bench.lease(&[Kind::Pod, Kind::StorageClass], &[]);
    assert_eq!(second.new_kinds(), BTreeSet::from([Kind::StorageClass]));
    bench.run(NOW).await;
    assert_eq!(bench.told(), ["Pod listed: ns/a", "StorageClass listed: slow"]);
    assert_eq!((bench.following.kinds(), bench.freshness.staleness_of(Kind::StorageClass)), (vec![Kind::Pod], None));
    advance(seconds(3)).await;
    second.count();
    assert_eq!(second.new_kinds(), BTreeSet::new());
    assert!(bench.freshness.staleness_of(Kind::StorageClass).unwrap() >= seconds(3), "since its list");
    drop(first);
    assert_eq!(bench.told(), [""; 0], "both are needed");
    let third = bench.lease(&[Kind::Pod], &[]);
    drop(second);
    assert_eq!(bench.told(), ["StorageClass dropped"]);
    assert_eq!((bench.following.kinds(), bench.freshness.staleness_of(Kind::StorageClass)), (vec![Kind::Pod], None));
    let asked = bench.asked("storageclasses");
    bench.run(seconds(100)).await;
    assert_eq!((bench.asked("storageclasses"), asked), (vec!["list", "watch"], vec!["list", "watch"]));
    assert!(bench.asked("pods").len() > 3, "pods are still followed");
    // The end of the last lease is the end of the process: the cache stays as it is.
    bench.told();
    drop(third);
    bench.run(seconds(100)).await;
    assert_eq!(bench.told(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_cannot_be_listed_for_a_policy_that_is_not_active_is_no_outage_and_leaves_nothing() {
    let denied = Failure::from_status(403, None, b"storageclasses is forbidden");
    let mut script = Script::default().page("10", &[]);
    for _ in 0..20 {
        script = script.list(Answer::No(denied.clone()));
    }
    let bench = Bench::new(script);
    let active = bench.lease(&[Kind::Pod], &[]);
    active.count();
    bench.run(NOW).await;
    let next = bench.lease(&[Kind::Pod, Kind::StorageClass], &[]);
    bench.run(seconds(60)).await;
    assert!(bench.asked("storageclasses").len() >= 4, "it is tried again");
    assert_eq!(next.failure(Kind::StorageClass).unwrap(), "403: storageclasses is forbidden");
    let is_told = || bench.health.report().is_some_and(|report| report.contains("storageclasses"));
    assert_eq!((is_told(), bench.following.kinds()), (false, vec![Kind::Pod]));
    drop(next);
    let asked = bench.asked("storageclasses").len();
    bench.run(seconds(60)).await;
    assert_eq!((bench.asked("storageclasses").len(), is_told()), (asked, false));
}

#[tokio::test(start_paused = true)]
async fn what_a_task_says_after_its_end_goes_nowhere_and_a_kind_can_come_back_at_once() {
    let script = Script::default().page("10", &[]).page("20", &[class("slow")]).page("30", &[class("fast")]);
    let bench = Bench::new(script);
    let pods = bench.lease(&[Kind::Pod], &[]);
    bench.run(NOW).await;
    let classes = bench.lease(&[Kind::StorageClass], &[]);
    classes.count();
    bench.run(NOW).await;
    let outlet = Arc::clone(&bench.following.shared.state.lock().tasks[&Kind::StorageClass].outlet);
    drop(classes);
    outlet.deliver(vec![Change::Bookmark { kind: Kind::StorageClass, version: Arc::from("99") }]);
    outlet.confirm_at(tokio::time::Instant::now());
    outlet.failed(&Failure::Transport("late".to_owned()));
    outlet.count();
    assert_eq!((bench.freshness.staleness_of(Kind::StorageClass), bench.health.report()), (None, None));
    let again = bench.lease(&[Kind::StorageClass], &[]);
    assert_eq!(again.new_kinds(), BTreeSet::from([Kind::StorageClass]), "it counts as new");
    bench.run(NOW).await;
    let expected = ["Pod listed:", "StorageClass listed: slow", "StorageClass dropped", "StorageClass listed: fast"];
    assert_eq!(bench.told(), expected);
    drop(pods);
}

#[tokio::test(start_paused = true)]
async fn other_annotations_are_kept_after_one_more_list_and_fewer_need_none() {
    let script = Script::default().page("10", &[pod("a", 3)]).page("12", &[pod("a", 3), pod("b", 12)]);
    let script = script.watch([bookmark(11), Do::Silence]).watch([event("ADDED", &pod("c", 13)), Do::Silence]);
    let bench = Bench::new(script);
    let first = bench.lease(&[Kind::Pod], &["tier"]);
    assert_eq!(first.not_recompiled(), BTreeSet::new());
    bench.run(NOW).await;
    assert_eq!(bench.told(), ["Pod listed: ns/a+tier=b", "Pod bookmark"]);
    let second = bench.lease(&[Kind::Pod], &["team"]);
    assert_eq!(second.not_recompiled(), BTreeSet::from([Kind::Pod]));
    bench.run(NOW).await;
    assert_eq!(second.not_recompiled(), BTreeSet::new());
    // Those of both policies, of what has not changed too, and of what the watch brings from then on.
    let expected = ["Pod listed again: ns/a+team=a+tier=b ns/b+team=a+tier=b", "Pod applied: ns/c+team=a+tier=b"];
    assert_eq!(bench.told(), expected);
    assert_eq!(bench.asked("pods"), ["list", "watch", "list", "watch"]);
    drop(first);
    let third = bench.lease(&[Kind::Pod], &["team", "tier"]);
    bench.run(NOW).await;
    assert_eq!(third.not_recompiled(), BTreeSet::new(), "they are still there");
    assert_eq!(bench.asked("pods").iter().filter(|asked| **asked == "list").count(), 2);
    assert_eq!(
        bench.following.compiler(Kind::Pod).selection().annotation_keys.len(),
        2,
        "for those who compare with a list"
    );
    drop(second);
}

#[tokio::test(start_paused = true)]
async fn a_list_with_other_annotations_is_not_older_than_what_was_seen() {
    let script = Script::default().page("10", &[pod("a", 3)]).page("11", &[]).page("12", &[pod("a", 3)]);
    let bench = Bench::new(script.watch([bookmark(12), Do::Silence]));
    let _first = bench.lease(&[Kind::Pod], &[]);
    bench.run(NOW).await;
    let second = bench.lease(&[Kind::Pod], &["team"]);
    bench.run(seconds(2)).await;
    assert_eq!(bench.told(), ["Pod listed: ns/a", "Pod bookmark", "Pod listed again: ns/a+team=a"]);
    assert_eq!((bench.asked("pods").len(), second.not_recompiled()), (5, BTreeSet::new()));
}

#[tokio::test(start_paused = true)]
async fn the_watch_goes_on_where_a_policy_with_other_annotations_is_refused_before_they_are_listed() {
    for hangs in [false, true] {
        let refused = || Answer::No(Failure::from_status(500, None, b"etcdserver: leader changed"));
        let mut script = Script::default().page("10", &[pod("a", 3)]);
        for _ in 0..10 {
            script = script.list(if hangs { Answer::Hang } else { refused() });
        }
        let bench =
            Bench::new(script.watch([bookmark(12), Do::Silence]).watch([event("ADDED", &pod("b", 13)), Do::Silence]));
        let first = bench.lease(&[Kind::Pod], &[]);
        first.count();
        bench.run(NOW).await;
        let second = bench.lease(&[Kind::Pod], &["team"]);
        bench.run(seconds(10)).await;
        assert_eq!(bench.told(), ["Pod listed: ns/a", "Pod bookmark"], "hangs: {hangs}");
        assert_eq!(second.failure(Kind::Pod).is_some(), !hangs);
        drop(second);
        bench.run(NOW).await;
        assert_eq!(bench.told(), ["Pod applied: ns/b"], "hangs: {hangs}");
        let asked = bench.server.asked();
        let watch = asked.iter().rfind(|uri| uri.contains("watch=1")).unwrap();
        assert!(watch.ends_with("resourceVersion=12"), "from where it was");
        assert!(bench.freshness.staleness_of(Kind::Pod).unwrap() < seconds(1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_on_its_way_begins_again_where_more_annotations_are_wanted() {
    let script = Script::default().list(Answer::Page(page("10", Some("more"), &[pod("a", 3)]))).list(Answer::Hang);
    let bench = Bench::new(script.page("11", &[pod("a", 3)]));
    let _first = bench.lease(&[Kind::Pod], &[]);
    bench.run(NOW).await;
    let _second = bench.lease(&[Kind::Pod], &["team"]);
    bench.run(NOW).await;
    assert_eq!(bench.told(), ["Pod listed again: ns/a+team=a"]);
}

fn config_map(name: &str, version: u32) -> String {
    format!(
        r#"{{"metadata":{{"name":"{name}","namespace":"ops","uid":"u-{name}","resourceVersion":"{version}"}},"data":{{"k":"{version}"}}}}"#
    )
}

impl Bench {
    fn lease_config_maps(&self, names: &[&str]) -> Lease {
        let config_maps = names.iter().map(|name| (*name).to_owned()).collect();
        let selection = Selection { config_maps, ..Selection::default() };
        self.following.lease(BTreeSet::from([Kind::ConfigMap]), &selection)
    }
}

#[tokio::test(start_paused = true)]
async fn config_maps_are_read_one_by_one_and_are_one_kind_to_the_feed() {
    let script = Script::default().page("10", &[config_map("a", 5)]).page("11", &[]);
    // Either of the two may be watched first; what is said of another object is not heeded.
    let of_b = || [event("ADDED", &config_map("b", 12)), bookmark(13), Do::Silence];
    let script = script.watch(of_b()).watch(of_b());
    // Of c, and of b once it is wanted again.
    let script = script.page("20", &[config_map("c", 15), config_map("other", 15)]).page("30", &[]);
    let bench = Bench::new(script);
    let first = bench.lease_config_maps(&["ops/a", "ops/b"]);
    assert_eq!(first.new_kinds(), BTreeSet::from([Kind::ConfigMap]));
    bench.run(NOW).await;
    // The list of a may be decoded after the event of b.
    let told = bench.told();
    let orders = [&["ConfigMap listed: ops/a", "ConfigMap applied: ops/b"][..], &["ConfigMap listed: ops/a ops/b"]];
    assert!(orders.contains(&&told.iter().map(String::as_str).collect::<Vec<_>>()[..]), "{told:?}");
    first.count();
    assert_eq!((first.not_recompiled(), first.selected()), (BTreeSet::new(), BTreeSet::from([Kind::ConfigMap])));
    let asked = bench.server.asked();
    let of = |name: &str, what: &str| {
        let path = "/api/v1/namespaces/ops/configmaps?";
        let selector = format!("fieldSelector=metadata.name%3D{name}");
        asked.iter().any(|uri| uri.starts_with(path) && uri.ends_with(&selector) && uri.contains(what))
    };
    assert!(["limit=", "watch=1"].iter().all(|what| of("a", what) && of("b", what)) && asked.len() == 4, "{asked:?}");
    let second = bench.lease_config_maps(&["ops/a", "ops/c"]);
    assert_eq!(second.not_recompiled(), BTreeSet::from([Kind::ConfigMap]), "c is not there yet");
    drop(first);
    bench.run(NOW).await;
    // What no policy lists any more is still held, and is not followed.
    assert_eq!(bench.told(), ["ConfigMap listed again: ops/a ops/b ops/c"]);
    assert_eq!(second.not_recompiled(), BTreeSet::new());
    let third = bench.lease_config_maps(&["ops/b"]);
    bench.run(NOW).await;
    assert_eq!(bench.told(), ["ConfigMap listed again: ops/a ops/c"], "b has gone meanwhile");
    drop(second);
    drop(third);
}

#[tokio::test(start_paused = true)]
async fn config_maps_are_as_fresh_as_the_one_that_was_shown_longest_ago() {
    let forbidden = Failure::from_status(403, None, b"configmaps is forbidden");
    let script = Script::default().page("10", &[config_map("a", 5)]).list(Answer::No(forbidden));
    let bench = Bench::new(script.watch([Do::Pause(seconds(10)), bookmark(11), Do::Silence]));
    let lease = bench.lease_config_maps(&["ops/a", "ops/b"]);
    lease.count();
    bench.run(NOW).await;
    assert_eq!(bench.told(), Vec::<String>::new(), "b has not been listed");
    assert!(lease.failure(Kind::ConfigMap).is_some_and(|failure| failure.contains("forbidden")));
    bench.run(seconds(11)).await;
    assert_eq!(bench.freshness.staleness_of(Kind::ConfigMap), None, "nothing has shown b");
    assert_eq!(lease.not_recompiled(), BTreeSet::from([Kind::ConfigMap]));
}

#[tokio::test(start_paused = true)]
async fn a_config_map_that_only_a_candidate_lists_and_that_cannot_be_read_makes_nothing_stale() {
    for hangs in [false, true] {
        let refused = || Answer::No(Failure::from_status(403, None, b"configmaps is forbidden"));
        let mut script = Script::default().page("10", &[config_map("a", 5)]);
        for _ in 0..20 {
            script = script.list(if hangs { Answer::Hang } else { refused() });
        }
        // Only a is watched.
        for version in 11..31 {
            script = script.watch([Do::Pause(seconds(5)), bookmark(version)]);
        }
        let bench = Bench::new(script);
        let active = bench.lease_config_maps(&["ops/a"]);
        active.count();
        bench.run(NOW).await;
        let candidate = bench.lease_config_maps(&["ops/a", "ops/b"]);
        bench.run(seconds(40)).await;
        let staleness = || bench.freshness.staleness_of(Kind::ConfigMap).unwrap();
        assert!(staleness() < seconds(7), "hangs: {hangs}");
        assert_eq!((bench.health.report(), active.failure(Kind::ConfigMap)), (None, None), "hangs: {hangs}");
        assert_eq!(candidate.failure(Kind::ConfigMap).is_some(), !hangs);
        assert_eq!(candidate.not_recompiled(), BTreeSet::from([Kind::ConfigMap]));
        // Once its policy is active, b counts as well.
        candidate.count();
        bench.run(seconds(20)).await;
        assert!(staleness() >= seconds(15), "hangs: {hangs}");
        drop(candidate);
        assert!(staleness() < seconds(7), "hangs: {hangs}");
    }
}

#[tokio::test(start_paused = true)]
async fn without_config_maps_to_follow_their_list_is_there_at_once() {
    let bench = Bench::new(Script::default());
    let lease = bench.lease_config_maps(&[]);
    assert_eq!(bench.told(), ["ConfigMap listed:"]);
    assert_eq!((bench.server.asked().len(), lease.not_recompiled()), (0, BTreeSet::new()));
    drop(lease);
}
