//! Kept outcomes against each device evaluated alone, for random devices that come and go and random lists of expressions.

use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use nodesift_cel::{Device, Program};
use nodesift_object::device::Attribute;
use nodesift_object::elements::Elements;

use super::matching;
use super::native::{Native, TestDevice};
use crate::selectors::Answer;

const SEEDS: u64 = 40;
const ROUNDS: usize = 40;

const DOMAINS: [&str; 3] = ["d", "e", "x/y"];
const NAMES: [&str; 4] = ["model", "mem", "el", "v"];

/// Each kind of path, several, none, and texts that are no expression.
const EXPRESSIONS: [&str; 18] = [
    "true",
    "device.driver == 'd'",
    "device.allowMultipleAllocations",
    "device.attributes['d'].model == 'a'",
    "device.attributes['e'].el == 1",
    "device.attributes['d'].?model.hasValue()",
    "device.attributes['d'].v.isGreaterThan(semver('1.0.0'))",
    "'e' in device.attributes && device.driver == 'd'",
    "'d' in device.capacity",
    "device.capacity['d'].mem.compareTo(quantity('1Gi')) >= 0",
    "device.capacity['e'].el.isGreaterThan(quantity('1'))",
    "device.attributes['d'].model + 'x' == 'ax' || device.attributes['e'].mem",
    "device.attributes['d'].exists(k, v, k == 'el')",
    "device.attributes[device.driver].model == 'b'",
    "device.attributes['d'].model",
    "string(device.attributes['d'].el) == '1'",
    "device.",
    "device.none",
];

fn value(random: &mut Rng) -> Attribute {
    match random.u32(0..13) {
        0..3 => Attribute::String(random.choice(["a", "b", ""]).unwrap().to_owned()),
        3..6 => Attribute::Int(random.i64(0..3)),
        6..8 => Attribute::Bool(random.bool()),
        8..11 => Attribute::Version(random.choice(["1.0.0", "1.2.0", "1.2.0", "1"]).unwrap().to_owned()),
        11 => Attribute::List(Elements::from_ints(&[random.i64(0..2)])),
        _ => Attribute::Unsupported,
    }
}

fn name(random: &mut Rng) -> String {
    let name = random.choice(NAMES).unwrap();
    if random.bool() { name.to_owned() } else { format!("{}/{name}", random.choice(DOMAINS).unwrap()) }
}

fn device(random: &mut Rng, id: u32) -> Arc<TestDevice> {
    // Some have more values than expressions can see.
    let count = if random.u32(0..30) == 0 { random.usize(127..131) } else { random.usize(0..5) };
    let amount = |random: &mut Rng| random.choice(["1Gi", "1024Mi", "1", "2", "2", "-"]).unwrap().to_owned();
    Arc::new(TestDevice {
        id: if random.u32(0..20) == 0 { u32::MAX } else { id },
        driver: random.choice(["d", "e"]).unwrap().to_owned(),
        allow_multiple_allocations: random.bool(),
        attributes: (0..count).map(|_| (name(random), value(random))).collect(),
        capacities: (0..random.usize(0..3)).map(|_| (name(random), amount(random))).collect(),
    })
}

/// The slow way: every expression compiled and evaluated about one device.
fn alone(list: &[&str], device: &TestDevice) -> Answer {
    let attribute = |value: &Attribute| match value.clone() {
        Attribute::Int(value) => nodesift_cel::Attribute::Int(value),
        Attribute::Bool(value) => nodesift_cel::Attribute::Bool(value),
        Attribute::String(text) => nodesift_cel::Attribute::String(text),
        Attribute::Version(text) => nodesift_cel::Attribute::Version(text),
        Attribute::List(_) | Attribute::Unsupported => nodesift_cel::Attribute::Unsupported,
    };
    let seen = Device {
        driver: device.driver.clone(),
        allow_multiple_allocations: device.allow_multiple_allocations,
        attributes: device.attributes.iter().map(|(name, value)| (name.clone(), attribute(value))).collect(),
        capacity: device.capacities.clone(),
    };
    for (number, text) in list.iter().enumerate() {
        let error = |kind: &str, error| Answer::Error(format!("selector #{number}: CEL {kind} error: {error}").into());
        match Program::compile(text).map(|program| program.matches(&seen)) {
            Ok(Ok(true)) => {}
            Ok(Ok(false)) => return Answer::No,
            Ok(Err(fault)) => return error("runtime", fault),
            Err(fault) => return error("compile", fault),
        }
    }
    Answer::Yes
}

#[test]
fn kept_outcomes_are_those_of_each_device_alone() {
    let (mut yes, mut no, mut errors) = (0, 0, 0);
    for seed in 0..SEEDS {
        let (mut random, mut next) = (Rng::with_seed(seed), 0);
        let (_, selectors) = Native::selectors();
        let mut devices: Vec<Arc<TestDevice>> = Vec::new();
        for round in 0..ROUNDS {
            for _ in 0..random.usize(0..6) {
                // Numbers are given one after the other, with gaps that others would fill.
                next += random.u32(1..400);
                let device = device(&mut random, next);
                match random.usize(0..=devices.len()) {
                    place if place < devices.len() && devices.len() > 20 => devices[place] = device,
                    place => devices.insert(place, device),
                }
            }
            let list: Vec<&str> = (0..random.usize(0..4)).map(|_| random.choice(EXPRESSIONS).unwrap()).collect();
            let asked: Vec<_> = devices.iter().filter(|_| random.u32(0..4) > 0).collect();
            let answers = selectors.outcomes(&list, asked.iter().copied(), Duration::MAX).unwrap();
            assert_eq!(answers.len(), asked.len());
            let has_errors = answers.iter().any(|answer| matches!(answer, Answer::Error(_)));
            // Those of a device without a number are not known by it.
            let has_numbers = list.is_empty() || asked.iter().all(|device| device.id != u32::MAX);
            let matches = (!has_errors && has_numbers).then(|| matching(&answers));
            let known = selectors.known(&list, asked.iter().map(|device| device.id));
            assert_eq!(known, matches, "seed {seed}, round {round}: {list:?}");
            for (device, answer) in asked.iter().zip(answers) {
                assert_eq!(answer, alone(&list, device), "seed {seed}, round {round}: {list:?} of {device:?}");
                match answer {
                    Answer::Yes => yes += 1,
                    Answer::No => no += 1,
                    Answer::Error(_) => errors += 1,
                }
            }
        }
    }
    println!("{yes} match, {no} do not, {errors} errors");
    assert!(yes.min(no).min(errors) > 500, "{yes}, {no}, {errors}");
}
