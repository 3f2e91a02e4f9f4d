//! Devices and pools as readers see them. Nothing here changes once it is made; snapshots share it.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::metadata::devices::DeviceRecord;
use crate::metadata::{DeviceTraits, NanoAmounts, PoolName};
use nodesift_object::device::Attribute;
use nodesift_object::selector::NodeSelector;

/// A device. Equal devices of different pools are one.
#[derive(Debug)]
pub struct Device {
    /// Its number: equal devices have the same, and no number is ever given again to another device. They are given one after
    /// the other from 0; [`u32::MAX`] stands for all devices for which none was left.
    pub id: u32,
    /// Unique within its pool.
    pub name: Arc<str>,
    /// Who offers it.
    pub driver: Arc<str>,
    /// What it has in common with others.
    pub traits: Arc<Traits>,
    /// Names of attributes as the device writes them, sorted.
    pub(super) attribute_names: Arc<[Arc<str>]>,
    /// The values, in the same order.
    pub(super) attribute_values: Box<[Arc<Attribute>]>,
}

impl Device {
    /// Attributes by name as the device writes it, with or without a domain, sorted by name.
    pub fn attributes(&self) -> impl ExactSizeIterator<Item = (&Arc<str>, &Arc<Attribute>)> {
        self.attribute_names.iter().zip(&self.attribute_values)
    }

    /// The attribute of a full name, or of the name alone where the domain is the driver's. Source: `lookupAttribute` in
    /// k8s.io/dynamic-resource-allocation/structured/internal.
    pub fn attribute(&self, full_name: &str) -> Option<&Arc<Attribute>> {
        self.written(full_name).or_else(|| {
            let (domain, name) = full_name.split_once('/')?;
            (*domain == *self.driver && !name.is_empty()).then(|| self.written(name))?
        })
    }

    fn written(&self, name: &str) -> Option<&Arc<Attribute>> {
        let place = self.attribute_names.binary_search_by(|known| (**known).cmp(name)).ok()?;
        self.attribute_values.get(place)
    }

    /// Whether it was made of such a record of its driver.
    pub(super) fn is_of(&self, record: &DeviceRecord) -> bool {
        let attributes = record.attributes.iter().map(|(name, value)| (name, value));
        self.name == record.name
            && self.traits.content == record.traits
            && self.attributes().map(|(name, value)| (name, &**value)).eq(attributes)
    }

    /// Everything but the number, which follows from it.
    fn content(&self) -> impl PartialEq + Hash {
        (&self.name, &self.driver, &self.traits, &self.attribute_names, &self.attribute_values)
    }
}

impl PartialEq for Device {
    fn eq(&self, other: &Self) -> bool {
        let Self { id: _, name, driver, traits, attribute_names, attribute_values } = self;
        *name == other.name
            && *driver == other.driver
            && *traits == other.traits
            && *attribute_names == other.attribute_names
            && *attribute_values == other.attribute_values
    }
}

impl Eq for Device {}

impl Hash for Device {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.content().hash(state);
    }
}

/// What devices have in common apart from names and attributes.
#[derive(Debug)]
pub struct Traits {
    /// Its number: equal traits have the same, and no number is ever given again to others; [`u32::MAX`] as in [`Device::id`].
    pub number: u32,
    /// The traits.
    pub content: DeviceTraits,
}

impl PartialEq for Traits {
    fn eq(&self, other: &Self) -> bool {
        self.content == other.content
    }
}

impl Eq for Traits {}

impl Hash for Traits {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.content.hash(state);
    }
}

/// The pools that a node sees, in kube-scheduler's order: by driver and name, those with binding conditions last. Equal lists may
/// or may not be one.
pub type SeenPools = Arc<[Arc<SeenPool>]>;

/// A pool as some nodes see it. Nodes that see the same share it, until its slices or the use of its devices change.
#[derive(Debug, PartialEq, Eq)]
pub struct SeenPool {
    /// Driver and name.
    pub name: Arc<PoolName>,
    /// Whether devices can be allocated from it.
    pub state: PoolState,
    /// Counters, sorted by set and name; none unless the state is [`PoolState::Ok`].
    pub counters: Vec<SeenCounter>,
    /// Devices in kube-scheduler's order; none unless the state is [`PoolState::Ok`].
    pub devices: Vec<SeenDevice>,
}

impl SeenPool {
    /// Whether a device that is seen has binding conditions.
    pub(super) fn binds(&self) -> bool {
        self.devices.iter().any(|seen| seen.device.traits.content.binding.is_some())
    }
}

/// Whether devices can be allocated from a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PoolState {
    /// Yes.
    Ok,
    /// Slices are missing.
    Incomplete,
    /// It contradicts itself.
    Invalid,
}

/// A counter of a pool, in billionths of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SeenCounter {
    /// What there is.
    pub total: i128,
    /// What devices in use draw; may be more than there is.
    pub held: i128,
}

/// Whether a device is for a node, or why that cannot be told.
pub type Reaches = Result<bool, Arc<str>>;

/// The nodes that a device is for, as an allocation has to name them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeviceNodes {
    /// All.
    All,
    /// The one that sees it: it is said by name.
    One,
    /// Those that match.
    Selected(Arc<NodeSelector>),
}

/// What a device draws: place in [`SeenPool::counters`], and billionths of a unit. A counter may appear twice.
pub type Draws = Arc<[(u32, i128)]>;

/// A device of a pool as some nodes see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenDevice {
    /// The device.
    pub device: Arc<Device>,
    /// Whether it is for the node.
    pub reaches: Reaches,
    /// Whether a claim has it for itself.
    pub exclusive: bool,
    /// What claims with shares of it hold, in billionths of a unit; `None` where none has a share.
    pub shared: Option<NanoAmounts>,
    /// What it draws of the pool's counters.
    pub consumes: Draws,
}
