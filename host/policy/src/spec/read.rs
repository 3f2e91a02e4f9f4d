//! From a file or text to a [`Policy`]. Start at [`Policy::read_file`].

use std::path::{Path, PathBuf};

use super::check;
use super::policy::Policy;
use crate::document;
use crate::file::{self, FileError};
use crate::limits::POLICY_FILE_BYTES;
use crate::problem::Problem;

/// Why a policy cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The file cannot be opened or read.
    #[error("{}: {source}", .path.display())]
    Read {
        /// The policy's file.
        path: PathBuf,
        /// Why not.
        source: FileError,
    },
    /// The file is larger than [`POLICY_FILE_BYTES`].
    #[error("{}: more than {} KiB: not a policy", .path.display(), POLICY_FILE_BYTES >> 10)]
    TooLarge {
        /// The policy's file.
        path: PathBuf,
    },
    /// The document has problems: all that were found, at least one, in the order of lines.
    #[error("{}", listed(.name, .problems))]
    Invalid {
        /// The document's file, or another name for it.
        name: String,
        /// The problems.
        problems: Vec<Problem>,
        /// What could be read, with defaults in the place of the rest: to look for more problems, and for nothing else.
        rest: Box<Policy>,
    },
}

/// Problems, each on a line that begins with the document's name.
fn listed(name: &str, problems: &[Problem]) -> String {
    let line = |problem: &Problem| {
        // An editor opens `file:line:column:`.
        let colon = if problem.line > 0 { ":" } else { ": " };
        format!("{name}{colon}{problem}")
    };
    problems.iter().map(line).collect::<Vec<_>>().join("\n")
}

impl Policy {
    /// Reads a policy's file. `builtins` are the names of the built-in predicates.
    ///
    /// # Errors
    ///
    /// [`PolicyError::Read`] and [`PolicyError::TooLarge`] for the file, [`PolicyError::Invalid`] for its content.
    pub fn read_file(path: &Path, builtins: &[&str]) -> Result<Self, PolicyError> {
        let read = |source| PolicyError::Read { path: path.to_owned(), source };
        let bytes = match file::read(path, POLICY_FILE_BYTES) {
            Err(FileError::TooLarge { .. }) => return Err(PolicyError::TooLarge { path: path.to_owned() }),
            outcome => outcome.map_err(read)?,
        };
        let not_text = |error| read(FileError::Io(std::io::Error::new(std::io::ErrorKind::InvalidData, error)));
        let text = String::from_utf8(bytes).map_err(not_text)?;
        Self::read(&text, &path.display().to_string(), path.parent().unwrap_or(Path::new("")), builtins)
    }

    /// Reads a policy's text. Messages call the document `name`; relative paths of modules are joined to `folder`.
    ///
    /// # Errors
    ///
    /// [`PolicyError::Invalid`] with everything that is wrong, or with the first problem of a text that is not YAML.
    pub fn read(text: &str, name: &str, folder: &Path, builtins: &[&str]) -> Result<Self, PolicyError> {
        let (policy, problems) = match document::read(text) {
            Ok((document, unreadable)) => check::check(&document, unreadable, folder, builtins),
            Err(problem) => (Self::default(), vec![problem]),
        };
        let policy = Self { document: name.to_owned(), ..policy };
        if problems.is_empty() {
            return Ok(policy);
        }
        Err(PolicyError::Invalid { name: name.to_owned(), problems, rest: Box::new(policy) })
    }
}
