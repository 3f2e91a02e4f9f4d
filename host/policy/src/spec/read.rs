//! From a file or text to a [`Policy`]. Start at [`Policy::read_file`].

use std::path::{Path, PathBuf};

use super::check;
use super::policy::Policy;
use crate::document::{self, Document};
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
    /// A folder that does not hold exactly one document.
    #[error("{}: {}", .path.display(), folder_problem(.found))]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The names of the documents in it.
        found: Vec<String>,
    },
    /// An object of the cluster that is not there.
    #[error("{name}: {reason}")]
    Object {
        /// What messages call it.
        name: String,
        /// Why it is not.
        reason: String,
    },
    /// The document is larger than [`POLICY_FILE_BYTES`].
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

fn folder_problem(found: &[String]) -> String {
    match found {
        [] => "this folder has no policy: its file must end in .yaml".to_owned(),
        found => format!("this folder has several policies, and one is expected: {}", found.join(", ")),
    }
}

/// The text of a policy's document, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyText {
    /// The file. Where a folder was named, the one in it; where it is an object, what messages call it.
    pub path: PathBuf,
    /// Its content.
    pub text: String,
    is_object: bool,
}

impl PolicyText {
    /// Reads a policy's file, or the only file in a folder whose name ends in `.yaml`. Hidden files do not count: a ConfigMap's
    /// folder has some.
    ///
    /// # Errors
    ///
    /// All of [`PolicyError`] but [`PolicyError::Invalid`].
    pub fn read(path: &Path) -> Result<Self, PolicyError> {
        let path = locate(path)?;
        let read = |source| PolicyError::Read { path: path.clone(), source };
        let bytes = match file::read(&path, POLICY_FILE_BYTES) {
            Err(FileError::TooLarge { .. }) => return Err(PolicyError::TooLarge { path }),
            outcome => outcome.map_err(read)?,
        };
        let not_text = |error| read(FileError::Io(std::io::Error::new(std::io::ErrorKind::InvalidData, error)));
        let text = String::from_utf8(bytes).map_err(not_text)?;
        Ok(Self { path, text, is_object: false })
    }

    /// The document of an object that messages call so.
    pub(crate) fn of_object(name: String, document: &str) -> Self {
        Self { path: PathBuf::from(name), text: document.to_owned(), is_object: true }
    }

    /// The policy.
    ///
    /// # Errors
    ///
    /// [`PolicyError::Invalid`] with everything that is wrong.
    pub fn policy(&self, builtins: &[&str]) -> Result<Policy, PolicyError> {
        if self.is_object {
            return Policy::read_object(&self.text, &self.path.display().to_string(), builtins);
        }
        let folder = self.path.parent().unwrap_or(Path::new(""));
        Policy::read(&self.text, &self.path.display().to_string(), folder, builtins)
    }
}

/// The policy's file: the path itself, or the document in the folder.
pub(crate) fn locate(path: &Path) -> Result<PathBuf, PolicyError> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let read = |error: std::io::Error| PolicyError::Read { path: path.to_owned(), source: FileError::Io(error) };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).map_err(read)? {
        let name = entry.map_err(read)?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".yaml") && !name.starts_with('.') {
            found.push(name);
        }
    }
    found.sort_unstable();
    match found.as_slice() {
        [name] => Ok(path.join(name)),
        _ => Err(PolicyError::Folder { path: path.to_owned(), found }),
    }
}

impl Policy {
    /// Reads a policy's file, or the one in a folder. `builtins` are the names of the built-in predicates.
    ///
    /// # Errors
    ///
    /// As [`PolicyText::read`] and [`PolicyText::policy`].
    pub fn read_file(path: &Path, builtins: &[&str]) -> Result<Self, PolicyError> {
        PolicyText::read(path)?.policy(builtins)
    }

    /// Reads a policy's text. Messages call the document `name`; relative paths of modules are joined to `folder`.
    ///
    /// # Errors
    ///
    /// [`PolicyError::Invalid`] with everything that is wrong, or with the first problem of a text that is not YAML.
    pub fn read(text: &str, name: &str, folder: &Path, builtins: &[&str]) -> Result<Self, PolicyError> {
        Self::read_with(document::read(text), name, Some(folder), builtins)
    }

    /// Reads the document of an object. Its problems have no lines, and its modules absolute paths.
    ///
    /// # Errors
    ///
    /// As [`Self::read`].
    pub fn read_object(text: &str, name: &str, builtins: &[&str]) -> Result<Self, PolicyError> {
        Self::read_with(document::read_without_places(text), name, None, builtins)
    }

    fn read_with(
        document: Result<(Document, Vec<Problem>), Problem>,
        name: &str,
        folder: Option<&Path>,
        builtins: &[&str],
    ) -> Result<Self, PolicyError> {
        let (policy, problems) = match document {
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
