//! A manifest as people have it → the pod that it asks for: a Pod, or the pod template of a workload. Start at [`pod`].
//!
//! What an API server and the controllers would add before a scheduler sees the pod is added here too, as far as the manifest alone says it.

use nodesift_object::{Kind, Pod, defaults};
use serde_json::{Map, Value, json};
use serde_saphyr::UserMessageFormatter;

use super::request::from_text;
use crate::{Error, limits};

/// The field of a request, in errors.
const FIELD: &str = "manifest";

/// Kinds whose pod template is in `spec.template`.
const WORKLOADS: [&str; 6] = ["Deployment", "ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet", "Job"];

/// Taints that the DaemonSet controller has its pods tolerate, with their effects. Source: `AddOrUpdateDaemonPodTolerations` in
/// pkg/controller/daemon/util.
const DAEMON_TAINTS: [(&str, &str); 6] = [
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
];

/// One more, of pods in the network of their node.
const DAEMON_NETWORK_TAINT: (&str, &str) = ("node.kubernetes.io/network-unavailable", "NoSchedule");

/// The name of a pod whose manifest has none.
const NAMELESS: &str = "pod";

/// Reads the pod of a manifest in YAML or JSON.
///
/// # Errors
///
/// [`Error::InvalidField`] with what is wrong and where: no YAML, several documents, a kind without a pod, or a field of the pod.
pub(super) fn pod(text: &str) -> Result<Pod, Error> {
    let options = serde_saphyr::options! {
        strict_booleans: true,
        with_snippet: false,
        budget: serde_saphyr::budget! {
            max_nodes: limits::MANIFEST_NODES,
            max_total_scalar_bytes: limits::MANIFEST_BYTES,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: limits::MANIFEST_REPEATED },
    };
    let manifest: Value = serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        // The default words advise a program, not whoever has written the manifest.
        let reason = error.render_with_formatter(&UserMessageFormatter);
        Error::invalid(FIELD, format!("not one YAML document: {reason}"))
    })?;
    let pod = template(manifest)?.to_string();
    let pod = defaults::fill(Kind::Pod, &pod).map_or(pod, |(filled, _)| filled);
    from_text(FIELD, &pod)
}

/// The pod of a manifest, or that of its template, as JSON.
fn template(mut manifest: Value) -> Result<Value, Error> {
    let kind = manifest.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
    let metadata = manifest.get("metadata").cloned().unwrap_or_default();
    let path = match kind.as_str() {
        "Pod" => "",
        "CronJob" => "/spec/jobTemplate/spec/template",
        kind if WORKLOADS.contains(&kind) => "/spec/template",
        _ => {
            let kind: String = kind.chars().take(64).collect();
            let reason = format!("{kind:?} is none of Pod, CronJob, {}: send one of these", WORKLOADS.join(", "));
            return Err(Error::invalid(format!("{FIELD}.kind"), reason));
        }
    };
    let mut pod = manifest.pointer_mut(path).map(Value::take).unwrap_or_default();
    let Some(fields) = pod.as_object_mut() else {
        let field = format!("{FIELD}{}", path.replace('/', "."));
        return Err(Error::invalid(field, "is no pod template: it needs metadata and spec"));
    };
    name(fields, &metadata);
    if kind == "DaemonSet" {
        tolerate(fields);
    }
    Ok(pod)
}

/// Gives a pod the name and the namespace of its workload, where it has none.
fn name(pod: &mut Map<String, Value>, workload: &Value) {
    let metadata = pod.entry("metadata").or_insert(Value::Null);
    if metadata.is_null() {
        *metadata = json!({});
    }
    let Some(metadata) = metadata.as_object_mut() else { return };
    let text = |value: Option<&Value>| value.and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned);
    for (field, instead) in [("name", "generateName"), ("namespace", "namespace")] {
        if text(metadata.get(field)).is_none() {
            let of_workload = || text(workload.get(field)).or_else(|| text(workload.get(instead)));
            let known = text(metadata.get(instead)).or_else(of_workload);
            let known = known.or_else(|| (field == "name").then(|| NAMELESS.to_owned()));
            if let Some(known) = known {
                metadata.insert(field.to_owned(), Value::String(known));
            }
        }
    }
}

