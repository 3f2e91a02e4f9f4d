//! The audit, or self-check: compares the cache with itself and with the server, and repairs drift.
//!
//! - `run` checks from time to time and on request: first the cells of the columns, then the objects of each kind.
//! - `compare` decides how a listed object differs from the one that is held.
//! - `metrics` counts what is found.
//!
//! Drift is a difference that should not exist: the cache lacks an object of the server, has one that the server has not, or shows another
//! content at the same resourceVersion; or a count in a column differs from the pods behind it, or the use of a device from the claims. A
//! watch is always a little behind, so an object has drifted only where a second list, [`AUDIT_SETTLE`](crate::limits::AUDIT_SETTLE) later,
//! shows the same difference. The first difference of a check is logged with its object; all are counted and repaired: cells by the cache's
//! writer, objects through the feed. Start at [`Audit::once`].

mod compare;
mod metrics;
mod run;

pub use metrics::Metrics;
pub use run::{Audit, Checked, Kinds, List};

#[cfg(test)]
mod tests;
