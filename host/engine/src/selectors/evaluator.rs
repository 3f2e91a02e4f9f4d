//! Who evaluates expressions: the component, or what stands for it in a test.

use std::fmt::Debug;
use std::time::Duration;

use cpu_time::ThreadTime;

use nodesift_sandbox::device_selector::{DeviceSelector, Outcome, Path, SelectedDevice};
use nodesift_sandbox::fault::Fault;

/// Evaluates expressions about devices, without keeping anything of them.
pub trait Evaluator: Debug + Send + Sync {
    /// Paths of a device on which the outcomes of an expression can depend; `None` where it may be anything. The inner error says
    /// why the text is no expression.
    ///
    /// # Errors
    ///
    /// The fault of the call.
    fn paths(&self, expression: &str) -> Result<Result<Option<Vec<Path>>, String>, Fault>;

    /// One outcome per device, in the order of the devices.
    ///
    /// # Errors
    ///
    /// The fault of the call, which is about all of the devices.
    fn matches(&self, expression: &str, devices: &[SelectedDevice<'_>]) -> Result<Vec<Outcome>, Fault>;

    /// Whether a fault may be logged now.
    fn admits_fault_line(&self) -> bool;
}

/// Processor time that expressions may take on this thread.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget {
    started: ThreadTime,
    time: Duration,
}

impl Budget {
    /// So much from now on.
    pub(super) fn new(time: Duration) -> Self {
        Self { started: ThreadTime::now(), time }
    }

    /// Whether it is used up.
    pub(super) fn is_over(&self) -> bool {
        self.started.elapsed() >= self.time
    }
}

impl Evaluator for DeviceSelector {
    fn paths(&self, expression: &str) -> Result<Result<Option<Vec<Path>>, String>, Fault> {
        self.paths(expression)
    }

    fn matches(&self, expression: &str, devices: &[SelectedDevice<'_>]) -> Result<Vec<Outcome>, Fault> {
        self.matches(expression, devices)
    }

    fn admits_fault_line(&self) -> bool {
        self.admits_fault_line()
    }
}
