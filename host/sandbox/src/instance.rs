//! One instance of a component with its own store, and the conversion of wasmtime errors to faults.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use wasmtime::component::{ComponentExportIndex, ComponentNamedList, InstancePre, Lift, Lower, TypedFunc};
use wasmtime::{PoolConcurrencyLimitError, Store, Trap, WasmBacktrace};

use super::deadline::Deadline;
use super::limited::{self, Limited};
use super::log::{Line, LineBudget};
use super::memory::MemoryBudget;
use super::row_sets::{RowSetError, RowSets};
use super::slots::Slot;
use super::text::shorten;
use super::verdict::Verdict;
use super::wire::allocation::Allocation;
use super::wire::devices::QueryTooLarge;
use super::wire::{self, Descriptor};
use super::{Facts, NoValue, backtrace, check};
use crate::fault::{Fault, FaultKind};
use crate::limits::OUTPUT_BYTES;

/// The host state of an instance: facts, deadline, memory budget and lines of the running call.
pub(super) struct Frame {
    facts: Option<Arc<dyn Facts>>,
    row_sets: Option<RowSets>,
    deadline: Deadline,
    memory: MemoryBudget,
    /// The lines of the running call.
    lines: Vec<Line>,
    /// The last line of level error since the call began, whether or not it is among them.
    last_words: Option<String>,
    /// None where nobody wants the lines: they are neither kept nor counted.
    line_budget: Option<Arc<LineBudget>>,
}

impl Frame {
    /// Whether the guest may write one more line.
    pub(super) fn admits_line(&self) -> bool {
        self.line_budget.as_ref().is_some_and(|budget| budget.admits())
    }

    /// Adds a line of the guest.
    pub(super) fn write(&mut self, line: Line) {
        self.lines.push(line);
    }

    /// Notes what the guest says is wrong: where its call ends with a fault, this is a part of it.
    pub(super) fn note_error(&mut self, text: String) {
        self.last_words = Some(text);
    }

    /// The row sets of the running `filter` call.
    ///
    /// # Errors
    ///
    /// [`RowSetError::NoBatch`] outside a `filter` call.
    pub(super) fn row_sets(&mut self) -> Result<&mut RowSets, RowSetError> {
        self.row_sets.as_mut().ok_or(RowSetError::NoBatch)
    }

    /// The facts of the running `filter` or `allocate` call.
    ///
    /// # Errors
    ///
    /// [`NoFacts`] outside of these; the error traps the guest.
    pub(super) fn facts(&self) -> wasmtime::Result<&dyn Facts> {
        self.facts.as_deref().ok_or_else(|| NoFacts.into())
    }
}

impl Limited for Frame {
    fn deadline(&mut self) -> &mut Deadline {
        &mut self.deadline
    }

    fn memory(&mut self) -> &mut MemoryBudget {
        &mut self.memory
    }
}

/// A guest called a fact function outside `filter` and `allocate`.
#[derive(Debug, thiserror::Error)]
#[error("fact functions can only be called while `filter` or `allocate` runs")]
struct NoFacts;

/// Indices of a component's exported functions.
#[derive(Debug, Clone)]
pub(super) struct Exports {
    pub(super) describe: ComponentExportIndex,
    pub(super) configure: ComponentExportIndex,
    pub(super) filter: ComponentExportIndex,
    /// None where the component has no such export.
    pub(super) allocate: Option<ComponentExportIndex>,
}

type Allocate = TypedFunc<(u32, u32), (Option<Allocation>,)>;

/// Why a component cannot be instantiated.
#[derive(Debug)]
pub(super) enum NewError {
    /// The exports do not have the contract's types.
    Contract(String),
    /// Instantiation failed, or a call during it.
    Fault(Fault),
}

impl From<Fault> for NewError {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// The time of a call: a budget of processor time, and the end of the request for which it is made.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallTime {
    pub(super) budget: Duration,
    pub(super) until: Option<Instant>,
}

impl From<Duration> for CallTime {
    fn from(budget: Duration) -> Self {
        Self { budget, until: None }
    }
}

/// An instance of a predicate. It must be dropped after a fault.
pub(super) struct Instance {
    // Dropped in this order: the slots are free once the store is.
    store: Store<Frame>,
    instance: wasmtime::component::Instance,
    filter: TypedFunc<(u32,), (wire::Verdict,)>,
    /// Calls of `filter` and `allocate`.
    calls: u32,
    /// Its memory after `configure`, in bytes.
    configured_bytes: usize,
    slots: [Option<Slot>; 2],
}

impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instance").field("calls", &self.calls).finish_non_exhaustive()
    }
}

