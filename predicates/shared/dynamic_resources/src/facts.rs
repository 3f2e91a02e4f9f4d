//! Facts about a pod's claims and a node's devices: plain records, shaped as the host will give them.
//!
//! Start with [`Facts`]. Claims are trees, for there are few of them. Devices are columns, for there are thousands: see
//! [`Devices`]. Nothing here is checked: numbers may be out of range and lists too short, and readers answer that with
//! [`Broken`].

use std::fmt;

use crate::switches::Switches;

/// The number of an attribute's value of an unknown type. It has the attribute, yet neither equals nor differs from a value of
/// an earlier device: both kinds of constraints refuse it as the second device. A later device of a known type differs from it.
pub const UNKNOWN_TYPE: u32 = u32::MAX;

/// In [`Devices::in_use`]: one claim has the device for itself.
pub const EXCLUSIVE: u8 = 1;

/// In [`Devices::in_use`]: claims have shares of the device. Both can be set, where a device was shared and is no more.
pub const SHARED: u8 = 2;

/// Facts about one pod and a batch of rows, as the host gives them. Answers do not change while a question runs.
pub trait Facts {
    /// The claims that the pod names, in its order.
    ///
    /// # Errors
    /// None can be allocated anywhere.
    fn claims(&self) -> Result<Vec<Claim>, Obstacle>;

    /// The claim for the pod's extended resources; `None` where no class serves one of them.
    fn extended(&self) -> Option<Extended>;

    /// `namespace/name` of a claim by its number in [`Facts::claims`]; the one for extended resources comes after the last.
    /// Asked only for a text, so that pods of one template share answers.
    fn claim_name(&self, claim: u32) -> String;

    /// Alternatives that an allocated claim has got, by its number in [`Facts::claims`]: for each of its requests with alternatives the
    /// numbers of those that have a device. Asked only for a score.
    fn chosen(&self, claim: u32) -> Vec<u32>;

    /// Requests with derived attributes in a claim, by its number in [`Facts::claims`]: numbers among the alternatives of all of its
    /// requests, in their order. Asked only where that is refused.
    fn deriving(&self, claim: u32) -> Vec<u32>;

    /// Returns the devices that the rows see, as columns.
    fn devices(&self, query: &Query) -> Devices;
}

/// Why no claim of the pod can be allocated anywhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obstacle {
    /// Reason, in the words of kube-scheduler.
    pub text: String,
    /// Whether it ends the cycle.
    pub is_error: bool,
}

/// A claim of the pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// A claim that has to be allocated.
    Unallocated {
        /// In the claim's order.
        requests: Vec<Request>,
        /// In the claim's order.
        constraints: Vec<Constraint>,
    },
    /// Allocated: per row 1 where it can be used, else 0.
    Allocated(Vec<u8>),
}

/// A request: one, or alternatives of which one is enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Its name in the claim.
    pub base: String,
    /// A plain request has one, itself; never none.
    pub alternatives: Vec<Asked>,
}

/// Devices that a request or one of its alternatives asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The name without that of the request that an alternative belongs to.
    pub own_name: String,
    /// Whether it is listed as an alternative, alone or with others.
    pub is_alternative: bool,
    /// DeviceClass of the requested devices.
    pub class: Class,
    /// The request's own CEL expressions; `None` where a selector is not CEL.
    pub selectors: Vec<Option<String>>,
    /// `ExactCount`, `All`, or any other text.
    pub mode: String,
    /// Number of devices, for `ExactCount`.
    pub count: i64,
    /// Whether use by others does not matter; never for alternatives.
    pub admin_access: bool,
    /// In the request's order.
    pub tolerations: Vec<Toleration>,
    /// Name and amount of each capacity asked for.
    pub capacity: Vec<(String, Amount)>,
}

/// A DeviceClass, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Class {
    /// The name as asked for.
    pub name: String,
    /// Its CEL expressions, empty texts where a selector is not CEL; `None` where there is no such class.
    pub selectors: Option<Vec<String>>,
}

/// A toleration, with the fields of the Kubernetes API; empty where not set.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in the Kubernetes API")]
pub struct Toleration {
    pub key: String,
    pub operator: String,
    pub value: String,
    pub effect: String,
}

/// A taint of a device, with the fields of the Kubernetes API.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in the Kubernetes API")]
pub struct Taint {
    pub key: String,
    pub value: String,
    pub effect: String,
}

/// A constraint over the devices of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Constraint {
    /// Names of requests or of alternatives (`request/alternative`); none: all.
    pub requests: Vec<String>,
    /// Condition that the devices must meet.
    pub kind: ConstraintKind,
}

/// Condition of a constraint on an attribute, which is given by its full name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConstraintKind {
    /// Equal on all devices.
    Match(String),
    /// Different on all devices.
    Distinct(String),
    /// Not known to this version.
    Unknown,
}

