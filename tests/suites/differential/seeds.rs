//! The seeds of a run: some that are the same in every run, and new ones.

use super::from_environment;

/// The variable that sets the first seed of a run, which then has no fixed seeds.
const VARIABLE: &str = "NODESIFT_SEED";

/// Seeds of a run by number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seeds {
    /// The number of fixed seeds, which come first and count from 0.
    fixed: u64,
    /// The first of the other seeds.
    first: u64,
}

impl Seeds {
    /// The seeds of a run with `fixed` fixed ones. Prints them, so that the run can be reproduced.
    pub(crate) fn for_run(fixed: u64) -> Self {
        let seeds = match std::env::var_os(VARIABLE) {
            Some(_) => Self { fixed: 0, first: from_environment(VARIABLE, 0) },
            None => Self { fixed, first: fastrand::u64(1 << 32..1 << 48) },
        };
        println!("{} fixed seeds from 0 on, others from {VARIABLE}={} on", seeds.fixed, seeds.first);
        seeds
    }

    /// The seed with this number.
    pub(crate) fn get(self, number: u64) -> u64 {
        match number.checked_sub(self.fixed) {
            None => number,
            Some(number) => self.first.wrapping_add(number),
        }
    }

    /// The first `count` seeds.
    pub(crate) fn take(self, count: u64) -> impl Iterator<Item = u64> {
        (0..count).map(move |number| self.get(number))
    }
}
