//! ResourceSlices as compiled facts: what the cache keeps of a slice and of its devices, and what an allocated claim holds.
//!
//! Start with [`SliceRecord`]. Pure functions; which devices are in use and who sees them is in `devices`.

use std::sync::Arc;

use super::labels::Labels;
use super::node_selector::NodeSelectorTest;
use nodesift_object::Quantity;
use nodesift_object::claim::AllocatedDevice;
use nodesift_object::device::{self, Attribute, DeviceTaint, DeviceTaintRule, ResourceSlice};
use nodesift_object::selector::NodeSelector;

/// A quantity in the two ways in which kube-scheduler compares it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Amount {
    /// Exactly, in billionths of a unit.
    pub nano_units: i128,
    /// Amount in whole units, as Go's `Quantity.Value()` rounds and overflows.
    pub units: i64,
}

impl From<&Quantity> for Amount {
    fn from(quantity: &Quantity) -> Self {
        Self { nano_units: quantity.nano(), units: quantity.value_rounded_up() }
    }
}

/// Amounts by name, in billionths of a unit, sorted by name.
pub type NanoAmounts = Arc<[(Arc<str>, i128)]>;

/// Driver and name of a pool of devices, which identify it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PoolName {
    /// Name of the DRA driver that offers the pool.
    pub driver: Arc<str>,
    /// Name of the pool, unique within the driver.
    pub name: Arc<str>,
}

/// Driver, pool and name of a device, which identify it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceId {
    /// Name of the DRA driver that offers the device.
    pub driver: Arc<str>,
    /// Name of the pool, unique within the driver.
    pub pool: Arc<str>,
    /// Name of the device, unique within the pool.
    pub device: Arc<str>,
}

/// A device, or a share of one, that an allocated claim holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// Device that is held.
    pub device: DeviceId,
    /// Amounts that a share of the device consumes; `None` where the claim has the device for itself.
    pub share: Option<NanoAmounts>,
}

impl Hold {
    /// Compiles a result of an allocation; `None` with admin access, which holds nothing.
    pub fn compile(result: &AllocatedDevice) -> Option<Self> {
        let device = DeviceId {
            driver: Arc::from(result.driver.as_str()),
            pool: Arc::from(result.pool.as_str()),
            device: Arc::from(result.device.as_str()),
        };
        let amounts = || result.consumed_capacity.iter().map(|(name, amount)| (Arc::from(name), amount.nano()));
        let share = result.share_id.as_ref().map(|_| amounts().collect());
        (!result.admin_access).then_some(Self { device, share })
    }
}

/// A capacity of a device.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DeviceCapacity {
    /// Name of the capacity as the device writes it.
    pub name: Arc<str>,
    /// Total amount of the capacity.
    pub value: Amount,
    /// Total amount as it is written.
    pub text: Arc<str>,
    /// Amount that a request without one consumes; `None` means the whole capacity.
    pub default: Option<Amount>,
    /// Amounts that can be consumed; empty for any.
    pub valid_values: Vec<Amount>,
    /// Range of amounts that can be consumed.
    pub valid_range: Option<AmountRange>,
}

/// A range of amounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AmountRange {
    /// Smallest amount; none where nothing is rounded.
    pub min: Option<Amount>,
    /// Largest amount; none where there is no limit.
    pub max: Option<Amount>,
    /// The distance between amounts, from the least on.
    pub step: Option<Amount>,
}

/// Amounts that a device draws from one counter set of its pool.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SetConsumption {
    /// Name of the counter set.
    pub set: Arc<str>,
    /// Amounts by the name of the counter, sorted.
    pub counters: NanoAmounts,
}

/// Conditions to wait for before a pod is bound.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BindingConditions {
    /// Conditions that must hold; may be empty, which still puts the pool behind others.
    pub conditions: Vec<Arc<str>>,
    /// Conditions that make binding fail.
    pub failure_conditions: Vec<Arc<str>>,
}

