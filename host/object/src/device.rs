//! Devices that drivers offer: ResourceSlices of `resource.k8s.io/v1`, with only the fields that DynamicResources reads. Those of
//! `v1beta1`, whose devices have all but their name in `basic`, become the same.
//!
//! Start with [`ResourceSlice`]. The claims on devices are in [`crate::claim`].

use std::mem;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::Map;
use crate::elements::Elements;
use crate::field::{null_is_default, text_enum};
use crate::quantity::Quantity;
use crate::selector::NodeSelector;
use crate::storage::Metadata;

/// A resource.k8s.io ResourceSlice: part of a pool of devices.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ResourceSlice {
    /// Name and identity. Within a pool, devices are tried in the order of their slices' names.
    pub metadata: Metadata,
    /// Pool, nodes, devices and shared counters that the slice publishes.
    #[serde(default, deserialize_with = "null_is_default")]
    pub spec: ResourceSliceSpec,
}

/// `spec` of a ResourceSlice.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceSliceSpec {
    /// The driver's name, which is the domain of attributes without one.
    #[serde(default, deserialize_with = "null_is_default")]
    pub driver: String,
    /// Pool of devices that the slice is a part of.
    #[serde(default, deserialize_with = "null_is_default")]
    pub pool: Pool,
    /// Name of the only node that can use the devices; none where nodes are not given by name.
    #[serde(default, deserialize_with = "empty_is_none")]
    pub node_name: Option<String>,
    /// Whether all nodes can use its devices.
    #[serde(default, deserialize_with = "null_is_default")]
    pub all_nodes: bool,
    /// Selector of the nodes that have access. Without a selector, a node name and the flag for all nodes, none has.
    #[serde(default)]
    pub node_selector: Option<NodeSelector>,
    /// Whether each device says its own nodes.
    #[serde(default, deserialize_with = "null_is_default")]
    pub per_device_node_selection: bool,
    /// The devices, in the order in which they are tried.
    #[serde(default, deserialize_with = "devices")]
    pub devices: Vec<Device>,
    /// Counters on which devices of the pool draw; a slice has these or devices.
    #[serde(default, deserialize_with = "null_is_default")]
    pub shared_counters: Vec<CounterSet>,
}

/// Pool of a ResourceSlice, as in `spec.pool`: name, generation, and number of slices.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pool {
    /// Name of the pool, unique within the driver.
    #[serde(default, deserialize_with = "null_is_default")]
    pub name: String,
    /// Generation of the pool: of its slices only those of the greatest one count.
    #[serde(default, deserialize_with = "null_is_default")]
    pub generation: i64,
    /// How many slices the generation has; with fewer the pool is incomplete.
    #[serde(default, deserialize_with = "null_is_default")]
    pub resource_slice_count: i64,
}

/// A device of a ResourceSlice: attributes, capacities, counters, nodes and taints.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Device {
    /// Name, unique within the pool.
    #[serde(default, deserialize_with = "null_is_default")]
    pub name: String,
    /// Attributes by name, with or without a domain.
    #[serde(default, deserialize_with = "null_is_default")]
    pub attributes: Map<Attribute>,
    /// Capacities by name, with or without a domain.
    #[serde(default, deserialize_with = "null_is_default")]
    pub capacity: Map<Capacity>,
    /// Amounts that the device draws from counter sets of its pool.
    #[serde(default, deserialize_with = "null_is_default")]
    pub consumes_counters: Vec<Consumption>,
    /// The one node that can use it, where the slice leaves that to devices; none where it is not said by name.
    #[serde(default)]
    pub node_name: Option<String>,
    /// Whether all nodes can use it, where the slice leaves that to devices.
    #[serde(default, deserialize_with = "null_is_default")]
    pub all_nodes: bool,
    /// Selector of the nodes that have access. Without a selector, a node name and the flag for all nodes, none has.
    #[serde(default)]
    pub node_selector: Option<NodeSelector>,
    /// Taints: the device is not allocated to requests that do not tolerate them.
    #[serde(default, deserialize_with = "null_is_default")]
    pub taints: Vec<DeviceTaint>,
    /// Whether a claim with this device is for the chosen node only.
    #[serde(default, deserialize_with = "null_is_default")]
    pub binds_to_node: bool,
    /// Conditions that a claim's status must show before its pod is bound; none and empty differ in the order of pools.
    #[serde(default)]
    pub binding_conditions: Option<Vec<String>>,
    /// Conditions that make binding fail.
    #[serde(default, deserialize_with = "null_is_default")]
    pub binding_failure_conditions: Vec<String>,
    /// Whether several claims may share the device.
    #[serde(default, deserialize_with = "null_is_default")]
    pub allow_multiple_allocations: bool,
    /// Fields of the device in `v1beta1`, all but the name; moved out of here as soon as they are read.
    #[serde(default)]
    basic: Option<Box<Device>>,
}

