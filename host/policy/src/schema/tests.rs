//! The schema against the reader of documents: the same documents are taken.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, clippy::indexing_slicing)]

use std::fs;
use std::path::Path;

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::{Map, Value, json};

use super::schema;
use crate::limits::{GUEST_MEMORY_BYTES_MAX, GUEST_OUTPUT_BYTES_MIN, GUEST_TIME_PER_CALL_MAX};
use crate::spec::{Policy, PolicyError};
use crate::tree::{self, Reader};
use nodesift_sandbox::limits::{FILTER_TIME_MIN, FILTER_TIME_PER_10_000_ROWS, GUEST_MEMORY_BYTES, OUTPUT_BYTES};

/// Where this environment variable is set, the golden file is written instead of compared.
const BLESS: &str = "NODESIFT_BLESS";

struct Validator(Schemas, SchemaIndex);

impl Validator {
    fn new() -> Self {
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        compiler.add_resource("policy.json", schema()).unwrap();
        let index = compiler.compile("policy.json", &mut schemas).unwrap();
        Self(schemas, index)
    }

    fn accepts(&self, document: &Value) -> bool {
        self.0.validate(document, self.1).is_ok()
    }
}

/// A document as the reader sees it.
fn value(text: &str) -> Value {
    let tree = tree::parse(text).unwrap_or_else(|problem| panic!("{problem}: {text}"));
    Reader::default().value((Some(&tree), String::new())).unwrap().value
}

fn read(text: &str) -> Result<Policy, PolicyError> {
    let builtins: Vec<&str> = nodesift_bundle::BUILTINS.iter().map(|builtin| builtin.name).collect();
    Policy::read(text, "policy.yaml", Path::new("/etc/nodesift"), &builtins)
}

const DIGEST: &str = "sha256:00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF";

/// A public key on P-256.
const KEY: &str = "-----BEGIN PUBLIC KEY-----\n\
    MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAErrQaNrw7qncFasTT96ER/ubUmwro\n\
    W0Ad3pfOduxO4mu7y9KlHLmlZMCaI6oAQebJuPnMvRHZGixF7N52VhP+jA==\n-----END PUBLIC KEY-----\n";

/// A document with every field.
fn everything() -> Value {
    json!({
        "apiVersion": "nodesift.dev/v1alpha1",
        "kind": "PredicatePolicy",
        "metadata": {"name": "all", "labels": {"a": "b"}, "annotations": {"c": "d"}},
        "spec": {
            "schedulerNames": ["yunikorn", "default-scheduler"],
            "predicates": [
                {"name": "NodeName", "phases": ["allocate"], "args": {"any": [1, {"thing": null}]}},
                {
                    "name": "Own", "module": {"path": "own.wasm", "digest": DIGEST}, "instance": "Reuse", "onError": "Ignore",
                    "allow": ["pod-labels", "node-labels"], "mode": "Shadow",
                    "limits": {"memory": "64Mi", "timePerCall": "5ms", "output": 65536, "logLines": 20},
                },
                {
                    "name": "Pulled", "onError": "Reject",
                    "module": {"oci": "registry.example.com/a/b:1", "layout": "oci", "digest": DIGEST},
                },
                {"name": "Remote", "module": {"oci": "registry.example.com/a/b:1", "digest": DIGEST}},
                {"name": "Parties"},
            ],
            "scores": [
                {"name": "NodeResourcesFit", "weight": 2, "args": {"any": [1, {"thing": null}]}},
                {
                    "name": "OwnScore", "module": {"path": "own.wasm", "digest": DIGEST}, "instance": "Reuse", "onError": "Reject",
                    "allow": ["pod-labels", "cluster-candidates"],
                    "limits": {"memory": "64Mi", "timePerCall": "5ms", "output": 65536, "logLines": 20},
                },
                {"name": "PulledScore", "module": {"oci": "registry.example.com/a/b:1", "layout": "oci", "digest": DIGEST}},
            ],
            "accounting": {
                "module": {"path": "accounting.wasm", "digest": DIGEST}, "annotations": ["example.com/size"],
                "args": {"any": 1}, "allow": ["object-annotations", "object-owners"], "onError": "Refuse",
                "ignoreNamespaces": ["kube-system"], "gauges": ["example.size"],
                "watermarks": [{"sum": "example.size", "of": "memory", "above": 90, "below": 80}],
            },
            "modules": {"keys": [{"path": "team.pub"}, {"pem": KEY}]},
            "facts": {"annotations": ["example.com/team", "Rack"], "configMaps": ["ops/teams"]},
            "parties": [
                {"name": "licences", "for": {"podSelector": {"matchLabels": {"app": "sim"},
                    "matchExpressions": [{"key": "tier", "operator": "In", "values": ["gold"]}]}},
                    "nodeSelector": {"zone": "a"}, "scope": "template", "onSilence": "Reject", "onUnknown": "Fit", "deadline": "120s"},
                {"name": "nic", "for": {"driver": "nic.example.com"}, "scope": "claims", "onSilence": "Ignore"},
                {"name": "gpu", "for": {"deviceClass": "gpu"}},
            ],
            "preemption": {"static": "Never"},
            "onUnsupported": "Ignore",
            "rollbackOnQuarantine": true,
            "kubernetes": "1.37",
            "featureGates": {"VolumeLimitScaling": false},
            "quirks": {"NamespaceSelectorMerge": "Fixed"},
        },
    })
}

