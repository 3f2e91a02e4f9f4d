//! `nodesift-dev module check`, `bench` and `compile`, and cases that `explain` records.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use nodesift_tests::guest::Guest;
use nodesift_tests::sidecar;
use nodesift_tests::workshop::{Workshop, three_nodes};
use serde_json::{Value, json};

use crate::new_workshop;

const FAILED: i32 = 1;
const USAGE: i32 = 64;
const DATA: i32 = 65;
const NO_INPUT: i32 = 66;

/// Cases in which labels decide, so that some nodes of a case fit and others do not.
const CASES: &str = "nodes:
- {name: red, labels: {example.com/team: red}}
- {name: blue, labels: {example.com/team: blue}}
cases: [{name: a pod fits the nodes of its team, pod: {labels: {example.com/team: red}}, fits: [red]}]
";

fn write_example(workshop: &Workshop, name: &str) {
    let example = nodesift_bundle_examples::EXAMPLES.iter().find(|example| example.name == name).unwrap();
    workshop.write("predicate.wasm", example.bytes);
}

/// The checks of a document by name, and whether they have passed.
fn checks(document: &Value) -> Vec<(String, bool)> {
    let checks = document["checks"].as_array().unwrap().iter();
    checks.map(|check| (check["name"].as_str().unwrap().to_owned(), check["passed"].as_bool().unwrap())).collect()
}

#[test]
fn a_sound_module_passes_every_check_that_applies() {
    let workshop = new_workshop();
    write_example(&workshop, "TeamIsolation");
    workshop.write("cases.yaml", CASES);
    let text = workshop.answer(&["module", "check", "predicate.wasm"]);
    for expected in [
        "nodesift:predicate 0.2.0",
        "allow      [pod-labels, node-labels]",
        "The pod's namespace and labels",
        "100,000 nodes",
    ] {
        assert!(text.contains(expected), "{expected:?} is not in {text}");
    }
    assert!(!text.contains("FAILED"), "{text}");
    let document: Value =
        serde_json::from_str(&workshop.answer(&["module", "check", "predicate.wasm", "-o", "json"])).unwrap();
    let names: Vec<String> = checks(&document).into_iter().map(|(name, _)| name).collect();
    let pointwise = [
        "size",
        "compiles",
        "memory",
        "starts",
        "hostile rows",
        "deterministic",
        "keeps nothing",
        "row by row",
        "100,000 nodes",
    ];
    assert_eq!(names, pointwise);
    // A cluster-wide predicate need not agree with itself about a part of the nodes.
    write_example(&workshop, "RackLimit");
    std::fs::remove_file(workshop.path("cases.yaml")).unwrap();
    let document: Value =
        serde_json::from_str(&workshop.answer(&["module", "check", "predicate.wasm", "-o", "json"])).unwrap();
    assert_eq!(document["clusterWide"], json!(true));
    assert!(checks(&document).iter().all(|(name, passed)| *passed && name != "row by row"), "{document}");
}

