//! Mutations of trees of JSON values. Start at [`mutate`].

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// Texts that Kubernetes gives a meaning, or that nobody expects.
const TEXTS: [&str; 60] = [
    "",
    " ",
    "a",
    "A/b",
    "a/b/c",
    "é",
    "\u{1F600}",
    "\0",
    "\u{1b}[2J",
    "\n",
    "-",
    "_",
    ".",
    "a..b",
    "0",
    "-1",
    "+1",
    "1",
    "1.5",
    "1m",
    "1n",
    "100m",
    "1500m",
    "1Ki",
    "8Gi",
    "1e3",
    "1E3",
    "1e-9",
    "1e400",
    ".5",
    "5.",
    "0.0000000001",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "10E",
    "9Ei",
    "170141183460469231731687303715884105727",
    "In",
    "NotIn",
    "Exists",
    "DoesNotExist",
    "Gt",
    "Lt",
    "Equal",
    "NoSchedule",
    "NoExecute",
    "PreferNoSchedule",
    "DoNotSchedule",
    "ScheduleAnyway",
    "Honor",
    "Ignore",
    "metadata.name",
    "kubernetes.io/hostname",
    "topology.kubernetes.io/zone",
    "Running",
    "Succeeded",
    "UDP",
    "true",
    "null",
];

/// Levels of one nesting: on both sides of the parsers' limits.
const DEPTHS: [usize; 4] = [1, 2, 100, 130];

/// Keys and values that occur in the inputs.
#[derive(Debug, Default)]
pub(super) struct Dictionary {
    keys: Vec<String>,
    values: Vec<Value>,
}

impl Dictionary {
    /// Collects the keys and values of these documents.
    pub(super) fn from_documents(documents: impl Iterator<Item = Value>) -> Self {
        let (mut keys, mut values) = (BTreeSet::new(), BTreeSet::new());
        documents.for_each(|document| collect(&document, &mut keys, &mut values));
        let values = values.iter().filter_map(|text| serde_json::from_str(text).ok()).collect();
        Self { keys: keys.into_iter().collect(), values }
    }

    fn key(&self, random: &mut fastrand::Rng) -> String {
        let known = random.choice(&self.keys).filter(|_| random.u8(..8) > 0);
        known.map_or_else(|| text(random), Clone::clone)
    }

    fn value(&self, random: &mut fastrand::Rng) -> Value {
        let known = random.choice(&self.values).filter(|_| random.bool());
        known.map_or_else(|| leaf(random), Clone::clone)
    }
}

/// Texts of the values: values themselves have no order.
fn collect(value: &Value, keys: &mut BTreeSet<String>, values: &mut BTreeSet<String>) {
    /// Larger values come with the inputs that are mixed.
    const VALUE_BYTES: usize = 200;
    let text = value.to_string();
    if text.len() <= VALUE_BYTES {
        values.insert(text);
    }
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, keys, values)),
        Value::Object(map) => map.iter().for_each(|(key, value)| {
            keys.insert(key.clone());
            collect(value, keys, values);
        }),
        _ => {}
    }
}

/// Changes one node of a tree, perhaps to one of another tree.
pub(super) fn mutate(value: &mut Value, other: Option<&Value>, dictionary: &Dictionary, random: &mut fastrand::Rng) {
    let nodes = count(value);
    // Leaves are most of the nodes, and containers have most of the structure.
    let mut at = random.usize(..nodes);
    let Some(node) = nth(value, &mut at) else { return };
    match (node, random.u8(..12)) {
        (node, 0) => *node = leaf(random),
        (node, 1) => *node = dictionary.value(random),
        (node, 2) => {
            let Some(other) = other else { return };
            let mut from = random.usize(..count(other));
            let mut other = other.clone();
            *node = nth(&mut other, &mut from).map(Value::take).unwrap_or_default();
        }
        (node, 3) => {
            let array = random.bool();
            for _ in 0..random.choice(DEPTHS).unwrap_or(1) {
                let inner = node.take();
                *node = if array { json!([inner]) } else { json!({dictionary.key(random): inner}) };
            }
        }
        (Value::Object(map), 4 | 5) => drop(map.insert(dictionary.key(random), dictionary.value(random))),
        (Value::Object(map), _) => object(map, dictionary, random),
        (Value::Array(items), _) => array(items, dictionary, random),
        (Value::String(old), _) => string(old, random),
        (node @ Value::Number(_), _) => *node = number(node.as_f64().unwrap_or_default(), random),
        (node, _) => *node = dictionary.value(random),
    }
}

