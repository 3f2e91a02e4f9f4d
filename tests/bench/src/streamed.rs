//! The least that a machine needs for an answer: a plain native loop over the columns that it follows from. No contract, no predicates, no
//! reasons: one bit per row, whether it fits. Start at [`Streamed::new`].
//!
//! It knows what common pods ask for: tolerations, labels of nodes by `In` and `Gt`, resources, spread and anti-affinity, all in their usual
//! forms. Whoever measures it compares its rows with the answer: for a pod that asks for more they differ, and there is no such figure.

use std::sync::Arc;

use nodesift_engine::Context;
use nodesift_sdk::columns::node_taints::Taint;
use nodesift_sdk::columns::pod_placement::{Operator, Requirement, Term};
use nodesift_sdk::columns::pod_spread::WhenUnsatisfiable;
use nodesift_sdk::label_selector::Selector;
use nodesift_sdk::native::Facts as _;
use nodesift_sdk::taints;

use crate::Bridge;

/// Rows per word of the answer.
const WORD: usize = u64::BITS as usize;

/// The columns of one pod, and what is asked of each entry.
#[derive(Debug)]
pub struct Streamed {
    rows: usize,
    /// Columns of flags: a row with one is rejected.
    flags: Vec<Vec<u8>>,
    /// Columns of codes of labels, and for each code whether rows with it are rejected.
    labels: Vec<(Vec<u32>, Vec<u8>)>,
    /// The column of codes of sets of taints, and for each code whether rows with it are rejected.
    taints: (Vec<u32>, Vec<u8>),
    /// Columns of amounts, and the least that a row must have.
    amounts: Vec<(Vec<i64>, i64)>,
    domains: Vec<Domains>,
}

/// Columns of one constraint that counts pods of each topology domain.
#[derive(Debug)]
struct Domains {
    /// The code of each row's domain; 0 where it has none.
    codes: Vec<u32>,
    /// Pods of each row.
    pods: Vec<u32>,
    /// How many pods more than the least domain a domain may have with this one, for a spread constraint. For a term of anti-affinity
    /// none: a domain may have no pod.
    skew: Option<u32>,
}

impl Streamed {
    /// The columns for the pod of a context; `None` where it asks for what this does not know.
    pub fn new(context: &Arc<Context>) -> Option<Self> {
        let facts = Bridge(Arc::clone(context));
        let namespace = facts.pod_labels_namespace();
        let column = |key: &str| facts.node_labels_column(key);
        let is_plain = facts.pod_affinity_affinity().is_empty()
            && facts.pod_volumes_volumes().is_empty()
            && facts.pod_placement_node_name().is_none()
            && facts.node_ports_conflicts().is_none()
            && facts.pod_claims_claims().is_ok_and(|claims| claims.is_empty())
            && facts.pod_claims_extended().is_none();
        if !is_plain {
            return None;
        }
        let tolerations = facts.pod_tolerations_tolerations();
        let untolerated = |set: &Vec<Taint>| u8::from(!taints::tolerated(set, &tolerations));
        let sets: Vec<u8> = facts.node_taints_sets().iter().map(untolerated).collect();
        let mut labels = Vec::new();
        for (key, value) in facts.pod_placement_node_selector() {
            let values = facts.node_labels_dictionary(&key);
            labels.push((column(&key), values.iter().map(|known| u8::from(*known != value)).collect()));
        }
        match facts.pod_placement_required_terms().as_deref() {
            None => {}
            Some([Term { expressions, fields }]) if fields.is_empty() => {
                for requirement in expressions {
                    labels.push((column(&requirement.key), rejected(&facts, requirement)?));
                }
            }
            Some(_) => return None,
        }
        let free = |resource: &str| facts.node_resources_free(resource);
        let requests = facts.pod_resources_requests().into_iter().filter(|request| request.amount != 0);
        let requested = requests.map(|request| (free(&request.resource), request.amount));
        let amounts = [(facts.node_resources_pod_room(), 1)].into_iter().chain(requested).collect();
        let counts = |selector, terminating| {
            let pods = Selector::read(selector).ok()?.pods_in(&namespace)?;
            Some(facts.cluster_pods_matching(&[pods], terminating))
        };
        let mut domains = Vec::new();
        for constraint in facts.pod_spread_constraints() {
            if constraint.when_unsatisfiable == WhenUnsatisfiable::DoNotSchedule {
                let skew = Some(u32::try_from(constraint.max_skew).ok()?);
                let (codes, pods) = (column(&constraint.topology_key), counts(constraint.selector, false)?);
                domains.push(Domains { codes, pods, skew });
            }
        }
        for term in facts.pod_affinity_anti_affinity() {
            let (codes, pods) = (column(&term.topology_key), counts(term.selector, true)?);
            domains.push(Domains { codes, pods, skew: None });
        }
        for key in facts.cluster_affinity_topology_keys() {
            let (codes, pods) = (column(&key), facts.cluster_affinity_anti_affinity_terms(&key));
            domains.push(Domains { codes, pods, skew: None });
        }
        let (flags, taints) = (vec![facts.node_taints_unschedulable()], (facts.node_taints_column(), sets));
        Some(Self { rows: context.rows() as usize, flags, labels, taints, amounts, domains })
    }

