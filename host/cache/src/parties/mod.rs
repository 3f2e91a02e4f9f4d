//! Answers of external parties about nodes, for the subjects that they were asked about. Independent of the writer, of rows and of time: an
//! answer stands until the writer replaces it.
//!
//! | file | holds |
//! |---|---|
//! | `answers` | answers as snapshots show them, and as the writer keeps them: start here |

mod answers;

pub(crate) use answers::PartyTable;
pub use answers::{NodeAnswers, PartyAnswers};
