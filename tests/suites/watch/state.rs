//! The whole state: the dump of `GET /v1/state` compared pod by pod with a recount of the server's objects.

use std::collections::{BTreeMap, BTreeSet};

use nodesift_fixtures::cluster::{Cluster, is_over};
use nodesift_fixtures::json as read;
use nodesift_reference::requests::{Rounded, given_by, taken_by};
use nodesift_tests::http::{Endpoint, get};
use serde_json::Value;

/// The only scheduler of the default policy: pods of any other are foreign.
const OWN_SCHEDULER: &str = "default-scheduler";

/// The part of a cluster that a dump contains.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct State {
    nodes: BTreeMap<String, Node>,
    /// Pending pods by UID.
    pending: BTreeSet<String>,
    /// By UID: pods on nodes that do not exist.
    orphans: BTreeSet<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Node {
    labels: BTreeMap<String, String>,
    schedulable: bool,
    /// Amounts by resource, without those that are zero.
    allocatable: Rounded,
    requested: Rounded,
    foreign: Rounded,
    pods: i64,
    /// By UID, each with its requests.
    own: BTreeMap<String, Rounded>,
    others: BTreeMap<String, Rounded>,
}

/// Requests a dump; an error while the sidecar has none.
pub(crate) fn dumped(endpoint: &Endpoint) -> Result<Value, String> {
    Ok(serde_json::from_str(&text(endpoint)?).expect("a dump is JSON"))
}

/// Requests a dump as it is sent; an error while the sidecar has none.
pub(crate) fn text(endpoint: &Endpoint) -> Result<String, String> {
    let answer = get(endpoint, "/v1/state")?;
    if answer.status == 200 { Ok(answer.body) } else { Err(format!("{}: {}", answer.status, answer.body)) }
}

impl State {
    /// The state in a dump.
    pub(crate) fn from_dump(dump: &Value) -> Self {
        let nodes = read::list(dump, "nodes").iter().map(|node| {
            let pods = |field: &str| -> BTreeMap<String, Rounded> {
                let listed = read::list(node, field).iter();
                listed.map(|pod| (read::text(pod, "uid").to_owned(), amounts(&pod["usage"]))).collect()
            };
            let found = Node {
                labels: read::entries(node, "labels")
                    .into_iter()
                    .map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned()))
                    .collect(),
                schedulable: read::flag(node, "schedulable"),
                allocatable: amounts(&node["allocatable"]),
                requested: without_pods(amounts(&node["requested"])),
                foreign: without_pods(amounts(&node["foreign"])),
                pods: node["requested"]["pods"].as_i64().unwrap_or_default(),
                own: pods("ownPods"),
                others: pods("foreignPods"),
            };
            (read::text(node, "name").to_owned(), found)
        });
        let uids = |field: &str| read::list(dump, field).iter().map(|pod| read::text(pod, "uid").to_owned()).collect();
        Self { nodes: nodes.collect(), pending: uids("pending"), orphans: uids("orphans") }
    }

    /// The state computed from the objects.
    pub(crate) fn from_cluster(cluster: &Cluster) -> Self {
        let uid = |pod: &Value| read::text(pod, "metadata.uid").to_owned();
        let mut state = Self::default();
        for node in cluster.nodes() {
            let labels = read::entries(node, "metadata.labels").into_iter();
            let found = Node {
                labels: labels
                    .map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned()))
                    .collect(),
                schedulable: !read::flag(node, "spec.unschedulable"),
                allocatable: without_zeros(given_by(node)),
                ..Node::default()
            };
            state.nodes.insert(read::name(node).to_owned(), found);
        }
        for pod in cluster.all("Pod").filter(|pod| !is_over(pod)) {
            let name = read::text(pod, "spec.nodeName");
            if name.is_empty() {
                state.pending.insert(uid(pod));
                continue;
            }
            let Some(node) = state.nodes.get_mut(name) else {
                state.orphans.insert(uid(pod));
                continue;
            };
            let taken = without_zeros(taken_by(pod));
            add(&mut node.requested, &taken);
            node.pods += 1;
            if is_own(pod) {
                node.own.insert(uid(pod), taken);
            } else {
                add(&mut node.foreign, &taken);
                node.others.insert(uid(pod), taken);
            }
        }
        state
    }

    /// The differences between two states; `None` where they are equal.
    pub(crate) fn difference(&self, expected: &Self) -> Option<String> {
        let mut differences = Vec::new();
        for (what, found, expected) in
            [("pending", &self.pending, &expected.pending), ("orphans", &self.orphans, &expected.orphans)]
        {
            if found != expected {
                let (extra, missing): (Vec<_>, Vec<_>) =
                    (found.difference(expected).take(4).collect(), expected.difference(found).take(4).collect());
                differences.push(format!("\n  {what}: too many {extra:?}, missing {missing:?}"));
            }
        }
        let names: BTreeSet<&String> = self.nodes.keys().chain(expected.nodes.keys()).collect();
        for name in names {
            let (found, expected) = (self.nodes.get(name), expected.nodes.get(name));
            if found != expected {
                differences.push(format!("\n  node {name}:\n    sidecar {found:?}\n    expected {expected:?}"));
            }
        }
        let count = differences.len();
        differences.truncate(4);
        (count > 0).then(|| format!("\n  {count} differences{}", differences.concat()))
    }
}

fn is_own(pod: &Value) -> bool {
    let is_static = read::list(pod, "metadata.ownerReferences").iter().any(|owner| read::text(owner, "kind") == "Node");
    let scheduler = read::text(pod, "spec.schedulerName");
    !is_static && (scheduler.is_empty() || scheduler == OWN_SCHEDULER)
}

fn amounts(object: &Value) -> Rounded {
    let entries = object.as_object().into_iter().flatten();
    let amounts = entries.map(|(name, amount)| (name.clone(), amount.as_i64().expect("amounts are whole numbers")));
    without_zeros(amounts.collect())
}

/// Amounts of resources other than `pods`, which is compared as a number of its own.
fn without_pods(mut amounts: Rounded) -> Rounded {
    amounts.remove("pods");
    amounts
}

fn without_zeros(amounts: Rounded) -> Rounded {
    amounts.into_iter().filter(|(_, amount)| *amount != 0).collect()
}

fn add(sum: &mut Rounded, more: &Rounded) {
    for (name, amount) in more {
        let sum = sum.entry(name.clone()).or_default();
        *sum = sum.wrapping_add(*amount);
    }
}
