//! Expressions with the outcomes of kube-scheduler's own compiler: see `tests/data/README.md`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
#![allow(missing_docs, reason = "tests are named as sentences")]

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use flate2::read::GzDecoder;
use nodesift_cel::{Attribute, Device, Dialect, Program};
use serde_json::Value;

/// Differences that a failure shows; each takes a line.
const SHOWN: usize = 40;

fn device() -> Device {
    let text = |text: &str| Attribute::String(text.to_owned());
    Device {
        driver: "d.example.com".to_owned(),
        allow_multiple_allocations: false,
        attributes: vec![
            ("model".to_owned(), text("LATEST-GPU-1")),
            ("count".to_owned(), Attribute::Int(7)),
            ("ok".to_owned(), Attribute::Bool(true)),
            ("version".to_owned(), Attribute::Version("1.2.3-beta.1".to_owned())),
            ("other.example.com/zone".to_owned(), text("eu-1a")),
        ],
        capacity: vec![("memory".to_owned(), "40Gi".to_owned()), ("cores".to_owned(), "1500m".to_owned())],
    }
}

fn lines(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(file);
    let mut text = String::new();
    GzDecoder::new(File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The outcome, and the text of an error.
fn outcome(dialect: Dialect, device: &Device, expression: &str) -> (&'static str, String) {
    match Program::compile_in(dialect, expression).map(|program| program.matches(device)) {
        Err(error) => ("compile", error),
        Ok(Err(error)) => ("runtime", error),
        Ok(Ok(true)) => ("true", String::new()),
        Ok(Ok(false)) => ("false", String::new()),
    }
}

/// Compares all outcomes in a file of so many; the field of a line has that of a dialect.
fn compare(file: &str, count: usize, field: &str, dialect: Dialect) {
    let device = device();
    let lines = lines(file);
    assert_eq!(lines.len(), count);
    let mut others = Vec::new();
    for line in lines {
        let text = |field: &str| line.get(field).and_then(Value::as_str).unwrap_or_default();
        let (found, error) = outcome(dialect, &device, text("expr"));
        if found != text(field) {
            others.push(format!("{}: {} there, {found} here ({error})", text("expr"), text(field)));
        }
    }
    assert!(others.is_empty(), "{} differ:\n{}", others.len(), others[..others.len().min(SHOWN)].join("\n"));
}

#[test]
fn outcomes_of_each_group_of_functions_are_those_of_kubernetes() {
    compare("1.36.jsonl.gz", 3_000, "want", Dialect::default());
}

#[test]
fn outcomes_of_deep_expressions_are_those_of_kubernetes() {
    compare("random.jsonl.gz", 6_000, "want", Dialect::default());
}

#[test]
fn outcomes_of_each_version_are_those_of_its_own_compiler() {
    let of_1_34 = Dialect { lists: false, includes: false, cel_go29: false };
    let of_1_37 = Dialect { lists: true, includes: true, cel_go29: true };
    for (version, dialect) in [("1.34", of_1_34), ("1.36", Dialect::default()), ("1.37", of_1_37)] {
        compare("versions.jsonl.gz", 3_360, version, dialect);
    }
}
