//! Plain objects to facts, as slow and obvious as the reference, which tells what nodes see and which claims pods have.
//!
//! Start with [`Nodes::new`], then [`Projected::new`].

mod claims;
mod devices;

pub use claims::asked;

use std::cell::RefCell;

use nodesift_dynamic_resources::facts::{Amount, Claim, Class, Devices, Extended, Facts, NanoUnits, Obstacle, Query};
use nodesift_fixtures::json;
use nodesift_reference::claims::{Selectors, World, seen_by};
use nodesift_reference::quantity::Quantity;
use serde_json::Value;

/// Inputs that all pods of a cluster share: the objects, the nodes, and the pools that each node sees.
pub struct Nodes<'a> {
    pub world: &'a World<'a>,
    pub selectors: &'a Selectors,
    pub nodes: Vec<&'a Value>,
    /// Per node the pools that it sees.
    seen: Vec<Result<Vec<Value>, String>>,
}

impl<'a> Nodes<'a> {
    pub fn new(world: &'a World<'a>, selectors: &'a Selectors) -> Self {
        let nodes: Vec<&Value> = world.cluster.nodes().collect();
        let seen = nodes.iter().map(|node| seen_by(world, node)).collect();
        Self { world, selectors, nodes, seen }
    }
}

/// The facts of one pod.
pub struct Projected<'a> {
    nodes: &'a Nodes<'a>,
    claims: Result<Vec<Claim>, Obstacle>,
    extended: Option<Extended>,
    /// `namespace/name` of the claims, the special one last.
    names: Vec<String>,
    /// By claim the alternatives that it has got.
    chosen: Vec<Vec<u32>>,
    /// By claim the numbers of what derives attributes.
    deriving: Vec<Vec<u32>>,
    answers: RefCell<Vec<(Query, Devices)>>,
    /// Whether names were ever asked for.
    pub asked_for_names: RefCell<bool>,
}

impl<'a> Projected<'a> {
    pub fn new(nodes: &'a Nodes<'a>, pod: &Value) -> Self {
        let claims::OfPod { claims, extended, names, chosen, deriving } = claims::resolve(nodes, pod);
        let (answers, asked_for_names) = Default::default();
        Self { nodes, claims, extended, names, chosen, deriving, answers, asked_for_names }
    }
}

impl Facts for Projected<'_> {
    fn claims(&self) -> Result<Vec<Claim>, Obstacle> {
        self.claims.clone()
    }

    fn extended(&self) -> Option<Extended> {
        self.extended.clone()
    }

    fn claim_name(&self, claim: u32) -> String {
        self.names[claim as usize].clone()
    }

    fn chosen(&self, claim: u32) -> Vec<u32> {
        self.chosen[claim as usize].clone()
    }

    fn deriving(&self, claim: u32) -> Vec<u32> {
        self.deriving[claim as usize].clone()
    }

    fn devices(&self, query: &Query) -> Devices {
        if query.names {
            *self.asked_for_names.borrow_mut() = true;
        }
        let mut answers = self.answers.borrow_mut();
        if let Some((_, known)) = answers.iter().find(|(known, _)| known == query) {
            return known.clone();
        }
        let answer = devices::seen(self.nodes, query);
        answers.push((query.clone(), answer.clone()));
        answer
    }
}

fn class(nodes: &Nodes<'_>, name: &str) -> Class {
    let object = nodes.world.cluster.get("DeviceClass", name);
    let expression = |selector: &Value| json::text(selector, "cel.expression").to_owned();
    let selectors = object.map(|class| json::list(class, "spec.selectors").iter().map(expression).collect());
    Class { name: name.to_owned(), selectors }
}

fn nano_units(quantity: Quantity) -> NanoUnits {
    let text = quantity.decimal();
    match text.strip_suffix('n') {
        Some(nano) => nano.parse::<i128>().unwrap().into(),
        None => (text.parse::<i128>().unwrap() * 1_000_000_000).into(),
    }
}

fn amount(value: &Value) -> Amount {
    let quantity = Quantity::read(value).unwrap_or(Quantity::ZERO);
    Amount { nano_units: nano_units(quantity), units: quantity.value() }
}
