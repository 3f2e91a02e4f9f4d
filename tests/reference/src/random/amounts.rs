//! Quantities, written in all the ways there are.

use serde_json::{Map, Value, json};

use super::dice::Dice;

/// Names of resources, known and unknown, counted and not.
const RESOURCES: [&str; 9] = [
    "ephemeral-storage",
    "example.com/gpu",
    "example.com/widget",
    "hugepages-2Mi",
    "kubernetes.io/batman",
    "attachable-volumes-csi-x",
    "widgets",
    "requests.example.com/x",
    "deviceclass.resource.kubernetes.io/gpus",
];

/// A number of thousandths.
fn milli(dice: &mut Dice, most: usize) -> String {
    let value = dice.between(0, most);
    match dice.below(8) {
        0 => format!("{}", value / 1000),
        1 => format!("{value}000u"),
        2 => format!("{value}e-3"),
        3 => format!("0.{value:03}"),
        4 => format!("{}n", value * 1_000_001),
        5 => format!("{value}300u"),
        _ => format!("{value}m"),
    }
}

/// A number of units.
fn units(dice: &mut Dice, most: usize) -> String {
    let value = dice.between(0, most);
    match dice.below(10) {
        0 => format!("{}Ki", value / 1024),
        1 => format!("{}.5Mi", value / (1 << 20)),
        2 => format!("{}m", value * 1000 + dice.below(1000)),
        3 => format!("{}E3", value / 1000),
        4 => format!("{}k", value / 1000),
        5 => format!("{value}.0"),
        6 => format!("{}Mi", value / (1 << 20)),
        7 => format!("{}M", value / 1_000_000),
        _ => value.to_string(),
    }
}

/// What a container asks for.
pub(super) fn requests(dice: &mut Dice) -> Value {
    let mut amounts = Map::new();
    if dice.chance(75) {
        amounts.insert("cpu".to_owned(), json!(milli(dice, 900)));
    }
    if dice.chance(60) {
        amounts.insert("memory".to_owned(), json!(units(dice, 1 << 30)));
    }
    if dice.chance(12) {
        amounts.insert((*dice.pick(&RESOURCES)).to_owned(), json!(units(dice, 3)));
    }
    Value::Object(amounts)
}

/// What a pod as a whole asks for.
pub(super) fn pod_level(dice: &mut Dice) -> Value {
    let mut amounts = Map::new();
    let name = *dice.pick(&["cpu", "memory", "hugepages-2Mi", "example.com/gpu"]);
    amounts.insert(name.to_owned(), json!(if name == "cpu" { milli(dice, 1500) } else { units(dice, 1 << 29) }));
    Value::Object(amounts)
}

/// What a node gives.
pub(super) fn allocatable(dice: &mut Dice) -> Value {
    let mut amounts = Map::new();
    if dice.chance(95) {
        let pods = *dice.pick(&["110", "110", "3", "6", "0", "110e0", "5500m"]);
        amounts.insert("pods".to_owned(), json!(pods));
    }
    if dice.chance(97) {
        amounts.insert("cpu".to_owned(), json!(milli(dice, 4000)));
    }
    if dice.chance(97) {
        amounts.insert("memory".to_owned(), json!(units(dice, 4 << 30)));
    }
    for resource in RESOURCES {
        if dice.chance(25) {
            amounts.insert(resource.to_owned(), json!(units(dice, 8)));
        }
    }
    Value::Object(amounts)
}
