//! Nodes and allocations in the words of YuniKorn's REST API: the fields of its `NodesDAOInfo`, with the amounts that YuniKorn has of the
//! same cluster.
//!
//! Source: pkg/webservice/dao of yunikorn-core, and pkg/common of yunikorn-k8shim for tags, names of resources and applications, at 1.9.
//! Left out is what only YuniKorn knows: times, reservations, which pod is the originator of its application. Start at [`NodesInfo`].

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use super::amounts::{Amount, ByName, NodeAmounts};
use super::lazy::Lazy;
use nodesift_cache::metadata::requests::{CPU, PODS};
use nodesift_cache::metadata::{Ownership, PodRecord};
use nodesift_cache::{Row, Snapshot};

/// YuniKorn's name of processor time, in millicores.
const VCORE: &str = "vcore";
/// The one partition of a Kubernetes cluster.
const PARTITION: &str = "default";
/// That partition of the scheduler whose id is YuniKorn's default, as attributes of nodes name it.
const NODE_PARTITION: &str = "[mycluster]default";
/// Label, or annotation, that names the application of a pod.
const APPLICATION: &str = "yunikorn.apache.org/app-id";
/// Labels that name it where that one does not, in this order.
const APPLICATION_LABELS: [&str; 2] = ["applicationId", "spark-app-selector"];
/// Ending of the name of an application that is one pod's own.
const OWN_APPLICATION: &str = "-uniqueautogen";
/// Characters of the name of an application that YuniKorn makes.
const APPLICATION_CHARACTERS: usize = 63;
/// Annotations of gangs, known where the policy lists them.
const PLACEHOLDER: &str = "internal.yunikorn.apache.org/placeholder";
const TASK_GROUP: &str = "yunikorn.apache.org/task-group-name";

/// Nodes of the one partition as JSON.
pub(super) struct NodesInfo<'a> {
    snapshot: &'a Snapshot,
    nodes: &'a [(Row, Vec<Arc<PodRecord>>)],
}

impl<'a> NodesInfo<'a> {
    /// Nodes of a snapshot, each with its pods.
    pub(super) fn new(snapshot: &'a Snapshot, nodes: &'a [(Row, Vec<Arc<PodRecord>>)]) -> Self {
        Self { snapshot, nodes }
    }
}

impl Serialize for NodesInfo<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("partitionName", PARTITION)?;
        if !self.nodes.is_empty() {
            let nodes = || self.nodes.iter().map(|(row, pods)| NodeInfo::new(self.snapshot, *row, pods));
            map.serialize_entry("nodesInfo", &Lazy(nodes))?;
        }
        map.end()
    }
}

/// YuniKorn's `NodeDAOInfo`. Like there, empty lists and amounts of zero are left out.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct NodeInfo<'a> {
    #[serde(rename = "nodeID")]
    node_id: &'a str,
    attributes: BTreeMap<&'static str, &'a str>,
    /// Allocatable amounts: YuniKorn does not know the machine's.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    capacity: ByName<'a>,
    /// Amounts that pods of the policy's schedulers take.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    allocated: ByName<'a>,
    /// Amounts that pods of other schedulers take.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    occupied: ByName<'a>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    available: ByName<'a>,
    /// `allocated` in percent of `capacity`, of resources that there are.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    utilized: ByName<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    allocations: Vec<Allocation<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    foreign_allocations: Vec<Allocation<'a>>,
    schedulable: bool,
    is_reserved: bool,
}

impl<'a> NodeInfo<'a> {
    fn new(snapshot: &'a Snapshot, row: Row, pods: &'a [Arc<PodRecord>]) -> Self {
        let node = snapshot.node_name(row);
        let amounts = NodeAmounts::new(snapshot, row, pods);
        let capacity = in_its_words(amounts.each(|amount| amount.allocatable));
        let allocated = in_its_words(amounts.each(Amount::own));
        let share = |(name, used): (&&'a str, &i64)| {
            let capacity = capacity.get(name).filter(|capacity| **capacity > 0)?;
            Some((*name, percent(*used, *capacity)))
        };
        let of = |foreign: bool| {
            let pods = pods.iter().filter(move |pod| pod.ownership.is_foreign() == foreign);
            pods.map(|pod| Allocation::new(pod)).collect()
        };
        Self {
            node_id: node,
            attributes: BTreeMap::from([
                ("si.io/hostname", node),
                ("si.io/rackname", "/rack-default"),
                ("si/node-partition", NODE_PARTITION),
            ]),
            utilized: allocated.iter().filter_map(share).collect(),
            occupied: in_its_words(amounts.each(|amount| amount.foreign)),
            available: in_its_words(amounts.each(|amount| amount.free)),
            capacity,
            allocated,
            allocations: of(false),
            foreign_allocations: of(true),
            schedulable: snapshot.unschedulable().get(row).copied().unwrap_or(0) == 0,
            is_reserved: false,
        }
    }
}

/// YuniKorn's `AllocationDAOInfo`, or its `ForeignAllocationDAOInfo`, whose fields are some of these and `preemptable`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Allocation<'a> {
    allocation_key: &'a str,
    allocation_tags: BTreeMap<String, &'a str>,
    resource: ByName<'a>,
    priority: String,
    node_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    application_id: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    placeholder: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_group_name: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    preemptable: bool,
}

