//! Tests of what a policy document means, and of the exact message for every way in which one can be wrong.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, clippy::cast_possible_truncation)]

mod versions;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::*;
use crate::limits::{ANNOTATION_KEYS_MAX, CONFIG_MAPS_MAX, POLICY_FILE_BYTES};
use nodesift_engine::{Mode, OnError, Phase, Phases};
use nodesift_registry::PublicKey;
use nodesift_sandbox::Interface;

const BUILTINS: &[&str] = &["NodeName", "NodeAffinity", "NodeResourcesFit"];

fn read(text: &str) -> Result<Policy, PolicyError> {
    Policy::read(text, "policy.yaml", Path::new("/etc/nodesift"), BUILTINS)
}

fn refusal(text: &str) -> String {
    read(text).map(|policy| panic!("accepted: {policy:?}")).unwrap_err().to_string()
}

/// A document whose `spec.predicates` holds one entry, given from its name on (line 6).
fn with_predicate(entry: &str) -> String {
    format!(
        "apiVersion: nodesift.dev/v1alpha1\nkind: PredicatePolicy\nspec:\n  schedulerNames: [yunikorn]\n  predicates:\n  - {}\n",
        entry.replace('\n', "\n    ")
    )
}

const EVERYTHING: &str = "\
apiVersion: nodesift.dev/v1alpha1
kind: PredicatePolicy
metadata: {name: default}
spec:
  schedulerNames: [yunikorn]
  predicates:
  - name: NodeAffinity
  - name: NodeResourcesFit
    phases: [allocate]
    args: {ignoredResources: [example.com/soft]}
  - name: TeamIsolation
    module:
      path: modules/team.wasm
      digest: sha256:00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF
    instance: Reuse
    allow: [pod-labels, node-labels]
    onError: Ignore
    limits: {memory: 16Mi, timePerCall: 5ms, output: 64Ki, logLines: 0}
    mode: Enforce
  facts:
    annotations: [example.com/team, Rack, example.com/pool]
";

#[test]
fn every_field_of_a_document_is_read() {
    let policy = read(EVERYTHING).unwrap();
    assert_eq!((policy.name.as_str(), policy.scheduler_names.as_slice()), ("default", &["yunikorn".to_owned()][..]));
    let [affinity, fit, team] = &policy.predicates[..] else { panic!("{policy:?}") };
    assert_eq!(
        *affinity,
        PredicateSpec {
            name: "NodeAffinity".to_owned(),
            place: Place { file: None, line: 7, column: 5, field: "spec.predicates[0]".to_owned() },
            phases: Phases::ALL,
            args: json!({}),
            module: ModuleSource::Builtin,
            instance: InstanceLife::Fresh,
            allow: None,
            on_error: OnError::Reject,
            mode: Mode::Enforce,
            limits: SpecLimits::default(),
        }
    );
    assert!(fit.phases.contains(Phase::Allocate) && !fit.phases.contains(Phase::Reserve));
    assert_eq!(fit.args["ignoredResources"], json!(["example.com/soft"]));
    let digest: Vec<u8> = (0..32).map(|index| (index % 16) * 0x11).collect();
    assert_eq!(team.instance, InstanceLife::Reuse);
    assert_eq!(
        team.module,
        ModuleSource::Path { path: "/etc/nodesift/modules/team.wasm".into(), digest: Some(digest.try_into().unwrap()) }
    );
    assert_eq!(team.allow, Some([Interface::NodeLabels, Interface::PodLabels].into()));
    assert_eq!(team.on_error, OnError::Ignore);
    assert_eq!(team.limits.memory_bytes, Some(16 << 20));
    assert_eq!(team.limits.time_per_call, Some(Duration::from_millis(5)));
    assert_eq!(team.limits.output_bytes, Some(64 << 10));
    assert_eq!(team.limits.log_lines, Some(0));
    assert_eq!(*policy.settings.annotation_keys, ["Rack", "example.com/pool", "example.com/team"], "sorted");
}

