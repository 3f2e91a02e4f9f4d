//! `nodesift policy diff`: compared with what `explain` says by each policy, node by node.

use std::collections::{BTreeMap, BTreeSet};

use nodesift_tests::data;
use nodesift_tests::guest::{Guest, ODD_ROW};
use nodesift_tests::workshop::{Workshop, lines};
use serde_json::{Value, json};

use crate::new_workshop;

const USAGE: i32 = 64;
const DATA: i32 = 65;
const NO_INPUT: i32 = 66;

fn policy(predicates: &[&str]) -> String {
    let entries: String = predicates.iter().map(|predicate| format!("  - {predicate}\n")).collect();
    format!(
        "apiVersion: nodesift.dev/v1alpha1\nkind: PredicatePolicy\nspec:\n  schedulerNames: [default-scheduler]\n  \
         predicates:\n{entries}"
    )
}

/// The nodes of one pod by one policy.
#[derive(Debug, Default)]
struct Answer {
    feasible: BTreeSet<String>,
    /// By node: the first predicate that rejects it, and its reasons.
    rejected: BTreeMap<String, (String, Vec<String>)>,
}

fn texts(value: &Value) -> impl Iterator<Item = String> {
    value.as_array().into_iter().flatten().map(|text| text.as_str().unwrap().to_owned())
}

/// Runs `explain`, and returns the feasible and the rejected nodes of each pod.
fn explained(workshop: &Workshop, policy: &str, cluster: &str) -> BTreeMap<String, Answer> {
    let mut pods: BTreeMap<String, Answer> = BTreeMap::new();
    for line in lines(&workshop.answer(&["explain", "-o", "jsonl", "--cluster", cluster, "--policy", policy])) {
        let answer = pods.entry(line["pod"].as_str().unwrap().to_owned()).or_default();
        let predicate = line["predicate"].as_str().unwrap();
        answer.feasible.extend(texts(&line["feasible"]));
        for failure in line["failures"].as_array().into_iter().flatten() {
            for node in texts(&failure["nodes"]) {
                let reasons = texts(&failure["reasons"]).collect();
                answer.rejected.entry(node).or_insert_with(|| (predicate.to_owned(), reasons));
            }
        }
    }
    pods
}

/// The changes of one list of a line, by node.
fn changes(list: &Value) -> BTreeMap<String, (String, Vec<String>)> {
    let mut found = BTreeMap::new();
    for change in list.as_array().unwrap() {
        for node in texts(&change["nodes"]) {
            let by = (change["predicate"].as_str().unwrap().to_owned(), texts(&change["reasons"]).collect());
            assert!(found.insert(node, by).is_none(), "a node twice: {list}");
        }
    }
    found
}