impl Instance {
    /// Begins a call and instantiates, start functions included.
    pub(super) fn new(
        pre: &InstancePre<Frame>,
        exports: &Exports,
        memory_bytes: usize,
        slots: [Option<Slot>; 2],
        time: CallTime,
        line_budget: Option<&Arc<LineBudget>>,
    ) -> Result<Self, NewError> {
        let deadline = Deadline::new(time.budget, time.until);
        let memory = MemoryBudget::new(memory_bytes);
        let frame = Frame {
            facts: None,
            row_sets: None,
            deadline,
            memory,
            lines: Vec::new(),
            last_words: None,
            line_budget: line_budget.cloned(),
        };
        let mut store = limited::store(pre.engine(), frame, OUTPUT_BYTES);
        let instance = pre.instantiate(&mut store).map_err(|error| fault(&mut store, &error))?;
        let filter = instance
            .get_typed_func::<(u32,), (wire::Verdict,)>(&mut store, exports.filter)
            .map_err(|error| NewError::Contract(format!("filter: {error:#}")))?;
        Ok(Self { store, instance, filter, calls: 0, configured_bytes: 0, slots })
    }

    /// The linear memory that it has now, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.store.data().memory.used_bytes()
    }

    /// By how much its memory has grown since it was configured, in bytes.
    pub(super) fn grown_bytes(&self) -> usize {
        self.memory_bytes().saturating_sub(self.configured_bytes)
    }

    /// Calls of `filter` and `allocate` so far.
    pub(super) fn calls(&self) -> u32 {
        self.calls
    }

    /// Gives it other slots; those that it had are free then.
    pub(super) fn hold(&mut self, slots: [Option<Slot>; 2]) {
        drop(std::mem::replace(&mut self.slots, slots));
    }

    /// Begins a call: its deadline, and who wants its lines, hold for everything until the next one begins. Lines that were
    /// written before, when it was configured, are those of this call.
    pub(super) fn begin(&mut self, time: CallTime, line_budget: Option<&Arc<LineBudget>>) {
        let frame = self.store.data_mut();
        frame.deadline = Deadline::new(time.budget, time.until);
        frame.lines.retain(|_| line_budget.is_some_and(|budget| budget.admits()));
        frame.line_budget = line_budget.cloned();
        frame.last_words = None;
        self.store.set_epoch_deadline(Deadline::first_look());
    }

    /// The lines that the guest has written since they were last taken.
    pub(super) fn take_lines(&mut self) -> Vec<Line> {
        std::mem::take(&mut self.store.data_mut().lines)
    }

    /// Checks that the functions have the contract's types but for `filter`, which [`Self::new`] checks.
    pub(super) fn check_types(&mut self, exports: &Exports) -> Result<(), String> {
        let (instance, store) = (&self.instance, &mut self.store);
        instance
            .get_typed_func::<(), (Descriptor,)>(&mut *store, exports.describe)
            .map_err(|error| format!("describe: {error:#}"))?;
        instance
            .get_typed_func::<(&str,), (Result<(), String>,)>(&mut *store, exports.configure)
            .map_err(|error| format!("configure: {error:#}"))?;
        if let Some(allocate) = exports.allocate {
            self.allocate_function(allocate).map_err(|error| format!("allocate: {error:#}"))?;
        }
        Ok(())
    }

    fn allocate_function(&mut self, export: ComponentExportIndex) -> wasmtime::Result<Allocate> {
        self.instance.get_typed_func(&mut self.store, export)
    }

    /// Calls `describe`, as a part of the call that has begun.
    pub(super) fn describe(&mut self, exports: &Exports) -> Result<Descriptor, Fault> {
        let store = &mut self.store;
        let described = self
            .instance
            .get_typed_func::<(), (Descriptor,)>(&mut *store, exports.describe)
            .and_then(|describe| describe.call(&mut *store, ()));
        described.map(|(descriptor,)| descriptor).map_err(|error| as_configure(fault(store, &error)))
    }

    /// Calls `configure`, as a part of the call that has begun. An error that the predicate returns is the fault `Configure` with the
    /// predicate's text.
    pub(super) fn configure(&mut self, exports: &Exports, args: &str) -> Result<(), Fault> {
        let store = &mut self.store;
        let configured = self
            .instance
            .get_typed_func::<(&str,), (Result<(), String>,)>(&mut *store, exports.configure)
            .and_then(|configure| configure.call(&mut *store, (args,)));
        match configured {
            Ok((Ok(()),)) => {
                self.configured_bytes = self.memory_bytes();
                Ok(())
            }
            Ok((Err(refusal),)) => Err(Fault { kind: FaultKind::Configure, detail: shorten(&refusal) }),
            Err(error) => Err(as_configure(fault(store, &error))),
        }
    }

    /// Calls `filter` for a batch of `rows` rows, as a part of the call that has begun. It may pass `output_bytes` to the host
    /// beside the codes of the rows. Of each failure at most `reasons` reasons are kept.
    pub(super) fn filter(
        &mut self,
        facts: Arc<dyn Facts>,
        rows: u32,
        output_bytes: usize,
        reasons: usize,
    ) -> Result<Verdict, Fault> {
        self.store.data_mut().row_sets = Some(RowSets::new(rows, output_bytes));
        let fuel = output_bytes + rows as usize * size_of::<u16>();
        let returned = self.call(self.filter, (rows,), facts, fuel);
        let row_sets = self.store.data_mut().row_sets.take();
        let (raw,) = returned?;
        let raw = match row_sets {
            Some(row_sets) => row_sets.merged(raw)?,
            None => raw,
        };
        check::verdict(raw, rows, reasons)
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
        let function = self.allocate_function(export).map_err(|error| fault(&mut self.store, &error))?;
        let (raw,) = self.call(function, (rows, row), facts, output_bytes)?;
        raw.map(check::allocation).transpose()
    }

    /// Calls a function that reads facts and may pass `fuel` bytes to the host.
    fn call<P, R>(
        &mut self,
        function: TypedFunc<P, R>,
        params: P,
        facts: Arc<dyn Facts>,
        fuel: usize,
    ) -> Result<R, Fault>
    where
        P: ComponentNamedList + Lower,
        R: ComponentNamedList + Lift,
    {
        self.calls += 1;
        let store = &mut self.store;
        store.data_mut().facts = Some(facts);
        // Reset: a refusal in an earlier call must not be reported as the cause of a failure in this one.
        store.data_mut().memory.take_refused();
        store.set_hostcall_fuel(fuel);
        let returned = function.call(&mut *store, params);
        store.data_mut().facts = None;
        returned.map_err(|error| fault(store, &error))
    }
}

