//! What-if: a question about the cluster as it is not.
//!
//! [`Engine::overlay_snapshot`] makes the snapshot that would be, which [`Engine::answer_on`] answers from like from any other.

use std::fmt;
use std::sync::Arc;

use crate::query::PodRef;
use crate::{Engine, Error};
use nodesift_cache::metadata::{self, NodeFacts, PodFacts, PodRecord};
use nodesift_cache::{Overlay, OverlayError, Snapshot};
use nodesift_object::Node;
use nodesift_sandbox::Interface;

/// What is supposed for one query.
#[derive(Debug, Default)]
pub struct OverlaySpec {
    /// Nodes that are there, or are different from what they are.
    pub nodes: Vec<Node>,
    /// Pods that are gone.
    pub removed: Vec<PodRef>,
    /// Pods that are on the node of this name.
    pub added: Vec<(PodRef, String)>,
}

/// The part of a [`OverlaySpec`] that names what is not there, by its place in its list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverlayPart {
    /// A pod of `removed`.
    Removed(usize),
    /// A pod of `added`.
    Added(usize),
    /// The node of a pod of `added`.
    NodeOfAdded(usize),
}

impl fmt::Display for OverlayPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Removed(at) => write!(f, "removed[{at}]"),
            Self::Added(at) => write!(f, "added[{at}]"),
            Self::NodeOfAdded(at) => write!(f, "added[{at}].node"),
        }
    }
}

impl OverlaySpec {
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
    /// Where something that is named is not in the cache; [`OverlayError::Unsettled`] where the cache knows more of a pod than
    /// the newest snapshot shows: try again after the next publication.
    pub fn overlay_snapshot(&self, spec: &OverlaySpec) -> Result<Arc<Snapshot>, Error> {
        if spec.is_empty() {
            return Ok(self.snapshot());
        }
        let policy = self.policy();
        let compile = |node: &Node| metadata::node_with_annotations(node, &policy.annotation_keys);
        let nodes: Vec<NodeFacts> = spec.nodes.iter().map(compile).collect();
        let snapshot = self.snapshot();
        let overlay = self.overlay(spec, nodes)?;
        snapshot.with(self.cache.pods(), &overlay).map(Arc::new).map_err(|error| placed(error, &overlay))
    }

    /// Looks up what is named.
    fn overlay(&self, spec: &OverlaySpec, nodes: Vec<NodeFacts>) -> Result<Overlay, Error> {
        let removed = spec.removed.iter().enumerate().map(|(at, pod)| match pod {
            PodRef::Uid(uid) => Ok(Arc::from(uid.as_str())),
            other => match self.record(other) {
                Ok(pod) => Ok(Arc::clone(&pod.uid)),
                Err(error) => Err(at_place(OverlayPart::Removed(at), error)),
            },
        });
        let added = spec.added.iter().enumerate().map(|(at, (pod, node))| {
            let pod = self.record(pod).map_err(|error| at_place(OverlayPart::Added(at), error))?;
            let node: Arc<str> = Arc::from(node.as_str());
            let is_there = pod.node_name.as_ref() == Some(&node);
            let pod = if is_there { pod } else { Arc::new(pod.on_node(Some(Arc::clone(&node)))) };
            Ok((pod, node))
        });
        Ok(Overlay {
            nodes,
            removed: removed.collect::<Result<_, Error>>()?,
            added: added.collect::<Result<_, Error>>()?,
        })
    }

    /// What the cache keeps of a pod, or would keep of one that is given whole.
    pub(crate) fn record(&self, pod: &PodRef) -> Result<Arc<PodRecord>, Error> {
        let (record, asked) = match pod {
            PodRef::Whole(pod) => {
                let policy = self.policy();
                let record =
                    metadata::pod_record_with_annotations(pod, &policy.scheduler_names, &policy.annotation_keys);
                return Ok(Arc::new(record));
            }
            PodRef::Known(record) => return Ok(Arc::clone(record)),
            PodRef::Uid(uid) => (self.cache.pods().by_uid(uid), uid.clone()),
            PodRef::Name { namespace, name } => {
                (self.cache.pods().by_name(namespace, name), format!("{namespace}/{name}"))
            }
        };
        record.ok_or(Error::UnknownPod { pod: asked })
    }
}

/// The interfaces that tell a pod something else about a cluster when some of these pods come to a node or leave it. Of
/// the anti-affinity of pods on nodes a pod is told what keeps it away itself, and nothing else.
pub(crate) fn changed_by(pods: &[&PodRecord], pod: &PodFacts, snapshot: &Snapshot) -> Vec<Interface> {
    let some = |changes: fn(&PodRecord) -> bool| pods.iter().any(|pod| changes(pod));
    let is_changed = |interface: &Interface| match interface {
        Interface::NodePorts => some(|pod| !pod.facts.host_ports.is_empty()),
        Interface::ClusterAffinity => pods.iter().any(|other| snapshot.keeps_away(&other.facts, pod)),
        Interface::ClusterVolumeUse | Interface::ClusterAttachments => some(|pod| !pod.facts.volumes.is_empty()),
        _ => some(|_| true),
    };
    Interface::ALL.into_iter().filter(|interface| interface.depends_on_pods_on_nodes()).filter(is_changed).collect()
}

/// Says which part of the overlay does not fit.
fn placed(error: OverlayError, overlay: &Overlay) -> Error {
    let place = match &error {
        OverlayError::UnknownPod { uid } => {
            overlay.removed.iter().position(|removed| removed == uid).map(OverlayPart::Removed)
        }
        OverlayError::UnknownNode { node } => {
            overlay.added.iter().position(|(_, of_added)| of_added == node).map(OverlayPart::NodeOfAdded)
        }
        OverlayError::Unsettled { .. } => None,
    };
    let error = Error::from(error);
    match place {
        Some(place) => at_place(place, error),
        None => error,
    }
}

fn at_place(part: OverlayPart, error: Error) -> Error {
    Error::OverlayPart { part, error: Box::new(error) }
}
