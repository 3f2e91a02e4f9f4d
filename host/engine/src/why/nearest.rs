//! The nodes that exactly one predicate rejects, those that lack least first. Start at [`find`].

use std::sync::Arc;

use nodesift_cache::Row;
use nodesift_sandbox::Interface;

use super::answer::Near;
use super::evidence::{resources, taints};
use super::rejections::cut;
use super::view::{CHECKED_ROWS, View};
use crate::Error;
use crate::limits::{WHY_NODE_TAINTS, WHY_REASONS};

/// The part of a request that a node lacks, in millionths.
const WHOLE: i128 = 1_000_000;

/// Place of a node among the nearest: how much it lacks, where that is known, then the predicate, then the row.
type Rank = (Option<u64>, usize, Row);

/// Finds the `most` nearest of the nodes that exactly one predicate rejects.
///
/// # Errors
///
/// [`Error::DeadlineExceeded`].
pub(super) fn find(view: &View<'_>, most: usize) -> Result<Vec<Near>, Error> {
    if most == 0 || view.rejections.once.is_empty() {
        return Ok(Vec::new());
    }
    let (demands, _) = resources::demands(view.context);
    let mut ranks: Vec<Rank> = Vec::new();
    for (at, rows) in view.rejections.alone.iter().enumerate() {
        let reads_amounts = view.imports(at, Interface::NodeResources);
        for (nth, row) in rows.and(&view.rejections.once).iter().enumerate() {
            if nth.is_multiple_of(CHECKED_ROWS) {
                view.check()?;
            }
            let lacks = demands.iter().filter(|demand| reads_amounts && demand.is_short(row)).map(|demand| {
                let missing = i128::from(demand.requested) - i128::from(demand.free(row));
                u64::try_from(missing * WHOLE / i128::from(demand.requested.max(1))).unwrap_or(u64::MAX)
            });
            ranks.push((lacks.max(), at, row));
        }
    }
    // `None` is less than any amount, and comes last.
    let order = |(lacks, at, row): &Rank| (lacks.is_none(), *lacks, *at, *row);
    if ranks.len() > most {
        ranks.select_nth_unstable_by_key(most, order);
        ranks.truncate(most);
    }
    ranks.sort_unstable_by_key(order);
    let near = |(_, at, row): Rank| {
        let alone = view.answer.predicates.get(at)?;
        let group = alone.failures.iter().find(|group| group.rows.contains(row))?;
        let missing =
            demands.iter().filter(|demand| view.imports(at, Interface::NodeResources) && demand.is_short(row));
        let missing =
            missing.map(|demand| (Arc::clone(&demand.resource), demand.requested.saturating_sub(demand.free(row))));
        let reads_taints = view.imports(at, Interface::NodeTaints);
        let taints = if reads_taints { taints::untolerated(view.context, row, WHY_NODE_TAINTS) } else { Vec::new() };
        let reasons = group.reasons.iter().take(WHY_REASONS).map(|reason| cut(reason).to_owned()).collect();
        let (code, missing) = (group.code, missing.collect());
        Some(Near { row, predicate: at, code, reasons, missing, taints })
    };
    Ok(ranks.into_iter().filter_map(near).collect())
}
