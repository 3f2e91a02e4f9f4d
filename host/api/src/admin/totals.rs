//! Totals of the cluster in `GET /v1/state`. Start at [`Totals::new`].

use std::sync::Arc;

use serde::Serialize;

use super::amounts::{Amount, ByName, NodeAmounts, named_sums};
use nodesift_cache::metadata::PodRecord;
use nodesift_cache::{Row, Snapshot};

/// Amounts of all nodes together as JSON, in the words of a node.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Totals<'a> {
    nodes: usize,
    allocatable: ByName<'a>,
    requested: ByName<'a>,
    own: ByName<'a>,
    foreign: ByName<'a>,
    free: ByName<'a>,
    /// Named sums over all nodes; absent without an accounting component.
    #[serde(skip_serializing_if = "Option::is_none")]
    sums: Option<ByName<'a>>,
}

impl<'a> Totals<'a> {
    /// The sums over all nodes of a snapshot, each with its pods.
    pub(super) fn new(snapshot: &'a Snapshot, nodes: &'a [(Row, Vec<Arc<PodRecord>>)]) -> Self {
        let mut amounts = NodeAmounts::default();
        for (row, pods) in nodes {
            amounts.add(&NodeAmounts::new(snapshot, *row, pods));
        }
        let sums = named_sums(snapshot, |column| {
            nodes.iter().fold(0, |sum: i64, (row, _)| sum.wrapping_add(column.get(*row).copied().unwrap_or(0)))
        });
        Self {
            nodes: nodes.len(),
            allocatable: amounts.each(|amount| amount.allocatable),
            requested: amounts.each(Amount::requested),
            own: amounts.each(Amount::own),
            foreign: amounts.each(|amount| amount.foreign),
            free: amounts.each(|amount| amount.free),
            sums,
        }
    }
}
