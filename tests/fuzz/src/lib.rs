//! Fuzz targets: inputs that nobody thought of, and what must hold for each of them.
//!
//! | module | holds |
//! |---|---|
//! | [`targets`] | one file per target: a function `run` that takes bytes and panics where something does not hold |
//! | [`driver`] | runs a target on mutated inputs for some time, and reports findings |
//! | [`unit`] | runs a target on one input, within limits of time and memory |
//! | [`corpus`] | the committed inputs |
//! | [`mutate`] | mutations of bytes, JSON, protobuf and text |
//! | [`memory`] | the allocator, which counts |
//!
//! A target returns a [`Behaviour`]: what it has seen the input do. An input with a new behaviour joins the inputs that are
//! mutated further, so that the driver needs neither a nightly toolchain nor an instrumented build. Start at [`TARGETS`].
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a target that panics has found something")]

pub mod corpus;
pub mod driver;
pub mod memory;
pub mod mutate;
pub mod targets;
pub mod unit;

#[path = "../../suites/differential/comparison.rs"]
mod comparison;
#[path = "../../suites/differential/mirror.rs"]
#[allow(dead_code, reason = "some of it is for other tests")]
mod mirror;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

pub use targets::TARGETS;

use mutate::Form;
use targets::world::default_policy;

/// A fuzz target: a function with the form of its inputs.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name, which is also that of its folder of inputs.
    pub name: &'static str,
    /// How its inputs are mutated.
    pub form: Form,
    /// Runs it on one input. Panics where something does not hold.
    pub run: fn(&[u8]) -> Behaviour,
    /// A new valid input; empty where the target has no generator.
    pub generate: fn(&mut fastrand::Rng) -> Vec<u8>,
    /// Time that one unit may take on a machine that is not slow.
    pub time: Duration,
}

/// The target of this name, if any.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// Behaviour of an input as far as its target can tell, such as the branch or the error, as a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Behaviour(u64);

impl Behaviour {
    /// The behaviour with these characteristics.
    pub fn new(characteristics: impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        characteristics.hash(&mut hasher);
        Self(hasher.finish())
    }

    /// That of an error. Its numbers and quoted parts are left out, because they differ from input to input.
    pub fn error(text: &str) -> Self {
        Self::new(("error", shape(text)))
    }
}

/// A text without its numbers and quoted parts.
pub fn shape(text: &str) -> String {
    let mut quoted = None;
    let mut shape = String::new();
    for c in text.chars().take(400) {
        match quoted {
            Some(end) if c == end => quoted = None,
            Some(_) => {}
            None if c == '"' || c == '`' => quoted = Some(c),
            None if c.is_ascii_digit() => {}
            None => shape.push(c),
        }
    }
    shape
}

/// A number as its count of bits, for behaviours.
pub fn magnitude(number: usize) -> u32 {
    usize::BITS - number.leading_zeros()
}

/// Generator of targets without a generator: an empty input.
pub(crate) fn nothing(_: &mut fastrand::Rng) -> Vec<u8> {
    Vec::new()
}
