//! Columns over node rows, and what keeps them small and comparable. Knows nothing of nodes, pods or Kubernetes objects
//! beyond their labels.
//!
//! | file | holds |
//! |---|---|
//! | `row` | row numbers and generations |
//! | `column` | one value per row, chunked, copy-on-write: start here |
//! | `dictionary` | the texts behind the codes of a label column |
//! | `labels` | label columns, built on demand |
//! | `sets` | columns of codes for values that many rows share |
//! | `change_log` | which rows changed, per interface and generation |
//! | `delta` | whether something is added or removed |
//! | `drift` | cells that differ from a recount |

pub(crate) mod change_log;
pub(crate) mod column;
pub(crate) mod delta;
mod dictionary;
pub(crate) mod drift;
pub(crate) mod labels;
pub(crate) mod row;
pub(crate) mod sets;

pub(crate) use column::Column;
pub(crate) use delta::Delta;
pub use dictionary::{Dictionary, NOT_AN_INTEGER};
pub(crate) use drift::DriftReport;
pub(crate) use row::{Generation, Row};
