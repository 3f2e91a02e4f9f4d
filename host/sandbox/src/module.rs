//! A loaded predicate: described and configured, with its manifest and its log lines. Start at [`Module::filter`].

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use wasmtime::component;

use super::clock::Pulse;
use super::component::{Component, Linked};
use super::grants::{Extra, Grants, Lifetime};
use super::inspect::Inspection;
use super::instance::{CallLimits, Instance};
use super::interface::{Facts, Interface};
use super::link::link;
use super::load_error::LoadError;
use super::log::{Line, LineBudget};
use super::manifest::Manifest;
use super::predicate::{Exports, PredicateWorld};
use super::slots::Slots;
use super::spares::Spares;
use super::text::shorten;
use super::verdict::Verdict;
use super::wire::Descriptor;
use super::wire::allocation::Allocation;
use super::wire::scoring::{Normalization, Scores};
use super::world::World as _;
use crate::fault::{Fault, FaultKind};
use crate::limits::{FAULT_LINES, INSTANTIATE_TIME};

/// A loaded predicate. It can be called from many threads at once.
pub struct Module {
    component: Arc<Component<PredicateWorld>>,
    manifest: Arc<Manifest>,
    descriptor: Descriptor,
    /// `None` where it exports no `scorer`.
    normalization: Option<Normalization>,
    line_budget: Arc<LineBudget>,
    fault_lines: LineBudget,
}

impl Module {
    /// Links, instantiates, describes and configures a compiled component, whose instances share the slots of a pool.
    pub(super) fn prepare(
        compiled: &component::Component,
        manifest: Arc<Manifest>,
        grants: Grants,
        pool: &Arc<Slots>,
        clock: &Arc<Pulse>,
        spares: Option<&Arc<Spares<PredicateWorld>>>,
    ) -> Result<Self, LoadError> {
        let Described { linked, mut first, descriptor } = Described::new(compiled, &manifest, &grants, pool)?;
        first.begin(CallLimits::from(INSTANTIATE_TIME));
        PredicateWorld::configure(&mut first, &linked.exports, &grants)
            .map_err(|fault| LoadError::Step { step: "configure", fault })?;
        let scorer = linked.exports.scorer;
        let normalization = scorer.map(|scorer| first.normalization(scorer)).transpose();
        let normalization = normalization.map_err(|fault| LoadError::Step { step: "normalize-by", fault })?;
        let line_budget = Arc::new(LineBudget::new(grants.log_lines));
        let component = Component::new(linked, grants, pool, clock, spares);
        let fault_lines = LineBudget::new(FAULT_LINES);
        let module = Self { component, manifest, descriptor, normalization, line_budget, fault_lines };
        match module.grants().lifetime {
            Lifetime::Reused => module.component.put_back(first),
            Lifetime::PerCall | Lifetime::Recycled => {
                drop(first);
                module.check_start()?;
            }
        }
        Ok(module)
    }

    /// Inspects a compiled component. Only its start functions and `describe` run.
    pub(super) fn inspect(
        compiled: &component::Component,
        manifest: &Manifest,
        grants: &Grants,
        pool: &Arc<Slots>,
        features: Vec<&'static str>,
        producers: Vec<String>,
    ) -> Result<Inspection, LoadError> {
        let Described { first, descriptor, .. } = Described::new(compiled, manifest, grants, pool)?;
        let predicate = manifest.predicate()?;
        let (contract, scores) = (predicate.contract.clone(), predicate.scorer.is_some());
        let imports = manifest.imports.clone();
        let Descriptor { name, version, summary } = descriptor;
        let descriptor = Descriptor { name: shorten(&name), version: shorten(&version), summary: shorten(&summary) };
        let memory_bytes = first.memory_bytes();
        Ok(Inspection { descriptor, contract, imports, scores, memory_bytes, features, producers })
    }

    /// Checks that a new instance is ready within the time of the least call, of which it is a part.
    fn check_start(&self) -> Result<(), LoadError> {
        self.component.check_start().map_err(|start| match start.fault.kind {
            FaultKind::Deadline => LoadError::SlowStart { step: start.step, budget: self.time_per_call(0, 0) },
            _ => start.into(),
        })
    }

    /// Returns the permissions, limits and arguments that the policy gives the module.
    pub fn grants(&self) -> &Grants {
        &self.component.settings
    }

    /// Returns the imports and exports of the component.
    pub(super) fn manifest(&self) -> &Arc<Manifest> {
        &self.manifest
    }

    /// Returns the compiled component of the module.
    pub(super) fn compiled(&self) -> &component::Component {
        self.component.linked.pre.component()
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
        self.component.waiting_memory_bytes()
    }

    /// Whether as many spares wait for a call as are wanted.
    pub fn has_all_spares(&self) -> bool {
        !self.component.is_short()
    }

