//! The JSON schema of policy documents, for editors and for those who write policies by program: `nodesift policy schema`, and
//! `deploy/policy.schema.json`.
//!
//! A valid document fits the schema. A schema cannot say everything: `name` may not be there twice in the list of predicates, an
//! amount has a range, a module a file. `nodesift policy check` says these. Start at [`schema`].

use serde_json::{Value, json};

use crate::limits::{
    ANNOTATION_KEYS_MAX, CONFIG_MAPS_MAX, GUEST_LOG_LINES_MAX, IGNORED_NAMESPACES_MAX, KEYS_MAX, PREDICATES_MAX,
};
use crate::spec::{API_VERSION, KIND};
use nodesift_negotiation::limits::PARTIES;
use nodesift_sandbox::Interface;
use nodesift_sandbox::accounting::ObjectInterface;
use nodesift_sandbox::limits::{ACCOUNTING_ANNOTATIONS, ACCOUNTING_SUMS};

/// A quantity as Kubernetes writes it, or a number.
const QUANTITY: &str = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)?$";

/// An annotation key: a name, and before a slash the DNS subdomain of who defines it.
const ANNOTATION_KEY: &str = r"^([A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?(\.[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$";

/// Namespace and name of an object.
const OBJECT_NAME: &str =
    r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?/[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";

/// The name of a party.
const PARTY_NAME: &str = r"^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$";

/// The schema, as draft 7, which editors know.
pub fn schema() -> Value {
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": KIND,
        "description": "Which predicates decide where pods may run, in which order, with which arguments and limits",
        "type": "object",
        "additionalProperties": false,
        "required": ["apiVersion", "kind", "spec"],
        "properties": {
            "apiVersion": {"const": API_VERSION},
            "kind": {"const": KIND},
            "metadata": {
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "name": {"type": "string", "description": "The policy's name, shown to operators"},
                    "labels": {"description": "Not read"},
                    "annotations": {"description": "Not read"},
                },
            },
            "spec": spec(),
        },
    })
}

fn spec() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["schedulerNames", "predicates"],
        "properties": {
            "schedulerNames": {
                "description": "The schedulers whose pods are evaluated; pods of any other scheduler are foreign",
                "type": "array", "minItems": 1, "uniqueItems": true,
                "items": {"type": "string", "minLength": 1},
            },
            "predicates": {
                "description": "The predicates that run, in evaluation order; each name once",
                "type": "array", "minItems": 1, "maxItems": PREDICATES_MAX,
                "items": predicate(),
            },
            "accounting": accounting(),
            "modules": modules(),
            "facts": {
                "description": "What is kept of objects for predicates",
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "annotations": {
                        "description": "Keys of the annotations that predicates may read; all others read as absent",
                        "type": "array", "maxItems": ANNOTATION_KEYS_MAX, "uniqueItems": true,
                        "items": {"type": "string", "pattern": ANNOTATION_KEY},
                    },
                    "configMaps": {
                        "description": "ConfigMaps, as NAMESPACE/NAME, whose entries predicates may read; all others read as absent",
                        "type": "array", "maxItems": CONFIG_MAPS_MAX, "uniqueItems": true,
                        "items": {"type": "string", "pattern": OBJECT_NAME},
                    },
                },
            },
            "parties": parties(),
            "onUnsupported": {
                "description": "What becomes of a pod that needs what no predicate evaluates, such as resource claims: \
                                Reject (the default) or Ignore",
                "enum": ["Reject", "Ignore"],
            },
            "rollbackOnQuarantine": {
                "description": "Whether the last good policy is active again once a predicate of this one is in quarantine",
                "type": "boolean",
            },
        },
    })
}

