//! JSON text into an [`Object`] of a known kind, once and without a tree of values in between.
//!
//! Nearly every object decodes: [`decode`] reads it without tracking paths, and reads it a second time, with the path of the
//! field, only to report an error.

use serde::de::DeserializeSeed;
use serde_path_to_error::Track;

use crate::{Kind, Object};

/// Why an object cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {reason}")]
pub struct Undecodable {
    /// Path of the field; `.` where it is the object as a whole.
    pub field: String,
    /// Reason why the field cannot be read, without a position in the text.
    pub reason: String,
}

/// Decodes an object of a known kind.
///
/// # Errors
///
/// The first field that cannot be read, with its path.
pub fn decode(kind: Kind, json: &str) -> Result<Object, Undecodable> {
    let plainly = || {
        let mut json = serde_json::Deserializer::from_str(json);
        let object = kind.deserialize(&mut json)?;
        json.end()?;
        Ok::<_, serde_json::Error>(object)
    };
    plainly().map_err(|error| {
        let mut track = Track::new();
        let mut json = serde_json::Deserializer::from_str(json);
        let again = kind.deserialize(serde_path_to_error::Deserializer::new(&mut json, &mut track));
        let reason = without_position(&again.err().unwrap_or(error));
        Undecodable { field: track.path().to_string(), reason }
    })
}

/// A JSON error's words; its position counts from the start of one object, which would mislead.
pub fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(" at line ") {
        Some((words, _)) => words.to_owned(),
        None => text,
    }
}
