//! From a file or text to a [`Policy`]. Start at [`Policy::read_file`].

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::check;
use super::policy::Policy;
use crate::document::{self, Document};
use crate::file::{self, FileError};
use crate::kubernetes::Auto;
use crate::limits::{POLICY_FILE_BYTES, POLICY_FILES};
use crate::parts::{self, Part};
use crate::problem::Problem;
use crate::reach::Reach;

/// Why a policy cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The file cannot be opened or read.
    #[error("{}: {source}", .path.display())]
    Read {
        /// Path of the policy's file or folder.
        path: PathBuf,
        /// Error of reading the file or folder.
        source: FileError,
    },
    /// A folder that holds no document, or too many files.
    #[error("{}: {}", .path.display(), folder_problem(*.found))]
    Folder {
        /// Path of the folder.
        path: PathBuf,
        /// The number of files.
        found: usize,
    },
    /// An object of the cluster that is not there.
    #[error("{name}: {reason}")]
    Object {
        /// Name of the object in messages: its kind and name.
        name: String,
        /// Why it is not.
        reason: String,
    },
    /// The document is larger than [`POLICY_FILE_BYTES`].
    #[error("{}: more than {} KiB: not a policy", .path.display(), POLICY_FILE_BYTES >> 10)]
    TooLarge {
        /// Path of the policy's file or folder; of an object, its name in messages.
        path: PathBuf,
    },
    /// The document has problems: all that were found, at least one, in the order of lines.
    #[error("{}", listed(.name, .problems))]
    Invalid {
        /// The document's file, or another name for it.
        name: String,
        /// All problems, in the order of lines.
        problems: Vec<Problem>,
        /// Fields that could be read, with defaults in the place of the rest: to look for more problems, and for nothing else.
        rest: Box<Policy>,
    },
}

/// Problems, each on a line that begins with the document's name.
fn listed(name: &str, problems: &[Problem]) -> String {
    let line = |problem: &Problem| match problem {
        Problem { file: Some(_), .. } => problem.to_string(),
        // An editor opens `file:line:column:`.
        Problem { line: 1.., .. } => format!("{name}:{problem}"),
        _ => format!("{name}: {problem}"),
    };
    problems.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn folder_problem(found: usize) -> String {
    match found {
        0 => "this folder has no policy: its file must end in .yaml".to_owned(),
        found => format!("this folder has {found} files, and at most {POLICY_FILES} make a policy"),
    }
}

/// The text of a policy's document, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyText {
    /// The file; the folder, where several files in it are the document; where it is an object, what messages call it.
    pub path: PathBuf,
    /// Its content. That of several files is one document in JSON, and empty where they are none.
    pub text: String,
    form: Form,
    /// Restriction of the files and registries that the document may name.
    reach: Reach,
    /// The source of the version of Kubernetes where the document follows the cluster.
    auto: Auto,
}

/// Kind of source that a document was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Form {
    File,
    Files(Vec<Part>),
    Object,
}

impl PolicyText {
    /// Reads a policy's file, or all files in a folder whose names end in `.yaml`, in the order of their names. Hidden files do not
    /// count: a ConfigMap's folder has some.
    ///
    /// # Errors
    ///
    /// All of [`PolicyError`] but [`PolicyError::Invalid`].
    pub fn read(path: &Path) -> Result<Self, PolicyError> {
        let files = locate(path)?;
        if let [file] = files.as_slice() {
            return Ok(Self {
                path: file.clone(),
                text: read(file)?,
                form: Form::File,
                reach: Reach::default(),
                auto: Auto::default(),
            });
        }
        let too_large = || PolicyError::TooLarge { path: path.to_owned() };
        let (mut parts, mut bytes) = (Vec::new(), 0);
        for file in &files {
            let text = read(file)?;
            bytes += text.len() as u64;
            if bytes > POLICY_FILE_BYTES {
                return Err(too_large());
            }
            parts.push(Part { file: file.display().to_string().into(), text });
        }
        let text = parts::text(&parts).unwrap_or_default();
        if text.len() as u64 > POLICY_FILE_BYTES {
            return Err(too_large());
        }
        Ok(Self {
            path: path.to_owned(),
            text,
            form: Form::Files(parts),
            reach: Reach::default(),
            auto: Auto::default(),
        })
    }

    /// Returns the document with this restriction of what it may name.
    #[must_use]
    pub fn within(self, reach: &Reach) -> Self {
        Self { reach: reach.clone(), ..self }
    }

    /// Returns the document with this to decide the version of Kubernetes, where it follows the cluster.
    #[must_use]
    pub fn under(self, auto: Auto) -> Self {
        Self { auto, ..self }
    }

    /// The document of this program that messages call so.
    pub fn built_in(name: &str, text: &str) -> Self {
        let (path, text) = (PathBuf::from(name), text.to_owned());
        Self { path, text, form: Form::File, reach: Reach::default(), auto: Auto::default() }
    }