#[test]
fn a_document_without_annotation_keys_lists_none() {
    let without = with_predicate("name: NodeName");
    for facts in ["", "  facts: {}\n", "  facts: {annotations: []}\n"] {
        let policy = read(&format!("{without}{facts}")).unwrap();
        assert!(policy.settings.annotation_keys.is_empty(), "{facts}");
    }
}

/// Each value of `spec.facts`, on line 7, with its message.
#[test]
fn invalid_annotation_keys_are_refused_with_line_and_field() {
    let cases = [
        (
            "[a, a b, -c]",
            "policy.yaml:7:28: spec.facts.annotations[1]: \"a b\" is not an annotation key: its name must be letters, digits, '-', '_' and '.', and begin and end with a letter or digit\n\
             policy.yaml:7:33: spec.facts.annotations[2]: \"-c\" is not an annotation key: its name must be letters, digits, '-', '_' and '.', and begin and end with a letter or digit",
        ),
        (
            "['']",
            "policy.yaml:7:25: spec.facts.annotations[0]: \"\" is not an annotation key: its name must have 1 to 63 characters",
        ),
        (
            "[/a]",
            "policy.yaml:7:25: spec.facts.annotations[0]: \"/a\" is not an annotation key: its prefix must have 1 to 253 characters",
        ),
        (
            "[a_b/c]",
            "policy.yaml:7:25: spec.facts.annotations[0]: \"a_b/c\" is not an annotation key: its prefix must be a DNS subdomain, such as example.com",
        ),
        (
            "[a/b/c]",
            "policy.yaml:7:25: spec.facts.annotations[0]: \"a/b/c\" is not an annotation key: more than one slash",
        ),
        ("[a, b, a]", "policy.yaml:7:31: spec.facts.annotations[2]: \"a\" is there twice, first on line 7"),
        ("a", "policy.yaml:7:24: spec.facts.annotations: expected a list, found a text"),
        ("[5]", "policy.yaml:7:25: spec.facts.annotations[0]: expected a text, found a number: quote it"),
        ("{a: b}", "policy.yaml:7:24: spec.facts.annotations: expected a list, found a map"),
    ];
    for (value, expected) in cases {
        let text = format!("{}  facts: {{annotations: {value}}}\n", with_predicate("name: NodeName"));
        assert_eq!(refusal(&text), expected, "{value}");
    }
    let text = format!("{}  facts: {{labels: [a]}}\n", with_predicate("name: NodeName"));
    assert_eq!(
        refusal(&text),
        "policy.yaml:7:11: spec.facts.labels: unknown field; expected one of annotations, configMaps"
    );
}

#[test]
fn config_maps_are_named_by_namespace_and_name_and_listed_once() {
    let text = |value: &str| format!("{}  facts: {{configMaps: {value}}}\n", with_predicate("name: NodeName"));
    assert_eq!(*read(&text("[ops/teams, a/b.c]")).unwrap().settings.config_maps, ["a/b.c", "ops/teams"], "sorted");
    assert!(read(&text("[]")).unwrap().settings.config_maps.is_empty());
    let cases = [
        ("[teams]", "policy.yaml:7:24: spec.facts.configMaps[0]: \"teams\" is not NAMESPACE/NAME: there is no slash"),
        ("[a/b, a/b]", "policy.yaml:7:29: spec.facts.configMaps[1]: \"a/b\" is there twice, first on line 7"),
        ("a/b", "policy.yaml:7:23: spec.facts.configMaps: expected a list, found a text"),
    ];
    for (value, expected) in cases {
        assert_eq!(refusal(&text(value)), expected, "{value}");
    }
    let many = |count: usize| {
        let names: Vec<String> = (0..count).map(|name| format!("ops/m{name}")).collect();
        text(&format!("[{}]", names.join(", ")))
    };
    assert_eq!(read(&many(CONFIG_MAPS_MAX)).unwrap().settings.config_maps.len(), CONFIG_MAPS_MAX);
    assert!(refusal(&many(CONFIG_MAPS_MAX + 1)).contains("33 ConfigMaps; at most 32 are allowed"));
}

