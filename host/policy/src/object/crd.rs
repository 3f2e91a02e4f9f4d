//! The CustomResourceDefinition of policies, `deploy/crd.yaml`. Start at [`crd`].
//!
//! Its schema says what can be said of documents in the part of OpenAPI that API servers take. The rest is refused by the sidecar,
//! and then in the status: names that are none of built-ins, for example.

use serde_json::{Value, json};

use crate::limits::ANNOTATION_KEYS_MAX;
use crate::spec::{GROUP, KIND, PLURAL, VERSION};
use nodesift_sandbox::Interface;

/// The definition.
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

/// A text.
fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

/// One of these texts.
fn choice(values: &[&str], description: &str) -> Value {
    json!({"type": "string", "enum": values, "description": description})
}

/// Texts, none of them twice.
fn texts(items: &Value, description: &str) -> Value {
    json!({"type": "array", "x-kubernetes-list-type": "set", "items": items, "description": description})
}

fn object(properties: &Value, description: &str) -> Value {
    json!({"type": "object", "properties": properties, "description": description})
}

fn spec() -> Value {
    let named = json!({"type": "string", "minLength": 1});
    let mut scheduler_names =
        texts(&named, "The schedulers whose pods are evaluated; pods of any other scheduler are foreign");
    scheduler_names["minItems"] = json!(1);
    let mut annotations = texts(&named, "Keys of the annotations that predicates may read; all others read as absent");
    annotations["maxItems"] = json!(ANNOTATION_KEYS_MAX);
    let predicates = json!({
        "description": "The predicates that run, in evaluation order; each name once",
        "type": "array", "minItems": 1,
        // Told apart by their names, and kept in the order in which they are written.
        "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
        "items": predicate(),
    });
    let mut spec = object(
        &json!({
            "schedulerNames": scheduler_names,
            "predicates": predicates,
            "facts": object(&json!({"annotations": annotations}), "What is kept of objects for predicates"),
            "onUnsupported": choice(
                &["Reject", "Ignore"],
                "What becomes of a pod that needs what no predicate evaluates, such as resource claims"
            ),
            "rollbackOnQuarantine": {
                "type": "boolean",
                "description": "Whether the policy before is active again once a predicate of this one is in quarantine",
            },
        }),
        "Which predicates decide where pods may run, in which order, with which arguments and limits",
    );
    spec["required"] = json!(["schedulerNames", "predicates"]);
    spec
}

fn predicate() -> Value {
    let interfaces = json!({"type": "string", "enum": Interface::ALL.map(Interface::name)});
    let phase = json!({"type": "string", "enum": ["allocate", "reserve"]});
    let mut phases = texts(&phase, "The phases in which it runs; all where the field is left out");
    phases["minItems"] = json!(1);
    let mut module = object(
        &json!({
            "path": text("A component file in every replica, by its whole path"),
            "oci": text("The reference of an OCI artifact"),
            "layout": text("The folder with the OCI image layout that holds the artifact, in every replica, by its whole path"),
            "digest": {
                "type": "string", "pattern": "^sha256:[0-9a-fA-F]{64}$",
                "description": "The SHA-256 of the component, or of the manifest of the artifact",
            },
        }),
        "Where the module of your own predicate is; a built-in has none",
    );
    module["oneOf"] = json!([{"required": ["path"]}, {"required": ["oci"]}]);
    let quantity = |description: &str| {
        json!({
            "description": description,
            "x-kubernetes-int-or-string": true,
            "anyOf": [{"type": "integer"}, {"type": "string"}],
        })
    };
    let limits = json!({
        "memory": quantity("Linear memory in bytes"),
        "output": quantity("What one call may pass to the host, in bytes"),
        "logLines": {"type": "integer", "minimum": 0, "description": "Lines that it may write to the log in a second"},
        "timePerCall": {
            "type": "string", "pattern": "^[0-9]+(us|ms|s)$", "description": "Processor time, such as 5ms",
        },
    });
    let mut predicate = object(
        &json!({
            "name": {
                "type": "string", "minLength": 1, "description": "The name of a built-in, or a name for your own module",
            },
            "phases": phases,
            "args": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                "description": "Its arguments. Those of built-ins are kube-scheduler's own, such as NodeAffinityArgs",
            },
            "module": module,
            "allow": texts(&interfaces, "The only interfaces that it may import; all where the field is left out"),
            "onError": choice(
                &["Reject", "Ignore"],
                "What replaces its verdict when a call fails: Reject every node (the default), or Ignore it"
            ),
            "limits": object(&limits, "What one call may use"),
            "mode": choice(&["Enforce", "Shadow"], "Whether its verdicts count"),
        }),
        "One predicate",
    );
    predicate["required"] = json!(["name"]);
    predicate
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
                        "step": text("The step that failed"),
                        "predicate": text("The predicate that failed"),
                        "message": text("What is wrong"),
                        "quarantined": text("The predicates in quarantine, with the last fault"),
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
