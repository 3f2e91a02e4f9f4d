//! Evaluation of a query, pod by pod: the predicates of a phase in policy order, over the rows of a batch, combined.
//!
//! ```text
//! query_run     one query, pod by pod; behind Engine::answer
//! evaluator     calls predicates, or takes their verdicts from the store; start with Evaluator::evaluate
//! unsupported   what a pod asks for that no predicate evaluates
//! evaluation    the result for one pod, and how it becomes a part of the answer
//! predicate_verdict   one predicate's verdict, and which rows it is about
//! conjunction   verdicts of all predicates → per row the first that rejects it
//!   scan        groups rows by failure, 64 at a time
//!   message     what concerns the pod as a whole; kube-scheduler's message
//! row_set       sets of rows: sorted lists or bitmaps
//!   rows_by_name  their rows in the order of node names
//! ```
//!
//! An evaluation that ends before every verdict is known is a [`Stop`].

pub(crate) mod conjunction;
pub(crate) mod evaluation;
pub(crate) mod evaluator;
mod message;
pub(crate) mod pod_evaluation;
pub(crate) mod predicate_verdict;
pub(crate) mod query_run;
pub(crate) mod row_set;
pub(crate) mod rows_by_name;
mod scan;
pub(crate) mod unsupported;

/// Why an evaluation ends without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The deadline of the request has passed.
    Deadline,
    /// More nominated rows would have to be evaluated than [`NOMINATED_ROWS`](crate::limits::NOMINATED_ROWS).
    NominatedRows,
}
