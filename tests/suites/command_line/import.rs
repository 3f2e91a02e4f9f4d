//! The command `nodesift policy import`.

use nodesift_tests::workshop::{lines, predicates};
use serde_json::json;

use crate::new_workshop;

const DATA: i32 = 65;
const NO_INPUT: i32 = 66;

#[test]
fn an_imported_policy_runs_and_says_what_is_not_in_it() {
    let workshop = new_workshop().with_cluster();
    workshop.write(
        "scheduler.yaml",
        "apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
extenders: [{urlPrefix: http://localhost}]
profiles:
- plugins:
    filter: {disabled: [{name: TaintToleration}]}
    score: {disabled: [{name: '*'}]}
  pluginConfig:
  - name: NodeAffinity
    args: {addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
      {matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [n1]}]}]}}}
",
    );
    let output = workshop.run(&["policy", "import", "scheduler.yaml"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    for noted in ["scheduler.yaml:3:", "extenders"] {
        assert!(
            output.stderr.contains(noted) && output.stdout.contains(noted),
            "{noted:?}: {}\n{}",
            output.stderr,
            output.stdout
        );
    }
    assert!(output.stdout.contains("  scores: []\n"), "{}", output.stdout);
    workshop.write("policy.yaml", &output.stdout);
    let answer = workshop.answer(&["explain", "-o", "jsonl", "--cluster", "cluster.json", "--policy", "policy.yaml"]);
    assert!(!predicates(&answer).contains(&"TaintToleration".to_owned()), "{answer}");
    assert_eq!(
        lines(&answer).last().unwrap()["feasible"],
        json!(["n1"]),
        "tainted, and the only one of the added affinity"
    );
    // What the predicates refuse, and what is no configuration.
    let with_args = |args: &str| {
        format!(
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n- pluginConfig:\n  - name: NodeResourcesFit\n    args: {args}\n"
        )
    };
    for (text, named) in [
        (with_args("{ignoredResource: [a]}"), "ignoredResource"),
        (with_args("{ignoredResources: [a"), "scheduler.yaml:"),
        ("kind: Policy\napiVersion: v1\n".to_owned(), "KubeSchedulerConfiguration"),
    ] {
        workshop.write("scheduler.yaml", text);
        workshop.fails_naming(DATA, &["policy", "import", "scheduler.yaml"], &[named]);
    }
    workshop.fails_naming(NO_INPUT, &["policy", "import", "none.yaml"], &["none.yaml"]);
}
