//! The commands of `nodesift-dev module` for modules that score.

use nodesift_tests::guest::Guest;
use nodesift_tests::workshop::Workshop;
use serde_json::{Value, json};

use crate::new_workshop;

const FAILED: i32 = 1;
const USAGE: i32 = 64;
const DATA: i32 = 65;

/// Where guests have the scores of as many nodes as a cluster has.
const SCORES: u32 = 131_072;

fn with_example(workshop: &Workshop) {
    let example = nodesift_bundle_examples::EXAMPLES.iter().find(|example| example.name == "SpotLast").unwrap();
    workshop.write("predicate.wasm", example.bytes);
}

/// A guest that rejects nothing, with this normalization and this body of `score`.
fn scoring(normalization: u32, score: &str) -> Guest {
    let memory = r#"(memory (export "memory") 40)"#;
    Guest::healthy().memory(memory).filter("(call $fits_all)").scorer(normalization, score)
}

/// Gives every node the raw score 0.
fn constant() -> String {
    format!("(call $scores (i32.const {SCORES}) (local.get $rows))")
}

/// Gives the first node of a batch this raw score, and the others 0.
fn first(raw: i64) -> String {
    format!("(i64.store (i32.const {SCORES}) (i64.const {raw})) {}", constant())
}

fn words(text: &str) -> Vec<Vec<&str>> {
    text.lines().map(|line| line.split_whitespace().collect()).collect()
}

#[test]
fn a_project_is_started_with_a_policy_that_names_its_scores() {
    let workshop = new_workshop();
    let text = workshop.answer(&["module", "new", "--score", "--language", "rust", "team-first"]);
    assert!(text.starts_with("team-first: a scorer in rust\n"), "{text}");
    let policy = std::fs::read_to_string(workshop.path("team-first/policy.yaml")).unwrap();
    assert!(policy.contains("scores:") && policy.contains("name: TeamFirst"), "{policy}");
    workshop.answer(&["module", "new", "--kind", "scorer", "--lang", "rust", "other"]);
    let both = ["module", "new", "--score", "--kind", "accounting", "--lang", "rust", "third"];
    workshop.fails_naming(USAGE, &both, &["--score", "--kind"]);
}

#[test]
fn the_scores_of_cases_are_compared_and_shown() {
    let workshop = new_workshop();
    with_example(&workshop);
    let cases = |scores: &str| {
        format!(
            "nodes:\n- {{name: spot, labels: {{karpenter.sh/capacity-type: spot}}}}\n- {{name: fixed}}\ncases:\n\
             - {{name: spot nodes are last, pod: {{}}, {scores}}}\n"
        )
    };
    workshop.write("cases.yaml", cases("fits: all, scores: {fixed: {raw: 100, normalized: 100}, spot: 0}"));
    let text = workshop.answer(&["module", "test"]);
    let shown = words(&text);
    assert_eq!(shown[0], ["ok", "spot", "nodes", "are", "last"]);
    assert_eq!(
        (&shown[4], &shown[6], &shown[7]),
        (&vec!["NODE", "RAW", "NORMALIZED"], &vec!["fixed", "100", "100"], &vec!["spot", "0", "0"])
    );
    let document: Value = serde_json::from_str(&workshop.answer(&["module", "test", "-o", "json"])).unwrap();
    assert_eq!(document["cases"][0]["scores"][1], json!({"node": "spot", "raw": 0, "normalized": 0}));
    for (scores, told) in [
        ("scores: {spot: 7}", "  node spot\n  - score 7\n  + score 0, raw 0\n"),
        ("scores: {spot: {raw: 7}}", "  node spot\n  - raw 7\n  + score 0, raw 0\n"),
        (
            "candidates: [spot], scores: {fixed: 100}",
            "  node fixed\n  - score 100\n  + no score: the pod does not fit it\n",
        ),
        ("skipped: true", "  - that it skips the pod\n  + scores\n"),
        ("error: none", "  - that the pod cannot be scored: none\n  + scores\n"),
    ] {
        workshop.write("cases.yaml", cases(scores));
        let output = workshop.run(&["module", "test"]);
        assert_eq!(output.code, Some(FAILED), "{scores}: {}", output.stderr);
        assert!(output.stdout.contains(told), "{scores}: {}", output.stdout);
    }
    // A call of `score` that fails is told, whatever the case expects.
    workshop.write("predicate.wasm", scoring(0, &first(300)).component());
    for (scores, told) in [
        ("fits: all", "  - no fault of score\n  + the fault MalformedVerdict"),
        ("scores: {spot: 7}", "  - scores\n  + the fault MalformedVerdict"),
    ] {
        workshop.write("cases.yaml", cases(scores));
        let output = workshop.run(&["module", "test"]);
        assert!(output.code == Some(FAILED) && output.stdout.contains(told), "{scores}: {}", output.stdout);
        let named = "the score of the node spot is 300: not from 0 to 100 (raw 300, normalization none)";
        assert!(output.stdout.contains(named), "{}", output.stdout);
    }
    workshop.write("cases.yaml", cases("fault: {kind: MalformedVerdict, detail: not from 0 to 100}"));
    workshop.answer(&["module", "test"]);
    // What rejects only has no scores.
    workshop.write("predicate.wasm", Guest::healthy().component());
    workshop.write("cases.yaml", cases("scores: {spot: 7}"));
    let output = workshop.run(&["module", "test"]);
    assert!(output.stdout.contains("+ no scores: the module exports no `scorer`"), "{}", output.stdout);
    workshop.write("cases.yaml", cases("scores: {spots: 7}"));
    workshop.fails_naming(
        DATA,
        &["module", "test"],
        &["cases.yaml:5", "\"spots\" is no node of the case; there are spot, fixed"],
    );
    workshop.write("cases.yaml", cases("scores: {spot: 7}"));
    let shown: Value = serde_json::from_str(&workshop.answer(&["module", "cases"])).unwrap();
    assert!(shown["cases"][0]["skip"].as_str().is_some_and(|why| why.contains("scores")), "{shown}");
}

