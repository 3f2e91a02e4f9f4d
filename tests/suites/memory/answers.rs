//! Allocations of an answer: with cached verdicts nothing but itself.

use std::path::Path;
use std::time::Duration;

use allocation_counter::{AllocationInfo, measure};
use nodesift_cache::metadata;
use nodesift_cache::{self as cache, Reader, Writer};
use nodesift_engine::{Engine, Options, PodRef, Query, Reuse};
use nodesift_fixtures::synthetic::{PENDING, Shape};
use nodesift_object::{Node, Pod};
use nodesift_policy::Policy;
use nodesift_sandbox::Runtime;
use nodesift_tests::compiled;

/// Queries before a measured one: guests grow their memory, columns and counts are built, verdicts cached.
const WARM_UP: usize = 5;

/// Time per call, in place of the policy's: this suite counts allocations, and a busy machine is slow.
const CALL_TIME: Duration = Duration::from_secs(10);

/// Scheduler names of the default policy.
fn own() -> [String; 1] {
    ["default-scheduler".to_owned()]
}

/// A synthetic cluster with the pods to place among its pods.
pub(crate) struct Cluster {
    writer: Writer,
    reader: Reader,
    uids: Vec<String>,
}

impl Cluster {
    pub(crate) fn new(shape: Shape) -> Self {
        let (mut writer, reader) = cache::new();
        for json in shape.nodes() {
            writer.apply(metadata::node(&serde_json::from_str::<Node>(&json).unwrap()));
        }
        let mut uids = Vec::new();
        let pending = PENDING.iter().map(|(_, json)| (*json).to_owned());
        for (is_pending, json) in shape.pods().map(|json| (false, json)).chain(pending.map(|json| (true, json))) {
            let record = metadata::pod_record(&serde_json::from_str::<Pod>(&json).unwrap(), &own());
            if is_pending {
                uids.push(record.uid.to_string());
            }
            writer.apply(record);
        }
        writer.publish();
        Self { writer, reader, uids }
    }

    pub(crate) fn engine(&self, reuse: Reuse) -> Engine {
        let binary = Path::new(env!("CARGO_BIN_EXE_nodesift"));
        let runtime = Runtime::start(Some(&compiled::folder(binary, Path::new(env!("CARGO_TARGET_TMPDIR"))))).unwrap();
        let builtins: Vec<&str> = nodesift_bundle::BUILTINS.iter().map(|builtin| builtin.name).collect();
        let mut policy = Policy::read(nodesift_bundle::DEFAULT_POLICY, "default", Path::new(""), &builtins).unwrap();
        policy.predicates.iter_mut().for_each(|predicate| predicate.limits.time_per_call = Some(CALL_TIME));
        let active = nodesift_policy::activate(&policy, 1, &runtime).unwrap();
        Engine::new(self.reader.clone(), active, runtime).with_reuse(reuse)
    }

    /// UIDs of the pods to place.
    pub(crate) fn uids(&self) -> &[String] {
        &self.uids
    }

    /// Measures the allocations of an answer about a pod, after some answers about it.
    pub(crate) fn evaluated(&mut self, engine: &Engine, uid: &str) -> AllocationInfo {
        let query = query(&[uid.to_owned()]);
        for _ in 0..WARM_UP {
            engine.answer(&query, Options::default()).unwrap();
            // The writer maintains the columns that readers have requested from its next publication on.
            self.writer.publish();
        }
        let mut is_whole = true;
        let info = measure(|| {
            is_whole = engine.answer(&query, Options::default()).unwrap().pods.iter().all(|pod| pod.faults.is_empty())
        });
        assert!(is_whole, "an answer without faults");
        info
    }
}

pub(crate) fn query(uids: &[String]) -> Query {
    Query::new(uids.iter().map(|uid| PodRef::Uid(uid.clone())))
}

/// The list of pods and the name of each are the answer. To find the verdicts of all predicates, check that they are valid and
/// combine them allocates nothing, at any size of the cluster, and neither does it to note that a core has asked.
#[test]
fn an_answer_from_cached_verdicts_allocates_nothing_but_itself() {
    for nodes in [50, 1_000] {
        let mut cluster = Cluster::new(Shape { nodes, pods_per_node: 30, seed: 1 });
        let engine = cluster.engine(Reuse::On);
        for uid in cluster.uids().to_vec() {
            cluster.evaluated(&engine, &uid);
        }
        let snapshot = engine.snapshot();
        engine.asked().advance();
        let asker = engine.asked().asker("a core");
        for pods in 1..=cluster.uids().len() {
            let query = query(&cluster.uids()[..pods]).with_asker(Some(asker));
            // Once more, because the first look-up notes that the verdicts are still valid.
            engine.answer_cached(&query, &snapshot).expect("all verdicts are cached");
            let mut answer = None;
            let info = measure(|| answer = engine.answer_cached(&query, &snapshot));
            let answer = answer.expect("all verdicts are cached");
            println!("{pods} pods on {nodes} nodes: {} allocations of {} bytes", info.count_total, info.bytes_total);
            assert_eq!(info.count_total, 1 + pods as u64, "the list of pods, and their names");
            let itself = size_of_val(&answer.pods[..]) + answer.pods.iter().map(|pod| pod.pod.len()).sum::<usize>();
            assert!(info.bytes_total <= 4 * itself as u64, "{} bytes for an answer of {itself}", info.bytes_total);
            assert!(answer.pods.iter().all(|pod| engine.asked().last(&pod.pod).is_some()));
        }
    }
}
