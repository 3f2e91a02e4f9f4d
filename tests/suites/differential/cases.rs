//! Cases of random histories, on all cores, until there are enough of every kind. Start at [`compare`].

use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::seeds::Seeds;
use crate::{FIXED_SEEDS, SHOWN};

/// How many times as many cases there are at most, until every kind of case has occurred: some are rare.
const RARE: u64 = 8;

/// Counts of what was compared.
pub(crate) trait Tally: Default + Debug + Send {
    /// The number of cases.
    fn cases(&self) -> u64;

    /// Whether every kind of case has occurred.
    fn has_every_kind(&self) -> bool;

    /// The differences that were found; a history ends with its first one.
    fn differences(&self) -> &[String];

    /// Adds the counts and differences of other cases.
    fn add(&mut self, other: Self);
}

/// Compares cases of `history`, which takes a seed, until there are `wanted` of them and some of every kind. Fails with the differences.
pub(crate) fn compare<T: Tally>(wanted: u64, history: impl Fn(u64) -> T + Sync) -> T {
    println!("{wanted} cases");
    let seeds = Seeds::for_run(FIXED_SEEDS);
    let started = Instant::now();
    let (next, done) = (AtomicU64::new(0), Mutex::new(T::default()));
    let lock = || done.lock().unwrap_or_else(PoisonError::into_inner);
    let is_enough = |done: &T| {
        let is_full = done.cases() >= wanted && (done.has_every_kind() || done.cases() >= wanted * RARE);
        is_full || done.differences().len() >= SHOWN
    };
    on_each_core(|| {
        while !is_enough(&lock()) {
            let tally = history(seeds.get(next.fetch_add(1, Ordering::Relaxed)));
            lock().add(tally);
        }
    });
    let done = std::mem::take(&mut *lock());
    println!("{done:?} in {:.1} s", started.elapsed().as_secs_f32());
    let differences = done.differences();
    assert!(differences.is_empty(), "{} cases differ\n{}", differences.len(), differences.join("\n"));
    assert!(done.cases() >= wanted, "cases");
    done
}

/// Does the same work on a thread per core.
pub(crate) fn on_each_core<T: Send>(work: impl Fn() -> T + Sync) -> Vec<T> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(&work)).collect();
        workers.into_iter().map(|worker| worker.join().expect("a worker ends")).collect()
    })
}
