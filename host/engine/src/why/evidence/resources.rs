//! Requested amounts against those of nodes. Start at [`collect`]; [`demands`] serves the nearest nodes too.

use std::sync::Arc;

use nodesift_cache::{Column, Row};
use nodesift_sandbox::Interface;

use super::Draft;
use crate::Error;
use crate::facts::Context;
use crate::limits::WHY_FACTS;
use crate::why::answer::ResourceFact;
use crate::why::view::View;
use crate::why::words::Words;

/// Name that answers give to the places of pods.
const PODS: &str = "pods";

/// A requested resource, with what nodes have of it by row of the snapshot.
pub(in crate::why) struct Demand {
    pub(in crate::why) resource: Arc<str>,
    pub(in crate::why) requested: i64,
    free: Arc<[i64]>,
    allocatable: Arc<[i64]>,
}

impl Demand {
    /// The amount that is free on a node.
    pub(in crate::why) fn free(&self, row: Row) -> i64 {
        self.free.get(row.index()).copied().unwrap_or(0)
    }

    fn allocatable(&self, row: Row) -> i64 {
        self.allocatable.get(row.index()).copied().unwrap_or(0)
    }

    /// Whether a node has too little free.
    pub(in crate::why) fn is_short(&self, row: Row) -> bool {
        self.free(row) < self.requested
    }
}

/// The resources that the pod requests, and its place among the pods of a node: [`WHY_FACTS`] at most, and how many there are more.
/// A resource that devices may serve is left out: that a node has none of it does not keep the pod away.
pub(in crate::why) fn demands(context: &Context) -> (Vec<Demand>, usize) {
    let snapshot = context.snapshot();
    let requests = context.pod().requests.iter();
    let requests: Vec<_> =
        requests.filter(|(name, amount)| *amount > 0 && !snapshot.device_class_serves(name)).collect();
    let demand = |(name, amount): &&(Arc<str>, i64)| {
        let resource = snapshot.resource(name);
        let flat = |column: Option<&Column<i64>>| column.map(Column::flat).unwrap_or_default();
        Demand {
            resource: Arc::clone(name),
            requested: *amount,
            free: flat(resource.as_deref().map(|resource| &resource.free)),
            allocatable: flat(resource.as_deref().map(|resource| &resource.allocatable)),
        }
    };
    let mut demands: Vec<Demand> = requests.iter().take(WHY_FACTS).map(demand).collect();
    demands.push(Demand {
        resource: Arc::from(PODS),
        requested: 1,
        free: snapshot.pod_room().flat(),
        allocatable: snapshot.pod_limit().flat(),
    });
    (demands, requests.len().saturating_sub(WHY_FACTS))
}

/// Adds one fact for each requested resource, and one for places of pods where some node has none.
///
/// # Errors
///
/// [`Error::DeadlineExceeded`].
pub(super) fn collect(view: &View<'_>, draft: &mut Draft<'_>) -> Result<(), Error> {
    let (demands, omitted) = demands(view.context);
    draft.evidence.omitted = omitted;
    let (batch, rows) = (&view.rejections.batch, view.rejections.rows);
    let mut short = vec![0_u8; rows];
    let mut obstacles: Vec<Words> = Vec::with_capacity(demands.len());
    for demand in &demands {
        view.check()?;
        let mut of_demand = Words::none(rows);
        for row in batch.iter().filter(|row| demand.is_short(*row)) {
            of_demand.insert(row);
            if let Some(short) = short.get_mut(row.index()) {
                *short = short.saturating_add(1);
            }
        }
        obstacles.push(of_demand);
    }
    let open = view.free_of_others(Interface::NodeResources);
    for (demand, of_demand) in demands.iter().zip(&obstacles) {
        view.check()?;
        let is_place = &*demand.resource == PODS;
        if is_place && of_demand.is_empty() {
            continue;
        }
        if draft.admits(of_demand) {
            let nearest = open.iter().filter(|row| {
                let short = short.get(row.index()).copied().unwrap_or(0);
                short == u8::from(demand.is_short(*row))
            });
            let nearest_free = nearest.map(|row| demand.free(row)).max();
            draft.evidence.resources.push(ResourceFact { nearest_free, ..fact(view, demand) });
        }
    }
    Ok(())
}

/// Describes what the evaluated nodes have of a resource.
fn fact(view: &View<'_>, demand: &Demand) -> ResourceFact {
    let snapshot = view.context.snapshot();
    let (mut nodes_enough, mut nodes_too_small, mut largest_allocatable) = (0, 0, 0);
    let mut largest: Option<i64> = None;
    for row in view.rejections.batch.iter() {
        let (free, allocatable) = (demand.free(row), demand.allocatable(row));
        nodes_enough += usize::from(free >= demand.requested);
        nodes_too_small += usize::from(allocatable < demand.requested);
        largest_allocatable = largest_allocatable.max(allocatable);
        largest = largest.max(Some(free));
    }
    // Names are compared by nobody here: the snapshot keeps their order.
    let by_name = snapshot.rows_by_name();
    let has_most = |row: &&Row| view.rejections.batch.contains(**row) && Some(demand.free(**row)) == largest;
    let largest_free_row = by_name.iter().find(has_most).copied();
    ResourceFact {
        resource: Arc::clone(&demand.resource),
        requested: demand.requested,
        largest_free: largest.unwrap_or(0),
        largest_free_row,
        largest_allocatable,
        nodes_enough,
        nodes_too_small,
        nearest_free: None,
    }
}
