//! One line of a watch into a [`WatchEvent`]. Start at [`event`].

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::metadata::{Envelope, Unreadable};
use super::status::Status;
use crate::change::{Compiled, Compiler, Identity};
use crate::kube::failure::{Failure, plain};
use nodesift_object::Kind;
use nodesift_object::decode::{decode, without_position};

/// An event of a watch. An `ERROR` event is a [`Failure`].
#[derive(Debug)]
pub(crate) enum WatchEvent {
    /// `ADDED` or `MODIFIED`, with the object.
    Applied(Compiled),
    /// `DELETED`; the version is that of the deletion.
    Deleted(Identity),
    /// `BOOKMARK`: every event up to this resourceVersion was sent before it.
    Bookmark(Arc<str>),
    /// `ADDED`, `MODIFIED` or `DELETED` of an object that does not decode. It has a key.
    Unreadable(Unreadable),
}

/// One line of a watch: what has happened, and the object as the server has written it.
#[derive(Deserialize)]
pub(in crate::kube) struct Line<'a> {
    #[serde(rename = "type", borrow)]
    pub(in crate::kube) kind: Cow<'a, str>,
    #[serde(borrow)]
    pub(in crate::kube) object: &'a RawValue,
}

impl<'a> Line<'a> {
    /// Reads a line.
    ///
    /// # Errors
    ///
    /// What an `ERROR` event says; [`Failure::Malformed`] where the line is not an event.
    pub(in crate::kube) fn read(line: &'a [u8]) -> Result<Self, Failure> {
        let line = std::str::from_utf8(line)
            .map_err(|error| malformed(&format!("not UTF-8 after byte {}", error.valid_up_to())))?;
        let line: Self = serde_json::from_str(line).map_err(not_an_event)?;
        if line.kind == "ERROR" {
            let status: Status = serde_json::from_str(line.object.get()).map_err(not_an_event)?;
            return Err(Failure::from_event(&status));
        }
        Ok(line)
    }

    /// It is of a type that this client does not know.
    pub(in crate::kube) fn unknown(&self) -> Failure {
        malformed(&format!("not a watch event: unknown type {:?}", self.kind))
    }
}

#[allow(clippy::needless_pass_by_value)] // As `map_err` hands it over.
fn not_an_event(error: serde_json::Error) -> Failure {
    malformed(&format!("not a watch event: {error}"))
}

/// Decodes and compiles one line of a watch of objects of one kind.
///
/// # Errors
///
/// As for [`Line::read`]; also [`Failure::Malformed`] where the line tells of an object without a name: it may be the deletion of
/// an object that is held, so only a relist can tell.
pub(crate) fn event(kind: Kind, line: &[u8], compiler: &Compiler) -> Result<WatchEvent, Failure> {
    let line = Line::read(line)?;
    let json = line.object.get();
    match &*line.kind {
        "ADDED" | "MODIFIED" => match decode(kind, json) {
            Ok(object) => Ok(WatchEvent::Applied(compiler.compile(&object))),
            Err(wrong) => unreadable(json, wrong.to_string()),
        },
        // Of a deleted object only the metadata matters, so nothing else is decoded.
        "DELETED" => match serde_json::from_str::<Envelope>(json) {
            Ok(Envelope { metadata }) if !metadata.name.is_empty() => Ok(WatchEvent::Deleted(metadata.identity(kind))),
            Ok(_) => unreadable(json, "metadata.name: is empty".to_owned()),
            Err(error) => unreadable(json, without_position(&error)),
        },
        "BOOKMARK" => {
            let Envelope { metadata } = serde_json::from_str(json).map_err(not_an_event)?;
            Ok(WatchEvent::Bookmark(metadata.resource_version.into()))
        }
        _ => Err(line.unknown()),
    }
}

fn unreadable(json: &str, reason: String) -> Result<WatchEvent, Failure> {
    let object = Unreadable::new(0, json, reason);
    if object.key.is_empty() {
        return Err(malformed(&format!("an object without a name: {}", object.reason)));
    }
    Ok(WatchEvent::Unreadable(object))
}

fn malformed(reason: &str) -> Failure {
    Failure::Malformed(plain(reason))
}
