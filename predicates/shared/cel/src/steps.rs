//! The budget of one evaluation: steps, and the bytes of a value. It knows no values. Start at [`Steps`].

use std::cell::Cell;

use crate::limits::{STEPS, VALUE_BYTES};

/// Bytes of text that are read in one step, as Kubernetes counts them.
pub(crate) const BYTES_OF_A_STEP: usize = 10;

/// Steps that an evaluation has taken so far.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    taken: Cell<u64>,
}

impl Steps {
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
