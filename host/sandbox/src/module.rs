//! A loaded predicate: a compiled component, linked to its allowed imports, described and configured, with a pool of idle
//! instances.

use std::cell::OnceCell;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, ComponentExportIndex, InstancePre, Linker};

use super::clock::Pulse;
use super::contract::{self, Minor, PACKAGE, VERSION};
use super::inspect::Inspection;
use super::instance::{CallTime, Exports, Frame, Instance, NewError};
use super::interface::{Facts, Interface};
use super::log::{Line, LineBudget};
use super::slots::{Slot, Slots};
use super::text::shorten;
use super::verdict::Verdict;
use super::wire::Descriptor;
use crate::fault::{Fault, FaultKind};
use crate::limits::{
    BUILTIN_SLOTS, FAILURE_REASONS, FILTER_TIME_MIN, FILTER_TIME_PER_10_000_ROWS, GUEST_MEMORY_BYTES, IDLE_INSTANCES,
    INSTANTIATE_TIME, LOG_LINES, MODULE_SLOTS, OUTPUT_BYTES, SLOT_WAIT,
};

/// Why a component is not loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The module is larger than [`COMPONENT_BYTES`](crate::limits::COMPONENT_BYTES).
    #[error("the module has {bytes} bytes, at most {limit} are allowed")]
    Size {
        /// Its size in bytes.
        bytes: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// The bytes are not a component. The text says what they are.
    #[error("{0}")]
    NotAComponent(&'static str),
    /// The bytes do not compile.
    #[error("the component does not compile: {0}")]
    Compile(String),
    /// Compilation took longer than [`COMPILE_TIME`](crate::limits::COMPILE_TIME).
    #[error("the component did not compile within {0:?}")]
    CompileTime(Duration),
    /// Compilation took more memory than [`COMPILE_BYTES`](crate::limits::COMPILE_BYTES).
    #[error("the component did not compile within {} MiB of memory", .limit >> 20)]
    CompileMemory {
        /// In bytes.
        limit: u64,
    },
    /// It is built for a version of the contract that this host does not serve.
    #[error(
        "the component is built for {PACKAGE} {built_for}, and this nodesift serves {}: take a nodesift that serves \
         {built_for}, or build the component for a version that this one serves",
        contract::served()
    )]
    ContractVersion {
        /// The version in the name of its export.
        built_for: String,
    },
    /// It imports functions that the host does not provide.
    #[error("the component imports what nodesift does not offer: {}; it offers {PACKAGE} {VERSION}: {}", .0.join(", "), Interface::ALL.map(Interface::name).join(", "))]
    UnknownImports(Vec<String>),
    /// It imports interfaces that the policy does not allow.
    #[error("the component imports {}, which `allow` does not list", .0.join(", "))]
    ForbiddenImports(Vec<&'static str>),
    /// Its imports or exports do not have the contract's types.
    #[error("the component does not fit the contract {PACKAGE} {VERSION}: {0}")]
    Contract(String),
    /// Instantiation, `describe` or `configure` failed.
    #[error("{step}: {fault}")]
    Step {
        /// `instantiate`, `describe` or `configure`.
        step: &'static str,
        /// The fault.
        fault: Fault,
    },
    /// A new instance takes more time than a call has, of which it is a part.
    #[error(
        "{step}: a new instance is made and configured within each call, and takes more than the {budget:?} of one: do less \
         before `filter`, or grant more with `limits.timePerCall`"
    )]
    SlowStart {
        /// `instantiate` or `configure`.
        step: &'static str,
        /// Of the least call.
        budget: Duration,
    },
}

/// Whether instances are reused between calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// A new instance for every call: no state can leak from one pod to the next.
    PerCall,
    /// Instances are reused until a call faults.
    Reused,
}

/// The permissions, limits and arguments that a policy gives a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grants {
    /// The interfaces that it may import; `None` allows all.
    pub allow: Option<Vec<Interface>>,
    /// The arguments for `configure`: a JSON object as text.
    pub args: String,
    /// Linear memory of one instance in bytes.
    pub memory_bytes: usize,
    /// Bytes that one call may pass to the host, not counting the codes of the rows.
    pub output_bytes: usize,
    /// Lines that it may write to the log in each [`LOG_PERIOD`](crate::limits::LOG_PERIOD), all instances together.
    pub log_lines: u32,
    /// Processor time budget of one `filter` call; `None` derives it from the number of rows.
    pub time_per_call: Option<Duration>,
    /// Whether instances are reused.
    pub lifetime: Lifetime,
    /// Reasons that are kept of one failure; the others are counted.
    pub reasons: usize,
}