#[test]
fn annotation_keys_are_accepted_up_to_the_limit_and_no_more() {
    let text = |keys: usize| {
        let keys: Vec<String> = (0..keys).map(|key| format!("key-{key}")).collect();
        format!("{}  facts:\n    annotations: [{}]\n", with_predicate("name: NodeName"), keys.join(", "))
    };
    assert_eq!(read(&text(ANNOTATION_KEYS_MAX)).unwrap().settings.annotation_keys.len(), ANNOTATION_KEYS_MAX);
    assert_eq!(
        refusal(&text(ANNOTATION_KEYS_MAX + 1)),
        "policy.yaml:8:18: spec.facts.annotations: 257 annotation keys; at most 256 are allowed"
    );
}

#[test]
fn the_same_document_in_json_means_the_same() {
    let text = r#"{"apiVersion": "nodesift.dev/v1alpha1", "kind": "PredicatePolicy", "spec": {
        "schedulerNames": ["yunikorn"], "predicates": [{"name": "NodeName", "limits": {"memory": 1048576}}]}}"#;
    assert_eq!(read(text).unwrap().predicates[0].limits.memory_bytes, Some(1 << 20));
}

#[test]
fn the_bundled_policy_is_valid() {
    let text = nodesift_bundle::DEFAULT_POLICY;
    let policy = Policy::read(text, "built in", Path::new(""), &[]).unwrap();
    assert!(policy.predicates.len() > 12);
    assert_eq!(policy.scheduler_names, [DEFAULT_SCHEDULER]);
}

#[test]
fn an_absolute_module_path_stays_as_it_is() {
    let policy = read(&with_predicate("name: Mine\nmodule: {path: /opt/mine.wasm}")).unwrap();
    let expected = ModuleSource::Path { path: "/opt/mine.wasm".into(), digest: None };
    assert_eq!(policy.predicates[0].module, expected);
}

/// Each document with its message, for problems that parsing finds.
#[test]
fn a_document_that_cannot_be_read_is_refused_with_line_and_field() {
    let cases = [
        (
            "name: NodeName\nnmae: 1",
            "policy.yaml:7:5: spec.predicates[0].nmae: unknown field; expected one of name, phases, args, module, instance, allow, onError, limits, mode",
        ),
        (
            "name: NodeName\nname: NodeAffinity",
            "policy.yaml:7:5: spec.predicates[0].name: is there twice, first on line 6",
        ),
        (
            "name: NodeName\nargs: {a: 1, a: 2}",
            "policy.yaml:7:18: spec.predicates[0].args.a: is there twice, first on line 7",
        ),
        ("name: [NodeName]", "policy.yaml:6:11: spec.predicates[0].name: expected a text, found a list"),
        ("name: 5", "policy.yaml:6:11: spec.predicates[0].name: expected a text, found a number: quote it"),
        (
            "name: NodeName\nallow: pod-labels",
            "policy.yaml:7:12: spec.predicates[0].allow: expected a list, found a text",
        ),
        ("phases: [allocate]", "policy.yaml:6:5: spec.predicates[0].name: missing"),
        (
            "name: NodeName\nlimits: {memroy: 1Mi}",
            "policy.yaml:7:14: spec.predicates[0].limits.memroy: unknown field; expected one of memory, timePerCall, output, logLines",
        ),
        ("name: *who", "policy.yaml:6:11: reference to unknown value"),
    ];
    for (entry, expected) in cases {
        assert_eq!(refusal(&with_predicate(entry)), expected, "{entry}");
    }
    assert_eq!(refusal(" \n"), "policy.yaml: empty; expected a PredicatePolicy");
    assert_eq!(
        refusal("{}"),
        "policy.yaml:1:1: apiVersion: missing\npolicy.yaml:1:1: kind: missing\npolicy.yaml:1:1: spec: missing"
    );
    assert_eq!(refusal("[]"), "policy.yaml:1:1: expected a map, found a list");
    assert_eq!(
        refusal(&format!("{EVERYTHING}---\n{EVERYTHING}")),
        "policy.yaml:23:1: only single YAML document expected but multiple found"
    );
    assert!(refusal("kind: [").starts_with("policy.yaml:1:"));
}

