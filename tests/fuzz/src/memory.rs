//! The allocator of all programs with these targets: the system's, which counts what is allocated.

use std::alloc::System;

use cap::Cap;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// Measures the most that is allocated at once while a unit runs.
#[derive(Debug, Clone, Copy)]
pub struct Peak {
    allocated: usize,
    most: usize,
}

impl Peak {
    /// Starts to measure from the bytes allocated now.
    pub fn start() -> Self {
        Self { allocated: ALLOCATOR.allocated(), most: ALLOCATOR.max_allocated() }
    }

    /// Bytes allocated at most since then, beyond what was allocated at the start. 0 where the process had more allocated at
    /// some earlier time: the allocator knows only the most of all times, which this then has not reached.
    pub fn bytes(self) -> usize {
        let most = ALLOCATOR.max_allocated();
        if most > self.most { most.saturating_sub(self.allocated) } else { 0 }
    }
}
