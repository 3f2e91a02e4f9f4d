//! Objects of files and lists: decoded or refused. What is decoded is the same in JSON and in YAML, compiles, and gives a
//! cache that a recount of its rows agrees with.

use nodesift_cache as cache;
use nodesift_fixtures::random::{Event, History};
use nodesift_object::Object;
use nodesift_source::change::Compiler;
use nodesift_source::{Loader, files};
use serde_json::{Value, json};

use crate::{Behaviour, magnitude, shape};

/// Digits that a JSON number keeps in an `f64`.
const EXACT_DIGITS: usize = 15;

/// The document of the target.
pub fn run(input: &[u8]) -> Behaviour {
    let objects = match read(input) {
        Ok(objects) => objects,
        Err(error) => return Behaviour::error(&error),
    };
    if let Ok(value) = serde_json::from_slice::<Value>(input)
        && has_exact_numbers(&value, input)
    {
        // Items that do not say what they are come after the others, unless their list has said it before them.
        let sorted = |objects: &[Object]| {
            let mut lines: Vec<String> = objects.iter().map(|object| format!("{object:?}")).collect();
            lines.sort_unstable();
            lines
        };
        let spelled = |text: &str| read(text.as_bytes()).map(|objects| sorted(&objects));
        let as_read = Ok(sorted(&objects));
        assert_eq!(spelled(&value.to_string()), as_read, "the same document, spelled differently");
        assert_eq!(spelled(&format!("{value:#}")), as_read, "the same document, on many lines");
    }
    let (mut writer, reader) = cache::new();
    let compiler = Compiler::new(&["default-scheduler".to_owned()]);
    let mut loader = Loader::new(&compiler, &mut writer);
    objects.iter().for_each(|object| loader.apply(object));
    loader.publish();
    let rows = writer.audit_rows();
    let drift = writer.audit(0..rows);
    assert!(drift.is_empty(), "a recount differs: {drift:?}");
    assert_eq!(reader.snapshot().node_count(), rows as usize);
    let seen: Vec<_> = objects.iter().map(|object| (object.kind(), shape(&format!("{object:?}")))).collect();
    Behaviour::new((seen, magnitude(rows as usize), magnitude(reader.pods().pending().len())))
}

fn read(input: &[u8]) -> Result<Vec<Object>, String> {
    let mut objects = Vec::new();
    let read = files::read_bytes("input", input, &mut |object| objects.push(object));
    read.map(|_| objects).map_err(|error| error.to_string())
}

/// Whether the numbers of a document are the same after it was read as a tree of values. A fraction or a power of ten may be
/// spelled in several ways, and quantities remember theirs.
fn has_exact_numbers(value: &Value, text: &[u8]) -> bool {
    let has_long = text.split(|byte| !byte.is_ascii_digit()).any(|digits| digits.len() > EXACT_DIGITS);
    !has_long && is_exact(value)
}

fn is_exact(value: &Value) -> bool {
    match value {
        Value::Number(number) => !number.is_f64(),
        Value::Array(items) => items.iter().all(is_exact),
        Value::Object(map) => map.values().all(is_exact),
        _ => true,
    }
}

/// A list of some objects of a random cluster.
pub fn generate(random: &mut fastrand::Rng) -> Vec<u8> {
    let mut history = History::new(random.u64(..));
    let mut items: Vec<Value> = history
        .advance()
        .into_iter()
        .map(|event| match event {
            Event::Apply(object) | Event::Remove(object) => *object,
        })
        .collect();
    items.push(history.asked_pod());
    items.extend(history.cluster.nodes().take(2).cloned());
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string().into_bytes()
}
