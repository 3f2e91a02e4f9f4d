//! One instance of an accounting component with its own store, and the limits of its calls.

use std::sync::Arc;
use std::time::Duration;

use wasmtime::component::{
    Component, ComponentExportIndex, ComponentNamedList, Instance, InstancePre, Lift, Lower, TypedFunc,
};
use wasmtime::{Store, Trap};

use super::object::{AccountedObject, NoAnswer};
use super::state::{Running, State};
use super::types::{Needs, RawNeeds, RawRuling, RawSums};
use crate::backtrace;
use crate::deadline::Deadline;
use crate::fault::{Fault, FaultKind};
use crate::instance::{cause_of, kind_of};
use crate::limited;
use crate::limits::{ACCOUNTING_OUTPUT_BYTES, ACCOUNTING_TIME};
use crate::memory::MemoryBudget;
use crate::slots::Slot;

/// Return type of `node`: the sums, or the component's error for the node.
pub(super) type NodeSums = Result<RawSums, String>;

/// Return type of `configure`: the needs, or the component's error for the arguments.
type Configured = Result<RawNeeds, String>;

/// Indices of the component's exported functions.
#[derive(Debug, Clone)]
pub(super) struct Exports {
    configure: ComponentExportIndex,
    pod: ComponentExportIndex,
    node: ComponentExportIndex,
}

impl Exports {
    /// Looks up the exported functions in the interface of this full name. The error names the export that is missing.
    pub(super) fn of(component: &Component, interface: &str) -> Result<Self, String> {
        let lacks = |name: &str| format!("no export {name}");
        let index = component.get_export_index(None, interface).ok_or_else(|| lacks(interface))?;
        let function = |name| component.get_export_index(Some(&index), name).ok_or_else(|| lacks(name));
        Ok(Self { configure: function("configure")?, pod: function("pod")?, node: function("node")? })
    }
}

/// An instance. It must be dropped after a fault.
pub(super) struct Accountant {
    // Dropped in this order: the slot is free once the store is.
    store: Store<State>,
    instance: Instance,
    /// Looked up and compared with the contract's types once.
    pod: Option<TypedFunc<(), (RawRuling,)>>,
    node: Option<TypedFunc<(), (NodeSums,)>>,
    /// Calls of `pod` and `node`.
    calls: u32,
    /// Its memory after `configure`, in bytes.
    configured_bytes: usize,
    _slot: Slot,
}

impl Accountant {
    /// Instantiates, start functions included. The time is that of `configure` as well.
    pub(super) fn new(
        pre: &InstancePre<State>,
        slot: Slot,
        memory_bytes: usize,
        time: Duration,
    ) -> Result<Self, Fault> {
        let (deadline, memory) = (Deadline::new(time, None), MemoryBudget::new(memory_bytes));
        let state = State { deadline, memory, budget: time, memory_bytes, running: None };
        let mut store = limited::store(pre.engine(), state, ACCOUNTING_OUTPUT_BYTES);
        let instance = pre.instantiate(&mut store).map_err(|error| fault(&mut store, &error))?;
        Ok(Self { store, instance, pod: None, node: None, calls: 0, configured_bytes: 0, _slot: slot })
    }

    /// Checks that the exported functions have the contract's types.
    pub(super) fn check_types(&mut self, exports: &Exports) -> wasmtime::Result<()> {
        let (instance, store) = (&self.instance, &mut self.store);
        instance.get_typed_func::<(&str,), (Configured,)>(&mut *store, exports.configure)?;
        instance.get_typed_func::<(), (RawRuling,)>(&mut *store, exports.pod)?;
        instance.get_typed_func::<(), (NodeSums,)>(&mut *store, exports.node)?;
        Ok(())
    }

    /// Calls `configure`, as a part of what [`Self::new`] has begun. The inner error is the component's.
    pub(super) fn configure(&mut self, exports: &Exports, args: &str) -> Result<Configured, Fault> {
        let returned = self.call(exports.configure, (args,)).map_err(|fault| match fault.kind {
            FaultKind::MalformedVerdict => Fault { kind: FaultKind::Configure, ..fault },
            _ => fault,
        });
        self.configured_bytes = self.store.data().memory.used_bytes();
        returned.map(|(configured,): (Configured,)| configured)
    }

