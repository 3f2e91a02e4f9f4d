//! Overlays: queries about the cluster with hypothetical changes.
//!
//! [`Engine::overlay_snapshot`] makes a snapshot with the changes. [`Engine::answer`] answers from it as from any other.

use std::fmt;
use std::sync::Arc;

use crate::policy::ActivePolicy;
use crate::query::PodRef;
use crate::{Engine, Error};
use nodesift_cache::metadata::{self, NodeFacts, PodFacts, PodRecord};
use nodesift_cache::{Overlay, OverlayError, Snapshot};
use nodesift_object::Node;
use nodesift_sandbox::Interface;

/// The hypothetical changes of one query, applied to the newest snapshot.
#[derive(Debug, Default)]
pub struct OverlaySpec {
    /// Nodes that are added, or replace the node of the same name.
    pub nodes: Vec<Node>,
    /// Pods that are removed from their nodes.
    pub removed: Vec<PodRef>,
    /// Pods that are added, each with the name of its node.
    pub added: Vec<(PodRef, String)>,
}

/// The part of an [`OverlaySpec`] that names an unknown pod or node, by its index in its list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverlayPart {
    /// A pod of `removed`.
    Removed(usize),
    /// A pod of `added`.
    Added(usize),
    /// The node of a pod of `added`.
    NodeOfAdded(usize),
    /// A nominated pod, see [`Engine::nominating`].
    Nominated(usize),
}

impl fmt::Display for OverlayPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Removed(at) => write!(f, "removed[{at}]"),
            Self::Added(at) => write!(f, "added[{at}]"),
            Self::NodeOfAdded(at) => write!(f, "added[{at}].node"),
            Self::Nominated(at) => write!(f, "nominated[{at}]"),
        }
    }
}

impl OverlaySpec {
    /// Whether there are no changes.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.removed.is_empty() && self.added.is_empty()
    }
}

impl Engine {
    /// The newest snapshot with the changes applied. It is not published.
    ///
    /// # Errors
    ///
    /// [`Error::OverlayPart`] where a named pod or node is not in the cache. [`OverlayError::Unsettled`] where the cache has a
    /// newer state of a pod than the newest snapshot: try again after the next publication.
    pub fn overlay_snapshot(&self, spec: &OverlaySpec) -> Result<Arc<Snapshot>, Error> {
        self.overlay_snapshot_on(&self.snapshot(), spec)
    }

    /// Makes a snapshot with the overlay's changes from a given snapshot in place of the newest.
    ///
    /// # Errors
    ///
    /// As for [`Self::overlay_snapshot`].
    pub fn overlay_snapshot_on(&self, snapshot: &Arc<Snapshot>, spec: &OverlaySpec) -> Result<Arc<Snapshot>, Error> {
        if spec.is_empty() {
            return Ok(Arc::clone(snapshot));
        }
        let policy = self.policy();
        let selection = policy.selection();
        let compile = |node: &Node| metadata::node_selecting(node, &selection);
        let nodes: Vec<NodeFacts> = spec.nodes.iter().map(compile).collect();
        let overlay = self.overlay(spec, nodes)?;
        snapshot.with(self.cache.pods(), &overlay).map(Arc::new).map_err(|error| placed(error, &overlay))
    }

    /// A snapshot with pods nominated for other nodes than it has them; for none where the name of the node is empty.
    ///
    /// # Errors
    ///
    /// [`Error::OverlayPart`] where a pod that is not given whole is not in the cache.
    pub fn nominating(&self, snapshot: &Arc<Snapshot>, pods: &[(PodRef, String)]) -> Result<Arc<Snapshot>, Error> {
        if pods.is_empty() {
            return Ok(Arc::clone(snapshot));
        }
        let nominated = pods.iter().enumerate().map(|(at, (pod, node))| {
            let pod = self.record(pod).map_err(|error| at_place(OverlayPart::Nominated(at), error))?;
            let node = Some(node.as_str()).filter(|node| !node.is_empty()).map(Arc::from);
            Ok(Arc::new(pod.nominated_for(node)))
        });
        Ok(Arc::new(snapshot.nominating(&nominated.collect::<Result<Vec<_>, Error>>()?)))
    }

    /// Looks up the named pods.
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

    /// The cache's record of a pod; for a whole pod object, the record that the cache would make of it.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownPod`] where the pod is not in the cache, [`Error::OtherVersion`] where it is not there in the version asked
    /// for.
    pub(crate) fn record(&self, pod: &PodRef) -> Result<Arc<PodRecord>, Error> {
        let record = match pod {
            PodRef::Whole(pod) => {
                let policy = self.policy();
                let record = metadata::pod_record_selecting(pod, &policy.scheduler_names, &policy.selection());
                return Ok(Arc::new(accounted(record, &policy)));
            }
            PodRef::Version { pod, resource_version } => {
                let found = match self.record(pod) {
                    Ok(record) if *record.resource_version == **resource_version => return Ok(record),
                    Ok(record) => Some(Arc::clone(&record.resource_version)),
                    Err(_) => None,
                };
                let found = found.map_or_else(|| "does not have it".to_owned(), |version| format!("has {version:?}"));
                let (pod, wanted) = (pod.to_string(), resource_version.clone());
                return Err(Error::OtherVersion { pod, wanted, found });
            }
            PodRef::Known(record) => return Ok(Arc::clone(record)),
            PodRef::Uid(uid) => self.cache.pods().by_uid(uid),
            PodRef::Name { namespace, name } => self.cache.pods().by_name(namespace, name),
        };
        record.ok_or_else(|| Error::UnknownPod { pod: pod.to_string() })
    }
}

/// A record with what it takes by a policy.
pub fn accounted(record: PodRecord, policy: &ActivePolicy) -> PodRecord {
    let record = record.resized_by(policy.settings.kubernetes.semantics.resize).unwrap_or(record);
    match &policy.accounting {
        Some(accounting) => {
            let account = accounting.ask(&record.facts, None).account;
            record.accounted(account)
        }
        None => record,
    }
}

/// The interfaces whose values for `pod` change when any of `pods` is added to a node or removed from it. `cluster-affinity`
/// has only the anti-affinity terms that match `pod`, so it changes only with those, and `cluster-controllers` only with pods of
/// the same controller.
pub(crate) fn changed_by(pods: &[&PodRecord], pod: &PodFacts, snapshot: &Snapshot) -> Vec<Interface> {
    let some = |changes: fn(&PodRecord) -> bool| pods.iter().any(|pod| changes(pod));
    let is_changed = |interface: &Interface| match interface {
        Interface::NodePorts => some(|pod| !pod.facts.host_ports.is_empty()),
        Interface::NodeSums => some(|pod| !pod.sums().is_empty()),
        Interface::ClusterAffinity => pods.iter().any(|other| snapshot.keeps_away(&other.facts, pod)),
        Interface::ClusterControllers => pods.iter().any(|other| {
            let is_same = |uid| other.facts.controller_uid() == Some(uid);
            other.namespace == pod.namespace && pod.controller_uid().is_some_and(is_same)
        }),
        Interface::ClusterVolumeUse | Interface::ClusterAttachments => some(|pod| !pod.facts.volumes.is_empty()),
        _ => some(|_| true),
    };
    Interface::ALL.into_iter().filter(|interface| interface.depends_on_pods_on_nodes()).filter(is_changed).collect()
}

/// Adds the part of the overlay that the error is about, if it is about one part.
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