/// Each document with its message, for problems that parsing leaves to checking.
#[test]
fn an_invalid_value_is_refused_with_line_and_field() {
    let cases = [
        (
            "name: NodeNmae",
            "6:11: spec.predicates[0].name: there is no built-in \"NodeNmae\"; there are NodeName, NodeAffinity, NodeResourcesFit. Give `module.path` for one of your own",
        ),
        ("name: \"\"\nmodule: {path: a}", "6:11: spec.predicates[0].name: empty"),
        (
            "name: \"a\\nb\"\nmodule: {path: a}",
            "6:11: spec.predicates[0].name: \"a\\nb\" has characters that are not seen, or that break a line: leave them out",
        ),
        (
            "name: NodeName\nphases: [alocate]",
            "7:14: spec.predicates[0].phases[0]: \"alocate\" is not allocate or reserve",
        ),
        ("name: NodeName\nphases: []", "7:13: spec.predicates[0].phases: empty; leave the field out for all phases"),
        (
            "name: NodeName\nphases: [reserve, reserve]",
            "7:23: spec.predicates[0].phases[1]: \"reserve\" is there twice, first on line 7",
        ),
        ("name: NodeName\nargs: [1]", "7:11: spec.predicates[0].args: expected a map, found a list"),
        ("name: NodeName\nonError: Panic", "7:14: spec.predicates[0].onError: \"Panic\" is not Reject or Ignore"),
        (
            "name: NodeName\nmode: Shadow",
            "6:5: spec.predicates: all are in mode Shadow; every pod would fit every node",
        ),
        ("name: NodeName\nmode: shadow", "7:11: spec.predicates[0].mode: \"shadow\" is not Enforce or Shadow"),
        (
            "name: NodeName\nallow: [pod-labels, pod-labels]",
            "7:25: spec.predicates[0].allow[1]: \"pod-labels\" is there twice, first on line 7",
        ),
        (
            "name: NodeName\nlimits: {memory: 16x}",
            "7:22: spec.predicates[0].limits.memory: \"16x\" is not a quantity: expected a number, such as 2 or 1.5, and a suffix, such as m, k, Mi, Gi or e3",
        ),
        (
            "name: NodeName\nlimits: {memory: 16}",
            "7:22: spec.predicates[0].limits.memory: 16 is not between 64Ki and 256Mi",
        ),
        (
            "name: NodeName\nlimits: {memory: -1}",
            "7:22: spec.predicates[0].limits.memory: -1 is not between 64Ki and 256Mi",
        ),
        (
            "name: NodeName\nlimits: {memory: 1Ti}",
            "7:22: spec.predicates[0].limits.memory: \"1Ti\" is not between 64Ki and 256Mi",
        ),
        (
            "name: NodeName\nlimits: {timePerCall: 5}",
            "7:27: spec.predicates[0].limits.timePerCall: 5 is not a duration: expected a whole number and us, ms or s, such as 5ms",
        ),
        (
            "name: NodeName\nlimits: {timePerCall: 1.5s}",
            "7:27: spec.predicates[0].limits.timePerCall: \"1.5s\" is not a duration: expected a whole number and us, ms or s, such as 5ms",
        ),
        (
            "name: NodeName\nlimits: {timePerCall: 0ms}",
            "7:27: spec.predicates[0].limits.timePerCall: \"0ms\" is not above zero and at most 10s",
        ),
        (
            "name: NodeName\nlimits: {timePerCall: 99999999999s}",
            "7:27: spec.predicates[0].limits.timePerCall: \"99999999999s\" is not above zero and at most 10s",
        ),
        ("name: Mine\nmodule: {}", "7:13: spec.predicates[0].module: neither `path` nor `oci`; give one of them"),
        (
            "name: NodeName\nlimits: {memory: 257Mi}",
            "7:22: spec.predicates[0].limits.memory: \"257Mi\" is not between 64Ki and 256Mi",
        ),
        (
            "name: NodeName\nlimits: {output: 1023}",
            "7:22: spec.predicates[0].limits.output: 1023 is not between 1Ki and 1Mi",
        ),
        (
            "name: Mine\nmodule: {path: a, layout: b}",
            "7:31: spec.predicates[0].module.layout: given without `oci`; a file needs none",
        ),
        ("name: Mine\nmodule: {path: \"\"}", "7:20: spec.predicates[0].module.path: empty"),
        (
            "name: Mine\nmodule: {path: a, oci: b}",
            "7:28: spec.predicates[0].module.oci: given beside `path`; give one of them",
        ),
        (
            "name: Mine\nmodule: {path: a, digest: md5:aa}",
            "7:31: spec.predicates[0].module.digest: \"md5:aa\" is not sha256: and 64 hexadecimal digits",
        ),
    ];
    for (entry, expected) in cases {
        assert_eq!(refusal(&with_predicate(entry)), format!("policy.yaml:{expected}"), "{entry}");
    }
}

