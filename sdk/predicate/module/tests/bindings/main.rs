//! The bindings of the SDKs for Go and C are made from the contract by this test, and committed. So authors compile plain source,
//! and their tools know every function; what a predicate does not call is dropped by the linker, and with it the import.
//!
//! ```text
//! model  the interfaces of the contract in the form that both languages need
//! go     facts/types.go, facts/native.go, facts/wasm.go, export_wasip1.go
//! c      nodesift_contract.h, nodesift_contract.c
//! ```
//!
//! They cover the types that the contract has. A type that is new there fails here, with its name.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
#![allow(missing_docs, reason = "tests are named as sentences")]

mod c;
mod go;
mod model;

use std::path::{Path, PathBuf};

use crate::model::Model;

/// Where this environment variable is set, the test writes the bindings instead of comparing with them.
const BLESS: &str = "NODESIFT_BLESS";

fn sdk(language: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(language)
}

fn compare(path: &Path, expected: &str) {
    if std::env::var_os(BLESS).is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, expected).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    let first = expected.lines().zip(committed.lines()).find(|(expected, committed)| expected != committed);
    assert!(
        committed == expected,
        "{} is not made from the contract: {first:?}\nRun `{BLESS}=1 cargo test --workspace --test bindings` and commit it with \
         the contract.",
        path.display()
    );
}

#[test]
fn the_bindings_of_go_are_those_of_the_contract() {
    let model = Model::of_the_contract();
    compare(&sdk("go/facts/types.go"), &go::types(&model));
    compare(&sdk("go/facts/native.go"), &go::native(&model));
    compare(&sdk("go/facts/wasm.go"), &go::wasm(&model));
    compare(&sdk("go/export_wasip1.go"), &go::export(&model));
    let memory = std::fs::read_to_string(sdk("go/facts/memory.go")).unwrap();
    assert!(memory.contains(&format!("var area [{}]uint64\n", go::AREA_BYTES / 8)), "`area` has another size");
}

#[test]
fn the_bindings_of_c_are_those_of_the_contract() {
    let model = Model::of_the_contract();
    compare(&sdk("c/nodesift_contract.h"), &c::header(&model));
    compare(&sdk("c/nodesift_contract.c"), &c::source(&model));
}

#[test]
fn every_function_of_the_contract_is_bound() {
    let model = Model::of_the_contract();
    let (native, wasm, header) = (go::native(&model), go::wasm(&model), c::header(&model));
    let mut functions = 0;
    for line in nodesift_module::contract::WIT.lines() {
        // A function of an interface that is imported, as `    name: func(…`.
        let Some((name, _)) = line.trim().split_once(": func(") else { continue };
        functions += 1;
        // Exports; the last is that of a second one, which is optional.
        if ["describe", "configure", "filter", "allocate"].contains(&name) {
            continue;
        }
        let (go, c) = (model::camel(name), name.replace('-', "_"));
        assert!(native.contains(&format!("{go}(")) && wasm.contains(&format!("{go}(")), "{name} in Go");
        assert!(header.contains(&format!("_{c}(")), "{name} in C");
    }
    assert!(functions > 60, "{functions}");
}
