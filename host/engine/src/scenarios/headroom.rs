//! How much more a pod may take of the node that it is on, by the account by which all pods count there. Nothing is evaluated: a pod that
//! is on a node already needs no predicate to grow, only room. Start at [`Engine::headroom`].

use std::sync::Arc;

use nodesift_cache::Snapshot;
use nodesift_cache::metadata::PodRecord;

use crate::query::PodRef;
use crate::{Engine, Error};

/// Room for a pod, from one snapshot.
#[derive(Debug)]
pub struct Headroom {
    /// The snapshot that the answer was computed from.
    pub snapshot: Arc<Snapshot>,
    /// The generation of the policy whose account counts.
    pub policy_generation: u64,
    /// The pod, as it counts on its node.
    pub pod: Arc<PodRecord>,
    /// Name of the node that the pod is on.
    pub node: Arc<str>,
    /// One entry per resource asked about, in the order of the query.
    pub resources: Vec<ResourceHeadroom>,
}

/// Room for more of one resource: `cpu` in millicores, every other resource in whole units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceHeadroom {
    /// Name of the resource.
    pub name: String,
    /// Amount that the node has in `status.allocatable`.
    pub allocatable: i64,
    /// Amount that the pod takes.
    pub taken: i64,
    /// Amount of the node that no pod takes; below zero where pods take more than there is.
    pub free: i64,
    /// Part of the amount asked for that fits: from 0 to all of it.
    pub fits: i64,
}

impl Engine {
    /// Answers how much of each amount the pod may take beside what it takes already. Nothing is set aside: whoever takes it next is the
    /// one who gets it. A resource that the node does not have is not free there.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownPod`], [`Error::NotOnNode`] where the pod is on no node of the cache, and [`Error::Overlay`] where the pod has
    /// changed since the snapshot, which a later one shows.
    pub fn headroom(
        &self,
        pod: &PodRef,
        amounts: &[(String, i64)],
        snapshot: &Arc<Snapshot>,
    ) -> Result<Headroom, Error> {
        let running = self.running_on(snapshot);
        let unknown = || Error::UnknownPod { pod: pod.to_string() };
        let uid = self.uid(pod).ok_or_else(unknown)?;
        let record = snapshot.counted(self.cache.pods(), &uid)?.ok_or_else(unknown)?;
        let placed = record.node_name.as_ref().and_then(|node| Some((Arc::clone(node), snapshot.node_row(node)?)));
        let (node, row) = placed.ok_or_else(|| Error::NotOnNode { pod: pod.to_string() })?;
        let resources = amounts.iter().map(|(name, amount)| {
            let taken = record.usage().iter().find(|(known, _)| **known == **name).map_or(0, |(_, taken)| *taken);
            // What no node advertises has no column, and is free nowhere.
            let resource = snapshot.is_advertised(name).then(|| snapshot.resource(name)).flatten();
            let of = |column: &nodesift_cache::Column<i64>| column.get(row).copied().unwrap_or(0);
            let (allocatable, free) =
                resource.map_or((0, 0), |resource| (of(&resource.allocatable), of(&resource.free)));
            ResourceHeadroom { name: name.clone(), allocatable, taken, free, fits: free.max(0).min(*amount) }
        });
        let resources = resources.collect();
        let policy_generation = running.policy.generation;
        Ok(Headroom { snapshot: Arc::clone(snapshot), policy_generation, pod: record, node, resources })
    }

    /// The UID that the cache has for a pod, or would have.
    pub fn uid(&self, pod: &PodRef) -> Option<Arc<str>> {
        let by_name = |namespace: &str, name: &str| Some(Arc::clone(&self.cache.pods().by_name(namespace, name)?.uid));
        match pod {
            PodRef::Uid(uid) => Some(Arc::from(uid.as_str())),
            PodRef::Name { namespace, name } => by_name(namespace, name),
            PodRef::Version { pod, .. } => self.uid(pod),
            PodRef::Known(pod) => Some(Arc::clone(&pod.uid)),
            PodRef::Whole(pod) if pod.metadata.uid.is_empty() => by_name(&pod.metadata.namespace, &pod.metadata.name),
            PodRef::Whole(pod) => Some(Arc::from(pod.metadata.uid.as_str())),
        }
    }
}
