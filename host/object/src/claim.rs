//! Claims on devices: ResourceClaims of `resource.k8s.io/v1`, with only the fields that DynamicResources reads to filter nodes. Those
//! of `v1beta1`, whose requests have no `exactly` and its fields beside the name, become the same.
//!
//! Start with [`ResourceClaim`]. What is only copied into an allocation is kept as text.

use serde::Deserialize;

use crate::ResourceList;
use crate::device_configuration::DeviceConfiguration;
use crate::field::null_is_default;
use crate::selector::DeviceSelector;
use crate::selector::NodeSelector;
use crate::status::Condition;
use crate::storage::Metadata;
use crate::time::Timestamp;

/// The annotation of a claim that kube-scheduler made for extended resources, where its value is `true`.
pub const EXTENDED_RESOURCE_ANNOTATION: &str = "resource.kubernetes.io/extended-resource-claim";

/// A resource.k8s.io ResourceClaim.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ResourceClaim {
    /// Name, identity, owners, and whether it is being deleted.
    pub metadata: Metadata,
    /// What is asked for.
    #[serde(default, deserialize_with = "null_is_default")]
    pub spec: ResourceClaimSpec,
    /// What has been given.
    #[serde(default, deserialize_with = "null_is_default")]
    pub status: ResourceClaimStatus,
}

/// `spec` of a ResourceClaim.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct ResourceClaimSpec {
    /// The devices.
    #[serde(default, deserialize_with = "null_is_default")]
    pub devices: DeviceClaim,
}

/// `spec.devices`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct DeviceClaim {
    /// All must be satisfied, in this order; none and empty differ for claims of extended resources.
    #[serde(default)]
    pub requests: Option<Vec<DeviceRequest>>,
    /// What the devices must have in common.
    #[serde(default, deserialize_with = "null_is_default")]
    pub constraints: Vec<DeviceConstraint>,
    /// What drivers are told about the devices.
    #[serde(default, deserialize_with = "null_is_default")]
    pub config: Vec<DeviceConfiguration>,
}

/// A request: exactly one kind of devices, or the first of several that is available.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(from = "WrittenRequest")]
pub struct DeviceRequest {
    /// Unique within the claim.
    pub name: String,
    /// The one kind.
    pub exactly: Option<DeviceFields>,
    /// Alternatives, best first.
    pub first_available: Vec<DeviceFields>,
}

/// A request in the form of any version.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WrittenRequest {
    #[serde(default, deserialize_with = "null_is_default")]
    name: String,
    #[serde(default)]
    exactly: Option<DeviceFields>,
    #[serde(default, deserialize_with = "null_is_default")]
    first_available: Vec<DeviceFields>,
    // The rest is of `v1beta1`.
    #[serde(default, deserialize_with = "null_is_default")]
    device_class_name: String,
    #[serde(default)]
    selectors: Option<Vec<DeviceSelector>>,
    #[serde(default, deserialize_with = "null_is_default")]
    allocation_mode: String,
    #[serde(default, deserialize_with = "null_is_default")]
    count: i64,
    #[serde(default)]
    admin_access: Option<bool>,
    #[serde(default)]
    tolerations: Option<Vec<DeviceToleration>>,
    #[serde(default)]
    capacity: Option<CapacityRequests>,
}

impl From<WrittenRequest> for DeviceRequest {
    /// As the API server converts `v1beta1`: any of the fields beside the name makes an `exactly`.
    fn from(written: WrittenRequest) -> Self {
        let WrittenRequest { name, exactly, first_available, .. } = written;
        let is_inline = !written.device_class_name.is_empty()
            || written.selectors.is_some()
            || !written.allocation_mode.is_empty()
            || written.count != 0
            || written.admin_access.is_some()
            || written.tolerations.is_some()
            || written.capacity.is_some();
        let inline = is_inline.then(|| DeviceFields {
            name: String::new(),
            device_class_name: written.device_class_name,
            selectors: written.selectors.unwrap_or_default(),
            allocation_mode: written.allocation_mode,
            count: written.count,
            admin_access: written.admin_access.unwrap_or_default(),
            tolerations: written.tolerations.unwrap_or_default(),
            capacity: written.capacity.unwrap_or_default(),
        });
        Self { name, exactly: exactly.or(inline), first_available }
    }
}

impl DeviceRequest {
    /// All that it may be about: the one kind, or each alternative.
    pub fn fields(&self) -> impl Iterator<Item = &DeviceFields> {
        self.exactly.iter().chain(&self.first_available)
    }
}

