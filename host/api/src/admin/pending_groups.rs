//! Groups of pending pods: those with one answer, cause, predicate, namespace or owner. Start at [`Groups::new`].

use std::collections::HashMap;
use std::sync::Arc;

use nodesift_engine::pending::{Cause, PendingPod};
use serde::Serialize;

use super::time::{rfc3339, rfc3339_of_seconds};
use crate::{Error, limits};

/// By what pods are grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// The cause, and its sentence.
    Answer,
    Cause,
    /// The predicates that are the first to reject some node: a pod is in the group of each.
    Predicate,
    Namespace,
    /// The controller; pods without one have the empty key.
    Owner,
}

impl By {
    /// Reads the parameter `by`; absent means [`Self::Answer`].
    ///
    /// # Errors
    ///
    /// [`Error::InvalidField`] for a word that is not known.
    pub(super) fn try_new(value: Option<&str>) -> Result<Self, Error> {
        match value {
            None | Some("answer") => Ok(Self::Answer),
            Some("cause") => Ok(Self::Cause),
            Some("predicate") => Ok(Self::Predicate),
            Some("namespace") => Ok(Self::Namespace),
            Some("owner") => Ok(Self::Owner),
            Some(_) => Err(Error::invalid("query", "by is one of answer, cause, predicate, namespace and owner")),
        }
    }
}

/// Groups with the most pods first.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Groups {
    groups: Vec<Group>,
    /// Groups beyond those listed.
    unlisted_groups: usize,
}

/// Pods that have something in common.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Group {
    /// The text that they have in common.
    key: String,
    count: usize,
    /// Their cause, where all have the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'static str>,
    /// The sentence of the oldest of them.
    headline: String,
    /// The controller, where all have the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    /// When the oldest of them was created, in RFC 3339.
    oldest: String,
    /// Since when the first of them has its cause, in RFC 3339.
    since: String,
    /// The first of them by namespace and name.
    pods: Vec<String>,
}

/// A group while pods are added to it.
struct Gathered<'a> {
    pods: Vec<&'a PendingPod>,
}

impl Groups {
    /// Groups pods, which are sorted by namespace and name.
    pub(super) fn new(pods: &[&Arc<PendingPod>], by: By) -> Self {
        let mut gathered: HashMap<String, Gathered<'_>> = HashMap::new();
        for pod in pods {
            for key in keys(pod, by) {
                gathered.entry(key).or_insert_with(|| Gathered { pods: Vec::new() }).pods.push(pod);
            }
        }
        let mut gathered: Vec<(String, Gathered<'_>)> = gathered.into_iter().collect();
        gathered.sort_unstable_by(|(a, of_a), (b, of_b)| (of_b.pods.len(), a).cmp(&(of_a.pods.len(), b)));
        let unlisted_groups = gathered.len().saturating_sub(limits::PENDING_GROUPS);
        let listed = gathered.into_iter().take(limits::PENDING_GROUPS);
        Self { groups: listed.filter_map(|(key, gathered)| gathered.group(key)).collect(), unlisted_groups }
    }
}

impl Gathered<'_> {
    /// The group; none without pods.
    fn group(&self, key: String) -> Option<Group> {
        let oldest = self.pods.iter().min_by_key(|pod| pod.created())?;
        let since = self.pods.iter().map(|pod| pod.since()).min()?;
        let (cause, owner) = (oldest.reason.cause, owner(oldest));
        Some(Group {
            key,
            count: self.pods.len(),
            cause: self.pods.iter().all(|pod| pod.reason.cause == cause).then(|| Cause::name(cause)),
            headline: oldest.headline(),
            owner: owner.filter(|common| self.pods.iter().all(|pod| self::owner(pod).as_ref() == Some(common))),
            oldest: rfc3339_of_seconds(oldest.created()),
            since: rfc3339(since),
            pods: self.pods.iter().take(limits::PENDING_GROUP_PODS).map(|pod| name(pod)).collect(),
        })
    }
}

fn keys(pod: &PendingPod, by: By) -> Vec<String> {
    match by {
        By::Answer => vec![format!("{}: {}", pod.reason.cause.name(), pod.headline())],
        By::Cause => vec![pod.reason.cause.name().to_owned()],
        By::Predicate => {
            let rejects = pod.answered.iter().filter(|answered| answered.feasible == 0);
            rejects.flat_map(|answered| &answered.rejects).map(|(predicate, _)| predicate.to_string()).collect()
        }
        By::Namespace => vec![pod.record.namespace.to_string()],
        By::Owner => vec![owner(pod).unwrap_or_default()],
    }
}

/// The controller of a pod as `KIND/NAMESPACE/NAME`; none where it has none.
fn owner(pod: &PendingPod) -> Option<String> {
    let (kind, name) = pod.record.pending.as_ref()?.controller.as_ref()?;
    Some([&**kind, "/", &pod.record.namespace, "/", name].concat())
}

/// The pod as `NAMESPACE/NAME`.
pub(super) fn name(pod: &PendingPod) -> String {
    [&*pod.record.namespace, "/", &pod.record.name].concat()
}
