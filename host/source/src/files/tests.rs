//! What cluster files may look like, and the exact messages for what is wrong with them.
#![allow(clippy::unwrap_used)]

use std::io::Write as _;
use std::path::PathBuf;

use super::*;

const NODE: &str = r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"},"status":{"allocatable":{"cpu":"4"}}}"#;
const POD: &str = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p1"},"spec":{"containers":[]}}"#;

fn names(text: &str) -> Vec<String> {
    let contents = read_bytes("f", text.as_bytes()).unwrap();
    contents.objects.iter().map(|object| format!("{} {}", object.kind(), object.key())).collect()
}

fn refusal(text: &str) -> String {
    read_bytes("f", text.as_bytes()).unwrap_err().to_string()
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
fn a_typed_list_gives_its_items_their_kind() {
    let list = r#"{"apiVersion":"v1","kind":"NodeList","items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}"#;
    assert_eq!(names(list), ["Node a", "Node b"]);
}

#[test]
fn gzip_is_recognised_by_its_first_bytes() {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(NODE.as_bytes()).unwrap();
    let contents = read_bytes("f", &packed.finish().unwrap()).unwrap();
    assert_eq!(contents.objects.len(), 1);
}

#[test]
fn other_kinds_are_counted() {
    let other = r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"}}"#;
    let contents = read_bytes("f", format!("{other}{NODE}{other}").as_bytes()).unwrap();
    assert_eq!(contents.objects.len(), 1);
    assert_eq!(contents.skipped, Skipped::from([("Deployment".to_owned(), 2)]));
    assert!(read_bytes("f", br#"{"apiVersion":"v1","kind":"List","items":[]}"#).unwrap().objects.is_empty());
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
        ("just words".to_owned(), "f: document 1: invalid type: string \"just words\", expected struct Envelope"),
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
    let expected = "pod UID \"u\" is there twice: default/a in f: document 1 and default/b in f: document 2";
    assert_eq!(refusal(&format!("{}{}", pod("a"), pod("b"))), expected);
    // Pods without a UID have nothing in common.
    assert_eq!(names(&format!("{POD}{}", POD.replace("p1", "p2"))).len(), 2);
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let refused = read(&[PathBuf::from("no/such/file.json")]).unwrap_err().to_string();
    assert!(refused.starts_with("no/such/file.json: "), "{refused}");
}

#[test]
fn damage_anywhere_is_refused_or_read_but_never_a_panic() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let json = format!(r#"{{"apiVersion":"v1","kind":"List","items":[{NODE},{POD}]}}"#).into_bytes();
    let yaml = b"apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {cpu: 4}}\n".to_vec();
    for whole in [json, yaml] {
        for cut in 0..whole.len() {
            let _ = read_bytes("f", &whole[..cut]).map_err(|error| assert!(names_the_place(&error), "{error}"));
        }
        for _ in 0..2_000 {
            let mut damaged = whole.clone();
            for _ in 0..random.usize(1..4) {
                let at = random.usize(0..damaged.len());
                damaged[at] = random.u8(..);
            }
            let _ = read_bytes("f", &damaged).map_err(|error| assert!(names_the_place(&error), "{error}, seed {seed}"));
        }
    }
}

/// Whether a message begins with the file, or names it for each of two places.
fn names_the_place(error: &Error) -> bool {
    let text = error.to_string();
    text.starts_with("f: ") || text.matches("f: ").count() == 2
}
