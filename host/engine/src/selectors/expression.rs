//! One expression: what it reads of devices, and the outcomes that are known. Start at [`Expression::outcomes`].

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use nodesift_sandbox::NoValue;
use nodesift_sandbox::device_selector::{self, Path, SelectedDevice};
use nodesift_sandbox::fault::{Fault, FaultKind};
use nodesift_sandbox::limits::LOG_LINE_BYTES;
use nodesift_sandbox::printable;
use parking_lot::{Mutex, MutexGuard, RwLock, RwLockReadGuard};
use rustc_hash::FxHashMap;

use super::device::{SelectorDevice, selected, selected_bytes};
use super::evaluator::{Budget, Evaluator};
use super::key;
use super::outcomes::{Keys, Outcome, Outcomes};
use crate::limits::{
    SELECTOR_BATCH_BYTES, SELECTOR_BATCH_DEVICES, SELECTOR_BATCH_SPLIT, SELECTOR_RETRY, SELECTOR_RETRY_MOST,
    SELECTORS_TIME,
};

/// Values of devices that an expression reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reads {
    /// Only the values at these paths.
    Paths(Vec<Path>),
    /// Perhaps anything: it is evaluated for each device.
    Anything,
    /// Only the values that can make every expression fail.
    Faults,
}

/// CEL expression of a device selector, with the outcomes that are known.
#[derive(Debug)]
pub(super) struct Expression {
    text: Arc<str>,
    /// Values that it reads, or the reason why it is no expression; unset until that is known.
    reads: OnceLock<Result<Reads, Arc<str>>>,
    /// Never locked during an evaluation: who asks about known devices does not wait.
    known: RwLock<Outcomes>,
    /// Locked by who evaluates.
    work: Mutex<Work>,
    bytes: AtomicUsize,
}

/// State that only evaluation needs.
#[derive(Debug)]
struct Work {
    keys: Keys,
    /// Most devices of a call: fewer where a call about more took too long, and more again after a while.
    batch: usize,
    /// Calls with so many that have not taken too long.
    in_time: usize,
    /// How the evaluator failed last. It is asked again after a while.
    failed: Option<Failed>,
}

impl Default for Work {
    fn default() -> Self {
        Self { keys: Keys::default(), batch: SELECTOR_BATCH_DEVICES, in_time: 0, failed: None }
    }
}

/// Effect of a fault of the evaluator on those who ask for outcomes.
#[derive(Debug, Clone)]
pub(super) enum Failure {
    /// Nothing can be said now: that is of the moment, or of the speed of the machine.
    NoValue(NoValue),
    /// An error of the expression for its devices.
    Error(Arc<str>),
}

/// A fault of the evaluator about an expression.
#[derive(Debug)]
struct Failed {
    at: Instant,
    failure: Failure,
    /// Until it is asked again.
    wait: Duration,
}

impl Work {
    /// A call was in time.
    fn note_in_time(&mut self) {
        self.in_time += 1;
        if self.in_time >= SELECTOR_BATCH_SPLIT && self.batch < SELECTOR_BATCH_DEVICES {
            (self.batch, self.in_time) = ((self.batch * 2).min(SELECTOR_BATCH_DEVICES), 0);
        }
    }

    /// A call about so many devices took too long.
    fn note_late(&mut self, devices: usize) {
        (self.batch, self.in_time) = ((devices / SELECTOR_BATCH_SPLIT).max(1), 0);
    }

    /// How the evaluator has failed just now.
    fn failure(&self) -> Option<Failure> {
        let recent = self.failed.as_ref().filter(|failed| failed.at.elapsed() < failed.wait);
        recent.map(|failed| failed.failure.clone())
    }

    /// Notes a fault of the evaluator, which is not called again for a while if it blames the expression.
    fn fail(&mut self, fault: &Fault) -> Failure {
        // Other faults are of the moment: the next try may succeed.
        let before = self.failed.take();
        if !fault.kind.is_of_predicate() {
            return Failure::NoValue(NoValue::Overloaded);
        }
        let failure = match fault.kind {
            FaultKind::Deadline => Failure::NoValue(NoValue::Deadline),
            _ => Failure::Error(fault.to_string().into()),
        };
        // An expression that takes too long for one device does so each time, of a whole core.
        let wait = before.map_or(SELECTOR_RETRY, |failed| (failed.wait * 2).min(SELECTOR_RETRY_MOST));
        self.failed = Some(Failed { at: Instant::now(), failure: failure.clone(), wait });
        failure
    }
}

impl Expression {
    /// An expression about which nothing is known.
    pub(super) fn new(text: Arc<str>) -> Self {
        let bytes = AtomicUsize::new(text.len());
        Self { text, reads: OnceLock::new(), known: RwLock::default(), work: Mutex::default(), bytes }
    }

    /// Matches every device, but those for which every expression fails.
    pub(super) fn for_faults() -> Self {
        Self { reads: OnceLock::from(Ok(Reads::Faults)), ..Self::new(Arc::from("true")) }
    }

