//! Claims on devices: ResourceClaims of `resource.k8s.io/v1`, with only the fields that DynamicResources reads to filter nodes. Those
//! of `v1beta1`, whose requests have no `exactly` and its fields beside the name, become the same.
//!
//! Start with [`ResourceClaim`]. What is only copied into an allocation is kept as text.

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

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

/// ResourceClaim of `resource.k8s.io`: devices that pods ask for, and those allocated to them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ResourceClaim {
    /// Name, identity, owners, and whether it is being deleted.
    pub metadata: Metadata,
    /// Requested devices, their constraints and configuration.
    #[serde(default, deserialize_with = "null_is_default")]
    pub spec: ResourceClaimSpec,
    /// Allocated devices, consumers of the claim, and conditions that drivers report.
    #[serde(default, deserialize_with = "null_is_default")]
    pub status: ResourceClaimStatus,
}

/// `spec` of a ResourceClaim.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct ResourceClaimSpec {
    /// Requests for devices, with constraints and configuration, as in `spec.devices`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub devices: DeviceClaim,
}

/// Requests for devices in a ResourceClaim, with constraints and configuration, as in `spec.devices`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct DeviceClaim {
    /// Requests for devices, which must all be satisfied, in this order; none and empty differ for claims of extended resources.
    #[serde(default)]
    pub requests: Option<Vec<DeviceRequest>>,
    /// Constraints: attributes that the devices must share, or in which they must differ.
    #[serde(default, deserialize_with = "null_is_default")]
    pub constraints: Vec<DeviceConstraint>,
    /// Configuration that is passed to drivers of the allocated devices.
    #[serde(default, deserialize_with = "null_is_default")]
    pub config: Vec<DeviceConfiguration>,
}

/// A request: exactly one kind of devices, or the first of several that is available.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(from = "WrittenRequest")]
pub struct DeviceRequest {
    /// Name of the request, unique within the claim.
    pub name: String,
    /// Device fields of a request without alternatives; none where `first_available` is used.
    pub exactly: Option<DeviceFields>,
    /// Alternatives in order of preference; the first that can be satisfied is allocated.
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
    #[serde(rename = "derivedAttributes", default, deserialize_with = "has_elements")]
    derives: bool,
}

/// Whether a list has elements, whatever these are.
fn has_elements<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(Option::<Vec<IgnoredAny>>::deserialize(deserializer)?.is_some_and(|list| !list.is_empty()))
}

impl From<WrittenRequest> for DeviceRequest {
    /// Converts like the API server does from `v1beta1`: any inline field beside the name makes an `exactly`.
    fn from(written: WrittenRequest) -> Self {
        let WrittenRequest { name, exactly, first_available, .. } = written;
        let is_inline = !written.device_class_name.is_empty()
            || written.selectors.is_some()
            || !written.allocation_mode.is_empty()
            || written.count != 0
            || written.admin_access.is_some()
            || written.tolerations.is_some()
            || written.capacity.is_some()
            || written.derives;
        let inline = is_inline.then(|| DeviceFields {
            name: String::new(),
            device_class_name: written.device_class_name,
            selectors: written.selectors.unwrap_or_default(),
            allocation_mode: written.allocation_mode,
            count: written.count,
            admin_access: written.admin_access.unwrap_or_default(),
            tolerations: written.tolerations.unwrap_or_default(),
            capacity: written.capacity.unwrap_or_default(),
            derives: written.derives,
        });
        Self { name, exactly: exactly.or(inline), first_available }
    }
}

impl DeviceRequest {
    /// Returns the fields of `exactly`, then those of each alternative.
    pub fn fields(&self) -> impl Iterator<Item = &DeviceFields> {
        self.exactly.iter().chain(&self.first_available)
    }
}

/// Devices that a request or one of its alternatives asks for: class, selectors, count, tolerations and capacity.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeviceFields {
    /// The name of an alternative; empty in `exactly`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub name: String,
    /// Name of the DeviceClass that the devices must be of.
    #[serde(default, deserialize_with = "null_is_default")]
    pub device_class_name: String,
    /// CEL selectors that a device must match, besides those of the class.
    #[serde(default, deserialize_with = "null_is_default")]
    pub selectors: Vec<DeviceSelector>,
    /// `ExactCount` or `All`; anything else is an error.
    #[serde(default, deserialize_with = "null_is_default")]
    pub allocation_mode: String,
    /// Number of devices, where `allocation_mode` is `ExactCount`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub count: i64,
    /// Whether admin access is asked for, which devices in use satisfy too; alternatives cannot ask for it.
    #[serde(default, deserialize_with = "null_is_default")]
    pub admin_access: bool,
    /// Taints of devices that the request tolerates.
    #[serde(default, deserialize_with = "null_is_default")]
    pub tolerations: Vec<DeviceToleration>,
    /// Amounts of capacity that each device must provide.
    #[serde(default, deserialize_with = "null_is_default")]
    pub capacity: CapacityRequests,
    /// Whether it has `derivedAttributes`, which the allocator of Kubernetes 1.37 refuses.
    #[serde(rename = "derivedAttributes", default, deserialize_with = "has_elements")]
    pub derives: bool,
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
    /// Value that the taint must have, where the operator is `Equal`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub value: String,
    /// The taint's effect; empty for every effect.
    #[serde(default, deserialize_with = "null_is_default")]
    pub effect: String,
    /// How long pods keep a device that becomes tainted, in seconds; none for ever. Allocations repeat it.
    #[serde(default)]
    pub toleration_seconds: Option<i64>,
}