/// Devices in the form of any version.
fn devices<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Device>, D::Error> {
    let mut devices: Vec<Device> = null_is_default(deserializer)?;
    for device in &mut devices {
        if let Some(basic) = device.basic.take() {
            let name = mem::take(&mut device.name);
            *device = Device { name, basic: None, ..*basic };
        }
    }
    Ok(devices)
}

/// Reads a text that `v1beta1` writes empty where there is none.
fn empty_is_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.filter(|text| !text.is_empty()))
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Attribute {
    /// Integer, as in `int`.
    Int(i64),
    /// Boolean, as in `bool`.
    Bool(bool),
    /// Text, as in `string`.
    String(String),
    /// Semantic version (`version`), kept as text.
    Version(String),
    /// List, as in `ints`, `bools`, `strings` or `versions`. Selectors see it from Kubernetes 1.37 on.
    List(Elements),
    /// Value of another type. Selectors cannot see a device that has one.
    #[default]
    Unsupported,
}

/// The value of an attribute, borrowed from wherever it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AttributeRef<'a> {
    /// Integer, as [`Attribute::Int`] holds it.
    Int(i64),
    /// Boolean, as [`Attribute::Bool`] holds it.
    Bool(bool),
    /// Text, borrowed from an [`Attribute::String`].
    String(&'a str),
    /// Semantic version, borrowed from an [`Attribute::Version`].
    Version(&'a str),
    /// List, as the text of an [`Attribute::List`].
    List(&'a str),
    /// Value of another type, as [`Attribute::Unsupported`] stands for.
    Unsupported,
}

impl AttributeRef<'_> {
    /// Returns the value with a copy of its text.
    pub fn owned(self) -> Attribute {
        match self {
            Self::Int(value) => Attribute::Int(value),
            Self::Bool(value) => Attribute::Bool(value),
            Self::String(text) => Attribute::String(text.to_owned()),
            Self::Version(text) => Attribute::Version(text.to_owned()),
            Self::List(text) => Attribute::List(Elements::from_text(text)),
            Self::Unsupported => Attribute::Unsupported,
        }
    }

    /// Returns the value as constraints compare it: they do not know lists.
    #[must_use]
    pub fn compared(self) -> Self {
        if let Self::List(_) = self { Self::Unsupported } else { self }
    }
}

impl Attribute {
    /// Returns the value with its text borrowed.
    pub fn borrowed(&self) -> AttributeRef<'_> {
        match self {
            Self::Int(value) => AttributeRef::Int(*value),
            Self::Bool(value) => AttributeRef::Bool(*value),
            Self::String(text) => AttributeRef::String(text),
            Self::Version(text) => AttributeRef::Version(text),
            Self::List(elements) => AttributeRef::List(elements.text()),
            Self::Unsupported => AttributeRef::Unsupported,
        }
    }
}

impl<'de> Deserialize<'de> for Attribute {
    /// Reads the value; of several the first counts, in kube-scheduler's order. The API server refuses a list beside another value.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Fields {
            #[serde(default)]
            int: Option<i64>,
            #[serde(default)]
            bool: Option<bool>,
            #[serde(default)]
            string: Option<String>,
            #[serde(default)]
            version: Option<String>,
            #[serde(default)]
            ints: Option<Vec<i64>>,
            #[serde(default)]
            bools: Option<Vec<bool>>,
            #[serde(default)]
            strings: Option<Vec<String>>,
            #[serde(default)]
            versions: Option<Vec<String>>,
        }
        let fields = Fields::deserialize(deserializer)?;
        let int = fields.int.map(Self::Int);
        let others =
            fields.bool.map(Self::Bool).or(fields.string.map(Self::String)).or(fields.version.map(Self::Version));
        let ints = fields.ints.map(|values| Elements::from_ints(&values));
        let bools = fields.bools.map(|values| Elements::from_bools(&values));
        let strings = fields.strings.map(|values| Elements::from_strings(&values));
        let versions = fields.versions.map(|values| Elements::from_versions(&values));
        let list = ints.or(bools).or(strings).or(versions).map(Self::List);
        Ok(int.or(others).or(list).unwrap_or_default())
    }
}

/// Capacity of a device: its amount, and how requests for it are rounded.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Capacity {
    /// Amount that the device has.
    #[serde(default, deserialize_with = "null_is_default")]
    pub value: WrittenQuantity,
    /// How requests are rounded; none leaves them as they are.
    #[serde(default)]
    pub request_policy: Option<RequestPolicy>,
}

