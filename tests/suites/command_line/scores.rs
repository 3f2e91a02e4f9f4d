//! The option `--scores` of `filter` and `explain`.

use nodesift_tests::workshop::{Workshop, lines};
use serde_json::json;

use crate::new_workshop;

const USAGE: i32 = 64;

/// Three nodes that all fit, and one scorer: n0 and n1 are empty, and n2 has too little left.
fn workshop() -> Workshop {
    let workshop = new_workshop().with_cluster();
    let policy = |scores: &str| {
        format!(
            "apiVersion: nodesift.dev/v1alpha1\nkind: PredicatePolicy\nspec:\n  schedulerNames: [default-scheduler]\n  \
             predicates: [{{name: NodeName}}]\n  scores: {scores}\n"
        )
    };
    workshop.write("policy.yaml", policy("[{name: NodeResourcesFit, weight: 2}]"));
    workshop.write("none.yaml", policy("[]"));
    workshop
}

const FILES: [&str; 4] = ["--cluster", "cluster.json", "--policy", "policy.yaml"];

#[test]
fn the_best_nodes_are_printed_with_their_totals_and_ties() {
    let workshop = workshop();
    let answer = |arguments: &[&str]| lines(&workshop.answer(&[arguments, &FILES].concat()));
    // Of cpu 75 of 100 are left, of memory 97, and of nothing in n2 but of memory 95: the mean is cut.
    let scorers = json!([{"scorer": "NodeResourcesFit", "weight": 2, "outcome": "Scored"}]);
    let filtered = answer(&["filter", "--scores", "1", "-o", "jsonl"]);
    let expected = json!({"best": [{"node": "n0", "total": 172}], "ties": 1, "scorers": scorers});
    assert_eq!(filtered[0]["scores"], expected);
    let explained = answer(&["explain", "--scores", "-o", "jsonl"]);
    let node = |name: &str, score: i64| json!({"node": name, "total": 2 * score, "each": [{"raw": score, "normalized": score, "weighted": 2 * score}]});
    let best = json!([node("n0", 86), node("n1", 86), node("n2", 47)]);
    let expected = json!({"best": best, "ties": 0, "scorers": scorers});
    assert_eq!(explained.last().unwrap()["scores"], expected);
    let table = workshop.answer(&[&["explain", "--scores", "1"][..], &FILES].concat());
    for part in ["NodeResourcesFit ×2", "172", "1 node more with a total of 172"] {
        assert!(table.contains(part), "{part:?} is not in {table}");
    }
}

#[test]
fn without_the_option_nothing_is_scored_and_the_answer_is_that_of_a_policy_without_scorers() {
    let workshop = workshop();
    for format in ["table", "json", "jsonl", "yaml"] {
        for command in ["filter", "explain"] {
            let answer = |policy: &str| {
                workshop.answer(&[command, "-o", format, "--cluster", "cluster.json", "--policy", policy])
            };
            assert_eq!(answer("policy.yaml"), answer("none.yaml"), "{command} -o {format}");
        }
    }
    workshop.fails_naming(USAGE, &[&["filter", "--scores", "0"][..], &FILES].concat(), &["from 1 to 1000"]);
}
