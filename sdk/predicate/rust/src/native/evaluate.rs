//! Runs predicates and scorers on a [`Cluster`], and checks that pointwise ones are pointwise.

use std::rc::Rc;

use super::batch::Batch;
use super::cluster::Cluster;
use super::node::Node;
use crate::facts::with_facts;
use crate::predicate::Predicate;
use crate::rows;
use crate::scorer::{Scorer, Scores};
use crate::verdict::{Failure, Verdict};

impl Cluster {
    /// The predicate's verdict for one batch of all nodes, in the order in which they were added.
    pub fn verdict(&self, predicate: &impl Predicate) -> Verdict {
        self.run(|rows| predicate.filter(rows))
    }

    /// Runs `f` with the facts of one batch of all nodes. `f` takes the number of rows.
    pub fn run<T>(&self, f: impl FnOnce(usize) -> T) -> T {
        let rows = self.nodes.len();
        with_facts(Rc::new(Batch::new(self.clone(), (0..rows).collect())), || f(rows))
    }

    /// The failure of each node, none where the pod fits; one entry per node. Evaluates one batch of all nodes and,
    /// unless the predicate read a `cluster-*` fact, a batch of one for every node.
    ///
    /// # Panics
    ///
    /// Where a verdict does not match its batch. Where the verdicts of the large batch and of the small ones differ:
    /// the verdict of a pointwise predicate must not depend on the other nodes of the batch.
    pub fn failures(&self, predicate: &impl Predicate) -> Vec<Option<Failure>> {
        let (together, cluster_wide) = self.evaluate((0..self.nodes.len()).collect(), predicate);
        if !cluster_wide {
            let alone: Vec<_> = (0..self.nodes.len()).flat_map(|row| self.evaluate(vec![row], predicate).0).collect();
            assert_eq!(together, alone, "the verdict for a node depends on the other nodes of the batch");
        }
        together
    }

    /// The nodes that the predicate rejects, as `name: reason, reason`, in the order in which they were added.
    ///
    /// # Panics
    ///
    /// As [`Cluster::failures`].
    pub fn rejected(&self, predicate: &impl Predicate) -> Vec<String> {
        let rejected = |(node, failure): (&Node, Option<Failure>)| {
            failure.map(|failure| format!("{}: {}", node.name, failure.reasons.join(", ")))
        };
        self.nodes.iter().zip(self.failures(predicate)).filter_map(rejected).collect()
    }

    /// The raw scores of one batch of all nodes, in the order in which they were added. Unless the scorer read a `cluster-*` fact, a batch of
    /// one is scored for every node as well. The pod fits on the nodes that are not [infeasible](Node::infeasible).
    ///
    /// # Panics
    ///
    /// Where there is not one score per row. Where the scores of the large batch and of the small ones differ: the score that a
    /// pointwise scorer gives a node must not depend on the other nodes of the batch.
    pub fn scores(&self, scorer: &impl Scorer) -> Scores {
        let (together, cluster_wide) = self.score((0..self.nodes.len()).collect(), scorer);
        if !cluster_wide {
            for row in 0..self.nodes.len() {
                let alone = self.score(vec![row], scorer).0;
                let expected = match &together {
                    Scores::ByRow(scores) => Scores::ByRow(scores.iter().skip(row).take(1).copied().collect()),
                    other => other.clone(),
                };
                assert_eq!(expected, alone, "the score of a node depends on the other nodes of the batch");
            }
        }
        together
    }

    /// Scores a batch of these nodes: the scores, and whether the scorer read a `cluster-*` fact.
    fn score(&self, rows: Vec<usize>, scorer: &impl Scorer) -> (Scores, bool) {
        let count = rows.len();
        let batch = Rc::new(Batch::new(self.clone(), rows));
        let scores = with_facts(batch.clone(), || scorer.score(count));
        if let Scores::ByRow(scores) = &scores {
            assert_eq!(scores.len(), count, "the scores do not match their batch");
        }
        (scores, batch.has_read_cluster_facts())
    }

    /// Evaluates a batch of these nodes: the failure of each row, and whether the predicate read a `cluster-*` fact.
    #[allow(clippy::panic, reason = "fails the author's test")]
    pub(super) fn evaluate(&self, rows: Vec<usize>, predicate: &impl Predicate) -> (Vec<Option<Failure>>, bool) {
        let count = rows.len();
        let batch = Rc::new(Batch::new(self.clone(), rows));
        let failures = with_facts(batch.clone(), || rows::merging(count, || predicate.filter(count)));
        match failures {
            Ok(failures) => (failures, batch.has_read_cluster_facts()),
            Err(error) => panic!("the verdict does not match its batch of {count} rows: {error:?}"),
        }
    }
}
