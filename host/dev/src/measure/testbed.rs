//! A cluster in a cache, the pods that are evaluated, and what changes between two evaluations. Start at [`Testbed`].

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;

use nodesift_cache::metadata::{self, PodRecord, Pool, Selection};
use nodesift_cache::{Identity, Reader, Row, SharedWriter, Writer};
use nodesift_fixtures::synthetic::{PENDING, Shape};
use nodesift_object::{Node, Pod};
use nodesift_source::change::Compiler;
use nodesift_source::{Loader, Summary, files};

/// Pending replicas of each template in the cache: the queue of a scheduler core holds replicas of few workloads.
pub const REPLICAS: usize = 64;

/// A pod that no selector and no term in the cluster matches.
const UNRELATED_POD: &str = r#"{"metadata":{"namespace":"bench","name":"bench-unrelated","uid":"bench-unrelated"},
    "spec":{"schedulerName":"default-scheduler","containers":[{"name":"c","resources":{"requests":{"cpu":"100m"}}}]}}"#;

/// Rows between the node of one bound pod and that of the next. It is prime, so that every part of a column changes.
pub(super) const STRIDE: usize = 7_919;

/// Why a testbed cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum TestbedError {
    /// A synthetic object does not decode: a defect of this program.
    #[error("cannot decode a synthetic object: {0}")]
    Object(#[from] serde_json::Error),
    /// Files cannot be used.
    #[error(transparent)]
    Files(#[from] files::Error),
}

/// A cluster, and the pods that are evaluated.
#[derive(Debug)]
pub struct Testbed {
    writer: SharedWriter,
    reader: Reader,
    templates: Vec<Template>,
    nodes: usize,
    pods: usize,
    unrelated: PodRecord,
}

/// A pod that is evaluated, and its replicas in the cache.
#[derive(Debug, Clone)]
pub struct Template {
    name: String,
    uids: Vec<String>,
    record: PodRecord,
}

impl Template {
    /// The name in results.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// UIDs of the [`REPLICAS`] pending pods that are equal but for name and UID.
    pub fn uids(&self) -> &[String] {
        &self.uids
    }
}

impl Testbed {
    /// Returns the writer of the cache.
    pub(crate) fn writer(&self) -> &SharedWriter {
        &self.writer
    }

    /// Returns the reader of the cache.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// The pods that are evaluated.
    pub fn templates(&self) -> &[Template] {
        &self.templates
    }

    /// Returns the number of nodes.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// Number of pods that are bound to nodes.
    pub fn pods(&self) -> usize {
        self.pods
    }

    /// A synthetic cluster with the pods a to d, in an empty cache. `own` are the policy's scheduler names, `selection` is what it reads of
    /// objects; `applied` is called after every object.
    ///
    /// # Errors
    ///
    /// If a synthetic object does not decode, which is a defect of this program.
    pub fn synthetic(
        mut writer: Writer,
        own: &[String],
        selection: &Selection,
        shape: Shape,
        mut applied: impl FnMut(),
    ) -> Result<Self, TestbedError> {
        let pool = Pool::default();
        for json in shape.nodes() {
            writer.apply(pool.node(&serde_json::from_str::<Node>(&json)?, selection));
            applied();
        }
        for json in shape.pods() {
            writer.apply(pool.pod_record(&serde_json::from_str::<Pod>(&json)?, own, selection));
            applied();
        }
        let pods = PENDING.iter().map(|(_, json)| serde_json::from_str(json)).collect::<Result<Vec<Pod>, _>>()?;
        Self::with(writer, own, selection, &pods)
    }

    /// The cluster and the pods of files, in an empty cache, and what the files hold beside that. The pods are taken as not
    /// bound.
    ///
    /// # Errors
    ///
    /// If a file cannot be read or decoded.
    pub fn from_files(
        mut writer: Writer,
        own: &[String],
        selection: &Selection,
        cluster: &[PathBuf],
        pods: &[PathBuf],
    ) -> Result<(Self, Summary), TestbedError> {
        let compiler = Compiler::new(own).selecting(selection);
        let mut loader = Loader::new(&compiler, &mut writer);
        let mut summary = files::read(cluster, &mut |object| loader.apply(&object), &mut |_| {})?;
        loader.publish();
        let (pods, of_pods) = files::read_pods(pods)?;
        summary.add(of_pods);
        let pods: Vec<Pod> = pods.into_iter().map(|(pod, _)| *pod).collect();
        Ok((Self::with(writer, own, selection, &pods)?, summary))
    }

    fn with(mut writer: Writer, own: &[String], selection: &Selection, pods: &[Pod]) -> Result<Self, TestbedError> {
        let names: HashSet<&str> = pods.iter().map(|pod| pod.metadata.name.as_str()).collect();
        let name = |pod: &Pod| if names.len() == pods.len() { pod.metadata.name.clone() } else { pod.key() };
        let mut templates = Vec::with_capacity(pods.len());
        for (at, pod) in pods.iter().enumerate() {
            let record = metadata::pod_record_selecting(pod, own, selection).on_node(None);
            let uids: Vec<String> = (0..REPLICAS).map(|replica| format!("bench-{at}-{replica}")).collect();
            for uid in &uids {
                writer.apply(renamed(&record, uid));
            }
            templates.push(Template { name: name(pod), uids, record });
        }
        writer.publish();
        let reader = writer.reader();
        let nodes = reader.snapshot().node_count();
        let pods = reader.pods().all().iter().filter(|pod| pod.node_name.is_some()).count();
        let unrelated = metadata::pod_record_selecting(&serde_json::from_str(UNRELATED_POD)?, own, selection);
        Ok(Self { writer: Arc::new(Mutex::new(writer)), reader, templates, nodes, pods, unrelated })
    }

    /// Binds a pod to a node and publishes: a replica of the template, or without one an unrelated pod. Each `round` takes
    /// another node. [`Self::unbind`] removes the pod.
    pub(crate) fn bind(&self, template: Option<&Template>, round: usize) {
        let snapshot = self.reader.snapshot();
        let row = round.wrapping_mul(STRIDE).checked_rem(self.nodes).and_then(|row| u32::try_from(row).ok());
        let node = row.map(|row| Arc::from(snapshot.node_name(Row(row))));
        let record = template.map_or(&self.unrelated, |template| &template.record);
        let mut writer = self.writer.lock();
        writer.apply(renamed(record, BOUND).on_node(node));
        writer.publish();
    }

    /// Removes the pod that [`Self::bind`] has bound, and publishes.
    pub(crate) fn unbind(&self) {
        let mut writer = self.writer.lock();
        writer.remove(&Identity::pod(BOUND));
        writer.publish();
    }

    /// Binds unrelated pods to a node until it has `pods` of them, and raises the requests of the last one until nothing is
    /// free. Returns their UIDs in preemption order.
    pub(super) fn fill(&self, row: Row, pods: usize) -> Vec<String> {
        let snapshot = self.reader.snapshot();
        let node: Arc<str> = Arc::from(snapshot.node_name(row));
        let mut on_node = self.reader.pods().all();
        on_node.retain(|pod| pod.node_name.as_deref() == Some(&*node));
        on_node.sort_unstable_by(|a, b| a.uid.cmp(&b.uid));
        on_node.truncate(pods);
        let mut victims: Vec<PodRecord> = on_node.iter().map(|pod| (**pod).clone()).collect();
        let mut writer = self.writer.lock();
        for more in victims.len()..pods {
            let pod = renamed(&self.unrelated, &format!("bench-victim-{more}")).on_node(Some(Arc::clone(&node)));
            writer.apply(pod.clone());
            victims.push(pod);
        }
        writer.publish();
        let snapshot = self.reader.snapshot();
        let free = |name: &str| snapshot.resource(name).and_then(|resource| resource.free.get(row).copied());
        if let Some(last) = victims.last_mut() {
            let mut facts = (*last.facts).clone();
            for (name, amount) in &mut facts.usage {
                *amount += free(name).unwrap_or(0);
            }
            last.facts = Arc::new(facts);
            writer.apply(last.clone());
            writer.publish();
        }
        victims.into_iter().map(|pod| pod.uid.to_string()).collect()
    }
}

/// The UID of the pod that [`Testbed::bind`] binds.
const BOUND: &str = "bench-bound";

/// Copies a pod with another name and UID.
fn renamed(pod: &PodRecord, name: &str) -> PodRecord {
    let name: Arc<str> = Arc::from(name);
    PodRecord { uid: Arc::clone(&name), name, ..pod.clone() }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use nodesift_cache as cache;

    fn testbed() -> Testbed {
        let shape = Shape { nodes: 50, pods_per_node: 3, seed: 1 };
        let mut applied = 0;
        let own = ["default-scheduler".to_owned()];
        let testbed = Testbed::synthetic(cache::new().0, &own, &Selection::default(), shape, || applied += 1).unwrap();
        assert_eq!((applied, testbed.nodes, testbed.pods), (200, 50, 150));
        testbed
    }

    #[test]
    fn replicas_of_every_template_are_pending_under_their_own_uids() {
        let testbed = testbed();
        let names: Vec<&str> = testbed.templates.iter().map(|template| template.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c", "d"]);
        let uids: HashSet<&String> = testbed.templates.iter().flat_map(|template| &template.uids).collect();
        assert_eq!(uids.len(), 4 * REPLICAS);
        assert_eq!(testbed.reader.pods().pending().len(), uids.len());
    }

    #[test]
    fn one_pod_is_bound_at_a_time_and_each_time_to_another_node() {
        let testbed = testbed();
        let nodes: HashSet<Option<Arc<str>>> = (0..testbed.nodes)
            .map(|time| {
                testbed.bind(testbed.templates.first(), time);
                assert_eq!(testbed.reader.pods().len(), 150 + 4 * REPLICAS + 1);
                let bound = testbed.reader.pods().by_uid(BOUND).unwrap();
                testbed.unbind();
                assert_eq!(bound.facts, testbed.templates[0].record.facts);
                bound.node_name.clone()
            })
            .collect();
        assert_eq!(nodes.len(), testbed.nodes);
    }

    #[test]
    fn a_filled_node_has_its_victims_and_nothing_free() {
        let testbed = testbed();
        let victims = testbed.fill(Row(7), 30);
        assert_eq!(victims.iter().collect::<HashSet<_>>().len(), 30);
        let snapshot = testbed.reader.snapshot();
        assert_eq!(snapshot.resource("cpu").unwrap().free.get(Row(7)), Some(&0));
        assert_eq!(snapshot.pods().get(Row(7)), Some(&30));
    }
}
