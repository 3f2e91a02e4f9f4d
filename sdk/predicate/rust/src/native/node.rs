//! The nodes of the fixture, and their builder methods.

use std::collections::{BTreeMap, BTreeSet};

use super::pod::Pod;
use crate::columns::cluster_attachments::{Attachment, Obstacle};
use crate::columns::node_info::Field;
use crate::columns::node_taints::{Effect, Taint};
use crate::columns::pod_volumes::Disk;

/// A node and the pods on it. Amounts are in the units of the contract: `cpu` in millicores, `memory` in bytes.
#[derive(Debug, Clone, Default)]
pub struct Node {
    pub(super) name: String,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) annotations: BTreeMap<String, String>,
    pub(super) unschedulable: bool,
    pub(super) taints: Vec<Taint>,
    pub(super) allocatable: BTreeMap<String, i64>,
    pub(super) requested: BTreeMap<String, i64>,
    pub(super) foreign: BTreeMap<String, i64>,
    pub(super) non_zero: BTreeMap<String, i64>,
    pub(super) sums: BTreeMap<String, i64>,
    pub(super) pod_limit: i64,
    pub(super) pods: i64,
    pub(super) foreign_pods: i64,
    pub(super) port_taken: bool,
    pub(super) running: Vec<Pod>,
    pub(super) features: BTreeSet<String>,
    pub(super) conditions: BTreeMap<String, u8>,
    pub(super) info: BTreeMap<String, String>,
    /// Sizes of images in bytes, by name.
    pub(super) images: BTreeMap<String, i64>,
    /// By interface and function, in seconds since 1970-01-01T00:00:00Z.
    pub(super) moments: BTreeMap<&'static str, i64>,
    pub(super) disks: Vec<Disk>,
    pub(super) limits: BTreeMap<String, i64>,
    pub(super) attached: BTreeSet<Attachment>,
    pub(super) attached_unused: BTreeSet<Attachment>,
    pub(super) uncounted: Option<(String, String, Obstacle)>,
    pub(super) unregistered: bool,
    pub(super) missing_drivers: BTreeSet<String>,
    pub(super) migrated: BTreeSet<String>,
    pub(super) infeasible: bool,
}

/// The name of a field in the contract.
pub(super) fn field_name(field: Field) -> &'static str {
    match field {
        Field::KubeletVersion => "kubelet-version",
        Field::KernelVersion => "kernel-version",
        Field::ContainerRuntimeVersion => "container-runtime-version",
        Field::OsImage => "os-image",
        Field::OperatingSystem => "operating-system",
        Field::Architecture => "architecture",
        Field::ProviderId => "provider-id",
    }
}

