//! The expressions in `tests/data/claims`: those that the real plugin has answered.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::Path;
use std::sync::OnceLock;

use flate2::read::GzDecoder;
use nodesift_fixtures::rng::Rng;
use serde_json::Value;

/// All of them, each once, sorted.
pub(crate) fn expressions() -> &'static [String] {
    static ALL: OnceLock<Vec<String>> = OnceLock::new();
    ALL.get_or_init(read)
}

pub(crate) fn pick(rng: &mut Rng) -> Option<&'static str> {
    rng.choose(expressions()).map(String::as_str)
}

fn read() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/data/claims");
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(folder).expect("tests/data/claims can be listed") {
        let path = entry.unwrap().path();
        if !path.to_string_lossy().ends_with(".json.gz") {
            continue;
        }
        let mut text = String::new();
        let file = std::fs::File::open(&path).unwrap();
        GzDecoder::new(file).read_to_string(&mut text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        collect(&serde_json::from_str(&text).unwrap(), &mut found);
    }
    found.into_iter().collect()
}

fn collect(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get("expression").and_then(Value::as_str).map(str::to_owned));
            fields.values().for_each(|value| collect(value, found));
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, found)),
        _ => {}
    }
}
