//! Generators for everything that repeats the contract: `make contract` writes it, the test `committed` compares it. Start at [`outputs`].
//!
//! ```text
//! notes    notes for tools in the documentation of the contract
//! model    interfaces, functions and types, and how values are laid out
//! golden   the contract without documentation, for reviewers
//! text     names and comments
//! c, go    bindings
//! script   types for JavaScript and Python
//! fakes    answers of tests about objects that have nothing
//! moments  columns of moments in the SDKs other than that for Rust
//! host     tables of the host
//! rust     the SDK for Rust, and the bridge of benchmarks
//! docs     the table of imports
//! output   files and regions of files
//! ```
//!
//! The inputs are `sdk/predicate/wit/predicate.wit`, and `host/engine/facts.txt`, which says how the host answers each function. Nothing of
//! this is compiled into another crate, so that the host depends on no SDK. The SDKs for Rust, JavaScript and Python read the WIT itself,
//! by symbolic links.

pub mod c;
pub mod docs;
pub mod fakes;
pub mod go;
pub mod golden;
pub mod host;
pub mod model;
pub mod moments;
pub mod notes;
pub mod output;
pub mod rust;
pub mod script;
mod text;

use std::path::Path;

use host::table::Table;
use model::Contract;
use output::Output;
use rust::bindings::{World, bindings};