fn object(map: &mut Map<String, Value>, dictionary: &Dictionary, random: &mut fastrand::Rng) {
    let Some(key) = random.choice(map.keys()).cloned() else { return };
    let Some(value) = map.remove(&key) else { return };
    match random.u8(..4) {
        0 => {}
        1 => drop(map.insert(dictionary.key(random), value)),
        2 => {
            map.insert(dictionary.key(random), value.clone());
            map.insert(key, value);
        }
        _ => drop(map.insert(key, dictionary.value(random))),
    }
}

fn array(items: &mut Vec<Value>, dictionary: &Dictionary, random: &mut fastrand::Rng) {
    let at = random.usize(..=items.len());
    match (items.get(at).cloned(), random.u8(..4)) {
        (Some(_), 0) => drop(items.remove(at)),
        (Some(item), 1) => drop(items.splice(at..at, vec![item; random.choice([1, 2, 40]).unwrap_or(1)])),
        (_, 2) => random.shuffle(items),
        _ => items.insert(at, dictionary.value(random)),
    }
}

fn string(old: &mut String, random: &mut fastrand::Rng) {
    /// Longer than names, labels and reasons may be.
    const LONG: usize = 2000;
    let boundary = old.floor_char_boundary(random.usize(..=old.len()));
    match random.u8(..6) {
        0 => old.truncate(boundary),
        1 => old.insert_str(boundary, &text(random)),
        2 => old.push_str(&text(random)),
        3 if old.len() < LONG => *old = old.repeat(LONG / old.len().max(1)),
        4 => *old = old.to_uppercase(),
        _ => *old = text(random),
    }
}

fn number(old: f64, random: &mut fastrand::Rng) -> Value {
    match random.u8(..8) {
        0 => json!(old + 1.0),
        1 => json!(old - 1.0),
        2 => json!(old * 1000.0),
        3 => json!(-old),
        4 => json!(old / 3.0),
        _ => extreme(random),
    }
}

fn extreme(random: &mut fastrand::Rng) -> Value {
    match random.u8(..10) {
        0 => json!(0),
        1 => json!(-1),
        2 => json!(i64::MAX),
        3 => json!(i64::MIN),
        4 => json!(u64::MAX),
        5 => json!(i32::MAX),
        6 => json!(i64::from(i32::MAX) + 1),
        7 => json!(f64::MAX),
        8 => json!(5.0),
        _ => json!(random.u32(..1000)),
    }
}

fn leaf(random: &mut fastrand::Rng) -> Value {
    match random.u8(..8) {
        0 => Value::Null,
        1 => json!(random.bool()),
        2 => json!([]),
        3 => json!({}),
        4 => extreme(random),
        _ => json!(text(random)),
    }
}

fn text(random: &mut fastrand::Rng) -> String {
    random.choice(&TEXTS).map_or_else(String::new, |text| (*text).to_owned())
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(map) => map.values().map(count).sum(),
        _ => 0,
    }
}

/// The node with this number, in the order of a walk.
fn nth<'a>(value: &'a mut Value, left: &mut usize) -> Option<&'a mut Value> {
    if *left == 0 {
        return Some(value);
    }
    *left -= 1;
    match value {
        Value::Array(items) => items.iter_mut().find_map(|item| nth(item, left)),
        Value::Object(map) => map.values_mut().find_map(|item| nth(item, left)),
        _ => None,
    }
}
