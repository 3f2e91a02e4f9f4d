//! Facts made by hand: nodes with one pool each, and claims of a few requests.

use std::cell::RefCell;

use nodesift_dynamic_resources::facts::{
    Answer, Asked, Broken, Claim, Class, Constraint, ConstraintKind, Devices, Extended, Facts, Kind, Obstacle, Pool,
    PoolState, Query, Request, Situation,
};
use nodesift_dynamic_resources::switches::Switches;
use nodesift_dynamic_resources::{Allocation, Filtered};

/// Filters with the known bugs of 1.36 mended.
pub fn filter(facts: &impl Facts, rows: usize) -> Result<Filtered, Broken> {
    nodesift_dynamic_resources::filter(facts, rows, &Switches::default().mended())
}

/// Allocates with the known bugs of 1.36 mended.
pub fn allocate(facts: &impl Facts, rows: usize, row: usize) -> Result<Option<Allocation>, Broken> {
    nodesift_dynamic_resources::allocate(facts, rows, row, &Switches::default().mended())
}

/// Facts that do not depend on what is asked.
#[derive(Debug, Clone, Default)]
pub struct Made {
    pub claims: Vec<Claim>,
    pub extended: Option<Extended>,
    /// Given away when asked for.
    pub devices: RefCell<Vec<Devices>>,
    pub queries: RefCell<Vec<Query>>,
}

impl Facts for Made {
    fn claims(&self) -> Result<Vec<Claim>, Obstacle> {
        Ok(self.claims.clone())
    }

    fn extended(&self) -> Option<Extended> {
        self.extended.clone()
    }

    fn claim_name(&self, claim: u32) -> String {
        format!("default/c{claim}")
    }

    fn chosen(&self, _claim: u32) -> Vec<u32> {
        Vec::new()
    }

    fn deriving(&self, _claim: u32) -> Vec<u32> {
        Vec::new()
    }

    fn devices(&self, query: &Query) -> Devices {
        self.queries.borrow_mut().push(query.clone());
        self.devices.borrow_mut().pop().expect("there is one more answer")
    }
}

impl Made {
    /// One claim; the answers come last first.
    pub fn new(claim: Claim, answers: &[Devices]) -> Self {
        Self { claims: vec![claim], devices: RefCell::new(answers.to_vec()), ..Self::default() }
    }
}

/// A request for so many devices that match one selector.
pub fn request(name: &str, count: i64) -> Request {
    let asked = Asked {
        own_name: name.to_owned(),
        is_alternative: false,
        class: Class { name: "gpu".to_owned(), selectors: Some(Vec::new()) },
        selectors: vec![Some("device.driver == 'gpu.example.com'".to_owned())],
        mode: "ExactCount".to_owned(),
        count,
        admin_access: false,
        tolerations: Vec::new(),
        capacity: Vec::new(),
    };
    Request { base: name.to_owned(), alternatives: vec![asked] }
}

/// A claim; with an attribute, all devices must have the same value of it.
pub fn claim(requests: Vec<Request>, attribute: Option<ConstraintKind>) -> Claim {
    let constraints = attribute.map(|kind| Constraint { requests: Vec::new(), kind }).into_iter().collect();
    Claim::Unallocated { requests, constraints }
}

/// A kind of devices that answers one list of selectors.
pub fn kind(matches: Answer) -> Kind {
    Kind {
        matches: vec![matches],
        reaches: Answer::Yes,
        taints: 0,
        multiple_allocations: false,
        capacities: Vec::new(),
        consumes: Vec::new(),
    }
}

/// A device: its kind, whether it is in use, and its value of the one attribute.
pub type Device = (u32, u8, u32);

/// Rows with a situation each of one pool, without names.
pub fn rows(rows: &[Vec<Device>], kinds: &[Kind], attributes: usize) -> Devices {
    let mut devices = Devices {
        kinds: kinds.to_vec(),
        drivers: vec!["gpu.example.com".to_owned()],
        taints: vec![Vec::new()],
        ..Devices::default()
    };
    for (code, row) in (0..).zip(rows) {
        devices.codes.push(code);
        devices.situations.push(Situation::Pools(1));
        let count = u32::try_from(row.len()).unwrap();
        devices.pools.push(Pool { driver: 0, state: PoolState::Ok, devices: count, counters: 0 });
        for (kind, in_use, value) in row {
            devices.device_kinds.push(*kind);
            devices.in_use.push(*in_use);
            devices.values.extend(std::iter::repeat_n(*value, attributes));
        }
    }
    devices
}