impl Default for Grants {
    /// What a custom module has without any settings.
    fn default() -> Self {
        Self {
            allow: None,
            args: "{}".to_owned(),
            memory_bytes: GUEST_MEMORY_BYTES,
            output_bytes: OUTPUT_BYTES,
            log_lines: LOG_LINES,
            time_per_call: None,
            lifetime: Lifetime::PerCall,
            reasons: FAILURE_REASONS,
        }
    }
}

/// A loaded predicate. It can be called from many threads at once.
pub struct Module {
    pre: InstancePre<Frame>,
    exports: Exports,
    grants: Grants,
    imports: Vec<Interface>,
    descriptor: Descriptor,
    clock: Arc<Pulse>,
    line_budget: Arc<LineBudget>,
    idle: Mutex<Vec<Instance>>,
    /// This module's own, and those of the pool that it shares with others.
    slots: [Arc<Slots>; 2],
}

impl Module {
    /// Links, instantiates, describes and configures a compiled component, whose instances share the slots of a pool.
    pub(super) fn prepare(
        component: &Component,
        grants: Grants,
        pool: &Arc<Slots>,
        clock: &Arc<Pulse>,
    ) -> Result<Self, LoadError> {
        let clock = Arc::clone(clock);
        let Described { pre, exports, imports, slots, mut instance, descriptor, .. } =
            Described::of(component, &grants, pool)?;
        instance.begin(CallTime::from(INSTANTIATE_TIME), None);
        instance.configure(&exports, &grants.args).map_err(|fault| LoadError::Step { step: "configure", fault })?;
        let (line_budget, idle) = (Arc::new(LineBudget::new(grants.log_lines)), Mutex::default());
        let module = Self { pre, exports, grants, imports, descriptor, clock, line_budget, idle, slots };
        match module.grants.lifetime {
            Lifetime::Reused => module.put_back(instance),
            Lifetime::PerCall => {
                drop(instance);
                module.check_start()?;
            }
        }
        Ok(module)
    }

    /// What a compiled component is. Only its start functions and `describe` run.
    pub(super) fn inspect(
        component: &Component,
        grants: &Grants,
        pool: &Arc<Slots>,
        features: Vec<&'static str>,
    ) -> Result<Inspection, LoadError> {
        let Described { contract, imports, instance, descriptor, .. } = Described::of(component, grants, pool)?;
        let Descriptor { name, version, summary } = descriptor;
        let descriptor = Descriptor { name: shorten(&name), version: shorten(&version), summary: shorten(&summary) };
        Ok(Inspection { descriptor, contract, imports, memory_bytes: instance.memory_bytes(), features })
    }

    /// Checks that a new instance is ready within the time of the least call: otherwise every call would fault.
    fn check_start(&self) -> Result<(), LoadError> {
        let budget = self.time_per_call(0);
        self.configured(CallTime::from(budget), None).map(drop).map_err(|(step, fault)| match fault.kind {
            FaultKind::Deadline => LoadError::SlowStart { step, budget },
            _ => LoadError::Step { step, fault },
        })
    }

    /// Begins a call with a new instance, which is configured. An error has the step that failed.
    fn configured(
        &self,
        time: CallTime,
        line_budget: Option<&Arc<LineBudget>>,
    ) -> Result<Instance, (&'static str, Fault)> {
        let instantiate = |fault| ("instantiate", fault);
        let taken = take(&self.slots, time.until).map_err(instantiate)?;
        let (pre, exports) = (&self.pre, &self.exports);
        let instance = Instance::new(pre, exports, self.grants.memory_bytes, taken, time, line_budget);
        let instance = instance.map_err(|error| match error {
            // Cannot happen: loading has checked the types.
            NewError::Contract(detail) => Fault { kind: FaultKind::MalformedVerdict, detail },
            NewError::Fault(fault) => fault,
        });
        let mut instance = instance.map_err(instantiate)?;
        instance.configure(exports, &self.grants.args).map_err(|fault| ("configure", fault))?;
        Ok(instance)
    }

    /// What the policy gives it.
    pub fn grants(&self) -> &Grants {
        &self.grants
    }

    /// Its compiled code.
    pub(super) fn component(&self) -> &Component {
        self.pre.component()
    }

    /// The interfaces of which the component imports at least one function. It can read nothing else.
    pub fn imports(&self) -> &[Interface] {
        &self.imports
    }

    /// Whether it imports a `cluster-*` interface. Such a predicate is always called with every row.
    pub fn is_cluster_wide(&self) -> bool {
        self.imports.iter().any(|interface| interface.is_cluster_wide())
    }

    /// Lines that its instances have written to the log, and lines that were dropped because they were too many.
    pub fn log_counts(&self) -> (u64, u64) {
        self.line_budget.counts()
    }

