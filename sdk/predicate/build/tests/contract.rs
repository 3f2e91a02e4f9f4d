//! Compares the contracts with golden files, because existing modules are built against them. `make contract` writes the files.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::Path;

use wit_component::WitPrinter;
use wit_parser::Resolve;

/// A file of `sdk/predicate/wit` as parsed and printed again, without comments.
fn printed(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit").join(file);
    let mut resolve = Resolve::default();
    let package = resolve.push_str(file, &std::fs::read_to_string(path).unwrap()).unwrap();
    let mut printer = WitPrinter::default();
    printer.emit_docs(false).print(&resolve, package, &[]).unwrap();
    printer.output.to_string()
}

/// Compares a file with its golden file. `older` is what a reader has to know of earlier versions.
fn compare(file: &str, golden: &str, older: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(golden);
    let contract = printed(file);
    assert_eq!(
        contract,
        std::fs::read_to_string(&path).unwrap_or_default(),
        "\nthe contract differs from {}.\n\
         An additional interface or function is part of the version in sdk/predicate/wit/{file} until a\n\
         release has that version, then of the next minor one: an older sidecar refuses what it cannot serve by that\n\
         number. What an earlier version has is neither changed nor removed{older}: components that were\n\
         built for it go on loading.\n\
         Then run `make contract` and commit what it writes with the change.\n",
        path.display()
    );
}

#[test]
fn the_contract_equals_the_golden_file() {
    compare("predicate.wit", "contract.wit", " (contract-0.1.wit)");
}

#[test]
fn the_contract_of_accounting_equals_the_golden_file() {
    compare("accounting/accounting.wit", "accounting.wit", "");
}
