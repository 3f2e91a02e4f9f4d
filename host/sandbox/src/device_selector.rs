//! The built-in component that evaluates the CEL of device selectors. It is no predicate: the host calls it, by the contract
//! `nodesift:device-selector`, and it reads nothing but its arguments.
//!
//! ```text
//! types       what crosses, named as in sdk/predicate/wit/selector
//! devices     devices, as few lists of all
//! evaluator   one instance with its own store
//! ```
//!
//! Start at [`DeviceSelector::matches`].

mod devices;
mod evaluator;
mod types;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use wasmtime::component::{Component, InstancePre, Linker};

pub use devices::{SelectedDevice, SelectedValue};
pub use types::{Outcome, Path, QualifiedName};

use super::clock::Pulse;
use super::load_error::LoadError;
use super::log::LineBudget;
use super::slots::Slots;
use crate::fault::{Fault, FaultKind};
use crate::limits::{FAULT_LINES, SELECTOR_CALLS, SLOT_WAIT};
use evaluator::{Evaluator, Exports, State};

/// Evaluates device selectors. It can be called from many threads at once.
pub struct DeviceSelector {
    pre: InstancePre<State>,
    exports: Exports,
    /// One for each call that runs.
    turns: Arc<Slots>,
    /// Of all built-ins: one for each instance.
    pool: Arc<Slots>,
    clock: Arc<Pulse>,
    /// At most as many as there are turns.
    waiting: Mutex<Vec<Evaluator>>,
    fault_lines: LineBudget,
}

impl DeviceSelector {
    /// Links and instantiates a compiled component, whose instances share the slots of a pool.
    pub(super) fn prepare(component: &Component, pool: &Arc<Slots>, clock: &Arc<Pulse>) -> Result<Self, LoadError> {
        let contract = |error: wasmtime::Error| LoadError::Contract(format!("{error:#}"));
        let pre = Linker::new(component.engine()).instantiate_pre(component).map_err(contract)?;
        let exports = Exports::of(component).map_err(LoadError::Contract)?;
        let selector = Self {
            pre,
            exports,
            turns: Slots::new(SELECTOR_CALLS),
            pool: Arc::clone(pool),
            clock: Arc::clone(clock),
            waiting: Mutex::default(),
            fault_lines: LineBudget::new(FAULT_LINES),
        };
        let mut first = selector.make().map_err(|fault| LoadError::Step { step: "instantiate", fault })?;
        first.check_types(&selector.exports).map_err(contract)?;
        selector.lock().push(first);
        Ok(selector)
    }

    /// Returns the paths of a device that outcomes of an expression can depend on, sorted; `None` where it may be any. The inner error is
    /// the reason why the text is not an expression.
    ///
    /// # Errors
    ///
    /// The fault of the call: it took more time or memory than a call has, or the component trapped.
    pub fn paths(&self, expression: &str) -> Result<Result<Option<Vec<Path>>, String>, Fault> {
        self.call(|evaluator| evaluator.paths(&self.exports, expression))
    }

    /// One outcome per device, in the order of the devices.
    ///
    /// # Errors
    ///
    /// As [`Self::paths`]. It says nothing about any of the devices alone.
    pub fn matches(&self, expression: &str, devices: &[SelectedDevice<'_>]) -> Result<Vec<Outcome>, Fault> {
        self.call(|evaluator| evaluator.matches(&self.exports, expression, devices))
    }

    /// Whether a fault may be logged now: at most [`FAULT_LINES`] are in each [`LOG_PERIOD`](crate::limits::LOG_PERIOD).
    pub fn admits_fault_line(&self) -> bool {
        self.fault_lines.admits()
    }

    /// Makes a call on an instance that waits, or on a new one. An instance is dropped after a fault.
    fn call<T>(&self, call: impl FnOnce(&mut Evaluator) -> Result<T, Fault>) -> Result<T, Fault> {
        self.clock.admit()?;
        let _turn = self.turns.take(|| Instant::now() + SLOT_WAIT).ok_or_else(|| overloaded("all turns"))?;
        let waiting = self.lock().pop();
        let mut evaluator = waiting.map_or_else(|| self.make(), Ok)?;
        let answer = call(&mut evaluator)?;
        self.lock().push(evaluator);
        Ok(answer)
    }

    fn make(&self) -> Result<Evaluator, Fault> {
        let slot = self.pool.take(|| Instant::now() + SLOT_WAIT).ok_or_else(|| overloaded("all instances"))?;
        Evaluator::new(&self.pre, slot)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Evaluator>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for DeviceSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceSelector").field("waiting", &self.lock().len()).finish_non_exhaustive()
    }
}

fn overloaded(what: &str) -> Fault {
    Fault { kind: FaultKind::Overloaded, detail: format!("{what} were in use for {} ms", SLOT_WAIT.as_millis()) }
}

#[cfg(test)]
mod tests;
