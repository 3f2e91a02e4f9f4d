//! A reload keeps everything that it does not change: code, counts and cached verdicts.

use nodesift_tests::data::digest;
use nodesift_tests::guest::Guest;
use nodesift_tests::http::ask;
use nodesift_tests::machine::beside_others;
use serde_json::{Value, json};

use crate::running::{Folder, Reloading, policy};

fn made(reloading: &Reloading) -> [f64; 3] {
    ["kept", "relinked", "compiled"]
        .map(|from| reloading.metric(&format!("nodesift_policy_predicates_total{{from=\"{from}\"}}")))
}

fn calls(status: &Value) -> Vec<(String, u64)> {
    let predicates = status["predicates"].as_array().unwrap().iter();
    predicates.map(|found| (found["name"].as_str().unwrap().to_owned(), found["calls"].as_u64().unwrap())).collect()
}

/// R-10 of the reliability plan: what a reload keeps.
#[test]
fn the_same_digest_and_other_arguments_compile_nothing_and_make_a_new_generation() {
    let _beside = beside_others();
    let guest = Guest::healthy().component();
    let folder = Folder::new();
    folder.put("own.wasm", &guest);
    let document = |comment: &str, args: &str| {
        let own = format!("{{name: Own, module: {{path: own.wasm, digest: {}}}, args: {{{args}}}}}", digest(&guest));
        format!("# {comment}\n{}", policy(&["name: NodeName", "name: NodeResourcesFit", &own]))
    };
    let reloading = Reloading::with(folder, &document("first", ""));
    let expected = [
        (document("a comment", ""), [3.0, 0.0, 0.0]),
        (document("a comment", "a: 1"), [5.0, 1.0, 0.0]),
        (document("a comment", "a: 2"), [7.0, 2.0, 0.0]),
        (document("first", "a: 2"), [10.0, 2.0, 0.0]),
    ];
    for (number, (document, expected)) in (2..).zip(expected) {
        reloading.put(&document);
        let status = reloading.becomes(&document);
        assert_eq!(status["generation"], number.to_string());
        // Counted after the swap.
        let counted = || (made(&reloading) == expected).then_some(());
        assert!(nodesift_tests::timeout::until(counted).is_some(), "{number}: {:?}", made(&reloading));
    }
    // The same file once more.
    reloading.folder.put("own.wasm", &guest);
    reloading.when("the same module again", |status| status["generation"] == "6");
    // Another module is compiled, and only that one.
    let other = Guest::asking(8, 1).component();
    reloading.folder.put("own.wasm", &other);
    reloading.put(&document("first", "a: 2").replace(&digest(&guest), &digest(&other)));
    reloading.when("another module", |status| status["predicates"][2]["digest"] == digest(&other));
    let counted = || (made(&reloading)[2] >= 1.0).then_some(());
    assert!(nodesift_tests::timeout::until(counted).is_some(), "{:?}", made(&reloading));
    assert_eq!(made(&reloading)[2], 1.0);
}

#[test]
fn cached_verdicts_of_unchanged_predicates_are_used_after_a_reload_and_those_of_others_are_not() {
    let _beside = beside_others();
    let first = policy(&[
        "name: NodeAffinity",
        "{name: NodeResourcesFit, args: {ignoredResources: [a.b/c]}}",
        "name: TaintToleration",
    ]);
    // Another order, other arguments of one, other phases of another, and one more.
    let second = policy(&[
        "{name: TaintToleration, phases: [allocate]}",
        "name: NodePorts",
        "name: NodeAffinity",
        "{name: NodeResourcesFit, args: {ignoredResources: [a.b/d]}}",
    ]);
    let reloading = Reloading::start(&first);
    let answer = || {
        let mut answer = ask(&reloading.sidecar.unix(), "/v1/filter", &json!({"pending": true}));
        answer.as_object_mut().unwrap().remove("version");
        answer
    };
    let before = answer();
    let warm = calls(&reloading.status());
    assert_eq!(answer(), before);
    assert_eq!(calls(&reloading.status()), warm, "all verdicts are cached");
    reloading.put(&second);
    reloading.becomes(&second);
    answer();
    let of = |calls: &[(String, u64)], name: &str| calls.iter().find(|(known, _)| known == name).unwrap().1;
    let after = calls(&reloading.status());
    for kept in ["NodeAffinity", "TaintToleration"] {
        assert_eq!(of(&after, kept), of(&warm, kept), "{kept} is called again: {after:?}");
    }
    for new in ["NodeResourcesFit", "NodePorts"] {
        assert!(of(&after, new) > 0, "{new} has never been called: {after:?}");
    }
    // And back: the first arguments are new again, and the answer is the same.
    reloading.put(&first);
    reloading.becomes(&first);
    assert_eq!(answer(), before);
    assert_eq!(of(&calls(&reloading.status()), "NodeAffinity"), of(&warm, "NodeAffinity"));
}

#[test]
fn metrics_name_the_predicates_of_the_active_policy_and_no_others() {
    /// Series of one predicate: counts, a histogram, and a counter for each kind of fault.
    const SERIES_EACH: usize = 40;
    let _beside = beside_others();
    let folder = Folder::new();
    folder.put("own.wasm", Guest::healthy().component());
    let document =
        |number: usize| policy(&["name: NodeName", &format!("{{name: Own{number}, module: {{path: own.wasm}}}}")]);
    let reloading = Reloading::with(folder, &document(0));
    for number in 1..6 {
        reloading.put(&document(number));
        reloading.becomes(&document(number));
        ask(&reloading.sidecar.unix(), "/v1/filter", &json!({"pending": true}));
        let text = nodesift_tests::http::get(&reloading.sidecar.unix(), "/metrics").unwrap().body;
        let named = text.lines().filter_map(|line| line.split_once("predicate=\"")?.1.split_once('"'));
        let named: Vec<&str> = named.map(|(name, _)| name).collect();
        let names: std::collections::BTreeSet<&str> = named.iter().copied().collect();
        assert_eq!(names, ["NodeName", &format!("Own{number}")].into(), "{text}");
        assert!(named.len() <= 2 * SERIES_EACH, "{} series", named.len());
    }
}