/// The claim for extended resources that a DeviceClass serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extended {
    /// State of the claim.
    pub claim: ExtendedClaim,
    /// Extended resources that the pod asks for, not for zero of them, sorted by name.
    pub resources: Vec<ExtendedResource>,
}

/// The state of the claim for extended resources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExtendedClaim {
    /// It has requests from an earlier cycle, allocated or not.
    HasRequests,
    /// Allocated, without requests: per row 1 where it can be used, else 0.
    Allocated(Vec<u8>),
    /// To be made for these containers of the pod, all of them, init containers first.
    ToBeMade(Vec<Container>),
}

/// An extended resource that the pod asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtendedResource {
    /// The class that serves it, if one does.
    pub class: Option<Class>,
    /// Per row what the node has of its own: [`ExtendedResource::NONE`], `ZERO` or `MORE`.
    pub own: Vec<u8>,
}

impl ExtendedResource {
    /// The node does not list the resource.
    pub const NONE: u8 = 0;
    /// The node lists it with an amount of zero.
    pub const ZERO: u8 = 1;
    /// The node has some.
    pub const MORE: u8 = 2;
}

/// Extended resources that a container requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    /// Whether it is an init container that ends.
    pub is_short: bool,
    /// Extended resources of [`Extended::resources`].
    pub resources: Vec<ContainerResource>,
}

/// An extended resource in a container's requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContainerResource {
    /// Its number among all of the container's requests, sorted by name.
    pub key: u32,
    /// Its number in [`Extended::resources`].
    pub resource: u32,
    /// How many; 0 where it is no whole number of 64 bits.
    pub count: i64,
}

/// Question of the guest about devices: selectors, attributes, and whether names are needed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    /// Lists of CEL expressions, none of them empty; a device matches a list where it matches all of it.
    pub selector_lists: Vec<Vec<String>>,
    /// Full names of attributes.
    pub attributes: Vec<String>,
    /// Whether pools and devices are named. Without names, more rows share a situation.
    pub names: bool,
}

/// Devices that the rows see, as columns. Pools follow each other by situation, counters and devices by pool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Devices {
    /// Per row, the number of its situation.
    pub codes: Vec<u32>,
    /// Distinct situations, which rows refer to by number.
    pub situations: Vec<Situation>,
    /// The pools of situation 0, then those of 1, and so on; in kube-scheduler's order, those with binding conditions last.
    pub pools: Vec<Pool>,
    /// The counters of pool 0, then those of 1, and so on.
    pub counters: Vec<Counter>,
    /// Per device its number in [`Devices::kinds`]: the devices of pool 0 in kube-scheduler's order, and so on. The other
    /// columns of devices have this order too.
    pub device_kinds: Vec<u32>,
    /// Per device [`EXCLUSIVE`] and [`SHARED`].
    pub in_use: Vec<u8>,
    /// Amounts that shares hold of capacities, sorted by device and capacity; only those that are not zero.
    pub held: Vec<Held>,
    /// Per device and attribute of the query: 0 where it has none; in one situation equal numbers are equal values of one type,
    /// and [`UNKNOWN_TYPE`] is a value that cannot be compared. Numbered by first appearance in the situation.
    pub values: Vec<u32>,
    /// Per pool its name; none at all where they are not asked for.
    pub pool_names: Vec<String>,
    /// Per device its name in the pool; none at all where they are not asked for.
    pub names: Vec<String>,
    /// Distinct kinds, which devices refer to by number.
    pub kinds: Vec<Kind>,
    /// Names of drivers, which pools refer to by number.
    pub drivers: Vec<String>,
    /// Sets of taints, which kinds refer to by number.
    pub taints: Vec<Vec<Taint>>,
}

impl Devices {
    /// Leaves out what feature gates hide: taints, and shares with their capacity, where a device that is shared counts as taken. Devices
    /// of invalid pools match no selector.
    pub(crate) fn hide(&mut self, query: &Query, switches: &Switches) {
        self.hide_invalid(query);
        if !switches.device_taints {
            self.taints.iter_mut().for_each(Vec::clear);
        }
        if !switches.consumable_capacity {
            self.held.clear();
            self.in_use.iter_mut().filter(|in_use| **in_use != 0).for_each(|in_use| *in_use = EXCLUSIVE);
            for kind in &mut self.kinds {
                kind.multiple_allocations = false;
                kind.capacities.clear();
            }
        }
    }
}

impl Devices {
    fn hide_invalid(&mut self, query: &Query) {
        let Ok(hidden) = u32::try_from(self.kinds.len()) else { return };
        let mut kinds = self.device_kinds.iter_mut();
        let mut has_hidden = false;
        for pool in &self.pools {
            for kind in kinds.by_ref().take(pool.devices as usize).filter(|_| pool.state == PoolState::Invalid) {
                (*kind, has_hidden) = (hidden, true);
            }
        }
        if has_hidden {
            let matches = vec![Answer::No; query.selector_lists.len()];
            let taints = u32::try_from(self.taints.len()).unwrap_or(u32::MAX);
            self.taints.push(Vec::new());
            self.kinds.push(Kind {
                matches,
                reaches: Answer::No,
                taints,
                multiple_allocations: false,
                capacities: Vec::new(),
                consumes: Vec::new(),
            });
        }
    }
}

