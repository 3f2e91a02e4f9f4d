//! Lookups in a [`Map`]. Keys are compared as in a map of Go: exactly, and not all values can be one. Start at [`Map::entry`].

use std::rc::Rc;

use crate::steps::Steps;
use crate::value::{Map, Value};

/// Entries of a map that a lookup compares in one step.
const ENTRIES_OF_A_STEP: usize = 10;

impl Map {
    /// Looks a key up.
    ///
    /// # Errors
    /// As [`Map::entry`].
    pub(crate) fn find(&self, key: &Value, steps: &Steps) -> Result<Option<&Value>, String> {
        Ok(self.entry(key, steps)?.or(self.default.as_ref()))
    }

    /// Looks a text up.
    ///
    /// # Errors
    /// As [`Value::equals`].
    pub(crate) fn find_text(&self, key: &str, steps: &Steps) -> Result<Option<&Value>, String> {
        if self.is_of_device {
            return Ok(self.entry_of_device(key, steps)?.or(self.default.as_ref()));
        }
        self.entry_by(|known| known.is_text(key, steps), steps).map(|found| found.or(self.default.as_ref()))
    }

    /// Looks a key up among the entries: a key of the same type, else for a number one of another type.
    ///
    /// # Errors
    /// There are no steps left, or the key is of a type that cannot be one.
    pub(crate) fn entry(&self, key: &Value, steps: &Steps) -> Result<Option<&Value>, String> {
        if self.is_of_device {
            // All keys are texts.
            let Value::String(key) = key else { return Ok(None) };
            return self.entry_of_device(key, steps);
        }
        if self.entries.is_empty() {
            return Ok(None);
        }
        check_key(key)?;
        if let Some(found) = self.entry_by(|known| is_same_key(known, key, steps), steps)? {
            return Ok(Some(found));
        }
        for other in other_keys(key).into_iter().flatten() {
            if let Some(found) = self.entry_by(|known| is_same_key(known, &other, steps), steps)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Sets an entry, in place of one with the same key.
    ///
    /// # Errors
    /// As [`Map::entry`].
    pub(crate) fn set(&mut self, key: Value, value: Value, steps: &Steps) -> Result<(), String> {
        check_key(&key)?;
        steps.take(self.entries.len() / ENTRIES_OF_A_STEP)?;
        for (known, old) in &mut self.entries {
            if is_same_key(known, &key, steps)? {
                *old = value;
                return Ok(());
            }
        }
        self.entries.push((key, value));
        Ok(())
    }

    /// Removes the entry with this key, if there is one.
    ///
    /// # Errors
    /// There are no steps left.
    pub(crate) fn remove(&mut self, key: &Value, steps: &Steps) -> Result<(), String> {
        for at in 0..self.entries.len() {
            if is_same_key(&self.entries[at].0, key, steps)? {
                self.entries.remove(at);
                return Ok(());
            }
        }
        Ok(())
    }

    /// Whether two maps have the same keys with equal values. Values whose equality is no question count as equal.
    ///
    /// # Errors
    /// As [`Map::entry`].
    pub(crate) fn is_equal(&self, other: &Self, steps: &Steps) -> Result<bool, String> {
        if self.entries.len() != other.entries.len() {
            return Ok(false);
        }
        steps.take(self.entries.len())?;
        for (key, value) in &self.entries {
            match other.entry(key, steps)? {
                Some(found) if value.equality(found, steps)? != Some(false) => {}
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    fn entry_by(
        &self,
        is_it: impl Fn(&Value) -> Result<bool, String>,
        steps: &Steps,
    ) -> Result<Option<&Value>, String> {
        // Cheap where it is small: Kubernetes counts a lookup as one step.
        steps.take(self.entries.len() / ENTRIES_OF_A_STEP)?;
        for (known, value) in &self.entries {
            if is_it(known)? {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }

    fn entry_of_device(&self, key: &str, steps: &Steps) -> Result<Option<&Value>, String> {
        steps.read(key.len())?;
        let is_it = |(known, _): &&(Value, Value)| matches!(known, Value::String(known) if **known == *key);
        Ok(self.entries.iter().find(is_it).map(|(_, value)| value))
    }
}

/// Whether a value can be the key of a lookup.
///
/// # Errors
/// Go has no hash of its type.
pub(crate) fn check_key(key: &Value) -> Result<(), String> {
    match key {
        Value::Bytes(_) | Value::Semver(_) | Value::Format(_) => {
            Err(format!("internal error: hash of unhashable type {}", key.type_name()))
        }
        _ => Ok(()),
    }
}

/// Whether two keys are the same: of one type and equal, or one where Go compares by where they are: lists, maps, and others.
pub(crate) fn is_same_key(known: &Value, key: &Value, steps: &Steps) -> Result<bool, String> {
    match (known, key) {
        (Value::Double(a), Value::Double(b)) => Ok(a == b),
        (Value::Optional(None), Value::Optional(None)) => Ok(true),
        (Value::List(a), Value::List(b)) => Ok(Rc::ptr_eq(a, b)),
        // The maps of one domain, and that of all, are made anew each time.
        (Value::Map(a), Value::Map(b)) => Ok(Rc::ptr_eq(a, b) && (a.default.is_some() || !a.is_of_device)),
        (Value::Quantity(a), Value::Quantity(b)) | (Value::Computed(a), Value::Computed(b)) => Ok(Rc::ptr_eq(a, b)),
        (Value::Url(a), Value::Url(b)) => Ok(Rc::ptr_eq(a, b)),
        // Of a quantity and a computed one too, which have one type: Go has them in different forms.
        (Value::Quantity(_) | Value::Computed(_) | Value::Optional(_) | Value::Empty, _) => Ok(false),
        (known, key) if known.type_name() == key.type_name() => known.equals(key, steps),
        _ => Ok(false),
    }
}

/// The keys of other types that stand for the same number.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "ranges are checked, and whether anything was lost"
)]
fn other_keys(key: &Value) -> [Option<Value>; 2] {
    match key {
        Value::Int(value) => [u64::try_from(*value).ok().map(Value::Uint), None],
        Value::Uint(value) => [i64::try_from(*value).ok().map(Value::Int), None],
        Value::Double(value) => {
            let int = (value.abs() < 2_f64.powi(63) && *value as i64 as f64 == *value).then_some(*value as i64);
            let is_uint = *value >= 0.0 && *value < 2_f64.powi(64) && *value as u64 as f64 == *value;
            [int.map(Value::Int), is_uint.then_some(Value::Uint(*value as u64))]
        }
        _ => [None, None],
    }
}
