//! The pods that a cache has, by name: for messages about a pod that is not there. Start at [`of_engine`] and [`of_sidecar`].

use serde::Deserialize;

use super::source::{key_of, pending_of};
use crate::args::PodKey;
use crate::client::{self, Endpoint};
use crate::limits;
use nodesift_engine::Engine;

/// A pod that may be meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KnownPod {
    pub(crate) key: PodKey,
    /// Name of the node on which it is; none where it has none, or nobody has looked.
    pub(crate) node: Option<String>,
}

impl From<PodKey> for KnownPod {
    fn from(key: PodKey) -> Self {
        Self { key, node: None }
    }
}

/// The pods of an engine in this process, in no order.
pub(crate) fn of_engine(engine: &Engine) -> Vec<KnownPod> {
    let known = |pod: &nodesift_cache::metadata::PodRecord| KnownPod {
        key: key_of(pod),
        node: pod.node_name.as_ref().map(|node| node.to_string()),
    };
    engine.pods().iter().map(|pod| known(pod)).collect()
}

/// The pods of a sidecar, in no order. Of one whose state is larger than [`limits::CLIENT_STATE_BYTES`], or that does not show it to
/// whoever asks, those alone that it lists as pending.
///
/// # Errors
///
/// [`Failure::Unavailable`](crate::exit::Failure::Unavailable) if it gives neither.
pub(crate) fn of_sidecar(endpoint: &Endpoint) -> anyhow::Result<Vec<KnownPod>> {
    match state(endpoint) {
        Ok(state) => Ok(state.pods()),
        Err(_) => Ok(pending_of(endpoint, None)?.into_iter().map(KnownPod::from).collect()),
    }
}

fn state(endpoint: &Endpoint) -> anyhow::Result<State> {
    let (_, text) = client::get(endpoint, "/v1/state", limits::CLIENT_CONNECT, limits::CLIENT_STATE_BYTES)?;
    // A refusal is a document without these fields.
    Ok(serde_json::from_str(&text)?)
}

/// The names in a state.
#[derive(Deserialize)]
struct State {
    nodes: Vec<NodePods>,
    pending: Vec<StatePod>,
    /// Pods on nodes that are not there.
    orphans: Vec<StatePod>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NodePods {
    own_pods: Vec<StatePod>,
    foreign_pods: Vec<StatePod>,
}

#[derive(Deserialize)]
struct StatePod {
    namespace: String,
    name: String,
    node: Option<String>,
}

impl State {
    fn pods(self) -> Vec<KnownPod> {
        let on_nodes = self.nodes.into_iter().flat_map(|node| node.own_pods.into_iter().chain(node.foreign_pods));
        let pods = on_nodes.chain(self.pending).chain(self.orphans);
        pods.map(|StatePod { namespace, name, node }| KnownPod { key: PodKey { namespace, name }, node }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pods_of_a_state_are_those_on_nodes_and_those_on_none() {
        let text = r#"{"version": {}, "nodes": [{"name": "n0",
            "ownPods": [{"uid": "a", "namespace": "shop", "name": "web-0", "node": "n0", "assumed": false}],
            "foreignPods": [{"uid": "b", "namespace": "kube-system", "name": "dns", "node": "n0"}]}],
            "pending": [{"uid": "c", "namespace": "shop", "name": "web-1"}],
            "orphans": [{"uid": "d", "namespace": "shop", "name": "web-2", "node": "gone"}]}"#;
        let pods = serde_json::from_str(text).map(State::pods).unwrap_or_default();
        let told: Vec<_> = pods.iter().map(|pod| (pod.key.to_string(), pod.node.as_deref())).collect();
        let expected = [
            ("shop/web-0", Some("n0")),
            ("kube-system/dns", Some("n0")),
            ("shop/web-1", None),
            ("shop/web-2", Some("gone")),
        ];
        assert_eq!(told, expected.map(|(key, node)| (key.to_owned(), node)));
        assert!(serde_json::from_str::<State>(r#"{"error": {"message": "not ready"}}"#).is_err());
    }
}
