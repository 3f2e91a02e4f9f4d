//! The list of pending pods against a slow twin that asks about every pod anew, and its document.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::calls::testing;
use nodesift_cache::metadata::{self, Ownership, PodRecord};
use nodesift_cache::{self as cache, Identity, Writer};
use nodesift_engine::pending::{AfterRest, Answered};
use nodesift_engine::why::WhyOptions;
use nodesift_engine::{Code, Depth, Engine, Options, PodAnswer, PodRef, Query};

const PREDICATES: [&str; 4] = ["NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodeResourcesFit"];

/// A cluster that changes at random, and the engine over it.
struct World {
    writer: Writer,
    engine: Engine,
    schedulers: Vec<String>,
}

impl World {
    fn new() -> Self {
        let (writer, reader) = cache::new();
        let (policy, runtime) = testing::active(&PREDICATES);
        let schedulers = policy.scheduler_names.clone();
        Self { writer, engine: Engine::new(reader, policy, runtime), schedulers }
    }

    fn node(&mut self, object: &Value) {
        self.writer.apply(metadata::node(&serde_json::from_str(&object.to_string()).unwrap()));
    }

    fn pod(&mut self, object: &Value) -> PodRecord {
        let record = metadata::pod_record(&serde_json::from_str(&object.to_string()).unwrap(), &self.schedulers);
        self.writer.apply(record.clone());
        record
    }

    /// Publishes, and makes the list without rests.
    fn list(&mut self) -> Arc<Listed> {
        self.writer.publish();
        self.engine.list_pending(&mut |_: Duration| AfterRest::GoOn);
        self.engine.pending().listed().unwrap()
    }

    /// The cause of a pod by what each predicate says alone about each node.
    fn twin(&self, record: &Arc<PodRecord>) -> (Cause, Option<Twin>) {
        if record.terminating {
            return (Cause::Terminating, None);
        }
        if record.pending.as_ref().is_some_and(|pending| !pending.gates.is_empty()) {
            return (Cause::Gated, None);
        }
        if record.ownership != Ownership::Own {
            return (Cause::OtherScheduler, None);
        }
        let query = Query::new([PodRef::Known(Arc::clone(record))]).with_depth(Depth::Each);
        let answer = self.engine.answer(&query, Options::default()).unwrap();
        let rows = answer.snapshot.node_count();
        let answer = answer.pods.into_iter().next().unwrap();
        let twin = Twin::new(&answer, rows);
        let cause = match (&twin, &record.nominated_node) {
            (Twin { feasible: 0, first, .. }, _) if first.iter().all(|(_, code)| *code != Code::Unschedulable) => {
                Cause::NeverFits
            }
            (Twin { feasible: 0, .. }, None) => Cause::NoRoom,
            (_, Some(_)) => Cause::Nominated,
            (_, None) => Cause::Fits,
        };
        (cause, Some(twin))
    }
}

/// The first predicate that rejects each node.
struct Twin {
    feasible: usize,
    first: Vec<(String, Code)>,
    message: Option<String>,
}

impl Twin {
    fn new(answer: &PodAnswer, rows: usize) -> Self {
        let mut first = Vec::new();
        for row in 0..rows {
            let rejects = answer.predicates.iter().find_map(|alone| {
                let groups = &alone.failures;
                let group = groups.iter().find(|group| group.rows.iter().any(|rejected| rejected.index() == row))?;
                Some((alone.predicate.to_string(), group.code))
            });
            first.extend(rejects);
        }
        Self { feasible: rows - first.len(), first, message: answer.message.as_deref().map(str::to_owned) }
    }

    fn rejects(&self) -> BTreeMap<&str, usize> {
        let mut rejects = BTreeMap::new();
        self.first.iter().for_each(|(predicate, _)| *rejects.entry(predicate.as_str()).or_default() += 1);
        rejects
    }
}

fn random_node(random: &mut fastrand::Rng, number: usize) -> Value {
    let taints =
        if random.u8(0..3) == 0 { json!([{"key": "gpu", "value": "a", "effect": "NoSchedule"}]) } else { json!([]) };
    json!({"metadata": {"name": format!("n{number}"), "labels": {"zone": random.choice(["a", "b"]).unwrap()}},
        "spec": {"taints": taints, "unschedulable": random.u8(0..5) == 0},
        "status": {"allocatable": {"cpu": random.u8(1..4).to_string(), "pods": "5"}}})
}

