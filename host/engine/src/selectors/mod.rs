//! Which devices the CEL of selectors matches. A component says it; what it has said is kept, so that an expression that is known is
//! a lookup per device, and a new one is evaluated once per distinct value of what it reads.
//!
//! ```text
//! device       a device as selectors see it
//! evaluator    who evaluates: the component, or a test
//! key          what an expression reads of one device, as bytes
//! outcomes     outcomes by number of device and by key
//! expression   one expression: what it reads, and its outcomes
//! kept         the expressions that are kept
//! ```
//!
//! Start at [`Selectors::outcomes`]. Which values a device has decides its outcomes, and nothing else: a device with other values has
//! another number, so that nothing that is kept goes stale.

mod device;
mod evaluator;
mod expression;
mod kept;
mod key;
mod outcomes;

use std::sync::Arc;
use std::time::Duration;

use nodesift_sandbox::NoValue;
use nodesift_sandbox::device_selector::DeviceSelector;
use rustc_hash::FxHashMap;

pub use device::SelectorDevice;
pub use evaluator::Evaluator;

use crate::limits::SELECTOR_FAULT_BYTES;
use evaluator::Budget;
use expression::{Expression, Failure};
use kept::Kept;
use outcomes::Outcome;

/// Outcome of a list of selectors for a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// One of the selectors does not match, and those before it match.
    No,
    /// All of the selectors match.
    Yes,
    /// One is no expression, or fails for the device, and those before it match: its number and the fault.
    Error(Arc<str>),
}

/// Evaluates selectors, and keeps the outcomes. It can be asked from many threads at once.
#[derive(Debug)]
pub struct Selectors {
    evaluator: Box<dyn Evaluator>,
    kept: Kept,
    /// Of each device, whether it has values that no expression can see.
    faults: Expression,
}

impl Selectors {
    /// Creates selectors that the component evaluates, without any known outcomes.
    pub fn new(device_selector: DeviceSelector) -> Self {
        Self::from_evaluator(Box::new(device_selector))
    }

    /// Creates selectors with any evaluator, such as a native one in tests.
    pub fn from_evaluator(evaluator: Box<dyn Evaluator>) -> Self {
        Self { evaluator, kept: Kept::default(), faults: Expression::for_faults() }
    }

    /// Whether a list of selectors matches each device, as [`Self::outcomes`] says it; `None` where that is not known of all of them
    /// or is an error of one. Most questions end here, so this only looks up, by numbers ([`SelectorDevice::id`]).
    pub fn known(&self, list: &[impl AsRef<str>], devices: impl Iterator<Item = u32>) -> Option<Vec<bool>> {
        let expressions: Vec<Option<Arc<Expression>>> = list.iter().map(|text| self.kept.peek(text.as_ref())).collect();
        let known: Vec<_> = expressions.iter().map(|kept| kept.as_ref().map(|kept| kept.known())).collect();
        let mut readers: Vec<_> = known.iter().map(|known| known.as_ref().map(|known| known.reader())).collect();
        let matches = |device: u32| {
            for reader in &mut readers {
                if !reader.as_mut()?.says(device)? {
                    return Some(false);
                }
            }
            Some(true)
        };
        devices.map(matches).collect()
    }

    /// Outcome of a list of selectors for each device, in the order of the devices. Selectors are evaluated in order, and the first
    /// that does not match or fails decides. Without selectors, every device matches.
    ///
    /// Where the component faults by an expression, the devices that it was asked about have the fault as an error; that is not kept.
    ///
    /// # Errors
    ///
    /// [`NoValue::Deadline`] where that would take more processor time than this, or one device takes longer than
    /// [`SELECTOR_TIME_OF_ONE_DEVICE`](nodesift_sandbox::limits::SELECTOR_TIME_OF_ONE_DEVICE); [`NoValue::Overloaded`] where others use
    /// the component. What was evaluated until then is kept, so that the next question has less to do.
    pub fn outcomes<'d, D: SelectorDevice + 'd>(
        &self,
        list: &[impl AsRef<str>],
        devices: impl Iterator<Item = &'d Arc<D>>,
        time: Duration,
    ) -> Result<Vec<Answer>, NoValue> {
        let budget = Budget::new(time);
        let devices: Vec<&D> = devices.map(|device| &**device).collect();
        let mut answers = vec![Answer::Yes; devices.len()];
        // Places of devices that all selectors so far match.
        let mut open: Vec<usize> = (0..devices.len()).collect();
        for (number, text) in list.iter().enumerate() {
            if open.is_empty() {
                break;
            }
            // Without time, nothing that is kept makes room.
            let expression = match self.kept.peek(text.as_ref()) {
                Some(expression) => expression,
                None if budget.is_over() => return Err(NoValue::Deadline),
                None => self.kept.get(text.as_ref()),
            };
            let mut decide = |places: &[usize], kind: &str, error: &str| {
                let error = Answer::Error(format!("selector #{number}: CEL {kind} error: {error}").into());
                for place in places {
                    if let Some(answer) = answers.get_mut(*place) {
                        *answer = error.clone();
                    }
                }
            };
            match expression.reads(&*self.evaluator, budget) {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => {
                    decide(&open, "compile", error);
                    break;
                }
                Err(Failure::Error(fault)) => {
                    decide(&open, "runtime", &fault);
                    break;
                }
                Err(Failure::NoValue(none)) => return Err(none),
            }
            let asked: Vec<&D> = open.iter().filter_map(|place| devices.get(*place).copied()).collect();
            let evaluated = expression.outcomes(&asked, &self.faults, &*self.evaluator, budget);
            if !matches!(evaluated, Ok((_, false))) {
                self.faults.shrink(SELECTOR_FAULT_BYTES);
                self.kept.shrink();
            }
            let (outcomes, _) = evaluated?;
            let mut errors: FxHashMap<Arc<str>, Answer> = FxHashMap::default();
            let mut outcomes = outcomes.into_iter();
            open.retain(|place| {
                let answer = match outcomes.next() {
                    Some(Outcome::Yes) => return true,
                    Some(Outcome::No) => Answer::No,
                    Some(Outcome::Error(error) | Outcome::Fault(error)) => {
                        let text = |error: &str| format!("selector #{number}: CEL runtime error: {error}").into();
                        errors.entry(error).or_insert_with_key(|error| Answer::Error(text(error))).clone()
                    }
                    // Cannot happen: there is one per device that was asked about.
                    None => Answer::No,
                };
                if let Some(known) = answers.get_mut(*place) {
                    *known = answer;
                }
                false
            });
        }
        Ok(answers)
    }
}

#[cfg(test)]
mod tests;