/// Which devices a request or an alternative wants.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeviceFields {
    /// The name of an alternative; empty in `exactly`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub name: String,
    /// The DeviceClass.
    #[serde(default, deserialize_with = "null_is_default")]
    pub device_class_name: String,
    /// All must match, besides those of the class.
    #[serde(default, deserialize_with = "null_is_default")]
    pub selectors: Vec<DeviceSelector>,
    /// `ExactCount` or `All`; anything else is an error.
    #[serde(default, deserialize_with = "null_is_default")]
    pub allocation_mode: String,
    /// How many, with `ExactCount`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub count: i64,
    /// Whether devices in use will do; alternatives cannot ask for it.
    #[serde(default, deserialize_with = "null_is_default")]
    pub admin_access: bool,
    /// Taints that do not matter.
    #[serde(default, deserialize_with = "null_is_default")]
    pub tolerations: Vec<DeviceToleration>,
    /// How much of the devices' capacities.
    #[serde(default, deserialize_with = "null_is_default")]
    pub capacity: CapacityRequests,
}

/// A toleration of devices' taints.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeviceToleration {
    /// The taint's key; empty for every key.
    #[serde(default, deserialize_with = "null_is_default")]
    pub key: String,
    /// `Equal`, `Exists`, or empty for `Equal`; anything else tolerates nothing.
    #[serde(default, deserialize_with = "null_is_default")]
    pub operator: String,
    /// The taint's value.
    #[serde(default, deserialize_with = "null_is_default")]
    pub value: String,
    /// The taint's effect; empty for every effect.
    #[serde(default, deserialize_with = "null_is_default")]
    pub effect: String,
    /// How long pods keep a device that becomes tainted, in seconds; none for ever. Allocations repeat it.
    #[serde(default)]
    pub toleration_seconds: Option<i64>,
}

/// Amounts of capacities.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct CapacityRequests {
    /// By the capacity's name, as the device writes it.
    #[serde(default, deserialize_with = "null_is_default")]
    pub requests: ResourceList,
}

/// What devices must have in common; without an attribute it is an error.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeviceConstraint {
    /// The requests and alternatives (`request/alternative`) that it is about; empty for all.
    #[serde(default, deserialize_with = "null_is_default")]
    pub requests: Vec<String>,
    /// The attribute of which all have the same value.
    #[serde(default)]
    pub match_attribute: Option<String>,
    /// The attribute of which no two have the same value.
    #[serde(default)]
    pub distinct_attribute: Option<String>,
}

/// `status` of a ResourceClaim.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceClaimStatus {
    /// The devices that the claim has; none while it has none.
    #[serde(default)]
    pub allocation: Option<Allocation>,
    /// Who uses it.
    #[serde(default, deserialize_with = "null_is_default")]
    pub reserved_for: Vec<Consumer>,
    /// What drivers report of its devices.
    #[serde(default, deserialize_with = "null_is_default")]
    pub devices: Vec<AllocatedDeviceStatus>,
}

/// `status.allocation`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Allocation {
    /// The devices.
    #[serde(default, deserialize_with = "null_is_default")]
    pub devices: AllocatedDevices,
    /// The nodes that reach them; none for all.
    #[serde(default)]
    pub node_selector: Option<NodeSelector>,
    /// When it was made, if its devices have binding conditions.
    #[serde(default, deserialize_with = "null_is_default")]
    pub allocation_timestamp: Timestamp,
}

/// `status.allocation.devices`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct AllocatedDevices {
    /// One entry per device and request.
    #[serde(default, deserialize_with = "null_is_default")]
    pub results: Vec<AllocatedDevice>,
}

/// A device that a claim has.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AllocatedDevice {
    /// The driver.
    #[serde(default, deserialize_with = "null_is_default")]
    pub driver: String,
    /// The pool.
    #[serde(default, deserialize_with = "null_is_default")]
    pub pool: String,
    /// The device.
    #[serde(default, deserialize_with = "null_is_default")]
    pub device: String,
    /// Whether it is not held, only looked at.
    #[serde(default, deserialize_with = "null_is_default")]
    pub admin_access: bool,
    /// Tells this share of the device from others; none where the claim has the device for itself.
    #[serde(default, rename = "shareID")]
    pub share_id: Option<String>,
    /// What the share takes.
    #[serde(default, deserialize_with = "null_is_default")]
    pub consumed_capacity: ResourceList,
    /// Conditions to wait for before a pod is bound.
    #[serde(default, deserialize_with = "null_is_default")]
    pub binding_conditions: Vec<String>,
    /// Conditions that make binding fail.
    #[serde(default, deserialize_with = "null_is_default")]
    pub binding_failure_conditions: Vec<String>,
}

/// An entry of `status.reservedFor`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct Consumer {
    /// The UID of a pod.
    #[serde(default, deserialize_with = "null_is_default")]
    pub uid: String,
}

/// What a driver reports of a device.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct AllocatedDeviceStatus {
    /// The driver.
    #[serde(default, deserialize_with = "null_is_default")]
    pub driver: String,
    /// The pool.
    #[serde(default, deserialize_with = "null_is_default")]
    pub pool: String,
    /// The device.
    #[serde(default, deserialize_with = "null_is_default")]
    pub device: String,
    /// Among them binding conditions.
    #[serde(default, deserialize_with = "null_is_default")]
    pub conditions: Vec<Condition>,
}
