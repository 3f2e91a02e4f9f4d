//! Devices and pools as readers see them. Nothing here changes once it is made; snapshots share it.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::own::OwnValues;
use crate::metadata::devices::DeviceRecord;
use crate::metadata::{DeviceTraits, NanoAmounts, PoolName};
use nodesift_object::device::{Attribute, AttributeRef};
use nodesift_object::selector::NodeSelector;

/// A device. Equal devices of different pools are one.
#[derive(Debug)]
pub struct Device {
    /// Number of the device: equal devices have the same, and no number is ever given again to another device. Numbers are given one after
    /// the other from 0; [`u32::MAX`] stands for all devices for which none was left.
    pub id: u32,
    /// Name of the device, unique within its pool.
    pub name: Arc<str>,
    pub(super) model: Arc<Model>,
    /// The values that the model leaves to the device.
    pub(super) own: OwnValues,
}

/// Driver, traits, attribute names and common values of devices of one kind. Each is kept once, so that a device is little more than its
/// name and its UUID.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Model {
    pub(super) driver: Arc<str>,
    pub(super) traits: Arc<Traits>,
    /// Names of attributes as devices write them, sorted.
    pub(super) names: Arc<[Arc<str>]>,
    /// Values of the attributes, in the order of `names`.
    pub(super) values: Box<[Value]>,
}

/// The value of an attribute in a model.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) enum Value {
    /// Value that all devices of the model have.
    Common(Arc<Attribute>),
    /// Index into [`Device::own`]; such indexes ascend.
    Own(usize),
}

impl Device {
    /// Returns the name of the DRA driver that offers the device.
    pub fn driver(&self) -> &Arc<str> {
        &self.model.driver
    }

    /// Returns the capacities, taints and other traits that the device shares with others.
    pub fn traits(&self) -> &Arc<Traits> {
        &self.model.traits
    }

    /// Attributes by name as the device writes it, with or without a domain, sorted by name.
    pub fn attributes(&self) -> impl Iterator<Item = (&Arc<str>, AttributeRef<'_>)> {
        let mut own = self.own.iter();
        self.model.names.iter().zip(&self.model.values).filter_map(move |(name, value)| match value {
            Value::Common(value) => Some((name, value.borrowed())),
            Value::Own(_) => Some((name, own.next()?)),
        })
    }

    /// The attribute of a full name, or of the name alone where the domain is the driver's. Source: `lookupAttribute` in
    /// k8s.io/dynamic-resource-allocation/structured/internal.
    pub fn attribute(&self, full_name: &str) -> Option<AttributeRef<'_>> {
        self.attribute_at(self.attribute_place(full_name)?)
    }

    /// The place of the attribute of a full name.
    pub fn attribute_place(&self, full_name: &str) -> Option<usize> {
        let written = |name: &str| self.model.names.binary_search_by(|known| (**known).cmp(name)).ok();
        written(full_name).or_else(|| {
            let (domain, name) = full_name.split_once('/')?;
            (*domain == *self.model.driver && !name.is_empty()).then(|| written(name))?
        })
    }

    /// The attribute at a place.
    pub fn attribute_at(&self, place: usize) -> Option<AttributeRef<'_>> {
        match self.model.values.get(place)? {
            Value::Common(value) => Some(value.borrowed()),
            Value::Own(place) => self.own.get(*place),
        }
    }

    /// Returns a key of the attributes' places: equal where drivers and attribute names are, among devices that are in use at the same
    /// time.
    pub fn attribute_layout(&self) -> (usize, usize) {
        (Arc::as_ptr(&self.model.driver).addr(), Arc::as_ptr(&self.model.names).addr())
    }

    /// Whether it was made of such a record of its driver.
    pub(super) fn is_of(&self, record: &DeviceRecord) -> bool {
        let attributes = record.attributes.iter().map(|(name, value)| (name, value.borrowed()));
        self.name == record.name && self.model.traits.content == record.traits && self.attributes().eq(attributes)
    }
}

impl DeviceRecord {
    /// The record of which a device was made.
    pub(super) fn from_device(device: &Device) -> Self {
        Self {
            name: Arc::clone(&device.name),
            attributes: device.attributes().map(|(name, value)| (Arc::clone(name), value.owned())).collect(),
            traits: device.traits().content.clone(),
        }
    }
}

/// Everything but the number, which follows from it. Which values are the model's does not matter.
impl PartialEq for Device {
    fn eq(&self, other: &Self) -> bool {
        let Self { id: _, name, model, own } = self;
        let is_same = || {
            model.driver == other.model.driver
                && model.traits == other.model.traits
                && self.attributes().eq(other.attributes())
        };
        *name == other.name && (if *model == other.model { *own == other.own } else { is_same() })
    }
}

impl Eq for Device {}

impl Hash for Device {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
        self.model.driver.hash(state);
        self.model.traits.hash(state);
        self.attributes().for_each(|attribute| attribute.hash(state));
    }
}

