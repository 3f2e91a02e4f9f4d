//! The steps of a build, told as they begin and timed.

use std::time::{Duration, Instant};

/// One step of a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Name of the step in a few words, for example `compile`.
    pub name: &'static str,
    /// How long it took.
    pub took: Duration,
}

/// The steps of a running build. A language runs each of its own through [`Steps::run`], which tells and times it.
pub(crate) struct Steps<'a> {
    pub(crate) tell: &'a mut dyn FnMut(&str),
    pub(crate) done: Vec<Step>,
}

impl Steps<'_> {
    /// Runs a step: a verb or two that say what is done, as `compile`.
    pub(crate) fn run<T>(&mut self, name: &'static str, step: impl FnOnce() -> T) -> T {
        (self.tell)(name);
        let started = Instant::now();
        let value = step();
        self.done.push(Step { name, took: started.elapsed() });
        value
    }
}
