//! Predicates as a [`World`]: their exports, and the calls of an instance. Start at [`Instance::filter`].

use std::sync::Arc;
use std::time::Duration;

use wasmtime::component::{Component, ComponentExportIndex, TypedFunc};

use super::check;
use super::deadline::Deadline;
use super::grants::{Grants, Lifetime};
use super::guest::Guest;
use super::instance::{Frame, Instance};
use super::interface::{FactStore, Facts};
use super::load_error::LoadError;
use super::manifest::Predicate;
use super::refusal::NoFacts;
use super::row_sets::{RowSetError, RowSets};
use super::text::shorten;
use super::verdict::Verdict;
use super::wire::allocation::Allocation;
use super::wire::scoring::{Normalization, Scores};
use super::wire::{self, Descriptor};
use super::world::{Rules, World};
use crate::fault::{Fault, FaultKind};
use crate::limits::{IDLE_INSTANCES, MODULE_SLOTS, MODULE_SPARES, OUTPUT_BYTES};

/// The world of components that export `predicate`, with or without `allocator` and `scorer`.
#[derive(Debug)]
pub(super) struct PredicateWorld;

/// Indices of a component's exported functions.
#[derive(Debug, Clone)]
pub(super) struct Exports {
    describe: ComponentExportIndex,
    configure: ComponentExportIndex,
    filter: ComponentExportIndex,
    /// None where the component has no such export.
    pub(super) allocate: Option<ComponentExportIndex>,
    /// None where the component has no such export.
    pub(super) scorer: Option<ScorerExports>,
}

/// Indices of the functions of the export `scorer`.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScorerExports {
    normalize_by: ComponentExportIndex,
    score: ComponentExportIndex,
}

impl Exports {
    /// Looks up the functions of a predicate.
    ///
    /// # Errors
    ///
    /// [`LoadError::Contract`] with the first that is missing.
    pub(super) fn new(component: &Component, predicate: &Predicate) -> Result<Self, LoadError> {
        let function = |interface: &str, name: &str| -> Result<ComponentExportIndex, LoadError> {
            let index = component.get_export_index(None, interface);
            index.and_then(|interface| component.get_export_index(Some(&interface), name)).ok_or_else(|| {
                LoadError::Contract(format!("the export {} lacks the function `{name}`", shorten(interface)))
            })
        };
        let of_predicate = |name| function(&predicate.export, name);
        let of_scorer = |interface: &String| -> Result<ScorerExports, LoadError> {
            let (normalize_by, score) = (function(interface, "normalize-by")?, function(interface, "score")?);
            Ok::<_, LoadError>(ScorerExports { normalize_by, score })
        };
        Ok(Self {
            describe: of_predicate("describe")?,
            configure: of_predicate("configure")?,
            filter: of_predicate("filter")?,
            allocate: predicate.allocator.as_ref().map(|interface| function(interface, "allocate")).transpose()?,
            scorer: predicate.scorer.as_ref().map(of_scorer).transpose()?,
        })
    }
}

/// The batch of a running call: its facts, and in a `filter` call its row sets.
pub(super) struct Batch {
    facts: Arc<dyn Facts>,
    row_sets: Option<RowSets>,
}

type Filter = TypedFunc<(u32,), (wire::Verdict,)>;
type Configured = Result<(), String>;

impl Guest for PredicateWorld {
    type Functions = Option<Filter>;
    type Subject = Batch;

    const OUTPUT_BYTES: usize = OUTPUT_BYTES;
    const LOCATES_LIMITS: bool = true;

    fn limit_text(kind: FaultKind, cause: &str, _time: Duration, _memory_bytes: usize) -> Option<String> {
        Some(match kind {
            FaultKind::Deadline => {
                "the call used up its time: do less, or grant more with limits.timePerCall".to_owned()
            }
            FaultKind::RequestDeadline => "the time of the request was up".to_owned(),
            FaultKind::Memory => format!("it needs more memory than limits.memory grants: {}", shorten(cause)),
            _ => return None,
        })
    }
}

impl World for PredicateWorld {
    type Exports = Exports;
    type Settings = Grants;