/// Traits of devices apart from names and attributes, kept once for all devices that have them.
#[derive(Debug)]
pub struct Traits {
    /// Number of the traits: equal traits have the same, and no number is ever given again to others; [`Traits::LAST`] stands for all
    /// traits for which none was left, like [`u32::MAX`] in [`Device::id`].
    pub number: u32,
    /// Capacities, taints, counters and binding conditions.
    pub content: DeviceTraits,
}

impl Traits {
    /// The greatest number: [`SeenDevice`] keeps it with one bit more.
    pub const LAST: u32 = u32::MAX >> 1;
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
    /// Driver and name of the pool.
    pub name: Arc<PoolName>,
    /// Whether devices can be allocated from it.
    pub state: PoolState,
    /// Counters, sorted by set and name; none unless devices can be allocated.
    pub counters: Box<[SeenCounter]>,
    /// Devices in kube-scheduler's order; none unless the state is [`PoolState::Ok`], or [`DeviceRules::shows_all_pools`].
    ///
    /// [`DeviceRules::shows_all_pools`]: crate::DeviceRules::shows_all_pools
    pub devices: Box<[SeenDevice]>,
}

impl SeenPool {
    /// Whether a device that is seen has binding conditions.
    pub(super) fn binds(&self) -> bool {
        self.devices.iter().any(|seen| seen.device.traits().content.binding.is_some())
    }
}

/// Whether devices can be allocated from a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PoolState {
    /// Devices can be allocated from the pool.
    Ok,
    /// Slices of the newest generation are missing.
    Incomplete,
    /// Slices contradict each other: devices draw on unknown counters, or names are used twice.
    Invalid,
}

/// A counter of a pool, in billionths of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SeenCounter {
    /// Total amount of the counter.
    pub total: i128,
    /// Amount that devices in use draw; may be more than the total.
    pub held: i128,
}

/// Whether a device is for a node, or why that cannot be told.
pub type Reaches = Result<bool, Arc<str>>;

/// The nodes that a device is for, as an allocation has to name them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeviceNodes {
    /// All nodes of the cluster.
    All,
    /// Only the node that sees the device; the slice or the device names it.
    One,
    /// Nodes that match the selector.
    Selected(Arc<NodeSelector>),
}

/// Counters that a device draws from: index into [`SeenPool::counters`], and amount in billionths of a unit. A counter may appear twice.
pub type Draws = Arc<[(u32, i128)]>;

/// A device of a pool as some nodes see it. Questions look at all devices of all nodes, and most of what they need is here, so that
/// a pool is read from one end to the other and not device by device from elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenDevice {
    /// The device itself, shared by all pools that list it.
    pub device: Arc<Device>,
    /// Copy of [`Device::id`], so that it is read without following a reference.
    id: u32,
    /// Twice [`Traits::number`], and one more where a claim has it for itself.
    traits_and_use: u32,
    /// Reach, shares and counters of the device; `None` for most, which have none.
    pub(super) special: Option<Arc<Special>>,
}

/// Reach, shares and counters of a device, where it is not simply for all nodes that see the slice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Special {
    pub(super) reaches: Reaches,
    pub(super) shared: Option<NanoAmounts>,
    pub(super) consumes: Draws,
}

impl SeenDevice {
    pub(super) fn new(device: &Arc<Device>, special: Option<Arc<Special>>, exclusive: bool) -> Self {
        let traits_and_use = (device.traits().number << 1) | u32::from(exclusive);
        Self { device: Arc::clone(device), id: device.id, traits_and_use, special }
    }

    /// Returns [`Device::id`] of the device.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Returns [`Traits::number`] of the device.
    pub fn traits_number(&self) -> u32 {
        self.traits_and_use >> 1
    }

    /// Whether a claim has it for itself.
    pub fn exclusive(&self) -> bool {
        self.traits_and_use & 1 == 1
    }

    /// Whether it is for the node.
    pub fn reaches(&self) -> &Reaches {
        const YES: &Reaches = &Ok(true);
        self.special.as_ref().map_or(YES, |special| &special.reaches)
    }

    /// Returns the amounts that claims with shares of the device hold, in billionths of a unit; `None` where none has a share.
    pub fn shared(&self) -> Option<&NanoAmounts> {
        self.special.as_ref()?.shared.as_ref()
    }

    /// Returns the counters that the device draws from, by index into [`SeenPool::counters`], with amounts in billionths of a unit.
    pub fn consumes(&self) -> &[(u32, i128)] {
        self.special.as_ref().map_or(&[], |special| &special.consumes)
    }

    /// Whether [`Self::reaches`], [`Self::shared`] and [`Self::consumes`] say what they do of most devices: it is for the node, and
    /// there is nothing else.
    pub fn is_plain(&self) -> bool {
        self.special.is_none()
    }
}
