//! The instances of one module: made for a call, or taken from those that wait for one. Start at [`Instances::take`].
//!
//! Waiting instances are *spares*, configured and never called, which a thread makes beside the requests (`spares`), and those
//! that have been called where they are reused. A built-in's waiting instances keep their slots; those of other modules have
//! slots of their own, so that they take none from calls.

use std::cell::OnceCell;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use wasmtime::component::{Component, InstancePre};

use super::clock::Pulse;
use super::grants::{Grants, Lifetime};
use super::instance::{CallTime, Exports, Frame, Instance, NewError};
use super::log::LineBudget;

use super::slots::{Slot, Slots};
use super::spares::{Spared, Spares};
use crate::fault::{Fault, FaultKind};
use crate::limits::{
    FILTER_TIME_MIN, FILTER_TIME_MOST, FILTER_TIME_PER_10_000_ROWS, FILTER_TIME_WEIGHT, IDLE_INSTANCES, MODULE_SPARES,
    REUSED_CALLS, REUSED_GROWTH_BYTES, SLOT_WAIT, SPARE_BYTES,
};

/// Makes and keeps the instances of a module.
pub(super) struct Instances {
    pub(super) pre: InstancePre<Frame>,
    pub(super) exports: Exports,
    pub(super) grants: Grants,
    /// This module's own, and those of the pool that it shares with others: one of each for every call.
    pub(super) slots: [Arc<Slots>; 2],
    pub(super) clock: Arc<Pulse>,
    /// None where no spares are made.
    pub(super) spares: Option<Arc<Spares>>,
    waiting: Mutex<Vec<Instance>>,
    /// Whether the thread that makes spares has been asked and has not begun yet.
    is_asked: AtomicBool,
}

impl Instances {
    pub(super) fn new(
        (pre, exports): (InstancePre<Frame>, Exports),
        grants: Grants,
        slots: [Arc<Slots>; 2],
        clock: Arc<Pulse>,
        spares: Option<Arc<Spares>>,
    ) -> Arc<Self> {
        // Built-ins have idle instances from the first call on.
        let spares = spares.filter(|_| grants.lifetime != Lifetime::Reused);
        let (waiting, is_asked) = (Mutex::default(), AtomicBool::new(false));
        Arc::new(Self { pre, exports, grants, slots, clock, spares, waiting, is_asked })
    }

    /// Returns the compiled component that the instances are made of.
    pub(super) fn component(&self) -> &Component {
        self.pre.component()
    }

    /// Begins a call with an instance that is configured: one that waits, or a new one, whose making is a part of the call.
    ///
    /// # Errors
    ///
    /// The step that failed, and its fault.
    pub(super) fn take(
        self: &Arc<Self>,
        time: CallTime,
        line_budget: Option<&Arc<LineBudget>>,
    ) -> Result<Instance, (&'static str, Fault)> {
        if self.grants.lifetime == Lifetime::Reused {
            if let Some(mut instance) = self.pop() {
                instance.begin(time, line_budget);
                return Ok(instance);
            }
            return self.make(self.call_slots(time.until)?, self.grants.memory_bytes, time, line_budget);
        }
        let slots = self.call_slots(time.until)?;
        match self.pop() {
            Some(mut instance) => {
                instance.hold(slots);
                // Making the next one beside the call would slow it down: memory of one process is mapped by one thread at a time. So
                // that waits for the end of the call, unless another call would find none.
                if self.waiting() == 0 {
                    self.ask_for_spares();
                }
                instance.begin(time, line_budget);
                Ok(instance)
            }
            None => {
                self.ask_for_spares();
                self.make(slots, self.grants.memory_bytes, time, line_budget)
            }
        }
    }

    /// Begins a call with a new instance that may have so much memory. It is not to be put back.
    ///
    /// # Errors
    ///
    /// As [`Self::take`].
    pub(super) fn take_larger(
        &self,
        memory_bytes: usize,
        time: CallTime,
        line_budget: Option<&Arc<LineBudget>>,
    ) -> Result<Instance, (&'static str, Fault)> {
        self.make(self.call_slots(time.until)?, memory_bytes, time, line_budget)
    }

    /// Takes an instance back after a good call, if it may be called again. Others are dropped beside the requests, and then the spare is
    /// made that this call has taken.
    pub(super) fn put_back(self: &Arc<Self>, mut instance: Instance) {
        match self.grants.lifetime {
            Lifetime::PerCall => {
                if let Some(spares) = &self.spares {
                    spares.discard(instance);
                }
                self.ask_for_spares();
            }
            Lifetime::Reused => self.push(instance, IDLE_INSTANCES),
            Lifetime::Recycled => {
                let may_be_called = instance.calls() < REUSED_CALLS && instance.grown_bytes() <= REUSED_GROWTH_BYTES;
                let slot = self
                    .spares
                    .as_ref()
                    .filter(|_| may_be_called)
                    .and_then(|spares| spares.slot(self.lock().is_empty()));
                if let Some(slot) = slot {
                    instance.hold([Some(slot), None]);
                    self.push(instance, MODULE_SPARES);
                }
            }
        }
    }

    /// Checks that a new instance is ready within the time of the least call: otherwise every call without a spare would fault.
    /// It is the first spare.
    ///
    /// # Errors
    ///
    /// As [`Self::take`].
    pub(super) fn check_start(&self) -> Result<(), (&'static str, Fault)> {
        if !self.add_spare()? {
            let time = CallTime::from(self.time_per_call(0, 0));
            self.make(self.call_slots(None)?, self.grants.memory_bytes, time, None)?;
        }
        Ok(())
    }