/// Devices that a row sees: its pools, or the error in gathering them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Situation {
    /// Number of pools that the row sees.
    Pools(u32),
    /// The error in gathering them, `gather pool information: ` left out.
    Error(String),
}

/// A pool of devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pool {
    /// The number of its driver.
    pub driver: u32,
    /// Whether it can be used.
    pub state: PoolState,
    /// How many devices of the columns are its own; of an incomplete pool those that can be picked, of an
    /// invalid one those that show why.
    pub devices: u32,
    /// How many counters of the columns are its own.
    pub counters: u32,
}

/// Whether a pool can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoolState {
    /// The pool can be used.
    Ok,
    /// ResourceSlices of the newest generation are missing.
    Incomplete,
    /// The ResourceSlices of the pool are inconsistent.
    Invalid,
}

/// A counter of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counter {
    /// Total amount of the counter.
    pub total: NanoUnits,
    /// Amount that devices in use hold of it; more than the total where a driver has lowered that.
    pub held: NanoUnits,
}

/// Amount that shares hold of one capacity of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// The number of the device in the columns.
    pub device: u32,
    /// The number of the capacity in its kind.
    pub capacity: u32,
    /// The sum over all shares.
    pub amount: NanoUnits,
}

/// An answer that may fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The condition does not hold.
    No,
    /// The condition does hold.
    Yes,
    /// Why there is none.
    Error(String),
}

/// Properties that devices of one kind have in common, apart from use and attributes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kind {
    /// Per list of the query, whether it matches; errors begin with the number of the selector.
    pub matches: Vec<Answer>,
    /// Whether it is for the node, where its slice leaves that to devices; else yes.
    pub reaches: Answer,
    /// The number of its set of taints.
    pub taints: u32,
    /// Whether several claims can have shares.
    pub multiple_allocations: bool,
    /// Capacities of a device, sorted by name.
    pub capacities: Vec<Capacity>,
    /// Amounts that a device draws from counters: the number of a counter in its pool, and the amount. A counter may appear twice.
    pub consumes: Vec<(u32, NanoUnits)>,
}

/// A capacity of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capacity {
    /// Name of the capacity.
    pub name: String,
    /// Total amount of the capacity.
    pub value: Amount,
    /// Amount that is taken where a request asks for none; `None`: all of it.
    pub default: Option<Amount>,
    /// Amounts that can be taken; none: any.
    pub valid_values: Vec<Amount>,
    /// The range of amounts that can be taken.
    pub valid_range: Option<Range>,
}

/// A range of amounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    /// Least amount that can be taken.
    pub min: Option<Amount>,
    /// Greatest amount that can be taken.
    pub max: Option<Amount>,
    /// The distance between amounts, from the least on.
    pub step: Option<Amount>,
}

/// A number of nano-units in 128 bits: `high` times 2^64 plus `low`. Component interfaces have no wider integers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NanoUnits {
    /// Upper 64 bits, with the sign.
    pub high: i64,
    /// Lower 64 bits, without a sign.
    pub low: u64,
}

/// A quantity as it is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Amount {
    /// Exact amount, in nano-units.
    pub nano_units: NanoUnits,
    /// In whole units as Go's `Quantity.Value()` rounds and overflows, which depends on how the quantity is written.
    pub units: i64,
}

/// Facts that contradict themselves or each other. The host is at fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// A column of rows has another length than there are rows.
    Rows,
    /// A request has no alternative.
    Alternatives,
    /// A container's resource is not in the list of resources.
    Resources,
    /// A row's situation does not exist.
    Situations,
    /// A situation has more pools than there are.
    Pools,
    /// A pool has more devices than there are, or the columns of devices have different lengths.
    Devices,
    /// A device's kind does not exist, or does not answer all of the query.
    Kinds,
    /// A kind's set of taints does not exist.
    Taints,
    /// A pool has more counters than there are, or a device draws from one that its pool has not.
    Counters,
    /// A pool's driver, or a pool or device by name, does not exist.
    Names,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self {
            Self::Rows => "a column has another length than there are rows",
            Self::Alternatives => "a request has no alternative",
            Self::Resources => "a container asks for a resource that is not listed",
            Self::Situations => "a row's situation does not exist",
            Self::Pools => "a situation's pools do not exist",
            Self::Devices => "a pool's devices do not exist, or columns of devices differ in length",
            Self::Kinds => "a device's kind does not exist, or does not answer the query",
            Self::Taints => "a kind's set of taints does not exist",
            Self::Counters => "a counter does not exist",
            Self::Names => "a driver, pool or device has no name",
        };
        write!(f, "the host's facts about devices contradict themselves: {what}; report this as a bug of nodesift")
    }
}

impl std::error::Error for Broken {}