/// Every check fails for a module that does what it looks for.
#[test]
fn each_check_finds_what_it_looks_for() {
    let workshop = new_workshop();
    let counter = r#"(global $calls (mut i32) (i32.const 0))"#;
    // Rejects all rows once it has been called before.
    let keeping = "(global.set $calls (i32.add (global.get $calls) (i32.const 1)))
        (if (i32.eq (global.get $calls) (i32.const 1)) (then (return (call $fits_all))))
        (call $reject_odd (local.get $rows) (i32.const 4096))";
    let faults_on_many = "(if (i32.gt_u (local.get $rows) (i32.const 1000)) (then (unreachable))) (call $fits_all)";
    let slow =
        "(if (i32.gt_u (local.get $rows) (i32.const 1000)) (then (loop $forever (br $forever)))) (call $fits_all)";
    let growing =
        "(if (i32.gt_u (local.get $rows) (i32.const 20000)) (then (loop $forever (br $forever)))) (call $fits_all)";
    let none_is_fatal = "(if (i32.eqz (local.get $rows)) (then (unreachable))) (call $fits_all)";
    for (what, guest, check, named) in [
        ("a place decides", Guest::healthy(), "row by row", "in halves"),
        ("state", Guest::healthy().definitions(counter).filter(keeping), "keeps nothing", "a used instance"),
        ("a fault", Guest::healthy().filter("(unreachable)"), "hostile rows", "the fault Trap"),
        ("no nodes", Guest::healthy().filter(none_is_fatal), "hostile rows", "no nodes"),
        ("many nodes", Guest::healthy().filter(faults_on_many), "100,000 nodes", "Trap"),
        ("time", Guest::healthy().filter(slow), "100,000 nodes", "Deadline"),
        ("few nodes", Guest::healthy().filter(slow), "100,000 nodes", "10000 nodes take too much as well"),
        ("growth", Guest::healthy().filter(growing), "100,000 nodes", "it grows with the number of nodes"),
        ("arguments", Guest::healthy().refusal("label: missing"), "starts", "label: missing"),
        ("memory", Guest::healthy().memory(r#"(memory (export "memory") 512)"#), "memory", "32768 KiB of 16384 KiB"),
    ] {
        workshop.write("own.wasm", guest.component());
        let output = workshop.run(&["module", "check", "own.wasm", "-o", "json"]);
        assert_eq!(output.code, Some(FAILED), "{what}: {}{}", output.stdout, output.stderr);
        assert!(output.stderr.contains("failed"), "{}", output.stderr);
        let document: Value = serde_json::from_str(&output.stdout).unwrap();
        let found =
            document["checks"].as_array().unwrap().iter().find(|found| found["passed"] == json!(false)).unwrap();
        let told = found.to_string();
        assert!(found["name"] == check && told.contains(named.trim_start_matches("the fault ")), "{what}: {told}");
        assert!(found["advice"].as_str().is_some_and(|advice| !advice.is_empty()), "{what}: {told}");
    }
    workshop.write("own.wasm", b"hello");
    let output = workshop.run(&["module", "check", "own.wasm"]);
    assert_eq!(output.code, Some(FAILED));
    assert!(output.stdout.contains("not a WebAssembly component"), "{}", output.stdout);
    workshop.fails_naming(NO_INPUT, &["module", "check", "none.wasm"], &["none.wasm"]);
    workshop.fails_naming(USAGE, &["module", "check", "own.wasm", "--args", "{"], &["--args: not JSON"]);
    workshop.fails_naming(USAGE, &["module", "check", "own.wasm", "--args", "[]"], &["args"]);
}

/// A cap on racks reads the pods of the whole cluster: it is asked about racks like those of its case.
#[test]
fn a_large_cluster_is_answered_as_the_case_that_it_is_grown_from() {
    let workshop = new_workshop();
    write_example(&workshop, "RackLimit");
    workshop.write(
        "cases.yaml",
        "args: {limit: 2}
nodes:
- {name: a, labels: {example.com/rack: r1}}
- {name: b, labels: {example.com/rack: r1}}
- {name: c, labels: {example.com/rack: r2}}
- {name: d, labels: {example.com/rack: r2}}
pods: [{nodeName: a, labels: {app: web}}, {nodeName: b, labels: {app: web}}, {nodeName: c, labels: {app: web}}]
cases: [{name: a rack with enough pods is full, pod: {labels: {app: web}}, fits: [c, d]}]
",
    );
    let text = workshop.answer(&["module", "check", "predicate.wasm", "-o", "json"]);
    let document: Value = serde_json::from_str(&text).unwrap();
    let checks = document["checks"].as_array().unwrap();
    let large = checks.iter().find(|check| check["name"] == "100,000 nodes").unwrap();
    let detail = large["detail"].as_str().unwrap();
    assert!(detail.contains(" ms of processor time for ") && detail.ends_with("50000 are rejected"), "{large}");
    let figures = workshop.answer(&["module", "bench", "predicate.wasm", "--nodes", "100", "-o", "json"]);
    let figures: Value = serde_json::from_str(&figures).unwrap();
    assert_eq!(figures["sizes"][0]["rejected"], json!(50), "{figures}");
}

/// It passes, because a rule may mean that; that no node is left is said.
#[test]
fn a_module_that_rejects_every_node_of_a_large_cluster_is_named() {
    let workshop = new_workshop();
    let none_of_many = "(if (i32.gt_u (local.get $rows) (i32.const 90))
            (then (return (call $fits_none (i32.const 0) (i32.const 112) (i32.const 1)))))
        (call $fits_all)";
    workshop.write("predicate.wasm", Guest::healthy().filter(none_of_many).component());
    workshop.write("cases.yaml", CASES);
    let text = workshop.answer(&["module", "check", "predicate.wasm", "-o", "json"]);
    assert!(text.contains("it rejects every node of that cluster, where 2 of 2 fit in the case"), "{text}");
    let output = workshop.run(&["module", "bench", "predicate.wasm", "--nodes", "100"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(output.stderr.contains("it rejects every one of 100 nodes"), "{}", output.stderr);
}

#[test]
fn a_benchmark_has_figures_of_every_size() {
    let workshop = new_workshop();
    write_example(&workshop, "TeamIsolation");
    workshop.write("cases.yaml", CASES);
    let run = |more: &[&str]| workshop.answer(&[&["module", "bench", "predicate.wasm"], more].concat());
    let document: Value = serde_json::from_str(&run(&["--nodes", "100,1000", "-o", "json"])).unwrap();
    let sizes = document["sizes"].as_array().unwrap();
    assert_eq!(sizes.iter().map(|size| size["nodes"].as_u64().unwrap()).collect::<Vec<_>>(), [100, 1000]);
    for size in sizes {
        assert_eq!(
            size["rejected"].as_u64().unwrap() * 2,
            size["nodes"].as_u64().unwrap(),
            "blue, which is every second"
        );
        for figure in ["freshNs", "spareNs", "reusedNs", "memoryBytes", "rounds"] {
            assert!(size[figure].as_u64().unwrap() > 0, "{figure}: {size}");
        }
    }
    assert!(document["nsPerNode"].is_number(), "{document}");
    let text = run(&["--nodes", "100"]);
    assert!(
        text.contains("TeamIsolation") && text.contains("FRESH INSTANCE") && text.contains("SPARE INSTANCE"),
        "{text}"
    );
    // A cluster of files, and its pending pod.
    workshop.write("cluster.json", three_nodes().to_string());
    let output = workshop.run(&["module", "bench", "predicate.wasm", "--cluster", "cluster.json", "-o", "json"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(output.stderr.contains("every node fits"), "{}", output.stderr);
    let document: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!((&document["question"], &document["sizes"][0]["nodes"]), (&json!("pod default/new"), &json!(3)));
    // A pod that no API server has seen, and the note about it.
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "written"},
        "spec": {"containers": [{"name": "main", "resources": {"limits": {"cpu": "1"}}}]}});
    workshop.write("pod.json", pod.to_string());
    let files = ["--cluster", "cluster.json", "--pods", "pod.json"];
    let output = workshop.run(&[&["module", "bench", "predicate.wasm"][..], &files].concat());
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(output.stderr.contains("1 Pod (requests from limits)"), "{}", output.stderr);
}

#[test]
fn modules_are_compiled_ahead_into_the_cache() {
    let workshop = new_workshop();
    write_example(&workshop, "TeamIsolation");
    let cache = workshop.path("cache");
    let run = |module: &str| {
        let mut command = workshop.command(&["module", "compile", "predicate.wasm", module]);
        sidecar::run(command.env("XDG_CACHE_HOME", &cache))
    };
    let output = run("predicate.wasm");
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(output.stdout.contains("predicate.wasm: TeamIsolation, compiled in "), "{}", output.stdout);
    assert!(output.stdout.contains(&*cache.join("nodesift/modules").to_string_lossy()), "{}", output.stdout);
    let files = std::fs::read_dir(cache.join("nodesift/modules")).unwrap().count();
    assert!(files > 0);
    workshop.write("bad.wasm", b"hello");
    let output = run("bad.wasm");
    assert_eq!(output.code, Some(DATA), "{}", output.stderr);
    assert!(output.stderr.contains("bad.wasm"), "{}", output.stderr);
    // A cache that others could write to is not used.
    std::os::unix::fs::symlink("/nowhere/else", workshop.path("link")).unwrap();
    let mut command = workshop.command(&["module", "compile", "predicate.wasm"]);
    let output = sidecar::run(command.env("XDG_CACHE_HOME", workshop.path("link")));
    assert_ne!(output.code, Some(0));
    assert!(output.stderr.contains("XDG_CACHE_HOME"), "{}", output.stderr);
}

/// Files of compiled code in a cache, without its statistics.
fn code(cache: &Path) -> BTreeSet<PathBuf> {
    let mut folders = vec![cache.to_owned()];
    let mut files = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_none() {
                files.insert(path);
            }
        }
    }
    files
}