    /// The rows that fit, as bits: one column after the other.
    #[must_use]
    pub fn feasible(&self) -> Vec<u64> {
        let mut outside = vec![0; self.rows];
        for (codes, table) in &self.labels {
            mark(&mut outside, codes, table);
        }
        // Rows that labels reject are no part of the domains of a spread constraint.
        let mut rejected = outside.clone();
        mark(&mut rejected, &self.taints.0, &self.taints.1);
        for flags in &self.flags {
            rejected.iter_mut().zip(flags).for_each(|(rejected, flag)| *rejected |= flag);
        }
        for (amounts, least) in &self.amounts {
            rejected.iter_mut().zip(amounts).for_each(|(rejected, amount)| *rejected |= u8::from(amount < least));
        }
        for domains in &self.domains {
            mark(&mut rejected, &domains.codes, &domains.crowded(&outside));
        }
        let word = |rows: &[u8]| rows.iter().rev().fold(0, |word, row| word << 1 | u64::from(*row == 0));
        rejected.chunks(WORD).map(word).collect()
    }
}

impl Domains {
    /// For each code whether one pod more is too many; `outside` are the rows that no spread constraint counts.
    fn crowded(&self, outside: &[u8]) -> Vec<u8> {
        let length = self.codes.iter().max().map_or(0, |code| *code as usize) + 1;
        let mut sums = vec![0_u32; length];
        let Some(skew) = self.skew else {
            for (code, pods) in self.codes.iter().zip(&self.pods) {
                if let Some(sum) = sums.get_mut(*code as usize) {
                    *sum += pods;
                }
            }
            return sums.iter().enumerate().map(|(code, sum)| u8::from(code != 0 && *sum > 0)).collect();
        };
        let mut rows = vec![0_u32; length];
        for ((code, pods), outside) in self.codes.iter().zip(&self.pods).zip(outside) {
            let code = *code as usize;
            if let (Some(sum), Some(rows), 0) = (sums.get_mut(code), rows.get_mut(code), outside) {
                *sum += pods;
                *rows += 1;
            }
        }
        let exists = |(sum, rows): (&u32, &u32)| (*rows > 0).then_some(*sum);
        let least = sums.iter().zip(&rows).skip(1).filter_map(exists).min().unwrap_or(0);
        sums.iter().enumerate().map(|(code, sum)| u8::from(code == 0 || *sum >= least + skew)).collect()
    }
}

/// For each value of a label whether a requirement rejects it; `None` for operators that this does not know.
fn rejected(facts: &Bridge, Requirement { key, operator, values }: &Requirement) -> Option<Vec<u8>> {
    match (operator, values.as_slice()) {
        (Operator::In, values) => {
            Some(facts.node_labels_dictionary(key).iter().map(|known| u8::from(!values.contains(known))).collect())
        }
        (Operator::Gt, [least]) => {
            let least: i64 = least.parse().ok()?;
            Some(facts.node_labels_integers(key).iter().map(|known| u8::from(*known <= least)).collect())
        }
        _ => None,
    }
}

/// Rejects the rows whose code the table rejects.
fn mark(rejected: &mut [u8], codes: &[u32], table: &[u8]) {
    for (rejected, code) in rejected.iter_mut().zip(codes) {
        *rejected |= table.get(*code as usize).copied().unwrap_or(1);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use nodesift::cluster;
    use nodesift_cache as cache;
    use nodesift_dev::measure::{Testbed, pods};
    use nodesift_engine::{Options, Reuse};
    use nodesift_fixtures::synthetic::Shape;

    use super::*;

    #[test]
    fn the_loop_finds_the_rows_of_the_answers_that_are_measured() {
        let (writer, reader) = cache::new();
        let engine = cluster::engine(reader, &cluster::PolicyArgs::default()).unwrap().with_reuse(Reuse::Off);
        let shape = Shape { nodes: 700, pods_per_node: 10, seed: 3 };
        let testbed =
            Testbed::synthetic(writer, &engine.policy().scheduler_names, &engine.policy().selection(), shape, || ())
                .unwrap();
        for template in testbed.templates() {
            let question = pods::question(template);
            let context = engine.context(&engine.snapshot(), question.pods.first().unwrap()).unwrap();
            let answer = engine.answer(&question, Options::default()).unwrap();
            let feasible = &answer.pods.first().unwrap().feasible;
            let streamed = Streamed::new(&Arc::new(context)).unwrap().feasible();
            assert_eq!(streamed, feasible.bitmap(700), "pod {}", template.name());
            assert!(!feasible.is_empty() && feasible.len() < 700, "pod {}", template.name());
        }
    }
}
