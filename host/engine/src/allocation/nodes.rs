//! The nodes that reach all devices of a claim. Start at [`Reached`]. Source: `createNodeSelector`.

use nodesift_cache::DeviceNodes;
use nodesift_object::selector::Requirement;

use super::AllocationError;
use super::document::{NodeSelector, NodeSelectorTerm};

/// The nodes of one device.
pub(super) struct Reached {
    pub(super) nodes: DeviceNodes,
    /// Whether a claim with the device is for the chosen node only.
    pub(super) binds_to_node: bool,
}

/// The requirement to be the node of a name.
pub(super) fn named(node: &str) -> Requirement {
    Requirement { key: "metadata.name".to_owned(), operator_text: "In".to_owned(), values: vec![node.to_owned()] }
}

/// The nodes that reach all devices; `None` for every node. `node` is [`named`] for the chosen one.
pub(super) fn selector<'a>(
    devices: &'a [Reached],
    node: &'a Requirement,
) -> Result<Option<NodeSelector<'a>>, AllocationError> {
    let mut term = NodeSelectorTerm::default();
    for device in devices {
        if device.binds_to_node {
            return Ok(Some(only(node)));
        }
        match &device.nodes {
            DeviceNodes::One => return Ok(Some(only(node))),
            DeviceNodes::All => {}
            DeviceNodes::Selected(selector) => match selector.node_selector_terms.as_slice() {
                [] => {}
                [one] => {
                    add_new(&mut term.match_fields, &one.match_fields);
                    add_new(&mut term.match_expressions, &one.match_expressions);
                }
                several => return Err(AllocationError::Terms { terms: several.len() }),
            },
        }
    }
    let is_empty = term.match_fields.is_empty() && term.match_expressions.is_empty();
    Ok((!is_empty).then_some(NodeSelector { node_selector_terms: [term] }))
}

fn only(node: &Requirement) -> NodeSelector<'_> {
    NodeSelector { node_selector_terms: [NodeSelectorTerm { match_fields: vec![node], match_expressions: Vec::new() }] }
}

/// Adds requirements that are not there yet; the order of values does not matter, nor how often one is there.
fn add_new<'a>(known: &mut Vec<&'a Requirement>, requirements: &'a [Requirement]) {
    let values = |requirement: &'a Requirement| {
        let mut values: Vec<&str> = requirement.values.iter().map(String::as_str).collect();
        values.sort_unstable();
        values.dedup();
        (&requirement.key, &requirement.operator_text, values)
    };
    for requirement in requirements {
        let new = values(requirement);
        if !known.iter().any(|known| values(known) == new) {
            known.push(requirement);
        }
    }
}
