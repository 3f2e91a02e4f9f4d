//! `nodesift.v1` overlays → [`WhatIf`], and the snapshot that would be; errors name the field.

use std::sync::Arc;

use nodesift_proto::v1::{self, node};

use super::Error;
use super::request::{at_most, from_object, from_text, invalid, pod_ref};
use crate::limits;
use nodesift_cache::Snapshot;
use nodesift_cache::metadata;
use nodesift_engine::{self as engine, Engine, PodRef, Supposed, WhatIf};
use nodesift_object::Node;

/// What a request supposes.
pub(super) fn what_if(overlay: Option<v1::Overlay>) -> Result<WhatIf, Error> {
    let Some(overlay) = overlay else { return Ok(WhatIf::default()) };
    at_most("removed pods", overlay.removed_pods.len(), limits::OVERLAY_REMOVED_PODS)?;
    at_most("added pods", overlay.added_pods.len(), limits::OVERLAY_ADDED_PODS)?;
    at_most("supposed nodes", overlay.nodes.len(), limits::OVERLAY_NODES)?;
    let removed = overlay.removed_pods.into_iter().enumerate();
    let removed = removed.map(|(at, pod)| pod_ref(&format!("overlay.removed_pods[{at}]"), pod));
    let added = overlay.added_pods.into_iter().enumerate();
    let added = added.map(|(at, placed)| added_pod(&format!("overlay.added_pods[{at}]"), placed));
    let nodes = overlay.nodes.into_iter().enumerate();
    let nodes = nodes.map(|(at, node)| supposed_node(&format!("overlay.nodes[{at}]"), node));
    Ok(WhatIf {
        nodes: nodes.collect::<Result<_, _>>()?,
        removed: removed.collect::<Result<_, _>>()?,
        added: added.collect::<Result<_, _>>()?,
    })
}

fn added_pod(place: &str, placed: v1::PlacedPod) -> Result<(PodRef, String), Error> {
    let field = format!("{place}.pod");
    let pod = pod_ref(&field, placed.pod.unwrap_or_default())?;
    if let PodRef::Whole(whole) = &pod
        && metadata::is_terminated(whole)
    {
        return Err(invalid(&field, "has ended, and takes no room any more"));
    }
    if placed.node.is_empty() {
        return Err(invalid(&format!("{place}.node"), "is empty"));
    }
    Ok((pod, placed.node))
}

fn supposed_node(place: &str, node: v1::Node) -> Result<Node, Error> {
    match node.node {
        Some(node::Node::Json(text)) => from_text(&format!("{place}.json"), &text),
        Some(node::Node::Object(object)) => from_object(&format!("{place}.object"), object),
        None => Err(invalid(place, "give one of json, object")),
    }
}

/// The newest snapshot, under what is supposed. Where `by_row`, every node must have a row that the core knows.
pub(super) fn snapshot(engine: &Engine, what_if: &WhatIf, by_row: bool) -> Result<Arc<Snapshot>, Error> {
    let snapshot = engine.supposing(what_if).map_err(|error| match error {
        engine::Error::Supposed { place, error } => {
            let field = match place {
                Supposed::Removed(at) => format!("overlay.removed_pods[{at}]"),
                Supposed::Added(at) => format!("overlay.added_pods[{at}].pod"),
                Supposed::NodeOfAdded(at) => format!("overlay.added_pods[{at}].node"),
            };
            Error::Field { field, error }
        }
        other => other.into(),
    })?;
    if by_row && snapshot.has_overlay_nodes() {
        return Err(invalid("bitmaps", "the overlay adds nodes, which have no rows: ask for names"));
    }
    Ok(snapshot)
}
