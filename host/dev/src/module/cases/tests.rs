//! Tests of the files of cases: what is read, what it stands for, and what is refused with its place.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use std::fmt::Write as _;

use nodesift_sandbox::Code;

use super::read::{ReadError, read};
use super::*;

fn cases(text: &str) -> Vec<Case> {
    match read(text, Path::new("none"), Given::default()) {
        Ok(cases) => cases.cases,
        Err(ReadError::Problems(problems)) => unreachable!("{}", listed("f", &problems)),
        Err(ReadError::Policy(error)) => unreachable!("{error}"),
    }
}

/// All problems of a text, one a line.
fn problems(text: &str) -> String {
    match read(text, Path::new("none"), Given::default()) {
        Ok(_) => unreachable!("it is read: {text}"),
        Err(ReadError::Problems(problems)) => listed("f", &problems),
        Err(ReadError::Policy(error)) => unreachable!("{error}"),
    }
}

#[test]
fn what_a_case_says_takes_the_place_of_what_its_file_says() {
    let all = cases(
        "module: a.wasm
args: {label: team}
annotations: [example.com/a]
nodes: [{name: one}, {name: two}]
cases:
- {name: first, pod: {}, fits: all}
- {name: second, pod: {}, args: {}, module: b.wasm, nodes: [{name: three}], fits: all}
",
    );
    let [first, second] = all.as_slice() else { unreachable!("two cases") };
    let args = |case: &Case| case.policy.predicates.first().unwrap().args.to_string();
    assert_eq!((args(first), args(second)), (r#"{"label":"team"}"#.to_owned(), "{}".to_owned()));
    assert_eq!((first.module.as_path(), second.module.as_path()), (Path::new("none/a.wasm"), Path::new("none/b.wasm")));
    assert_eq!((first.objects.len(), second.objects.len()), (2, 1));
    assert_eq!((first.line, second.line), (6, 7));
    assert_eq!(*second.policy.settings.annotation_keys, ["example.com/a"]);
    let given = Given { module: Some(Path::new("m.wasm")), policy: None };
    let other = read("cases: [{name: a, pod: {}, fits: all}]", Path::new(""), given);
    assert_eq!(other.unwrap().cases.first().unwrap().module, Path::new("m.wasm"));
}

#[test]
fn nodes_show_the_sums_of_their_short_forms() {
    let all = cases(
        "nodes: [{name: a, sums: {s.t: -7, u: 9223372036854775807}}, {name: b, sums: {}}]
cases:
- {name: first, pod: {}, fits: all}
- {name: second, pod: {}, nodes: [{name: c, sums: {u: 1}}], fits: all}
",
    );
    let [first, second] = all.as_slice() else { unreachable!("two cases") };
    let sums = |of: &[(&str, i64)]| of.iter().map(|(name, sum)| ((*name).to_owned(), *sum)).collect();
    assert_eq!(first.sums, BTreeMap::from([("a".to_owned(), sums(&[("s.t", -7), ("u", i64::MAX)]))]));
    assert_eq!(second.sums, BTreeMap::from([("c".to_owned(), sums(&[("u", 1)]))]));
    for wrong in ["[1]", "{s: 1.5}", "{s: much}"] {
        let problems =
            problems(&format!("nodes: [{{name: a, sums: {wrong}}}]\ncases: [{{name: x, pod: {{}}, fits: all}}]"));
        assert!(problems.contains("nodes[0].sums: expected numbers by the names of sums"), "{problems}");
    }
}

#[test]
fn expectations_are_of_every_node_or_of_those_that_are_named() {
    let nodes = "nodes: [{name: a}, {name: b}]\ncases:\n- {name: x, pod: {}, ";
    let fits = || Wanted::Fits;
    let rejected = |reasons: Option<&[&str]>, code| {
        let reasons = reasons.map(|reasons| reasons.iter().map(|reason| (*reason).to_owned()).collect());
        Wanted::Rejected(Rejection { reasons, code })
    };
    let any = || rejected(None, None);
    let unschedulable = Some(Code::Unschedulable);
    for (said, a, b) in [
        ("fits: all", fits(), fits()),
        ("fits: none", any(), any()),
        ("fits: [b]", any(), fits()),
        ("fits: []", any(), any()),
        ("rejects: r", rejected(Some(&["r"]), None), rejected(Some(&["r"]), None)),
        ("rejects: {a: r}", rejected(Some(&["r"]), None), fits()),
        ("rejects: {a: [s, r]}", rejected(Some(&["r", "s"]), None), fits()),
        ("rejects: {a: {code: Unschedulable}}", rejected(None, unschedulable), fits()),
        ("rejects: {a: {reason: r, code: Unschedulable}}", rejected(Some(&["r"]), unschedulable), fits()),
        ("rejects: {b: {reasons: [r]}}", fits(), rejected(Some(&["r"]), None)),
        ("fits: [a], rejects: {b: r}", fits(), rejected(Some(&["r"]), None)),
        ("fits: none, rejects: {b: r}", any(), rejected(Some(&["r"]), None)),
    ] {
        let case = cases(&format!("{nodes}{said}}}")).remove(0);
        let Expected::Verdict { nodes, scores: None, log: None } = case.expected else { unreachable!("{said}") };
        assert_eq!((nodes.get("a"), nodes.get("b")), (Some(&a), Some(&b)), "{said}");
    }
    for (said, expected) in [
        ("refuses: no", Expected::Refusal("no".to_owned())),
        ("fault: Trap", Expected::Fault(ExpectedFault { kind: "Trap".to_owned(), detail: None })),
        (
            "fault: {kind: Trap, detail: x}",
            Expected::Fault(ExpectedFault { kind: "Trap".to_owned(), detail: Some("x".to_owned()) }),
        ),
        ("log: [one]", Expected::Verdict { nodes: BTreeMap::new(), scores: None, log: Some(vec!["one".to_owned()]) }),
    ] {
        assert_eq!(cases(&format!("{nodes}{said}}}")).remove(0).expected, expected, "{said}");
    }
}

#[test]
fn scores_are_of_named_nodes_and_each_as_far_as_a_case_says() {
    let nodes = "nodes: [{name: a}, {name: b}]\ncases:\n- {name: x, pod: {}, ";
    let score = |raw, normalized| WantedScore { raw, normalized };
    let of = |scores: &[(&str, WantedScore)]| {
        WantedScores::Nodes(scores.iter().map(|(name, score)| ((*name).to_owned(), *score)).collect())
    };
    for (said, expected) in [
        ("scores: {a: 0, b: 100}", of(&[("a", score(None, Some(0))), ("b", score(None, Some(100)))])),
        ("scores: {a: {raw: -7}}", of(&[("a", score(Some(-7), None))])),
        ("scores: {b: {raw: none, normalized: 0}}", of(&[("b", score(Some(i64::MIN), Some(0)))])),
        ("skipped: true", WantedScores::Skipped),
        ("error: no such", WantedScores::Error("no such".to_owned())),
    ] {
        let case = cases(&format!("{nodes}{said}}}")).remove(0);
        let Expected::Verdict { nodes, scores, log: None } = case.expected else { unreachable!("{said}") };
        assert_eq!((nodes.len(), scores, case.candidates), (0, Some(expected), None), "{said}");
    }
    let both = cases(&format!("{nodes}candidates: [b], rejects: {{a: r}}, scores: {{b: 5}}}}")).remove(0);
    assert_eq!(both.candidates, Some(BTreeSet::from(["b".to_owned()])));
    assert!(matches!(both.expected, Expected::Verdict { nodes, scores: Some(_), .. } if nodes.len() == 2));
}

#[test]
fn the_entry_of_a_scorer_in_the_policy_beside_the_cases_has_its_limits() {
    let folder = tempfile::tempdir().unwrap();
    let policy = "apiVersion: nodesift.dev/v1alpha1\nkind: PredicatePolicy\nspec:\n  schedulerNames: [a]\n  scores:\n  \
                  - {name: Mine, module: {path: m.wasm}, args: {x: 1}, allow: [node-labels], limits: {memory: 1Mi}}\n";
    std::fs::write(folder.path().join("policy.yaml"), policy).unwrap();
    let text = "module: m.wasm\nnodes: [{name: a}]\ncases: [{name: x, pod: {}, scores: {a: 1}}]\n";
    let cases = read(text, folder.path(), Given::default()).unwrap();
    let spec = cases.cases.first().unwrap().policy.predicates.first().unwrap().clone();
    assert_eq!(spec.allow.unwrap().len(), 1);
    assert_eq!(spec.limits.memory_bytes, Some(1 << 20));
    let module = folder.path().join("m.wasm");
    let granted = granted(&module, None, Some(&folder.path().join("policy.yaml"))).unwrap();
    assert_eq!(granted.predicates.first().unwrap().args, serde_json::json!({"x": 1}));
}

#[test]
fn short_forms_are_the_objects_that_they_stand_for() {
    let read = cases(
        "nodes:
- name: n
  labels: {zone: a}
  unschedulable: true
  taints: [{key: k, value: v, effect: NoSchedule}]
  allocatable: {cpu: 4, memory: 8Gi}
  requested: {cpu: 500m}
  pods: 3
  podLimit: 7
- {apiVersion: v1, kind: Node, metadata: {name: whole}, status: {allocatable: {cpu: '2'}}}
pods: [{nodeName: n, namespace: other, labels: {app: web}}]
namespaces: [{name: other, labels: {team: red}}]
objects: [{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fast}, provisioner: p}]
cases:
- name: x
  pod:
    labels: {app: db}
    requests: {cpu: 1500m}
    hostPorts: [80]
    tolerations: [{key: k, operator: Exists}]
    nodeSelector: {zone: a}
    priority: 5
    controller: {kind: ReplicaSet, name: r, uid: u}
    images: [one, two]
  fits: all
- {name: whole, pod: {metadata: {name: own, namespace: ns}, spec: {containers: []}}, fits: all}
",
    );
    let [case, whole] = read.as_slice() else { unreachable!("two cases") };
    let mut kinds = BTreeMap::new();
    case.objects.iter().for_each(|object| *kinds.entry(object.kind()).or_insert(0) += 1);
    let kinds: Vec<(&str, i32)> = kinds.iter().map(|(kind, count)| (kind.name(), *count)).collect();
    assert_eq!(kinds, [("Node", 2), ("Pod", 4), ("Namespace", 1), ("StorageClass", 1)]);
    let Some(Object::Node(node)) = case.objects.first() else { unreachable!("the first object is a node") };
    let mut told = String::new();
    for (name, amount) in node.status.allocatable.iter() {
        let _infallible = write!(told, "{name}={amount:?} ");
    }
    assert!(told.contains("pods") && told.contains("cpu") && told.contains("memory"), "{told}");
    assert!(node.spec.unschedulable && node.spec.taints.len() == 1);
    assert_eq!(case.pod.key(), "default/pod");
    assert_eq!(case.pod.spec.containers.len(), 2);
    assert_eq!(case.pod.spec.containers.first().unwrap().ports.first().unwrap().host_port, 80);
    assert_eq!(case.pod.spec.priority, Some(5));
    assert!(case.pod.metadata.owner_references.first().unwrap().controller);
    assert_eq!(whole.pod.key(), "ns/own");
}

#[test]
fn everything_that_is_wrong_is_told_with_its_place() {
    let with = |case: &str| format!("nodes: [{{name: a}}]\ncases:\n- {case}\n");
    let mut wrong = String::new();
    for (text, expected) in [
        (String::new(), "f: empty; expected nodes and cases"),
        ("cases: [".to_owned(), "f:1:"),
        ("nodes: []".to_owned(), "f:1:1: cases: missing"),
        ("cases: []".to_owned(), "f:1:8: cases: empty; nothing would be tested"),
        (
            with("{name: x, pod: {}, fits: all}") + "casses: []\n",
            "f:4:1: casses: unknown field; expected one of module, policy",
        ),
        (with("{name: x, pod: {}}"), "f:3:3: cases[0]: expects nothing: say what fits, or give rejects"),
        (with("{pod: {}, fits: all}"), "f:3:3: cases[0].name: missing; say what the module does in this case"),
        (with("{name: x, fits: all}"), "f:3:3: cases[0].pod: missing; for a pod without anything, write {}"),
        (with("{name: x, pod: {}, fits: some}"), "cases[0].fits: \"some\" is not all or none; a list names nodes"),
        (with("{name: x, pod: {}, fits: [b]}"), "cases[0].fits: \"b\" is no node of the case; there are a"),
        (with("{name: x, pod: {}, rejects: {b: r}}"), "cases[0].rejects.b: \"b\" is no node of the case"),
        (with("{name: x, pod: {}, fits: all, rejects: {a: r}}"), "cases[0].rejects.a: fits says that it fits"),
        (
            with("{name: x, pod: {}, fits: all, rejects: r}"),
            "rejects: a text says that every node is rejected; leave out fits",
        ),
        (
            with("{name: x, pod: {}, rejects: {a: {code: No}}}"),
            "rejects.a.code: \"No\" is not one of Error, Unschedulable",
        ),
        (with("{name: x, pod: {}, rejects: {a: {reason: r, reasons: [r]}}}"), "reason and reasons: give one of them"),
        (
            with("{name: x, pod: {}, rejects: 5}"),
            "cases[0].rejects: expected a map of nodes, or the reason of all; found a number",
        ),
        (
            with("{name: x, refuses: r, log: []}"),
            "cases[0]: refuses beside log: a module that refuses its arguments is not called",
        ),
        (with("{name: x, pod: {}, fault: Trap, fits: all}"), "fault beside fits: a call that fails has no verdict"),
        (with("{name: x, pod: {}, fault: {detail: d}}"), "cases[0].fault.kind: missing"),
        (with("{name: x, pod: {}, fault: Trap, skipped: true}"), "fault beside skipped: a call that fails"),
        (
            with("{name: x, pod: {}, scores: {b: 1}}"),
            "f:3:31: cases[0].scores.b: \"b\" is no node of the case; there are a",
        ),
        (
            with("{name: x, pod: {}, scores: {a: 101}}"),
            "cases[0].scores.a: expected a score from 0 to 100; what the module",
        ),
        (with("{name: x, pod: {}, scores: {a: best}}"), "cases[0].scores.a: expected a score from 0 to 100"),
        (with("{name: x, pod: {}, scores: {a: {raw: 1.5}}}"), "scores.a.raw: expected a whole number, or none"),
        (with("{name: x, pod: {}, scores: {a: {score: 1}}}"), "scores.a.score: unknown field; expected one of raw"),
        (with("{name: x, pod: {}, scores: {a: {}}}"), "cases[0].scores.a: empty; give raw, normalized, or both"),
        (with("{name: x, pod: {}, scores: {}}"), "cases[0].scores: empty; name nodes with their scores"),
        (with("{name: x, pod: {}, scores: 5}"), "cases[0].scores: expected a map, found a number"),
        (with("{name: x, pod: {}, skipped: false}"), "cases[0].skipped: expected true; of a pod that is scored"),
        (with("{name: x, pod: {}, scores: {a: 1}, skipped: true}"), "cases[0].skipped: beside scores: a scorer gives"),
        (
            with("{name: x, pod: {}, candidates: [b], scores: {a: 1}}"),
            "cases[0].candidates: \"b\" is no node of the case",
        ),
        (
            with("{name: x, pod: {lables: {}}, fits: all}"),
            "f:3:19: cases[0].pod.lables: unknown field; expected one of name",
        ),
        (
            with("{name: x, pod: {labels: {a: 5}}, fits: all}"),
            "cases[0].pod.labels.a: expected a text, found a number: quote it",
        ),
        (with("{name: x, pod: {labels: [a]}, fits: all}"), "cases[0].pod.labels: expected a map, found a list"),
        (
            with("{name: x, pod: {requests: {cpu: 4x}}, fits: all}"),
            "cases[0].pod.spec.containers[0].resources.requests.cpu: ",
        ),
        (with("{name: x, pod: {kind: Node, metadata: {name: a}}, fits: all}"), "cases[0].pod: expected a Pod"),
        (with("{name: x, pod: {controller: {sort: a}}, fits: all}"), "cases[0].pod.controller.sort: unknown field"),
        (with("{name: x, pod: {}, nodes: [{labels: {}}], fits: all}"), "cases[0].nodes[0].name: missing"),
        (
            with("{name: x, pod: {}, nodes: [{name: n, pods: -1}], fits: all}"),
            "nodes[0].pods: expected a number from 0",
        ),
        (
            with("{name: x, pod: {}, nodes: [{name: n, pods: 0, requested: {cpu: 1}}], fits: all}"),
            "nodes[0].pods: 0, but pods on the node have",
        ),
        (
            with("{name: x, pod: {}, nodes: [{name: n}, {name: n}], fits: all}"),
            "cases[0]: the cluster has two of Node \"n\"",
        ),
        (
            with("{name: x, pod: {}, objects: [{metadata: {}}], fits: all}"),
            "objects[0]: no `kind`: this is not a Kubernetes object",
        ),
        (
            with("{name: x, pod: {}, objects: [{apiVersion: v1, kind: Secret}], fits: all}"),
            "objects[0]: Secret of v1 is no kind that a predicate can read",
        ),
        (with("{name: x, pod: {}, limits: {memory: 1Ti}, fits: all}"), "f:3:30: limits.memory: "),
        (with("{name: x, pod: {}, limits: {heap: 1}, fits: all}"), "limits.heap: unknown field"),
        (with("{name: x, pod: {}, allow: [node-lables], fits: all}"), "allow[0]: "),
        (with("{name: x, pod: {}, annotations: [/], fits: all}"), "annotations[0]: \"/\" is not an annotation key"),
        (
            with("{name: x, pod: {}, schedulerNames: [], fits: all}"),
            "schedulerNames: empty; every pod would be foreign",
        ),
        (with("{name: x, pod: {}, configMaps: [a], fits: all}"), "configMaps[0]: "),
        (with("{name: x, pod: {}, now: noon, fits: all}"), "cases[0].now: not a moment: write it as"),
        (with("{name: x, pod: {}, args: [], fits: all}"), "args: "),
        (
            with("{name: x, pod: {}, fits: all}\n- {name: x, pod: {}, fits: all}"),
            "f:4:10: cases[1].name: another case has this name, first on line 3",
        ),
    ] {
        let told = problems(&text);
        if !told.contains(expected) || told.lines().count() != 1 {
            let _infallible = writeln!(wrong, "{expected:?} is not all of {told:?}, of {text:?}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    // All at once, in the order of lines; what all cases share is told once.
    let text = "annotations: [/]\ncases:\n- {name: x, pod: {a: 1}, fits: all}\n- {name: y, pod: {b: 1}, fits: all}\n";
    let told = problems(text);
    let places: Vec<&str> = told.lines().filter_map(|line| line.split(": ").next()).collect();
    assert_eq!(places, ["f:1:14", "f:3:19", "f:4:19"], "{told}");
}

/// Damage is refused or read, and never a panic.
#[test]
fn damage_anywhere_is_no_panic() {
    let seed = nodesift_seed::seed();
    let mut random = fastrand::Rng::with_seed(seed);
    let whole = "nodes: [{name: a, labels: {k: v}, taints: [{key: k}]}]\ncases:\n- {name: x, pod: {requests: {cpu: 1}}, rejects: {a: {reason: r}}}\n";
    for _ in 0..2_000 {
        let mut damaged = whole.as_bytes().to_vec();
        for _ in 0..random.usize(1..4) {
            let at = random.usize(0..damaged.len());
            damaged[at] = random.choice(b"{}[]:,-aA1' \n".iter().copied()).unwrap_or(b' ');
        }
        if let Err(ReadError::Problems(problems)) =
            read(&String::from_utf8(damaged).unwrap(), Path::new("none"), Given::default())
        {
            assert!(!problems.is_empty(), "seed {seed}");
        }
    }
}