/// Requested amounts of devices' capacities, as in `capacity` of a request.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct CapacityRequests {
    /// Amounts by the capacity's name, as the device writes it.
    #[serde(default, deserialize_with = "null_is_default")]
    pub requests: ResourceList,
}

/// Constraint on the devices of some requests: an attribute in which all must agree, or all must differ. Without an attribute it is an
/// error.
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
    /// Consumers of the claim, as in `status.reservedFor`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub reserved_for: Vec<Consumer>,
    /// Conditions of the claim's devices as drivers report them, in `status.devices`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub devices: Vec<AllocatedDeviceStatus>,
}

/// Allocation of a ResourceClaim, as in `status.allocation`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Allocation {
    /// Allocated devices, as in `status.allocation.devices`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub devices: AllocatedDevices,
    /// Nodes from which the devices can be used; none for all nodes.
    #[serde(default)]
    pub node_selector: Option<NodeSelector>,
    /// Time of the allocation, set if its devices have binding conditions.
    #[serde(default, deserialize_with = "null_is_default")]
    pub allocation_timestamp: Timestamp,
}

/// Devices allocated to a ResourceClaim, as in `status.allocation.devices`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct AllocatedDevices {
    /// Allocated devices, one entry per device and request.
    #[serde(default, deserialize_with = "null_is_default")]
    pub results: Vec<AllocatedDevice>,
}

/// A device allocated to a claim, or a share of one: an entry of `status.allocation.devices.results`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AllocatedDevice {
    /// Name of the claim's request that the device is for, or of one of its alternatives, `request/alternative`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub request: String,
    /// Name of the DRA driver that provides the device.
    #[serde(default, deserialize_with = "null_is_default")]
    pub driver: String,
    /// Name of the device's pool, unique per driver.
    #[serde(default, deserialize_with = "null_is_default")]
    pub pool: String,
    /// Name of the device, unique within its pool.
    #[serde(default, deserialize_with = "null_is_default")]
    pub device: String,
    /// Whether the claim has admin access only, which does not reserve the device.
    #[serde(default, deserialize_with = "null_is_default")]
    pub admin_access: bool,
    /// Tells this share of the device from others; none where the claim has the device for itself.
    #[serde(default, rename = "shareID")]
    pub share_id: Option<String>,
    /// Amounts of capacity, by name, that this share of the device consumes.
    #[serde(default, deserialize_with = "null_is_default")]
    pub consumed_capacity: ResourceList,
    /// Conditions to wait for before a pod is bound.
    #[serde(default, deserialize_with = "null_is_default")]
    pub binding_conditions: Vec<String>,
    /// Conditions that make binding fail.
    #[serde(default, deserialize_with = "null_is_default")]
    pub binding_failure_conditions: Vec<String>,
    /// Operations of the kubelet that the device does not need.
    #[serde(default, deserialize_with = "null_is_default")]
    pub skip_node_operations: Vec<String>,
}

/// An entry of `status.reservedFor`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct Consumer {
    /// UID of the pod that uses the claim.
    #[serde(default, deserialize_with = "null_is_default")]
    pub uid: String,
}

/// Status of an allocated device as its driver reports it, an entry of `status.devices`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct AllocatedDeviceStatus {
    /// Name of the DRA driver that provides the device.
    #[serde(default, deserialize_with = "null_is_default")]
    pub driver: String,
    /// Name of the device's pool, unique per driver.
    #[serde(default, deserialize_with = "null_is_default")]
    pub pool: String,
    /// Name of the device, unique within its pool.
    #[serde(default, deserialize_with = "null_is_default")]
    pub device: String,
    /// Conditions of the device; binding conditions are among them.
    #[serde(default, deserialize_with = "null_is_default")]
    pub conditions: Vec<Condition>,
}