fn predicate() -> Value {
    let builtins: Vec<&str> = nodesift_bundle::BUILTINS.iter().map(|builtin| builtin.name).collect();
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["name"],
        "properties": {
            "name": {
                "description": "The name of a built-in, or a name for your own module",
                "type": "string", "minLength": 1,
            },
            "phases": {
                "description": "The phases in which it runs; all where the field is left out",
                "type": "array", "minItems": 1, "uniqueItems": true,
                "items": {"enum": ["allocate", "reserve"]},
            },
            "args": {
                "description": "Its arguments. Those of built-ins are kube-scheduler's own, such as NodeAffinityArgs",
                "type": "object",
            },
            "module": module(),
            "instance": {
                "description": "How long an instance of your own module lives: Fresh (the default), for one call; or Reuse, for many \
                                calls, where you trust it to keep nothing of one pod for the next. Built-ins are reused",
                "enum": ["Fresh", "Reuse"],
            },
            "allow": {
                "description": "The only facts that the module may import; all where the field is left out. log and row-sets give none and need no entry",
                "type": "array", "uniqueItems": true,
                "items": {"enum": Interface::ALL.map(Interface::name).as_slice()},
            },
            "onError": {
                "description": "What replaces its verdict when a call fails: Reject every node (the default), or Ignore it",
                "enum": ["Reject", "Ignore"],
            },
            "limits": limits(),
            "mode": mode(),
        },
        "if": {"not": {"required": ["module"]}},
        "then": {"properties": {"name": {"enum": builtins}}},
    })
}

fn accounting() -> Value {
    json!({
        "description": "A module of your own that says what pods take of their nodes, in the place of what the API says",
        "type": "object",
        "additionalProperties": false,
        "required": ["module"],
        "properties": {
            "module": module(),
            "annotations": {
                "description": "Keys of the annotations that it may read; a module that reads others is refused",
                "type": "array", "maxItems": ACCOUNTING_ANNOTATIONS, "uniqueItems": true,
                "items": {"type": "string", "pattern": ANNOTATION_KEY},
            },
            "args": {"description": "Its arguments", "type": "object"},
            "allow": {
                "description": "The only interfaces that the module may import; all where the field is left out",
                "type": "array", "uniqueItems": true,
                "items": {"enum": ObjectInterface::ALL.map(ObjectInterface::name).as_slice()},
            },
            "onError": {
                "description": "What counts of a pod where a call fails or its annotations are broken: Keep its last account, or \
                                without one what the API says (the default); Standard, always what the API says; Refuse, as Keep, \
                                and no node fits the pod itself",
                "enum": ["Keep", "Standard", "Refuse"],
            },
            "ignoreNamespaces": {
                "description": "Namespaces whose pods take nothing, whatever the module would say",
                "type": "array", "maxItems": IGNORED_NAMESPACES_MAX, "uniqueItems": true,
                "items": {"type": "string", "minLength": 1},
            },
            "gauges": {
                "description": "Sums of the module that are shown as gauges by node, nodesift_node_sum",
                "type": "array", "maxItems": ACCOUNTING_SUMS, "uniqueItems": true,
                "items": {"type": "string", "minLength": 1},
            },
        },
    })
}

fn parties() -> Value {
    json!({
        "description": "External parties that say which nodes do not suit a pod; the predicate Parties rejects these. Each name once",
        "type": "array", "maxItems": PARTIES,
        "items": {
            "type": "object",
            "additionalProperties": false,
            "required": ["name", "for"],
            "properties": {
                "name": {
                    "description": "The name under which the party attends",
                    "type": "string", "pattern": PARTY_NAME,
                },
                "for": {
                    "description": "Whom it decides about",
                    "type": "object",
                    "additionalProperties": false,
                    "properties": {
                        "driver": {
                            "description": "Claims for which, or for whose class, this driver is configured, or whose class selects it as in device.driver == \"NAME\"",
                            "type": "string", "minLength": 1,
                        },
                        "deviceClass": {"description": "Claims of this DeviceClass", "type": "string", "minLength": 1},
                        "podSelector": pod_selector(),
                    },
                    "oneOf": [{"required": ["driver"]}, {"required": ["deviceClass"]}, {"required": ["podSelector"]}],
                },
                "nodeSelector": {
                    "description": "Labels of the nodes for which it decides; the others do not suit. All nodes where the field is left out",
                    "type": "object", "additionalProperties": {"type": "string"},
                },
                "scope": {
                    "description": "Who else may use its answers: pod (the default), nobody; template, pods that differ in names alone; claims, pods with the same claims of it",
                    "enum": ["pod", "template", "claims"],
                },
                "onSilence": {
                    "description": "What it means that it has not answered: a negotiation waits (Wait, the default), its nodes do not suit (Reject), or it has no say (Ignore). A node of which it has said nothing fits, unless this is Reject",
                    "enum": ["Wait", "Reject", "Ignore"],
                },
            },
        },
    })
}

