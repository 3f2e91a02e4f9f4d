//! The definition against the documents that it has to take, and against the rules of structural schemas.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;
use std::path::Path;

use super::*;
use crate::document;
use crate::tree::{self, Reader};

/// Where this environment variable is set, the golden file is written instead of compared.
const BLESS: &str = "NODESIFT_BLESS";

const INTRO: &str = "\
# Policies as objects of the cluster, for `nodesift serve --policy-resource NAME`. `kubectl apply` it before the first policy.
";

fn schema_of(pointer: &str) -> Value {
    let crd = crd();
    let root = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    root.pointer(pointer).unwrap_or_else(|| panic!("{pointer}")).clone()
}

#[test]
fn the_definition_in_deploy_is_the_one_that_is_made_here() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/crd.yaml");
    if std::env::var_os(BLESS).is_some() {
        fs::write(&path, format!("{INTRO}{}", serde_saphyr::to_string(&crd()).unwrap())).unwrap();
    }
    let text = fs::read_to_string(&path).unwrap();
    let tree = tree::parse(&text).unwrap();
    let golden = Reader::default().value((Some(&tree), String::new())).unwrap().value;
    assert!(golden == crd(), "set {BLESS}=1 to write deploy/crd.yaml");
}

/// The fields that the reader knows in a map, by what it says of one that it does not know.
fn known(document: &Value, path: &str) -> Vec<String> {
    let problems = match document::read(&document.to_string()) {
        Ok((_, problems)) => problems,
        Err(problem) => panic!("{problem}"),
    };
    let unknown = problems.iter().find(|problem| problem.field == path).unwrap_or_else(|| panic!("{problems:?}"));
    let known = unknown.reason.strip_prefix("unknown field; expected one of ").unwrap();
    let mut known: Vec<String> = known.split(", ").map(str::to_owned).collect();
    known.sort_unstable();
    known
}

#[test]
fn the_definition_has_the_fields_of_the_reader() {
    let of_predicate = |inside: Value| json!({"apiVersion": "", "kind": "", "spec": {"predicates": [inside]}});
    for (pointer, document, path) in [
        ("/properties/spec", json!({"apiVersion": "", "kind": "", "spec": {"x": 1}}), "spec.x"),
        (
            "/properties/spec/properties/facts",
            json!({"apiVersion": "", "kind": "", "spec": {"facts": {"x": 1}}}),
            "spec.facts.x",
        ),
        (
            "/properties/spec/properties/accounting",
            json!({"apiVersion": "", "kind": "", "spec": {"accounting": {"module": {"path": "/a"}, "x": 1}}}),
            "spec.accounting.x",
        ),
        (
            "/properties/spec/properties/predicates/items",
            of_predicate(json!({"name": "a", "x": 1})),
            "spec.predicates[0].x",
        ),
        (
            "/properties/spec/properties/predicates/items/properties/module",
            of_predicate(json!({"name": "a", "module": {"x": 1}})),
            "spec.predicates[0].module.x",
        ),
        (
            "/properties/spec/properties/predicates/items/properties/limits",
            of_predicate(json!({"name": "a", "limits": {"x": 1}})),
            "spec.predicates[0].limits.x",
        ),
        (
            "/properties/spec/properties/scores/items",
            json!({"apiVersion": "", "kind": "", "spec": {"scores": [{"name": "a", "x": 1}]}}),
            "spec.scores[0].x",
        ),
    ] {
        let schema = schema_of(pointer);
        let mut fields: Vec<String> = schema["properties"].as_object().unwrap().keys().cloned().collect();
        fields.sort_unstable();
        assert_eq!(fields, known(&document, path), "{pointer}");
    }
}

/// Values that the schema takes, one document for each, and no more than the reader takes.
#[test]
fn every_choice_of_the_definition_is_one_of_the_reader() {
    let builtins: Vec<&str> = nodesift_bundle::BUILTINS.iter().map(|builtin| builtin.name).collect();
    let choices = |pointer: &str| schema_of(pointer)["enum"].as_array().unwrap().clone();
    let predicate = "/properties/spec/properties/predicates/items/properties";
    let mut checked = 0;
    for (field, pointer, is_list) in [
        ("onError", format!("{predicate}/onError"), false),
        ("phases", format!("{predicate}/phases/items"), true),
        ("allow", format!("{predicate}/allow/items"), true),
    ] {
        for choice in choices(&pointer) {
            let mut document = json!({
                "apiVersion": "nodesift.dev/v1alpha1", "kind": KIND,
                "spec": {"schedulerNames": ["a"], "predicates": [{"name": "NodeName"}]},
            });
            document["spec"]["predicates"][0][field] = if is_list { json!([choice]) } else { choice };
            let read = crate::Policy::read(&document.to_string(), "p", Path::new(""), &builtins);
            assert!(read.is_ok(), "{field}: {read:?}");
            checked += 1;
        }
    }
    assert!(checked > 20, "{checked}");
}

/// The rules of structural schemas, as far as this one can break them.
fn check(schema: &Value, path: &str) {
    let Some(fields) = schema.as_object() else { return };
    let is_typed = ["type", "x-kubernetes-int-or-string"].iter().any(|name| fields.contains_key(*name));
    assert!(is_typed, "{path} has no type");
    let allowed = [
        "additionalProperties",
        "anyOf",
        "description",
        "enum",
        "format",
        "items",
        "maxItems",
        "maxProperties",
        "maximum",
        "minItems",
        "minLength",
        "minimum",
        "oneOf",
        "pattern",
        "properties",
        "required",
        "type",
        "x-kubernetes-int-or-string",
        "x-kubernetes-list-map-keys",
        "x-kubernetes-list-type",
        "x-kubernetes-preserve-unknown-fields",
    ];
    for name in fields.keys() {
        assert!(allowed.contains(&name.as_str()), "{path}: {name} is not structural");
    }
    if let Some(values) = fields.get("additionalProperties") {
        assert!(!fields.contains_key("properties"), "{path} has both names and any name");
        check(values, &format!("{path}.*"));
    }
    let properties = fields.get("properties").and_then(Value::as_object);
    for (name, value) in properties.into_iter().flatten() {
        check(value, &format!("{path}.{name}"));
    }
    if fields.get("type") == Some(&json!("array")) {
        check(fields.get("items").unwrap_or_else(|| panic!("{path} has no items")), &format!("{path}[]"));
        let keys = fields.get("x-kubernetes-list-map-keys").and_then(Value::as_array);
        for key in keys.into_iter().flatten() {
            assert!(fields["items"]["required"].as_array().unwrap().contains(key), "{path}: {key} is not required");
        }
    }
}

#[test]
fn the_schema_is_structural() {
    check(&schema_of(""), "");
    // Arguments of modules are any object; nothing else keeps what is not known.
    let of_modules = ["predicates/items", "scores/items", "accounting"];
    for module in of_modules {
        let args = schema_of(&format!("/properties/spec/properties/{module}/properties/args"));
        assert_eq!(args["x-kubernetes-preserve-unknown-fields"], true, "{module}");
    }
    assert_eq!(crd().to_string().matches("preserve-unknown-fields").count(), of_modules.len());
}

#[test]
fn the_columns_show_generation_verdict_reason_and_age() {
    let crd = crd();
    let columns = crd["spec"]["versions"][0]["additionalPrinterColumns"].as_array().unwrap();
    let shown: Vec<&str> = columns
        .iter()
        .filter(|column| column["priority"].is_null())
        .map(|column| column["name"].as_str().unwrap())
        .collect();
    assert_eq!(shown, ["Generation", "Observed", "Active", "Degraded", "Reason", "Age"]);
}
