//! The differences between an answer with scores and the reference's scores.

use std::collections::BTreeSet;

use nodesift_engine::{Answer, NodeScore, PodScores, RowsByName, ScoredNode, ScorerOutcome};
use nodesift_reference::scores::Scores;

use super::Tally;

/// The names of the feasible nodes of the only pod of an answer, sorted.
pub(super) fn feasible(answer: &Answer) -> Vec<String> {
    let [pod] = &answer.pods[..] else { panic!("one pod in the query, {} in the answer", answer.pods.len()) };
    let rows = RowsByName::new(&pod.feasible, &answer.snapshot.node_names());
    rows.map(|row| answer.snapshot.node_name(row).to_owned()).collect()
}

/// The scores of the only pod of an answer.
fn scores(answer: &Answer) -> &PodScores {
    answer.pods.first().and_then(|pod| pod.scores.as_deref()).expect("scores were asked for")
}

/// The differences between the scores of all feasible nodes and the reference's, which are in the order of `feasible`.
pub(super) fn differences(
    answer: &Answer,
    feasible: &[String],
    expected: &Result<Scores, String>,
    tally: &mut Tally,
) -> Vec<String> {
    let found = scores(answer);
    let mut differences: Vec<String> = found.faults.iter().map(|fault| format!("fault {fault:?}")).collect();
    if feasible.is_empty() {
        if *found != PodScores::default() {
            differences.push(format!("scores without a feasible node: {found:?}"));
        }
        return differences;
    }
    let expected = match (expected, &found.error) {
        (Err(_), Some(_)) if found.nodes.is_empty() => {
            tally.errors += 1;
            return differences;
        }
        (Ok(expected), None) => expected,
        (expected, error) => {
            differences.push(format!("error {error:?}, reference {:?}", expected.as_ref().err()));
            return differences;
        }
    };
    let named: BTreeSet<&str> = expected.plugins.iter().map(|plugin| plugin.name).collect();
    let answered: BTreeSet<&str> = found.scorers.iter().map(|scorer| &*scorer.scorer).collect();
    if named != answered {
        differences.push(format!("scorers {answered:?}, reference {named:?}"));
    }
    let name = |node: &ScoredNode| answer.snapshot.node_name(node.row).to_owned();
    for (at, scorer) in found.scorers.iter().enumerate() {
        let Some(plugin) = expected.plugins.iter().find(|plugin| plugin.name == &*scorer.scorer) else { continue };
        let about = &plugin.name;
        let outcome = if plugin.column.is_some() { ScorerOutcome::Scored } else { ScorerOutcome::Skipped };
        if (scorer.outcome, scorer.weight) != (outcome, plugin.weight) {
            let found = (scorer.outcome, scorer.weight);
            differences.push(format!("{about}: {found:?}, reference {:?}", (outcome, plugin.weight)));
            continue;
        }
        let Some(column) = &plugin.column else {
            tally.skips += 1;
            continue;
        };
        tally.scores += column.raw.len() as u64;
        tally.varying += if column.raw.windows(2).any(|two| two[0] != two[1]) { column.raw.len() as u64 } else { 0 };
        for ((node, raw), normalized) in feasible.iter().zip(&column.raw).zip(&column.normalized) {
            let expected = NodeScore { raw: *raw, normalized: *normalized };
            let found = found.nodes.iter().find(|found| name(found) == *node).and_then(|node| *node.each.get(at)?);
            if found != Some(expected) {
                differences.push(format!("{about} on {node}: {found:?}, reference {expected:?}"));
            }
        }
    }
    let mut order: Vec<(String, i64)> = feasible.iter().cloned().zip(expected.totals.iter().copied()).collect();
    // The sort is stable, and the nodes are sorted by name.
    order.sort_by_key(|(_, total)| std::cmp::Reverse(*total));
    let found_order: Vec<(String, i64)> = found.nodes.iter().map(|node| (name(node), node.total)).collect();
    if found_order != order || found.ties != 0 {
        differences.push(format!("totals {found_order:?} and {} ties, reference {order:?}", found.ties));
    }
    differences
}

/// The differences between the best nodes and the reference's.
pub(super) fn best(
    answer: &Answer,
    top: usize,
    seed: Option<u64>,
    feasible: &[String],
    expected: &Scores,
    tally: &mut Tally,
) -> Vec<String> {
    let found = scores(answer);
    let mut order: Vec<(i64, &String)> = expected.totals.iter().copied().zip(feasible).collect();
    order.sort_by_key(|(total, _)| std::cmp::Reverse(*total));
    let best = &order[..top.min(order.len())];
    let last = best.last().map(|(total, _)| *total);
    let with_last = |total: &i64| Some(*total) == last;
    let ties = order.iter().filter(|(total, _)| with_last(total)).count()
        - best.iter().filter(|(total, _)| with_last(total)).count();
    tally.tied += u64::from(ties > 0);

    let names: Vec<&str> = found.nodes.iter().map(|node| answer.snapshot.node_name(node.row)).collect();
    let totals: Vec<i64> = found.nodes.iter().map(|node| node.total).collect();
    let mut differences = Vec::new();
    if totals != best.iter().map(|(total, _)| *total).collect::<Vec<_>>() || found.ties != ties {
        differences.push(format!("best {top}: {totals:?} and {} ties, reference {best:?} and {ties}", found.ties));
    }
    let is_of_order =
        |(name, total): (&&str, &i64)| order.iter().any(|(known, node)| known == total && node.as_str() == *name);
    let distinct: BTreeSet<&&str> = names.iter().collect();
    if !names.iter().zip(&totals).all(is_of_order) || distinct.len() != names.len() {
        differences.push(format!("best {top}: {names:?}, reference {order:?}"));
    }
    if seed.is_none() && names != best.iter().map(|(_, node)| node.as_str()).collect::<Vec<_>>() {
        differences.push(format!("best {top} in the order of names: {names:?}, reference {best:?}"));
    }
    if found.nodes.iter().any(|node| !node.each.is_empty()) {
        differences.push("scores of each scorer that were not asked for".to_owned());
    }
    differences
}