/// A quantity with its text, which selectors parse by themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenQuantity {
    /// Text of the quantity as written in the object, trimmed; a number in its decimal form.
    pub text: String,
    /// Amount that the text stands for.
    pub quantity: Quantity,
}

impl Default for WrittenQuantity {
    fn default() -> Self {
        Self { text: "0".to_owned(), quantity: Quantity::default() }
    }
}

impl<'de> Deserialize<'de> for WrittenQuantity {
    /// Reads a string or a number, like a [`Quantity`].
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Text(String),
            Int(i64),
            Float(f64),
        }
        let text = match Written::deserialize(deserializer)? {
            Written::Text(text) => text,
            Written::Int(number) => number.to_string(),
            Written::Float(number) => number.to_string(),
        };
        let text = text.trim();
        Ok(Self { text: text.to_owned(), quantity: text.parse().map_err(D::Error::custom)? })
    }
}

/// How requests for a capacity are rounded.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestPolicy {
    /// Amount that a request without one consumes; none means the whole capacity.
    #[serde(default)]
    pub default: Option<Quantity>,
    /// The amounts that can be taken, ascending; empty for any.
    #[serde(default, deserialize_with = "null_is_default")]
    pub valid_values: Vec<Quantity>,
    /// The range of amounts that can be taken.
    #[serde(default)]
    pub valid_range: Option<ValidRange>,
}

/// A range of amounts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct ValidRange {
    /// Smallest amount; without it nothing is rounded.
    #[serde(default)]
    pub min: Option<Quantity>,
    /// Largest amount; none where there is no limit.
    #[serde(default)]
    pub max: Option<Quantity>,
    /// Amounts are the least one and multiples of this more.
    #[serde(default)]
    pub step: Option<Quantity>,
}

/// A set of counters of a pool.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct CounterSet {
    /// Name, unique within the pool.
    #[serde(default, deserialize_with = "null_is_default")]
    pub name: String,
    /// Available amounts, by name of the counter.
    #[serde(default, deserialize_with = "null_is_default")]
    pub counters: Map<Counter>,
}

/// Amounts that a device draws from one counter set of its pool, an entry of `consumesCounters`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Consumption {
    /// Name of the counter set.
    #[serde(default, deserialize_with = "null_is_default")]
    pub counter_set: String,
    /// Groups of devices of which one can be allocated beside the others of the group; empty for any.
    #[serde(default, deserialize_with = "null_is_default")]
    pub compatibility_groups: Vec<String>,
    /// Amounts drawn, by name of the counter.
    #[serde(default, deserialize_with = "null_is_default")]
    pub counters: Map<Counter>,
}

/// An amount of a counter.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct Counter {
    /// Amount that is available in a counter set, or that a device draws.
    #[serde(default, deserialize_with = "null_is_default")]
    pub value: Quantity,
}

text_enum! {
    /// The effect of a device's taint.
    DeviceTaintEffect: absent Other, else Other {
        /// The device is not allocated.
        NoSchedule = "NoSchedule",
        /// The device is not allocated; pods that use it are evicted.
        NoExecute = "NoExecute",
        /// `None` and anything unknown: no effect on allocation.
        Other,
    }
}

/// A taint of a device.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize)]
pub struct DeviceTaint {
    /// Key of the taint; the API server allows no empty one.
    #[serde(default, deserialize_with = "null_is_default")]
    pub key: String,
    /// Value of the taint; may be empty.
    #[serde(default, deserialize_with = "null_is_default")]
    pub value: String,
    /// Effect of the taint on requests that do not tolerate it.
    #[serde(default, deserialize_with = "null_is_default")]
    pub effect: DeviceTaintEffect,
}

/// A resource.k8s.io DeviceTaintRule: a taint for all devices that it selects.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct DeviceTaintRule {
    /// `metadata` of the object: name and identity.
    pub metadata: Metadata,
    /// Selected devices, and their taint.
    #[serde(default, deserialize_with = "null_is_default")]
    pub spec: DeviceTaintRuleSpec,
}

/// `spec` of a DeviceTaintRule.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeviceTaintRuleSpec {
    /// Selector of devices; without one it selects none, and until Kubernetes 1.36 all.
    #[serde(default)]
    pub device_selector: Option<DeviceTaintSelector>,
    /// Taint of the selected devices.
    #[serde(default, deserialize_with = "null_is_default")]
    pub taint: DeviceTaint,
}

/// Selector of devices in a DeviceTaintRule; empty for all of them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct DeviceTaintSelector {
    /// Name of their driver; none for any.
    #[serde(default)]
    pub driver: Option<String>,
    /// Name of their pool; none for any, also of several drivers.
    #[serde(default)]
    pub pool: Option<String>,
    /// Name of the device; none for any.
    #[serde(default)]
    pub device: Option<String>,
}