/// Whichever command comes first compiles the module, and all others find its code: so does a sidecar, which has the same cache.
#[test]
fn a_module_is_compiled_once_for_all_commands() {
    let workshop = new_workshop();
    write_example(&workshop, "TeamIsolation");
    workshop.write("cases.yaml", CASES);
    workshop.write("cluster.json", three_nodes().to_string());
    let own = policy("predicate.wasm", "args: {label: example.com/team}").replace("  - name: NodeResourcesFit\n", "");
    workshop.write("own.yaml", own);
    let commands: [&[&str]; 4] = [
        &["module", "test", "-o", "json"],
        &["module", "check", "predicate.wasm", "-o", "json"],
        &["module", "bench", "predicate.wasm", "--nodes", "10", "-o", "json"],
        &["explain", "--cluster", "cluster.json", "--policy", "own.yaml", "--record", "recorded.yaml"],
    ];
    for first in 0..2 {
        let cache = workshop.path(&format!("cache-{first}"));
        let run = |arguments: &[&str]| {
            let _absent = std::fs::remove_file(workshop.path("recorded.yaml"));
            let mut command = workshop.command(arguments);
            let output = sidecar::run(command.env("XDG_CACHE_HOME", &cache));
            assert_eq!(output.code, Some(0), "{arguments:?}: {}", output.stderr);
            output.stdout
        };
        let told = run(commands[first]);
        if commands[first].contains(&"check") || commands[first].contains(&"bench") {
            let document: Value = serde_json::from_str(&told).unwrap();
            assert!(document["compileSeconds"].as_f64().unwrap() > 0.0, "{document}");
        }
        let compiled = code(&cache);
        assert_eq!(compiled.len(), 1, "{compiled:?}");
        for arguments in commands {
            let told = run(arguments);
            assert_eq!(code(&cache), compiled, "{arguments:?} compiles again after {:?}", commands[first]);
            if arguments.contains(&"check") || arguments.contains(&"bench") {
                let document: Value = serde_json::from_str(&told).unwrap();
                assert!(document["compileSeconds"].is_null(), "{document}");
            }
        }
    }
}

