//! A loaded predicate: a compiled component, linked to its allowed imports, described and configured, with a pool of idle
//! instances.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use wasmtime::component::{Component, ComponentExportIndex, InstancePre, Linker};

use super::clock::Pulse;
use super::grants::{Extra, Grants, Lifetime};
use super::inspect::Inspection;
use super::instance::{CallTime, Exports, Frame, Instance, NewError};
use super::instances::{self, Instances};
use super::interface::{Facts, Interface};
use super::load_error::LoadError;
use super::log::{Line, LineBudget};
use super::manifest::{Manifest, Predicate};
use super::slots::Slots;
use super::spares::Spares;
use super::text::shorten;
use super::verdict::Verdict;
use super::wire::Descriptor;
use super::wire::allocation::Allocation;
use crate::fault::{Fault, FaultKind};
use crate::limits::{BUILTIN_SLOTS, FAULT_LINES, INSTANTIATE_TIME, MODULE_SLOTS};

/// A loaded predicate. It can be called from many threads at once.
pub struct Module {
    instances: Arc<Instances>,
    manifest: Arc<Manifest>,
    descriptor: Descriptor,
    line_budget: Arc<LineBudget>,
    fault_lines: LineBudget,
}

impl Module {
    /// Links, instantiates, describes and configures a compiled component, whose instances share the slots of a pool.
    pub(super) fn prepare(
        component: &Component,
        manifest: Arc<Manifest>,
        grants: Grants,
        pool: &Arc<Slots>,
        clock: &Arc<Pulse>,
        spares: Option<&Arc<Spares>>,
    ) -> Result<Self, LoadError> {
        let Described { pre, exports, slots, mut instance, descriptor } =
            Described::of(component, &manifest, &grants, pool)?;
        instance.begin(CallTime::from(INSTANTIATE_TIME), None);
        instance.configure(&exports, &grants.args).map_err(|fault| LoadError::Step { step: "configure", fault })?;
        let line_budget = Arc::new(LineBudget::new(grants.log_lines));
        let instances = Instances::new((pre, exports), grants, slots, Arc::clone(clock), spares.cloned());
        let module = Self { instances, manifest, descriptor, line_budget, fault_lines: LineBudget::new(FAULT_LINES) };
        match module.grants().lifetime {
            Lifetime::Reused => module.instances.put_back(instance),
            Lifetime::PerCall | Lifetime::Recycled => {
                drop(instance);
                module.check_start()?;
            }
        }
        Ok(module)
    }

    /// Inspects a compiled component. Only its start functions and `describe` run.
    pub(super) fn inspect(
        component: &Component,
        manifest: &Manifest,
        grants: &Grants,
        pool: &Arc<Slots>,
        features: Vec<&'static str>,
        producers: Vec<String>,
    ) -> Result<Inspection, LoadError> {
        let Described { instance, descriptor, .. } = Described::of(component, manifest, grants, pool)?;
        let contract = manifest.predicate()?.contract.clone();
        let imports = manifest.imports.clone();
        let Descriptor { name, version, summary } = descriptor;
        let descriptor = Descriptor { name: shorten(&name), version: shorten(&version), summary: shorten(&summary) };
        Ok(Inspection { descriptor, contract, imports, memory_bytes: instance.memory_bytes(), features, producers })
    }

    /// Checks that a new instance is ready within the time of the least call.
    fn check_start(&self) -> Result<(), LoadError> {
        self.instances.check_start().map_err(|(step, fault)| match fault.kind {
            FaultKind::Deadline => LoadError::SlowStart { step, budget: self.instances.time_per_call(0, 0) },
            _ => LoadError::Step { step, fault },
        })
    }

    /// Returns the permissions, limits and arguments that the policy gives the module.
    pub fn grants(&self) -> &Grants {
        &self.instances.grants
    }

    /// Returns the imports and exports of the component.
    pub(super) fn manifest(&self) -> &Arc<Manifest> {
        &self.manifest
    }

    /// Returns the compiled component of the module.
    pub(super) fn component(&self) -> &Component {
        self.instances.component()
    }

    /// The interfaces of which the component imports at least one function. It can read nothing else.
    pub fn imports(&self) -> &[Interface] {
        &self.manifest.imports
    }

    /// Whether it imports a `cluster-*` interface. Such a predicate is always called with every row.
    pub fn is_cluster_wide(&self) -> bool {
        self.imports().iter().any(|interface| interface.is_cluster_wide())
    }

    /// Lines that its instances have written to the log, and lines that were dropped because they were too many.
    pub fn log_counts(&self) -> (u64, u64) {
        self.line_budget.counts()
    }

