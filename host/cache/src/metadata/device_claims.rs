//! Claims on devices: what is kept of ResourceClaims and of DeviceClasses.
//!
//! Start with [`ClaimRecord`]. Binding conditions follow kube-scheduler 1.36's plugin DynamicResources with its defaults.

use std::sync::Arc;

use super::devices::Hold;
use super::labels::Labels;
use super::node_selector::NodeSelectorTest;
use super::requests::DEVICE_CLASS_PREFIX;
use crate::limits::{BINDING_TIMEOUT_S, CONFIGURATION_BYTES};
use nodesift_object::DeviceClass;
use nodesift_object::claim::{
    AllocatedDevice, AllocatedDeviceStatus, Allocation, DeviceClaim, DeviceRequest, EXTENDED_RESOURCE_ANNOTATION,
    ResourceClaim,
};
use nodesift_object::device_configuration::DeviceConfiguration;

/// Compiled facts of a ResourceClaim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimRecord {
    /// Namespace of the claim, from `metadata.namespace`.
    pub namespace: Arc<str>,
    /// Name of the claim, from `metadata.name`.
    pub name: Arc<str>,
    /// `metadata.uid`, or namespace/name where the source has none.
    pub uid: Arc<str>,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// The UID of the owner that manages it.
    pub controller_uid: Option<Arc<str>>,
    /// Name and UID of the pod for whose extended resources kube-scheduler made it. None for other claims, one for these; more
    /// where several owners manage it against the rules.
    pub extended_for: Arc<[(Arc<str>, Arc<str>)]>,
    /// Requests and constraints, as written; without configurations.
    pub spec: Arc<DeviceClaim>,
    /// Configuration for the drivers of its devices, as written.
    pub configurations: Configurations,
    /// Devices allocated to the claim; none while it is not allocated.
    pub allocation: Option<Arc<AllocationRecord>>,
    /// UIDs of the consumers in `status.reservedFor`.
    pub reserved_for: Arc<[Arc<str>]>,
}

/// Configuration for drivers of devices, as written; none where it is larger than [`CONFIGURATION_BYTES`].
pub type Configurations = Option<Arc<[DeviceConfiguration]>>;

/// Allocation of a ResourceClaim: the held devices, the nodes that reach them, and whether they are attached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllocationRecord {
    /// Devices and shares of devices that no other claim can have, in order; not those with admin access.
    pub held: Arc<[Hold]>,
    /// For each request that lists alternatives, the numbers from 0 of those that have got a device, in the order of requests: mostly one, and
    /// several where the alternatives of a version mix.
    pub chosen: Box<[u32]>,
    /// The nodes that reach the devices; none for all.
    pub nodes: Option<NodeSelectorTest>,
    /// Whether a device skips operations of its node.
    pub skips_node_operations: bool,
    /// Whether its devices are attached.
    pub binding: DeviceBinding,
}

/// Whether the devices of an allocation are attached, by their binding conditions. The first device that is not ready decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceBinding {
    /// The devices are attached, or need not be.
    Ready,
    /// The devices are not attached yet. After this time, in seconds since 1970-01-01T00:00:00Z, the allocation is given up; none: never.
    Waiting(Option<i64>),
    /// The devices cannot be attached: a binding failure condition is true.
    Failed,
}