fn random_pod(random: &mut fastrand::Rng, number: usize) -> Value {
    let mut pod = json!({"metadata": {"name": format!("p{number}"), "namespace": "ns", "uid": format!("u{number}"),
            "creationTimestamp": "2026-11-30T07:00:00Z"},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": random.u8(1..6).to_string()}}}]}});
    if random.bool() {
        pod["spec"]["nodeSelector"] = json!({"zone": random.choice(["a", "b", "c"]).unwrap()});
    }
    if random.bool() {
        pod["spec"]["tolerations"] = json!([{"operator": "Exists"}]);
    }
    match random.u8(0..12) {
        0 => pod["spec"]["schedulingGates"] = json!([{"name": "quota"}]),
        1 => pod["spec"]["schedulerName"] = json!("other"),
        2 => pod["metadata"]["deletionTimestamp"] = json!("2026-11-30T08:00:00Z"),
        3 => pod["status"] = json!({"nominatedNodeName": "n1"}),
        4..7 => pod["spec"]["nodeName"] = json!(format!("n{}", random.usize(0..6))),
        _ => {}
    }
    pod
}

#[test]
fn each_list_is_that_of_a_slow_twin_whatever_changes() {
    let seed = nodesift_seed::seed();
    let mut random = fastrand::Rng::with_seed(seed);
    let mut world = World::new();
    let mut met: BTreeMap<&str, usize> = BTreeMap::new();
    let mut version = 0;
    for _ in 0..120 {
        for _ in 0..random.usize(0..4) {
            match random.u8(0..6) {
                0 => world.writer.remove(&Identity::node(&format!("n{}", random.usize(0..6)))),
                1 => world.writer.remove(&Identity::pod(&format!("u{}", random.usize(0..20)))),
                2 => {
                    let number = random.usize(0..6);
                    world.node(&random_node(&mut random, number));
                }
                _ => {
                    let number = random.usize(0..20);
                    world.pod(&random_pod(&mut random, number));
                }
            }
        }
        let listed = world.list();
        assert!(listed.version >= version, "seed {seed}");
        version = listed.version;
        let pending = world.engine.pending_pods();
        let names = |record: &PodRecord| record.name.to_string();
        let found: Vec<String> = listed.pods.iter().map(|pod| names(&pod.record)).collect();
        assert_eq!(found, pending.iter().map(|pod| names(pod)).collect::<Vec<_>>(), "seed {seed}");
        for pod in &listed.pods {
            let (cause, twin) = world.twin(&pod.record);
            assert_eq!(pod.reason.cause, cause, "seed {seed}: {pod:?}");
            assert_eq!(pod.answered.is_some(), twin.is_some(), "seed {seed}: {pod:?}");
            if let (Some(answered), Some(twin)) = (&pod.answered, &twin) {
                let rejects: BTreeMap<&str, usize> =
                    answered.rejects.iter().map(|(predicate, nodes)| (&**predicate, *nodes)).collect();
                assert_eq!((answered.feasible, rejects), (twin.feasible, twin.rejects()), "seed {seed}: {pod:?}");
                assert_eq!(answered.message.as_deref(), twin.message.as_deref(), "seed {seed}");
                assert_eq!(answered.nodes, twin.feasible + twin.first.len(), "seed {seed}");
            }
            *met.entry(cause.name()).or_default() += 1;
        }
        for (cause, of_cause) in listed.causes() {
            let pods = || listed.pods.iter().filter(|pod| pod.reason.cause == cause);
            let oldest = pods().map(|pod| pod.created()).min();
            assert_eq!((of_cause.count, of_cause.oldest), (pods().count(), oldest), "seed {seed}: {cause:?}");
        }
        for predicate in PREDICATES {
            let is_rejected = |answered: &&Arc<Answered>| answered.is_rejected_by(predicate);
            let pods = listed.pods.iter().filter_map(|pod| pod.answered.as_ref()).filter(is_rejected).count();
            assert_eq!(listed.totals.rejected.get(predicate).copied().unwrap_or(0), pods, "seed {seed}: {predicate}");
        }
    }
    assert!(met.len() >= 5, "seed {seed}: {met:?}");
}

#[test]
fn nothing_that_is_the_same_makes_another_list() {
    let mut world = World::new();
    world.node(&json!({"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "1", "pods": "5"}}}));
    world.pod(&random_pod(&mut fastrand::Rng::with_seed(1), 0));
    let first = world.list();
    let second = world.list();
    assert_eq!((first.version, first.generation), (second.version, second.generation));
    assert!(Arc::ptr_eq(&first.pods[0], &second.pods[0]));
}

#[test]
fn a_pod_keeps_its_causes_until_it_has_left_for_long() {
    let mut world = World::new();
    let node = |cpu: &str| json!({"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": cpu, "pods": "5"}}});
    let pod = json!({"metadata": {"name": "p", "namespace": "ns", "uid": "u"},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}});
    world.node(&node("1"));
    world.pod(&pod);
    let causes = |pod: &PendingPod| pod.history.iter().map(|past| past.cause).collect::<Vec<_>>();
    assert_eq!(causes(&world.list().pods[0]), [Cause::NeverFits]);
    world.node(&node("2"));
    assert_eq!(causes(&world.list().pods[0]), [Cause::NeverFits, Cause::Fits]);
    world.writer.assume("u", "n", std::time::Instant::now()).unwrap();
    let listed = world.list();
    assert_eq!(causes(&listed.pods[0]), [Cause::NeverFits, Cause::Fits, Cause::Assumed]);
    assert_eq!(&*listed.pods[0].reason.subjects[0], "n");
    assert!(world.engine.pending().gone("ns", "p").is_none());
    world.writer.remove(&Identity::pod("u"));
    assert!(world.list().pods.is_empty());
    let gone = world.engine.pending().gone("ns", "p").unwrap();
    assert_eq!(causes(&gone.pod), [Cause::NeverFits, Cause::Fits, Cause::Assumed]);
    // More changes than are kept.
    world.pod(&pod);
    for round in 0..30 {
        world.node(&node(if round % 2 == 0 { "1" } else { "2" }));
        world.list();
    }
    let listed = world.list();
    assert_eq!(listed.pods[0].history.len(), nodesift_engine::limits::CAUSES_KEPT);
    assert_eq!(listed.pods[0].history.last().unwrap().cause, Cause::Fits);
}

#[test]
fn who_makes_the_list_may_stop_and_the_last_one_stays() {
    let mut world = World::new();
    world.node(&json!({"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "1", "pods": "5"}}}));
    let first = world.list();
    let mut rests = 0;
    for number in 0..5_000 {
        world.pod(&json!({"metadata": {"name": format!("p{number}"), "namespace": "ns"},
            "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": format!("{number}m")}}}]}}));
    }
    world.writer.publish();
    world.engine.list_pending(&mut |_: Duration| {
        rests += 1;
        AfterRest::Stop
    });
    // 5,000 templates take more than a millisecond of any processor.
    assert_eq!(rests, 1);
    assert!(Arc::ptr_eq(&first, &world.engine.pending().listed().unwrap()));
}

