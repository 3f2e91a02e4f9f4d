//! What-if: a question about the cluster as it is not.
//!
//! [`Engine::supposing`] makes the snapshot that would be, which [`Engine::answer_on`] answers from like from any other.

use std::sync::Arc;

use super::question::PodRef;
use super::{Engine, Error};
use crate::cache::{Overlay, Snapshot};
use crate::metadata::{self, PodRecord};
use crate::object::Node;
use crate::sandbox::Interface;

/// What is supposed for one question.
#[derive(Debug, Default)]
pub struct WhatIf {
    /// Nodes that are there, or are different from what they are.
    pub nodes: Vec<Node>,
    /// Pods that are gone.
    pub removed: Vec<PodRef>,
    /// Pods that are on the node of this name.
    pub added: Vec<(PodRef, String)>,
}

impl WhatIf {
    /// Whether nothing is supposed.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.removed.is_empty() && self.added.is_empty()
    }
}

impl Engine {
    /// The newest snapshot as it would be. Nothing else ever sees it.
    ///
    /// # Errors
    ///
    /// Where something that is named is not in the cache, or is changing this moment.
    pub fn supposing(&self, what_if: &WhatIf) -> Result<Arc<Snapshot>, Error> {
        let snapshot = self.snapshot();
        if what_if.is_empty() {
            return Ok(snapshot);
        }
        let uid = |pod: &PodRef| match pod {
            PodRef::Uid(uid) => Ok(Arc::from(uid.as_str())),
            other => self.record(other).map(|pod| Arc::clone(&pod.uid)),
        };
        let placed = |(pod, node): &(PodRef, String)| Ok((self.record(pod)?, Arc::from(node.as_str())));
        let overlay = Overlay {
            nodes: what_if.nodes.iter().map(metadata::node).collect(),
            removed: what_if.removed.iter().map(uid).collect::<Result<_, Error>>()?,
            added: what_if.added.iter().map(placed).collect::<Result<_, Error>>()?,
        };
        Ok(Arc::new(snapshot.with(self.cache.pods(), &overlay)?))
    }

    /// What the cache keeps of a pod, or would keep of one that is given whole.
    pub(super) fn record(&self, pod: &PodRef) -> Result<Arc<PodRecord>, Error> {
        let (record, asked) = match pod {
            PodRef::Whole(pod) => {
                let record = metadata::pod_record(pod, &self.policy().scheduler_names);
                return Ok(Arc::new(record));
            }
            PodRef::Uid(uid) => (self.cache.pods().by_uid(uid), uid.clone()),
            PodRef::Name { namespace, name } => {
                (self.cache.pods().by_name(namespace, name), format!("{namespace}/{name}"))
            }
        };
        record.ok_or(Error::UnknownPod { pod: asked })
    }
}

/// The interfaces whose answers change when some of these pods come to a node or leave it.
pub(super) fn changed_by(pods: &[&PodRecord]) -> Vec<Interface> {
    let some = |changes: fn(&PodRecord) -> bool| pods.iter().any(|pod| changes(pod));
    let is_changed = |interface: &Interface| match interface {
        Interface::NodePorts => some(|pod| !pod.facts.host_ports.is_empty()),
        Interface::ClusterAffinity => some(|pod| !pod.facts.anti_affinity_terms.is_empty()),
        Interface::ClusterVolumeUse | Interface::ClusterAttachments => some(|pod| !pod.facts.volumes.is_empty()),
        _ => some(|_| true),
    };
    Interface::ALL.into_iter().filter(|interface| interface.is_about_pods_on_nodes()).filter(is_changed).collect()
}
