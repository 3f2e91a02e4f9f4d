//! Locks the machine within one suite: tests that measure run alone, all others beside each other.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// One per process. Cargo runs the suites one after the other, each in a process.
static MACHINE: RwLock<()> = RwLock::new(());

/// Exclusive lock, for a test that measures time, memory or files, or that loads the machine.
#[must_use = "dropping it unlocks the machine"]
pub fn alone() -> RwLockWriteGuard<'static, ()> {
    MACHINE.write().unwrap_or_else(PoisonError::into_inner)
}

/// Shared lock, for a test that may run beside others.
#[must_use = "dropping it unlocks the machine"]
pub fn beside_others() -> RwLockReadGuard<'static, ()> {
    MACHINE.read().unwrap_or_else(PoisonError::into_inner)
}
