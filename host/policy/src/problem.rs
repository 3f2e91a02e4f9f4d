//! Something wrong in a document, and where. Start at [`Problem`].

use std::fmt;

/// Something wrong in a document, with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Line, from 1; 0 where the place is unknown.
    pub line: u64,
    /// Column, from 1; 0 where the place is unknown.
    pub column: u64,
    /// Path of the field, such as `spec.predicates[0].name`; empty for the whole document.
    pub field: String,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "{}:{}: ", self.line, self.column)?;
        }
        if !self.field.is_empty() {
            write!(f, "{}: ", self.field)?;
        }
        f.write_str(&self.reason)
    }
}