fn pod_selector() -> Value {
    json!({
        "description": "Pods of any namespace that this label selector matches",
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "matchLabels": {"type": "object", "additionalProperties": {"type": "string"}},
            "matchExpressions": {
                "type": "array",
                "items": {
                    "type": "object",
                    "additionalProperties": false,
                    "required": ["key", "operator"],
                    "properties": {
                        "key": {"type": "string", "minLength": 1},
                        "operator": {"enum": ["In", "NotIn", "Exists", "DoesNotExist"]},
                        "values": {"type": "array", "items": {"type": "string"}},
                    },
                    "oneOf": [
                        {
                            "required": ["values"],
                            "properties": {"operator": {"enum": ["In", "NotIn"]}, "values": {"minItems": 1}},
                        },
                        {
                            "properties": {
                                "operator": {"enum": ["Exists", "DoesNotExist"]},
                                "values": {"maxItems": 0},
                            },
                        },
                    ],
                },
            },
        },
    })
}

fn modules() -> Value {
    json!({
        "description": "What holds for all modules that are pulled from registries",
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "keys": {
                "description": "Public keys: a module is taken from a registry only if one of them has signed it. Where the field is left out, its digest is enough",
                "type": "array", "minItems": 1, "maxItems": KEYS_MAX,
                "items": {
                    "type": "object",
                    "additionalProperties": false,
                    "properties": {
                        "path": {
                            "description": "A file with a public key in PEM, ECDSA on the curve P-256; a relative path begins at the policy's folder",
                            "type": "string", "minLength": 1,
                        },
                        "pem": {
                            "description": "A public key in PEM, ECDSA on the curve P-256",
                            "type": "string", "pattern": "-----BEGIN PUBLIC KEY-----",
                        },
                    },
                    "oneOf": [
                        {"required": ["path"], "not": {"required": ["pem"]}},
                        {"required": ["pem"], "not": {"required": ["path"]}},
                    ],
                },
            },
        },
    })
}

fn mode() -> Value {
    json!({
        "description": "Enforce (the default), or Shadow: its verdicts do not count, what they would change is counted",
        "enum": ["Enforce", "Shadow"],
    })
}

fn module() -> Value {
    json!({
        "description": "Where the module of your own is; a built-in has none",
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "path": {
                "description": "A component file; a relative path begins at the policy's folder",
                "type": "string", "minLength": 1,
            },
            "oci": {
                "description": "The reference of an OCI artifact, REGISTRY/REPOSITORY:TAG, which is pulled, or found in the folder `layout`",
                "type": "string", "minLength": 1, "pattern": "^[^@]*$",
            },
            "layout": {
                "description": "A folder with an OCI image layout, where nothing is to be pulled; a relative path begins at the policy's folder",
                "type": "string", "minLength": 1,
            },
            "digest": {
                "description": "The SHA-256 of the component; for an OCI artifact that of its manifest will do",
                "type": "string", "pattern": "^sha256:[0-9a-fA-F]{64}$",
            },
        },
        "oneOf": [
            {"required": ["path"], "not": {"anyOf": [{"required": ["oci"]}, {"required": ["layout"]}]}},
            {"required": ["oci", "digest"], "not": {"required": ["path"]}},
        ],
    })
}

fn limits() -> Value {
    let quantity = |description: &str| {
        json!({
            "description": description,
            "oneOf": [{"type": "string", "pattern": QUANTITY}, {"type": "number"}],
        })
    };
    json!({
        "description": "What one call may use",
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "memory": quantity("Linear memory in bytes, from 64Ki to 256Mi; 16Mi where the field is left out"),
            "timePerCall": {
                "description": "Processor time, at most 10s; 5ms per 10,000 nodes, at least 10ms, where the field is left out",
                "type": "string", "pattern": "^[0-9]+(us|ms|s)$",
            },
            "output": quantity(
                "Bytes that it may hand over besides a code per node, from 1Ki to 1Mi; 1Mi where the field is left out"
            ),
            "logLines": {
                "description": "Lines that it may write to the log in a second; 10 where the field is left out",
                "type": "integer", "minimum": 0, "maximum": GUEST_LOG_LINES_MAX,
            },
        },
    })
}

#[cfg(test)]
mod tests;
