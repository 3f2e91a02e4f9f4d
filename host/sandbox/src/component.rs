//! A loaded component of any [`World`]: linked, and called on instances that wait for a call or are made for it. Start at
//! [`Component::call`].
//!
//! Waiting instances are *spares*, configured and never called, which a thread makes beside the requests (`spares`), and those
//! that have been called where they are reused. Some keep their slots of the pool; the others have slots of their own, so that they
//! take none from calls.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

use wasmtime::component::{self, InstancePre, Linker};

use super::clock::Pulse;
use super::grants::Lifetime;
use super::instance::{CallLimits, Frame, Instance};
use super::load_error::LoadError;
use super::log::LineBudget;
use super::slots::{Slot, Slots, Wait};
use super::spares::{Spared, Spares};
use super::text::shorten;
use super::world::{Rules, World};
use crate::fault::{Fault, FaultKind};
use crate::limits::{INSTANTIATE_TIME, MODULE_SPARES, REUSED_CALLS, REUSED_GROWTH_BYTES, SPARE_BYTES};

/// A compiled component that is linked to its imports.
pub(super) struct Linked<W: World> {
    pub(super) pre: InstancePre<Frame<W>>,
    pub(super) exports: W::Exports,
}

impl<W: World> Linked<W> {
    /// Links a component by `link`, and then looks up its exports.
    pub(super) fn new(
        component: &component::Component,
        link: impl FnOnce(&mut Linker<Frame<W>>) -> wasmtime::Result<()>,
        exports: impl FnOnce() -> Result<W::Exports, LoadError>,
    ) -> Result<Self, LoadError> {
        let mut linker = Linker::new(component.engine());
        link(&mut linker).map_err(contract)?;
        let pre = linker.instantiate_pre(component).map_err(contract)?;
        Ok(Self { pre, exports: exports()? })
    }

    /// Makes the first instance, which is not configured, and compares its exports with the contract's types.
    pub(super) fn first(&self, pool: &Arc<Slots>, memory_bytes: usize) -> Result<Instance<W>, LoadError> {
        let [_, shared] = W::SLOTS;
        let limits = CallLimits::from(INSTANTIATE_TIME);
        let slot = Wait::new(None).take(pool, shared);
        let instance = slot.and_then(|slot| Instance::new(&self.pre, slot, memory_bytes, limits));
        let mut instance = instance.map_err(StartFault::instantiating)?;
        W::check_types(&mut instance, &self.exports).map_err(contract)?;
        Ok(instance)
    }
}

#[allow(clippy::needless_pass_by_value, reason = "for map_err")]
fn contract(error: wasmtime::Error) -> LoadError {
    LoadError::Contract(format!("{error:#}"))
}

/// A fault while an instance was made, and the step that failed.
#[derive(Debug)]
pub(super) struct StartFault {
    /// Name of the step that failed: `instantiate` or `configure`.
    pub(super) step: &'static str,
    pub(super) fault: Fault,
}

impl StartFault {
    fn instantiating(fault: Fault) -> Self {
        Self { step: "instantiate", fault }
    }

    /// The fault of the call that the instance was made for.
    fn in_call<W: World>(self) -> Fault {
        let Self { step, fault } = self;
        if !W::STARTS_IN_CALL {
            return fault;
        }
        let detail = shorten(&format!("{step}: {}", fault.detail));
        Fault { detail, ..fault }
    }
}

impl From<StartFault> for LoadError {
    fn from(StartFault { step, fault }: StartFault) -> Self {
        Self::Step { step, fault }
    }
}

/// Makes, calls and keeps the instances of a component. It can be called from many threads at once.
pub(super) struct Component<W: World> {
    pub(super) linked: Linked<W>,
    pub(super) settings: W::Settings,
    rules: Rules,
    /// One for each call, where the component limits them.
    turns: Option<Arc<Slots>>,
    /// Slots for instances, which it shares with others.
    pool: Arc<Slots>,
    clock: Arc<Pulse>,
    /// None where no spares are made.
    spares: Option<Arc<Spares<W>>>,
    waiting: Mutex<Vec<Instance<W>>>,
    /// Whether the thread that makes spares has been asked and has not begun yet.
    is_asked: AtomicBool,
}

