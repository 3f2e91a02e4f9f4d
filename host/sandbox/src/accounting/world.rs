//! Accounting components as a [`World`]: their exports, and the calls of an instance. Start at [`Instance::pod`].

use std::sync::Arc;
use std::time::Duration;

use wasmtime::component::{Component, ComponentExportIndex, TypedFunc};

use super::check;
use super::grants::AccountingGrants;
use super::object::AccountedObject;
use super::types::{Needs, NodeSums, RawNeeds, RawRuling};
use crate::fault::{Fault, FaultKind};
use crate::grants::Lifetime;
use crate::guest::Guest;
use crate::instance::{Frame, Instance, Returned};
use crate::limits::{ACCOUNTING_CALLS, ACCOUNTING_OUTPUT_BYTES, ACCOUNTING_START_TIME};
use crate::load_error::LoadError;
use crate::refusal::NoAnswer;
use crate::world::{Rules, World};

/// The world of components that export `accounting`.
#[derive(Debug)]
pub(super) struct AccountingWorld;

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
    pub(super) fn new(component: &Component, interface: &str) -> Result<Self, LoadError> {
        let lacks = |name: &str| LoadError::Contract(format!("no export {name}"));
        let index = component.get_export_index(None, interface).ok_or_else(|| lacks(interface))?;
        let function = |name| component.get_export_index(Some(&index), name).ok_or_else(|| lacks(name));
        Ok(Self { configure: function("configure")?, pod: function("pod")?, node: function("node")? })
    }
}

/// The functions that are called about an object.
#[derive(Default)]
pub(super) struct Functions {
    pod: Option<TypedFunc<(), (RawRuling,)>>,
    node: Option<TypedFunc<(), (NodeSums,)>>,
}

/// The object of a running call, and the needs that say what may be read of it.
pub(super) struct Running {
    pub(super) object: Arc<dyn AccountedObject>,
    pub(super) needs: Arc<Needs>,
}

/// Grants of a component, and its needs, as it returned them when it was loaded.
pub(super) struct Settings {
    pub(super) grants: AccountingGrants,
    pub(super) needs: Arc<Needs>,
}

impl Guest for AccountingWorld {
    type Functions = Functions;
    type Subject = Running;

    const OUTPUT_BYTES: usize = ACCOUNTING_OUTPUT_BYTES;
    const LOCATES_LIMITS: bool = false;

    fn limit_text(kind: FaultKind, _cause: &str, time: Duration, memory_bytes: usize) -> Option<String> {
        match kind {
            FaultKind::Deadline => Some(format!("it takes more than {} ms", time.as_millis())),
            FaultKind::Memory => Some(format!("it takes more than {} MiB of memory", memory_bytes >> 20)),
            _ => None,
        }
    }
}

impl World for AccountingWorld {
    type Exports = Exports;
    type Settings = Settings;

    const STARTS_IN_CALL: bool = false;
    const SLOTS: [&'static str; 2] = ["all turns", "all instances"];

    fn check_types(instance: &mut Instance<Self>, exports: &Exports) -> wasmtime::Result<()> {
        instance.check::<(&str,), (Configured,)>(exports.configure)?;
        instance.check::<(), (RawRuling,)>(exports.pod)?;
        instance.check::<(), (NodeSums,)>(exports.node)
    }

    /// It must return the needs that it returned when it was loaded.
    fn configure(instance: &mut Instance<Self>, exports: &Exports, settings: &Settings) -> Result<(), Fault> {
        let raw = instance.configure(exports, &settings.grants.args)?;
        let needs = check::needs(raw.map_err(|refusal| Fault::new(FaultKind::Configure, &refusal))?)?;
        if needs != *settings.needs {
            return Err(Fault::new(FaultKind::Configure, "it has other needs than when it was loaded"));
        }
        Ok(())
    }

    fn rules(settings: &Settings) -> Rules {
        Rules {
            lifetime: Lifetime::Recycled,
            memory_bytes: settings.grants.memory_bytes,
            start_time: ACCOUNTING_START_TIME,
            calls: Some(ACCOUNTING_CALLS),
            keeps_slot: true,
            waiting: ACCOUNTING_CALLS as usize,
            log_lines: 0,
        }
    }
}

impl Frame<AccountingWorld> {
    /// The object of the running call.
    ///
    /// # Errors
    ///
    /// [`NoAnswer::NoObject`] outside `pod` and `node`; the error ends the guest's call.
    pub(super) fn running(&self) -> Result<&Running, NoAnswer> {
        self.subject.as_ref().ok_or(NoAnswer::NoObject)
    }
}

impl Instance<AccountingWorld> {
    /// Calls `configure`, as a part of the call that has begun. The inner error is the component's.
    pub(super) fn configure(&mut self, exports: &Exports, args: &str) -> Result<Configured, Fault> {
        self.set_up(exports.configure, (args,)).map(|(configured,)| configured)
    }

    /// Calls `pod` about an object, as a part of the call that has begun.
    pub(super) fn pod(&mut self, exports: &Exports, running: Running) -> Result<RawRuling, Fault> {
        let function = self.kept_function(exports.pod, |functions| &mut functions.pod)?;
        self.about(function, running)
    }

    /// Calls `node` about an object, as a part of the call that has begun.
    pub(super) fn node(&mut self, exports: &Exports, running: Running) -> Result<NodeSums, Fault> {
        let function = self.kept_function(exports.node, |functions| &mut functions.node)?;
        self.about(function, running)
    }

    fn about<R>(&mut self, function: TypedFunc<(), (R,)>, running: Running) -> Result<R, Fault>
    where
        (R,): Returned,
    {
        let ((value,), _) = self.call(function, (), running, ACCOUNTING_OUTPUT_BYTES)?;
        Ok(value)
    }
}