impl ClaimRecord {
    /// Returns `namespace/name` of the claim.
    pub fn key(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// Whether the claim can be used on a node of these labels and this name at a time, in seconds since 1970-01-01T00:00:00Z. One
    /// that is not allocated can.
    pub fn usable_on(&self, labels: &Labels, node_name: &str, now_s: i64) -> bool {
        self.allocation.as_ref().is_none_or(|allocation| !allocation.is_given_up(now_s))
            && self.reaches(labels, node_name)
    }

    /// Whether a node of these labels and this name reaches the devices of the claim. Every node does where it is not allocated.
    pub fn reaches(&self, labels: &Labels, node_name: &str) -> bool {
        let nodes = self.allocation.as_ref().and_then(|allocation| allocation.nodes.as_ref());
        nodes.is_none_or(|nodes| nodes.matches(labels, node_name))
    }

    /// The first second after `now_s` in which [`Self::usable_on`] may answer otherwise, though the claim is the same; none where
    /// there is none.
    pub fn next_change(&self, now_s: i64) -> Option<i64> {
        match self.allocation.as_ref()?.binding {
            DeviceBinding::Waiting(Some(last_s)) if last_s >= now_s => last_s.checked_add(1),
            _ => None,
        }
    }

    /// Whether the allocation can be taken back for a pod: nobody but the pod has a use for it.
    pub fn is_free_for(&self, pod_uid: &str) -> bool {
        self.allocation.is_some()
            && self.reserved_for.iter().all(|user| **user == *pod_uid)
            && self.reserved_for.len() <= 1
    }
}

impl AllocationRecord {
    /// Whether its devices were not attached in time, or cannot be.
    fn is_given_up(&self, now_s: i64) -> bool {
        match self.binding {
            DeviceBinding::Ready | DeviceBinding::Waiting(None) => false,
            DeviceBinding::Waiting(Some(last_s)) => last_s < now_s,
            DeviceBinding::Failed => true,
        }
    }
}

/// Compiles the facts of a ResourceClaim.
pub fn resource_claim(claim: &ResourceClaim) -> ClaimRecord {
    let ResourceClaim { metadata, spec, status } = claim;
    let is_extended = metadata.annotations.get(EXTENDED_RESOURCE_ANNOTATION).is_some_and(|value| value == "true");
    let managers = metadata.owner_references.iter().filter(|owner| owner.controller && is_extended);
    ClaimRecord {
        namespace: text(metadata.namespace_or_default()),
        name: text(&metadata.name),
        uid: if metadata.uid.is_empty() { metadata.namespaced().into() } else { text(&metadata.uid) },
        deleting: metadata.deleting,
        controller_uid: metadata.controller_uid().map(text),
        extended_for: managers.map(|owner| (text(&owner.name), text(&owner.uid))).collect(),
        spec: Arc::new(DeviceClaim {
            requests: spec.devices.requests.clone(),
            constraints: spec.devices.constraints.clone(),
            config: Vec::new(),
        }),
        configurations: configurations(&spec.devices.config),
        allocation: status
            .allocation
            .as_ref()
            .map(|allocation| Arc::new(allocation_record(allocation, &spec.devices, &status.devices))),
        reserved_for: status.reserved_for.iter().map(|consumer| text(&consumer.uid)).collect(),
    }
}

fn configurations(written: &[DeviceConfiguration]) -> Configurations {
    let bytes = |config: &DeviceConfiguration| {
        let requests = config.requests.iter().map(String::len).sum::<usize>();
        requests + config.opaque.as_ref().map_or(0, |opaque| opaque.0.len()) + size_of::<DeviceConfiguration>()
    };
    (written.iter().map(bytes).sum::<usize>() <= CONFIGURATION_BYTES).then(|| written.into())
}

fn allocation_record(
    allocation: &Allocation,
    spec: &DeviceClaim,
    statuses: &[AllocatedDeviceStatus],
) -> AllocationRecord {
    let results = &allocation.devices.results;
    AllocationRecord {
        held: results.iter().filter_map(Hold::compile).collect(),
        chosen: spec.requests.iter().flatten().flat_map(|request| chosen(request, results)).collect(),
        skips_node_operations: results.iter().any(|result| !result.skip_node_operations.is_empty()),
        nodes: allocation.node_selector.as_ref().map(NodeSelectorTest::compile),
        binding: binding(results, statuses, allocation.allocation_timestamp.0),
    }
}

/// The numbers of the alternatives of a request that have got a device.
fn chosen<'a>(request: &'a DeviceRequest, results: &'a [AllocatedDevice]) -> impl Iterator<Item = u32> + 'a {
    let has_device = move |alternative: &str| {
        results.iter().any(|result| result.request.split_once('/') == Some((&*request.name, alternative)))
    };
    (0..).zip(&request.first_available).filter(move |(_, fields)| has_device(&fields.name)).map(|(number, _)| number)
}

fn binding(devices: &[AllocatedDevice], statuses: &[AllocatedDeviceStatus], allocated_s: Option<i64>) -> DeviceBinding {
    let waiting = DeviceBinding::Waiting(allocated_s.map(|allocated_s| allocated_s.saturating_add(BINDING_TIMEOUT_S)));
    for device in devices.iter().filter(|device| !device.binding_conditions.is_empty()) {
        let is_same = |status: &&AllocatedDeviceStatus| {
            (&status.driver, &status.pool, &status.device) == (&device.driver, &device.pool, &device.device)
        };
        let Some(status) = statuses.iter().find(is_same) else { return waiting };
        let holds = |kind: &String| {
            let condition = status.conditions.iter().find(|condition| condition.kind == *kind);
            condition.is_some_and(|condition| condition.status == "True")
        };
        if device.binding_failure_conditions.iter().any(holds) {
            return DeviceBinding::Failed;
        }
        if !device.binding_conditions.iter().all(holds) {
            return waiting;
        }
    }
    DeviceBinding::Ready
}

/// Compiled facts of a DeviceClass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassRecord {
    /// Name of the class, from `metadata.name`.
    pub name: Arc<str>,
    /// CEL expressions that a device of the class matches, all of them; none where a selector is not CEL.
    pub selectors: Vec<Option<String>>,
    /// `spec.extendedResourceName`; none where absent or empty.
    pub serves: Option<Arc<str>>,
    /// `metadata.creationTimestamp` in seconds since 1970-01-01T00:00:00Z; none where it is absent.
    pub created: Option<i64>,
    /// Configuration for the drivers of devices of the class, as written.
    pub configurations: Configurations,
}

impl Default for ClassRecord {
    fn default() -> Self {
        Self {
            name: Arc::default(),
            selectors: Vec::new(),
            serves: None,
            created: None,
            configurations: Some(Arc::default()),
        }
    }
}

impl ClassRecord {
    /// The extended resources that the class serves: the one that it names, and the implicit one of its own name.
    pub fn served_resources(&self) -> impl Iterator<Item = Arc<str>> + use<> {
        let implicit = Arc::from(format!("{DEVICE_CLASS_PREFIX}{}", self.name));
        self.serves.clone().into_iter().chain([implicit])
    }
}

/// Compiles the facts of a DeviceClass.
pub fn device_class(class: &DeviceClass) -> ClassRecord {
    let DeviceClass { metadata, spec } = class;
    let expression = |cel: &nodesift_object::selector::CelSelector| cel.expression.clone();
    ClassRecord {
        name: text(&metadata.name),
        selectors: spec.selectors.iter().map(|selector| selector.cel.as_ref().map(expression)).collect(),
        serves: spec.extended_resource_name.as_deref().filter(|name| !name.is_empty()).map(text),
        created: metadata.creation_timestamp.0,
        configurations: configurations(&spec.config),
    }
}

fn text(text: &str) -> Arc<str> {
    Arc::from(text)
}