#[test]
fn the_schema_in_the_repository_is_the_one_that_is_printed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/policy.schema.json");
    if std::env::var_os(BLESS).is_some() {
        fs::write(&path, format!("{}\n", serde_json::to_string_pretty(&schema()).unwrap())).unwrap();
    }
    let golden: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert!(golden == schema(), "write `nodesift policy schema` to deploy/policy.schema.json");
}

/// Adds the fields of a schema that none of the values has.
fn add_missing(schema: &Value, values: &[&Value], path: &str, missing: &mut Vec<String>) {
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        let given: Vec<&Value> = values.iter().filter_map(|value| value.get(name)).collect();
        if given.is_empty() {
            missing.push(path);
            continue;
        }
        let items: Vec<&Value> = given.iter().filter_map(|value| value.as_array()).flatten().collect();
        add_missing(&schema["items"], &items, &path, missing);
        add_missing(schema, &given, &path, missing);
    }
}

#[test]
fn the_document_with_every_field_lacks_none() {
    // A module has a path or these.
    let other = json!({"spec": {"accounting": {"module": {"oci": "registry.example.com/a/b:1", "layout": "oci"}}}});
    let mut missing = Vec::new();
    add_missing(&schema(), &[&everything(), &other], "", &mut missing);
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn the_limits_that_descriptions_name_are_those_of_the_code() {
    let schema = schema();
    let limits = &schema["properties"]["spec"]["properties"]["predicates"]["items"]["properties"]["limits"];
    let description = |name: &str| limits["properties"][name]["description"].as_str().unwrap().to_owned();
    let mebibytes = |bytes: usize| format!("{}Mi", bytes >> 20);
    for (name, figures) in [
        ("memory", [mebibytes(GUEST_MEMORY_BYTES_MAX), mebibytes(GUEST_MEMORY_BYTES), "64Ki".to_owned()]),
        ("output", [mebibytes(OUTPUT_BYTES), format!("{}Ki", GUEST_OUTPUT_BYTES_MIN >> 10), String::new()]),
        (
            "timePerCall",
            [
                format!("{}s", GUEST_TIME_PER_CALL_MAX.as_secs()),
                format!("{}ms per 10,000", FILTER_TIME_PER_10_000_ROWS.as_millis()),
                format!("{}ms", FILTER_TIME_MIN.as_millis()),
            ],
        ),
    ] {
        for figure in figures {
            assert!(description(name).contains(&figure), "{name}: {figure} is not in {}", description(name));
        }
    }
}

#[test]
fn a_document_with_every_field_fits_and_so_do_the_bundled_policies() {
    let validator = Validator::new();
    for text in [
        everything().to_string(),
        nodesift_bundle::DEFAULT_POLICY.to_owned(),
        nodesift_bundle::OPTIONAL_POLICY.to_owned(),
    ] {
        assert!(read(&text).is_ok(), "{:?}", read(&text));
        assert!(validator.accepts(&value(&text)), "{text}");
    }
}

/// Changes of [`everything`] by pointer, that both refuse.
#[test]
fn what_the_reader_refuses_by_its_form_the_schema_refuses_too() {
    let validator = Validator::new();
    let own = "/spec/predicates/1";
    let pulled = "/spec/predicates/2";
    for (pointer, value) in [
        ("/apiVersion", json!("nodesift.dev/v2")),
        ("/kind", json!("Policy")),
        ("/metadata/name", json!(1)),
        ("/spec/schedulerNames", json!([])),
        ("/spec/schedulerNames", json!(["a", "a"])),
        ("/spec/schedulerNames/0", json!("")),
        ("/spec/predicates", json!([])),
        ("/spec/predicates", json!(vec![json!({"name": "NodeName"}); 129])),
        ("/spec/predicates/0/name", json!("NodeNmae")),
        ("/spec/predicates/0/phases", json!([])),
        ("/spec/predicates/0/phases", json!(["alocate"])),
        ("/spec/predicates/0/phases", json!(["reserve", "reserve"])),
        ("/spec/predicates/0/args", json!([1])),
        (&format!("{own}/module/digest"), json!("md5:aa")),
        (&format!("{own}/module/path"), json!("")),
        (&format!("{own}/module"), json!({})),
        (&format!("{own}/module"), json!({"path": "a", "layout": "b"})),
        (&format!("{own}/module"), json!({"path": "a", "oci": "b", "layout": "c", "digest": DIGEST})),
        (&format!("{own}/allow"), json!(["pod-labels", "pod-labels"])),
        (&format!("{own}/allow/0"), json!("pod-label")),
        (&format!("{own}/onError"), json!("Panic")),
        (&format!("{own}/mode"), json!("enforce")),
        (&format!("{own}/instance"), json!("reuse")),
        (&format!("{own}/limits/memory"), json!("16x")),
        (&format!("{own}/limits/timePerCall"), json!("1.5s")),
        (&format!("{own}/limits/timePerCall"), json!(5)),
        (&format!("{own}/limits/output"), json!("much")),
        (&format!("{own}/limits/logLines"), json!(101)),
        (&format!("{own}/limits/logLines"), json!("10")),
        ("/spec/rollbackOnQuarantine", json!("true")),
        ("/spec/preemption/static", json!("always")),
        (&format!("{pulled}/module/oci"), json!("a/b@sha256:00")),
        (&format!("{pulled}/module"), json!({"oci": "a/b:1", "layout": "oci"})),
        (&format!("{pulled}/module/layout"), json!("")),
        ("/spec/modules/keys", json!([])),
        ("/spec/modules/keys", json!(vec![json!({"path": "a"}); 17])),
        ("/spec/modules/keys/0", json!({})),
        ("/spec/modules/keys/0", json!({"path": "a", "pem": KEY})),
        ("/spec/modules/keys/0/path", json!("")),
        ("/spec/modules/keys/1/pem", json!("key")),
        ("/spec/facts/annotations/0", json!("a b")),
        ("/spec/facts/annotations/0", json!("a_b/c")),
        ("/spec/facts/annotations/0", json!("-a")),
        ("/spec/facts/annotations", json!(["a", "a"])),
        ("/spec/onUnsupported", json!("Maybe")),
        ("/spec/parties", json!(vec![json!({"name": "p", "for": {"driver": "d"}}); 17])),
        ("/spec/parties/0/name", json!("a b")),
        ("/spec/parties/0/for", json!({})),
        ("/spec/parties/0/for", json!({"driver": "d", "deviceClass": "c"})),
        ("/spec/parties/0/for/podSelector/matchExpressions/0/operator", json!("Gt")),
        ("/spec/parties/0/for/podSelector/matchExpressions/0/operator", json!("Exists")),
        ("/spec/parties/0/for/podSelector/matchExpressions/0/values", json!([])),
        ("/spec/parties/0/nodeSelector/zone", json!(1)),
        ("/spec/parties/0/scope", json!("Pod")),
        ("/spec/parties/0/onSilence", json!("wait")),
        ("/spec/parties/0/onUnknown", json!("Fits")),
        ("/spec/parties/0/deadline", json!("2m")),
    ] {
        let mut document = everything();
        *document.pointer_mut(pointer).unwrap() = value.clone();
        assert!(read(&document.to_string()).is_err(), "the reader takes {value} at {pointer}");
        assert!(!validator.accepts(&document), "the schema takes {value} at {pointer}");
    }
}

/// Values, by JSON pointer, that the reader refuses and no schema can exclude.
#[test]
fn what_a_schema_cannot_say_is_known() {
    let validator = Validator::new();
    for (pointer, value) in [
        ("/spec/predicates/1/name", json!("NodeName")),
        ("/spec/predicates", json!([{"name": "NodeName", "mode": "Shadow"}])),
        ("/spec/predicates/1/limits/memory", json!("1Gi")),
        ("/spec/predicates/1/limits/memory", json!(1)),
        ("/spec/predicates/1/limits/output", json!("2Mi")),
        ("/spec/predicates/1/limits/timePerCall", json!("11s")),
        ("/spec/predicates/2/module/oci", json!("not a reference")),
        ("/spec/modules/keys/1/pem", json!("-----BEGIN PUBLIC KEY-----")),
        ("/spec/parties/1/name", json!("gpu")),
        ("/spec/parties/0/scope", json!("claims")),
        ("/spec/parties/0/nodeSelector/zone", json!("a b")),
    ] {
        let mut document = everything();
        *document.pointer_mut(pointer).unwrap() = value.clone();
        assert!(read(&document.to_string()).is_err() && validator.accepts(&document), "{value} at {pointer}");
    }
}

/// Random changes of form: values of another type, fields that are missing or unknown.
#[test]
fn random_documents_are_taken_by_both_or_by_neither() {
    let validator = Validator::new();
    let seed = nodesift_seed::seed();
    let mut random = fastrand::Rng::with_seed(seed);
    let mut taken = 0;
    for _ in 0..2_000 {
        let mut document = everything();
        change(&mut document, &mut random, "");
        // A schema cannot say that no default predicate reads what parties say, nor which of two numbers is greater.
        let number =
            |name: &str| document.pointer(&format!("/spec/accounting/watermarks/0/{name}")).and_then(Value::as_u64);
        let is_reversed = matches!((number("above"), number("below")), (Some(above), Some(below)) if above <= below);
        let has = |name: &str| document.pointer(name).is_some();
        if is_reversed || has("/spec/parties") && !has("/spec/predicates") {
            continue;
        }
        let (reads, fits) = (read(&document.to_string()), validator.accepts(&document));
        taken += usize::from(fits);
        assert_eq!(reads.is_ok(), fits, "seed {seed}: {:?}: {document:#}", reads.err());
    }
    assert!((100..1_900).contains(&taken), "{taken} taken, seed {seed}");
}

/// Changes one place of a document.
fn change(value: &mut Value, random: &mut fastrand::Rng, field: &str) {
    // Whatever is in there, no one looks at it.
    let is_free = matches!(field, "args" | "labels" | "annotations" if value.is_object());
    match value {
        Value::Object(map) if !map.is_empty() && random.u8(..8) > 0 => {
            let keys: Vec<String> = map.keys().cloned().collect();
            let key = random.choice(&keys).unwrap().clone();
            match random.u8(..12) {
                0 => drop(map.remove(&key)),
                1 => drop(map.insert(format!("{key}s"), json!("unknown"))),
                _ => change(&mut map[&key], random, &key),
            }
        }
        Value::Array(items) if !items.is_empty() && random.u8(..6) > 0 => {
            let place = random.usize(..items.len());
            change(&mut items[place], random, field);
        }
        _ if is_free => {}
        // Values of some types are no text but a quantity.
        _ if matches!(field, "memory" | "output" | "logLines") => {
            *value = random.choice([json!("1Mi"), json!([]), json!("x")]).unwrap()
        }
        _ => {
            let other: [Value; 4] = [json!(5), json!("other"), json!(["other"]), Value::Object(Map::new())];
            *value = random.choice(other).unwrap();
        }
    }
}