#[test]
fn all_problems_are_reported_at_once_in_the_order_of_lines() {
    let text = "\
apiVersion: nodesift.dev/v2
kind: Policy
spec:
  schedulerNames: []
  predicates:
  - name: NodeName
    mode: Shade
    instance: Reused
  - name: NodeName
  - name: Mine
    module: {oci: Mine@1}
  - name: Narrow
    module: {path: narrow.wasm}
    allow: [pod-labels, pod-label]
  - {name: Twice, module: {oci: a/b:1@DIGEST, layout: oci, digest: DIGEST}}
";
    let text = text.replace("DIGEST", "sha256:0011223344556677889900112233445566778899001122334455667788990011");
    let expected = "\
policy.yaml:1:13: apiVersion: \"nodesift.dev/v2\" is not nodesift.dev/v1alpha1
policy.yaml:2:7: kind: \"Policy\" is not PredicatePolicy
policy.yaml:4:19: spec.schedulerNames: empty; every pod would be foreign
policy.yaml:7:11: spec.predicates[0].mode: \"Shade\" is not Enforce or Shadow
policy.yaml:8:15: spec.predicates[0].instance: \"Reused\" is not Fresh or Reuse
policy.yaml:9:11: spec.predicates[1].name: \"NodeName\" is there twice, first on line 6
policy.yaml:11:13: spec.predicates[2].module.digest: missing; an OCI artifact needs the SHA-256 of its manifest or of its component
policy.yaml:11:19: spec.predicates[2].module.oci: \"Mine@1\" is no reference of an OCI artifact: invalid reference format
policy.yaml:14:25: spec.predicates[3].allow[1]: \"pod-label\" is no interface of nodesift:predicate 0.2.0; there are INTERFACES
policy.yaml:15:33: spec.predicates[4].module.oci: has a digest; give that in `digest`";
    let expected = expected.replace("INTERFACES", &Interface::ALL.map(Interface::name).join(", "));
    assert_eq!(refusal(&text), expected);
}

/// A public key on P-256.
const KEY: &str = "-----BEGIN PUBLIC KEY-----\n\
    MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAErrQaNrw7qncFasTT96ER/ubUmwro\n\
    W0Ad3pfOduxO4mu7y9KlHLmlZMCaI6oAQebJuPnMvRHZGixF7N52VhP+jA==\n-----END PUBLIC KEY-----\n";