#[test]
fn differences_on_the_sample_cluster_are_those_of_two_explanations() {
    let workshop = new_workshop();
    workshop.write("own.wasm", Guest::healthy().component());
    let own = "{name: Own, module: {path: own.wasm}}";
    let before =
        policy(&["name: TaintToleration", "name: NodeAffinity", "name: NodeResourcesFit", "name: InterPodAffinity"]);
    // Nodes are lost to Own, gained from TaintToleration, and some are neither because another predicate rejects them too.
    let after = policy(&["name: NodeAffinity", own, "name: NodeResourcesFit", "name: InterPodAffinity"]);
    let cluster = data::sample_cluster();
    let cluster = cluster.to_str().unwrap();
    for (before, after) in [(&before, &after), (&after, &before), (&before, &before)] {
        workshop.write("before.yaml", before);
        workshop.write("after.yaml", after);
        let diff = ["policy", "diff", "before.yaml", "after.yaml", "--cluster", cluster, "-o", "jsonl"];
        let mut found = lines(&workshop.answer(&diff));
        let summary = found.pop().unwrap();
        let (old, new) = (explained(&workshop, "before.yaml", cluster), explained(&workshop, "after.yaml", cluster));
        assert!(old.len() > 50 && old.keys().eq(new.keys()));
        let mut expected: BTreeMap<(String, &str), (u64, u64)> = BTreeMap::new();
        let mut pods = BTreeMap::from([
            ("differing", 0),
            ("rejectedEverywhere", 0),
            ("newlyPlaceable", 0),
            ("losing", 0),
            ("gaining", 0),
        ]);
        let mut count = |what, is_so: bool| *pods.entry(what).or_insert(0_u64) += u64::from(is_so);
        let mut rest = found.iter();
        for ((pod, old), new) in old.iter().zip(new.values()) {
            let side = |feasible: &BTreeSet<String>, answer: &Answer| -> BTreeMap<String, (String, Vec<String>)> {
                feasible
                    .iter()
                    .filter(|node| !answer.feasible.contains(*node))
                    .map(|node| (node.clone(), answer.rejected[node].clone()))
                    .collect()
            };
            let (lost, gained) = (side(&old.feasible, new), side(&new.feasible, old));
            for (nodes, would) in [(&lost, "wouldReject"), (&gained, "wouldAllow")] {
                let mut of_pod: BTreeMap<String, u64> = BTreeMap::new();
                nodes.values().for_each(|(predicate, _)| *of_pod.entry(predicate.clone()).or_default() += 1);
                for (predicate, nodes) in of_pod {
                    let sum = expected.entry((predicate, would)).or_default();
                    *sum = (sum.0 + 1, sum.1 + nodes);
                }
            }
            let (had, has) = (!old.feasible.is_empty(), !new.feasible.is_empty());
            count("differing", !lost.is_empty() || !gained.is_empty());
            count("rejectedEverywhere", had && !has);
            count("newlyPlaceable", !had && has);
            count("losing", has && !lost.is_empty());
            count("gaining", had && !gained.is_empty());
            if !lost.is_empty() || !gained.is_empty() {
                let line = rest.next().unwrap_or_else(|| panic!("no line of {pod}"));
                assert_eq!(line["pod"], json!(pod));
                assert_eq!((&line["before"], &line["after"]), (&json!(old.feasible.len()), &json!(new.feasible.len())));
                assert_eq!((changes(&line["lost"]), changes(&line["gained"])), (lost, gained), "{pod}");
            }
        }
        assert_eq!(rest.next(), None);
        assert_eq!(summary["pods"], json!(old.len()));
        for (what, expected) in pods {
            assert_eq!(summary[what], json!(expected), "{what}");
        }
        let mut listed: BTreeMap<(String, &str), (u64, u64)> = BTreeMap::new();
        for predicate in summary["predicates"].as_array().unwrap() {
            for would in ["wouldReject", "wouldAllow"] {
                let count = |field: &str| predicate[would][field].as_u64().unwrap();
                if count("pods") > 0 {
                    let name = predicate["predicate"].as_str().unwrap().to_owned();
                    listed.insert((name, would), (count("pods"), count("nodes")));
                }
            }
        }
        assert_eq!(listed, expected);
        assert_eq!(found.is_empty(), before == after, "the policies differ on this cluster");
        if before != after {
            assert!(expected.keys().any(|(name, _)| name == "Own") && expected.len() > 1, "{expected:?}");
        }
    }
}

#[test]
fn a_difference_is_told_in_a_table_and_as_a_document() {
    let workshop = new_workshop().with_cluster();
    workshop.write("own.wasm", Guest::healthy().component());
    workshop.write("before.yaml", policy(&["name: TaintToleration"]));
    workshop.write("after.yaml", policy(&["{name: Own, module: {path: own.wasm}}", "name: NodeResourcesFit"]));
    let diff = |format: &[&str]| {
        workshop.answer(
            &[&["policy", "diff", "before.yaml", "after.yaml", "--cluster", "cluster.json"][..], format].concat(),
        )
    };
    // n0 fits by both, n1 is tainted and odd, n2 fits without its requests.
    let text = diff(&[]);
    for expected in
        ["1 pod: 1 lose nodes on 3 nodes", "NodeResourcesFit", "reject", "default/new: n2 (Insufficient cpu)"]
    {
        assert!(text.contains(expected), "{expected:?} is not in {text}");
    }
    assert!(!text.contains(ODD_ROW), "n1 was rejected before: {text}");
    let document: Value = serde_json::from_str(&diff(&["-o", "json"])).unwrap();
    assert_eq!(document["losing"], 1);
    assert_eq!(document["predicates"][0]["wouldReject"], json!({"pods": 1, "nodes": 1}));
    assert_eq!(document["examples"][0]["examples"][0]["nodes"], json!(["n2"]));
    assert!(diff(&["-o", "yaml"]).contains("losing: 1"));
    let one = diff(&["--pod", "default/web"]);
    assert!(one.starts_with("1 pod: "), "{one}");
    workshop.write("after.yaml", policy(&["name: TaintToleration"]));
    assert_eq!(diff(&[]), "1 pod: no difference on 3 nodes\n");
}

/// Foreign pods and annotations are decided when objects are read, so the cluster is read for each policy.
#[test]
fn policies_that_read_the_cluster_differently_are_compared_too() {
    let workshop = new_workshop().with_cluster();
    workshop.write("before.yaml", policy(&["name: NodeResourcesFit"]));
    workshop.write("after.yaml", policy(&["name: TaintToleration"]).replace("default-scheduler", "yunikorn"));
    let diff = ["policy", "diff", "before.yaml", "after.yaml", "--cluster", "cluster.json", "-o", "json"];
    let document: Value = serde_json::from_str(&workshop.answer(&diff)).unwrap();
    let of = |name: &str| {
        let mut predicates = document["predicates"].as_array().unwrap().iter();
        predicates.find(|predicate| predicate["predicate"] == name).unwrap().clone()
    };
    assert_eq!(of("NodeResourcesFit")["wouldAllow"], json!({"pods": 1, "nodes": 1}), "n2 is full");
    assert_eq!(of("TaintToleration")["wouldReject"], json!({"pods": 1, "nodes": 1}), "n1 is tainted");
}

