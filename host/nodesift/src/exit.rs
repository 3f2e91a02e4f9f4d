//! What the process ends with, as `sysexits.h` numbers it, and how an error chain maps to it.

use std::io;

/// Done, whatever the verdicts are.
pub const OK: u8 = 0;
/// Failed at run time: an address is taken, a write failed, requests were cut short at the end.
pub const FAILED: u8 = 1;
/// The arguments or the policy are wrong (`EX_USAGE`).
pub const USAGE: u8 = 64;
/// The objects given are wrong, or there is no such pod or node (`EX_DATAERR`).
pub const DATA: u8 = 65;
/// A file does not exist or cannot be read (`EX_NOINPUT`).
pub const NO_INPUT: u8 = 66;
/// The sidecar asked cannot be reached or does not answer (`EX_UNAVAILABLE`).
pub const UNAVAILABLE: u8 = 69;

/// The exit codes as `--help` lists them.
pub const HELP: &str = "Exit codes:
   0  done, whatever the verdicts are
   1  failed at run time
  64  the arguments or the policy are wrong
  65  the objects are wrong, or there is no such pod or node
  66  a file does not exist or cannot be read
  69  the sidecar cannot be reached or does not answer";

/// A failure of a kind that has an exit code of its own; any other failure is [`FAILED`].
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The arguments do not go together.
    #[error("{0}")]
    Usage(String),
    /// Files that arguments name cannot be used.
    #[error("{}", text(.0))]
    Files(anyhow::Error),
    /// The policy is refused.
    #[error("{}", text(.0))]
    Policy(anyhow::Error),
    /// The objects or the names given are wrong.
    #[error("{}", text(.0))]
    Data(anyhow::Error),
    /// A sidecar cannot be reached or does not answer.
    #[error("{}", text(.0))]
    Unavailable(anyhow::Error),
    /// Whoever read stdout has stopped: no error, there is just nobody left to write to.
    #[error("stdout is closed")]
    ReaderGone,
}

/// The whole chain in one text. What a cause says is left out where its wrapper has quoted it already.
pub fn text(error: &anyhow::Error) -> String {
    let mut told = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if !told.contains(&cause) {
            let joint = if told.is_empty() { "" } else { ": " };
            told.push_str(joint);
            told.push_str(&cause);
        }
    }
    told
}

/// Whether the chain says that nobody reads stdout any more.
pub fn is_reader_gone(error: &anyhow::Error) -> bool {
    matches!(failure(error), Some(Failure::ReaderGone))
}

/// The exit code of an error.
pub fn code_of(error: &anyhow::Error) -> u8 {
    match failure(error) {
        Some(Failure::Usage(_)) => USAGE,
        Some(Failure::Policy(inner) | Failure::Files(inner)) => unreadable(inner).unwrap_or(USAGE),
        Some(Failure::Data(inner)) => unreadable(inner).unwrap_or(DATA),
        Some(Failure::Unavailable(_)) => UNAVAILABLE,
        Some(Failure::ReaderGone) => OK,
        None => FAILED,
    }
}

fn failure(error: &anyhow::Error) -> Option<&Failure> {
    error.chain().find_map(|cause| cause.downcast_ref())
}

/// [`NO_INPUT`] where a chain ends in a file that cannot be read.
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
    fn a_missing_file_is_told_apart_from_bad_data() {
        let missing = anyhow!(io::Error::from(io::ErrorKind::NotFound)).context("cluster.json");
        assert_eq!(code_of(&Failure::Data(missing).into()), NO_INPUT);
        assert_eq!(code_of(&Failure::Data(anyhow!("item 3")).into()), DATA);
        assert_eq!(code_of(&Failure::Policy(anyhow!("line 3")).into()), USAGE);
    }

    #[test]
    fn the_kind_is_found_below_any_context() {
        let deep = Err::<(), _>(Failure::Unavailable(anyhow!("refused"))).context("asking").context("explain");
        assert_eq!(deep.map_err(|error| code_of(&error)), Err(UNAVAILABLE));
        assert_eq!(code_of(&anyhow!("anything")), FAILED);
    }

    #[test]
    fn a_cause_that_its_wrapper_quotes_is_told_once() {
        let io = io::Error::other("disk on fire");
        let quoted = anyhow!(io).context("c.json: disk on fire").context("reading");
        assert_eq!(text(&quoted), "reading: c.json: disk on fire");
        assert_eq!(text(&Failure::Data(quoted).into()), "reading: c.json: disk on fire");
    }

    #[test]
    fn help_lists_every_code() {
        for code in [OK, FAILED, USAGE, DATA, NO_INPUT, UNAVAILABLE] {
            assert!(HELP.lines().any(|line| line.trim_start().starts_with(&format!("{code} "))), "{code}");
        }
    }
}