    /// The result of the predicate's `describe`.
    pub fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    /// Evaluates one pod against a batch of `rows` rows. The verdict has one code per row of the batch. The call ends when its
    /// own budget is used up, which also covers a new instance and its `configure`, and in any case at `until`, when the request
    /// ends for which it is made. Lines that the guest writes are neither kept nor counted.
    ///
    /// # Errors
    ///
    /// The fault of the call: a limit was exceeded, the guest trapped, or its result contradicts the contract. The instance is
    /// then dropped. [`FaultKind::RequestDeadline`] where `until` has passed.
    pub fn filter(&self, facts: Arc<dyn Facts>, rows: u32, until: Option<Instant>) -> Result<Verdict, Fault> {
        self.call(facts, rows, until, None)
    }

    /// As [`Self::filter`], and adds the lines that the guest writes, whether or not it has a verdict in the end.
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
        self.call(facts, rows, until, Some(lines))
    }

    fn call(
        &self,
        facts: Arc<dyn Facts>,
        rows: u32,
        until: Option<Instant>,
        lines: Option<&mut Vec<Line>>,
    ) -> Result<Verdict, Fault> {
        if until.is_some_and(|until| Instant::now() >= until) {
            let detail = "the request's deadline passed before the call".to_owned();
            return Err(Fault { kind: FaultKind::RequestDeadline, detail });
        }
        if self.clock.is_suspended() {
            let detail = "the clock that limits the time of guests has stopped".to_owned();
            return Err(Fault { kind: FaultKind::ClockStopped, detail });
        }
        let time = CallTime { budget: self.time_per_call(rows), until };
        let line_budget = lines.is_some().then_some(&self.line_budget);
        let mut instance = match self.take_idle() {
            Some(mut instance) => {
                instance.begin(time, line_budget);
                instance
            }
            None => self.configured(time, line_budget).map_err(|(step, fault)| {
                let detail = shorten(&format!("{step}: {}", fault.detail));
                Fault { detail, ..fault }
            })?,
        };
        let verdict = instance.filter(facts, rows, self.grants.output_bytes, self.grants.reasons);
        if let Some(lines) = lines {
            lines.append(&mut instance.take_lines());
        }
        let verdict = verdict?;
        if self.grants.lifetime == Lifetime::Reused {
            self.put_back(instance);
        }
        Ok(verdict)
    }

    /// Keeps an instance for a later call, if there are not enough.
    fn put_back(&self, instance: Instance) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE_INSTANCES {
            idle.push(instance);
        }
    }

    fn take_idle(&self) -> Option<Instance> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn time_per_call(&self, rows: u32) -> Duration {
        let by_rows = || (FILTER_TIME_PER_10_000_ROWS * rows.div_ceil(10_000)).max(FILTER_TIME_MIN);
        self.grants.time_per_call.unwrap_or_else(by_rows)
    }
}

/// A component that is linked, with its first instance, of which `describe` has been called.
struct Described {
    pre: InstancePre<Frame>,
    exports: Exports,
    /// The version of the contract that it was built for.
    contract: String,
    imports: Vec<Interface>,
    slots: [Arc<Slots>; 2],
    instance: Instance,
    descriptor: Descriptor,
}

impl Described {
    fn of(component: &Component, grants: &Grants, pool: &Arc<Slots>) -> Result<Self, LoadError> {
        // First, because imports of another version are none that this host has.
        let predicate = predicate_of(component)?;
        let imports = imports_of(component)?;
        if let Some(allow) = &grants.allow {
            let is_forbidden = |import: &&Interface| import.is_fact() && !allow.contains(import);
            let forbidden: Vec<&str> = imports.iter().filter(is_forbidden).map(|import| import.name()).collect();
            if !forbidden.is_empty() {
                return Err(LoadError::ForbiddenImports(forbidden));
            }
        }
        let contract = |error: wasmtime::Error| LoadError::Contract(format!("{error:#}"));
        let mut linker = Linker::new(component.engine());
        for interface in &imports {
            interface.link(&mut linker).map_err(contract)?;
        }
        let pre = linker.instantiate_pre(component).map_err(contract)?;
        let Predicate { export, contract: version } = predicate.ok_or_else(|| no_predicate(component))?;
        let exports = exports_of(component, &export)?;
        let step = |step| move |fault| LoadError::Step { step, fault };
        let own = match grants.lifetime {
            Lifetime::Reused => BUILTIN_SLOTS,
            Lifetime::PerCall => MODULE_SLOTS,
        };
        let slots = [Slots::new(own), Arc::clone(pool)];
        let time = CallTime::from(INSTANTIATE_TIME);
        let taken = take(&slots, None).map_err(step("instantiate"))?;
        // There is nobody to tell about a pod yet, so nobody wants its lines.
        let instance = Instance::new(&pre, &exports, grants.memory_bytes, taken, time, None);
        let mut instance = instance.map_err(|error| match error {
            NewError::Contract(text) => LoadError::Contract(text),
            NewError::Fault(fault) => step("instantiate")(fault),
        })?;
        instance.check_types(&exports).map_err(LoadError::Contract)?;
        instance.begin(time, None);
        let descriptor = instance.describe(&exports).map_err(step("describe"))?;
        Ok(Self { pre, exports, contract: version, imports, slots, instance, descriptor })
    }
}