#[test]
fn a_module_without_a_layout_is_in_a_registry_and_signed_by_a_key_of_the_policy() {
    let module = |text: &str| {
        let policy = read(text).unwrap();
        match policy.predicates.into_iter().find(|spec| spec.name == "Mine").unwrap().module {
            ModuleSource::Registry(module) => module,
            other => panic!("{other:?}"),
        }
    };
    let digest = "ab".repeat(32);
    let entry = format!("name: Mine\nmodule: {{oci: registry.example.com/mine:1, digest: \"sha256:{digest}\"}}");
    let text = with_predicate(&entry);
    let unsigned = module(&text);
    assert_eq!((unsigned.address.to_string().as_str(), unsigned.digest), ("registry.example.com/mine:1", [0xab; 32]));
    assert!(unsigned.keys.is_empty());
    let keys = json!([{"path": "team.pub"}, {"pem": KEY}]);
    let signed = module(&text.replace("spec:\n", &format!("spec:\n  modules: {{keys: {keys}}}\n")));
    assert_eq!(
        *signed.keys,
        [Key::Path("/etc/nodesift/team.pub".into()), Key::Inline(PublicKey::from_pem(KEY).unwrap())]
    );
    assert_eq!(ModuleSource::Registry(signed).files(), ["/etc/nodesift/team.pub".into()]);
}

#[test]
fn keys_that_cannot_be_used_are_refused() {
    let text = with_predicate("name: NodeName");
    for (keys, expected) in [
        (json!([]), "spec.modules.keys: empty; leave the field out"),
        (json!([{}]), "spec.modules.keys[0]: neither `path` nor `pem`; give one of them"),
        (json!([{"path": ""}]), "spec.modules.keys[0].path: empty"),
        (json!([{"path": "a", "pem": KEY}]), "spec.modules.keys[0].pem: given beside `path`"),
        (
            json!([{"path": "a"}, {"pem": "-----BEGIN PUBLIC KEY-----"}]),
            "spec.modules.keys[1].pem: this is no public key",
        ),
        (json!([{"file": "a"}]), "spec.modules.keys[0].file: unknown"),
        (json!(vec![json!({"path": "a"}); 17]), "spec.modules.keys: 17 keys; at most 16 are allowed"),
    ] {
        let refusal = refusal(&text.replace("spec:\n", &format!("spec:\n  modules: {{keys: {keys}}}\n")));
        assert!(refusal.contains(expected), "{keys}: {refusal}");
    }
}

#[test]
fn an_artifact_is_found_relative_to_the_folder_of_the_policy() {
    let digest = "ab".repeat(32);
    let module = format!("{{oci: registry.example.com/mine:1, layout: oci, digest: \"sha256:{digest}\"}}");
    let policy = read(&with_predicate(&format!("name: Mine\nmodule: {module}"))).unwrap();
    let expected = ModuleSource::Oci {
        layout: "/etc/nodesift/oci".into(),
        keys: Arc::new([]),
        reference: "registry.example.com/mine:1".to_owned(),
        digest: [0xab; 32],
    };
    assert_eq!(policy.predicates[0].module, expected);
    let blob = PathBuf::from("/etc/nodesift/oci/blobs/sha256").join(digest);
    assert_eq!(expected.files(), ["/etc/nodesift/oci/index.json".into(), blob.into()]);
}