/// Everything about a device but its names and attributes: what many devices have in common.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct DeviceTraits {
    /// Capacities, sorted by name.
    pub capacities: Vec<DeviceCapacity>,
    /// Whether several claims can have shares.
    pub multiple_allocations: bool,
    /// Taints, in the order in which the device lists them.
    pub taints: Vec<DeviceTaint>,
    /// Taints of DeviceTaintRules, in the order of the rules' names. A slice has none.
    pub rule_taints: Vec<DeviceTaint>,
    /// Counters that the device draws from, in the order in which it lists them.
    pub consumes: Vec<SetConsumption>,
    /// Binding conditions; `None` where there is nothing to wait for.
    pub binding: Option<BindingConditions>,
    /// Whether a claim with the device is for the chosen node only.
    pub binds_to_node: bool,
}

/// A device of a slice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeviceRecord {
    pub(crate) name: Arc<str>,
    /// Attributes by name as it is written, sorted.
    pub(crate) attributes: Vec<(Arc<str>, Attribute)>,
    pub(crate) traits: DeviceTraits,
}

/// A set of counters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CounterSet {
    pub(crate) name: Arc<str>,
    /// Totals by name, sorted.
    pub(crate) counters: NanoAmounts,
}

/// The nodes that a slice or a device is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reach {
    /// No node at all.
    Nowhere,
    /// Every node of the cluster.
    Everywhere,
    /// Only the node of this name.
    Node(Arc<str>),
    /// Nodes that match the selector; with the selector as it is written, which allocations repeat.
    Selected(Box<NodeSelectorTest>, Arc<NodeSelector>),
    /// Unknown nodes, since the selector is invalid.
    Broken(Box<BrokenReach>),
}

/// Error of an invalid node selector, in two forms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BrokenReach {
    /// Error about the selector alone.
    error: Arc<str>,
    /// Error with the name of the slice.
    of_slice: Arc<str>,
}

/// Compiled facts of a ResourceSlice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SliceRecord {
    pub(crate) name: Arc<str>,
    pub(crate) pool: PoolName,
    pub(crate) generation: i64,
    /// How many slices the generation has.
    pub(crate) slice_count: i64,
    /// The nodes that the slice says by itself; `None` where it says none.
    pub(crate) reach: Option<Reach>,
    pub(crate) counter_sets: Vec<CounterSet>,
    pub(crate) devices: Vec<DeviceRecord>,
    /// Per device the nodes that it is for, where the slice leaves that to devices.
    pub(crate) device_reaches: Option<Vec<Reach>>,
    /// Whether a device may be combined with some others only.
    pub(crate) has_groups: bool,
}

/// Compiled facts of a DeviceTaintRule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaintRuleRecord {
    pub(crate) name: Arc<str>,
    /// Whether it has a selector.
    pub(crate) selects: bool,
    pub(crate) driver: Option<Arc<str>>,
    pub(crate) pool: Option<Arc<str>>,
    pub(crate) device: Option<Arc<str>>,
    pub(crate) taint: DeviceTaint,
}

impl TaintRuleRecord {
    /// Compiles the facts of a DeviceTaintRule.
    pub fn compile(rule: &DeviceTaintRule) -> Self {
        let selector = rule.spec.device_selector.as_ref();
        let text = |text: &String| Arc::from(text.as_str());
        Self {
            name: Arc::from(rule.metadata.name.as_str()),
            selects: selector.is_some(),
            driver: selector.and_then(|selector| selector.driver.as_ref()).map(text),
            pool: selector.and_then(|selector| selector.pool.as_ref()).map(text),
            device: selector.and_then(|selector| selector.device.as_ref()).map(text),
            taint: rule.spec.taint.clone(),
        }
    }

    /// Whether it may select devices of a pool. `bare` says whether it does so without a selector.
    pub(crate) fn concerns(&self, pool: &PoolName, bare: bool) -> bool {
        let is_any_or = |selected: &Option<Arc<str>>, name: &Arc<str>| selected.as_ref().is_none_or(|it| it == name);
        (self.selects || bare) && is_any_or(&self.driver, &pool.driver) && is_any_or(&self.pool, &pool.name)
    }