    /// Makes a spare on this thread. `false` where there is no room for one.
    ///
    /// # Errors
    ///
    /// As [`Self::take`].
    fn add_spare(&self) -> Result<bool, (&'static str, Fault)> {
        let time = CallTime::from(self.time_per_call(0, 0));
        let Some(slot) = self.spares.as_ref().and_then(|spares| spares.slot(self.lock().is_empty())) else {
            return Ok(false);
        };
        // Its lines are those of the call that it is for, which counts them.
        let lines = Arc::new(LineBudget::new(self.grants.log_lines));
        let spare = self.make([Some(slot), None], self.grants.memory_bytes, time, Some(&lines))?;
        self.push(spare, MODULE_SPARES);
        Ok(true)
    }

    /// Whether more spares are wanted: fewer of those that take much memory, and one where instances come back.
    fn is_short(&self) -> bool {
        let waiting = self.lock();
        if self.grants.lifetime == Lifetime::Recycled {
            return waiting.is_empty();
        }
        let bytes = waiting.first().map_or(1, |instance| instance.memory_bytes().max(1));
        waiting.len() < (SPARE_BYTES / bytes).clamp(1, MODULE_SPARES)
    }

    fn ask_for_spares(self: &Arc<Self>) {
        let Some(spares) = &self.spares else { return };
        if self.is_short() && !self.is_asked.swap(true, Ordering::Relaxed) {
            let module: Weak<dyn Spared> = Arc::<Self>::downgrade(self);
            spares.ask(module);
        }
    }

    /// A new instance with up to so much memory, configured, as a part of a call that begins here.
    ///
    /// # Errors
    ///
    /// As [`Self::take`].
    fn make(
        &self,
        slots: [Option<Slot>; 2],
        memory_bytes: usize,
        time: CallTime,
        line_budget: Option<&Arc<LineBudget>>,
    ) -> Result<Instance, (&'static str, Fault)> {
        let instance = Instance::new(&self.pre, &self.exports, memory_bytes, slots, time, line_budget);
        let instance = instance.map_err(|error| match error {
            // Cannot happen: loading has checked the types.
            NewError::Contract(detail) => Fault { kind: FaultKind::MalformedVerdict, detail },
            NewError::Fault(fault) => fault,
        });
        let mut instance = instance.map_err(|fault| ("instantiate", fault))?;
        instance.configure(&self.exports, &self.grants.args).map_err(|fault| ("configure", fault))?;
        Ok(instance)
    }

    /// The slots of a call.
    fn call_slots(&self, until: Option<Instant>) -> Result<[Option<Slot>; 2], (&'static str, Fault)> {
        take(&self.slots, until).map(|slots| slots.map(Some)).map_err(|fault| ("instantiate", fault))
    }

    /// The budget of a call over so many rows about a pod of this [`weight`](crate::Facts::weight).
    pub(super) fn time_per_call(&self, rows: u32, weight: usize) -> Duration {
        self.grants.time_per_call.unwrap_or_else(|| usual_time(rows, weight))
    }

    /// Instances that wait for a call.
    pub(super) fn waiting(&self) -> usize {
        self.lock().len()
    }

    /// Whether as many wait as are wanted.
    pub(super) fn has_all_spares(&self) -> bool {
        !self.is_short()
    }

    /// Linear memory of the waiting instance that has most of it, in bytes.
    pub(super) fn waiting_memory_bytes(&self) -> Option<usize> {
        self.lock().iter().map(Instance::memory_bytes).max()
    }

    /// Keeps an instance, if there are not enough.
    fn push(&self, instance: Instance, most: usize) {
        let mut waiting = self.lock();
        if waiting.len() < most {
            waiting.push(instance);
        }
    }

    fn pop(&self) -> Option<Instance> {
        self.lock().pop()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Instance>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The budget of a call whose module names none: it grows with the rows, and with the pod.
fn usual_time(rows: u32, weight: usize) -> Duration {
    let least = (FILTER_TIME_PER_10_000_ROWS * rows.div_ceil(10_000)).max(FILTER_TIME_MIN);
    let times = u32::try_from(1 + weight / FILTER_TIME_WEIGHT).unwrap_or(u32::MAX);
    least.max(least.saturating_mul(times).min(FILTER_TIME_MOST))
}

impl Spared for Instances {
    fn fill(&self) {
        self.is_asked.store(false, Ordering::Relaxed);
        // One that fails is not tried again until a call asks: the call says what is wrong.
        while !self.clock.is_suspended() && self.is_short() && matches!(self.add_spare(), Ok(true)) {}
    }
}

impl fmt::Debug for Instances {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instances").field("grants", &self.grants).finish_non_exhaustive()
    }
}

/// Takes a slot of the module and one of its pool, and waits for them until the request ends, but no longer than
/// [`SLOT_WAIT`].
///
/// # Errors
///
/// [`FaultKind::Overloaded`], or [`FaultKind::RequestDeadline`] where the request has ended.
pub(super) fn take([own, pool]: &[Arc<Slots>; 2], until: Option<Instant>) -> Result<[Slot; 2], Fault> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_call_grows_with_rows_and_with_the_pod_up_to_a_limit() {
        let milliseconds = |rows, weight| usual_time(rows, weight).as_millis();
        assert_eq!([milliseconds(0, 0), milliseconds(20_000, 0), milliseconds(100_000, 0)], [10, 10, 50]);
        // A pod of 1 MB has 500 ms, and on 100,000 nodes one of 24 kB four times as much as a small one.
        let weights = [0, 8 << 10, 24 << 10, 100 << 10, 1 << 20, usize::MAX];
        assert_eq!(weights.map(|weight| milliseconds(1_500, weight)), [10, 20, 40, 130, 500, 500]);
        assert_eq!(milliseconds(100_000, 24 << 10), 200);
        assert_eq!(milliseconds(2_000_000, 1 << 20), 1_000, "rows alone make it longer");
    }
}