    /// Calls `pod` about an object.
    pub(super) fn pod(
        &mut self,
        exports: &Exports,
        object: &Arc<dyn AccountedObject>,
        needs: &Arc<Needs>,
    ) -> Result<RawRuling, Fault> {
        let function = match self.pod {
            Some(function) => function,
            None => self.function(exports.pod)?,
        };
        self.pod = Some(function);
        self.about(object, needs, function)
    }

    /// Calls `node` about an object.
    pub(super) fn node(
        &mut self,
        exports: &Exports,
        object: &Arc<dyn AccountedObject>,
        needs: &Arc<Needs>,
    ) -> Result<NodeSums, Fault> {
        let function = match self.node {
            Some(function) => function,
            None => self.function(exports.node)?,
        };
        self.node = Some(function);
        self.about(object, needs, function)
    }

    /// Calls of `pod` and `node` so far.
    pub(super) fn calls(&self) -> u32 {
        self.calls
    }

    /// By how much its memory has grown since it was configured, in bytes.
    pub(super) fn grown_bytes(&self) -> usize {
        self.store.data().memory.used_bytes().saturating_sub(self.configured_bytes)
    }

    /// Calls a function about an object, with a time of its own.
    fn about<R>(
        &mut self,
        object: &Arc<dyn AccountedObject>,
        needs: &Arc<Needs>,
        function: TypedFunc<(), (R,)>,
    ) -> Result<R, Fault>
    where
        (R,): ComponentNamedList + Lift,
    {
        self.calls += 1;
        let state = self.store.data_mut();
        (state.deadline, state.budget) = (Deadline::new(ACCOUNTING_TIME, None), ACCOUNTING_TIME);
        // A refusal in an earlier call must not be reported as the cause of a failure in this one.
        state.memory.take_refused();
        state.running = Some(Running { object: Arc::clone(object), needs: Arc::clone(needs) });
        self.store.set_hostcall_fuel(ACCOUNTING_OUTPUT_BYTES);
        self.store.set_epoch_deadline(Deadline::first_look());
        let returned = function.call(&mut self.store, ()).map_err(|error| fault(&mut self.store, &error));
        self.store.data_mut().running = None;
        returned.map(|(value,)| value)
    }

    /// An exported function, as the contract has it.
    fn function<P, R>(&mut self, index: ComponentExportIndex) -> Result<TypedFunc<P, R>, Fault>
    where
        P: ComponentNamedList + Lower,
        R: ComponentNamedList + Lift,
    {
        let store = &mut self.store;
        self.instance.get_typed_func::<P, R>(&mut *store, index).map_err(|error| fault(store, &error))
    }

    fn call<P, R>(&mut self, index: ComponentExportIndex, params: P) -> Result<R, Fault>
    where
        P: ComponentNamedList + Lower,
        R: ComponentNamedList + Lift,
    {
        let function = self.function::<P, R>(index)?;
        function.call(&mut self.store, params).map_err(|error| fault(&mut self.store, &error))
    }
}

/// Converts an error of wasmtime to a fault: what ended the call, then where it was.
fn fault(store: &mut Store<State>, error: &wasmtime::Error) -> Fault {
    let state = store.data_mut();
    let kind = match error.is::<NoAnswer>() {
        true => FaultKind::Trap,
        false => kind_of(error, state.memory.take_refused(), || false),
    };
    let detail = match kind {
        FaultKind::Deadline => format!("it takes more than {} ms", state.budget.as_millis()),
        FaultKind::Memory => format!("it takes more than {} MiB of memory", state.memory_bytes >> 20),
        _ => {
            let cause = error.downcast_ref::<Trap>().map_or_else(|| cause_of(error), ToString::to_string);
            backtrace::frames(error).map_or_else(|| cause.clone(), |frames| format!("{cause}; in {frames}"))
        }
    };
    Fault::new(kind, &detail)
}