/// Fields that are unknown, there twice or of another type, beside values that are wrong.
#[test]
fn what_cannot_be_read_is_reported_beside_what_is_wrong() {
    let text = "\
apiVersion: [nodesift.dev/v1alpha1]
kind: Policy
metdata: {}
spec:
  schedulerNames: default-scheduler
  predicates:
  - name: NodeName
    phases: [alocate, 5]
    pahses: [reserve]
  - NodeAffinity
  - nmae: NodeAffinity
    args: {a: {b: 1, b: 2}}
    limits: {memory: 1, memory: 2, timePerCall: 5}
  - name: NodeName
    module: none
    onError: 7
  facts: {annotations: [-a, [b], -a]}
";
    let expected = "\
policy.yaml:1:13: apiVersion: expected a text, found a list
policy.yaml:2:7: kind: \"Policy\" is not PredicatePolicy
policy.yaml:3:1: metdata: unknown field; expected one of apiVersion, kind, metadata, spec
policy.yaml:5:19: spec.schedulerNames: expected a list, found a text
policy.yaml:8:14: spec.predicates[0].phases[0]: \"alocate\" is not allocate or reserve
policy.yaml:8:23: spec.predicates[0].phases[1]: expected a text, found a number: quote it
policy.yaml:9:5: spec.predicates[0].pahses: unknown field; expected one of name, phases, args, module, instance, allow, onError, limits, mode
policy.yaml:10:5: spec.predicates[1]: expected a map, found a text
policy.yaml:11:5: spec.predicates[2].nmae: unknown field; expected one of name, phases, args, module, instance, allow, onError, limits, mode
policy.yaml:11:5: spec.predicates[2].name: missing
policy.yaml:12:22: spec.predicates[2].args.a.b: is there twice, first on line 12
policy.yaml:13:25: spec.predicates[2].limits.memory: is there twice, first on line 13
policy.yaml:13:49: spec.predicates[2].limits.timePerCall: 5 is not a duration: expected a whole number and us, ms or s, such as 5ms
policy.yaml:14:11: spec.predicates[3].name: \"NodeName\" is there twice, first on line 7
policy.yaml:15:13: spec.predicates[3].module: expected a map, found a text
policy.yaml:16:14: spec.predicates[3].onError: expected a text, found a number: quote it
policy.yaml:17:25: spec.facts.annotations[0]: \"-a\" is not an annotation key: its name must be letters, digits, '-', '_' and '.', and begin and end with a letter or digit
policy.yaml:17:29: spec.facts.annotations[1]: expected a text, found a list
policy.yaml:17:34: spec.facts.annotations[2]: \"-a\" is not an annotation key: its name must be letters, digits, '-', '_' and '.', and begin and end with a letter or digit
policy.yaml:17:34: spec.facts.annotations[2]: \"-a\" is there twice, first on line 17";
    assert_eq!(refusal(text), expected);
}

#[test]
fn whatever_has_a_name_is_refused_one_that_breaks_a_line() {
    let text = "apiVersion: nodesift.dev/v1alpha1\nkind: PredicatePolicy\nmetadata: {name: \"a\\nb\"}\nspec:\n  \
                schedulerNames: [\"a\\rb\"]\n  predicates: [{name: NodeName}]\n  scores:\n  \
                - {name: \"a\\eb\", module: {path: a}}\n";
    let refusal = refusal(text);
    let fields = ["3:18: metadata.name: ", "5:20: spec.schedulerNames[0]: ", "8:12: spec.scores[0].name: "];
    assert_eq!(refusal.lines().count(), fields.len(), "{refusal}");
    for (line, field) in refusal.lines().zip(fields) {
        assert!(line.starts_with(&format!("policy.yaml:{field}")), "{line}");
    }
}

#[test]
fn an_empty_spec_is_refused() {
    let text = "apiVersion: nodesift.dev/v1alpha1\nkind: PredicatePolicy\nspec: {}\n";
    let expected = "\
policy.yaml:3:7: spec.schedulerNames: missing; name the schedulers whose pods are not foreign, such as [default-scheduler]";
    assert_eq!(refusal(text), expected);
    let empty = text.replace("{}", "{schedulerNames: [a], predicates: []}");
    assert_eq!(refusal(&empty), "policy.yaml:3:41: spec.predicates: empty; every pod would fit every node");
}

#[test]
fn selected_predicates_keep_their_entries_and_take_the_order_given() {
    let policy = read(EVERYTHING).unwrap();
    let picked = policy.select(&["TeamIsolation", "NodeAffinity"]).unwrap();
    assert_eq!(picked.predicates, [policy.predicates[2].clone(), policy.predicates[0].clone()]);
    assert_eq!(picked.scheduler_names, policy.scheduler_names);
}

