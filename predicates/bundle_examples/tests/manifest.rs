//! Compares the imports of the built-in predicates and the examples with a golden file.
//!
//! A new import is a fact that the predicate could not read before. It affects when verdicts become stale, and
//! operators must review it.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::path::Path;

use nodesift_bundle::{BUILTINS, CEL, KUBERNETES, Module, OPTIONAL_POLICY, SCORERS, default_predicates};
use nodesift_bundle_examples::{ACCOUNTING, EXAMPLES};
use nodesift_guest::component;

/// Where this environment variable is set, the test writes the golden file instead of comparing with it.
const BLESS: &str = "NODESIFT_BLESS";

/// The manifest of a predicate: one line with its name, and one line per imported interface with its functions.
fn manifest(module: &Module) -> String {
    let imports = component::imports(module.bytes).unwrap();
    let line = |import: &component::Import| {
        let functions = if import.functions.is_empty() { "types only".into() } else { import.functions.join(", ") };
        format!("  {}: {functions}\n", import.interface)
    };
    format!("{}\n{}", module.name, imports.iter().map(line).collect::<String>())
}

#[test]
fn imports_equal_the_golden_file() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/manifests.txt");
    // A component that is a predicate too is there once.
    let is_predicate = |scorer: &&Module| BUILTINS.iter().any(|builtin| builtin.bytes == scorer.bytes);
    let scorers = SCORERS.iter().filter(|scorer| !is_predicate(scorer));
    let scorers = scorers.map(|scorer| manifest(scorer).replacen(scorer.name, &format!("{}, score", scorer.name), 1));
    let modules = BUILTINS.iter().chain(EXAMPLES).chain(ACCOUNTING).map(manifest);
    let manifests: String = modules.chain(scorers).collect();
    if std::env::var_os(BLESS).is_some() {
        std::fs::write(&path, &manifests).unwrap();
    }
    assert_eq!(
        manifests,
        std::fs::read_to_string(&path).unwrap_or_default(),
        "\nthe imports of a predicate differ from {}.\n\
         If the change is intended, run `{BLESS}=1 cargo test -p nodesift-bundle-examples` and review the difference.\n",
        path.display()
    );
}

#[test]
fn the_device_selector_imports_nothing() {
    assert_eq!(component::imports(CEL.bytes).unwrap(), []);
}

#[test]
fn the_policies_name_every_built_in_predicate_once() {
    let named = |text: &'static str| {
        let entries = text.lines().filter_map(|line| line.strip_prefix("  - "));
        let names = entries.filter_map(|entry| entry.trim_start_matches('{').strip_prefix("name: "));
        names.filter_map(|rest| rest.split([',', '}']).next()).collect::<BTreeSet<_>>()
    };
    let (default, optional) = (named(KUBERNETES), named(OPTIONAL_POLICY));
    assert_eq!(default.intersection(&optional).next(), None, "named by both");
    let builtins: BTreeSet<&str> = BUILTINS.iter().map(|module| module.name).collect();
    assert_eq!(default.union(&optional).copied().collect::<BTreeSet<_>>(), builtins);
    assert!(default_predicates().count() > 10 && default_predicates().all(|name| default.contains(name)));
}

#[test]
fn predicates_without_arguments_contain_no_json_parser() {
    // A text of serde_json that is in every component with a JSON parser.
    const JSON: &[u8] = b"EOF while parsing";
    let contains_parser = |name: &str| {
        let module = BUILTINS.iter().find(|module| module.name == name).unwrap();
        module.bytes.windows(JSON.len()).any(|bytes| bytes == JSON)
    };
    assert!(contains_parser("NodeAffinity"));
    for name in ["NodeUnschedulable", "NodeName", "TaintToleration", "NodePorts", "VolumeRestrictions", "VolumeZone"] {
        assert!(!contains_parser(name), "{name} contains a JSON parser that it does not need");
    }
}

#[test]
fn components_contain_no_paths_of_the_build_machine() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let folders = [Some(root.to_owned()), std::env::home_dir().map(|home| home.join(".cargo"))];
    for module in BUILTINS.iter().chain(SCORERS).chain(EXAMPLES).chain(ACCOUNTING).chain([&CEL]) {
        for folder in folders.iter().flatten() {
            let folder = folder.to_str().unwrap().as_bytes();
            let found = module.bytes.windows(folder.len()).any(|bytes| bytes == folder);
            assert!(!found, "{module:?} contains a path of the build machine, so its digest depends on it");
        }
    }
}
