//! The memory limit of an instance, in bytes, summed over all of its linear memories. wasmtime's `StoreLimits` apply to each
//! memory alone.

use wasmtime::ResourceLimiter;

use crate::limits::{GUEST_INSTANCES, GUEST_MEMORIES, GUEST_TABLE_ELEMENTS, GUEST_TABLES};

/// Counts the memory of an instance and refuses growth over its limit.
#[derive(Debug)]
pub(super) struct MemoryBudget {
    limit_bytes: usize,
    used_bytes: usize,
    /// Whether growth was refused since the last call of `take_refused`.
    refused: bool,
}

impl MemoryBudget {
    pub(super) fn new(limit_bytes: usize) -> Self {
        Self { limit_bytes, used_bytes: 0, refused: false }
    }

    /// The limit on the memory of the instance.
    pub(super) fn limit_bytes(&self) -> usize {
        self.limit_bytes
    }

    /// The memory of the instance.
    pub(super) fn used_bytes(&self) -> usize {
        self.used_bytes
    }

    /// Whether growth was refused since the last call of this method.
    pub(super) fn take_refused(&mut self) -> bool {
        std::mem::take(&mut self.refused)
    }
}

impl ResourceLimiter for MemoryBudget {
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        let used = self.used_bytes.saturating_sub(current).saturating_add(desired);
        if used > self.limit_bytes || maximum.is_some_and(|maximum| desired > maximum) {
            self.refused = true;
            return Ok(false);
        }
        self.used_bytes = used;
        Ok(true)
    }

    fn memory_grow_failed(&mut self, _error: wasmtime::Error) -> wasmtime::Result<()> {
        self.refused = true;
        Ok(())
    }

    fn table_growing(&mut self, _current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        let allowed = desired <= GUEST_TABLE_ELEMENTS;
        self.refused |= !allowed;
        Ok(allowed)
    }

    fn instances(&self) -> usize {
        GUEST_INSTANCES
    }

    fn tables(&self) -> usize {
        GUEST_TABLES
    }

    fn memories(&self) -> usize {
        GUEST_MEMORIES
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn memories_are_summed() {
        let mut budget = MemoryBudget::new(100);
        assert!(budget.memory_growing(0, 40, None).unwrap());
        assert!(budget.memory_growing(0, 40, None).unwrap());
        assert!(!budget.memory_growing(0, 40, None).unwrap());
        assert!(budget.take_refused() && !budget.take_refused());
        assert!(budget.memory_growing(40, 60, None).unwrap());
        assert!(!budget.memory_growing(60, 61, None).unwrap());
    }
}
