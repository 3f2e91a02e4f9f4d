//! Exit codes, numbered as in `sysexits.h`, and the mapping from an error chain to its code.
//!
//! Start at [`Failure`], which marks errors that have a code of their own, and [`code_of`].

use std::io;

/// Exit code of a success, whatever the verdicts are.
pub const OK: u8 = 0;
/// Exit code of a runtime error: an address in use, a failed write, requests cut off at shutdown.
pub const FAILED: u8 = 1;
/// Exit code for invalid arguments or an invalid policy (`EX_USAGE`).
pub const USAGE: u8 = 64;
/// Exit code for invalid objects, or an unknown pod or node (`EX_DATAERR`).
pub const DATA: u8 = 65;
/// Exit code for a file that does not exist or cannot be read (`EX_NOINPUT`).
pub const NO_INPUT: u8 = 66;
/// Exit code for a sidecar that cannot be reached or does not answer (`EX_UNAVAILABLE`).
pub const UNAVAILABLE: u8 = 69;

/// Exit code of `why --exit-code` where no node fits: an answer, and no error.
pub const NO_NODE: u8 = 3;
/// Exit code of `why --watch` whose time is up (`EX_TEMPFAIL`).
pub const TIME_UP: u8 = 75;

/// The list of exit codes for `--help`. `failed` says what ends with [`FAILED`]: programs have commands of their own that fail.
pub fn help(failed: &str) -> String {
    format!(
        "Exit codes:
   0  success, whatever the verdicts are
   1  {failed}
  64  invalid arguments or policy
  65  invalid objects, or an unknown pod or node
  66  a file does not exist or cannot be read
  69  the sidecar cannot be reached or does not answer"
    )
}

/// An error with an exit code of its own. Any other error exits with [`FAILED`].
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The arguments contradict each other, or one is missing.
    #[error("{0}")]
    Usage(String),
    /// A file named by an argument cannot be used.
    #[error("{}", text(.0))]
    Files(anyhow::Error),
    /// The policy is invalid.
    #[error("{}", text(.0))]
    Policy(anyhow::Error),
    /// The objects are invalid, or a named pod or node does not exist.
    #[error("{}", text(.0))]
    Data(anyhow::Error),
    /// A sidecar cannot be reached or does not answer.
    #[error("{}", text(.0))]
    Unavailable(anyhow::Error),
    /// Several at once. The exit code is that of the first.
    #[error("{} errors:{}", .0.len(), .0.iter().map(|error| format!("\n  {}", text(error))).collect::<String>())]
    Several(Vec<anyhow::Error>),
    /// The command has said all that there is to say, and ends with this code.
    #[error("ended with exit code {0}")]
    Ended(u8),
    /// The reader of stdout has closed the pipe. The process then ends with [`OK`].
    #[error("stdout is closed")]
    StdoutClosed,
}

/// Takes the value of a step, or keeps its error to report it with those of other steps.
pub fn collect<T>(errors: &mut Vec<anyhow::Error>, outcome: Result<T, impl Into<anyhow::Error>>) -> Option<T> {
    outcome.map_err(|error| errors.push(error.into())).ok()
}

/// All errors of several steps as one; none where there is none.
pub fn all(mut errors: Vec<anyhow::Error>) -> Option<anyhow::Error> {
    match errors.len() {
        0 | 1 => errors.pop(),
        _ => Some(Failure::Several(errors).into()),
    }
}

/// The error chain as one line. A cause that its wrapper quotes already is left out.
pub fn text(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if !text.contains(&cause) {
            let separator = if text.is_empty() { "" } else { ": " };
            text.push_str(separator);
            text.push_str(&cause);
        }
    }
    text
}

/// Whether the chain contains [`Failure::StdoutClosed`].
pub fn is_stdout_closed(error: &anyhow::Error) -> bool {
    matches!(failure(error), Some(Failure::StdoutClosed))
}

/// The code of a command that has said all that there is to say; none of an error.
pub fn ended(error: &anyhow::Error) -> Option<u8> {
    match failure(error) {
        Some(Failure::Ended(code)) => Some(*code),
        _ => None,
    }
}

/// The exit code of an error.
pub fn code_of(error: &anyhow::Error) -> u8 {
    match failure(error) {
        Some(Failure::Usage(_)) => USAGE,
        Some(Failure::Policy(inner) | Failure::Files(inner)) => unreadable(inner).unwrap_or(USAGE),
        Some(Failure::Data(inner)) => unreadable(inner).unwrap_or(DATA),
        Some(Failure::Unavailable(_)) => UNAVAILABLE,
        Some(Failure::Several(errors)) => errors.first().map_or(FAILED, code_of),
        Some(Failure::Ended(code)) => *code,
        Some(Failure::StdoutClosed) => OK,
        None => FAILED,
    }
}

fn failure(error: &anyhow::Error) -> Option<&Failure> {
    error.chain().find_map(|cause| cause.downcast_ref())
}

/// [`NO_INPUT`] if the root cause is a file that cannot be read.
fn unreadable(error: &anyhow::Error) -> Option<u8> {
    let kind = error.chain().find_map(|cause| cause.downcast_ref::<io::Error>())?.kind();
    matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied | io::ErrorKind::IsADirectory)
        .then_some(NO_INPUT)
}

#[cfg(test)]
mod tests {
    use anyhow::{Context as _, anyhow};

    use super::*;

    #[test]
    fn a_missing_file_and_bad_data_have_different_codes() {
        let missing = anyhow!(io::Error::from(io::ErrorKind::NotFound)).context("cluster.json");
        assert_eq!(code_of(&Failure::Data(missing).into()), NO_INPUT);
        assert_eq!(code_of(&Failure::Data(anyhow!("item 3")).into()), DATA);
        assert_eq!(code_of(&Failure::Policy(anyhow!("line 3")).into()), USAGE);
    }

    #[test]
    fn the_kind_is_found_below_any_context() {
        let deep = Err::<(), _>(Failure::Unavailable(anyhow!("refused"))).context("filter").context("explain");
        assert_eq!(deep.map_err(|error| code_of(&error)), Err(UNAVAILABLE));
        assert_eq!(code_of(&anyhow!("anything")), FAILED);
    }

    #[test]
    fn a_cause_that_its_wrapper_quotes_appears_once() {
        let io = io::Error::other("disk on fire");
        let quoted = anyhow!(io).context("c.json: disk on fire").context("reading");
        assert_eq!(text(&quoted), "reading: c.json: disk on fire");
        assert_eq!(text(&Failure::Data(quoted).into()), "reading: c.json: disk on fire");
    }

    #[test]
    fn several_errors_are_told_in_one_go_with_the_code_of_the_first() {
        let mut errors = Vec::new();
        assert_eq!(collect(&mut errors, Ok::<_, Failure>(1)), Some(1));
        assert!(all(Vec::new()).is_none());
        assert_eq!(collect::<()>(&mut errors, Err(Failure::Usage("no source".into()))), None);
        collect::<()>(&mut errors, Err(anyhow!("in use").context("cannot listen on 127.0.0.1:1")));
        let error = all(errors).map(|error| (code_of(&error), text(&error)));
        let told = "2 errors:\n  no source\n  cannot listen on 127.0.0.1:1: in use".to_owned();
        assert_eq!(error, Some((USAGE, told)));
    }

    #[test]
    fn help_lists_every_code() {
        for code in [OK, FAILED, USAGE, DATA, NO_INPUT, UNAVAILABLE] {
            assert!(
                help("runtime error").lines().any(|line| line.trim_start().starts_with(&format!("{code} "))),
                "{code}"
            );
        }
    }
}
