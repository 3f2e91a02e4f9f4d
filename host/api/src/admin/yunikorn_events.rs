//! Events of allocations in the words of YuniKorn's event stream: its `EventRecord` for nodes, as JSON.
//!
//! Source: si.proto of yunikorn-scheduler-interface, and pkg/scheduler/objects/events of yunikorn-core, at 1.9. An allocation that comes
//! or goes is `NODE_ALLOC`, with `ADD` or `REMOVE` as the type of change. Start at [`EventRecord::try_new`].

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde::Serialize;

use super::yunikorn::{mark, resource};
use nodesift_cache::{AllocationChange, Event};

/// `EventRecord.Type.NODE`: the object of the event is a node.
const NODE: u16 = 3;
/// `EventRecord.ChangeType.ADD`, of an allocation that has come.
const ADD: u16 = 2;
/// `EventRecord.ChangeType.REMOVE`, of an allocation that has gone.
const REMOVE: u16 = 3;
/// `EventRecord.ChangeDetail.NODE_ALLOC`: what has changed is an allocation.
const NODE_ALLOC: u16 = 303;

/// The first line of a stream: which process tells.
#[derive(Debug, Serialize)]
pub(super) struct Instance {
    #[serde(rename = "InstanceUUID")]
    pub(super) uuid: String,
}

/// An event as YuniKorn encodes it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct EventRecord<'a> {
    #[serde(rename = "type")]
    object_type: u16,
    #[serde(rename = "objectID")]
    object_id: &'a str,
    /// The mark of a foreign pod. YuniKorn up to 1.9 leaves it empty, so that its stream tells foreign pods from its own by nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    timestamp_nano: i64,
    event_change_type: u16,
    event_change_detail: u16,
    #[serde(rename = "referenceID")]
    reference_id: &'a str,
    resource: Resource<'a>,
}

#[derive(Debug, Serialize)]
struct Resource<'a> {
    resources: BTreeMap<&'a str, Quantity>,
}

#[derive(Debug, Serialize)]
struct Quantity {
    value: i64,
}

impl<'a> EventRecord<'a> {
    /// An event of the cache; `None` for an update or a watermark, of which YuniKorn has no event.
    pub(super) fn try_new(event: &'a Event) -> Option<Self> {
        let Event::Allocation(event) = event else { return None };
        let event_change_type = match event.change {
            AllocationChange::Added => ADD,
            AllocationChange::Removed => REMOVE,
            AllocationChange::Updated => return None,
        };
        let since = event.at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let amounts = resource(&event.pod.usage).into_iter();
        Some(Self {
            object_type: NODE,
            object_id: &event.pod.node,
            message: mark(event.pod.ownership).map(|mark| format!("foreign: {mark}")),
            timestamp_nano: i64::try_from(since.as_nanos()).unwrap_or(i64::MAX),
            event_change_type,
            event_change_detail: NODE_ALLOC,
            reference_id: &event.pod.uid,
            resource: Resource { resources: amounts.map(|(name, value)| (name, Quantity { value })).collect() },
        })
    }
}
