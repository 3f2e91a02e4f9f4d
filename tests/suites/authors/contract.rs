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