    const STARTS_IN_CALL: bool = true;
    const SLOTS: [&'static str; 2] = ["all instances of the module", "all instances of all modules"];

    fn check_types(instance: &mut Instance<Self>, exports: &Exports) -> wasmtime::Result<()> {
        let named = |name: &'static str| move |error: wasmtime::Error| error.context(name);
        instance.check::<(u32,), (wire::Verdict,)>(exports.filter).map_err(named("filter"))?;
        instance.check::<(), (Descriptor,)>(exports.describe).map_err(named("describe"))?;
        instance.check::<(&str,), (Configured,)>(exports.configure).map_err(named("configure"))?;
        if let Some(allocate) = exports.allocate {
            instance.check::<(u32, u32), (Option<Allocation>,)>(allocate).map_err(named("allocate"))?;
        }
        if let Some(scorer) = exports.scorer {
            instance.check::<(), (Normalization,)>(scorer.normalize_by).map_err(named("normalize-by"))?;
            instance.check::<(u32,), (Scores,)>(scorer.score).map_err(named("score"))?;
        }
        Ok(())
    }

    /// An error that the predicate returns is the fault `Configure` with the predicate's text.
    fn configure(instance: &mut Instance<Self>, exports: &Exports, grants: &Grants) -> Result<(), Fault> {
        let (configured,): (Configured,) = instance.set_up(exports.configure, (&*grants.args,))?;
        configured.map_err(|refusal| Fault::new(FaultKind::Configure, &refusal))
    }

    fn rules(grants: &Grants) -> Rules {
        let is_builtin = grants.lifetime == Lifetime::Reused;
        Rules {
            lifetime: grants.lifetime,
            memory_bytes: grants.memory_bytes,
            start_time: grants.call_time(0, 0),
            // All slots of the pool of built-ins may be those of one.
            calls: (!is_builtin).then_some(MODULE_SLOTS),
            keeps_slot: is_builtin,
            waiting: if is_builtin { IDLE_INSTANCES } else { MODULE_SPARES },
            log_lines: grants.log_lines,
        }
    }
}

impl FactStore for Frame<PredicateWorld> {
    fn facts(&self) -> wasmtime::Result<&dyn Facts> {
        self.subject.as_ref().map(|batch| &*batch.facts).ok_or_else(|| NoFacts.into())
    }

    fn row_sets(&mut self) -> Result<&mut RowSets, RowSetError> {
        self.subject.as_mut().and_then(|batch| batch.row_sets.as_mut()).ok_or(RowSetError::NoBatch)
    }

    fn deadline(&mut self) -> &mut Deadline {
        self.call_deadline()
    }
}

impl Instance<PredicateWorld> {
    /// Calls `describe`, as a part of the call that has begun.
    pub(super) fn describe(&mut self, exports: &Exports) -> Result<Descriptor, Fault> {
        self.set_up(exports.describe, ()).map(|(descriptor,)| descriptor)
    }

    /// Calls `filter` for a batch of `rows` rows, as a part of the call that has begun. It may pass the granted bytes to the host
    /// beside the codes of the rows.
    pub(super) fn filter(
        &mut self,
        exports: &Exports,
        facts: Arc<dyn Facts>,
        rows: u32,
        grants: &Grants,
    ) -> Result<Verdict, Fault> {
        let filter = self.kept_function(exports.filter, |filter| filter)?;
        let batch = Batch { facts, row_sets: Some(RowSets::new(rows, grants.output_bytes)) };
        let output_bytes = grants.output_bytes + rows as usize * size_of::<u16>();
        let ((raw,), batch) = self.call(filter, (rows,), batch, output_bytes)?;
        let raw = match batch.and_then(|batch| batch.row_sets) {
            Some(row_sets) => row_sets.merged(raw)?,
            None => raw,
        };
        check::verdict(raw, rows, grants.reasons)
    }

    /// Calls `allocate` for one row of a batch of `rows` rows, as a part of the call that has begun. It may pass `output_bytes` to
    /// the host.
    pub(super) fn allocate(
        &mut self,
        export: ComponentExportIndex,
        facts: Arc<dyn Facts>,
        rows: u32,
        row: u32,
        output_bytes: usize,
    ) -> Result<Option<Allocation>, Fault> {
        let function = self.function::<(u32, u32), (Option<Allocation>,)>(export)?;
        let ((raw,), _) = self.call(function, (rows, row), Batch { facts, row_sets: None }, output_bytes)?;
        raw.map(check::allocation).transpose()
    }

    /// Calls `normalize-by`, as a part of the call that has begun.
    pub(super) fn normalization(&mut self, scorer: ScorerExports) -> Result<Normalization, Fault> {
        self.set_up(scorer.normalize_by, ()).map(|(normalization,)| normalization)
    }

    /// Calls `score` for a batch of `rows` rows, as a part of the call that has begun. It may pass `output_bytes` to the host beside the
    /// scores of the rows.
    pub(super) fn score(
        &mut self,
        scorer: ScorerExports,
        facts: Arc<dyn Facts>,
        rows: u32,
        output_bytes: usize,
    ) -> Result<Scores, Fault> {
        let function = self.function::<(u32,), (Scores,)>(scorer.score)?;
        let output_bytes = output_bytes + rows as usize * size_of::<i64>();
        let ((raw,), _) = self.call(function, (rows,), Batch { facts, row_sets: None }, output_bytes)?;
        check::scores(raw, rows)
    }
}
