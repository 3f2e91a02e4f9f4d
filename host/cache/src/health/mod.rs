//! The health of the cache: whether columns equal what they are made of, and how much memory they take.
//!
//! | file | holds |
//! |---|---|
//! | `audit` | recounts rows and repairs drift: start here |
//! | `memory` | sizes as metrics |

mod audit;
mod memory;

pub use memory::MemoryStats;
