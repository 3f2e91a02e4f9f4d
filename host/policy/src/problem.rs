//! Something wrong in a document, and where. Start at [`Problem`].

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// Something wrong in a document, with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file, where the document is in several.
    pub file: Option<Arc<str>>,
    /// Line, from 1; 0 where the place is unknown.
    pub line: u64,
    /// Column, from 1; 0 where the place is unknown.
    pub column: u64,
    /// Path of the field, such as `spec.predicates[0].name`; empty for the whole document.
    pub field: String,
    /// Description of the problem, in one line.
    pub reason: String,
}

impl Problem {
    /// In the order of files and lines.
    pub fn compare(&self, other: &Self) -> Ordering {
        (&self.file, self.line, self.column).cmp(&(&other.file, other.line, other.column))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // An editor opens `file:line:column:`.
        match &self.file {
            Some(file) if self.line > 0 => write!(f, "{file}:")?,
            Some(file) => write!(f, "{file}: ")?,
            None => {}
        }
        if self.line > 0 {
            write!(f, "{}:{}: ", self.line, self.column)?;
        }
        if !self.field.is_empty() {
            write!(f, "{}: ", self.field)?;
        }
        f.write_str(&self.reason)
    }
}
