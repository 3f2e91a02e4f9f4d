//! Input and output formats.

use std::io::Write as _;
use std::process::Stdio;

use flate2::Compression;
use flate2::write::GzEncoder;
use nodesift_tests::data;
use nodesift_tests::workshop::{lines, predicates, three_nodes};
use serde_json::Value;

use crate::new_workshop;

const JSONL: [&str; 4] = ["explain", "-o", "jsonl", "--cluster"];

/// The conjunction line of `explain` for the pending pod of the three nodes.
const TOGETHER: &str = concat!(r#"{"pod":"default/new","predicate":"*","feasible":["n0"]}"#, "\n");

/// The predicates that YuniKorn runs in the reserve phase, and the conjunction.
const RESERVED: [&str; 8] = [
    "NodeUnschedulable",
    "NodeName",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "PodTopologySpread",
    "InterPodAffinity",
    "*",
];

fn jsonl<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [JSONL.as_slice(), arguments].concat()
}

/// YAML as `kubectl` writes it. Any JSON is YAML, so only the list of items is in block style.
fn yaml(value: &Value, depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (key, value) in fields {
                *out += &format!("{indent}{key}:\n");
                yaml(value, depth + 1, out);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                *out += &format!("{indent}-\n");
                yaml(item, depth + 1, out);
            }
        }
        other => *out += &format!("{indent}{other}\n"),
    }
}

#[test]
fn every_form_of_a_cluster_means_the_same() {
    let workshop = new_workshop().with_cluster();
    let cluster = three_nodes();
    let items = cluster["items"].as_array().unwrap();
    let expected = workshop.answer(&jsonl(&["cluster.json"]));
    assert!(expected.ends_with(TOGETHER), "{expected}");

    workshop.write("pretty.json", serde_json::to_string_pretty(&cluster).unwrap());
    workshop.write("lines.json", items.iter().map(|item| format!("{item}\n")).collect::<String>());
    workshop.write("concatenated.json", items.iter().map(Value::to_string).collect::<String>());
    let documents = items.iter().map(|item| {
        let mut text = String::from("---\n");
        yaml(item, 0, &mut text);
        text
    });
    workshop.write("documents.yaml", documents.collect::<String>());
    let mut list = String::new();
    yaml(&cluster, 0, &mut list);
    workshop.write("list.yaml", list);
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(cluster.to_string().as_bytes()).unwrap();
    workshop.write("packed", packed.finish().unwrap());
    for name in ["pretty.json", "lines.json", "concatenated.json", "documents.yaml", "list.yaml", "packed"] {
        assert_eq!(workshop.answer(&jsonl(&[name])), expected, "{name}");
    }

    let (nodes, pods) = items.split_at(3);
    workshop.write("nodes.json", nodes.iter().map(Value::to_string).collect::<String>());
    workshop.write("pods.json", pods.iter().map(Value::to_string).collect::<String>());
    assert_eq!(workshop.answer(&jsonl(&["pods.json", "nodes.json"])), expected, "two files");

    let mut child = workshop.command(&jsonl(&["-"])).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(cluster.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected, "standard input");
}

#[test]
fn every_form_of_an_answer_says_the_same() {
    let workshop = new_workshop().with_cluster();
    let explain = |form| workshop.answer(&["explain", "--cluster", "cluster.json", "-o", form]);
    let json: Value = serde_json::from_str(&explain("json")).unwrap();
    let pod = &json.as_array().unwrap()[0];
    assert_eq!(pod["pod"], "default/new");
    assert_eq!(pod["feasible"], serde_json::json!(["n0"]));

    let by_line = lines(&explain("jsonl"));
    let together = by_line.last().unwrap();
    assert_eq!(together["feasible"], pod["feasible"]);
    let alone = pod["predicates"].as_array().unwrap();
    assert_eq!(alone.len() + 1, by_line.len());
    for (line, alone) in by_line.iter().zip(alone) {
        assert_eq!((&line["predicate"], &line["failures"]), (&alone["predicate"], &alone["failures"]));
    }

    let yaml = explain("yaml");
    assert!(yaml.contains("default/new") && yaml.contains("TaintToleration") && yaml.contains("n1"), "{yaml}");
    let table = explain("table");
    assert!(table.contains("default/new") && table.contains("1 of 3"), "{table}");
    assert!(!table.contains('\u{1b}'), "no colour without a terminal: {table:?}");
}

#[test]
fn filter_names_the_first_predicate_that_rejects() {
    let workshop = new_workshop().with_cluster();
    let answer = workshop.answer(&["filter", "--cluster", "cluster.json", "-o", "jsonl"]);
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(
        answer,
        serde_json::json!({
            "pod": "default/new",
            "feasible": ["n0"],
            "failures": [
                {"predicate": "TaintToleration", "code": "UnschedulableAndUnresolvable",
                 "reasons": ["node(s) had untolerated taint(s)"], "count": 1},
                {"predicate": "NodeResourcesFit", "code": "Unschedulable", "reasons": ["Insufficient cpu"], "count": 1},
            ],
            "faults": [],
        })
    );
}

