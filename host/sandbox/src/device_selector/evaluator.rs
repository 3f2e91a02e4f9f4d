//! One instance of the device selector with its own store, and the limits of its calls.

use std::time::Duration;

use wasmtime::component::{Component, ComponentExportIndex, Instance, InstancePre};
use wasmtime::{Store, Trap};

use super::devices::{Devices, SelectedDevice};
use super::types::{Outcome, Path};
use crate::backtrace;
use crate::deadline::Deadline;
use crate::fault::{Fault, FaultKind};
use crate::instance::{cause_of, kind_of};
use crate::limited::{self, Limited};
use crate::limits::{
    GUEST_MEMORY_BYTES, INSTANTIATE_TIME, OUTPUT_BYTES, SELECTOR_OUTPUT_BYTES_PER_DEVICE, SELECTOR_TIME_OF_ONE_DEVICE,
    SELECTOR_TIME_PER_1_000_DEVICES,
};
use crate::memory::MemoryBudget;
use crate::slots::Slot;

/// The interface that the component exports.
const INTERFACE: &str = "nodesift:device-selector/device-selector@0.1.0";

/// Return type of `paths`: the paths that an expression reads, `None` for any, or the reason why it is not an expression.
type Paths = Result<Option<Vec<Path>>, String>;

/// Indices of the component's exported functions.
#[derive(Debug, Clone)]
pub(super) struct Exports {
    paths: ComponentExportIndex,
    matches: ComponentExportIndex,
}

impl Exports {
    /// Looks up the exported functions of a component. The error names the export that is missing.
    pub(super) fn of(component: &Component) -> Result<Self, String> {
        let lacks = |name: &str| format!("no export {name}");
        let interface = component.get_export_index(None, INTERFACE).ok_or_else(|| lacks(INTERFACE))?;
        let function = |name| component.get_export_index(Some(&interface), name).ok_or_else(|| lacks(name));
        Ok(Self { paths: function("paths")?, matches: function("matches")? })
    }
}

/// The host state of an instance.
pub(super) struct State {
    /// Processor time of the call.
    time: Duration,
    deadline: Deadline,
    memory: MemoryBudget,
}

impl Limited for State {
    fn deadline(&mut self) -> &mut Deadline {
        &mut self.deadline
    }

    fn memory(&mut self) -> &mut MemoryBudget {
        &mut self.memory
    }
}

/// An instance. It must be dropped after a fault.
pub(super) struct Evaluator {
    // Dropped in this order: the slot is free once the store is.
    store: Store<State>,
    instance: Instance,
    _slot: Slot,
}

impl Evaluator {
    /// Instantiates, start functions included.
    pub(super) fn new(pre: &InstancePre<State>, slot: Slot) -> Result<Self, Fault> {
        let state = State {
            time: INSTANTIATE_TIME,
            deadline: Deadline::new(INSTANTIATE_TIME, None),
            memory: MemoryBudget::new(GUEST_MEMORY_BYTES),
        };
        let mut store = limited::store(pre.engine(), state, OUTPUT_BYTES);
        let instance = pre.instantiate(&mut store).map_err(|error| fault(&mut store, &error))?;
        Ok(Self { store, instance, _slot: slot })
    }

    /// Checks that the exported functions have the contract's types.
    pub(super) fn check_types(&mut self, exports: &Exports) -> wasmtime::Result<()> {
        self.instance.get_typed_func::<(&str,), (Paths,)>(&mut self.store, exports.paths)?;
        self.instance.get_typed_func::<(&str, Devices<'_>), (Vec<Outcome>,)>(&mut self.store, exports.matches)?;
        Ok(())
    }

    /// Calls `paths` for an expression, within the time of a call without devices.
    pub(super) fn paths(&mut self, exports: &Exports, expression: &str) -> Result<Paths, Fault> {
        self.begin(0);
        let store = &mut self.store;
        let returned = self
            .instance
            .get_typed_func::<(&str,), (Paths,)>(&mut *store, exports.paths)
            .and_then(|paths| paths.call(&mut *store, (expression,)));
        returned.map(|(paths,)| paths).map_err(|error| fault(store, &error))
    }

    /// Calls `matches` for an expression, within a time that follows from the number of devices.
    pub(super) fn matches(
        &mut self,
        exports: &Exports,
        expression: &str,
        devices: &[SelectedDevice<'_>],
    ) -> Result<Vec<Outcome>, Fault> {
        self.begin(devices.len());
        let store = &mut self.store;
        let returned = self
            .instance
            .get_typed_func::<(&str, Devices<'_>), (Vec<Outcome>,)>(&mut *store, exports.matches)
            .and_then(|matches| matches.call(&mut *store, (expression, Devices::of(devices))));
        let (outcomes,) = returned.map_err(|error| fault(store, &error))?;
        if outcomes.len() != devices.len() {
            let detail = format!("{} outcomes for {} devices", outcomes.len(), devices.len());
            return Err(Fault { kind: FaultKind::MalformedVerdict, detail });
        }
        Ok(outcomes)
    }

    /// Begins a call about so many devices.
    fn begin(&mut self, devices: usize) {
        let state = self.store.data_mut();
        state.time = time_of(devices);
        state.deadline = Deadline::new(state.time, None);
        // A refusal in an earlier call must not be reported as the cause of a failure in this one.
        state.memory.take_refused();
        self.store.set_hostcall_fuel(OUTPUT_BYTES + devices.saturating_mul(SELECTOR_OUTPUT_BYTES_PER_DEVICE));
        self.store.set_epoch_deadline(Deadline::first_look());
    }
}

/// Processor time of a call about so many devices.
fn time_of(devices: usize) -> Duration {
    let thousands = || u32::try_from(devices.div_ceil(1_000).max(1)).unwrap_or(u32::MAX);
    if devices == 1 { SELECTOR_TIME_OF_ONE_DEVICE } else { SELECTOR_TIME_PER_1_000_DEVICES.saturating_mul(thousands()) }
}

/// Converts an error of wasmtime to a fault: what ended the call, then where it was.
fn fault(store: &mut Store<State>, error: &wasmtime::Error) -> Fault {
    let kind = kind_of(error, store.data_mut().memory.take_refused(), || false);
    let detail = match kind {
        FaultKind::Deadline => {
            format!("the expression takes more than {} ms for the devices of one call", store.data().time.as_millis())
        }
        FaultKind::Memory => format!("the expression takes more than {} MiB of memory", GUEST_MEMORY_BYTES >> 20),
        _ => {
            let cause = error.downcast_ref::<Trap>().map_or_else(|| cause_of(error), ToString::to_string);
            backtrace::frames(error).map_or_else(|| cause.clone(), |frames| format!("{cause}; in {frames}"))
        }
    };
    Fault::new(kind, &detail)
}
