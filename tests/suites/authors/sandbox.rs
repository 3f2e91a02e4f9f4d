//! The table of `docs/src/predicates/sandbox.md`: what becomes of what the sandbox lacks, and of what goes wrong, in each language, a case
//! per cell. A machine without a toolchain says so and tests nothing of it ([`not_built_here`]); JavaScript and Python, which need
//! their registries, are in `tests/scripts`.

use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use nodesift_tests::sidecar::Output;
use nodesift_tests::workshop::Workshop;
use serde_json::Value;

use crate::new_workshop;

/// Parts of what a build says for which a tool, or a package that no machine has from the start, is missing.
pub(crate) const MISSING: [&str; 3] =
    ["is not on this machine's PATH", "does not compile and link for wasm32", "crates.io"];

/// Source and cases of the predicate that does them all, in one language.
struct Cells {
    /// The language, as `module new --lang` takes it.
    language: &'static str,
    /// Where the source is in a project.
    file: &'static str,
    source: &'static str,
    cases: &'static str,
}

/// Builds a project, one at a time: compilers that begin together with an empty cache each compile the standard library of their language.
pub(crate) fn build(workshop: &Workshop, project: &str) -> Output {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    workshop.run(&["module", "build", project])
}

/// Says which language is not built here, and why, past the capture of output: what is not tested does not pass in silence. No machine has all
/// toolchains, that of CI neither.
pub(crate) fn not_built_here(language: &str, why: &str) {
    let line = format!("not built here: {language}: {}\n", why.trim());
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

/// Names of the cases that every language has.
const EVERYWHERE: [&str; 5] = ["log", "exception", "loop", "memory", "stack"];

fn every_cell_is_as_the_table_has_it(cells: &Cells) {
    let workshop = new_workshop();
    // What a new project needs beside the SDK comes from no network.
    workshop.answer(&["module", "new", "--lang", cells.language, "cells"]);
    let project = Path::new("cells");
    for (file, text) in [(cells.file, cells.source), ("cases.yaml", cells.cases)] {
        workshop.write(&project.join(file).display().to_string(), text);
    }
    // The limits of the policy are those of the template, and its arguments are for another predicate.
    std::fs::remove_file(workshop.path("cells/policy.yaml")).unwrap();
    let built = build(&workshop, "cells");
    if built.code != Some(0) && MISSING.iter().any(|missing| built.stderr.contains(missing)) {
        return not_built_here(cells.language, &built.stderr);
    }
    assert_eq!(built.code, Some(0), "{}", built.stderr);
    let tested = workshop.run(&["module", "test", "cells", "-o", "json"]);
    assert_eq!(tested.code, Some(0), "{}{}", tested.stdout, tested.stderr);
    let document: Value = serde_json::from_str(&tested.stdout).unwrap();
    for name in EVERYWHERE {
        assert!(document.to_string().contains(&format!("\"{name}\"")), "no case {name}: {document}");
    }
}

#[test]
fn in_go_the_log_says_what_the_sandbox_lacks_and_where() {
    every_cell_is_as_the_table_has_it(&Cells {
        language: "go",
        file: "predicate.go",
        source: include_str!("cells/go/predicate.go"),
        cases: include_str!("cells/go/cases.yaml"),
    });
}

#[test]
fn in_c_a_fault_says_in_which_function_it_was() {
    every_cell_is_as_the_table_has_it(&Cells {
        language: "c",
        file: "predicate.c",
        source: include_str!("cells/c/predicate.c"),
        cases: include_str!("cells/c/cases.yaml"),
    });
}

#[test]
fn in_rust_a_panic_says_where_it_was() {
    every_cell_is_as_the_table_has_it(&Cells {
        language: "rust",
        file: "src/lib.rs",
        source: include_str!("cells/rust/lib.rs"),
        cases: include_str!("cells/rust/cases.yaml"),
    });
}
