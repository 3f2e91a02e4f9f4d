//! The CustomResourceDefinition of policies, `deploy/crd.yaml`. Start at [`crd`].
//!
//! Its schema is that of documents, in the part of OpenAPI that API servers take. The rest is refused by the sidecar, and then in
//! the status: names that are none of built-ins, for example.

use serde_json::{Map, Value, json};

use crate::schema::schema;
use crate::spec::{GROUP, KIND, PLURAL, VERSION};

/// Returns the CustomResourceDefinition of `PredicatePolicy`, as JSON.
pub fn crd() -> Value {
    // API servers check these themselves.
    let document = json!({
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": spec(),
            "status": status(),
        },
    });
    let column = |name: &str, kind: &str, path: &str, description: &str| json!({"name": name, "type": kind, "jsonPath": path, "description": description});
    let condition = |field: &str| format!(".status.conditions[?(@.type==\"Active\")].{field}");
    let degraded = ".status.conditions[?(@.type==\"Degraded\")].status";
    let mut message =
        column("Message", "string", &condition("message"), "Which step of which predicate failed, and why");
    message["priority"] = json!(1);
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{PLURAL}.{GROUP}")},
        "spec": {
            "group": GROUP,
            "scope": "Cluster",
            "names": {
                "kind": KIND, "listKind": format!("{KIND}List"), "plural": PLURAL, "singular": KIND.to_lowercase(),
            },
            "versions": [{
                "name": VERSION,
                "served": true,
                "storage": true,
                "subresources": {"status": {}},
                "additionalPrinterColumns": [
                    column("Generation", "integer", ".metadata.generation", "Rises with each change of the policy"),
                    column("Observed", "integer", ".status.observedGeneration", "The generation that Active is about"),
                    column("Active", "string", &condition("status"), "Whether that generation answers in every replica"),
                    column("Degraded", "string", degraded, "Whether a predicate is in quarantine, or was and brought the policy before back"),
                    column("Reason", "string", &condition("reason"), "The step that failed, where it does not"),
                    column("Age", "date", ".metadata.creationTimestamp", "Since it was created"),
                    message,
                ],
                "schema": {"openAPIV3Schema": document},
            }],
        },
    })
}

/// Returns the schema of a string with this description.
fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

/// The document's own schema, see [`schema`].
fn spec() -> Value {
    let schema = schema();
    let mut spec = structural(&schema["properties"]["spec"]);
    spec["description"] = schema["description"].clone();
    for list in ["predicates", "scores"] {
        let components = &mut spec["properties"][list];
        // Told apart by their names, and kept in the order in which they are written.
        components["x-kubernetes-list-type"] = json!("map");
        components["x-kubernetes-list-map-keys"] = json!(["name"]);
        // An object has no folder.
        let module = &mut components["items"]["properties"]["module"]["properties"];
        module["path"]["description"] = json!("A component file in every replica, by its whole path");
        module["layout"]["description"] =
            json!("A folder with an OCI image layout in every replica, by its whole path");
    }
    let module = &mut spec["properties"]["accounting"]["properties"]["module"]["properties"];
    module["path"]["description"] = json!("A component file in every replica, by its whole path");
    module["layout"]["description"] = json!("A folder with an OCI image layout in every replica, by its whole path");
    let key = &mut spec["properties"]["modules"]["properties"]["keys"]["items"]["properties"];
    key["path"]["description"] = json!("A file with a public key in PEM in every replica, by its whole path");
    spec
}

/// A JSON schema in the words that API servers take.
fn structural(schema: &Value) -> Value {
    let Some(fields) = schema.as_object() else { return schema.clone() };
    if fields.contains_key("oneOf") && !fields.contains_key("type") {
        return json!({
            "description": schema["description"],
            "x-kubernetes-int-or-string": true,
            "anyOf": [{"type": "integer"}, {"type": "string"}],
        });
    }
    let mut taken = Map::new();
    for (name, value) in fields {
        let (name, value) = match name.as_str() {
            // What is not known they drop or refuse themselves, and conditions they do not know.
            "additionalProperties" if value.is_object() => (name.as_str(), structural(value)),
            // A name that a replica refuses says more than one that a server has dropped.
            "additionalProperties" | "propertyNames" | "dependentRequired" | "if" | "then" => continue,
            "uniqueItems" => ("x-kubernetes-list-type", json!("set")),
            "items" => ("items", structural(value)),
            "properties" => {
                let properties = value.as_object().into_iter().flatten();
                (name.as_str(), properties.map(|(name, value)| (name.clone(), structural(value))).collect())
            }
            name => (name, value.clone()),
        };
        taken.insert(name.to_owned(), value);
    }
    if taken.contains_key("enum") {
        taken.insert("type".to_owned(), json!("string"));
    }
    let is_any = !taken.contains_key("properties") && !taken.contains_key("additionalProperties");
    if schema["type"] == "object" && is_any {
        taken.insert("x-kubernetes-preserve-unknown-fields".to_owned(), json!(true));
    }
    taken.into()
}

fn status() -> Value {
    let generation = |description: &str| json!({"type": "integer", "format": "int64", "description": description});
    let time = |description: &str| json!({"type": "string", "format": "date-time", "description": description});
    json!({
        "description": "Written by the replicas of the sidecar",
        "type": "object",
        "properties": {
            "observedGeneration": generation("The generation that the conditions are about"),
            "conditions": {
                "description": "Accepted: every replica that has tried the generation could use it. Active: it answers there. \
                                Degraded: a predicate is in quarantine, or the policy before is active again for that reason",
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["type"],
                "items": {
                    "type": "object",
                    "required": ["type", "status", "lastTransitionTime", "reason", "message"],
                    "properties": {
                        "type": text("Accepted, Active or Degraded"),
                        "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
                        "observedGeneration": generation("The generation that it is about"),
                        "lastTransitionTime": time("Since when it has this status"),
                        "reason": text("One word: the step that failed, RolledBack or Quarantined where it is not as it should be"),
                        "message": text("Which replica, which predicate, and why"),
                    },
                },
            },
            "replicas": {
                "description": "One entry of each replica, which only that replica writes",
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                "items": {
                    "type": "object",
                    "required": ["name"],
                    "properties": {
                        "name": text("The replica: the name of its pod"),
                        "observedGeneration": generation("The last generation that it has tried"),
                        "active": {"type": "boolean", "description": "Whether that generation answers there"},
                        "policyGeneration": {
                            "type": "integer", "format": "int64",
                            "description": "The policy that answers there: 1 at the start, one more with each change",
                        },
                        "kubernetes": text("The version of Kubernetes whose verdicts it gives there, and where it was taken from"),
                        "step": text("The step that failed"),
                        "predicate": text("The predicate that failed"),
                        "message": text("What is wrong"),
                        "quarantined": text("The predicates in quarantine, with the last fault"),
                        "warning": text("Facts that predicates miss because the policy does not name them"),
                        "time": time("When it was tried"),
                        "seen": time("When the replica was there last. An entry that is not renewed is taken out"),
                    },
                },
            },
        },
    })
}

#[cfg(test)]
mod tests;
