//! The contract is what other people's modules are built against: any change to it must be seen and meant.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::Path;

use wit_component::WitPrinter;
use wit_parser::Resolve;

/// Set to anything, it makes the test write the golden file instead of comparing with it.
const BLESS: &str = "NODESIFT_BLESS";

/// The contract as its parser understands it, without comments.
fn contract() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit/predicate.wit");
    let mut resolve = Resolve::default();
    let package = resolve.push_str("predicate.wit", &std::fs::read_to_string(path).unwrap()).unwrap();
    let mut printer = WitPrinter::default();
    printer.emit_docs(false).print(&resolve, package, &[]).unwrap();
    printer.output.to_string()
}

#[test]
fn the_contract_is_what_modules_were_built_against() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/contract.wit");
    let contract = contract();
    if std::env::var_os(BLESS).is_some() {
        std::fs::write(&path, &contract).unwrap();
    }
    assert_eq!(
        contract,
        std::fs::read_to_string(&path).unwrap_or_default(),
        "\nthe contract differs from {}.\n\
         An interface or function more: raise the patch version of the package in sdk/predicate/wit/predicate.wit,\n\
         so that older modules keep loading. Anything changed or gone: raise the minor version, since they will not.\n\
         Then run `{BLESS}=1 cargo test -p nodesift-guest` and commit the golden file with the change.\n",
        path.display()
    );
}
