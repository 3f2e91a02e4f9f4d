//! A cluster in a cache, the pods that are asked about, and what can happen between two questions.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use nodesift_fixtures::synthetic::{PENDING, Shape};
use parking_lot::Mutex;

use crate::cache::{Reader, Row, SharedWriter, Writer};
use crate::metadata::{self, PodRecord, Pool};
use crate::object::{Node, Pod};
use crate::source::{self, Skipped, files};

/// Pods of each template that wait in the cache to be asked about: a core's queue holds replicas of few workloads.
pub const PODS_EACH: usize = 64;

/// The pod that nothing in the cluster looks at.
const STRANGER: &str = r#"{"metadata":{"namespace":"bench","name":"bench-stranger","uid":"bench-stranger"},
    "spec":{"schedulerName":"default-scheduler","containers":[{"name":"c","resources":{"requests":{"cpu":"100m"}}}]}}"#;

/// Rows between a node that changes and the next one: a prime, so that nodes of all parts of a column get their turn.
const STRIDE: usize = 7_919;

/// Why there is nothing to measure on.
#[derive(Debug, thiserror::Error)]
pub enum GroundError {
    /// A synthetic object is none; a defect of this program.
    #[error("a synthetic object does not decode: {0}")]
    Object(#[from] serde_json::Error),
    /// Files cannot be used.
    #[error(transparent)]
    Files(#[from] files::Error),
}

/// A cluster, and the pods that are asked about.
#[derive(Debug)]
pub struct Ground {
    /// Changes the cluster.
    pub writer: SharedWriter,
    /// Reads it.
    pub reader: Reader,
    /// The pods to ask about.
    pub templates: Vec<Template>,
    /// How many nodes there are.
    pub nodes: usize,
    /// How many pods there are on nodes.
    pub pods: usize,
    stranger: PodRecord,
}

/// A pod to ask about, and its replicas in the cache.
#[derive(Debug, Clone)]
pub struct Template {
    /// How results name it.
    pub name: String,
    /// UIDs of [`PODS_EACH`] pods that are alike.
    pub uids: Vec<String>,
    record: PodRecord,
}

impl Ground {
    /// A synthetic cluster with the pods a to d, in an empty cache. `own` are the policy's schedulers; `applied` is called
    /// for every object.
    ///
    /// # Errors
    ///
    /// Where a synthetic object does not decode, which is a defect of this program.
    pub fn synthetic(
        mut writer: Writer,
        own: &[String],
        shape: Shape,
        mut applied: impl FnMut(),
    ) -> Result<Self, GroundError> {
        let pool = Pool::default();
        for json in shape.nodes() {
            writer.apply_node(&pool.node(&serde_json::from_str::<Node>(&json)?));
            applied();
        }
        for json in shape.pods() {
            writer.apply_pod(pool.pod_record(&serde_json::from_str::<Pod>(&json)?, own));
            applied();
        }
        let pods = PENDING.iter().map(|(_, json)| serde_json::from_str(json)).collect::<Result<Vec<Pod>, _>>()?;
        Self::with(writer, own, &pods)
    }

    /// The cluster of files with the pods of files, none of them assumed placed, in an empty cache; and which objects were
    /// left out.
    ///
    /// # Errors
    ///
    /// Where files cannot be used.
    pub fn of_files(
        mut writer: Writer,
        own: &[String],
        cluster: &[PathBuf],
        pods: &[PathBuf],
    ) -> Result<(Self, Skipped), GroundError> {
        let mut contents = files::read(cluster)?;
        source::load(&contents.objects, own, &mut writer);
        let (pods, skipped) = files::read_pods(pods)?;
        skipped.into_iter().for_each(|(kind, count)| *contents.skipped.entry(kind).or_default() += count);
        let pods: Vec<Pod> = pods.into_iter().map(|(pod, _)| *pod).collect();
        Ok((Self::with(writer, own, &pods)?, contents.skipped))
    }

    fn with(mut writer: Writer, own: &[String], pods: &[Pod]) -> Result<Self, GroundError> {
        let names: HashSet<&str> = pods.iter().map(|pod| pod.metadata.name.as_str()).collect();
        let name = |pod: &Pod| if names.len() == pods.len() { pod.metadata.name.clone() } else { pod.key() };
        let mut templates = Vec::with_capacity(pods.len());
        for (at, pod) in pods.iter().enumerate() {
            let record = metadata::pod_record(pod, own).on_node(None);
            let uids: Vec<String> = (0..PODS_EACH).map(|replica| format!("bench-{at}-{replica}")).collect();
            for uid in &uids {
                writer.apply_pod(renamed(&record, uid));
            }
            templates.push(Template { name: name(pod), uids, record });
        }
        writer.publish();
        let reader = writer.reader();
        let nodes = reader.snapshot().node_count();
        let pods = reader.pods().all().iter().filter(|pod| pod.node_name.is_some()).count();
        let stranger = metadata::pod_record(&serde_json::from_str(STRANGER)?, own);
        Ok(Self { writer: Arc::new(Mutex::new(writer)), reader, templates, nodes, pods, stranger })
    }

    /// Binds a pod to a node, another one each `time`, and publishes: a replica of the template, or, without one, a pod that
    /// nothing looks at. Until [`Self::unbind`] takes it back.
    pub fn bind(&self, template: Option<&Template>, time: usize) {
        let snapshot = self.reader.snapshot();
        let row = time.wrapping_mul(STRIDE).checked_rem(self.nodes).and_then(|row| u32::try_from(row).ok());
        let node = row.map(|row| Arc::from(snapshot.node_name(Row(row))));
        let record = template.map_or(&self.stranger, |template| &template.record);
        let mut writer = self.writer.lock();
        writer.apply_pod(renamed(record, BOUND).on_node(node));
        writer.publish();
    }

    /// Takes away what [`Self::bind`] has bound, and publishes.
    pub fn unbind(&self) {
        let mut writer = self.writer.lock();
        writer.remove_pod(BOUND);
        writer.publish();
    }

    /// Puts pods on a node until there are so many, and makes one of them, the last, take all that was free. Their UIDs, in
    /// the order in which they would have to go.
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
            let pod = renamed(&self.stranger, &format!("bench-victim-{more}")).on_node(Some(Arc::clone(&node)));
            writer.apply_pod(pod.clone());
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
            writer.apply_pod(last.clone());
            writer.publish();
        }
        victims.into_iter().map(|pod| pod.uid.to_string()).collect()
    }
}

