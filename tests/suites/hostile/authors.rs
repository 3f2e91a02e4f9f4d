//! Modules that authors write with the SDKs for Go and C: they bring memory of their own, whose use must not grow from call to call, and
//! the text of a panic must be in the log. A machine without the toolchain says so and tests nothing; `tests/scripts` has them in CI.

use std::path::Path;
use std::sync::Arc;

use nodesift_module::{BuildError, Language, Sdk};
use nodesift_sandbox::fault::FaultKind;
use nodesift_sandbox::{Facts, Grants, Lifetime, Module, Verdict};

use nodesift_tests::machine::beside_others;

use crate::arena::{facts, grants, load};

/// Rows of a call, more than any cluster that Kubernetes supports has.
const ROWS: u32 = 100_000;

/// Calls of one instance. All that they read is many times what an instance may have.
const CALLS: usize = 100;

/// A predicate over columns: of labels, whose dictionary it reads as well, and of amounts. It panics in a namespace of that name.
const GO: &str = r#"package main

import nodesift "github.com/nodesift/nodesift/sdk/predicate/go"

var busy = nodesift.Unschedulable("busy")

func filter(pod *nodesift.Pod, nodes *nodesift.Nodes, args *nodesift.NoArgs) *nodesift.Failure {
	if nodes.Count() == 1 {
		var none []int
		none[nodes.Count()]++
	}
	labels, free := nodes.Labels("k000"), nodes.Free("cpu")
	for row, code := range labels.Codes {
		if free[row] < 1000 || len(labels.Dictionary()[code]) > 0 {
			nodes.RejectRow(row, busy)
		}
	}
	return nil
}

func init() {
	nodesift.Export(nodesift.Predicate[nodesift.NoArgs]{Name: "Memory", Summary: "rejects nodes with a label", Filter: filter})
}

func main() {}
"#;

/// The predicate of [`GO`] in C.
const C: &str = r#"#include "nodesift.h"

static const ns_failure busy = NS_UNSCHEDULABLE("busy");

static const ns_failure *filter(ns_nodes *nodes, const void *args) {
    (void)args;
    NS_ASSERT(nodes->count != 1);
    ns_texts *labels = ns_labels(nodes, NS("k000"));
    const int64_t *free = ns_free(nodes, NS("cpu"));
    for (uint32_t row = 0; row < nodes->count; row++) {
        ns_text text;
        if (free[row] < 1000 || ns_text_at(labels, row, &text)) ns_reject_row(nodes, row, &busy);
    }
    return NULL;
}

NODESIFT_PREDICATE(.name = "Memory", .version = "1", .summary = "rejects nodes with a label", .filter = filter);
"#;

/// A module of this source, in a project that was just made; none where this machine has no toolchain for it.
fn build(language: Language, file: &str, source: &str) -> Option<Vec<u8>> {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("memory");
    nodesift_module::new(&folder, nodesift_module::Kind::Predicate, language, &Sdk::Carried).unwrap();
    std::fs::write(folder.join(file), source).unwrap();
    match nodesift_module::build(Path::new(&folder), None, &mut |_| {}) {
        Ok(built) => Some(built.component),
        Err(BuildError::Tool(missing)) => {
            println!("not tested: {missing}");
            None
        }
        Err(error) => panic!("{error:?}"),
    }
}

/// Loads a module once for both tests of it: to compile one of Go takes many seconds.
fn reused(component: &[u8]) -> Module {
    load(component, Grants { lifetime: Lifetime::Reused, ..grants() })
}

fn memory_does_not_grow(module: &Module) {
    let facts = facts(ROWS);
    let call = || module.filter(Arc::clone(&facts), ROWS, None);
    let first = call();
    assert!(matches!(first, Ok(Verdict::ByRow(_))), "{first:?}");
    for number in 1..CALLS {
        assert_eq!(call(), first, "call {number}");
    }
}

fn logs_its_panic(module: &Module, facts: &Arc<dyn Facts>, expected: &[&str]) {
    let mut lines = Vec::new();
    let fault = module.filter_logging(Arc::clone(facts), 1, None, &mut lines).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Trap, "{fault}");
    let text = format!("{lines:?}");
    for part in expected {
        assert!(text.contains(part), "{part} is not in {text}");
    }
}

#[test]
fn a_go_module_reads_a_hundred_thousand_rows_again_and_again_in_its_memory() {
    let _beside = beside_others();
    let Some(component) = build(Language::Go, "predicate.go", GO) else { return };
    let module = reused(&component);
    memory_does_not_grow(&module);
    logs_its_panic(&module, &facts(1), &["index out of range", "predicate.go:10 in filter"]);
}

#[test]
fn a_c_module_reads_a_hundred_thousand_rows_again_and_again_in_its_memory() {
    let _beside = beside_others();
    let Some(component) = build(Language::C, "predicate.c", C) else { return };
    assert!(component.len() < 20_000, "{} bytes", component.len());
    let module = reused(&component);
    memory_does_not_grow(&module);
    logs_its_panic(&module, &facts(1), &["predicate.c:7: nodes->count != 1 does not hold"]);
}
