//! JSON text into an [`Object`] of a known kind, once and without a tree of values in between.
//!
//! Nearly every object decodes: [`decode`] reads it without tracking paths, and reads it a second time, with the path of the
//! field, only to report an error.

use serde::de::{Deserialize, DeserializeSeed, Deserializer};
use serde_path_to_error::Track;

use crate::{Kind, Object, StorageObject, Workload};

/// Why an object cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {reason}")]
pub struct Undecodable {
    /// Path of the field; `.` where it is the object as a whole.
    pub field: String,
    /// Reason why the field cannot be read, without a position in the text.
    pub reason: String,
}

/// A kind deserialises its objects, so that the items of a list are read in place.
impl<'de> DeserializeSeed<'de> for Kind {
    type Value = Object;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Object, D::Error> {
        match self {
            Self::Node => Deserialize::deserialize(json).map(Object::Node),
            Self::Pod => Deserialize::deserialize(json).map(Object::Pod),
            Self::Namespace => Deserialize::deserialize(json).map(Object::Namespace),
            Self::DeviceClass => Deserialize::deserialize(json).map(Object::DeviceClass),
            Self::ResourceSlice => Deserialize::deserialize(json).map(Object::ResourceSlice),
            Self::ResourceClaim => Deserialize::deserialize(json).map(Object::ResourceClaim),
            Self::ConfigMap => Deserialize::deserialize(json).map(Object::ConfigMap),
            Self::PersistentVolume => storage(json, StorageObject::Volume),
            Self::PersistentVolumeClaim => storage(json, StorageObject::Claim),
            Self::StorageClass => storage(json, StorageObject::Class),
            Self::CsiNode => storage(json, StorageObject::Node),
            Self::CsiDriver => storage(json, StorageObject::Driver),
            Self::CsiStorageCapacity => storage(json, StorageObject::Capacity),
            Self::VolumeAttachment => storage(json, StorageObject::Attachment),
            Self::Service | Self::ReplicationController => {
                let object = Deserialize::deserialize(json)?;
                Ok(Object::Workload(Box::new(Workload::by_set(self, object))))
            }
            Self::ReplicaSet | Self::StatefulSet => {
                let object = Deserialize::deserialize(json)?;
                Ok(Object::Workload(Box::new(Workload::by_requirements(self, object))))
            }
        }
    }
}

fn storage<'de, D, T>(json: D, object: impl FnOnce(T) -> StorageObject) -> Result<Object, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(json).map(object).map(Object::Storage)
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
