//! The policy is a folder with several files: one document, which follows what is added, changed and removed.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::time::Instant;

use nodesift_tests::guest::Guest;
use nodesift_tests::http::get;
use nodesift_tests::machine::beside_others;
use nodesift_tests::timeout;
use serde_json::{Value, json};

use crate::running::{Folder, Reloading, generation, policy};
use crate::torn::stall;

fn names(status: &Value) -> Vec<&str> {
    status["predicates"].as_array().unwrap().iter().map(|predicate| predicate["name"].as_str().unwrap()).collect()
}

/// A file that adds predicates.
fn part(predicates: &[&str]) -> String {
    let entries: String = predicates.iter().map(|predicate| format!("  - {predicate}\n")).collect();
    format!("spec:\n  predicates:\n{entries}")
}

fn serving(folder: Folder) -> Reloading {
    let path = folder.path("");
    Reloading::serving(folder, &path)
}

/// Waits until these predicates are active.
fn becomes(reloading: &Reloading, expected: &[&str]) -> Value {
    reloading.when(&format!("the policy has {expected:?}"), |status| names(status) == expected)
}

#[test]
fn a_file_that_is_added_changed_or_removed_takes_effect_at_once() {
    let _beside = beside_others();
    let folder = Folder::new();
    folder.put("10-base.yaml", policy(&["name: NodeName"]));
    let reloading = serving(folder);
    assert_eq!(names(&reloading.status()), ["NodeName"]);
    reloading.folder.put("own.wasm", Guest::healthy().component());
    reloading.folder.put("30-own.yaml", part(&["{name: Own, module: {path: own.wasm}}"]));
    let status = becomes(&reloading, &["NodeName", "Own"]);
    assert_eq!((generation(&status), status["source"].as_str()), (2, reloading.folder.path("").to_str()));
    let digest = status["predicates"][1]["digest"].clone();
    // Between the two, by its name.
    reloading.folder.put("20-more.yaml", part(&["name: NodePorts"]));
    let status = becomes(&reloading, &["NodeName", "NodePorts", "Own"]);
    assert_eq!(generation(&status), 3);
    let document: Value = serde_json::from_str(status["document"].as_str().unwrap()).unwrap();
    let expected =
        json!([{"name": "NodeName"}, {"name": "NodePorts"}, {"name": "Own", "module": {"path": "own.wasm"}}]);
    assert_eq!(document["spec"]["predicates"], expected);
    reloading.folder.put("20-more.yaml", part(&["name: NodeAffinity"]));
    becomes(&reloading, &["NodeName", "NodeAffinity", "Own"]);
    // The module is followed too.
    reloading.folder.put("own.wasm", Guest::asking(8, 1).component());
    reloading.when("the other module is active", |status| status["predicates"][2]["digest"] != digest);
    fs::remove_file(reloading.folder.path("20-more.yaml")).unwrap();
    fs::remove_file(reloading.folder.path("30-own.yaml")).unwrap();
    let status = becomes(&reloading, &["NodeName"]);
    // One file alone is shown as written.
    assert_eq!(status["document"], policy(&["name: NodeName"]));
    assert_eq!(status["lastFailure"], Value::Null);
}

#[test]
fn a_broken_file_among_others_is_named_with_its_line_and_the_policy_before_stays_active() {
    let _beside = beside_others();
    let folder = Folder::new();
    folder.put("a.yaml", policy(&["name: NodeName"]));
    folder.put("b.yaml", part(&["name: NodePorts"]));
    let reloading = serving(folder);
    let cases = [
        ("no YAML", "spec:\n  predicates: [\n".to_owned(), "c.yaml:", "", None),
        ("an unknown built-in", part(&["name: NodeNmae"]), "c.yaml:3:11: spec.predicates[2].name", "NodeNmae", None),
        ("a predicate of another file", part(&["name: NodePorts"]), "c.yaml:3:11:", "b.yaml:3:11", Some("NodePorts")),
        ("a key of another file", "spec: {schedulerNames: [b]}\n".to_owned(), "c.yaml:1:8:", "a.yaml:5:3", None),
    ];
    for (what, text, place, words, predicate) in cases {
        let before = reloading.status();
        reloading.folder.put("c.yaml", &text);
        let is_new = |status: &Value| status["lastFailure"] != before["lastFailure"];
        let status = reloading.when(&format!("{what} is refused"), is_new);
        let failure = &status["lastFailure"]["failures"][0];
        let reason = failure["reason"].as_str().unwrap();
        assert!(reason.contains(place) && reason.contains(words), "{what}: {reason}");
        assert!(predicate.is_none_or(|name| failure["predicate"] == name), "{what}: {failure}");
        assert_eq!((failure["step"].as_str(), generation(&status)), (Some("document"), 1), "{what}");
        assert_eq!(names(&status), ["NodeName", "NodePorts"], "{what}");
    }
    let ready = get(&reloading.sidecar.unix(), "/readyz").unwrap();
    assert_eq!(ready.status, 200, "{}", ready.body);
    assert!(ready.body.contains("policy refused at step document"), "{}", ready.body);
    reloading.folder.put("c.yaml", part(&["name: NodeAffinity"]));
    assert_eq!(generation(&becomes(&reloading, &["NodeName", "NodePorts", "NodeAffinity"])), 2);
}

