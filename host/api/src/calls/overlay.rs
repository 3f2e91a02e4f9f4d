//! Overlays of `nodesift.v1` → [`OverlaySpec`] → hypothetical snapshots; errors name the field.
//!
//! Start at [`parse`], then [`snapshot`].

use std::sync::Arc;

use nodesift_proto::v1::{self, node};

use super::request::{TERMINATED, from_object, from_text, pod_ref};
use crate::error::at_most;
use crate::{Error, limits};
use nodesift_cache::Snapshot;
use nodesift_cache::metadata;
use nodesift_engine::{self as engine, Engine, OverlayPart, OverlaySpec, PodRef};
use nodesift_object::Node;

/// Checks an overlay; an absent one changes nothing.
///
/// # Errors
///
/// Names the field that is wrong or too large.
pub(super) fn parse(overlay: Option<v1::Overlay>) -> Result<OverlaySpec, Error> {
    let Some(overlay) = overlay else { return Ok(OverlaySpec::default()) };
    at_most("removed pods", overlay.removed_pods.len(), limits::OVERLAY_REMOVED_PODS)?;
    at_most("added pods", overlay.added_pods.len(), limits::OVERLAY_ADDED_PODS)?;
    at_most("overlay nodes", overlay.nodes.len(), limits::OVERLAY_NODES)?;
    let removed = overlay.removed_pods.into_iter().enumerate();
    let removed = removed.map(|(at, pod)| pod_ref(&format!("overlay.removed_pods[{at}]"), pod));
    let added = overlay.added_pods.into_iter().enumerate();
    let added = added.map(|(at, placed)| added_pod(&format!("overlay.added_pods[{at}]"), placed));
    let nodes = overlay.nodes.into_iter().enumerate();
    let nodes = nodes.map(|(at, node)| overlay_node(&format!("overlay.nodes[{at}]"), node));
    Ok(OverlaySpec {
        nodes: nodes.collect::<Result<_, _>>()?,
        removed: removed.collect::<Result<_, _>>()?,
        added: added.collect::<Result<_, _>>()?,
    })
}

/// Checks nominations.
///
/// # Errors
///
/// Names the field that is wrong or too large.
pub(super) fn parse_nominated(pods: Vec<v1::PlacedPod>) -> Result<Vec<(PodRef, String)>, Error> {
    at_most("nominated pods", pods.len(), limits::REQUEST_NOMINATED)?;
    let nominated = pods.into_iter().enumerate().map(|(at, placed)| {
        Ok((pod_ref(&format!("nominated_pods[{at}].pod"), placed.pod.unwrap_or_default())?, placed.node))
    });
    nominated.collect()
}

/// A snapshot with the nominations of a request.
///
/// # Errors
///
/// Names the pod that the cache does not have.
pub(super) fn nominating(
    engine: &Engine,
    snapshot: &Arc<Snapshot>,
    pods: &[(PodRef, String)],
) -> Result<Arc<Snapshot>, Error> {
    engine.nominating(snapshot, pods).map_err(in_field)
}

fn added_pod(place: &str, placed: v1::PlacedPod) -> Result<(PodRef, String), Error> {
    let field = format!("{place}.pod");
    let pod = pod_ref(&field, placed.pod.unwrap_or_default())?;
    if let PodRef::Whole(whole) = &pod
        && metadata::is_terminated(whole)
    {
        return Err(Error::invalid(field, TERMINATED));
    }
    if placed.node.is_empty() {
        return Err(Error::invalid(format!("{place}.node"), "is empty"));
    }
    Ok((pod, placed.node))
}

fn overlay_node(place: &str, node: v1::Node) -> Result<Node, Error> {
    match node.node {
        Some(node::Node::Json(text)) => from_text(&format!("{place}.json"), &text),
        Some(node::Node::Object(object)) => from_object(&format!("{place}.object"), object),
        None => Err(Error::invalid(place, "give one of json, object")),
    }
}

/// The newest snapshot with an overlay laid over it. With `by_row`, every node must have a row of the node index.
///
/// # Errors
///
/// Names the pod or node of the overlay that the cache does not have. The overlay is unsettled where the cache knows more of
/// one of its pods than the newest snapshot shows.
pub(super) fn snapshot(engine: &Engine, what_if: &OverlaySpec, by_row: bool) -> Result<Arc<Snapshot>, Error> {
    let snapshot = engine.overlay_snapshot(what_if).map_err(in_field)?;
    if by_row && snapshot.has_overlay_nodes() {
        return Err(Error::invalid(
            "bitmaps",
            "the overlay adds nodes, which have no rows: leave bitmaps out to get names",
        ));
    }
    Ok(snapshot)
}

/// Names the field of a request that a failed lookup is about.
fn in_field(error: engine::Error) -> Error {
    let engine::Error::OverlayPart { part, error } = error else { return error.into() };
    let field = match part {
        OverlayPart::Removed(at) => format!("overlay.removed_pods[{at}]"),
        OverlayPart::Added(at) => format!("overlay.added_pods[{at}].pod"),
        OverlayPart::NodeOfAdded(at) => format!("overlay.added_pods[{at}].node"),
        OverlayPart::Nominated(at) => format!("nominated_pods[{at}].pod"),
    };
    Error::Field { field, error }
}