#[test]
fn an_invalid_selection_is_refused_with_the_known_names() {
    let policy = read(EVERYTHING).unwrap();
    let refusal = |names: &[&str]| policy.select(names).unwrap_err().to_string();
    let known = "there are NodeAffinity, NodeResourcesFit, TeamIsolation";
    assert_eq!(refusal(&["NodeAffinity", "Nope"]), format!("there is no predicate \"Nope\"; {known}"));
    assert_eq!(refusal(&[]), format!("no predicate is named; {known}"));
    assert_eq!(refusal(&["NodeAffinity", "NodeAffinity"]), "predicate \"NodeAffinity\" is named twice");
}

#[test]
fn a_file_is_read_relative_to_its_folder_and_refused_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("policy.yaml");
    std::fs::write(&file, with_predicate("name: Mine\nmodule: {path: mine.wasm}")).unwrap();
    let policy = Policy::read_file(&file, BUILTINS).unwrap();
    let expected = ModuleSource::Path { path: folder.path().join("mine.wasm").into(), digest: None };
    assert_eq!(policy.predicates[0].module, expected);

    std::fs::write(&file, "a".repeat(POLICY_FILE_BYTES as usize + 1)).unwrap();
    let refused = |path: &Path| Policy::read_file(path, BUILTINS).unwrap_err().to_string();
    assert_eq!(refused(&file), format!("{}: more than 1024 KiB: not a policy", file.display()));
    let absent = folder.path().join("absent.yaml");
    assert_eq!(refused(&absent), format!("{}: No such file or directory (os error 2)", absent.display()));
}

#[test]
fn mutilated_documents_never_panic_and_refusals_name_the_document() {
    let seed = nodesift_seed::seed();
    let mut random = fastrand::Rng::with_seed(seed);
    let mut refused = 0;
    for _ in 0..3_000 {
        let mut bytes = EVERYTHING.as_bytes().to_vec();
        for _ in 0..random.usize(1..4) {
            let place = random.usize(..bytes.len());
            match random.u8(..4) {
                0 => bytes.truncate(place + 1),
                1 => bytes[place] = *random.choice(b"{}[]:,-&*!|>'\"%@`#\n\t \x00\xff0a~").unwrap(),
                2 => drop(bytes.remove(place)),
                _ => bytes.insert(place, *random.choice(b"{}[]:,-\n a").unwrap()),
            }
            if bytes.is_empty() {
                bytes.push(b' ');
            }
        }
        let Ok(text) = String::from_utf8(bytes) else { continue };
        if let Err(error) = read(&text) {
            refused += 1;
            let error = error.to_string();
            assert!(error.lines().all(|line| line.starts_with("policy.yaml:")), "seed {seed}: {error}\n{text}");
        }
    }
    assert!(refused > 1_000, "only {refused} refused, seed {seed}");
}

#[test]
fn what_no_predicate_evaluates_is_rejected_unless_the_policy_says_otherwise() {
    let policy = |line: &str| {
        read(&format!(
            "apiVersion: nodesift.dev/v1alpha1\nkind: PredicatePolicy\nspec:\n  schedulerNames: [a]\n  \
             predicates: [{{name: NodeAffinity}}]\n{line}"
        ))
    };
    assert_eq!(policy("").unwrap().settings.on_unsupported, OnError::Reject);
    assert_eq!(policy("  onUnsupported: Reject").unwrap().settings.on_unsupported, OnError::Reject);
    let ignoring = policy("  onUnsupported: Ignore").unwrap();
    assert_eq!(ignoring.settings.on_unsupported, OnError::Ignore);
    assert_eq!(ignoring.select(&["NodeAffinity"]).unwrap().settings.on_unsupported, OnError::Ignore);
    let refusal = policy("  onUnsupported: Maybe").unwrap_err().to_string();
    assert!(refusal.contains("spec.onUnsupported: \"Maybe\" is not Reject or Ignore"), "{refusal}");
}