#[test]
fn a_file_that_is_added_in_two_parts_is_waited_for_while_it_is_written() {
    let _beside = beside_others();
    let folder = Folder::new();
    folder.put("a.yaml", policy(&["name: NodeName"]));
    let reloading = serving(folder);
    let mut names = vec!["NodeName"];
    for (round, name) in ["NodePorts", "NodeAffinity"].into_iter().enumerate() {
        let path = reloading.folder.path(&format!("b{round}.yaml"));
        let mut file = OpenOptions::new().write(true).create_new(true).open(path).unwrap();
        // What is there means something, and is not all of it.
        file.write_all(part(&[&format!("name: {name}")]).as_bytes()).unwrap();
        stall();
        let status = reloading.status();
        assert_eq!((generation(&status), &status["lastFailure"]), (round as u64 + 1, &Value::Null), "{name}");
        let last = ["TaintToleration", "NodeUnschedulable"][round];
        file.write_all(format!("  - name: {last}\n").as_bytes()).unwrap();
        drop(file);
        names.extend([name, last]);
        assert_eq!(generation(&becomes(&reloading, &names)), round as u64 + 2, "{name}");
    }
}

/// A ConfigMap with two keys as kubelet mounts it: files are links to `..data`, which is replaced as a whole.
#[test]
fn a_config_map_with_several_keys_changes_as_a_whole() {
    let _beside = beside_others();
    let folder = Folder::new();
    let mount = |folder: &Folder, version: usize, texts: [String; 2]| {
        let name = format!("..{version}");
        fs::create_dir(folder.path(&name)).unwrap();
        for (file, text) in ["a.yaml", "b.yaml"].iter().zip(texts) {
            fs::write(folder.path(&name).join(file), text).unwrap();
        }
        symlink(&name, folder.path("..data_tmp")).unwrap();
        fs::rename(folder.path("..data_tmp"), folder.path("..data")).unwrap();
    };
    // A part of the one with a part of the other would be refused, or have other names.
    let versions = [["NodeName", "NodePorts"], ["NodePorts", "NodeName"]];
    let texts = |version: usize| {
        let [first, second] = versions[version % 2];
        [policy(&[&format!("name: {first}")]), part(&[&format!("name: {second}")])]
    };
    mount(&folder, 0, texts(0));
    for name in ["a.yaml", "b.yaml"] {
        symlink(format!("..data/{name}"), folder.path(name)).unwrap();
    }
    let reloading = serving(folder);
    for version in 1..6 {
        let since = Instant::now();
        mount(&reloading.folder, version, texts(version));
        let status = becomes(&reloading, &versions[version % 2]);
        println!("active after {:?}", since.elapsed());
        assert_eq!((generation(&status), &status["lastFailure"]), (version as u64 + 1, &Value::Null));
        fs::remove_dir_all(reloading.folder.path(&format!("..{}", version - 1))).unwrap();
    }
    // A key more: its link comes after the swap.
    let [first, second] = texts(6);
    mount(&reloading.folder, 6, [first, second]);
    fs::write(reloading.folder.path("..6/c.yaml"), part(&["name: NodeAffinity"])).unwrap();
    symlink("..data/c.yaml", reloading.folder.path("c.yaml")).unwrap();
    becomes(&reloading, &["NodeName", "NodePorts", "NodeAffinity"]);
    // And one less: its link is removed after the swap.
    mount(&reloading.folder, 7, texts(7));
    fs::remove_file(reloading.folder.path("c.yaml")).unwrap();
    let status = becomes(&reloading, &versions[1]);
    let settled = timeout::until(|| reloading.status()["lastFailure"].is_null().then_some(()));
    assert!(settled.is_some(), "{status}");
}