    /// Values that it reads, or the reason why it is no expression. The evaluator is called at the first call only.
    ///
    /// # Errors
    ///
    /// How the evaluator failed.
    pub(super) fn reads(&self, evaluator: &dyn Evaluator, budget: Budget) -> Result<Result<&Reads, &str>, Failure> {
        if self.reads.get().is_none() {
            if budget.is_over() {
                return Err(Failure::NoValue(NoValue::Deadline));
            }
            let mut work = self.work().map_err(Failure::NoValue)?;
            // Others may have been here while this thread waited.
            if self.reads.get().is_none() {
                if let Some(failure) = work.failure() {
                    return Err(failure);
                }
                let paths = evaluator.paths(&self.text).map_err(|fault| self.fail(&mut work, &fault, evaluator))?;
                let reads = paths.map(|paths| paths.map_or(Reads::Anything, Reads::Paths)).map_err(Arc::from);
                self.reads.get_or_init(|| reads);
            }
        }
        match self.reads.get() {
            Some(reads) => Ok(reads.as_ref().map_err(|error| &**error)),
            None => Ok(Err("it was not read")),
        }
    }

    /// Outcome of the expression for each device, and whether anything was evaluated for it. `faults` is [`Self::for_faults`].
    ///
    /// # Errors
    ///
    /// [`NoValue`] where not all of them could be evaluated now. What was evaluated until then is kept.
    pub(super) fn outcomes<D: SelectorDevice>(
        &self,
        devices: &[&D],
        faults: &Self,
        evaluator: &dyn Evaluator,
        budget: Budget,
    ) -> Result<(Vec<Outcome>, bool), NoValue> {
        let (mut outcomes, missing) = self.look_up(devices);
        if missing.is_empty() {
            return Ok((outcomes, false));
        }
        let asked: Vec<&D> = missing.iter().filter_map(|place| devices.get(*place).copied()).collect();
        let evaluated = self.evaluate(&asked, faults, evaluator, budget)?;
        for (place, outcome) in missing.into_iter().zip(evaluated) {
            if let Some(entry) = outcomes.get_mut(place) {
                *entry = outcome;
            }
        }
        Ok((outcomes, true))
    }