#[test]
fn what_cannot_be_compared_has_its_exit_code() {
    let workshop = new_workshop().with_cluster();
    workshop.write("good.yaml", policy(&["name: NodeName"]));
    workshop.write("bad.yaml", policy(&["name: NodeNmae"]));
    workshop.write("broken.json", "{");
    let diff = |before: &str, after: &str, rest: &[&str]| {
        [&["policy", "diff", before, after][..], rest]
            .concat()
            .iter()
            .map(|word| (*word).to_owned())
            .collect::<Vec<_>>()
    };
    for (arguments, code, named) in [
        (diff("good.yaml", "good.yaml", &[]), USAGE, "--cluster"),
        (diff("bad.yaml", "good.yaml", &["--cluster", "cluster.json"]), USAGE, "bad.yaml:6:"),
        (diff("good.yaml", "bad.yaml", &["--cluster", "cluster.json"]), USAGE, "bad.yaml:6:"),
        (diff("good.yaml", "none.yaml", &["--cluster", "cluster.json"]), NO_INPUT, "none.yaml"),
        (diff("good.yaml", "good.yaml", &["--cluster", "broken.json"]), DATA, "broken.json"),
        (diff("good.yaml", "good.yaml", &["--cluster", "cluster.json", "--pod", "a/b"]), DATA, "a/b"),
    ] {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        workshop.fails_naming(code, &arguments, &[named]);
    }
}

#[test]
fn scorers_that_differ_are_told_and_pods_whose_best_nodes_change() {
    let workshop = new_workshop().with_cluster();
    let scored = |scores: &str| format!("{}  scores: {scores}\n", policy(&["name: NodeName"]));
    // n0 and n1 are empty, and n2 has too little left: the more is taken, the better.
    let most = "args: {scoringStrategy: {type: MostAllocated}}";
    workshop.write("before.yaml", scored("[{name: NodeResourcesFit, weight: 2}, {name: TaintToleration, weight: 3}]"));
    workshop.write(
        "after.yaml",
        scored(&format!("[{{name: ImageLocality}}, {{name: NodeResourcesFit, weight: 5, {most}}}]")),
    );
    workshop.write("none.yaml", policy(&["name: NodeName"]));
    let diff = |before: &str, after: &str, format: &str| {
        workshop.answer(&["policy", "diff", before, after, "--cluster", "cluster.json", "-o", format])
    };
    let document: Value = serde_json::from_str(&diff("before.yaml", "after.yaml", "json")).unwrap();
    // Of the taints of n1 the scorer says nothing, whose effect is NoSchedule.
    let best = json!({"before": {"count": 2, "nodes": ["n0", "n1"]}, "after": {"count": 1, "nodes": ["n2"]}});
    assert_eq!(document["best"], json!([{"pod": "default/new", "best": best}]));
    // n2 moves from the last place to the first, and each of the two others can stay in the second.
    assert_eq!(document["scores"], json!({"pods": 1, "bestChanged": 1, "unscored": 0, "meanPlaces": 0.667}));
    assert_eq!(document["differing"], 0);
    let scorers = json!({
        "added": [{"scorer": "ImageLocality", "weight": 1}], "removed": [{"scorer": "TaintToleration", "weight": 3}], "replaced": [],
        "reconfigured": ["NodeResourcesFit"], "weights": [{"scorer": "NodeResourcesFit", "before": 2, "after": 5}],
    });
    assert_eq!(document["scorers"], scorers);
    let line = &lines(&diff("before.yaml", "after.yaml", "jsonl"))[0];
    assert_eq!((&line["pod"], &line["best"], &line["lost"]), (&json!("default/new"), &best, &json!([])));
    let text = diff("before.yaml", "after.yaml", "table");
    for expected in [
        "1 pod: 1 have other best nodes on 3 nodes\n",
        "scorers added: ImageLocality ×1\n",
        "scorers removed: TaintToleration ×3\n",
        "scorers with other arguments or limits: NodeResourcesFit\n",
        "weights: NodeResourcesFit ×2 → ×5\n",
        "1 pod scored by both: 1 have other best nodes; a node that fits by both moves 0.7 places on average\n",
        "n0, n1",
    ] {
        assert!(text.contains(expected), "{expected:?} is not in {text}");
    }
    let same = diff("before.yaml", "before.yaml", "table");
    assert!(
        same.starts_with("1 pod: no difference on 3 nodes\n1 pod scored by both: 0 have other best nodes"),
        "{same}"
    );
    let document: Value = serde_json::from_str(&diff("before.yaml", "none.yaml", "json")).unwrap();
    assert_eq!(
        (&document["scores"]["pods"], document["scorers"]["removed"].as_array().map(Vec::len)),
        (&json!(0), Some(2))
    );
}
