//! The evaluator of these tests: the library that the component is made of. It counts, and fails where it is told to.

use std::sync::Arc;

use nodesift_cel::{Device, Program};
use nodesift_object::device::{Attribute, AttributeRef};
use nodesift_sandbox::device_selector::{Outcome, Path, QualifiedName, SelectedDevice, SelectedValue};
use nodesift_sandbox::fault::{Fault, FaultKind};
use parking_lot::Mutex;

use crate::selectors::{Evaluator, SelectorDevice, Selectors};

/// A device as plain values.
#[derive(Debug, Clone, Default)]
pub(super) struct TestDevice {
    pub(super) id: u32,
    pub(super) driver: String,
    pub(super) allow_multiple_allocations: bool,
    pub(super) attributes: Vec<(String, Attribute)>,
    pub(super) capacities: Vec<(String, String)>,
}

impl SelectorDevice for TestDevice {
    fn id(&self) -> u32 {
        self.id
    }

    fn driver(&self) -> &str {
        &self.driver
    }

    fn allows_multiple_allocations(&self) -> bool {
        self.allow_multiple_allocations
    }

    fn attributes(&self) -> impl Iterator<Item = (&str, AttributeRef<'_>)> {
        self.attributes.iter().map(|(name, value)| (name.as_str(), value.borrowed()))
    }

    fn capacities(&self) -> impl Iterator<Item = (&str, &str)> {
        self.capacities.iter().map(|(name, text)| (name.as_str(), text.as_str()))
    }
}

/// Evaluator that runs the CEL library natively, without wasm.
#[derive(Debug, Default)]
pub(super) struct Native(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Expressions of `matches`, with the number of devices.
    matches: Vec<(String, usize)>,
    paths: usize,
    /// Calls that took too long.
    in_vain: usize,
    /// Good calls that are left, and the fault of the others.
    fails: Option<(usize, FaultKind)>,
    /// Calls about so many devices take too long; none do.
    slow: Option<usize>,
}

impl Native {
    /// Selectors that it evaluates.
    pub(super) fn selectors() -> (Arc<Self>, Selectors) {
        let native = Arc::new(Self::default());
        (Arc::clone(&native), Selectors::from_evaluator(Box::new(native)))
    }

    /// How many devices an expression was evaluated for.
    pub(super) fn evaluated(&self, expression: &str) -> usize {
        let state = self.0.lock();
        state.matches.iter().filter(|(text, _)| text == expression).map(|(_, devices)| devices).sum()
    }

    /// Calls so far, those that took too long included.
    pub(super) fn calls(&self) -> usize {
        let state = self.0.lock();
        state.paths + state.in_vain + state.matches.len()
    }

    /// The most devices of a call.
    pub(super) fn largest(&self) -> usize {
        self.0.lock().matches.iter().map(|(_, devices)| *devices).max().unwrap_or(0)
    }

    /// Fails from now on, after so many good calls of `matches`.
    pub(super) fn fail_after(&self, good: usize, kind: FaultKind) {
        self.0.lock().fails = Some((good, kind));
    }

    /// Calls of `matches` about at least so many devices take too long from now on.
    pub(super) fn slow_from(&self, devices: usize) {
        self.0.lock().slow = Some(devices);
    }

    /// Ends the failures that `fail_after` began.
    pub(super) fn recover(&self) {
        self.0.lock().fails = None;
    }
}

impl State {
    fn fault(&mut self, devices: usize) -> Result<(), Fault> {
        if self.slow.is_some_and(|slow| devices >= slow) {
            self.in_vain += 1;
            return Err(Fault::new(FaultKind::Deadline, "test"));
        }
        match &mut self.fails {
            Some((0, kind)) => Err(Fault::new(*kind, "test")),
            Some((good, _)) => {
                *good -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl Evaluator for Arc<Native> {
    fn paths(&self, expression: &str) -> Result<Result<Option<Vec<Path>>, String>, Fault> {
        let mut state = self.0.lock();
        state.paths += 1;
        if let Some((0, kind)) = state.fails {
            return Err(Fault::new(kind, "test"));
        }
        let paths = Program::compile(expression).map(|program| program.paths());
        Ok(paths.map(|paths| paths.map(|paths| paths.into_iter().map(path).collect())))
    }

    fn matches(&self, expression: &str, devices: &[SelectedDevice<'_>]) -> Result<Vec<Outcome>, Fault> {
        let mut state = self.0.lock();
        state.fault(devices.len())?;
        state.matches.push((expression.to_owned(), devices.len()));
        let program = Program::compile(expression).unwrap();
        let outcome = |device| match program.matches(&cel(device)) {
            Ok(false) => Outcome::No,
            Ok(true) => Outcome::Yes,
            Err(error) => Outcome::Error(error),
        };
        Ok(devices.iter().map(outcome).collect())
    }

    fn admits_fault_line(&self) -> bool {
        true
    }
}

fn path(path: nodesift_cel::Path) -> Path {
    use nodesift_cel::Path as Read;
    match path {
        Read::Driver => Path::Driver,
        Read::AllowMultipleAllocations => Path::AllowMultipleAllocations,
        Read::Attribute { domain, name } => Path::Attribute(QualifiedName { domain, name }),
        Read::AttributeDomain { domain } => Path::AttributeDomain(domain),
        Read::Capacity { domain, name } => Path::Capacity(QualifiedName { domain, name }),
        Read::CapacityDomain { domain } => Path::CapacityDomain(domain),
    }
}

fn cel(device: &SelectedDevice<'_>) -> Device {
    let attribute = |(name, value): &(&str, SelectedValue<'_>)| {
        let value = match *value {
            SelectedValue::Int(value) => nodesift_cel::Attribute::Int(value),
            SelectedValue::Bool(value) => nodesift_cel::Attribute::Bool(value),
            SelectedValue::Text(text) => nodesift_cel::Attribute::String(text.to_owned()),
            SelectedValue::Version(text) => nodesift_cel::Attribute::Version(text.to_owned()),
            // Expressions are those of 1.36, which has no lists.
            SelectedValue::List(_) | SelectedValue::Unsupported => nodesift_cel::Attribute::Unsupported,
        };
        ((*name).to_owned(), value)
    };
    Device {
        driver: device.driver.to_owned(),
        allow_multiple_allocations: device.allow_multiple_allocations,
        attributes: device.attributes.iter().map(attribute).collect(),
        capacity: device.capacities.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect(),
    }
}
