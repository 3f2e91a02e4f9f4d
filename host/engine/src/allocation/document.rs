//! Serialized allocations, in the form of `resource.k8s.io/v1`. Start at [`AllocationResult`].

use std::collections::BTreeMap;
use std::io::{self, Write};

use nodesift_object::claim::DeviceToleration;
use nodesift_object::selector::Requirement;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::AllocationError;
use crate::limits::ALLOCATION_BYTES;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AllocationResult<'a> {
    pub(super) devices: Devices<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) node_selector: Option<NodeSelector<'a>>,
    pub(super) allocation_timestamp: String,
}

#[derive(Serialize)]
pub(super) struct Devices<'a> {
    pub(super) results: Vec<Device<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) config: Vec<Configuration<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Device<'a> {
    pub(super) request: String,
    pub(super) driver: &'a str,
    pub(super) pool: &'a str,
    pub(super) device: &'a str,
    #[serde(skip_serializing_if = "is_false")]
    pub(super) admin_access: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tolerations: Vec<Toleration<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) binding_conditions: Vec<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) binding_failure_conditions: Vec<&'a str>,
    #[serde(rename = "shareID", skip_serializing_if = "Option::is_none")]
    pub(super) share_id: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) consumed_capacity: BTreeMap<&'a str, String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Toleration<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    key: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    operator: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    value: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    effect: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    toleration_seconds: Option<i64>,
}

impl<'a> Toleration<'a> {
    pub(super) fn new(toleration: &'a DeviceToleration) -> Self {
        let DeviceToleration { key, operator, value, effect, toleration_seconds } = toleration;
        Self { key, operator, value, effect, toleration_seconds: *toleration_seconds }
    }
}

#[derive(Serialize)]
pub(super) struct Configuration<'a> {
    pub(super) source: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) requests: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) opaque: Option<&'a RawValue>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NodeSelector<'a> {
    pub(super) node_selector_terms: [NodeSelectorTerm<'a>; 1],
}

#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
pub(super) struct NodeSelectorTerm<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "requirements")]
    pub(super) match_expressions: Vec<&'a Requirement>,
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "requirements")]
    pub(super) match_fields: Vec<&'a Requirement>,
}

#[derive(Serialize)]
pub(super) struct Spec<'a> {
    pub(super) devices: Requests<'a>,
}

#[derive(Serialize)]
pub(super) struct Requests<'a> {
    pub(super) requests: Vec<Request<'a>>,
}

#[derive(Serialize)]
pub(super) struct Request<'a> {
    pub(super) name: &'a str,
    pub(super) exactly: Exactly<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Exactly<'a> {
    pub(super) device_class_name: &'a str,
    pub(super) allocation_mode: &'static str,
    pub(super) count: i64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RequestMapping<'a> {
    pub(super) container_name: &'a str,
    pub(super) resource_name: &'a str,
    pub(super) request_name: &'a str,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_false(flag: &bool) -> bool {
    !flag
}

fn requirements<S: Serializer>(requirements: &[&Requirement], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Written<'a> {
        key: &'a str,
        operator: &'a str,
        #[serde(skip_serializing_if = "<[String]>::is_empty")]
        values: &'a [String],
    }
    serializer.collect_seq(requirements.iter().map(|requirement| Written {
        key: &requirement.key,
        operator: &requirement.operator_text,
        values: &requirement.values,
    }))
}

/// A document as text.
///
/// # Errors
/// It is larger than [`ALLOCATION_BYTES`].
pub(super) fn write(document: &impl Serialize) -> Result<String, AllocationError> {
    let unwritable = |reason: String| AllocationError::Unwritable { limit: ALLOCATION_BYTES, reason };
    let mut text = Bounded(Vec::new());
    serde_json::to_writer(&mut text, document).map_err(|error| unwritable(error.to_string()))?;
    String::from_utf8(text.0).map_err(|error| unwritable(error.to_string()))
}

/// Text up to the limit.
struct Bounded(Vec<u8>);

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len().saturating_add(bytes.len()) > ALLOCATION_BYTES {
            return Err(io::Error::other("it is larger"));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
