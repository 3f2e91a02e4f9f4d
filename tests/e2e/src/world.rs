//! The run's own record of the objects, used only to choose the next change. It is never compared with anything: the expected
//! state is read from the API server.

use std::collections::BTreeMap;

use nodesift_fixtures::Rng;
use nodesift_fixtures::cluster::is_over;
use nodesift_fixtures::json::{is_set, key, name, text};
use nodesift_fixtures::live::NAMESPACES;
use serde_json::Value;

use crate::api::Api;
use crate::kinds::{NODES, PODS};

/// The name of a node and a pod that only [`mark`](crate::history::History::mark) changes.
pub(crate) const SENTINEL: &str = "sentinel";

/// Objects by `namespace/name` or name.
#[derive(Debug, Default)]
pub(crate) struct World {
    /// Pods of the cluster by `namespace/name`.
    pub(crate) pods: BTreeMap<String, Value>,
    /// Nodes of the cluster by name.
    pub(crate) nodes: BTreeMap<String, Value>,
    /// Names of deleted nodes, which may be created again.
    pub(crate) gone: Vec<String>,
    /// Claims that are not bound, by `namespace/name`.
    pub(crate) claims: BTreeMap<String, Value>,
}

impl World {
    /// Reads all objects again.
    pub(crate) async fn refresh(&mut self, api: &Api) -> anyhow::Result<()> {
        let named = |objects: Vec<Value>| objects.into_iter().map(|object| (key(&object), object));
        let ours = |object: &Value| name(object) != SENTINEL;
        let nodes: BTreeMap<_, _> = named(api.list(NODES).await?.items).filter(|(_, node)| ours(node)).collect();
        self.gone.extend(self.nodes.keys().filter(|name| !nodes.contains_key(*name)).cloned());
        self.gone.retain(|name| !nodes.contains_key(name));
        self.gone.sort();
        self.gone.dedup();
        self.nodes = nodes;
        self.pods = named(api.list(PODS).await?.items).filter(|(_, pod)| ours(pod)).collect();
        let claims = named(api.list("/api/v1/persistentvolumeclaims").await?.items);
        self.claims = claims.filter(|(_, claim)| text(claim, "spec.volumeName").is_empty()).collect();
        Ok(())
    }

    /// A random pod for which `is_wanted` is true.
    pub(crate) fn some_pod(&self, rng: &mut Rng, is_wanted: impl Fn(&Value) -> bool) -> Option<&Value> {
        let wanted: Vec<&Value> = self.pods.values().filter(|pod| is_wanted(pod)).collect();
        rng.choose(&wanted).copied()
    }

    /// Chooses a random node; `None` where there is none.
    pub(crate) fn some_node(&self, rng: &mut Rng) -> Option<&Value> {
        let nodes: Vec<&Value> = self.nodes.values().collect();
        rng.choose(&nodes).copied()
    }

    /// The names of all nodes.
    pub(crate) fn node_names(&self) -> Vec<String> {
        self.nodes.keys().cloned().collect()
    }

    /// Chooses a random namespace.
    pub(crate) fn some_namespace(rng: &mut Rng) -> &'static str {
        rng.word(&NAMESPACES)
    }
}

/// Whether a pod is pending.
pub(crate) fn is_pending(pod: &Value) -> bool {
    text(pod, "spec.nodeName").is_empty() && !is_over(pod) && !is_terminating(pod)
}

/// Whether a pod is on a node and not terminating.
pub(crate) fn is_placed(pod: &Value) -> bool {
    !text(pod, "spec.nodeName").is_empty() && !is_over(pod) && !is_terminating(pod)
}

/// Whether a pod is terminating.
pub(crate) fn is_terminating(pod: &Value) -> bool {
    is_set(pod, "metadata.deletionTimestamp")
}