/// The UID of the pod that is bound between questions.
const BOUND: &str = "bench-bound";

/// The same pod under another name.
fn renamed(pod: &PodRecord, name: &str) -> PodRecord {
    let name: Arc<str> = Arc::from(name);
    PodRecord { uid: Arc::clone(&name), name, ..pod.clone() }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::cache;

    fn ground() -> Ground {
        let shape = Shape { nodes: 50, pods_per_node: 3, seed: 1 };
        let mut applied = 0;
        let own = ["default-scheduler".to_owned()];
        let ground = Ground::synthetic(cache::new().0, &own, shape, || applied += 1).unwrap();
        assert_eq!((applied, ground.nodes, ground.pods), (200, 50, 150));
        ground
    }

    #[test]
    fn replicas_of_every_template_wait_under_uids_of_their_own() {
        let ground = ground();
        let names: Vec<&str> = ground.templates.iter().map(|template| template.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c", "d"]);
        let uids: HashSet<&String> = ground.templates.iter().flat_map(|template| &template.uids).collect();
        assert_eq!(uids.len(), 4 * PODS_EACH);
        assert_eq!(ground.reader.pods().pending().len(), uids.len());
    }

    #[test]
    fn one_pod_is_bound_at_a_time_and_each_time_elsewhere() {
        let ground = ground();
        let nodes: HashSet<Option<Arc<str>>> = (0..ground.nodes)
            .map(|time| {
                ground.bind(ground.templates.first(), time);
                assert_eq!(ground.reader.pods().len(), 150 + 4 * PODS_EACH + 1);
                let bound = ground.reader.pods().by_uid(BOUND).unwrap();
                ground.unbind();
                assert_eq!(bound.facts, ground.templates[0].record.facts);
                bound.node_name.clone()
            })
            .collect();
        assert_eq!(nodes.len(), ground.nodes);
    }

    #[test]
    fn a_filled_node_has_its_victims_and_no_room() {
        let ground = ground();
        let victims = ground.fill(Row(7), 30);
        assert_eq!(victims.iter().collect::<HashSet<_>>().len(), 30);
        let snapshot = ground.reader.snapshot();
        assert_eq!(snapshot.resource("cpu").unwrap().free.get(Row(7)), Some(&0));
        assert_eq!(snapshot.pods().get(Row(7)), Some(&30));
    }
}
