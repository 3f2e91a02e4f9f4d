//! The policy as an object of a cluster: a `PredicatePolicy` custom resource, cluster-scoped, chosen by its name.
//!
//! | file | holds |
//! |---|---|
//! | `crd` | its CustomResourceDefinition, made of the JSON schema of documents |
//! | `status` | what every replica writes into its status |
//!
//! Its document is a policy document like any other, with problems named by their fields alone: an object has no lines. Nothing
//! here does I/O; [`reload::PolicyObject`](crate::reload::PolicyObject) follows one. Start at [`document`].

mod crd;
mod status;

use serde::Deserialize;
use serde_json::{Value, json};

pub use crd::crd;
pub use status::{Report, ended, released, status, unseen};

use crate::spec::{API_VERSION, KIND};

/// The policy document in an object as an API server writes it: without its status and the metadata that the server keeps.
pub fn document(object: &str) -> String {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Object {
        #[serde(default)]
        api_version: Value,
        #[serde(default)]
        kind: Value,
        #[serde(default)]
        metadata: Metadata,
        #[serde(default)]
        spec: Value,
    }
    #[derive(Default, Deserialize)]
    struct Metadata {
        #[serde(default)]
        name: Value,
    }
    // The items of a list have neither apiVersion nor kind.
    let written = |value: Value, known: &str| if value.is_null() { json!(known) } else { value };
    match serde_json::from_str(object) {
        Ok(Object { api_version, kind, metadata, spec }) => {
            let mut document = json!({
                "apiVersion": written(api_version, API_VERSION),
                "kind": written(kind, KIND),
                "metadata": {"name": metadata.name},
            });
            if !spec.is_null() {
                document["spec"] = spec;
            }
            format!("{document:#}\n")
        }
        // Whoever reads it says what is wrong.
        Err(_) => object.to_owned(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::spec::{GROUP, Policy, PolicyError, VERSION};
    use crate::{Folder, Reach};
    use nodesift_registry::Hosts;

    fn read(object: &Value) -> Result<Policy, PolicyError> {
        let builtins: Vec<&str> = nodesift_bundle::BUILTINS.iter().map(|builtin| builtin.name).collect();
        Policy::read_object(&document(&object.to_string()), "PredicatePolicy default", &Reach::default(), &builtins)
    }

    /// Returns an object as an API server writes it, with this spec.
    fn object(spec: &Value) -> Value {
        json!({
            "apiVersion": API_VERSION, "kind": KIND,
            "metadata": {
                "name": "default", "uid": "u", "generation": 3, "resourceVersion": "9",
                "creationTimestamp": "2026-01-02T03:04:05Z", "labels": {"a": "b"},
                "managedFields": [{"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:spec": {}}}],
            },
            "spec": spec,
            "status": {"observedGeneration": 2, "replicas": [{"name": "a"}]},
        })
    }

    #[test]
    fn the_api_version_is_that_of_group_and_version() {
        assert_eq!(API_VERSION, format!("{GROUP}/{VERSION}"));
    }

    #[test]
    fn an_object_is_a_document_without_status_and_the_metadata_of_the_server() {
        let spec = json!({"schedulerNames": ["a"], "predicates": [{"name": "NodeName"}]});
        for mut object in [object(&spec), object(&spec)] {
            let fields = object.as_object_mut().unwrap();
            let text = document(&Value::Object(fields.clone()).to_string());
            let policy = read(&object).unwrap();
            assert_eq!((policy.name.as_str(), policy.scheduler_names.as_slice()), ("default", &["a".to_owned()][..]));
            assert!(!text.contains("managedFields") && !text.contains("status"), "{text}");
        }
        // As an item of a list.
        let mut item = object(&spec);
        item.as_object_mut().unwrap().retain(|name, _| name != "kind" && name != "apiVersion");
        assert_eq!(read(&item).unwrap(), read(&object(&spec)).unwrap());
    }

    #[test]
    fn a_change_of_the_status_alone_changes_no_document() {
        let spec = json!({"schedulerNames": ["a"], "predicates": [{"name": "NodeName"}]});
        let mut changed = object(&spec);
        changed["status"] = json!({"observedGeneration": 3});
        changed["metadata"]["resourceVersion"] = json!("10");
        assert_eq!(document(&changed.to_string()), document(&object(&spec).to_string()));
    }

    #[test]
    fn a_policy_of_the_cluster_names_files_below_the_folder_and_listed_registries_alone() {
        let folder = tempfile::tempdir().unwrap();
        let below = |name: &str| folder.path().join(name).display().to_string();
        let digest = format!("sha256:{}", "0".repeat(64));
        let refusals = |reach: &Reach, module: &Value, key: &str| {
            let spec = json!({
                "schedulerNames": ["a"],
                "modules": {"keys": [{"path": key}]},
                "predicates": [{"name": "Own", "module": module}],
            });
            let read =
                Policy::read_object(&document(&object(&spec).to_string()), "PredicatePolicy default", reach, &[]);
            read.map(|_| String::new()).unwrap_or_else(|error| error.to_string())
        };
        let hosts = Hosts::new(&["registry.example.com".parse().unwrap()]);
        let limited = Reach::for_object(Some(Folder::open(folder.path()).unwrap()), Some(hosts));
        let oci = |host: &str| json!({"oci": format!("{host}/own:1"), "digest": digest});
        let layout = |path: &str| json!({"oci": "a/own:1", "digest": digest, "layout": path});
        for module in [json!({"path": below("own.wasm")}), layout(&below("layout")), oci("registry.example.com")] {
            assert_eq!(refusals(&limited, &module, &below("team.pub")), "", "{module}");
        }
        let outside = |field: &str, path: &str| {
            format!(
                "PredicatePolicy default: spec.{field}: {path:?} is refused: not below the folder of --module-folder"
            )
        };
        for path in ["/etc/passwd", "/none", &below("../x"), "/proc/self/environ"] {
            let expected = outside("predicates[0].module.path", path);
            assert_eq!(refusals(&limited, &json!({"path": path}), &below("k")), expected);
            let expected = outside("predicates[0].module.layout", path);
            assert_eq!(refusals(&limited, &layout(path), &below("k")), expected);
            let expected = outside("modules.keys[0].path", path);
            assert_eq!(refusals(&limited, &oci("registry.example.com"), path), expected);
        }
        for host in
            ["other.example.com", "registry.example.com:5000", "10.0.0.1:22", "127.0.0.1", "registry.example.com."]
        {
            let refused = refusals(&limited, &oci(host), &below("k"));
            assert!(refused.contains("is not listed") || refused.contains("no reference"), "{host}: {refused}");
        }
        let nothing = Reach::for_object(None, None);
        let refused = refusals(&nothing, &json!({"path": below("own.wasm")}), &below("k"));
        assert_eq!(refused.matches("there is none").count(), 2, "{refused}");
        // Registries may be any where none are listed.
        let named = refusals(&nothing, &oci("other.example.com"), &below("k"));
        assert!(!named.contains("module.oci"), "{named}");
    }

    #[test]
    fn problems_of_an_object_name_fields_and_no_lines() {
        let own = |path: &str| json!({"name": "Own", "module": {"path": path}});
        let spec = json!({
            "schedulerNames": ["a", "a"],
            "predicates": [{"name": "NodeNmae"}, {"name": "NodeName", "limits": {"memory": "1"}}, own("own.wasm")],
        });
        let Err(PolicyError::Invalid { problems, .. }) = read(&object(&spec)) else { panic!("accepted") };
        assert!(problems.iter().all(|problem| (problem.line, problem.column) == (0, 0)), "{problems:?}");
        let mut fields: Vec<&str> = problems.iter().map(|problem| problem.field.as_str()).collect();
        fields.sort_unstable();
        assert_eq!(
            fields,
            [
                "spec.predicates[0].name",
                "spec.predicates[1].limits.memory",
                "spec.predicates[2].module.path",
                "spec.schedulerNames[1]",
            ]
        );
        let text = read(&object(&spec)).unwrap_err().to_string();
        assert!(text.contains("PredicatePolicy default: spec.schedulerNames[1]: \"a\" is there twice\n"), "{text}");
        assert!(text.contains("an object has no folder"), "{text}");
        let absolute = json!({"schedulerNames": ["a"], "predicates": [own("/etc/own.wasm")]});
        assert!(read(&object(&absolute)).is_ok());
        // What is no object of any kind is refused, and nothing panics.
        for text in ["", "7", "{", "{\"metadata\":7}", "{\"spec\":{\"predicates\":{}}}"] {
            assert!(Policy::read_object(&document(text), "x", &Reach::default(), &[]).is_err(), "{text}");
        }
    }
}