    /// Linear memory of the waiting instance that has most of it, in bytes; `None` where none waits.
    pub fn idle_memory_bytes(&self) -> Option<usize> {
        self.instances.waiting_memory_bytes()
    }

    /// Whether as many spares wait for a call as are wanted.
    pub fn has_all_spares(&self) -> bool {
        self.instances.has_all_spares()
    }

    /// Instances that are configured and wait for a call.
    pub fn waiting(&self) -> usize {
        self.instances.waiting()
    }

    /// Whether a fault of it may be logged now: at most [`FAULT_LINES`] are in each [`LOG_PERIOD`](crate::limits::LOG_PERIOD).
    pub fn admits_fault_line(&self) -> bool {
        self.fault_lines.admits()
    }

    /// The result of the predicate's `describe`.
    pub fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    /// Evaluates one pod against a batch of `rows` rows. The verdict has one code per row of the batch. The call ends when its
    /// own budget is used up, which also covers a new instance and its `configure` where none waits, and in any case at `until`, when the
    /// request ends for which it is made. Lines that the guest writes are neither kept nor counted.
    ///
    /// # Errors
    ///
    /// The fault of the call: a limit was exceeded, the guest trapped, or its result contradicts the contract. The instance is
    /// then dropped. [`FaultKind::RequestDeadline`] where `until` has passed.
    pub fn filter(&self, facts: Arc<dyn Facts>, rows: u32, until: Option<Instant>) -> Result<Verdict, Fault> {
        self.filter_for(facts, rows, until, None, Extra::default())
    }

    /// Evaluates like [`Self::filter`], and appends to `lines` the log lines that the guest writes, whether or not the call returns a
    /// verdict.
    ///
    /// # Errors
    ///
    /// As [`Self::filter`].
    pub fn filter_logging(
        &self,
        facts: Arc<dyn Facts>,
        rows: u32,
        until: Option<Instant>,
        lines: &mut Vec<Line>,
    ) -> Result<Verdict, Fault> {
        self.filter_with(facts, rows, until, lines, Extra::default())
    }

    /// Evaluates like [`Self::filter_logging`], with minimums for the limits of this call.
    ///
    /// # Errors
    ///
    /// As [`Self::filter`].
    pub fn filter_with(
        &self,
        facts: Arc<dyn Facts>,
        rows: u32,
        until: Option<Instant>,
        lines: &mut Vec<Line>,
        extra: Extra,
    ) -> Result<Verdict, Fault> {
        self.filter_for(facts, rows, until, Some(lines), extra)
    }

    fn filter_for(
        &self,
        facts: Arc<dyn Facts>,
        rows: u32,
        until: Option<Instant>,
        lines: Option<&mut Vec<Line>>,
        extra: Extra,
    ) -> Result<Verdict, Fault> {
        let Grants { output_bytes, reasons, .. } = *self.grants();
        self.call((rows, facts.weight()), until, extra, lines, |instance| {
            instance.filter(facts, rows, output_bytes, reasons)
        })
    }

    /// The processor time of a call over so many rows about a pod of this [`weight`](crate::Facts::weight).
    pub fn time_per_call(&self, rows: u32, weight: usize) -> Duration {
        self.instances.time_per_call(rows, weight)
    }

    /// Whether it gives devices to the claims of pods: it exports `allocator`.
    pub fn allocates(&self) -> bool {
        self.instances.exports.allocate.is_some()
    }

    /// The devices that the pod's claims get on one row of a batch of `rows` rows; `None` where [`Self::filter`] rejects the row. The
    /// limits are those of a `filter` call with this batch, and its lines are neither kept nor counted.
    ///
    /// Sorted is what the contract says is sorted, and mappings name requests that are there. Numbers of claims, requests, pools and
    /// devices are as the guest has given them.
    ///
    /// # Errors
    ///
    /// As [`Self::filter`]. [`FaultKind::Unsupported`] where the module does not [allocate](Self::allocates).
    pub fn allocate(
        &self,
        facts: Arc<dyn Facts>,
        rows: u32,
        row: u32,
        until: Option<Instant>,
    ) -> Result<Option<Allocation>, Fault> {
        self.allocate_with(facts, rows, row, until, Extra::default())
    }

    /// Allocates like [`Self::allocate`], with minimums for the limits of this call.
    ///
    /// # Errors
    ///
    /// As [`Self::allocate`].
    pub fn allocate_with(
        &self,
        facts: Arc<dyn Facts>,
        rows: u32,
        row: u32,
        until: Option<Instant>,
        extra: Extra,
    ) -> Result<Option<Allocation>, Fault> {
        let Some(export) = self.instances.exports.allocate else {
            return Err(Fault::new(FaultKind::Unsupported, "the predicate gives no devices"));
        };
        let output_bytes = self.grants().output_bytes;
        self.call((rows, facts.weight()), until, extra, None, |instance| {
            instance.allocate(export, facts, rows, row, output_bytes)
        })
    }

