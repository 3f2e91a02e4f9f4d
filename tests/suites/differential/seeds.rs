//! The seeds of a run: a few that are the same in every run, and new ones.

use super::from_environment;

/// The variable that names the first seed of a run; the run then has no fixed ones.
const VARIABLE: &str = "NODESIFT_SEED";

/// Seeds by number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seeds {
    /// So many fixed ones come first, from 0 on.
    fixed: u64,
    /// The first of the others.
    first: u64,
}

impl Seeds {
    /// The seeds of a run with so many fixed ones. Prints them, so that the run can be repeated.
    pub(crate) fn of_run(fixed: u64) -> Self {
        let seeds = match std::env::var_os(VARIABLE) {
            Some(_) => Self { fixed: 0, first: from_environment(VARIABLE, 0) },
            None => Self { fixed, first: fastrand::u64(1 << 32..1 << 48) },
        };
        println!("{} fixed seeds from 0 on, others from {VARIABLE}={} on", seeds.fixed, seeds.first);
        seeds
    }

    /// One of them.
    pub(crate) fn get(self, number: u64) -> u64 {
        match number.checked_sub(self.fixed) {
            None => number,
            Some(number) => self.first.wrapping_add(number),
        }
    }

    /// So many of them.
    pub(crate) fn take(self, count: u64) -> impl Iterator<Item = u64> {
        (0..count).map(move |number| self.get(number))
    }
}
