//! The request about a pod, as the arguments have it. Start at [`request`].

use nodesift_proto::v1::{self, pod};

use crate::args::{PodKey, WhyArgs};

/// A pod of the cluster by its namespace and name.
pub(super) fn by_name(key: &PodKey) -> v1::Pod {
    let name = v1::PodName { namespace: key.namespace.clone(), name: key.name.clone() };
    v1::Pod::from(pod::Pod::Name(name))
}

/// The question about a pod, as the arguments have it.
pub(super) fn request(args: &WhyArgs, pod: v1::Pod) -> v1::WhyRequest {
    let nodes = (!args.node.is_empty()).then(|| v1::NodeSubset { names: args.node.clone() });
    v1::WhyRequest {
        pod: Some(pod),
        nodes,
        skip: args.source.listed.skip.clone(),
        by: args.by.clone().unwrap_or_default(),
        // A line a pod shows nothing of it.
        help: args.edits.is_empty() && (!args.pods.is_empty() || args.filename.is_some()),
        ..v1::WhyRequest::default()
    }
}
