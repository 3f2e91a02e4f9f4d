//! Stores of guests, with the limits that every guest has. Start at [`store`].

use wasmtime::{Engine, Store, UpdateDeadline};

use crate::deadline::Deadline;
use crate::limits::GUEST_HANDLES;
use crate::memory::MemoryBudget;

/// The host state of an instance, as far as its limits go.
pub(crate) trait Limited: 'static {
    /// That of the running call.
    fn deadline(&mut self) -> &mut Deadline;

    /// Returns the limit on the memories and tables of the instance.
    fn memory(&mut self) -> &mut MemoryBudget;
}

/// A store whose guest is interrupted at its deadline, grows no further than its budget, and passes at most so many bytes to the
/// host in one call.
pub(crate) fn store<T: Limited>(engine: &Engine, state: T, output_bytes: usize) -> Store<T> {
    let mut store = Store::new(engine, state);
    store.limiter(|state| state.memory());
    store.set_hostcall_fuel(output_bytes);
    store.set_max_component_handles(GUEST_HANDLES);
    store.epoch_deadline_callback(|mut store| {
        Ok(match store.data_mut().deadline().look() {
            Some(ticks) => UpdateDeadline::Continue(ticks),
            None => UpdateDeadline::Interrupt,
        })
    });
    store.set_epoch_deadline(Deadline::first_look());
    store
}