#[test]
fn a_sound_scorer_passes_its_checks_and_is_measured() {
    let workshop = new_workshop();
    with_example(&workshop);
    workshop.write(
        "cases.yaml",
        "nodes:\n- {name: spot, labels: {karpenter.sh/capacity-type: spot}}\n- {name: fixed}\ncases:\n\
         - {name: spot nodes are last, pod: {}, scores: {fixed: 100, spot: 0}}\n",
    );
    let text = workshop.answer(&["module", "inspect", "predicate.wasm"]);
    assert!(text.contains("a policy names it under spec.scores"), "{text}");
    let text = workshop.answer(&["module", "check", "predicate.wasm"]);
    assert!(text.contains("nodes, normalization none") && text.contains("scores from 0 to 100"), "{text}");
    let document: Value =
        serde_json::from_str(&workshop.answer(&["module", "check", "predicate.wasm", "-o", "json"])).unwrap();
    let names: Vec<&str> =
        document["checks"].as_array().unwrap().iter().map(|check| check["name"].as_str().unwrap()).collect();
    assert_eq!(names[names.len() - 4..], ["row by row", "scores", "100,000 nodes", "100,000 scores"]);
    assert_eq!((&document["normalization"], &document["distinguishesNodes"]), (&json!("none"), &json!(true)));
    let figures: Value = serde_json::from_str(&workshop.answer(&[
        "module",
        "bench",
        "predicate.wasm",
        "--nodes",
        "10,20",
        "-o",
        "json",
    ]))
    .unwrap();
    let scores = figures["scores"].as_array().unwrap();
    assert_eq!(
        (scores.len(), &scores[0]["nodes"], &scores[0]["lowest"], &scores[0]["highest"]),
        (2, &json!(10), &json!(0), &json!(100))
    );
    assert_eq!(scores[0]["best"][0], json!({"node": "fixed", "raw": 100, "normalized": 100}));
    assert!(scores[0]["reusedNs"].as_u64().is_some_and(|ns| ns > 0), "{figures}");
    let text = workshop.answer(&["module", "bench", "predicate.wasm", "--nodes", "10"]);
    assert!(text.contains("SCORES") && text.contains("0 to 100") && text.contains("the best of 10 nodes"), "{text}");
}

#[test]
fn each_check_of_a_scorer_finds_what_it_looks_for() {
    let workshop = new_workshop();
    let row = format!(
        "(loop $next
           (i64.store (i32.add (i32.const {SCORES}) (i32.shl (local.get $i) (i32.const 3))) (i64.extend_i32_u (local.get $i)))
           (local.set $i (i32.add (local.get $i) (i32.const 1)))
           (br_if $next (i32.lt_u (local.get $i) (local.get $rows))))
         {}",
        constant()
    );
    let counter = "(global $calls (mut i64) (i64.const 0))";
    let keeping = format!(
        "(global.set $calls (i64.add (global.get $calls) (i64.const 1))) (i64.store (i32.const {SCORES}) (global.get $calls)) {}",
        constant()
    );
    let slow = format!(
        "(if (i32.gt_u (local.get $rows) (i32.const 1000)) (then (loop $forever (br $forever)))) {}",
        constant()
    );
    let short = format!("(call $scores (i32.const {SCORES}) (i32.const 1))");
    for (what, guest, check, named) in [
        ("place", scoring(0, &row), "row by row", "in halves"),
        ("state", scoring(0, &keeping).definitions(counter), "keeps nothing", "has the raw score"),
        ("a trap", scoring(0, "(unreachable)"), "hostile rows", "Trap"),
        ("too few", scoring(0, &short), "hostile rows", "1 scores for"),
        ("time", scoring(0, &slow), "100,000 scores", "Deadline"),
    ] {
        workshop.write("own.wasm", guest.component());
        let output = workshop.run(&["module", "check", "own.wasm", "-o", "json"]);
        assert_eq!(output.code, Some(FAILED), "{what}: {}{}", output.stdout, output.stderr);
        let document: Value = serde_json::from_str(&output.stdout).unwrap();
        let checks = document["checks"].as_array().unwrap();
        let found = checks.iter().find(|found| found["passed"] == json!(false)).unwrap();
        assert!(found["name"] == check && found.to_string().contains(named), "{what}: {found}");
        assert!(found["advice"].as_str().is_some_and(|advice| !advice.is_empty()), "{what}: {found}");
    }
    // Negative raw scores of every node are the same for every batch, and no scores.
    let negative = format!(
        "(memory.fill (i32.const {SCORES}) (i32.const 255) (i32.shl (local.get $rows) (i32.const 3))) {}",
        constant()
    );
    workshop.write("own.wasm", scoring(0, &negative).component());
    let output = workshop.run(&["module", "check", "own.wasm"]);
    assert_eq!(output.code, Some(FAILED), "{}{}", output.stdout, output.stderr);
    for part in ["is -1: not from 0 to 100 (raw -1, normalization none)", "by-largest-reversed of costs"] {
        assert!(output.stdout.contains(part), "{part}: {}", output.stdout);
    }
    // The same under another normalization is sound, and says nothing.
    workshop.write("own.wasm", scoring(3, &negative).component());
    let output = workshop.run(&["module", "check", "own.wasm"]);
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    assert!(output.stdout.contains("it never distinguishes two nodes"), "{}", output.stdout);
    assert!(output.stderr.contains("Write a case with different scores"), "{}", output.stderr);
}