    /// Instances that are configured and wait for a call.
    pub fn waiting(&self) -> usize {
        self.component.waiting()
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
        self.call((rows, facts.weight()), until, extra, lines, |instance| {
            instance.filter(&self.component.linked.exports, facts, rows, self.grants())
        })
    }

    /// The processor time of a call over so many rows about a pod of this [`weight`](crate::Facts::weight).
    pub fn time_per_call(&self, rows: u32, weight: usize) -> Duration {
        self.grants().call_time(rows, weight)
    }

    /// Whether it gives devices to the claims of pods: it exports `allocator`.
    pub fn allocates(&self) -> bool {
        self.component.linked.exports.allocate.is_some()
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
        let Some(export) = self.component.linked.exports.allocate else {
            return Err(Fault::new(FaultKind::Unsupported, "the predicate gives no devices"));
        };
        let output_bytes = self.grants().output_bytes;
        self.call((rows, facts.weight()), until, extra, None, |instance| {
            instance.allocate(export, facts, rows, row, output_bytes)
        })
    }

    /// How its raw scores are normalized; `None` where it does not score: it does not export `scorer`.
    pub fn normalization(&self) -> Option<Normalization> {
        self.normalization
    }

    /// Scores one pod on every row of a batch of `rows` rows. The limits are those of a `filter` call with this batch, and its lines are
    /// neither kept nor counted. There is one raw score per row.
    ///
    /// # Errors
    ///
    /// As [`Self::filter`]. [`FaultKind::Unsupported`] where the module does not [score](Self::normalization).
    pub fn score(&self, facts: Arc<dyn Facts>, rows: u32, until: Option<Instant>) -> Result<Scores, Fault> {
        self.score_for(facts, rows, until, None, Extra::default())
    }

    /// Scores like [`Self::score`], with minimums for the limits of this call, and appends to `lines` the log lines that the guest writes,
    /// whether or not the call returns scores.
    ///
    /// # Errors
    ///
    /// As [`Self::score`].
    pub fn score_with(
        &self,
        facts: Arc<dyn Facts>,
        rows: u32,
        until: Option<Instant>,
        lines: &mut Vec<Line>,
        extra: Extra,
    ) -> Result<Scores, Fault> {
        self.score_for(facts, rows, until, Some(lines), extra)
    }

    fn score_for(
        &self,
        facts: Arc<dyn Facts>,
        rows: u32,
        until: Option<Instant>,
        lines: Option<&mut Vec<Line>>,
        extra: Extra,
    ) -> Result<Scores, Fault> {
        let Some(scorer) = self.component.linked.exports.scorer else {
            return Err(Fault::new(FaultKind::Unsupported, "the component gives no scores"));
        };
        let output_bytes = self.grants().output_bytes;
        self.call((rows, facts.weight()), until, extra, lines, |instance| {
            instance.score(scorer, facts, rows, output_bytes)
        })
    }

    /// Makes a call about a batch of rows and a pod of a weight. An instance is dropped where it may have more memory than others.
    fn call<T>(
        &self,
        (rows, weight): (u32, usize),
        until: Option<Instant>,
        extra: Extra,
        lines: Option<&mut Vec<Line>>,
        call: impl FnOnce(&mut Instance<PredicateWorld>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let limits = CallLimits {
            time: self.time_per_call(rows, weight).max(extra.time),
            until,
            memory_bytes: Some(extra.memory_bytes).filter(|bytes| *bytes > self.grants().memory_bytes),
            lines: lines.is_some().then_some(&self.line_budget),
        };
        self.component.call(limits, |instance| {
            let returned = call(instance);
            if let Some(lines) = lines {
                lines.append(&mut instance.take_lines());
            }
            returned
        })
    }
}

/// A component that is linked, with its first instance, of which `describe` has been called.
struct Described {
    linked: Linked<PredicateWorld>,
    first: Instance<PredicateWorld>,
    descriptor: Descriptor,
}

impl Described {
    fn new(
        compiled: &component::Component,
        manifest: &Manifest,
        grants: &Grants,
        pool: &Arc<Slots>,
    ) -> Result<Self, LoadError> {
        manifest.check(grants.allow.as_deref())?;
        let linked = Linked::new(
            compiled,
            |linker| manifest.imports.iter().try_for_each(|interface| link(*interface, linker)),
            || Exports::new(compiled, manifest.predicate()?),
        )?;
        // There is nobody to tell about a pod yet, so nobody wants its lines.
        let mut first = linked.first(pool, grants.memory_bytes)?;
        first.begin(CallLimits::from(INSTANTIATE_TIME));
        let described = first.describe(&linked.exports);
        let descriptor = described.map_err(|fault| LoadError::Step { step: "describe", fault })?;
        Ok(Self { linked, first, descriptor })
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

#[cfg(test)]
mod tests;