#[test]
fn pods_nodes_phases_and_predicates_can_be_chosen() {
    let workshop = new_workshop().with_cluster();
    let pod = workshop.answer(&jsonl(&["cluster.json", "--pod", "default/web"]));
    assert!(lines(&pod).iter().all(|line| line["pod"] == "default/web"), "{pod}");

    let node = workshop.answer(&jsonl(&["cluster.json", "--node", "n1", "n2"]));
    assert_eq!(
        lines(&node).last().unwrap()["message"],
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s)."
    );

    let allocate = predicates(&workshop.answer(&jsonl(&["cluster.json"])));
    let reserve = predicates(&workshop.answer(&jsonl(&["cluster.json", "--phase", "reserve"])));
    let reserved: Vec<_> = allocate.iter().filter(|name| RESERVED.contains(&name.as_str())).cloned().collect();
    assert_eq!(reserve, reserved);

    let chosen = workshop.answer(&jsonl(&["cluster.json", "--predicates", "NodeResourcesFit,NodeName"]));
    assert_eq!(predicates(&chosen), ["NodeResourcesFit", "NodeName", "*"]);
    assert_eq!(lines(&chosen).last().unwrap()["feasible"], serde_json::json!(["n0", "n1"]));
}

#[test]
fn the_sample_cluster_explains_every_pending_pod() {
    let workshop = new_workshop();
    let cluster = data::sample_cluster();
    let cluster = cluster.to_str().unwrap();
    let together = lines(&workshop.answer(&jsonl(&[cluster])));
    let pods = together.iter().filter(|line| line["predicate"] == "*").count();
    assert_eq!(pods, 94, "pending pods");
    let table = workshop.answer(&["explain", "--cluster", cluster, "-o", "table"]);
    assert!(table.contains("94 pods") && table.contains("of 298 nodes fit"), "{table}");
}

#[test]
fn manifests_that_no_api_server_has_seen_are_filled_in_with_a_note() {
    let workshop = new_workshop();
    let manifests = r#"
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {kubernetes.io/hostname: n1}}
status: {allocatable: {cpu: "1", memory: 4Gi, pods: "10"}}
---
apiVersion: v1
kind: Pod
metadata: {name: proxy, namespace: default}
spec:
  nodeName: n1
  hostNetwork: true
  containers:
  - {name: c, image: x, ports: [{containerPort: 9100, hostPort: 9100, protocol: TCP}]}
---
apiVersion: v1
kind: Pod
metadata: {name: limits-only}
spec:
  containers:
  - {name: c, image: x, resources: {limits: {cpu: "2"}}}
---
apiVersion: v1
kind: Pod
metadata: {name: host-network}
spec:
  hostNetwork: true
  containers:
  - {name: c, image: x, ports: [{containerPort: 9100}]}
"#;
    workshop.write("manifests.yaml", manifests);
    let output = workshop.run(&["filter", "--cluster", "manifests.yaml", "-o", "jsonl"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let note = "filled in as the API server fills it in: 1 Pod (requests from limits), 1 Pod (host ports of the host's network)";
    assert!(output.stderr.contains(note), "{}", output.stderr);
    for (pod, predicate) in [("default/limits-only", "NodeResourcesFit"), ("default/host-network", "NodePorts")] {
        let lines = lines(&output.stdout);
        let line = lines.iter().find(|line| line["pod"] == pod).unwrap();
        assert!(line.to_string().contains(predicate), "{line}");
        assert!(!line.to_string().contains("default/proxy") && !line["feasible"].to_string().contains("n1"), "{line}");
    }
}

#[test]
fn the_version_names_the_allocator_in_every_form() {
    let workshop = new_workshop();
    let document: Value = serde_json::from_str(&workshop.answer(&["version", "-o", "json"])).unwrap();
    let allocator = if cfg!(feature = "jemalloc") { "jemalloc" } else { "system" };
    assert_eq!(document["allocator"], allocator, "{document}");
    assert_eq!(document["version"], env!("CARGO_PKG_VERSION"), "{document}");
    let table = workshop.answer(&["version"]);
    for (name, value) in document.as_object().unwrap().iter().filter_map(|(name, value)| Some((name, value.as_str()?)))
    {
        assert!(table.contains(value), "{name} in {table}");
    }
    let line: Value = serde_json::from_str(&workshop.answer(&["version", "-o", "jsonl"])).unwrap();
    assert_eq!(line, document);
    assert!(workshop.answer(&["version", "-o", "yaml"]).contains(&format!("allocator: {allocator}\n")));
}
