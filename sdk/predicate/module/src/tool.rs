//! Programs that builds run. Start at [`find`] and [`run`].

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::anyhow;

use crate::error::BuildError;

/// Where the first of these programs is on the `PATH`.
///
/// # Errors
///
/// [`BuildError::Tool`] where none is. `install` completes the sentence: a command, or where to get it.
pub(crate) fn find(programs: &[&str], install: &str) -> Result<PathBuf, BuildError> {
    let folders: Vec<PathBuf> =
        std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default();
    let paths = programs.iter().flat_map(|program| folders.iter().map(move |folder| folder.join(program)));
    paths.into_iter().find(|path| path.is_file()).ok_or_else(|| {
        BuildError::Tool(format!("{} is not on this machine's PATH; to install it: {install}", programs.join(" or ")))
    })
}

/// Runs a program to its end. What it prints goes to standard error: standard output is the answer of our command.
///
/// # Errors
///
/// [`BuildError::Compile`] where it cannot be started or fails.
pub(crate) fn run(command: &mut Command) -> Result<(), BuildError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command.stdin(Stdio::null()).stdout(std::io::stderr()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(BuildError::Compile(anyhow!("{program} fails ({status}): see its output above"))),
        Err(error) => {
            Err(BuildError::Compile(anyhow::Error::new(error).context(format!("{program} cannot be started"))))
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_named_with_what_to_install() {
        assert!(find(&["no-such-program", "sh"], "apt-get install dash").unwrap().ends_with("sh"));
        let error = find(&["no-such-program"], "apt-get install it").unwrap_err().to_string();
        assert!(error.contains("no-such-program") && error.contains("apt-get install it"), "{error}");
    }

    #[test]
    fn a_program_that_fails_is_an_error() {
        assert!(run(Command::new("sh").args(["-c", "exit 0"])).is_ok());
        for command in [Command::new("sh").args(["-c", "exit 3"]), &mut Command::new("/no/such/program")] {
            assert!(matches!(run(command), Err(BuildError::Compile(_))));
        }
    }
}