    /// Whether it selects a device of a pool that it concerns.
    pub(crate) fn selects(&self, device: &str) -> bool {
        self.device.as_ref().is_none_or(|selected| **selected == *device)
    }
}

impl Reach {
    /// Compiles the three fields that select nodes. Source: `nodeMatches` in
    /// k8s.io/dynamic-resource-allocation/structured/internal/pools.go.
    fn compile(slice: &str, node: Option<&str>, everywhere: bool, selector: Option<&NodeSelector>) -> Self {
        match (node.filter(|node| !node.is_empty()), selector) {
            (Some(node), _) => Self::Node(Arc::from(node)),
            (None, _) if everywhere => Self::Everywhere,
            (None, None) => Self::Nowhere,
            (None, Some(selector)) => {
                let test = NodeSelectorTest::compile(selector);
                let Some(error) = test.error() else {
                    return Self::Selected(Box::new(test), Arc::new(selector.clone()));
                };
                let error = format!("failed to parse node selector: {error}");
                let of_slice = Arc::from(format!("failed to perform node selection for slice {slice}: {error}"));
                Self::Broken(Box::new(BrokenReach { error: Arc::from(error), of_slice }))
            }
        }
    }

    /// Whether a node is among them.
    ///
    /// # Errors
    ///
    /// The errors of [`Reach::Broken`]: about it alone, and about its slice.
    pub(crate) fn has(&self, name: &str, labels: &Labels) -> Result<bool, (&Arc<str>, &Arc<str>)> {
        match self {
            Self::Nowhere => Ok(false),
            Self::Everywhere => Ok(true),
            Self::Node(node) => Ok(**node == *name),
            Self::Selected(test, _) => Ok(test.matches(labels, name)),
            Self::Broken(broken) => Err((&broken.error, &broken.of_slice)),
        }
    }
}

impl SliceRecord {
    /// Compiles the facts of a ResourceSlice.
    pub fn compile(slice: &ResourceSlice) -> Self {
        let (name, spec) = (slice.metadata.name.as_str(), &slice.spec);
        let reach = Reach::compile(name, spec.node_name.as_deref(), spec.all_nodes, spec.node_selector.as_ref());
        let device_reach = |device: &device::Device| {
            Reach::compile(name, device.node_name.as_deref(), device.all_nodes, device.node_selector.as_ref())
        };
        let set = |set: &device::CounterSet| CounterSet {
            name: Arc::from(set.name.as_str()),
            counters: counters(&set.counters),
        };
        Self {
            name: Arc::from(name),
            pool: PoolName { driver: Arc::from(spec.driver.as_str()), name: Arc::from(spec.pool.name.as_str()) },
            generation: spec.pool.generation,
            slice_count: spec.pool.resource_slice_count,
            reach: (reach != Reach::Nowhere).then_some(reach),
            counter_sets: spec.shared_counters.iter().map(set).collect(),
            devices: spec.devices.iter().map(device_record).collect(),
            has_groups: spec.devices.iter().any(|device| {
                device.consumes_counters.iter().any(|consumption| !consumption.compatibility_groups.is_empty())
            }),
            device_reaches: spec.per_device_node_selection.then(|| spec.devices.iter().map(device_reach).collect()),
        }
    }

    /// Name of the slice, from `metadata.name`.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }
}

fn device_record(device: &device::Device) -> DeviceRecord {
    let attribute = |(name, value): (&str, &Attribute)| (Arc::from(name), value.clone());
    let texts = |texts: &[String]| texts.iter().map(|text| Arc::from(text.as_str())).collect();
    let consumption = |consumption: &device::Consumption| SetConsumption {
        set: Arc::from(consumption.counter_set.as_str()),
        counters: counters(&consumption.counters),
    };
    DeviceRecord {
        name: Arc::from(device.name.as_str()),
        attributes: device.attributes.iter().map(attribute).collect(),
        traits: DeviceTraits {
            capacities: device.capacity.iter().map(|(name, capacity)| device_capacity(name, capacity)).collect(),
            multiple_allocations: device.allow_multiple_allocations,
            taints: device.taints.clone(),
            rule_taints: Vec::new(),
            consumes: device.consumes_counters.iter().map(consumption).collect(),
            binding: device.binding_conditions.as_ref().map(|conditions| BindingConditions {
                conditions: texts(conditions),
                failure_conditions: texts(&device.binding_failure_conditions),
            }),
            binds_to_node: device.binds_to_node,
        },
    }
}

