//! One pod evaluated over the rows of a query, before it is an answer.

use std::sync::Arc;

use nodesift_cache::Row;

use super::evaluation::Evaluation;
use crate::facts::Context;

/// The evaluation of one pod over the rows of the query, or over those up to its limit.
#[derive(Debug)]
pub(crate) struct PodEvaluation {
    pub(crate) evaluation: Evaluation,
    /// The facts about the evaluated rows.
    pub(crate) context: Arc<Context>,
    /// The row after the last evaluated one; `None` where the query has no limit.
    pub(crate) next: Option<Row>,
}

impl PodEvaluation {
    /// The first difference from another evaluation of the same pod on the same snapshot.
    pub(crate) fn difference(&self, other: &Self) -> Option<String> {
        let is_faulty = self.evaluation.has_faults() || other.evaluation.has_faults();
        if self.next != other.next {
            return (!is_faulty).then(|| format!("next is {:?}, fresh {:?}", self.next, other.next));
        }
        if self.context.rows() != other.context.rows() {
            return (!is_faulty).then(|| format!("{} rows, fresh {}", self.context.rows(), other.context.rows()));
        }
        self.evaluation.difference(&other.evaluation, &self.context)
    }
}