impl<'a> Allocation<'a> {
    fn new(pod: &'a PodRecord) -> Self {
        let is_own = pod.ownership == Ownership::Own;
        let annotation = |key: &str| pod.facts.annotation(key).map(|value| &**value).filter(|value| !value.is_empty());
        Self {
            allocation_key: &pod.uid,
            allocation_tags: tags(pod),
            resource: resource(pod.usage()),
            priority: pod.priority.to_string(),
            node_id: pod.node_name.as_deref().unwrap_or_default(),
            application_id: is_own.then(|| application(pod)),
            placeholder: is_own && annotation(PLACEHOLDER).is_some_and(is_true),
            task_group_name: annotation(TASK_GROUP).filter(|_| is_own),
            preemptable: pod.ownership == Ownership::Foreign,
        }
    }
}

/// The mark of a foreign pod: the value of its tag `foreign`.
pub(super) fn mark(ownership: Ownership) -> Option<&'static str> {
    match ownership {
        Ownership::Own => None,
        Ownership::Foreign => Some("default"),
        Ownership::ForeignStatic => Some("static"),
    }
}

/// Amounts that a pod takes, in YuniKorn's words, itself among them as one of `pods`.
pub(super) fn resource(usage: &[(Arc<str>, i64)]) -> ByName<'_> {
    let amounts = usage.iter().filter(|(_, amount)| *amount != 0);
    let mut amounts: ByName<'_> = amounts.map(|(name, amount)| (its_word(name), *amount)).collect();
    amounts.insert(PODS, 1);
    amounts
}

fn in_its_words(amounts: ByName<'_>) -> ByName<'_> {
    amounts.into_iter().map(|(name, amount)| (its_word(name), amount)).collect()
}

fn its_word(resource: &str) -> &str {
    if resource == CPU { VCORE } else { resource }
}

/// A share in percent. In floating point, since rounding is to be YuniKorn's.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "as YuniKorn has it")]
fn percent(used: i64, capacity: i64) -> i64 {
    if used <= 0 { 0 } else { ((used as f64 / capacity as f64) * 100.0).min(f64::from(i32::MAX)) as i64 }
}

fn tags(pod: &PodRecord) -> BTreeMap<String, &str> {
    let mut tags = BTreeMap::from([
        ("kubernetes.io/meta/namespace".to_owned(), &*pod.namespace),
        ("kubernetes.io/meta/podName".to_owned(), &*pod.name),
    ]);
    tags.extend(pod.facts.labels.iter().map(|(key, value)| (format!("kubernetes.io/label/{key}"), &**value)));
    // A pod that a DaemonSet has made for its node.
    if let (true, Some(node)) = (pod.facts.is_pinned, &pod.node_name) {
        tags.insert("yunikorn.apache.org/requiredNode".to_owned(), node);
    }
    if let Some(mark) = mark(pod.ownership) {
        tags.insert("foreign".to_owned(), mark);
    }
    tags
}

/// The name of the application that a pod of YuniKorn's belongs to.
fn application(pod: &PodRecord) -> String {
    let facts = &pod.facts;
    let named = |value: Option<&'_ Arc<str>>| value.filter(|value| !value.is_empty()).map(|value| value.to_string());
    let labels = || APPLICATION_LABELS.iter().find_map(|key| named(facts.label(key)));
    let name = named(facts.label(APPLICATION)).or_else(|| named(facts.annotation(APPLICATION))).or_else(labels);
    match name {
        None => format!("yunikorn-{}-autogen", pod.namespace).chars().take(APPLICATION_CHARACTERS).collect(),
        Some(name) => match name.strip_suffix(OWN_APPLICATION) {
            Some(stem) => format!("{stem}-{}", pod.uid),
            None => name,
        },
    }
}

/// Whether a text is a yes to Go's `strconv.ParseBool`.
fn is_true(text: &str) -> bool {
    matches!(text, "1" | "t" | "T" | "true" | "TRUE" | "True")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use nodesift_cache::metadata::pod_record;
    use serde_json::json;

    use super::*;

    #[test]
    fn shares_are_rounded_as_yunikorn_rounds_them() {
        // 29 / 100 × 100 is a little less than 29 in floating point.
        for (used, capacity, share) in [(29, 100, 28), (1, 3, 33), (0, 5, 0), (-4, 5, 0), (7, 7, 100), (21, 7, 300)] {
            assert_eq!(percent(used, capacity), share, "{used} of {capacity}");
        }
        assert_eq!(percent(i64::MAX, 1), i64::from(i32::MAX));
    }

    #[test]
    fn an_application_is_named_by_labels_or_after_the_namespace() {
        let named = |labels: serde_json::Value| {
            let object =
                json!({"metadata": {"name": "p", "namespace": "team", "uid": "u", "labels": labels}, "spec": {}});
            application(&pod_record(&serde_json::from_str(&object.to_string()).unwrap(), &[]))
        };
        assert_eq!(named(json!({})), "yunikorn-team-autogen");
        assert_eq!(named(json!({"applicationId": "a", "spark-app-selector": "s"})), "a");
        assert_eq!(named(json!({"applicationId": "a", "yunikorn.apache.org/app-id": "b"})), "b");
        assert_eq!(named(json!({"yunikorn.apache.org/app-id": "b-uniqueautogen"})), "b-u");
        assert_eq!(named(json!({"applicationId": ""})), "yunikorn-team-autogen");
    }
}
