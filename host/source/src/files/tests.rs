//! Tests of the forms that cluster files may have, and of the exact messages for what is wrong with them.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::io::{Read, Write as _};
use std::path::PathBuf;
use std::slice;

use super::*;
use crate::limits::CLUSTER_OBJECT_BYTES;
use nodesift_object::{Kind, Object, Pod};

const NODE: &str = r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"},"status":{"allocatable":{"cpu":"4"}}}"#;
const POD: &str = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p1"},"spec":{"containers":[]}}"#;

fn contents(bytes: &[u8]) -> Result<(Vec<Object>, Summary), Error> {
    let mut objects = Vec::new();
    let summary = read_bytes("f", bytes, &mut |object| objects.push(object))?;
    Ok((objects, summary))
}

fn names(text: &str) -> Vec<String> {
    let (objects, _) = contents(text.as_bytes()).unwrap();
    objects.iter().map(|object| format!("{} {}", object.kind(), object.key())).collect()
}

fn refusal(text: &str) -> String {
    contents(text.as_bytes()).unwrap_err().to_string()
}

#[test]
fn every_form_that_kubectl_writes_holds_the_same_objects() {
    let yaml = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {cpu: 4}}\n---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: p1\nspec:\n  containers: []\n";
    let forms = [
        format!(r#"{{"apiVersion":"v1","kind":"List","items":[{NODE},{POD}]}}"#),
        format!("{NODE}\n{POD}\n"),
        format!("{NODE}{POD}"),
        format!("[{NODE},{POD}]"),
        format!("\u{feff}  {NODE}\n\n{POD}"),
        yaml.to_owned(),
        format!("---\n{yaml}---\n"),
        format!("apiVersion: v1\nkind: List\nitems:\n- {NODE}\n- {POD}\n"),
    ];
    for form in forms {
        assert_eq!(names(&form), ["Node n1", "Pod default/p1"], "{form}");
    }
}

