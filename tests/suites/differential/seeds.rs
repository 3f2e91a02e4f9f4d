//! The seeds of a run: some that are the same in every run, and new ones.

/// Seeds of a run by number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seeds {
    /// The number of fixed seeds, which come first and count from 0.
    fixed: u64,
    /// The first of the other seeds.
    first: u64,
}

impl Seeds {
    /// The seeds of a run with `fixed` fixed ones; none where `NODESIFT_SEED` sets the first. Prints them, so that the run can be reproduced.
    #[track_caller]
    pub(crate) fn for_run(fixed: u64) -> Self {
        let seeds = match nodesift_seed::repeated() {
            Some(first) => Self { fixed: 0, first },
            None => Self { fixed, first: nodesift_seed::fresh() },
        };
        println!("{} fixed seeds from 0 on, others from NODESIFT_SEED={} on", seeds.fixed, seeds.first);
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
