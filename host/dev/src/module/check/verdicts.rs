//! Verdicts as one entry per node, and where two of them differ. Start at [`rows_of`].

use std::sync::Arc;

use nodesift_cache::Row;
use nodesift_engine::Batch;
use nodesift_object::Pod;
use nodesift_sandbox::fault::Fault;
use nodesift_sandbox::{Failure, Module};

use super::super::call::World;

/// The failure of each row of a batch; `None` where it fits.
pub(super) type Rows = Vec<Option<Failure>>;

/// The verdict of a module about a pod and some rows.
///
/// # Errors
///
/// The fault of the call.
pub(super) fn rows_of(module: &Module, world: &World, pod: &Pod, rows: &[Row]) -> Result<Rows, Fault> {
    // As the engine does: every row is no list of rows.
    let batch = if rows.len() == world.snapshot.node_count() { Batch::All } else { Batch::Rows(rows.into()) };
    let context = world.context(pod, batch);
    let count = context.rows();
    let verdict = module.filter(Arc::new(context), count, None)?;
    Ok((0..count as usize).map(|place| verdict.failure_at(place).cloned()).collect())
}

/// The first difference, in words.
pub(super) fn first_difference(world: &World, one: &Result<Rows, Fault>, two: &Result<Rows, Fault>) -> Option<String> {
    let (one, two) = match (one, two) {
        (Ok(one), Ok(two)) => (one, two),
        (Err(one), Err(two)) if one.kind == two.kind => return None,
        (one, two) => return Some(format!("{} at first, then {}", ended(one), ended(two))),
    };
    if one.len() != two.len() {
        return Some(format!("{} rows at first, then {}", one.len(), two.len()));
    }
    let found = world.nodes().zip(one.iter().zip(two)).find(|(_, (one, two))| one != two);
    found.map(|(node, (one, two))| format!("node {node} {} at first, then {}", told(one.as_ref()), told(two.as_ref())))
}

fn ended(outcome: &Result<Rows, Fault>) -> String {
    outcome.as_ref().map_or_else(|fault| format!("the fault {fault}"), |_| "a verdict".to_owned())
}

fn told(failure: Option<&Failure>) -> String {
    failure.map_or_else(
        || "fits".to_owned(),
        |failure| format!("is rejected as {}: {}", failure.code.name(), failure.reasons.join("; ")),
    )
}
