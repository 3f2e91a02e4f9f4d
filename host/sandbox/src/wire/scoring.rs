//! `scorer`: the scores that a guest gives the nodes of a batch. The contract documents the types under the same names; they are not
//! exported by name from [`wire`](super).
//!
//! Start with [`Scores`].
#![allow(missing_docs, reason = "documented in the contract, under the same names")]

use wasmtime::component::{ComponentType, Lift};

/// Entry of [`Scores::ByRow`] for a row that has no score.
pub const NO_SCORE: i64 = i64::MIN;

/// `scorer.normalization`: how scores from 0 to 100 are made of raw scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ComponentType, Lift)]
#[component(enum)]
#[repr(u8)]
pub enum Normalization {
    #[component(name = "none")]
    None,
    #[component(name = "by-largest")]
    ByLargest,
    #[component(name = "by-largest-reversed")]
    ByLargestReversed,
    #[component(name = "by-range")]
    ByRange,
    #[component(name = "by-distance")]
    ByDistance,
}

impl Normalization {
    /// All of them, in the order of the contract.
    pub const ALL: [Self; 5] = [Self::None, Self::ByLargest, Self::ByLargestReversed, Self::ByRange, Self::ByDistance];

    /// Its name in the contract.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ByLargest => "by-largest",
            Self::ByLargestReversed => "by-largest-reversed",
            Self::ByRange => "by-range",
            Self::ByDistance => "by-distance",
        }
    }
}

/// `scorer.scores`: raw scores of the rows of a batch, or why there are none.
#[derive(Debug, Clone, PartialEq, Eq, ComponentType, Lift)]
#[component(variant)]
pub enum Scores {
    #[component(name = "skip")]
    Skip,
    /// One entry per row; [`NO_SCORE`] for a row without a score.
    #[component(name = "by-row")]
    ByRow(Vec<i64>),
    #[component(name = "failed")]
    Failed(String),
}
