//! Verdict reuse: a verdict is computed once and kept exact.
//!
//! A predicate is a function of what it reads. So a verdict is valid for as long as every fact that was read for it has the
//! same value. Raw scores of scorers are kept in the same way.
//!
//! ```text
//! store          look up · call · evict; start with Store::get_or_call
//! tree           finds verdicts by what they have read about the pod
//! cached         one verdict, or the scores of a scorer, its reads, and whether it is still valid
//! kept_scores    scores in few bytes
//! recorder       records what a call reads; one line per function of the contract
//! fact_read      the table of facts: key, value, scope, comparison, size
//! lookups        label and annotation values that a pointwise predicate has looked up in the whole cluster
//! span           the times for which a verdict is valid, where it asks about moments
//! size           bytes that values keep alive
//! ```

mod cached;
mod fact_read;
mod kept_scores;
mod lookups;
mod recorder;
pub(crate) mod size;
mod span;
mod store;
mod tree;

#[cfg(test)]
mod tests;

pub(crate) use cached::{CachedVerdict, Lineage};
pub(crate) use kept_scores::KeptScores;
pub(crate) use store::Store;