#[test]
fn what_there_is_of_a_list_is_published_without_what_was_bound_meanwhile() {
    let mut world = World::new();
    world.node(&json!({"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "1", "pods": "5"}}}));
    let pod = |name: &str, cpu: &str, node: &str| {
        json!({"metadata": {"name": name, "namespace": "ns", "uid": name},
            "spec": {"nodeName": node, "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}})
    };
    for name in ["assumed", "bound", "deleted", "pending"] {
        world.pod(&pod(name, "1m", ""));
    }
    let first = world.list();
    for number in 0..1_000 {
        world.pod(&pod(&format!("new-{number}"), &format!("{}m", 2 + number), ""));
    }
    world.writer.publish();
    let World { writer, engine, schedulers } = &mut world;
    let mut rests = 0;
    engine.list_pending(&mut |_: Duration| {
        rests += 1;
        if rests > 1 {
            return AfterRest::Stop;
        }
        writer.assume("assumed", "n", std::time::Instant::now()).unwrap();
        let bound = serde_json::from_value(pod("bound", "1m", "n")).unwrap();
        writer.apply(metadata::pod_record(&bound, schedulers));
        writer.remove(&Identity::pod("deleted"));
        AfterRest::Publish
    });
    // 1,000 templates take more than two milliseconds of any processor.
    assert_eq!(rests, 2);
    let listed = engine.pending().listed().unwrap();
    assert_eq!(listed.version, first.version + 1);
    assert_eq!(listed.pods.len() + listed.unlisted, 1_002);
    assert!(listed.pods.len() < 1_002, "1,000 templates take more than a millisecond");
    assert!(Arc::ptr_eq(listed.pod("ns", "pending").unwrap(), first.pod("ns", "pending").unwrap()));
    let assumed = listed.pod("ns", "assumed").unwrap();
    assert_eq!(assumed.history.iter().map(|past| past.cause).collect::<Vec<_>>(), [Cause::Fits, Cause::Assumed]);
    for name in ["bound", "deleted"] {
        assert!(listed.pod("ns", name).is_none() && engine.pending().gone("ns", name).is_some(), "{name}");
    }
    assert!(engine.pending().gone("ns", "assumed").is_none());
    // The next complete list has them all.
    let complete = world.list();
    assert_eq!((complete.pods.len(), complete.unlisted), (1_002, 0));
}

#[test]
fn why_knows_of_an_assumption_whatever_the_list_says() {
    let mut world = World::new();
    world.node(&json!({"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "1", "pods": "5"}}}));
    let pod =
        |node: &str| json!({"metadata": {"name": "p", "namespace": "ns", "uid": "u"}, "spec": {"nodeName": node}});
    world.pod(&pod(""));
    let why = |world: &mut World| {
        world.writer.publish();
        let query = Query::new([PodRef::Uid("u".to_owned())]);
        let answer = world.engine.why(&query, &world.engine.snapshot(), &WhyOptions::default());
        answer.map(|answer| (answer.reason.cause, answer.since.is_some()))
    };
    assert_eq!(world.list().pods[0].reason.cause, Cause::Fits);
    world.writer.assume("u", "n", std::time::Instant::now()).unwrap();
    // Since when is known once the list has it.
    assert_eq!(why(&mut world).unwrap(), (Cause::Assumed, false));
    assert_eq!(world.list().pods[0].reason.cause, Cause::Assumed);
    assert_eq!(why(&mut world).unwrap(), (Cause::Assumed, true));
    world.pod(&pod("n"));
    let answer = why(&mut world);
    assert!(matches!(answer, Err(nodesift_engine::Error::AlreadyPlaced { .. })), "{answer:?}");
    assert!(world.list().pods.is_empty());
}

#[test]
fn pages_and_groups_are_of_the_pods_that_the_parameters_select() {
    let mut world = World::new();
    world.node(&json!({"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "1", "pods": "5"}}}));
    let pod = |namespace: &str, name: &str, cpu: &str| {
        json!({"metadata": {"name": name, "namespace": namespace, "uid": format!("{namespace}-{name}"),
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "controller": true}]},
            "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}})
    };
    for (namespace, name, cpu) in [("a", "x", "9"), ("a", "y", "9"), ("b", "x", "9"), ("b", "z", "1")] {
        world.pod(&pod(namespace, name, cpu));
    }
    let listed = world.list();
    let document = |query: &str| -> Value {
        let wanted = Wanted::try_new(Some(query)).unwrap();
        serde_json::from_slice(&codec::encode(&Document::new(&listed, &wanted, false)).unwrap()).unwrap()
    };
    let names = |document: &Value| -> Vec<String> {
        let pods = document["pods"].as_array().unwrap().iter();
        pods.map(|pod| format!("{}/{}", pod["namespace"].as_str().unwrap(), pod["name"].as_str().unwrap())).collect()
    };
    let all = document("by=cause");
    assert_eq!(names(&all), ["a/x", "a/y", "b/x", "b/z"]);
    assert_eq!((&all["total"], &all["matching"], &all["next"]), (&json!(4), &json!(4), &json!("")));
    assert_eq!(
        (&all["causes"]["NeverFits"], &all["causes"]["Fits"], &all["causes"]["Gated"]),
        (&json!(3), &json!(1), &json!(0))
    );
    assert_eq!(all["causes"].as_object().unwrap().len(), Cause::ALL.len());
    let group = &all["groups"][0];
    assert_eq!(
        (&group["key"], &group["count"], &group["cause"]),
        (&json!("NeverFits"), &json!(3), &json!("NeverFits"))
    );
    assert_eq!(group["pods"], json!(["a/x", "a/y", "b/x"]));
    assert_eq!(all["pods"][0]["rejects"], json!([{"predicate": "NodeResourcesFit", "nodes": 1}]));
    assert_eq!(all["pods"][0]["owner"], json!({"kind": "ReplicaSet", "name": "web"}));
    let owners: Vec<Value> =
        document("by=owner")["groups"].as_array().unwrap().iter().map(|group| group["key"].clone()).collect();
    assert_eq!(owners, ["ReplicaSet/a/web", "ReplicaSet/b/web"]);
    assert_eq!(document("by=predicate&cause=Fits")["groups"], json!([]));
    assert_eq!(names(&document("namespace=b&cause=NeverFits")), ["b/x"]);
    assert_eq!(names(&document("predicate=NodeResourcesFit&q=/x")), ["a/x", "b/x"]);
    assert_eq!(document("predicate=NodeAffinity")["matching"], json!(0));
    let (first, rest) = (document("limit=3"), document("limit=3&after=b/x"));
    assert_eq!(
        (names(&first), &first["next"]),
        (vec!["a/x".to_owned(), "a/y".to_owned(), "b/x".to_owned()], &json!("b/x"))
    );
    assert_eq!((names(&rest), &rest["next"]), (vec!["b/z".to_owned()], &json!("")));
    assert!(names(&document("limit=0")).is_empty());
    for refused in ["cause=noRoom", "by=node", "limit=1001", "limit=-1", "after=x", "colour=red"] {
        assert!(matches!(Wanted::try_new(Some(refused)), Err(Error::InvalidField { .. })), "{refused}");
    }
}
