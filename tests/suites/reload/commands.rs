//! `nodesift policy check` and `nodesift policy status`.

use nodesift_tests::guest::Guest;
use nodesift_tests::machine::beside_others;
use nodesift_tests::{data, sidecar};
use serde_json::Value;

use crate::running::{Folder, Reloading, command, policy};

const USAGE: i32 = 64;
const DATA: i32 = 65;
const NO_INPUT: i32 = 66;
const UNAVAILABLE: i32 = 69;

fn check(folder: &Folder, arguments: &[&str]) -> sidecar::Output {
    let policy = folder.path("policy.yaml");
    sidecar::run(command().args(["policy", "check"]).arg(policy).args(arguments))
}

#[test]
fn a_good_policy_is_valid_and_with_a_cluster_it_is_tried() {
    let _beside = beside_others();
    let folder = Folder::new();
    folder.put("policy.yaml", policy(&["name: NodeName", "name: NodeResourcesFit"]));
    let output = check(&folder, &[]);
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
    assert!(output.stdout.contains("valid, 2 predicates, "), "{}", output.stdout);
    let cluster = data::sample_cluster();
    let output = check(&folder, &["--cluster", cluster.to_str().unwrap()]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(output.stdout.contains("valid") && output.stdout.contains("100 nodes"), "{}", output.stdout);
    // The folder is as good as the file.
    let output = sidecar::run(command().args(["policy", "check"]).arg(folder.path("")));
    assert_eq!(output.code, Some(0), "{}", output.stderr);
}

#[test]
fn facts_that_a_predicate_imports_and_the_policy_names_none_of_are_a_warning() {
    let _beside = beside_others();
    let folder = Folder::new();
    let example = nodesift_bundle_examples::EXAMPLES.iter().find(|example| example.name == "NodeRules").unwrap();
    folder.put("rules.wasm", example.bytes);
    let rules = policy(&["name: NodeName", "{name: NodeRules, module: {path: rules.wasm}}"]);
    folder.put("policy.yaml", &rules);
    let output = check(&folder, &[]);
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
    let warning = "warning: NodeRules imports annotations of nodes, and spec.facts.annotations names none: all of them read as absent\n";
    assert!(output.stdout.ends_with(warning), "{}", output.stdout);
    folder.put("policy.yaml", format!("{rules}  facts: {{annotations: [example.com/team]}}\n"));
    let output = check(&folder, &[]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(!output.stdout.contains("warning"), "{}", output.stdout);
}

#[test]
fn everything_that_is_wrong_is_told_at_once_and_the_exit_code_says_where() {
    let _beside = beside_others();
    let folder = Folder::new();
    folder.put(
        "policy.yaml",
        policy(&[
            "{name: NodePorts, pases: [allocate]}",
            "{name: Own, module: {path: none.wasm}}",
            "{name: NodeResourcesFit, args: {ignoredResource: [a]}}",
        ]),
    );
    let output = check(&folder, &[]);
    assert_eq!(output.code, Some(USAGE), "{}", output.stderr);
    for named in ["policy.yaml:7:", "pases", "none.wasm", "ignoredResource"] {
        assert!(output.stderr.contains(named), "{named:?} is not in {}", output.stderr);
    }
    // A module that faults on the cluster, and only there.
    folder.put("own.wasm", Guest::healthy().filter("unreachable").component());
    folder.put("policy.yaml", policy(&["{name: Own, module: {path: own.wasm}}"]));
    assert_eq!(check(&folder, &[]).code, Some(0));
    let cluster = data::sample_cluster();
    let output = check(&folder, &["--cluster", cluster.to_str().unwrap()]);
    assert_eq!(output.code, Some(USAGE), "{}", output.stderr);
    assert!(output.stderr.contains("Own") && output.stderr.contains("Trap"), "{}", output.stderr);
    // Files that are not what they should be.
    folder.put("cluster.json", "{");
    let cluster = folder.path("cluster.json");
    assert_eq!(check(&folder, &["--cluster", cluster.to_str().unwrap()]).code, Some(DATA));
    assert_eq!(check(&Folder::new(), &[]).code, Some(NO_INPUT));
    let empty = Folder::new();
    let output = sidecar::run(command().args(["policy", "check"]).arg(empty.path("")));
    assert_eq!(output.code, Some(USAGE), "{}", output.stderr);
    assert!(output.stderr.contains(".yaml"), "{}", output.stderr);
}

#[test]
fn the_files_of_a_folder_are_checked_and_compared_as_one_policy() {
    let _beside = beside_others();
    let (folder, single) = (Folder::new(), Folder::new());
    folder.put("own.wasm", Guest::healthy().component());
    folder.put("a.yaml", policy(&["name: NodeName", "name: NodeResourcesFit"]));
    folder.put("b.yaml", "spec:\n  predicates:\n  - {name: Own, module: {path: own.wasm}}\n");
    let check = || sidecar::run(command().args(["policy", "check"]).arg(folder.path("")));
    let output = check();
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
    assert!(output.stdout.contains("valid, 3 predicates, "), "{}", output.stdout);
    single.put("policy.yaml", policy(&["name: NodeName", "name: NodeResourcesFit"]));
    let cluster = data::sample_cluster();
    let mut diff = command();
    diff.args(["policy", "diff"]).arg(single.path("policy.yaml")).arg(folder.path("")).arg("--cluster").arg(cluster);
    let output = sidecar::run(&mut diff);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(output.stdout.contains("Own"), "{}", output.stdout);
    // All that is wrong, each with its own file.
    folder.put("c.yaml", "spec:\n  schedulerNames: [b]\n  predicates:\n  - {name: NodeName}\n");
    folder.put("d.yaml", "spec:\n  predicates:\n  - {name: Other, module: {path: none.wasm}}\n");
    let output = check();
    assert_eq!(output.code, Some(USAGE), "{}", output.stderr);
    for (file, place, words) in [
        ("c.yaml", "2:3: spec.schedulerNames", "a.yaml:5:3"),
        ("c.yaml", "4:12: spec.predicates[3].name", "a.yaml:7:11"),
        ("d.yaml", "3:5: spec.predicates[4]", "none.wasm"),
    ] {
        let begin = format!("{}:{place}", folder.path(file).display());
        let line =
            output.stderr.lines().find(|line| line.contains(&begin)).unwrap_or_else(|| panic!("{}", output.stderr));
        assert!(line.contains(words), "{line}");
    }
    // One that is no YAML does not hide the others.
    folder.put("d.yaml", "spec: [\n");
    let output = check();
    assert!(output.stderr.contains("d.yaml:") && output.stderr.contains("c.yaml:2:3"), "{}", output.stderr);
}

#[test]
fn the_status_of_a_running_sidecar_is_printed_for_people_and_for_programs() {
    let _beside = beside_others();
    let reloading = Reloading::start(&policy(&["name: NodeName", "name: NodeResourcesFit"]));
    let server = format!("unix:{}", reloading.sidecar.socket.display());
    let status =
        |arguments: &[&str]| sidecar::run(command().args(["policy", "status", "--server", &server]).args(arguments));
    reloading.put(&policy(&["name: NodeNmae"]));
    reloading.refuses("an unknown built-in", std::time::Instant::now());
    let text = status(&[]);
    assert_eq!(text.code, Some(0), "{}", text.stderr);
    for named in ["generation 1", "NodeResourcesFit", "default-scheduler", "last refused", "NodeNmae", "document"] {
        assert!(text.stdout.contains(named), "{named:?} is not in {}", text.stdout);
    }
    let json: Value = serde_json::from_str(&status(&["-o", "json"]).stdout).unwrap();
    assert_eq!(json["generation"], "1");
    assert_eq!(json["lastFailure"]["step"], "document");
    assert!(status(&["-o", "yaml"]).stdout.contains("lastFailure:"));
    let gone = sidecar::run(command().args(["policy", "status", "--server", "unix:/nowhere/s.sock"]));
    assert_eq!(gone.code, Some(UNAVAILABLE), "{}", gone.stderr);
}