    /// The outcomes that are known. Nothing is evaluated while somebody has them.
    pub(super) fn known(&self) -> RwLockReadGuard<'_, Outcomes> {
        self.known.read_recursive()
    }

    /// Bytes that are kept, about.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Forgets all outcomes where they take more bytes than this, and not how the evaluator failed: it would be asked again at once. Who
    /// evaluates just now does it afterwards.
    pub(super) fn shrink(&self, most: usize) {
        if self.bytes() > most
            && let Some(mut work) = self.work.try_lock()
        {
            *self.known.write() = Outcomes::default();
            work.keys = Keys::default();
            self.bytes.store(self.text.len(), Ordering::Relaxed);
        }
    }

    /// The work of this thread alone.
    ///
    /// # Errors
    ///
    /// [`NoValue::Overloaded`] where others evaluate the expression for longer than one question may take.
    fn work(&self) -> Result<MutexGuard<'_, Work>, NoValue> {
        self.work.try_lock_for(SELECTORS_TIME).ok_or(NoValue::Overloaded)
    }

    /// The outcomes that are known, and the places of the others, which are `No` for now.
    fn look_up<D: SelectorDevice>(&self, devices: &[&D]) -> (Vec<Outcome>, Vec<usize>) {
        let known = self.known.read();
        let (mut reader, mut missing) = (known.reader(), Vec::new());
        let outcome = |(place, device): (usize, &&D)| {
            reader.get(device.id()).unwrap_or_else(|| {
                missing.push(place);
                Outcome::No
            })
        };
        let outcomes = devices.iter().enumerate().map(outcome).collect();
        (outcomes, missing)
    }

    /// Evaluates devices whose outcomes were not known before the lock, and keeps them.
    fn evaluate<D: SelectorDevice>(
        &self,
        devices: &[&D],
        faults: &Self,
        evaluator: &dyn Evaluator,
        budget: Budget,
    ) -> Result<Vec<Outcome>, NoValue> {
        // Before anything of the devices is looked at, which takes as long as many expressions.
        if budget.is_over() {
            return Err(NoValue::Deadline);
        }
        let mut work = self.work()?;
        // Others may have evaluated them while this thread waited.
        let (mut outcomes, missing) = self.look_up(devices);
        let asked: Vec<&D> = missing.iter().filter_map(|place| devices.get(*place).copied()).collect();
        let reads = self.reads.get().and_then(|reads| reads.as_ref().ok()).unwrap_or(&Reads::Anything);
        let unseen = match reads {
            Reads::Paths(_) if !asked.is_empty() => faults.outcomes(&asked, faults, evaluator, budget)?.0,
            _ => Vec::new(),
        };
        // What each device gets: an outcome, or that of one that is evaluated.
        let (mut new, mut found) = (Vec::new(), Vec::with_capacity(asked.len()));
        // Places of those that have keys.
        let (mut places, mut key) = (FxHashMap::<Box<[u8]>, usize>::default(), Vec::new());
        for (number, device) in asked.iter().copied().enumerate() {
            if let Some(unseen @ (Outcome::Error(_) | Outcome::Fault(_))) = unseen.get(number) {
                found.push(Ok(unseen.clone()));
                continue;
            }
            key.clear();
            match reads {
                Reads::Paths(paths) => key::write_paths(paths, device, &mut key),
                Reads::Faults => key::write_faults(device, &mut key),
                Reads::Anything => {
                    found.push(Err(new.len()));
                    new.push(device);
                    continue;
                }
            }
            found.push(match (work.keys.get(&key), places.get(key.as_slice())) {
                (Some(outcome), _) => Ok(outcome.clone()),
                (None, Some(place)) => Err(*place),
                (None, None) => {
                    let place = new.len();
                    places.insert(Box::from(key.as_slice()), place);
                    new.push(device);
                    Err(place)
                }
            });
        }
        let (evaluated, ended) = self.evaluate_new(&new, reads, &mut work, evaluator, budget);
        work.keys.extend(places.into_iter().filter_map(|(key, place)| Some((key, evaluated.get(place)?.clone()))));
        let mut known = self.known.write();
        for ((place, device), found) in missing.into_iter().zip(asked).zip(found) {
            let Ok(outcome) = found.or_else(|place| evaluated.get(place).cloned().ok_or(())) else { continue };
            known.insert(device.id(), &outcome);
            if let Some(entry) = outcomes.get_mut(place) {
                *entry = outcome;
            }
        }
        self.bytes.store(self.text.len() + known.bytes() + work.keys.bytes(), Ordering::Relaxed);
        ended.map_or(Ok(outcomes), Err)
    }

    /// Evaluates in batches. After a fault that is an error, the devices of its batch and of those that follow have it as their outcome;
    /// after another, they have none.
    fn evaluate_new<D: SelectorDevice>(
        &self,
        new: &[&D],
        reads: &Reads,
        work: &mut Work,
        evaluator: &dyn Evaluator,
        budget: Budget,
    ) -> (Vec<Outcome>, Option<NoValue>) {
        let mut outcomes: Vec<Outcome> = Vec::with_capacity(new.len());
        let mut texts = FxHashMap::<Arc<str>, Arc<str>>::default();
        let mut failure = work.failure();
        while let Some(rest) = new.get(outcomes.len()..).filter(|rest| !rest.is_empty() && failure.is_none()) {
            if budget.is_over() {
                return (outcomes, Some(NoValue::Deadline));
            }
            let batch = batch(rest, reads, work.batch);
            match evaluator.matches(&self.text, &batch) {
                Ok(said) if !said.is_empty() => {
                    work.note_in_time();
                    outcomes.extend(said.into_iter().map(|said| match said {
                        device_selector::Outcome::No => Outcome::No,
                        device_selector::Outcome::Yes => Outcome::Yes,
                        device_selector::Outcome::Error(error) => {
                            let error: Arc<str> = error.into();
                            Outcome::Error(Arc::clone(texts.entry(Arc::clone(&error)).or_insert(error)))
                        }
                    }));
                }
                // Cannot happen: a batch has at least one device, and each has an outcome.
                Ok(_) => failure = Some(Failure::Error(Arc::from("no outcome"))),
                // Each of them may have an outcome within the time of one.
                Err(fault) if fault.kind == FaultKind::Deadline && batch.len() > 1 => work.note_late(batch.len()),
                Err(fault) => failure = Some(self.fail(work, &fault, evaluator)),
            }
        }
        match failure {
            Some(Failure::Error(error)) => outcomes.resize(new.len(), Outcome::Fault(error)),
            Some(Failure::NoValue(ended)) => return (outcomes, Some(ended)),
            None => {}
        }
        (outcomes, None)
    }

    /// Notes a fault, and logs it where there is room.
    fn fail(&self, work: &mut Work, fault: &Fault, evaluator: &dyn Evaluator) -> Failure {
        if fault.kind.is_of_predicate() && evaluator.admits_fault_line() {
            let expression = printable(&self.text, LOG_LINE_BYTES);
            tracing::warn!(%expression, %fault, "a device selector was not evaluated");
        }
        work.fail(fault)
    }
}

/// The first devices, as many as one call may have: at least one, and at most so many.
fn batch<'d, D: SelectorDevice>(new: &[&'d D], reads: &Reads, most: usize) -> Vec<SelectedDevice<'d>> {
    let (mut batch, mut bytes) = (Vec::new(), 0_usize);
    for device in new.iter().copied().take(most) {
        let device = match reads {
            Reads::Paths(paths) => key::read(paths, device),
            Reads::Anything | Reads::Faults => selected(device),
        };
        bytes = bytes.saturating_add(selected_bytes(&device));
        if bytes > SELECTOR_BATCH_BYTES && !batch.is_empty() {
            break;
        }
        batch.push(device);
    }
    batch
}
