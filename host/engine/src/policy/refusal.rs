//! Why a document did not become the active policy. The engine keeps the last one for those who ask. Start at [`Refusal`].

use std::fmt;
use std::time::SystemTime;

/// A policy that was refused; the active one stayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The generation that stayed active.
    pub generation: u64,
    /// Wall-clock time at which the refusal was noted.
    pub at: SystemTime,
    /// File of the refused document.
    pub source: String,
    /// Failed steps, at least one, in the order of the document.
    pub failures: Vec<StepFailure>,
    /// Failures beyond those listed.
    pub unlisted: usize,
}

/// A step of a reload that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepFailure {
    /// `read`, `document`, `verify`, `compile`, `link`, `instantiate`, `describe`, `configure`, `follow`, `trial`,
    /// `quarantine` or `internal`.
    pub step: &'static str,
    /// The predicate; none where the step concerns the document as a whole.
    pub predicate: Option<String>,
    /// Error message of the step, in one or more lines.
    pub reason: String,
}

impl fmt::Display for Refusal {
    /// The first failure, and how many more there are.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(first) = self.failures.first() else { return f.write_str("refused") };
        write!(f, "{}: {}", first.step, first.reason)?;
        match self.failures.len() + self.unlisted - 1 {
            0 => Ok(()),
            others => write!(f, " (and {others} more)"),
        }
    }
}