/// A policy with this module beside a built-in.
fn policy(module: &str, more: &str) -> String {
    format!(
        "apiVersion: nodesift.dev/v1alpha1\nkind: PredicatePolicy\nspec:\n  schedulerNames: [default-scheduler]\n  predicates:\n  \
         - name: NodeResourcesFit\n  - {{name: Own, module: {{path: {module}}}, {more}}}\n"
    )
}

#[test]
fn a_recorded_question_is_a_case_that_passes() {
    let workshop = new_workshop();
    let mut cluster = three_nodes();
    let items = cluster["items"].as_array_mut().unwrap();
    for (index, item) in items.iter_mut().enumerate() {
        let team = if index == 1 { "blue" } else { "red" };
        item["metadata"]["labels"]["example.com/team"] = json!(team);
        item["metadata"]["annotations"] = json!({"example.com/secret": "hidden"});
    }
    workshop.write("cluster.json", cluster.to_string());
    write_example(&workshop, "TeamIsolation");
    workshop.write("live.yaml", policy("predicate.wasm", "args: {label: example.com/team}"));
    let explain = ["explain", "--cluster", "cluster.json", "--policy", "live.yaml"];
    let record = |more: &[&str]| workshop.run(&[&explain[..], more].concat());
    let output = record(&["--record", "recorded.yaml"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(output.stderr.contains("recorded.yaml: 1 case recorded"), "{}", output.stderr);
    let text = std::fs::read_to_string(workshop.path("recorded.yaml")).unwrap();
    assert!(text.contains("Own: default/new") && text.contains("n1:"), "{text}");
    // Pods on nodes, amounts and annotations are nothing that the predicate can read.
    for absent in ["hidden", "allocatable", "default/web", "3500m"] {
        assert!(!text.contains(absent), "{absent} is in {text}");
    }
    assert_eq!(workshop.answer(&["module", "test", "recorded.yaml"]), "ok      Own: default/new\n1 case passed\n");
    // The case says something: with another argument it fails.
    workshop.write("other.yaml", text.replace("label: example.com/team", "label: kubernetes.io/hostname"));
    assert_eq!(workshop.run(&["module", "test", "other.yaml"]).code, Some(FAILED));
    // Some nodes, and a pod that is bound.
    let output = record(&["--pod", "default/web", "--node", "n0", "--record", "two.yaml"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let text = std::fs::read_to_string(workshop.path("two.yaml")).unwrap();
    assert!(text.contains("n0") && !text.contains("n1"), "{text}");
    workshop.answer(&["module", "test", "two.yaml"]);
    // A predicate that reads the whole cluster gets all of it.
    write_example(&workshop, "RackLimit");
    workshop.write("live.yaml", policy("predicate.wasm", "args: {topologyKey: kubernetes.io/hostname, limit: 1}"));
    let output = record(&["--node", "n0", "--record", "wide.yaml"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let text = std::fs::read_to_string(workshop.path("wide.yaml")).unwrap();
    assert!(text.contains("n1") && text.contains("web"), "{text}");
    // A fault is what the module has answered.
    workshop.write("predicate.wasm", Guest::healthy().filter("(unreachable)").component());
    workshop.write("live.yaml", policy("predicate.wasm", "onError: Ignore"));
    let output = record(&["--record", "fault.yaml"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(std::fs::read_to_string(workshop.path("fault.yaml")).unwrap().contains("fault: Trap"));
}

#[test]
fn what_cannot_be_recorded_is_refused_before_anything_is_written() {
    let workshop = new_workshop().with_cluster();
    write_example(&workshop, "TeamIsolation");
    workshop.write("live.yaml", policy("predicate.wasm", "args: {}"));
    workshop.write("there.yaml", "mine");
    let explain = ["explain", "--cluster", "cluster.json"];
    let fails = |more: &[&str], named: &[&str]| workshop.fails_naming(USAGE, &[&explain[..], more].concat(), named);
    fails(&["--record", "new.yaml"], &["module.path", "--policy"]);
    fails(&["--policy", "live.yaml", "--record", "there.yaml"], &["there.yaml is there already"]);
    let unknown = ["--policy", "live.yaml", "--pod", "default/none", "--record", "new.yaml"];
    workshop.fails_naming(DATA, &[&explain[..], &unknown].concat(), &["default/none"]);
    assert_eq!(std::fs::read_to_string(workshop.path("there.yaml")).unwrap(), "mine");
    assert!(!workshop.path("new.yaml").exists());
    // A sidecar's answer does not have the objects.
    workshop.fails_naming(USAGE, &["explain", "--server", "unix:none", "--record", "new.yaml"], &["--server"]);
    workshop.fails_naming(USAGE, &["explain", "--record", "new.yaml"], &["--cluster"]);
    workshop.fails_naming(USAGE, &explain, &["--record"]);
}
