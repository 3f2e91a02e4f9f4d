//! Times of the steps of one reload, those of a step that fails too. Start at [`Steps::timed`].

use std::time::Instant;

use nodesift_engine::ReloadStep;

/// Steps that have ended, in their order.
#[derive(Debug, Default)]
pub(super) struct Steps(Vec<ReloadStep>);

impl Steps {
    /// Runs a step, and notes how long it took.
    pub(super) fn timed<T>(&mut self, name: &'static str, step: impl FnOnce() -> T) -> T {
        let started = Instant::now();
        let result = step();
        self.0.push(ReloadStep { name, took: started.elapsed() });
        result
    }

    /// The steps that have ended.
    pub(super) fn into_list(self) -> Vec<ReloadStep> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_fails_is_the_last_one() {
        let mut steps = Steps::default();
        let all: [(&'static str, Result<(), &str>); 3] =
            [("read", Ok(())), ("load", Err("no such file")), ("trial", Ok(()))];
        let ended = all.into_iter().try_for_each(|(name, result)| steps.timed(name, || result));
        assert_eq!(ended, Err("no such file"));
        let names: Vec<_> = steps.into_list().iter().map(|step| step.name).collect();
        assert_eq!(names, ["read", "load"]);
    }
}
