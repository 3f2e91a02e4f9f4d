//! The built-in component that evaluates the CEL of device selectors. It is no predicate: the host calls it, by the contract
//! `nodesift:device-selector`, and it reads nothing but its arguments.
//!
//! ```text
//! types     what crosses, named as in sdk/predicate/wit/selector
//! devices   devices, as few lists of all
//! world     its exports, and the calls of an instance
//! ```
//!
//! Start at [`DeviceSelector::matches`].

mod devices;
mod types;
mod world;

use std::fmt;
use std::sync::Arc;

use wasmtime::component;

pub use devices::{SelectedDevice, SelectedValue};
pub use types::{Dialect, Outcome, Path, QualifiedName};

use super::clock::Pulse;
use super::component::{Component, Linked};
use super::instance::CallLimits;
use super::load_error::LoadError;
use super::log::LineBudget;
use super::slots::Slots;
use crate::fault::Fault;
use crate::limits::{FAULT_LINES, GUEST_MEMORY_BYTES};
use world::{Exports, SelectorWorld, call_time};

/// Evaluates device selectors, in the dialect of one version of Kubernetes. It can be called from many threads at once.
pub struct DeviceSelector {
    component: Arc<Component<SelectorWorld>>,
    dialect: Dialect,
    fault_lines: LineBudget,
}

impl DeviceSelector {
    /// Links and instantiates a compiled component, whose instances share the slots of a pool.
    pub(super) fn prepare(
        compiled: &component::Component,
        dialect: Dialect,
        pool: &Arc<Slots>,
        clock: &Arc<Pulse>,
    ) -> Result<Self, LoadError> {
        let linked = Linked::<SelectorWorld>::new(compiled, |_| Ok(()), || Exports::new(compiled))?;
        let first = linked.first(pool, GUEST_MEMORY_BYTES)?;
        let component = Component::new(linked, (), pool, clock, None);
        component.put_back(first);
        Ok(Self { component, dialect, fault_lines: LineBudget::new(FAULT_LINES) })
    }

    /// Returns the paths of a device that outcomes of an expression can depend on, sorted; `None` where it may be any. The inner error is
    /// the reason why the text is not an expression.
    ///
    /// # Errors
    ///
    /// The fault of the call: it took more time or memory than a call has, or the component trapped.
    pub fn paths(&self, expression: &str) -> Result<Result<Option<Vec<Path>>, String>, Fault> {
        let limits = CallLimits::from(call_time(0));
        self.component.call(limits, |instance| instance.paths(&self.component.linked.exports, expression, self.dialect))
    }

    /// One outcome per device, in the order of the devices.
    ///
    /// # Errors
    ///
    /// As [`Self::paths`]. It says nothing about any of the devices alone.
    pub fn matches(&self, expression: &str, devices: &[SelectedDevice<'_>]) -> Result<Vec<Outcome>, Fault> {
        let limits = CallLimits::from(call_time(devices.len()));
        self.component.call(limits, |instance| {
            instance.matches(&self.component.linked.exports, expression, self.dialect, devices)
        })
    }

    /// Whether a fault may be logged now: at most [`FAULT_LINES`] are in each [`LOG_PERIOD`](crate::limits::LOG_PERIOD).
    pub fn admits_fault_line(&self) -> bool {
        self.fault_lines.admits()
    }
}

impl fmt::Debug for DeviceSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceSelector").field("waiting", &self.component.waiting()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