/// Takes a slot of the module and one of its pool, and waits for them until the request ends, but no longer than
/// [`SLOT_WAIT`].
///
/// # Errors
///
/// [`FaultKind::Overloaded`], or [`FaultKind::RequestDeadline`] where the request has ended.
fn take([own, pool]: &[Arc<Slots>; 2], until: Option<Instant>) -> Result<[Slot; 2], Fault> {
    // One wait for both.
    let end = OnceCell::new();
    let last = || {
        let last = *end.get_or_init(|| Instant::now() + SLOT_WAIT);
        until.map_or(last, |until| until.min(last))
    };
    let none = |slots: &str| match until.is_some_and(|until| Instant::now() >= until) {
        true => Fault { kind: FaultKind::RequestDeadline, detail: "the request's deadline passed".to_owned() },
        false => {
            let detail = format!("{slots} were in use for {} ms", SLOT_WAIT.as_millis());
            Fault { kind: FaultKind::Overloaded, detail }
        }
    };
    let own = own.take(last).ok_or_else(|| none("all instances of the module"))?;
    let pool = pool.take(last).ok_or_else(|| none("all instances of all modules"))?;
    Ok([own, pool])
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Module")
            .field("descriptor", &self.descriptor)
            .field("imports", &self.imports)
            .finish_non_exhaustive()
    }
}

/// The fact interfaces of which a component imports at least one function. An interface imported only for its types is not
/// listed.
fn imports_of(component: &Component) -> Result<Vec<Interface>, LoadError> {
    let engine = component.engine();
    let mut known = Vec::new();
    let mut unknown = Vec::new();
    for (name, item) in component.component_type().imports(engine) {
        let has_functions = match &item.ty {
            ComponentItem::ComponentInstance(instance) => {
                instance.exports(engine).any(|(_, export)| matches!(export.ty, ComponentItem::ComponentFunc(_)))
            }
            ComponentItem::Type(_) => false,
            _ => true,
        };
        match Interface::from_import(name) {
            Some(interface) if has_functions => known.push(interface),
            Some(_) => {}
            None if has_functions => unknown.push(name.to_owned()),
            None => {}
        }
    }
    known.sort_unstable();
    known.dedup();
    if unknown.is_empty() { Ok(known) } else { Err(LoadError::UnknownImports(unknown)) }
}

/// The interface `predicate` that a component exports.
struct Predicate {
    /// The full name of the export.
    export: String,
    /// The version of the contract in it.
    contract: String,
}

/// The exported predicate of a component, of several the one of the newest version; none where there is none.
fn predicate_of(component: &Component) -> Result<Option<Predicate>, LoadError> {
    let exports = component.component_type();
    let mut found: Vec<(Option<Minor>, Predicate)> = exports
        .exports(component.engine())
        .filter_map(|(export, _)| match contract::split(export) {
            Some(("predicate", version)) => {
                let predicate = Predicate { export: export.to_owned(), contract: version.to_owned() };
                Some((Minor::of(version), predicate))
            }
            _ => None,
        })
        .collect();
    found.sort_by_key(|(minor, _)| *minor);
    match found.pop() {
        Some((None, predicate)) => Err(LoadError::ContractVersion { built_for: shorten(&predicate.contract) }),
        found => Ok(found.map(|(_, predicate)| predicate)),
    }
}

/// Why a component without a predicate is not loaded.
fn no_predicate(component: &Component) -> LoadError {
    let exports = component.component_type();
    let names: Vec<&str> = exports.exports(component.engine()).map(|(name, _)| name).collect();
    let found = match names.as_slice() {
        [] => "it exports nothing".to_owned(),
        names => format!("it exports {}", names.join(", ")),
    };
    LoadError::Contract(format!("no export {PACKAGE}/predicate@{VERSION}; {found}"))
}

/// The functions of the export with this name.
fn exports_of(component: &Component, name: &str) -> Result<Exports, LoadError> {
    let missing = |name: &str| LoadError::Contract(format!("the exported predicate lacks the function `{name}`"));
    let interface = component.get_export_index(None, name).ok_or_else(|| missing("describe"))?;
    let function = |name: &'static str| -> Result<ComponentExportIndex, LoadError> {
        component.get_export_index(Some(&interface), name).ok_or_else(|| missing(name))
    };
    Ok(Exports { describe: function("describe")?, configure: function("configure")?, filter: function("filter")? })
}
