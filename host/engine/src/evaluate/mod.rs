//! Evaluation of one pod: calls the predicates of a phase in policy order over a batch of rows, and combines their verdicts.
//!
//! ```text
//! evaluator     calls predicates, or takes their verdicts from the store; start with Evaluator::evaluate
//! evaluation    the result for one pod, and how it becomes a part of the answer
//! conjunction   verdicts of all predicates → per row the first predicate that rejects it
//!   scan        groups rows by failure, 64 at a time
//!   message     results for the pod as a whole: scheduling cycle, kube-scheduler's message
//! row_set       sets of rows: sorted lists or bitmaps
//! ```

pub(crate) mod conjunction;
pub(crate) mod evaluation;
pub(crate) mod evaluator;
mod message;
pub(crate) mod row_set;
mod scan;
