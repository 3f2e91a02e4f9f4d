//! What the built-in predicates and the examples may read is decided here: their imports against a golden list.
//!
//! An import that is not on the list is a fact that a predicate did not see before: it changes when its verdicts go
//! stale, and what operators have reviewed.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::Path;

use nodesift_bundle::{BUILTINS, DEFAULT_POLICY, EXAMPLES, Module, OPTIONAL_POLICY};
use nodesift_guest::component;

/// Set to anything, it makes the test write the golden file instead of comparing with it.
const BLESS: &str = "NODESIFT_BLESS";

/// A predicate and its imports: a line for the name, one per interface with its functions.
fn manifest(module: &Module) -> String {
    let imports = component::imports(module.bytes).unwrap();
    let line = |import: &component::Import| {
        let functions = if import.functions.is_empty() { "types only".into() } else { import.functions.join(", ") };
        format!("  {}: {functions}\n", import.interface)
    };
    format!("{}\n{}", module.name, imports.iter().map(line).collect::<String>())
}

#[test]
fn every_predicate_imports_what_the_golden_list_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/manifests.txt");
    let manifests: String = BUILTINS.iter().chain(EXAMPLES).map(manifest).collect();
    if std::env::var_os(BLESS).is_some() {
        std::fs::write(&path, &manifests).unwrap();
    }
    assert_eq!(
        manifests,
        std::fs::read_to_string(&path).unwrap_or_default(),
        "\na predicate imports other facts than {} says.\n\
         If that is meant, run `{BLESS}=1 cargo test -p nodesift-bundle` and have the difference reviewed.\n",
        path.display()
    );
}

#[test]
fn one_of_the_policies_names_every_built_in_predicate_once() {
    let names = || DEFAULT_POLICY.lines().chain(OPTIONAL_POLICY.lines());
    for module in BUILTINS {
        let line = format!("  - name: {}", module.name);
        assert_eq!(names().filter(|known| *known == line).count(), 1, "{}", module.name);
    }
    let named = names().filter(|line| line.starts_with("  - name: ")).count();
    assert_eq!(named, BUILTINS.len(), "a policy names a predicate that is not built in");
}

#[test]
fn predicates_without_arguments_cannot_read_json() {
    // A text of serde_json's that is in every component which uses it.
    const JSON: &[u8] = b"EOF while parsing";
    let reads_json = |name: &str| {
        let module = BUILTINS.iter().find(|module| module.name == name).unwrap();
        module.bytes.windows(JSON.len()).any(|bytes| bytes == JSON)
    };
    assert!(reads_json("NodeAffinity"));
    for name in ["NodeUnschedulable", "NodeName", "TaintToleration", "NodePorts", "VolumeRestrictions", "VolumeZone"] {
        assert!(!reads_json(name), "{name}: most of the component is never used");
    }
}

#[test]
fn nothing_of_the_machine_that_built_them_is_in_the_components() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let folders = [Some(root.to_owned()), std::env::home_dir().map(|home| home.join(".cargo"))];
    for module in BUILTINS.iter().chain(EXAMPLES) {
        for folder in folders.iter().flatten() {
            let folder = folder.to_str().unwrap().as_bytes();
            let found = module.bytes.windows(folder.len()).any(|bytes| bytes == folder);
            assert!(!found, "{module:?} holds the path of a folder, so its digest depends on it");
        }
    }
}