/// Adds the tolerations of a DaemonSet's pods.
fn tolerate(pod: &mut Map<String, Value>) {
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else { return };
    let in_host_network = spec.get("hostNetwork") == Some(&Value::Bool(true));
    let tolerations = spec.entry("tolerations").or_insert(Value::Null);
    if tolerations.is_null() {
        *tolerations = json!([]);
    }
    let Some(tolerations) = tolerations.as_array_mut() else { return };
    let taints = DAEMON_TAINTS.into_iter().chain(in_host_network.then_some(DAEMON_NETWORK_TAINT));
    tolerations.extend(taints.map(|(key, effect)| json!({"key": key, "operator": "Exists", "effect": effect})));
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const SPEC: &str = r#"{"containers":[{"name":"c","resources":{"limits":{"cpu":"2"}}}]}"#;

    #[test]
    fn every_kind_with_a_pod_template_gives_its_pod() {
        for kind in WORKLOADS {
            let text = format!(
                "kind: {kind}\nmetadata: {{name: web, namespace: shop}}\nspec: {{template: {{metadata: {{labels: {{a: b}}}}, spec: {SPEC}}}}}"
            );
            let pod = pod(&text).unwrap();
            assert_eq!(pod.key(), "shop/web", "{kind}");
            let daemon = if kind == "DaemonSet" { DAEMON_TAINTS.len() } else { 0 };
            assert_eq!(pod.spec.tolerations.len(), daemon, "{kind}");
        }
        let job = format!(
            "kind: CronJob\nmetadata: {{name: nightly}}\nspec: {{jobTemplate: {{spec: {{template: {{spec: {SPEC}}}}}}}}}"
        );
        assert_eq!(pod(&job).unwrap().key(), "default/nightly");
    }

    #[test]
    fn a_pod_keeps_its_own_name_and_has_what_an_api_server_fills_in() {
        let read = pod(&format!("kind: Pod\nmetadata: {{name: p, namespace: n}}\nspec: {SPEC}")).unwrap();
        assert_eq!(read.key(), "n/p");
        assert!(!read.spec.containers[0].resources.requests.is_empty(), "requests from limits");
        let generated = pod(&format!("kind: Pod\nmetadata: {{generateName: p-}}\nspec: {SPEC}")).unwrap();
        assert_eq!(generated.key(), "default/p-");
        assert_eq!(pod(&format!(r#"{{"kind":"Pod","spec":{SPEC}}}"#)).unwrap().key(), "default/pod");
    }

    #[test]
    fn aliases_repeat_little() {
        let repeated = |block: &str, aliases: usize| {
            let list = vec!["*a"; aliases].join(", ");
            pod(&format!("kind: Pod\nx: &a [{block}]\ny: [{list}]\nspec: {SPEC}"))
        };
        // Fewer than a hundred aliases: those of one anchor are not limited by their number.
        let (long, many) = ("x".repeat(10_000), vec!["1"; 200].join(", "));
        for block in [&long, &many] {
            assert!(repeated(block, 9).is_ok());
            assert!(repeated(block, 90).is_err(), "{} bytes", block.len());
        }
    }

    #[test]
    fn words_that_are_booleans_in_old_yaml_are_texts() {
        let read = pod(&format!("kind: Pod\nmetadata: {{name: on, namespace: no}}\nspec: {SPEC}")).unwrap();
        assert_eq!(read.key(), "no/on");
    }

    #[test]
    fn what_is_no_pod_is_refused_with_its_place() {
        for (text, field) in [
            ("kind: Service\nmetadata: {name: a}", "manifest.kind: "),
            ("a: b", "manifest.kind: "),
            ("- a", "manifest.kind: "),
            ("kind: Deployment\nspec: {template: 7}", "manifest.spec.template: "),
            ("kind: CronJob\nspec: {}", "manifest.spec.jobTemplate.spec.template: "),
            ("kind: Pod\nspec: {priority: high}", "manifest.spec.priority: "),
            ("kind: [", "manifest: "),
            ("kind: Pod\n---\nkind: Pod", "manifest: "),
            ("kind: Pod\nkind: Pod", "manifest: "),
        ] {
            let error = pod(text).unwrap_err().text();
            assert!(error.starts_with(field), "{text}: {error}");
            assert!(!error.contains("Options") && !error.contains("from_str"), "{text}: {error}");
        }
    }
}
