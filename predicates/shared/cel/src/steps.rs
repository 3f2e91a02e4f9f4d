//! The budget of one evaluation: steps, and the bytes of a value; and its dialect, which functions ask for where they ask for steps.
//! It knows no values. Start at [`Steps`].

use std::cell::Cell;

use crate::dialect::Dialect;
use crate::limits::{STEPS, VALUE_BYTES};

/// Bytes of text that are read in one step, as Kubernetes counts them.
pub(crate) const BYTES_OF_A_STEP: usize = 10;

/// Steps that an evaluation has taken so far.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    pub(crate) dialect: Dialect,
    taken: Cell<u64>,
}

impl Steps {
    /// No step taken yet, in a dialect.
    pub(crate) fn new(dialect: Dialect) -> Self {
        Self { dialect, taken: Cell::default() }
    }

    /// Takes steps, one for each of so many things.
    ///
    /// # Errors
    /// With them there are more than [`STEPS`].
    pub(crate) fn take(&self, count: usize) -> Result<(), String> {
        self.taken.set(self.taken.get().saturating_add(u64::try_from(count).unwrap_or(u64::MAX)));
        if self.taken.get() > STEPS {
            return Err("operation cancelled: actual cost limit exceeded".to_owned());
        }
        Ok(())
    }

    /// Asks for steps that are taken later, before what takes them is made. They are taken at once where there are not so many left, so
    /// that the evaluation ends whatever becomes of the error.
    ///
    /// # Errors
    /// As [`Steps::take`].
    pub(crate) fn expect(&self, count: usize) -> Result<(), String> {
        let left = STEPS.saturating_sub(self.taken.get());
        if u64::try_from(count).is_ok_and(|count| count <= left) { self.take(0) } else { self.take(count) }
    }

    /// Takes the steps of reading so many bytes.
    ///
    /// # Errors
    /// As [`Steps::take`].
    pub(crate) fn read(&self, bytes: usize) -> Result<(), String> {
        self.take(bytes / BYTES_OF_A_STEP)
    }
}

/// Whether a text or bytes of this size may be made.
///
/// # Errors
/// It is more than [`VALUE_BYTES`].
pub(crate) fn fits(bytes: usize) -> Result<(), String> {
    if bytes > VALUE_BYTES {
        return Err(format!("operation cancelled: a value of more than {VALUE_BYTES} bytes"));
    }
    Ok(())
}
