//! The budget of one evaluation: steps, and the bytes of a value. Start at [`Steps`].

use std::cell::Cell;

use crate::limits::{STEPS, VALUE_BYTES};
use crate::value::Value;

/// Bytes of text that are read in one step, as Kubernetes counts them.
const BYTES_OF_A_STEP: usize = 10;

/// What an evaluation has taken so far.
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

/// The steps of reading a value. What is inside of an element is not read by most functions; those that do count it.
pub(crate) fn weight(value: &Value) -> usize {
    match value {
        Value::List(list) => list.iter().fold(list.len(), |sum, element| sum.saturating_add(weight_of_text(element))),
        Value::Map(map) => map.entries.len(),
        value => weight_of_text(value),
    }
}

fn weight_of_text(value: &Value) -> usize {
    bytes_of(value) / BYTES_OF_A_STEP
}

fn bytes_of(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        _ => 0,
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

/// Whether a value that has been made may be kept.
///
/// # Errors
/// As [`fits`].
pub(crate) fn kept(value: &Value) -> Result<(), String> {
    fits(bytes_of(value))
}