/// Converts an error of wasmtime to a fault. Its detail is what ended the call, then the guest's last error line, then where it
/// was.
fn fault(store: &mut Store<Frame>, error: &wasmtime::Error) -> Fault {
    let refused_memory = store.data_mut().memory.take_refused();
    let kind = kind_of(error, refused_memory, || store.data().deadline.is_request_over());
    let cause = cause_of(error);
    let mut detail = match (kind, error.downcast_ref::<Trap>()) {
        (FaultKind::Deadline, _) => {
            "the call used up its time: do less, or grant more with limits.timePerCall".to_owned()
        }
        (FaultKind::RequestDeadline, _) => "the time of the request was up".to_owned(),
        (FaultKind::Memory, trap) => {
            let cause = trap.map_or(cause, ToString::to_string);
            format!("it needs more memory than limits.memory grants: {}", shorten(&cause))
        }
        (_, Some(trap)) => trap.to_string(),
        (_, None) => cause,
    };
    if let Some(words) = store.data_mut().last_words.take() {
        detail = format!("{}; {words}", shorten(&detail));
    }
    if let Some(frames) = backtrace::frames(error) {
        detail = format!("{detail}; in {frames}");
    }
    Fault::new(kind, &detail)
}

/// Message of a wasmtime error without its backtrace, which is a part of the error and is reported last, in short form.
pub(super) fn cause_of(error: &wasmtime::Error) -> String {
    let causes = error.chain().skip(usize::from(error.is::<WasmBacktrace>()));
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// The kind of a call's failure. `refused_memory` is whether growth of its memory was refused.
pub(super) fn kind_of(
    error: &wasmtime::Error,
    refused_memory: bool,
    is_request_over: impl FnOnce() -> bool,
) -> FaultKind {
    let cause = || cause_of(error);
    match error.downcast_ref::<Trap>() {
        Some(Trap::Interrupt) if is_request_over() => FaultKind::RequestDeadline,
        Some(Trap::Interrupt) => FaultKind::Deadline,
        Some(Trap::StackOverflow) => FaultKind::StackOverflow,
        _ if refused_memory => FaultKind::Memory,
        None if cause().contains("handle limit exceeded") => FaultKind::Memory,
        Some(_) => FaultKind::Trap,
        None if error.is::<NoFacts>() || error.is::<QueryTooLarge>() => FaultKind::Trap,
        None if error.is::<PoolConcurrencyLimitError>() => FaultKind::Overloaded,
        None if error.downcast_ref() == Some(&NoValue::Overloaded) => FaultKind::Overloaded,
        None if cause().contains("fuel allocated for hostcalls") => FaultKind::OutputTooLarge,
        // All other errors: a result or an argument that violates the component model's canonical ABI.
        None => error.downcast_ref::<RowSetError>().map_or(FaultKind::MalformedVerdict, |error| error.kind()),
    }
}

/// The fault of a `describe` or `configure` call: these return no verdict, so a malformed result is `Configure`.
fn as_configure(fault: Fault) -> Fault {
    match fault.kind {
        FaultKind::MalformedVerdict => Fault { kind: FaultKind::Configure, ..fault },
        _ => fault,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_host_has_no_value_for_ends_a_call_with_its_kind() {
        for (none, kind) in [
            (NoValue::Overloaded, FaultKind::Overloaded),
            (NoValue::Deadline, FaultKind::Deadline),
            (NoValue::UnknownOperator, FaultKind::MalformedVerdict),
        ] {
            let error = none.trap().context("a host function has failed");
            assert_eq!(kind_of(&error, false, || false), kind, "{none}");
        }
    }
}