/// Why there is nothing to write.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An input cannot be read.
    #[error("{0} cannot be read")]
    Input(&'static str, #[source] std::io::Error),
    /// The contract cannot be read.
    #[error("the contract")]
    Contract(#[from] model::ContractError),
    /// The golden file cannot be made.
    #[error("the golden file of {0}")]
    Golden(&'static str, #[source] golden::GoldenError),
    /// The bindings of Go cannot be made.
    #[error("the bindings of Go")]
    Go(#[from] go::BindingError),
    /// The bindings of C cannot be made.
    #[error("the bindings of C")]
    C(#[from] c::ParameterError),
    /// The host's table cannot be read.
    #[error("{TABLE}")]
    Table(#[from] host::table::TableError),
    /// A function cannot be linked.
    #[error("the linker of the host")]
    Link(#[from] host::sandbox::ArgumentError),
    /// The bindings of Rust cannot be made.
    #[error("the bindings of {0} in Rust")]
    Rust(&'static str, #[source] rust::bindings::BindingsError),
    /// It is not known what a function reads.
    #[error("the records of the host")]
    Read(#[from] host::engine::ReadError),
}

/// The contract of predicates, from the root of the repository.
pub const CONTRACT: &str = "sdk/predicate/wit/predicate.wit";

/// How the host answers each function, from the root of the repository.
const TABLE: &str = "host/engine/facts.txt";

/// Constants of the SDK for Rust that are written by hand, from the root of the repository.
const VALUES: &str = "sdk/predicate/rust/src/columns/values.rs";

/// The contract of accounting, from the root of the repository.
const ACCOUNTING: &str = "sdk/predicate/wit/accounting/accounting.wit";

/// The contract of device selectors, from the root of the repository.
const CEL: &str = "sdk/predicate/wit/selector/selector.wit";

/// Everything that is made from the contract in the repository at `root`.
///
/// # Errors
///
/// Where an input cannot be read, or has what a writer does not know.
pub fn outputs(root: &Path) -> Result<Vec<Output>, Error> {
    let input =
        |path: &'static str| std::fs::read_to_string(root.join(path)).map_err(|error| Error::Input(path, error));
    let (text, accounting) = (input(CONTRACT)?, input(ACCOUNTING)?);
    let contract = Contract::read(&text)?;
    let goldens = [("contract.wit", CONTRACT, &text), ("accounting.wit", ACCOUNTING, &accounting)];
    let table = input(TABLE)?;
    let table = Table::read(&table, &contract)?;
    let mut outputs = Vec::new();
    for (name, path, text) in goldens {
        let printed = golden::printed(path, text).map_err(|error| Error::Golden(path, error))?;
        outputs.push(Output::file(&format!("sdk/predicate/build/tests/golden/{name}"), printed));
    }
    outputs.extend(foreign(&contract)?);
    outputs.extend(moments::outputs(&contract));
    outputs.extend(fakes::outputs(&contract));
    outputs.extend(host_outputs(&contract, &table)?);
    outputs.extend(rust_outputs(&contract, &table, &input(VALUES)?));
    outputs.extend(bindings_of_rust(&text, &accounting, &input(CEL)?)?);
    outputs.push(Output::region("docs/src/predicates/README.md", "imports", docs::imports(&contract)));
    Ok(outputs)
}

/// The SDKs for Go, C, JavaScript and Python.
fn foreign(contract: &Contract) -> Result<Vec<Output>, Error> {
    let sdk = |path: &str, text: String| Output::file(&format!("sdk/predicate/{path}"), text);
    Ok(vec![
        sdk("go/facts/types.go", go::types(contract)),
        sdk("go/facts/native.go", go::native(contract)),
        sdk("go/facts/wasm.go", go::wasm(contract)?),
        sdk("go/export_wasip1.go", go::export(contract)?),
        sdk("go/scoring/export_wasip1.go", go::export_scorer(contract)?),
        sdk("c/nodesift_contract.h", c::header(contract)),
        sdk("c/nodesift_contract.c", c::source(contract)?),
        sdk("js/types/contract.d.ts", script::ts::types(contract)),
        sdk("python/src/nodesift/_host.pyi", script::python::stub(contract)),
    ])
}

/// Generated regions of the host's source files, as they follow from the contract and the host's table.
fn host_outputs(contract: &Contract, table: &Table<'_>) -> Result<Vec<Output>, Error> {
    let region = |path: &str, name, text| Output::region(&format!("host/{path}"), name, text);
    Ok(vec![
        region("sandbox/src/interface.rs", "interfaces", host::sandbox::interfaces(contract, table)?),
        region("engine/src/reuse/recorder.rs", "recorded", host::engine::recorded(contract, table)?),
        region("engine/src/reuse/fact_read.rs", "facts about the pod", host::engine::pod_facts(table)),
        region("engine/src/facts/interfaces.rs", "moments", host::engine::moments(table)),
        region("engine/src/reuse/cached.rs", "logs of pods", host::source::logs_of_pods(contract, table)),
        region("cache/src/columns/change_log.rs", "logs", host::source::node_interfaces(contract, table)),
        region("source/src/kube/kinds.rs", "kinds", host::source::kinds(contract)),
        region("dev/src/record/prune.rs", "node fields", host::source::node_fields(contract)),
    ])
}

/// The SDK for Rust, and the bridge of benchmarks.
fn rust_outputs(contract: &Contract, table: &Table<'_>, values: &str) -> Vec<Output> {
    let path = |file: &str| format!("sdk/predicate/rust/src/{file}");
    let columns = rust::columns::columns(contract, values).into_iter();
    let mut outputs: Vec<Output> =
        columns.map(|(name, text)| Output::file(&path(&format!("columns/{name}.rs")), text)).collect();
    outputs.extend([
        Output::file(&path("facts/functions.rs"), rust::facts::facts(contract)),
        Output::file(&path("native/moments.rs"), rust::moments::builders(contract)),
        Output::region(&path("native/batch.rs"), "moments", rust::moments::answers(contract)),
        Output::region(&path("per_node.rs"), "moments", rust::moments::per_node(contract)),
        Output::region("tests/bench/src/lib.rs", "bridge", rust::bridge::bridge(contract, table)),
    ]);
    outputs
}

/// Bindings of the components in Rust: one module for each world.
fn bindings_of_rust(contract: &str, accounting: &str, cel: &str) -> Result<Vec<Output>, Error> {
    const ORDERED: [&str; 4] = ["PartialEq", "Eq", "PartialOrd", "Ord"];
    let worlds = [
        (
            "sdk/predicate/rust/src/bindings.rs",
            World {
                text: contract,
                name: "guest",
                about: "those of accounting, of allocating and of scoring are beside it",
                modules: "pub mod accounting;\npub mod allocating;\npub mod scoring;\n\n",
                module: "nodesift_sdk::bindings",
                export: "__export_component",
                derives: &ORDERED,
                has_unused_types: true,
                with: &[],
            },
        ),
        (
            "sdk/predicate/rust/src/bindings/allocating.rs",
            World {
                text: contract,
                name: "allocating",
                about: "an export that only some predicates have, with the types of the world `guest`",
                modules: "",
                module: "nodesift_sdk::bindings::allocating",
                export: "__export_allocator",
                derives: &ORDERED,
                has_unused_types: false,
                with: &[("nodesift:predicate/pod-claims@0.2.0", "crate::bindings::nodesift::predicate::pod_claims")],
            },
        ),
        (
            "sdk/predicate/rust/src/bindings/scoring.rs",
            World {
                text: contract,
                name: "scoring",
                about: "an export that only scorers have",
                modules: "",
                module: "nodesift_sdk::bindings::scoring",
                export: "__export_scorer",
                derives: &ORDERED,
                has_unused_types: false,
                with: &[],
            },
        ),
        (
            "sdk/predicate/rust/src/bindings/accounting.rs",
            World {
                text: accounting,
                name: "accounting-guest",
                about: "what accounting modules export",
                modules: "",
                module: "nodesift_sdk::bindings::accounting",
                export: "__export_accounting",
                derives: &["PartialEq", "Eq"],
                has_unused_types: true,
                with: &[],
            },
        ),
        (
            "predicates/cel/src/bindings.rs",
            World {
                text: cel,
                name: "cel",
                about: "the selector of devices",
                modules: "",
                module: "crate::bindings",
                export: "__export_component",
                derives: &["PartialEq"],
                has_unused_types: false,
                with: &[],
            },
        ),
    ];
    let written = worlds.iter().map(|(path, world)| {
        let text = bindings(world).map_err(|error| Error::Rust(path, error))?;
        Ok(Output::file(path, text))
    });
    written.collect()
}
