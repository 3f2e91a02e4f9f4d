//! The core that a thread runs on. Where two threads answer each other, the system may put both on one core, and then wakes one
//! in a fifth of the time that it takes across cores: figures of two programs compare only where both are on one core, or
//! neither. Start at [`pin`].

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// One of the cores that this process may use; the same where it may use one only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Core {
    First,
    Last,
}

/// Keeps the thread that has called [`pin`] on one core, until dropped.
pub(super) struct Pinned {
    before: CpuSet,
}

/// Keeps the calling thread on one core.
///
/// # Errors
///
/// If the system refuses.
pub(super) fn pin(core: Core) -> std::io::Result<Pinned> {
    let before = sched_getaffinity(None)?;
    let mut usable = (0..CpuSet::MAX_CPU).filter(|core| before.is_set(*core));
    let chosen = if core == Core::First { usable.next() } else { usable.next_back() };
    let mut only = CpuSet::new();
    only.set(chosen.unwrap_or_default());
    sched_setaffinity(None, &only)?;
    Ok(Pinned { before })
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // It was allowed before.
        let _refused = sched_setaffinity(None, &self.before);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_thread_stays_on_its_core_until_it_is_let_go() {
        let before = sched_getaffinity(None).unwrap();
        for core in [Core::First, Core::Last] {
            let pinned = pin(core).unwrap();
            assert_eq!(sched_getaffinity(None).unwrap().count(), 1);
            drop(pinned);
            assert_eq!(sched_getaffinity(None).unwrap().count(), before.count());
        }
    }
}