impl Node {
    /// A node without labels, taints or allocatable resources, with a pod limit of 0.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Sets a label of the node.
    #[must_use]
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.labels.insert(key.into(), value.into());
        self
    }

    /// Sets an annotation of the node.
    #[must_use]
    pub fn annotation(mut self, key: &str, value: &str) -> Self {
        self.annotations.insert(key.into(), value.into());
        self
    }

    /// Sets `spec.unschedulable` to true, which cordons the node.
    #[must_use]
    pub fn unschedulable(mut self) -> Self {
        self.unschedulable = true;
        self
    }

    /// Has the pod not fit on the node, as `cluster-candidates` shows it.
    #[must_use]
    pub fn infeasible(mut self) -> Self {
        self.infeasible = true;
        self
    }

    /// Adds a taint to `spec.taints`.
    #[must_use]
    pub fn taint(mut self, key: &str, value: &str, effect: Effect) -> Self {
        self.taints.push(Taint { key: key.into(), value: value.into(), effect });
        self
    }

    /// Sets the allocatable amount of a resource, and the amount that the pods on the node request.
    #[must_use]
    pub fn resource(mut self, resource: &str, allocatable: i64, requested: i64) -> Self {
        self.allocatable.insert(resource.into(), allocatable);
        self.requested.insert(resource.into(), requested);
        self
    }

    /// Sets the part of the requested amount of a resource that foreign pods request.
    #[must_use]
    pub fn foreign(mut self, resource: &str, requested: i64) -> Self {
        self.foreign.insert(resource.into(), requested);
        self
    }

    /// Sets the amount of a resource that the pods on the node request as `node-non-zero-requests` shows it.
    #[must_use]
    pub fn non_zero(mut self, resource: &str, requested: i64) -> Self {
        self.non_zero.insert(resource.into(), requested);
        self
    }

    /// Sets a sum that an accounting component would make of the node and the pods on it.
    #[must_use]
    pub fn sum(mut self, name: &str, sum: i64) -> Self {
        self.sums.insert(name.into(), sum);
        self
    }

    /// Sets the pod limit of the node, and the number of pods on it.
    #[must_use]
    pub fn pods(mut self, limit: i64, pods: i64) -> Self {
        (self.pod_limit, self.pods) = (limit, pods);
        self
    }

    /// Sets the number of foreign pods on the node.
    #[must_use]
    pub fn foreign_pods(mut self, pods: i64) -> Self {
        self.foreign_pods = pods;
        self
    }

    /// Makes a host port of the pod being filtered conflict with a pod on the node.
    #[must_use]
    pub fn port_taken(mut self) -> Self {
        self.port_taken = true;
        self
    }

    /// Adds a pod on the node. The requested amounts and the number of pods do not change: set them with
    /// [`resource`](Self::resource) and [`pods`](Self::pods).
    #[must_use]
    pub fn running(mut self, pod: Pod) -> Self {
        self.running.push(pod);
        self
    }

    /// Adds a feature to `status.declaredFeatures`.
    #[must_use]
    pub fn feature(mut self, name: &str) -> Self {
        self.features.insert(name.into());
        self
    }

    /// Sets the status of a condition: a constant of [`node_conditions`](crate::columns::node_conditions).
    #[must_use]
    pub fn condition(mut self, kind: &str, status: u8) -> Self {
        self.conditions.insert(kind.into(), status);
        self
    }

    /// Sets what the node says of itself in a field.
    #[must_use]
    pub fn info(mut self, field: Field, text: &str) -> Self {
        self.info.insert(field_name(field).into(), text.into());
        self
    }

    /// Adds a name of an image that is present.
    #[must_use]
    pub fn image(self, name: &str) -> Self {
        self.sized_image(name, 0)
    }

    /// Adds a name of an image of this size in bytes that is present.
    #[must_use]
    pub fn sized_image(mut self, name: &str, size: i64) -> Self {
        self.images.insert(name.into(), size);
        self
    }

    /// A moment, by interface and function; the minimum where it is not set. It is set by the methods in `moments`.
    pub(super) fn moment(&self, name: &str) -> i64 {
        self.moments.get(name).copied().unwrap_or(i64::MIN)
    }

    /// Adds a disk that a pod on the node uses.
    #[must_use]
    pub fn disk(mut self, disk: Disk) -> Self {
        self.disks.push(disk);
        self
    }

    /// Sets how many volumes a driver can attach.
    #[must_use]
    pub fn attach_limit(mut self, driver: &str, limit: i64) -> Self {
        self.limits.insert(driver.into(), limit);
        self
    }

    /// Adds a volume of a driver that is attached and that a pod on the node uses.
    #[must_use]
    pub fn attached(mut self, driver: &str, handle: &str) -> Self {
        self.attached.insert(Attachment { driver: driver.into(), handle: handle.into() });
        self
    }

    /// Adds a volume of a driver that is attached and that no pod on the node uses.
    #[must_use]
    pub fn attached_unused(mut self, driver: &str, handle: &str) -> Self {
        self.attached_unused.insert(Attachment { driver: driver.into(), handle: handle.into() });
        self
    }

    /// Sets the pod on the node whose volumes cannot be counted, and why.
    #[must_use]
    pub fn uncounted(mut self, namespace: &str, pod: &str, obstacle: Obstacle) -> Self {
        self.uncounted = Some((namespace.into(), pod.into(), obstacle));
        self
    }

    /// Removes the node's CSINode and its limits.
    #[must_use]
    pub fn unregistered(mut self) -> Self {
        self.unregistered = true;
        self.limits.clear();
        self
    }

    /// Marks a driver as one that pods with its volumes need on the node, and that is not there.
    #[must_use]
    pub fn missing_driver(mut self, driver: &str) -> Self {
        self.missing_drivers.insert(driver.into());
        self
    }

    /// Makes a CSI driver replace an in-tree plugin on the node.
    #[must_use]
    pub fn migrated(mut self, plugin: &str) -> Self {
        self.migrated.insert(plugin.into());
        self
    }
}
