//! The steps of a round: each is timed, and what its program prints is caught. Start at [`Round::run`].

use std::io::Read as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::limits::DEV_OUTPUT_BYTES;

/// The step that installs what unit tests need.
pub(super) const SET_UP: &str = "set up";

/// One step of a round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) name: &'static str,
    pub(super) took: Duration,
    /// Text that it has printed; the error is that of a step that failed. `None` where a step before it failed.
    pub(super) outcome: Option<Result<String, String>>,
}

/// The steps that one save has caused, in their order.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Round {
    pub(super) steps: Vec<Step>,
}

impl Round {
    /// Runs a step, unless one has failed before.
    pub(super) fn run(&mut self, name: &'static str, step: impl FnOnce() -> Result<String, String>) {
        let started = Instant::now();
        let outcome = if self.failed().is_none() { Some(step()) } else { None };
        self.steps.push(Step { name, took: started.elapsed(), outcome });
    }

    /// The step that failed, and what it has printed.
    pub(super) fn failed(&self) -> Option<(&'static str, &str)> {
        self.steps.iter().find_map(|step| match &step.outcome {
            Some(Err(output)) => Some((step.name, output.as_str())),
            _ => None,
        })
    }

    /// Whether all that unit tests need is installed.
    pub(super) fn is_set_up(&self) -> bool {
        self.failed().is_none_or(|(name, _)| name != SET_UP)
    }
}

/// A command line in a folder, as its author types it.
pub(super) fn shell(line: &str, folder: &Path) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(folder);
    // Variables of a `make` that runs this program are not for this one.
    command.env_remove("MAKEFLAGS").env_remove("MAKELEVEL");
    command
}

/// Runs a program to its end. The error is what it has printed, or why it does not run.
pub(super) fn tool(command: Command) -> Result<String, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    match caught(command) {
        Ok((status, output)) if status.success() => Ok(output),
        Ok((status, output)) if output.trim().is_empty() => Err(format!("{program} ends with {status}")),
        Ok((_, output)) => Err(output),
        Err(error) => Err(format!("{program} does not run: {error}")),
    }
}

/// How a program ends, and the first [`DEV_OUTPUT_BYTES`] of what it has printed on both outputs.
fn caught(mut command: Command) -> std::io::Result<(ExitStatus, String)> {
    let (mut reader, writer) = std::io::pipe()?;
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn()?;
    // It holds an end of the pipe, which would never be closed.
    drop(command);
    let mut kept = Vec::new();
    let read = reader.by_ref().take(DEV_OUTPUT_BYTES).read_to_end(&mut kept);
    let read = read.and_then(|_| std::io::copy(&mut reader, &mut std::io::sink()));
    let status = child.wait()?;
    read?;
    Ok((status, String::from_utf8_lossy(&kept).into_owned()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn both_outputs_are_caught_in_their_order_and_within_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let run = |line: &str| tool(shell(line, folder.path()));
        assert_eq!(run("echo one; echo two >&2; echo three"), Ok("one\ntwo\nthree\n".to_owned()));
        assert_eq!(run("echo no >&2; exit 3"), Err("no\n".to_owned()));
        assert!(run("exit 3").unwrap_err().contains("exit status: 3"));
        assert!(tool(Command::new("/no/such/program")).unwrap_err().contains("does not run"));
        let many = run(&format!("head -c {} /dev/zero | tr '\\0' x", 3 * DEV_OUTPUT_BYTES)).unwrap();
        assert_eq!(many.len() as u64, DEV_OUTPUT_BYTES);
    }

    #[test]
    fn a_step_that_fails_ends_the_round() {
        let mut round = Round::default();
        round.run(SET_UP, || Ok(String::new()));
        round.run("build", || Err("no".to_owned()));
        round.run("cases", || unreachable!("a step before has failed"));
        assert_eq!(round.failed(), Some(("build", "no")));
        assert!(round.is_set_up());
        assert_eq!(round.steps.last().unwrap().outcome, None);
        let mut round = Round::default();
        round.run(SET_UP, || Err("no network".to_owned()));
        assert!(!round.is_set_up());
    }
}