impl<W: World> Component<W> {
    pub(super) fn new(
        linked: Linked<W>,
        settings: W::Settings,
        pool: &Arc<Slots>,
        clock: &Arc<Pulse>,
        spares: Option<&Arc<Spares<W>>>,
    ) -> Arc<Self> {
        let rules = W::rules(&settings);
        Arc::new(Self {
            linked,
            settings,
            turns: rules.calls.map(Slots::new),
            pool: Arc::clone(pool),
            clock: Arc::clone(clock),
            // Instances that keep their slots wait from the first call on.
            spares: spares.filter(|_| !rules.keeps_slot).cloned(),
            waiting: Mutex::default(),
            is_asked: AtomicBool::new(false),
            rules,
        })
    }

    /// Makes one call on an instance that waits, or on a new one. An instance is dropped after a fault.
    ///
    /// # Errors
    ///
    /// The fault of `call`, or why there is no instance. [`FaultKind::RequestDeadline`] where the request has ended.
    pub(super) fn call<T>(
        self: &Arc<Self>,
        limits: CallLimits<'_>,
        call: impl FnOnce(&mut Instance<W>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        if limits.until.is_some_and(|until| Instant::now() >= until) {
            let detail = "the request's deadline passed before the call".to_owned();
            return Err(Fault { kind: FaultKind::RequestDeadline, detail });
        }
        self.clock.admit()?;
        self.turn(limits)?.call(limits, call)
    }

    /// Takes a turn for calls one after the other, and an instance for them if one waits.
    ///
    /// # Errors
    ///
    /// [`FaultKind::Overloaded`], or [`FaultKind::RequestDeadline`] where the request has ended meanwhile.
    pub(super) fn turn(self: &Arc<Self>, limits: CallLimits<'_>) -> Result<Turn<'_, W>, Fault> {
        let ([own, shared], wait) = (W::SLOTS, Wait::new(limits.until));
        let take = |slots, name| {
            let slot = wait.take(slots, name);
            slot.map_err(|fault| StartFault::instantiating(fault).in_call::<W>())
        };
        let slot = self.turns.as_ref().map(|turns| take(turns, own)).transpose()?;
        let pool_slot = (!self.rules.keeps_slot).then(|| take(&self.pool, shared)).transpose()?;
        let mut turn = Turn {
            component: self,
            instance: None,
            is_put_back: limits.memory_bytes.is_none(),
            pool_slot,
            _slot: slot,
        };
        if turn.is_put_back {
            turn.instance = self.lock().pop();
            if let Some(instance) = &mut turn.instance
                && let Some(slot) = turn.pool_slot.take()
            {
                instance.hold(slot);
            }
            // Making the next one beside the call would slow it down: memory of one process is mapped by one thread at a time. So
            // that waits for the end of the call, unless another call would find none.
            if self.spares.is_some() && self.waiting() == 0 {
                self.ask_for_spares();
            }
        }
        Ok(turn)
    }

    /// Checks that a new instance is ready within its time: otherwise every call that finds none would fault. It waits for the first
    /// call.
    pub(super) fn check_start(&self) -> Result<(), StartFault> {
        if self.add_spare()? {
            return Ok(());
        }
        let instance = self.make(None, CallLimits::from(self.rules.start_time))?;
        if self.rules.keeps_slot {
            self.push(instance);
        }
        Ok(())
    }

    /// Takes an instance back after good calls, if it may be called again. Others are dropped beside the requests, and then the spare is
    /// made that this call has taken.
    pub(super) fn put_back(self: &Arc<Self>, mut instance: Instance<W>) {
        let may_be_called = instance.calls() < REUSED_CALLS && instance.grown_bytes() <= REUSED_GROWTH_BYTES;
        match self.rules.lifetime {
            Lifetime::PerCall => {
                if let Some(spares) = &self.spares {
                    spares.discard(instance);
                }
                self.ask_for_spares();
            }
            Lifetime::Recycled if !may_be_called => {}
            Lifetime::Recycled if !self.rules.keeps_slot => {
                if let Some(slot) = self.spare_slot() {
                    instance.hold(slot);
                    self.push(instance);
                }
            }
            Lifetime::Recycled | Lifetime::Reused => self.push(instance),
        }
    }

    /// Makes a spare on this thread. `false` where there is no room for one.
    fn add_spare(&self) -> Result<bool, StartFault> {
        let Some(slot) = self.spare_slot() else { return Ok(false) };
        // Its lines are those of the call that it is for, which counts them.
        let lines = Arc::new(LineBudget::new(self.rules.log_lines));
        let limits = CallLimits { lines: Some(&lines), ..CallLimits::from(self.rules.start_time) };
        let spare = self.make(Some(slot), limits)?;
        self.push(spare);
        Ok(true)
    }

    /// A slot for an instance that waits and does not keep its own.
    fn spare_slot(&self) -> Option<Slot> {
        let is_first = || self.lock().is_empty();
        self.spares.as_ref().and_then(|spares| spares.slot(is_first()))
    }

    fn ask_for_spares(self: &Arc<Self>) {
        let Some(spares) = &self.spares else { return };
        if self.is_short() && !self.is_asked.swap(true, Ordering::Relaxed) {
            let asking: Weak<Self> = Arc::downgrade(self);
            spares.ask(asking);
        }
    }

    /// Whether more spares are wanted: fewer of those that take much memory, and one where instances come back.
    pub(super) fn is_short(&self) -> bool {
        let waiting = self.lock();
        if self.rules.lifetime == Lifetime::Recycled {
            return waiting.is_empty();
        }
        let bytes = waiting.first().map_or(1, |instance| instance.memory_bytes().max(1));
        waiting.len() < (SPARE_BYTES / bytes).clamp(1, MODULE_SPARES)
    }

    /// A new instance, configured, as a part of a call that begins here. Without a slot it takes one of the pool.
    fn make(&self, slot: Option<Slot>, limits: CallLimits<'_>) -> Result<Instance<W>, StartFault> {
        let [_, shared] = W::SLOTS;
        let slot = slot.map_or_else(|| Wait::new(limits.until).take(&self.pool, shared), Ok);
        let memory_bytes = limits.memory_bytes.unwrap_or(self.rules.memory_bytes);
        let instance = slot.and_then(|slot| Instance::new(&self.linked.pre, slot, memory_bytes, limits));
        let mut instance = instance.map_err(StartFault::instantiating)?;
        W::configure(&mut instance, &self.linked.exports, &self.settings)
            .map_err(|fault| StartFault { step: "configure", fault })?;
        instance.note_configured();
        Ok(instance)
    }

    /// Instances that wait for a call.
    pub(super) fn waiting(&self) -> usize {
        self.lock().len()
    }

    /// Linear memory of the waiting instance that has most of it, in bytes.
    pub(super) fn waiting_memory_bytes(&self) -> Option<usize> {
        self.lock().iter().map(Instance::memory_bytes).max()
    }

    /// Keeps an instance, if there are not enough.
    fn push(&self, instance: Instance<W>) {
        let mut waiting = self.lock();
        if waiting.len() < self.rules.waiting {
            waiting.push(instance);
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Vec<Instance<W>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W: World> Spared for Component<W> {
    fn fill_spares(&self) {
        self.is_asked.store(false, Ordering::Relaxed);
        // One that fails is not tried again until a call asks: the call says what is wrong.
        while !self.clock.is_suspended() && self.is_short() && matches!(self.add_spare(), Ok(true)) {}
    }
}

/// Calls one after the other on one instance, which is put back when this is dropped.
pub(super) struct Turn<'a, W: World> {
    component: &'a Arc<Component<W>>,
    /// None before the first call where none waits, and after a fault.
    instance: Option<Instance<W>>,
    is_put_back: bool,
    /// For a new instance, where instances do not keep their slots.
    pool_slot: Option<Slot>,
    // Dropped last: the component's calls are as many as their instances.
    _slot: Option<Slot>,
}

impl<W: World> Turn<'_, W> {
    /// Makes a call. An instance is dropped after a fault, and the next call has a new one.
    pub(super) fn call<T>(
        &mut self,
        limits: CallLimits<'_>,
        call: impl FnOnce(&mut Instance<W>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let component = self.component;
        component.clock.admit()?;
        let (mut instance, has_begun) = match self.instance.take() {
            Some(instance) => (instance, false),
            None => {
                let start = if W::STARTS_IN_CALL { limits } else { CallLimits::from(component.rules.start_time) };
                let made = component.make(self.pool_slot.take(), start);
                (made.map_err(StartFault::in_call::<W>)?, W::STARTS_IN_CALL)
            }
        };
        if !has_begun {
            instance.begin(limits);
        }
        let value = call(&mut instance)?;
        self.instance = Some(instance);
        Ok(value)
    }
}

impl<W: World> Drop for Turn<'_, W> {
    fn drop(&mut self) {
        if let Some(instance) = self.instance.take().filter(|_| self.is_put_back) {
            self.component.put_back(instance);
        }
    }
}
