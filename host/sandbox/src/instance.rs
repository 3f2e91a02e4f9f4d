//! One instance of a component with its own store, and the conversion of wasmtime errors to faults. Start at [`Instance::call`].

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use wasmtime::component::{self, ComponentExportIndex, ComponentNamedList, InstancePre, Lift, Lower, TypedFunc};
use wasmtime::{PoolConcurrencyLimitError, Store, Trap, UpdateDeadline, WasmBacktrace};

use super::backtrace;
use super::deadline::Deadline;
use super::guest::Guest;
use super::log::{Line, LineBudget};
use super::memory::MemoryBudget;
use super::refusal::{NoAnswer, NoFacts, NoValue};
use super::row_sets::RowSetError;
use super::slots::Slot;
use super::text::shorten;
use super::wire::devices::QueryTooLarge;
use crate::fault::{Fault, FaultKind};
use crate::limits::GUEST_HANDLES;

/// Parameters of an exported function.
pub(super) trait Params: ComponentNamedList + Lower {}

impl<T: ComponentNamedList + Lower> Params for T {}

/// Results of an exported function.
pub(super) trait Returned: ComponentNamedList + Lift {}

impl<T: ComponentNamedList + Lift> Returned for T {}

/// Limits of one call.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallLimits<'a> {
    /// Budget of processor time.
    pub(super) time: Duration,
    /// End of the request for which the call is made.
    pub(super) until: Option<Instant>,
    /// Linear memory, where it is more than other instances have: the call then has an instance of its own, which ends with it.
    pub(super) memory_bytes: Option<usize>,
    /// Budget of log lines; `None` where nobody wants the lines: they are neither kept nor counted.
    pub(super) lines: Option<&'a Arc<LineBudget>>,
}

impl From<Duration> for CallLimits<'_> {
    fn from(time: Duration) -> Self {
        Self { time, until: None, memory_bytes: None, lines: None }
    }
}

/// The host state of an instance: limits, log lines and subject of the running call.
pub(super) struct Frame<W: Guest> {
    deadline: Deadline,
    /// Processor time of the running call, as a fault states it.
    time: Duration,
    memory: MemoryBudget,
    /// The lines of the running call.
    lines: Vec<Line>,
    /// The last line of level error since the call began, whether or not it is among them.
    last_words: Option<String>,
    /// None where nobody wants the lines: they are neither kept nor counted.
    line_budget: Option<Arc<LineBudget>>,
    /// None outside of [`Instance::call`].
    pub(super) subject: Option<W::Subject>,
}

impl<W: Guest> Frame<W> {
    /// Returns the deadline of the running call.
    pub(super) fn call_deadline(&mut self) -> &mut Deadline {
        &mut self.deadline
    }

    /// Whether the guest may write one more line.
    pub(super) fn admits_line(&self) -> bool {
        self.line_budget.as_ref().is_some_and(|budget| budget.admits())
    }

    /// Adds a line of the guest.
    pub(super) fn write(&mut self, line: Line) {
        self.lines.push(line);
    }

    /// Notes an error line of the guest: where its call ends with a fault, this is a part of it.
    pub(super) fn note_error(&mut self, text: String) {
        self.last_words = Some(text);
    }
}

/// An instance of a component. It must be dropped after a fault.
pub(super) struct Instance<W: Guest> {
    // Dropped in this order: the slot is free once the store is.
    store: Store<Frame<W>>,
    instance: component::Instance,
    pub(super) functions: W::Functions,
    /// Calls about a subject.
    calls: u32,
    /// Its memory after it was configured, in bytes.
    configured_bytes: usize,
    slot: Slot,
}

impl<W: Guest> fmt::Debug for Instance<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instance").field("calls", &self.calls).finish_non_exhaustive()
    }
}

/// Life of an instance.
impl<W: Guest> Instance<W> {
    /// Begins a call and instantiates, start functions included. The guest is interrupted at its deadline, and its memories and tables
    /// grow no further than its budget.
    pub(super) fn new(
        pre: &InstancePre<Frame<W>>,
        slot: Slot,
        memory_bytes: usize,
        limits: CallLimits<'_>,
    ) -> Result<Self, Fault> {
        let frame = Frame {
            deadline: Deadline::new(limits.time, limits.until),
            time: limits.time,
            memory: MemoryBudget::new(memory_bytes),
            lines: Vec::new(),
            last_words: None,
            line_budget: limits.lines.cloned(),
            subject: None,
        };
        let mut store = Store::new(pre.engine(), frame);
        store.limiter(|frame| &mut frame.memory);
        store.set_hostcall_fuel(W::OUTPUT_BYTES);
        store.set_max_component_handles(GUEST_HANDLES);
        store.epoch_deadline_callback(|mut store| {
            Ok(match store.data_mut().deadline.look() {
                Some(ticks) => UpdateDeadline::Continue(ticks),
                None => UpdateDeadline::Interrupt,
            })
        });
        store.set_epoch_deadline(Deadline::first_look());
        let instance = pre.instantiate(&mut store).map_err(|error| fault(&mut store, &error))?;
        Ok(Self { store, instance, functions: W::Functions::default(), calls: 0, configured_bytes: 0, slot })
    }

