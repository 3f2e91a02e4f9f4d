//! The pods that a cache has, by name: for messages about a pod that is not there. Start at [`of_engine`] and [`of_sidecar`].

use super::source::{key_of, pending_of};
use crate::args::PodKey;
use crate::client::Endpoint;
use nodesift_engine::Engine;

/// A pod that may be meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KnownPod {
    pub(crate) key: PodKey,
    /// Name of the node on which it is; none where it has none.
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

/// The pods that a sidecar lists as pending, in no order. Its whole state has the others too, and a name that was mistyped is not worth a
/// lock on all pods of a large cluster.
///
/// # Errors
///
/// [`Failure::Unavailable`](crate::exit::Failure::Unavailable) if it does not give them.
pub(crate) fn of_sidecar(endpoint: &Endpoint) -> anyhow::Result<Vec<KnownPod>> {
    Ok(pending_of(endpoint, None)?.into_iter().map(KnownPod::from).collect())
}
