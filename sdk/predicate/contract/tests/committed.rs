//! Tests that the committed files are those that the contract makes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::path::{Path, PathBuf};

use nodesift_contract::model::Contract;
use nodesift_contract::{CONTRACT, go};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

#[test]
fn what_is_made_from_the_contract_is_committed() {
    let outputs = nodesift_contract::outputs(&root()).unwrap();
    let wrong: Vec<String> = outputs
        .iter()
        .filter_map(|output| Some(format!("{}: {}", output.path(), output.check(&root()).err()?)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_function_of_the_contract_is_bound() {
    let text = std::fs::read_to_string(root().join(CONTRACT)).unwrap();
    let contract = Contract::read(&text).unwrap();
    let outputs = nodesift_contract::outputs(&root()).unwrap();
    let made = |path: &str| outputs.iter().find(|output| output.path().ends_with(path)).unwrap().text();
    let mut left: Vec<String> = contract.functions().map(|(_, function)| function.name.clone()).collect();
    assert!(left.len() > 60, "{left:?}");
    for (interface, function) in contract.functions() {
        let camel = |name: &str| -> String {
            name.split('-').map(|word| word[..1].to_ascii_uppercase() + &word[1..]).collect()
        };
        let (go, c) = (camel(&function.name), function.name.replace('-', "_"));
        let name = format!("{}.{}", interface.name, function.name);
        assert!(made("native.go").contains(&format!("{go}(")) && made("wasm.go").contains(&format!("{go}(")), "{name}");
        assert!(made("nodesift_contract.h").contains(&format!("_{c}(")), "{name}");
    }
    // The parser of this crate and the text agree about how many there are; what is exported is in no list.
    let declared = text.lines().filter(|line| line.trim_start().split_once(": func(").is_some()).count();
    left.extend(["describe", "configure", "filter", "allocate", "normalize-by", "score"].map(str::to_owned));
    assert_eq!(left.len(), declared);
}

#[test]
fn the_place_of_returned_values_in_go_has_the_size_that_is_reckoned_with() {
    let memory = std::fs::read_to_string(root().join("sdk/predicate/go/facts/memory.go")).unwrap();
    assert!(memory.contains(&format!("var area [{}]uint64\n", go::AREA_BYTES / 8)), "`area` has another size");
}

#[test]
fn notes_of_the_contract_are_no_part_of_what_authors_read() {
    for output in nodesift_contract::outputs(&root()).unwrap() {
        let notes = ["@kinds", "@pods-on-nodes", "@node-fields", "@moment"];
        assert!(!notes.iter().any(|note| output.text().contains(note)), "{}", output.path());
    }
}