    /// The document of an object that messages call so.
    pub(crate) fn from_object(name: String, document: &str, reach: &Reach) -> Self {
        let (path, text) = (PathBuf::from(name), document.to_owned());
        Self { path, text, form: Form::Object, reach: reach.clone(), auto: Auto::default() }
    }

    /// The policy.
    ///
    /// # Errors
    ///
    /// [`PolicyError::Invalid`] with everything that is wrong.
    pub fn policy(&self, builtins: &[&str]) -> Result<Policy, PolicyError> {
        let name = self.path.display().to_string();
        match &self.form {
            Form::File => {
                let folder = self.path.parent().unwrap_or(Path::new(""));
                let document = document::read(&self.text).map_err(|problem| vec![problem]);
                Policy::read_with(document, &name, (Some(folder), &self.reach, &self.auto), builtins)
            }
            Form::Files(parts) => {
                let from = (Some(self.path.as_path()), &self.reach, &self.auto);
                Policy::read_with(document::read_parts(parts), &name, from, builtins)
            }
            Form::Object => {
                let document = document::read_without_places(&self.text).map_err(|problem| vec![problem]);
                Policy::read_with(document, &name, (None, &self.reach, &self.auto), builtins)
            }
        }
    }

    /// Whether it, or one of its files, ends in the middle of a line.
    pub(crate) fn is_unended(&self) -> bool {
        let is_unended = |text: &str| !text.trim_end_matches([' ', '\t']).ends_with(['\n', '}', ']']);
        match &self.form {
            Form::Files(parts) => parts.iter().any(|part| is_unended(&part.text)),
            Form::File | Form::Object => is_unended(&self.text),
        }
    }
}

/// The text of one file.
fn read(path: &Path) -> Result<String, PolicyError> {
    let failed = |source| PolicyError::Read { path: path.to_owned(), source };
    let bytes = match file::read(path, POLICY_FILE_BYTES) {
        Err(FileError::TooLarge { .. }) => return Err(PolicyError::TooLarge { path: path.to_owned() }),
        outcome => outcome.map_err(failed)?,
    };
    let not_text = |error| failed(FileError::Io(std::io::Error::new(std::io::ErrorKind::InvalidData, error)));
    String::from_utf8(bytes).map_err(not_text)
}

/// The policy's files: the path itself, or the documents in the folder, in the order of their names.
pub(crate) fn locate(path: &Path) -> Result<Vec<PathBuf>, PolicyError> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let failed = |error: std::io::Error| PolicyError::Read { path: path.to_owned(), source: FileError::Io(error) };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).map_err(failed)? {
        let file = path.join(entry.map_err(failed)?.file_name());
        if is_document(&file) {
            found.push(file);
        }
    }
    found.sort_unstable();
    match found.len() {
        1..=POLICY_FILES => Ok(found),
        found => Err(PolicyError::Folder { path: path.to_owned(), found }),
    }
}

/// Whether a file in a policy's folder is one of its documents, by its name.
pub(crate) fn is_document(path: &Path) -> bool {
    let name = path.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
    name.ends_with(".yaml") && !name.starts_with('.')
}

impl Policy {
    /// Reads a policy's file, or those in a folder. `builtins` are the names of the built-in predicates.
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
        Self::read_under(text, name, folder, &Auto::default(), builtins)
    }

    /// Reads a policy's text as [`Self::read`] does, with this to decide the version of Kubernetes where it follows the cluster.
    ///
    /// # Errors
    ///
    /// As [`Self::read`].
    pub fn read_under(
        text: &str,
        name: &str,
        folder: &Path,
        auto: &Auto,
        builtins: &[&str],
    ) -> Result<Self, PolicyError> {
        let document = document::read(text).map_err(|problem| vec![problem]);
        Self::read_with(document, name, (Some(folder), &Reach::default(), auto), builtins)
    }

    /// Reads the document of an object, which names only what is within reach. Its problems have no lines, and its modules absolute paths.
    ///
    /// # Errors
    ///
    /// As [`Self::read`].
    pub fn read_object(text: &str, name: &str, reach: &Reach, builtins: &[&str]) -> Result<Self, PolicyError> {
        let document = document::read_without_places(text).map_err(|problem| vec![problem]);
        Self::read_with(document, name, (None, reach, &Auto::default()), builtins)
    }

    fn read_with(
        document: Result<(Document, Vec<Problem>), Vec<Problem>>,
        name: &str,
        (folder, reach, auto): (Option<&Path>, &Reach, &Auto),
        builtins: &[&str],
    ) -> Result<Self, PolicyError> {
        let (policy, problems) = match document {
            Ok((document, unreadable)) => check::check(&document, unreadable, folder, reach, auto, builtins),
            Err(problems) => (Self::default(), problems),
        };
        let policy = Self { document: name.to_owned(), ..policy };
        if problems.is_empty() {
            return Ok(policy);
        }
        Err(PolicyError::Invalid { name: name.to_owned(), problems, rest: Box::new(policy) })
    }
}

#[cfg(test)]
mod tests;
