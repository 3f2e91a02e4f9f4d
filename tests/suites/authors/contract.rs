//! Components that were built for earlier versions of the contract, in `tests/data/contract`: what an inspection says of them. Their
//! verdicts are in the suite `command_line`.

use std::path::Path;

use nodesift_tests::data::read_gzip_bytes;
use serde_json::{Value, json};

use crate::new_workshop;

fn kept(version: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/contract");
    read_gzip_bytes(&folder.join(format!("team-isolation-{version}.wasm.gz")))
}

#[test]
fn an_inspection_names_the_contract_that_a_module_was_built_for() {
    let workshop = new_workshop();
    let example = nodesift_bundle_examples::EXAMPLES.iter().find(|example| example.name == "TeamIsolation").unwrap();
    for (version, bytes) in
        [("0.1.0", kept("0.1.0")), ("0.1.1", kept("0.1.1")), (nodesift_sandbox::VERSION, example.bytes.to_vec())]
    {
        workshop.write("own.wasm", bytes);
        let document: Value =
            serde_json::from_str(&workshop.answer(&["module", "inspect", "own.wasm", "-o", "json"])).unwrap();
        assert_eq!(document["contract"], json!(version));
        assert_eq!(document["imports"][0]["interface"], "pod-labels");
        let text = workshop.answer(&["module", "inspect", "own.wasm"]);
        assert!(text.contains(&format!("contract   nodesift:predicate {version}")), "{text}");
    }
}

/// The files are what a release has, and what generators of bindings read without an SDK.
#[test]
fn the_contract_is_written_as_a_package_for_other_tools() {
    let workshop = new_workshop();
    let version = nodesift_sandbox::VERSION;
    let text = workshop.answer(&["module", "wit"]);
    assert!(text.contains(&format!("nodesift:predicate@{version}\n")), "{text}");
    let written = std::fs::read_to_string(workshop.path(&format!("nodesift-predicate-{version}.wit"))).unwrap();
    let contract = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sdk/predicate/wit/predicate.wit");
    assert_eq!(written, std::fs::read_to_string(contract).unwrap());
    let package = std::fs::read(workshop.path(&format!("nodesift-predicate-{version}.wasm"))).unwrap();
    // The preamble of a component; what is in it is compared where it is made.
    assert_eq!(package.get(..8), Some(&b"\0asm\x0d\0\x01\0"[..]));
    let failed = workshop.run(&["module", "wit", "nowhere"]);
    assert_eq!(failed.code, Some(66), "{}", failed.stderr);
    assert!(failed.stderr.contains("nowhere"), "{}", failed.stderr);
}