    /// The linear memory that it has now, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.store.data().memory.used_bytes()
    }

    /// Notes its memory, from which [`Self::grown_bytes`] counts: it is configured.
    pub(super) fn note_configured(&mut self) {
        self.configured_bytes = self.memory_bytes();
    }

    /// By how much its memory has grown since it was configured, in bytes.
    pub(super) fn grown_bytes(&self) -> usize {
        self.memory_bytes().saturating_sub(self.configured_bytes)
    }

    /// Calls about a subject so far.
    pub(super) fn calls(&self) -> u32 {
        self.calls
    }

    /// Gives it another slot; the one that it had is free then.
    pub(super) fn hold(&mut self, slot: Slot) {
        self.slot = slot;
    }

    /// Begins a call: its deadline, and who wants its lines, hold for everything until the next one begins. Lines that were
    /// written before, when it was configured, are those of this call.
    pub(super) fn begin(&mut self, limits: CallLimits<'_>) {
        let frame = self.store.data_mut();
        (frame.deadline, frame.time) = (Deadline::new(limits.time, limits.until), limits.time);
        frame.lines.retain(|_| limits.lines.is_some_and(|budget| budget.admits()));
        frame.line_budget = limits.lines.cloned();
        frame.last_words = None;
        self.store.set_epoch_deadline(Deadline::first_look());
    }

    /// The lines that the guest has written since they were last taken.
    pub(super) fn take_lines(&mut self) -> Vec<Line> {
        std::mem::take(&mut self.store.data_mut().lines)
    }
}

/// Functions of the guest.
impl<W: Guest> Instance<W> {
    /// Compares an exported function with the contract's types.
    pub(super) fn check<P: Params, R: Returned>(&mut self, export: ComponentExportIndex) -> wasmtime::Result<()> {
        self.instance.get_typed_func::<P, R>(&mut self.store, export)?;
        Ok(())
    }

    /// Returns an exported function, as the contract has it.
    pub(super) fn function<P: Params, R: Returned>(
        &mut self,
        export: ComponentExportIndex,
    ) -> Result<TypedFunc<P, R>, Fault> {
        let function = self.instance.get_typed_func(&mut self.store, export);
        function.map_err(|error| fault(&mut self.store, &error))
    }

    /// Returns an exported function, which is looked up once and kept among the functions of the instance.
    pub(super) fn kept_function<P: Params, R: Returned>(
        &mut self,
        export: ComponentExportIndex,
        place: fn(&mut W::Functions) -> &mut Option<TypedFunc<P, R>>,
    ) -> Result<TypedFunc<P, R>, Fault> {
        if let Some(function) = *place(&mut self.functions) {
            return Ok(function);
        }
        let function = self.function(export)?;
        *place(&mut self.functions) = Some(function);
        Ok(function)
    }

    /// Calls a function that describes or configures, as a part of the call that has begun. Such a function returns no verdict, so a
    /// malformed result is [`FaultKind::Configure`].
    pub(super) fn set_up<P: Params, R: Returned>(
        &mut self,
        export: ComponentExportIndex,
        params: P,
    ) -> Result<R, Fault> {
        let function = self.function::<P, R>(export);
        let returned = function.and_then(|function| {
            function.call(&mut self.store, params).map_err(|error| fault(&mut self.store, &error))
        });
        returned.map_err(|fault| match fault.kind {
            FaultKind::MalformedVerdict => Fault { kind: FaultKind::Configure, ..fault },
            _ => fault,
        })
    }

    /// Calls a function about a subject, as a part of the call that has begun. It may pass `output_bytes` to the host. Returns the
    /// subject beside the result, with what host functions have added to it.
    pub(super) fn call<P: Params, R: Returned>(
        &mut self,
        function: TypedFunc<P, R>,
        params: P,
        subject: W::Subject,
        output_bytes: usize,
    ) -> Result<(R, Option<W::Subject>), Fault> {
        self.calls += 1;
        let store = &mut self.store;
        store.data_mut().subject = Some(subject);
        // Reset: a refusal in an earlier call must not be reported as the cause of a failure in this one.
        store.data_mut().memory.take_refused();
        store.set_hostcall_fuel(output_bytes);
        let returned = function.call(&mut *store, params);
        let subject = store.data_mut().subject.take();
        match returned {
            Ok(returned) => Ok((returned, subject)),
            Err(error) => Err(fault(store, &error)),
        }
    }
}

/// Converts an error of wasmtime to a fault. Its detail is the limit or the cause that ended the call, then the guest's last error line,
/// then where it was.
fn fault<W: Guest>(store: &mut Store<Frame<W>>, error: &wasmtime::Error) -> Fault {
    let frame = store.data_mut();
    let kind = kind_of(error, frame.memory.take_refused(), || frame.deadline.is_request_over());
    let cause = error.downcast_ref::<Trap>().map_or_else(|| cause_of(error), ToString::to_string);
    let limit = W::limit_text(kind, &cause, frame.time, frame.memory.limit_bytes());
    let is_located = W::LOCATES_LIMITS || limit.is_none();
    let mut detail = limit.unwrap_or(cause);
    let words = frame.last_words.take();
    let has_said = words.is_some();
    if let Some(words) = words {
        detail = format!("{}; {words}", shorten(&detail));
    }
    if let Some(frames) = backtrace::frames(error, has_said).filter(|_| is_located) {
        detail = format!("{detail}; in {frames}");
    }
    Fault::new(kind, &detail)
}

/// Message of a wasmtime error without its backtrace, which is a part of the error and is reported last, in short form.
fn cause_of(error: &wasmtime::Error) -> String {
    let causes = error.chain().skip(usize::from(error.is::<WasmBacktrace>()));
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// The kind of a call's failure. `refused_memory` is whether growth of its memory was refused.
fn kind_of(error: &wasmtime::Error, refused_memory: bool, is_request_over: impl FnOnce() -> bool) -> FaultKind {
    let cause = || cause_of(error);
    match error.downcast_ref::<Trap>() {
        Some(Trap::Interrupt) if is_request_over() => FaultKind::RequestDeadline,
        Some(Trap::Interrupt) => FaultKind::Deadline,
        Some(Trap::StackOverflow) => FaultKind::StackOverflow,
        None if error.is::<NoAnswer>() => FaultKind::Trap,
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