fn counters(counters: &nodesift_object::Map<device::Counter>) -> NanoAmounts {
    counters.iter().map(|(name, counter)| (Arc::from(name), counter.value.nano())).collect()
}

fn device_capacity(name: &str, capacity: &device::Capacity) -> DeviceCapacity {
    let amount = |quantity: &Option<Quantity>| quantity.as_ref().map(Amount::from);
    let policy = capacity.request_policy.as_ref();
    DeviceCapacity {
        name: Arc::from(name),
        value: Amount::from(&capacity.value.quantity),
        text: Arc::from(capacity.value.text.as_str()),
        default: policy.and_then(|policy| amount(&policy.default)),
        valid_values: policy.map(|policy| policy.valid_values.iter().map(Amount::from).collect()).unwrap_or_default(),
        valid_range: policy.and_then(|policy| policy.valid_range.as_ref()).map(|range| AmountRange {
            min: amount(&range.min),
            max: amount(&range.max),
            step: amount(&range.step),
        }),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
mod tests {
    use super::*;

    fn amount(text: &str) -> Amount {
        Amount::from(&text.parse().unwrap())
    }

    #[test]
    fn capacities_keep_their_text_and_their_policy() {
        let slice = serde_json::from_str(
            r#"{"metadata":{"name":"s"},"spec":{"devices":[{"name":"g","bindsToNode":true,
                "bindingConditions":["a"],"bindingFailureConditions":["b"],"capacity":{
                "a":{"value":"1500m","requestPolicy":{"default":"1","validRange":{"min":"1","step":"500m"}}},
                "b":{"value":3,"requestPolicy":{"validValues":["1","2"]}}, "c":null}}]}}"#,
        );
        let record = SliceRecord::compile(&slice.unwrap());
        let traits = &record.devices[0].traits;
        let [a, b, c] = [0, 1, 2].map(|place| &traits.capacities[place]);
        assert_eq!((&*a.name, &*a.text, a.value), ("a", "1500m", Amount { nano_units: 1_500_000_000, units: 2 }));
        let range = AmountRange { min: Some(amount("1")), max: None, step: Some(amount("500m")) };
        assert_eq!((a.default, a.valid_range, a.valid_values.len()), (Some(amount("1")), Some(range), 0));
        assert_eq!((&*b.text, b.default, b.valid_range), ("3", None, None));
        assert_eq!(b.valid_values, [amount("1"), amount("2")]);
        assert_eq!((&*c.text, c.value), ("0", Amount::default()));
        let binding = traits.binding.as_ref().unwrap();
        assert_eq!((&*binding.conditions[0], &*binding.failure_conditions[0], traits.binds_to_node), ("a", "b", true));
    }

    #[test]
    fn admin_access_holds_nothing_and_a_share_holds_amounts() {
        let hold = |json: &str| Hold::compile(&serde_json::from_str(json).unwrap());
        assert_eq!(hold(r#"{"driver":"d","pool":"p","device":"g","adminAccess":true}"#), None);
        assert_eq!(hold(r#"{"device":"g","consumedCapacity":{"a":"1"}}"#).unwrap().share, None);
        let share =
            hold(r#"{"device":"g","shareID":"x","consumedCapacity":{"b":"2","a":"1"}}"#).unwrap().share.unwrap();
        assert_eq!(*share, [(Arc::from("a"), 1_000_000_000), (Arc::from("b"), 2_000_000_000)]);
        assert_eq!(hold(r#"{"device":"g","shareID":""}"#).unwrap().share, Some(NanoAmounts::default()));
    }
}
