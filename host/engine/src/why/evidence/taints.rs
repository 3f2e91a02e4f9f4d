//! Taints that nothing tolerates, and cordoned nodes. Start at [`collect`].

use std::collections::BTreeMap;
use std::sync::Arc;

use nodesift_cache::Row;
use nodesift_object::node::{Taint, TaintEffect};

use super::Draft;
use crate::Error;
use crate::facts::{Context, Tolerated, keeps_away};
use crate::limits::WHY_FACTS;
use crate::why::answer::{NamedFact, TaintFact};
use crate::why::view::View;
use crate::why::words::Words;

/// The taint that a pod has to tolerate to be placed on a cordoned node. Source: `TaintNodeUnschedulable` in k8s.io/api/core/v1.
const CORDONED: &str = "node.kubernetes.io/unschedulable";

/// Adds the taints that the pod does not tolerate, and whether nodes are cordoned.
///
/// # Errors
///
/// [`Error::DeadlineExceeded`].
pub(super) fn collect(view: &View<'_>, draft: &mut Draft<'_>) -> Result<(), Error> {
    let (context, batch, rows) = (view.context, &view.rejections.batch, view.rejections.rows);
    let (snapshot, tolerated) = (context.snapshot(), Tolerated::new(&context.pod().tolerations));
    let codes = snapshot.taint_codes().flat();
    let sets = snapshot.taint_sets().flat();
    let mut nodes = vec![0_usize; sets.len()];
    let code_of = |row: Row| codes.get(row.index()).map_or(0, |code| *code as usize);
    for row in batch.iter() {
        if let Some(nodes) = nodes.get_mut(code_of(row)) {
            *nodes += 1;
        }
    }
    let mut found: BTreeMap<(&str, &str, &str), (&Taint, usize)> = BTreeMap::new();
    let mut is_obstacle = vec![false; sets.len()];
    for ((set, nodes), is_obstacle) in sets.iter().zip(&nodes).zip(&mut is_obstacle) {
        // Each node may have a set of its own.
        view.check()?;
        let mut met: Vec<&Taint> = Vec::new();
        for taint in set.iter().filter(|taint| *nodes > 0 && keeps_away(taint) && !tolerated.contains(taint)) {
            *is_obstacle = true;
            if !met.contains(&taint) {
                met.push(taint);
                let key = (taint.key.as_str(), taint.value.as_str(), effect(taint));
                found.entry(key).or_insert((taint, 0)).1 += nodes;
            }
        }
    }
    let tainted = Words::from_test(rows, |row| {
        codes.get(row).and_then(|code| is_obstacle.get(*code as usize)).copied().unwrap_or(false)
    });
    if !found.is_empty() && draft.admits(&tainted.and(batch)) {
        let mut taints: Vec<TaintFact> =
            found.into_values().map(|(taint, nodes)| TaintFact { taint: taint.clone(), nodes }).collect();
        // Stable, so that taints of as many nodes are in the order of their keys.
        taints.sort_by_key(|taint| std::cmp::Reverse(taint.nodes));
        draft.evidence.omitted += taints.len().saturating_sub(WHY_FACTS);
        taints.truncate(WHY_FACTS);
        draft.evidence.taints = taints;
    }
    let flags = snapshot.unschedulable().flat();
    let cordoned = Words::from_test(rows, |row| flags.get(row).is_some_and(|flag| *flag != 0)).and(batch);
    let taint = Taint { key: CORDONED.to_owned(), value: String::new(), effect: TaintEffect::NoSchedule };
    if !cordoned.is_empty() && !tolerated.contains(&taint) && draft.admits(&cordoned) {
        let fact = NamedFact { name: "unschedulable", value: "true".to_owned(), nodes: Some(cordoned.count()) };
        draft.evidence.facts.push(fact);
    }
    Ok(())
}

/// The taints of a node that keep the pod away; at most so many.
pub(in crate::why) fn untolerated(context: &Context, row: Row, most: usize) -> Vec<Taint> {
    let snapshot = context.snapshot();
    let tolerated = Tolerated::new(&context.pod().tolerations);
    let set: Option<&Arc<Vec<Taint>>> =
        snapshot.taint_codes().get(row).and_then(|code| snapshot.taint_sets().get(Row(*code)));
    let taints = set.into_iter().flat_map(|set| set.iter());
    taints.filter(|taint| keeps_away(taint) && !tolerated.contains(taint)).take(most).cloned().collect()
}

/// The name of an effect that keeps pods away.
pub(in crate::why) fn effect(taint: &Taint) -> &'static str {
    if taint.effect == TaintEffect::NoExecute { "NoExecute" } else { "NoSchedule" }
}
