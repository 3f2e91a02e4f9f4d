//! The device selector as a [`World`]: its exports, the calls of an instance, and their limits. Start at [`Instance::matches`].

use std::time::Duration;

use wasmtime::component::{Component, ComponentExportIndex};

use super::devices::{Devices, SelectedDevice};
use super::types::{Dialect, Outcome, Path};
use crate::fault::{Fault, FaultKind};
use crate::grants::Lifetime;
use crate::guest::Guest;
use crate::instance::Instance;
use crate::limits::{
    GUEST_MEMORY_BYTES, INSTANTIATE_TIME, OUTPUT_BYTES, SELECTOR_CALLS, SELECTOR_OUTPUT_BYTES_PER_DEVICE,
    SELECTOR_TIME_OF_ONE_DEVICE, SELECTOR_TIME_PER_1_000_DEVICES,
};
use crate::load_error::LoadError;
use crate::world::{Rules, World};

/// The interface that the component exports.
const INTERFACE: &str = "nodesift:device-selector/device-selector@0.1.0";

/// The world of the component that exports `device-selector`. It reads nothing but its arguments.
#[derive(Debug)]
pub(super) struct SelectorWorld;

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
    pub(super) fn new(component: &Component) -> Result<Self, LoadError> {
        let lacks = |name: &str| LoadError::Contract(format!("no export {name}"));
        let interface = component.get_export_index(None, INTERFACE).ok_or_else(|| lacks(INTERFACE))?;
        let function = |name| component.get_export_index(Some(&interface), name).ok_or_else(|| lacks(name));
        Ok(Self { paths: function("paths")?, matches: function("matches")? })
    }
}

impl Guest for SelectorWorld {
    type Functions = ();
    type Subject = ();

    const OUTPUT_BYTES: usize = OUTPUT_BYTES;
    const LOCATES_LIMITS: bool = false;

    fn limit_text(kind: FaultKind, _cause: &str, time: Duration, memory_bytes: usize) -> Option<String> {
        let than = match kind {
            FaultKind::Deadline => format!("{} ms for the devices of one call", time.as_millis()),
            FaultKind::Memory => format!("{} MiB of memory", memory_bytes >> 20),
            _ => return None,
        };
        Some(format!("the expression takes more than {than}"))
    }
}

impl World for SelectorWorld {
    type Exports = Exports;
    type Settings = ();

    const STARTS_IN_CALL: bool = false;
    const SLOTS: [&'static str; 2] = ["all turns", "all instances"];

    fn check_types(instance: &mut Instance<Self>, exports: &Exports) -> wasmtime::Result<()> {
        instance.check::<(&str, Dialect), (Paths,)>(exports.paths)?;
        instance.check::<(&str, Dialect, Devices<'_>), (Vec<Outcome>,)>(exports.matches)
    }

    fn configure(_instance: &mut Instance<Self>, _exports: &Exports, (): &()) -> Result<(), Fault> {
        Ok(())
    }

    fn rules((): &()) -> Rules {
        Rules {
            lifetime: Lifetime::Reused,
            memory_bytes: GUEST_MEMORY_BYTES,
            start_time: INSTANTIATE_TIME,
            calls: Some(SELECTOR_CALLS),
            keeps_slot: true,
            waiting: SELECTOR_CALLS as usize,
            log_lines: 0,
        }
    }
}

impl Instance<SelectorWorld> {
    /// Calls `paths` for an expression, as a part of the call that has begun.
    pub(super) fn paths(&mut self, exports: &Exports, expression: &str, dialect: Dialect) -> Result<Paths, Fault> {
        let function = self.function::<(&str, Dialect), (Paths,)>(exports.paths)?;
        let ((paths,), _) = self.call(function, (expression, dialect), (), OUTPUT_BYTES)?;
        Ok(paths)
    }

    /// Calls `matches` for an expression, as a part of the call that has begun.
    pub(super) fn matches(
        &mut self,
        exports: &Exports,
        expression: &str,
        dialect: Dialect,
        devices: &[SelectedDevice<'_>],
    ) -> Result<Vec<Outcome>, Fault> {
        let function = self.function::<(&str, Dialect, Devices<'_>), (Vec<Outcome>,)>(exports.matches)?;
        let output_bytes = OUTPUT_BYTES + devices.len().saturating_mul(SELECTOR_OUTPUT_BYTES_PER_DEVICE);
        let arguments = (expression, dialect, Devices::new(devices));
        let ((outcomes,), _) = self.call(function, arguments, (), output_bytes)?;
        if outcomes.len() != devices.len() {
            let detail = format!("{} outcomes for {} devices", outcomes.len(), devices.len());
            return Err(Fault { kind: FaultKind::MalformedVerdict, detail });
        }
        Ok(outcomes)
    }
}

/// The processor time of a call about so many devices; `paths` is about none.
pub(super) fn call_time(devices: usize) -> Duration {
    let thousands = || u32::try_from(devices.div_ceil(1_000).max(1)).unwrap_or(u32::MAX);
    if devices == 1 { SELECTOR_TIME_OF_ONE_DEVICE } else { SELECTOR_TIME_PER_1_000_DEVICES.saturating_mul(thousands()) }
}