    /// Makes a call about a batch of rows and a pod of a weight on an instance that waits, or on a new one. An instance is dropped after a
    /// fault, and where it may have more memory than others.
    fn call<T>(
        &self,
        (rows, weight): (u32, usize),
        until: Option<Instant>,
        extra: Extra,
        lines: Option<&mut Vec<Line>>,
        call: impl FnOnce(&mut Instance) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        if until.is_some_and(|until| Instant::now() >= until) {
            let detail = "the request's deadline passed before the call".to_owned();
            return Err(Fault { kind: FaultKind::RequestDeadline, detail });
        }
        self.instances.clock.admit()?;
        let time = CallTime { budget: self.instances.time_per_call(rows, weight).max(extra.time), until };
        let line_budget = lines.is_some().then_some(&self.line_budget);
        let is_larger = extra.memory_bytes > self.grants().memory_bytes;
        let taken = match is_larger {
            true => self.instances.take_larger(extra.memory_bytes, time, line_budget),
            false => self.instances.take(time, line_budget),
        };
        let mut instance = taken.map_err(|(step, fault)| {
            let detail = shorten(&format!("{step}: {}", fault.detail));
            Fault { detail, ..fault }
        })?;
        let returned = call(&mut instance);
        if let Some(lines) = lines {
            lines.append(&mut instance.take_lines());
        }
        let returned = returned?;
        if !is_larger {
            self.instances.put_back(instance);
        }
        Ok(returned)
    }
}

/// A component that is linked, with its first instance, of which `describe` has been called.
struct Described {
    pre: InstancePre<Frame>,
    exports: Exports,
    slots: [Arc<Slots>; 2],
    instance: Instance,
    descriptor: Descriptor,
}

impl Described {
    fn of(component: &Component, manifest: &Manifest, grants: &Grants, pool: &Arc<Slots>) -> Result<Self, LoadError> {
        manifest.check(grants.allow.as_deref())?;
        let contract = |error: wasmtime::Error| LoadError::Contract(format!("{error:#}"));
        let mut linker = Linker::new(component.engine());
        for interface in &manifest.imports {
            interface.link(&mut linker).map_err(contract)?;
        }
        let pre = linker.instantiate_pre(component).map_err(contract)?;
        let exports = exports_of(component, manifest.predicate()?)?;
        let step = |step| move |fault| LoadError::Step { step, fault };
        let own = match grants.lifetime {
            Lifetime::Reused => BUILTIN_SLOTS,
            Lifetime::PerCall | Lifetime::Recycled => MODULE_SLOTS,
        };
        let slots = [Slots::new(own), Arc::clone(pool)];
        let time = CallTime::from(INSTANTIATE_TIME);
        let taken = instances::take(&slots, None).map_err(step("instantiate"))?.map(Some);
        // There is nobody to tell about a pod yet, so nobody wants its lines.
        let instance = Instance::new(&pre, &exports, grants.memory_bytes, taken, time, None);
        let mut instance = instance.map_err(|error| match error {
            NewError::Contract(text) => LoadError::Contract(text),
            NewError::Fault(fault) => step("instantiate")(fault),
        })?;
        instance.check_types(&exports).map_err(LoadError::Contract)?;
        instance.begin(time, None);
        let descriptor = instance.describe(&exports).map_err(step("describe"))?;
        Ok(Self { pre, exports, slots, instance, descriptor })
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Module")
            .field("descriptor", &self.descriptor)
            .field("imports", &self.imports())
            .finish_non_exhaustive()
    }
}

/// The functions of a predicate.
fn exports_of(component: &Component, predicate: &Predicate) -> Result<Exports, LoadError> {
    let function = |interface: &str, name: &str| -> Result<ComponentExportIndex, LoadError> {
        let index = component.get_export_index(None, interface);
        index.and_then(|interface| component.get_export_index(Some(&interface), name)).ok_or_else(|| {
            LoadError::Contract(format!("the export {} lacks the function `{name}`", shorten(interface)))
        })
    };
    let of_predicate = |name| function(&predicate.export, name);
    Ok(Exports {
        describe: of_predicate("describe")?,
        configure: of_predicate("configure")?,
        filter: of_predicate("filter")?,
        allocate: predicate.allocator.as_ref().map(|interface| function(interface, "allocate")).transpose()?,
    })
}

#[cfg(test)]
mod tests;
