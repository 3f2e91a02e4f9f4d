//! The host state of an instance. Start at [`State`].

use std::sync::Arc;
use std::time::Duration;

use super::object::{AccountedObject, NoAnswer};
use super::types::Needs;
use crate::deadline::Deadline;
use crate::limited::Limited;
use crate::memory::MemoryBudget;

/// The object of the running call, and what may be read of it.
pub(super) struct Running {
    pub(super) object: Arc<dyn AccountedObject>,
    pub(super) needs: Arc<Needs>,
}

/// The host state of an instance.
pub(super) struct State {
    pub(super) deadline: Deadline,
    pub(super) memory: MemoryBudget,
    /// Time limit of the running call, as the message of a fault states it.
    pub(super) budget: Duration,
    pub(super) memory_bytes: usize,
    /// None outside `pod` and `node`.
    pub(super) running: Option<Running>,
}

impl State {
    /// The object of the running call.
    ///
    /// # Errors
    ///
    /// [`NoAnswer::NoObject`] outside `pod` and `node`; the error ends the guest's call.
    pub(super) fn running(&self) -> Result<&Running, NoAnswer> {
        self.running.as_ref().ok_or(NoAnswer::NoObject)
    }
}

impl Limited for State {
    fn deadline(&mut self) -> &mut Deadline {
        &mut self.deadline
    }

    fn memory(&mut self) -> &mut MemoryBudget {
        &mut self.memory
    }
}
