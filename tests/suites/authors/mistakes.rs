//! Ten mistakes that authors make, each planted in a project: the command that an author runs first finds it, and says what to do.
//! `make mistakes` prints the ten answers. The project is in Go, which needs no network; a machine without it says so.

use nodesift_tests::workshop::Workshop;

use crate::new_workshop;
use crate::sandbox::{MISSING, build, not_built_here};

const PREDICATE: &str = include_str!("mistakes/predicate.go");
const CASES: &str = include_str!("mistakes/cases.yaml");

/// A policy that names `facts`.
fn policy(facts: &str) -> String {
    format!(
        "apiVersion: nodesift.dev/v1alpha1\nkind: PredicatePolicy\nspec:\n  schedulerNames: [default-scheduler]\n{facts}  predicates: \
         [{{name: Mistakes, module: {{path: predicate.wasm}}, args: {{mistake: none}}}}]\n"
    )
}

/// Has the program find a mistake: prints its answer, which has these parts.
fn finds(workshop: &Workshop, mistake: &str, code: i32, arguments: &[&str], parts: &[&str]) {
    let output = workshop.run(arguments);
    let text = format!("{}{}", output.stdout, output.stderr);
    println!("== {mistake}: nodesift-dev {}\n{text}", arguments.join(" "));
    assert_eq!(output.code, Some(code), "{mistake}: {text}");
    for part in parts {
        assert!(text.contains(part), "{mistake}: {part:?} is not in {text}");
    }
}

#[test]
fn the_first_command_of_an_author_finds_each_of_ten_mistakes() {
    let workshop = new_workshop();
    workshop.answer(&["module", "new", "--lang", "go", "rule"]);
    for file in ["rule/predicate_test.go", "rule/policy.yaml"] {
        std::fs::remove_file(workshop.path(file)).unwrap();
    }
    workshop.write("rule/predicate.go", PREDICATE);
    let built = build(&workshop, "rule");
    if built.code != Some(0) && MISSING.iter().any(|missing| built.stderr.contains(missing)) {
        return not_built_here("go", &built.stderr);
    }
    assert_eq!(built.code, Some(0), "{}", built.stderr);
    let test = ["module", "test", "rule"];
    let with = |mistake: &str| {
        workshop.write("rule/cases.yaml", CASES.replace("mistake: none", &format!("mistake: {mistake}")));
    };
    let check = |mistake: &str, code: i32, parts: &[&str]| {
        // As the policy of such a project would give it.
        with(mistake);
        let args = format!("{{\"mistake\": \"{mistake}\"}}");
        finds(&workshop, mistake, code, &["module", "check", "rule/predicate.wasm", "--args", &args], parts);
    };
    with("none");
    workshop.answer(&test);

    with("misspelt key");
    finds(
        &workshop,
        "misspelt key",
        1,
        &test,
        &["FAILED  a node under maintenance is rejected  rule/cases.yaml:7", "\"example.com/maintenence\"]"],
    );
    with("none");
    workshop.write("rule/policy.yaml", policy(""));
    let lines = "spec:\n  facts:\n    annotations: [\"example.com/maintenance\"]\n";
    let told = "policy.yaml does not name what the module reads, which is absent under it. It needs:";
    finds(&workshop, "missing annotation list", 0, &test, &[told, lines]);
    let given = ["module", "test", "rule", "--policy", "rule/policy.yaml"];
    finds(&workshop, "missing annotation list", 1, &given, &["1 of 1 case failed", lines]);
    workshop.write("rule/policy.yaml", policy("  facts: {annotations: [example.com/maintenance]}\n"));
    workshop.answer(&given);

    check("quadratic rule", 1, &["100,000 nodes", "Deadline", "limits.timePerCall"]);
    with("clock");
    finds(
        &workshop,
        "clock",
        1,
        &test,
        &["time.Now: a predicate has no clock: its answer would go stale unnoticed", "at predicate.go:30 in filter"],
    );
    with("print");
    finds(&workshop, "print", 1, &test, &["- no lines\n  + lines: info: looking at default"]);

    let source = PREDICATE.replacen("return maintenance", "return \"under maintenance\"", 1);
    let line = source.lines().position(|line| line.contains("return \"under")).unwrap() + 1;
    workshop.write("rule/predicate.go", source);
    let place = format!("predicate.go:{line}:");
    let built_again = ["module", "build", "rule", "--output", "rule/other.wasm"];
    let output = workshop.run(&built_again);
    let code = output.code.unwrap();
    assert_ne!(code, 0, "{}", output.stdout);
    finds(&workshop, "wrong type", code, &built_again, &[&place, "cannot use \"under maintenance\""]);
    workshop.write("rule/predicate.go", PREDICATE);

    let module = std::fs::read(workshop.path("rule/predicate.wasm")).unwrap();
    std::fs::create_dir(workshop.path("old")).unwrap();
    workshop.write("old/predicate.wasm", of_another_contract(&module));
    workshop.write("old/cases.yaml", CASES);
    finds(
        &workshop,
        "wrong interface version",
        65,
        &["module", "test", "old"],
        &["built for nodesift:predicate 7.2.0, and this nodesift serves", "or build the component for a version"],
    );

    check("too much memory", 1, &["100,000 nodes", "Memory", "limits.memory"]);
    check(
        "trap on one odd node",
        1,
        &["hostile rows", "index out of range [1] with length 1", "predicate.go:54 in filter"],
    );
    check("nondeterministic order", 1, &["keeps nothing", "begin each call with empty state", "row by row"]);
}

/// The module as one that was built for a later contract: the names of its imports have another version.
fn of_another_contract(module: &[u8]) -> Vec<u8> {
    let (served, later) = (b"@0.2.0", b"@7.2.0");
    let mut changed = module.to_vec();
    for at in 0..module.len() - served.len() {
        if module[at..].starts_with(served) {
            changed[at..at + later.len()].copy_from_slice(later);
        }
    }
    changed
}