#[test]
fn lists_inside_lists_hold_the_same_objects() {
    let list = |items: &str| format!(r#"{{"apiVersion":"v1","kind":"List","items":[{items}]}}"#);
    let typed =
        r#"{"apiVersion":"v1","kind":"NodeList","items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}"#;
    assert_eq!(names(&list(&format!("{},{POD}", list(NODE)))), ["Node n1", "Pod default/p1"]);
    assert_eq!(names(&format!("[{},{}]", list(NODE), list(POD))), ["Node n1", "Pod default/p1"], "as jq -s writes it");
    assert_eq!(names(&list(&list(&list(typed)))), ["Node a", "Node b"]);
    // Beside their pods, as in `kubectl get all`, workloads are passed over.
    let workload = r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"}}"#;
    assert_eq!(names(&list(&format!("{workload},{POD}"))), ["Pod default/p1"]);
}

#[test]
fn a_typed_list_gives_its_items_their_kind() {
    let list = r#"{"apiVersion":"v1","kind":"NodeList","items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}"#;
    assert_eq!(names(list), ["Node a", "Node b"]);
}

#[test]
fn gzip_is_recognised_by_its_first_bytes() {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(NODE.as_bytes()).unwrap();
    assert_eq!(contents(&packed.finish().unwrap()).unwrap().0.len(), 1);
}

#[test]
fn other_kinds_are_counted() {
    let other = r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"}}"#;
    let (objects, summary) = contents(format!("{other}{NODE}{other}").as_bytes()).unwrap();
    assert_eq!(objects.len(), 1);
    assert_eq!(summary.skipped, Skipped::from([("Deployment".to_owned(), 2)]));
    for empty in [r#"{"apiVersion":"v1","kind":"List","items":[]}"#, r#"{"items":null,"kind":"PodList"}"#, "[]"] {
        assert!(names(empty).is_empty(), "{empty}");
    }
}

fn list(items: &str) -> String {
    format!(r#"{{"apiVersion":"v1","kind":"List","items":[{items}]}}"#)
}

/// Files with these texts, and what reading them as a cluster, as pods and as claims in flight says.
fn read_files(texts: &[&str]) -> [Result<usize, String>; 3] {
    let folder = tempfile::tempdir().unwrap();
    let files: Vec<PathBuf> = (0..texts.len()).map(|at| folder.path().join(format!("f{at}"))).collect();
    files.iter().zip(texts).for_each(|(file, text)| std::fs::write(file, text).unwrap());
    let named = |error: Error| error.to_string().replace(&format!("{}/", folder.path().display()), "");
    let mut objects = 0;
    let cluster = read(&files, &mut |_| objects += 1, &mut |_| {}).map_err(named);
    let pods = read_pods(&files).map_err(named);
    let claims = read_claims(&files).map_err(named);
    [cluster.map(|_| objects), pods.map(|(pods, _)| pods.len()), claims.map(|claims| claims.len())]
}

#[test]
fn files_that_hold_something_and_nothing_of_what_is_asked_for_are_refused() {
    let of = |version: &str, kind: &str| {
        format!(r#"{{"apiVersion":"{version}","kind":"{kind}","metadata":{{"name":"x","namespace":"default"}}}}"#)
    };
    let deployment = of("apps/v1", "Deployment");
    for (beside, kinds) in [
        (of("v1", "Service"), "Deployment, Service"),
        (of("v1", "Namespace"), "Deployment, Namespace"),
        (of("example.com/v1", "Foo"), "Deployment, Foo"),
    ] {
        for texts in [vec![format!("{deployment}{beside}")], vec![list(&format!("{beside},{deployment}"))]] {
            let [cluster, pods, claims] = read_files(&texts.iter().map(String::as_str).collect::<Vec<_>>());
            assert!(cluster.unwrap_err().starts_with(&format!("f0: holds only {kinds}: a cluster consists of")));
            assert!(pods.unwrap_err().starts_with(&format!("f0: holds no pod, only {kinds}: ")));
            assert!(claims.unwrap_err().ends_with(&format!(" of a version that is read, only {kinds}")));
        }
    }
    let [cluster, pods, claims] = read_files(&[&deployment]);
    assert!(cluster.unwrap_err().starts_with("f0: holds only Deployment: a cluster consists of"));
    assert!(pods.unwrap_err().starts_with("f0: holds no pod, only Deployment: "));
    assert!(claims.unwrap_err().ends_with(" of a version that is read, only Deployment"));
    for alone in [
        of("argoproj.io/v1alpha1", "Rollout"),
        of("v1", "Config"),
        r#"{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{},"rows":[]}"#.to_owned(),
        r#"{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","items":[{"metadata":{"name":"n1"}}]}"#
            .to_owned(),
        of("resource.k8s.io/v1alpha3", "ResourceClaim"),
        r#"{"kind":"Status","apiVersion":"meta.k8s.io/v1","status":"Failure","message":"Unauthorized"}"#.to_owned(),
    ] {
        assert!(read_files(&[&alone]).iter().all(Result::is_err), "{alone}");
    }
    let [_, pods, claims] = read_files(&[NODE]);
    assert!(pods.unwrap_err().contains("only Node") && claims.unwrap_err().contains("only Node"));
    // Several files are one cluster; and a cluster may be empty.
    assert_eq!(read_files(&[NODE, &of("v1", "Service")])[0], Ok(2));
    let empty = r#"{"apiVersion":"v1","kind":"List","items":[]}"#;
    assert_eq!(read_files(&[empty, &of("v1", "Service")]), [Ok(1), Ok(0), Ok(0)]);
}

#[test]
fn a_list_that_goes_on_is_whole_only_with_its_end() {
    let page = |name: &str, next: &str| {
        let pod = POD.replace("p1", name);
        format!(
            r#"{{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"7","continue":"{next}"}},"items":[{pod}]}}"#
        )
    };
    let (first, second, last) = (page("a", "x"), page("b", "y"), page("c", ""));
    for texts in [vec![&*first], vec![NODE, &first, &second]] {
        let error = read_files(&texts)[0].clone().unwrap_err();
        assert!(error.contains(": a PodList that goes on (metadata.continue), and its end is nowhere"), "{error}");
    }
    assert!(read_files(&[&list(&first)])[1].is_err(), "inside another list");
    assert!(read_files(&[&first, NODE])[1].is_err(), "pods that are asked for");
    for texts in [[&first, &second, &last], [&last, &first, &second]] {
        assert_eq!(read_files(&texts.map(String::as_str))[0], Ok(3));
    }
    assert_eq!(read_files(&[&last])[0], Ok(1));
}

#[test]
fn an_object_without_a_version_is_taken_for_what_its_kind_says() {
    let node = NODE.replace(r#""apiVersion":"v1","#, "");
    let class = r#"{"apiVersion":"","kind":"StorageClass","metadata":{"name":"c"}}"#;
    let list = |items: &str| format!(r#"{{"apiVersion":"v1","items":[{items}],"kind":"List"}}"#);
    for text in [format!("{node}{class}"), format!("[{node},{class}]"), list(&format!("{node},{class}"))] {
        // Items without a version wait for what their list says of itself.
        let mut names = names(&text);
        names.sort_unstable();
        assert_eq!(names, ["Node n1", "StorageClass c"], "{text}");
        let (_, summary) = contents(text.as_bytes()).unwrap();
        assert_eq!(summary.unversioned, BTreeMap::from([(Kind::Node, 1), (Kind::StorageClass, 1)]), "{text}");
        assert!(summary.skipped.is_empty(), "{text}");
    }
}

#[test]
fn a_kind_of_another_group_is_skipped_and_the_group_is_named() {
    let knative = r#"{"apiVersion":"serving.knative.dev/v1","kind":"Service","metadata":{"name":"s"}}"#;
    let mistyped = NODE.replace(r#""v1""#, r#""V1""#);
    let (objects, summary) = contents(format!("{knative}{mistyped}").as_bytes()).unwrap();
    assert!(objects.is_empty());
    let skipped = [("Node of V1", 1), ("Service of serving.knative.dev/v1", 1)];
    assert_eq!(summary.skipped, skipped.map(|(kind, count)| (kind.to_owned(), count)).into());
}

#[test]
fn the_fields_of_a_list_may_follow_its_items() {
    let bare = |name: &str| format!(r#"{{"metadata":{{"name":"{name}"}}}}"#);
    let (a, b) = (bare("a"), bare("b"));
    for text in [
        format!(r#"{{"apiVersion":"v1","items":[{a},{b}],"kind":"NodeList"}}"#),
        format!(r#"{{"items":[{a},{b}],"kind":"NodeList","apiVersion":"v1"}}"#),
        format!(r#"{{"kind":"NodeList","items":[{a},{b}],"apiVersion":"v1"}}"#),
        format!("items:\n- {a}\n- {b}\nkind: NodeList\napiVersion: v1\n"),
    ] {
        assert_eq!(names(&text), ["Node a", "Node b"], "{text}");
        assert!(contents(text.as_bytes()).unwrap().1.unversioned.is_empty(), "{text}");
    }
}

#[test]
fn yaml_documents_end_where_the_next_begins() {
    let node = |name: &str| format!("apiVersion: v1\nkind: Node\nmetadata:\n  name: {name}\n");
    let (a, b) = (node("a"), node("b"));
    for text in [
        format!("# first\n---\n{a}---\n# none\n---\n{b}"),
        format!("%YAML 1.2\n---\n{a}...\n%YAML 1.2\n---\n{b}...\n"),
        format!("{a}...\n# between\n{b}"),
        format!("--- # here\n{a}--- {{apiVersion: v1, kind: Node, metadata: {{name: b}}}}\n\n"),
        format!("\u{feff}\r\n{}---\r\n{}", a.replace('\n', "\r\n"), b.replace('\n', "\r\n")),
    ] {
        assert_eq!(names(&text), ["Node a", "Node b"], "{text}");
    }
    let text = "a: |\n  --- in a text\n  ---\nkind: Node\napiVersion: v1\nmetadata: {name: '---x'}\n";
    assert_eq!(names(text), ["Node ---x"]);
    let refused = refusal(&format!("{a}---\n{b}bad: [}}\n"));
    assert!(refused.starts_with("f: line 10, column "), "{refused}");
    assert!(!refused.contains(" at line "), "one position: {refused}");
}

/// Text without end: what comes first, then the same piece again and again with a number in the place of `@`.
struct Endless {
    rest: Vec<u8>,
    piece: &'static str,
    number: u32,
}

impl Read for Endless {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        if self.rest.is_empty() {
            self.number += 1;
            // The three-thousandth is there twice, so that reading ends at last.
            let number = if self.number > 3_000 { 3_000 } else { self.number };
            self.rest = self.piece.replace('@', &number.to_string()).into_bytes();
        }
        let bytes = out.len().min(self.rest.len());
        out[..bytes].copy_from_slice(&self.rest[..bytes]);
        self.rest.drain(..bytes);
        Ok(bytes)
    }
}

#[test]
fn objects_are_given_on_before_the_end_of_the_text_is_read() {
    let cases = [
        (
            r#"{"apiVersion":"v1","items":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}"#,
            r#",{"apiVersion":"v1","kind":"Node","metadata":{"name":"n@"}}"#,
        ),
        (
            r#"{"kind":"NodeList","apiVersion":"v1","items":[{"metadata":{"name":"n"}}"#,
            r#",{"metadata":{"name":"n@"}}"#,
        ),
        (
            r#"[{"kind":"Node","metadata":{"name":"n"}}"#,
            r#",{"apiVersion":"v1","kind":"Node","metadata":{"name":"n@"}}"#,
        ),
        ("", "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n@\"}}\n"),
        ("", "---\napiVersion: v1\nkind: Node\nmetadata:\n  name: n@\n"),
        ("apiVersion: v1\nitems:\n", "- apiVersion: v1\n  kind: Node\n  metadata:\n    name: n@\n"),
    ];
    for (first, piece) in cases {
        let text = Endless { rest: first.as_bytes().to_vec(), piece, number: 0 };
        let mut nodes = 0;
        let refused = read::read_from("f", text, &mut |_| nodes += 1).unwrap_err().to_string();
        assert!((3_000..=3_001).contains(&nodes), "{nodes} of {piece}");
        assert!(refused.starts_with("Node \"n3000\" is there twice: f: "), "{refused}");
    }
}

#[test]
fn an_object_that_never_ends_is_refused() {
    let long = "@ and so on ".repeat(10_000);
    for (first, piece) in [(r#"{"kind":"Node","apiVersion":"v1","x":""#, long.leak()), ("", " ".repeat(100_000).leak())]
    {
        let text = Endless { rest: first.as_bytes().to_vec(), piece, number: 0 };
        let refused = read::read_from("f", text, &mut |_| {}).unwrap_err().to_string();
        assert_eq!(refused, format!("f: an object of more than {} MiB", CLUSTER_OBJECT_BYTES >> 20), "{first}");
    }
}

#[test]
fn many_objects_of_more_bytes_than_one_may_have_are_read() {
    let text = "x".repeat(1 << 20);
    let node = |name: u64| format!(r#"{{"metadata":{{"name":"n{name}"}},"x":"{text}"}}"#);
    let count = CLUSTER_OBJECT_BYTES / (1 << 20) + 2;
    let nodes: Vec<String> = (0..count).map(node).collect();
    let list = format!(r#"{{"apiVersion":"v1","items":[{}],"kind":"NodeList"}}"#, nodes.join(","));
    assert_eq!(names(&list).len() as u64, count, "items that wait for the kind of their list");
}

#[test]
fn a_problem_is_reported_with_its_place() {
    let list = |items: &str| format!(r#"{{"apiVersion":"v1","kind":"List","items":[{items}]}}"#);
    let bad_cpu = NODE.replace("\"4\"", "\"4x\"");
    for (text, expected) in [
        (String::new(), "f: empty; expected what `kubectl get nodes,pods -A -o json` writes"),
        (" \n ".to_owned(), "f: empty; expected what `kubectl get nodes,pods -A -o json` writes"),
        ("{\n  \"kind\": \n}".to_owned(), "f: line 3, column 1: not JSON: expected value"),
        (NODE[..NODE.len() - 3].to_owned(), "f: line 1, column 92: not JSON: EOF while parsing an object"),
        (r#"{"a":1}"#.to_owned(), "f: document 1: no `kind`: this is not a Kubernetes object"),
        (list("3"), "f: items[0]: invalid type: integer `3`, expected struct Envelope"),
        (list(&format!("[{NODE}]")), "f: items[0]: a list inside a list"),
        (format!("{NODE}\n{NODE}"), "Node \"n1\" is there twice: f: document 1 and f: document 2"),
        (list(&format!("{POD},{POD}")), "Pod \"default/p1\" is there twice: f: items[0] and f: items[1]"),
        ("just words".to_owned(), "f: document 1: invalid type: string \"just words\", expected a Kubernetes object"),
        ("5".to_owned(), "f: document 1: invalid type: integer `5`, expected a Kubernetes object"),
        ("null\n".to_owned(), "f: empty; expected what `kubectl get nodes,pods -A -o json` writes"),
        (list("3"), "f: items[0]: invalid type: integer `3`, expected struct Envelope"),
        (list(r#"{"metadata":{}}"#), "f: items[0]: no `kind`: this is not a Kubernetes object"),
        (format!(r#"{{"items":[{NODE}]}}"#), "f: document 1: no `kind`: this is not a Kubernetes object"),
        (format!(r#"{{"items":[{NODE}],"kind":"Box"}}"#), "f: document 1: `items` in a Box: only a list has items"),
        (r#"{"items":[],"items":[],"kind":"List"}"#.to_owned(), "f: document 1: `items` is there twice"),
        (list(&list(&list(&list(&list(&list(NODE)))))), "f: items[0]: lists inside lists, more than 4 deep"),
        (
            r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Unauthorized","code":401}"#.to_owned(),
            "f: document 1: a Status and no object: what wrote it has failed: Unauthorized",
        ),
        (
            r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{}}"#.to_owned(),
            "f: holds only Deployment: a cluster consists of nodes and pods, as `kubectl get nodes,pods -A -o json` writes them; pods of a template are there once it is applied",
        ),
        (list(&format!("{NODE},,")), "f: line 1, column 139: not JSON: expected value"),
        (list(NODE).replace("]}", "]]"), "f: line 1, column 139: not JSON: expected `,` or `}`"),
    ] {
        assert_eq!(refusal(&text), expected, "{text}");
    }
    let refused = refusal(&list(&format!("{POD},{bad_cpu}")));
    assert!(refused.starts_with("f: items[1] (Node \"n1\"): status.allocatable.cpu: "), "{refused}");
    assert!(refused.contains("4x"), "{refused}");
    let refused = refusal("apiVersion: v1\nkind: Node\nmetadata: {name: [}\n");
    assert!(refused.starts_with("f: line 3, column "), "{refused}");
}

#[test]
fn two_pods_with_one_uid_are_both_named() {
    let pod = |name: &str| POD.replace(r#""name":"p1""#, &format!(r#""name":"{name}","uid":"u""#));
    let expected = "pod UID \"u\" is there twice: f: document 1 and default/b in f: document 2";
    assert_eq!(refusal(&format!("{}{}", pod("a"), pod("b"))), expected);
    // Pods without a UID have nothing in common.
    assert_eq!(names(&format!("{POD}{}", POD.replace("p1", "p2"))).len(), 2);
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let files = [PathBuf::from("no/such/file.json")];
    let refused = read(&files, &mut |_| {}, &mut |_| {}).unwrap_err().to_string();
    assert!(refused.starts_with("no/such/file.json: "), "{refused}");
}

#[test]
fn damage_anywhere_is_refused_or_read_but_never_a_panic() {
    let seed = nodesift_seed::seed();
    let mut random = fastrand::Rng::with_seed(seed);
    let json = format!(r#"{{"apiVersion":"v1","kind":"List","items":[{NODE},{POD}]}}"#).into_bytes();
    let yaml = b"apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {cpu: 4}}\n".to_vec();
    for whole in [json, yaml] {
        for cut in 0..whole.len() {
            let _ = contents(&whole[..cut]).map_err(|error| assert!(names_the_place(&error), "{error}"));
        }
        for _ in 0..2_000 {
            let mut damaged = whole.clone();
            for _ in 0..random.usize(1..4) {
                let at = random.usize(0..damaged.len());
                damaged[at] = random.u8(..);
            }
            let _ = contents(&damaged).map_err(|error| assert!(names_the_place(&error), "{error}, seed {seed}"));
        }
    }
}

/// Whether a message begins with the file, or names it for each of two places.
fn names_the_place(error: &Error) -> bool {
    let text = error.to_string();
    text.starts_with("f: ") || text.matches("f: ").count() == 2
}

const MANIFESTS: &str = r#"
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {capacity: {cpu: "1"}}
---
apiVersion: v1
kind: Pod
metadata: {name: limits-only}
spec:
  initContainers:
  - {name: i, image: x, resources: {limits: {cpu: 500m, memory: 1Gi}, requests: {memory: 1Mi}}}
  containers:
  - {name: c, image: x, resources: {limits: {cpu: "2"}}}
---
apiVersion: v1
kind: Pod
metadata: {name: host-network}
spec:
  hostNetwork: true
  containers:
  - {name: c, image: x, ports: [{containerPort: 9100}, {containerPort: 80, hostPort: 8080}]}
---
apiVersion: v1
kind: Pod
metadata: {name: of-the-pod}
spec:
  resources: {limits: {cpu: "2", memory: 4Gi, hugepages-2Mi: 2Mi}}
  containers:
  - {name: c, image: x, resources: {requests: {cpu: "1"}}}
---
apiVersion: v1
kind: Pod
metadata: {name: complete}
spec:
  containers:
  - {name: c, image: x, ports: [{containerPort: 9100}], resources: {limits: {cpu: "2"}, requests: {cpu: "1"}}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c, namespace: default}
spec:
  devices:
    requests:
    - {name: one, exactly: {deviceClassName: acc}}
    - {name: all, exactly: {deviceClassName: acc, allocationMode: All}}
    - {name: first, firstAvailable: [{name: a, deviceClassName: acc, count: 2}, {name: b, deviceClassName: acc}]}
---
apiVersion: resource.k8s.io/v1beta1
kind: ResourceClaim
metadata: {name: old, namespace: default}
spec: {devices: {requests: [{name: one, deviceClassName: acc}, {name: first, firstAvailable: [{name: a, deviceClassName: acc}]}]}}
---
apiVersion: v1
kind: Pod
metadata: {name: keys, labels: {version: "7", tenant: a}}
spec:
  affinity:
    podAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
      - {weight: 1, podAffinityTerm: {topologyKey: zone, labelSelector: {}, mismatchLabelKeys: [tenant]}}
    podAntiAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: zone
        labelSelector: {matchLabels: {app: a}}
        matchLabelKeys: [version, absent]
        mismatchLabelKeys: [tenant]
      - topologyKey: zone
        labelSelector: {matchExpressions: [{key: version, operator: In, values: ["6"]}]}
        matchLabelKeys: [version]
      - {topologyKey: zone, matchLabelKeys: [version]}
      - topologyKey: zone
        labelSelector: {matchExpressions: [{key: tenant, operator: NotIn, values: ["b"]}]}
        mismatchLabelKeys: [tenant]
  containers: []
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: at-once}
provisioner: x
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: later}
provisioner: x
volumeBindingMode: WaitForFirstConsumer
"#;

fn requested(pod: &Pod) -> Vec<String> {
    let lists = [&pod.spec.init_containers, &pod.spec.containers].into_iter().flatten();
    let lists = lists.map(|container| &container.resources).chain([&pod.spec.resources]);
    lists.flat_map(|resources| resources.requests.iter().map(|(name, _)| name.to_owned())).collect()
}

#[test]
fn what_no_api_server_has_seen_is_filled_in_as_it_would_be() {
    let (objects, summary) = contents(MANIFESTS.as_bytes()).unwrap();
    let filled: Vec<_> = summary.filled.iter().map(|(what, count)| format!("{count} {what}")).collect();
    assert_eq!(
        filled,
        [
            "2 Pod (requests from limits)",
            "1 Pod (host ports of the host's network)",
            "2 ResourceClaim (one device per request)",
            "1 Pod (label keys of pod affinity)",
            "1 StorageClass (immediate binding)",
        ]
    );
    let lacking: Vec<_> = summary.lacking.iter().map(|(what, count)| format!("{count} {what}")).collect();
    assert_eq!(lacking, ["1 Node (allocatable from capacity)"]);
    let pods: Vec<&Pod> =
        objects.iter().filter_map(|object| if let Object::Pod(pod) = object { Some(&**pod) } else { None }).collect();
    assert_eq!(requested(pods[0]), ["cpu", "memory", "cpu"]);
    let memory = pods[0].spec.init_containers[0].resources.requests.get("memory");
    assert_eq!(memory, Some(&"1Mi".parse().unwrap()), "what is written stands");
    let ports: Vec<i32> = pods[1].spec.containers[0].ports.iter().map(|port| port.host_port).collect();
    assert_eq!(ports, [9100, 8080]);
    // Containers request cpu, which counts for the pod.
    assert_eq!(requested(pods[2]), ["cpu", "hugepages-2Mi", "memory"]);
    assert_eq!((requested(pods[3]), pods[3].spec.containers[0].ports[0].host_port), (vec!["cpu".to_owned()], 0));
    let wanted: Vec<_> =
        objects
            .iter()
            .filter_map(|object| {
                if let Object::ResourceClaim(claim) = object { claim.spec.devices.requests.as_ref() } else { None }
            })
            .flatten()
            .flat_map(|request| request.fields())
            .map(|fields| (fields.allocation_mode.as_str(), fields.count))
            .collect();
    let one = ("ExactCount", 1);
    assert_eq!(wanted, [one, ("All", 0), ("ExactCount", 2), one, one, one]);
    let is_as_written =
        |object: &Object| matches!(object, Object::Node(node) if node.status.allocatable.get("cpu").is_none());
    assert!(objects.iter().any(is_as_written));
}

#[test]
fn label_keys_of_pod_affinity_are_requirements_of_its_selectors() {
    let mut texts = Vec::new();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("manifests.yaml");
    std::fs::write(&file, MANIFESTS).unwrap();
    read_texts(&[file], &mut |_, json| texts.push(json.to_owned())).unwrap();
    let pod = texts.iter().find(|text| text.contains("\"keys\"")).unwrap();
    let pod: serde_json::Value = serde_json::from_str(pod).unwrap();
    let affinity = &pod["spec"]["affinity"];
    let added = |key: &str, operator: &str, value: &str| serde_json::json!({"key": key, "operator": operator, "values": [value]});
    let preferred = &affinity["podAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"][0]["podAffinityTerm"];
    assert_eq!(preferred["labelSelector"]["matchExpressions"], serde_json::json!([added("tenant", "NotIn", "a")]));
    let required = &affinity["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    let both = serde_json::json!([added("version", "In", "7"), added("tenant", "NotIn", "a")]);
    assert_eq!(required[0]["labelSelector"]["matchExpressions"], both);
    assert_eq!(required[0]["labelSelector"]["matchLabels"], serde_json::json!({"app": "a"}));
    // What the API server has merged when the labels were others stays, and nothing is selected without a selector.
    assert_eq!(required[1]["labelSelector"]["matchExpressions"], serde_json::json!([added("version", "In", "6")]));
    let both = serde_json::json!([added("tenant", "NotIn", "b"), added("tenant", "NotIn", "a")]);
    assert_eq!(required[3]["labelSelector"]["matchExpressions"], both, "an author's own exclusions stand beside it");
    assert!(required[2].get("labelSelector").is_none_or(serde_json::Value::is_null), "{}", required[2]);
}

#[test]
fn what_an_api_server_has_filled_in_is_filled_in_once_and_its_objects_are_taken_as_they_are() {
    let mut texts = Vec::new();
    let mut again = Vec::new();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("manifests.yaml");
    std::fs::write(&file, MANIFESTS).unwrap();
    let read = |files: &[PathBuf], texts: &mut Vec<String>| {
        read_texts(files, &mut |_, json| texts.push(json.to_owned())).unwrap()
    };
    assert!(!read(slice::from_ref(&file), &mut texts).filled.is_empty());
    std::fs::write(&file, texts.concat()).unwrap();
    assert_eq!(read(slice::from_ref(&file), &mut again).filled, BTreeMap::new());
    assert_eq!(texts, again);

    // A server of a version with other rules has made of this pod what it is.
    let served = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","resourceVersion":"7"},"spec":{"hostNetwork":true,"containers":[
        {"resources":{"limits":{"cpu":"1"}},"ports":[{"containerPort":80}]}]}}"#;
    let (objects, summary) = contents(served.as_bytes()).unwrap();
    assert_eq!(summary.filled, BTreeMap::new());
    assert!(matches!(&objects[..], [Object::Pod(pod)] if requested(pod).is_empty()));
    // What else has made this one is not known.
    let (objects, summary) = contents(served.replace("resourceVersion", "uid").as_bytes()).unwrap();
    assert_eq!((summary.filled.len(), summary.lacking.len()), (0, 2));
    assert!(matches!(&objects[..], [Object::Pod(pod)] if requested(pod).is_empty()));
    // What is no object of its kind is refused as ever.
    let wrong = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"resources":{"limits":{"cpu":[]}}}]}}"#;
    assert!(refusal(wrong).contains("spec.containers[0].resources"), "{}", refusal(wrong));
}

#[test]
fn a_node_with_devices_in_the_form_of_v1beta1_is_read() {
    let slice = r#"{"apiVersion":"resource.k8s.io/v1beta1","kind":"ResourceSlice","metadata":{"name":"s"},"spec":{"driver":"d","nodeName":"n1",
        "pool":{"name":"n1","generation":1,"resourceSliceCount":1},"devices":[{"name":"d0","basic":{"attributes":{"model":{"string":"a"}}}}]}}"#;
    let (objects, summary) = contents(slice.as_bytes()).unwrap();
    assert_eq!(summary, Summary::default());
    assert!(
        matches!(&objects[..], [Object::ResourceSlice(slice)] if slice.spec.devices[0].attributes.contains_key("model"))
    );
}
