//! The pods that a question is about: named, selected by labels, or in a manifest. Start at [`named_pods`].

use std::str::FromStr;

use anyhow::anyhow;
use serde_json::{Value, json};
use serde_saphyr::UserMessageFormatter;

use crate::args::PodKey;
use crate::exit::Failure;

/// Kinds that may stand before the name of a pod, as kubectl takes them.
const KINDS: [&str; 3] = ["pod", "pods", "po"];

/// Pods as they are typed: `NAME`, `NAMESPACE/NAME` or `pod/NAME`.
///
/// # Errors
///
/// [`Failure::Usage`] for what is none of these.
pub(super) fn named_pods(typed: &[String], namespace: &str) -> Result<Vec<PodKey>, Failure> {
    let one = |text: &String| {
        let key = match text.split_once('/') {
            Some((kind, name)) if KINDS.contains(&kind) => format!("{namespace}/{name}"),
            Some(_) => text.clone(),
            None => format!("{namespace}/{text}"),
        };
        key.parse()
            .map_err(|_| Failure::Usage(format!("{text:?} is no pod: expected NAME, NAMESPACE/NAME or pod/NAME")))
    };
    typed.iter().map(one).collect()
}

/// The pod of a manifest, or the template of a workload's pods.
pub(super) fn pod_of(document: &mut Value) -> Option<&mut Value> {
    let path: &[&str] = match document.get("kind").and_then(Value::as_str)? {
        "Pod" => &[],
        "CronJob" => &["spec", "jobTemplate", "spec", "template"],
        _ => &["spec", "template"],
    };
    path.iter().try_fold(document, |value, field| value.get_mut(*field)).filter(|pod| pod.is_object())
}

/// Reads a manifest, which is one document in YAML or JSON; empty ones beside it do not count.
///
/// # Errors
///
/// [`Failure::Data`] for what is none, and for several.
pub(super) fn document(text: &str) -> Result<Value, Failure> {
    let options = serde_saphyr::options! { with_snippet: false, strict_booleans: true };
    let documents: Vec<Value> = serde_saphyr::from_multiple_with_options(text, options).map_err(|error| {
        Failure::Data(anyhow!("the manifest is not YAML: {}", error.render_with_formatter(&UserMessageFormatter)))
    })?;
    let mut documents = documents.into_iter();
    match (documents.next(), documents.next()) {
        (Some(document), None) => Ok(document),
        (None, _) => Err(Failure::Data(anyhow!("the manifest is empty"))),
        (Some(_), Some(_)) => Err(Failure::Data(anyhow!("several documents: give the one with the pod"))),
    }
}

/// Gives a manifest that names no namespace one, as kubectl does: what `-n` says, else the default.
///
/// # Errors
///
/// [`Failure::Usage`] if the manifest names another namespace than `-n`.
pub(super) fn place(document: &mut Value, asked: Option<&str>, default: &dyn Fn() -> String) -> Result<(), Failure> {
    let named =
        |value: &Value| value["metadata"]["namespace"].as_str().filter(|name| !name.is_empty()).map(str::to_owned);
    // That of a template wins over that of its workload.
    let of_template = pod_of(document).and_then(|pod| named(pod));
    match (of_template.or_else(|| named(document)), asked) {
        (Some(namespace), Some(asked)) if namespace != asked => Err(Failure::Usage(format!(
            "the manifest is of namespace {namespace:?}, and -n says {asked:?}: leave one out"
        ))),
        (Some(_), _) => Ok(()),
        (None, asked) => {
            let namespace = asked.map_or_else(default, str::to_owned);
            let Some(fields) = document.as_object_mut() else { return Ok(()) };
            let metadata = fields.entry("metadata").or_insert(Value::Null);
            if metadata.is_null() {
                *metadata = json!({});
            }
            // What else it may be is refused with its place when the pod is read.
            if let Some(metadata) = metadata.as_object_mut() {
                metadata.insert("namespace".to_owned(), Value::String(namespace));
            }
            Ok(())
        }
    }
}

/// A selector of labels, as kubectl's `-l` takes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Selector(Vec<Requirement>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Requirement {
    /// `KEY=VALUE` or `KEY==VALUE`: the label has this value.
    Is(String, String),
    /// `KEY!=VALUE`, which pods without the label match too.
    IsNot(String, String),
    /// `KEY`: the pod has the label.
    Has(String),
    /// `!KEY`: the pod lacks the label.
    HasNot(String),
}

impl FromStr for Selector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let requirement = |part: &str| {
            let part = part.trim();
            let pair = |sign: &str| {
                part.split_once(sign).map(|(key, value): (&str, &str)| (key.trim().to_owned(), value.trim().to_owned()))
            };
            let made = match (pair("!="), pair("==").or_else(|| pair("="))) {
                (Some((key, value)), _) => Requirement::IsNot(key, value),
                (None, Some((key, value))) => Requirement::Is(key, value),
                (None, None) => match part.strip_prefix('!') {
                    Some(key) => Requirement::HasNot(key.to_owned()),
                    None => Requirement::Has(part.to_owned()),
                },
            };
            let is_key = |key: &str| !key.is_empty() && !key.contains([' ', '(', ')', '!', '=']);
            let key = match &made {
                Requirement::Is(key, _) | Requirement::IsNot(key, _) => key,
                Requirement::Has(key) | Requirement::HasNot(key) => key,
            };
            if is_key(key) {
                return Ok(made);
            }
            Err(format!("{part:?} is no requirement: expected KEY=VALUE, KEY!=VALUE, KEY or !KEY, with commas between"))
        };
        text.split(',').map(requirement).collect::<Result<_, _>>().map(Self)
    }
}

impl Selector {
    /// Whether labels match; `value` gives that of a key.
    pub(super) fn matches<'a>(&self, value: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.0.iter().all(|requirement| match requirement {
            Requirement::Is(key, expected) => value(key) == Some(expected.as_str()),
            Requirement::IsNot(key, other) => value(key) != Some(other.as_str()),
            Requirement::Has(key) => value(key).is_some(),
            Requirement::HasNot(key) => value(key).is_none(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_is_named_as_for_kubectl() {
        let keys = |typed: &str| named_pods(&[typed.to_owned()], "shop").map(|keys| keys[0].to_string());
        assert_eq!(keys("web-0").ok().as_deref(), Some("shop/web-0"));
        assert_eq!(keys("pod/web-0").ok().as_deref(), Some("shop/web-0"));
        assert_eq!(keys("other/web-0").ok().as_deref(), Some("other/web-0"));
        for wrong in ["", "a/b/c", "/a", "pod/"] {
            assert!(keys(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_selector_has_the_four_forms_without_sets() {
        let labels =
            |key: &str| [("app", "web"), ("tier", "db")].iter().find(|(of, _)| *of == key).map(|(_, value)| *value);
        for (text, matches) in [
            ("app=web", true),
            ("app==web,tier=db", true),
            ("app!=web", false),
            ("zone!=a", true),
            ("app, !zone", true),
            ("!app", false),
            ("zone", false),
            ("app=", false),
        ] {
            assert_eq!(text.parse::<Selector>().map(|selector| selector.matches(labels)), Ok(matches), "{text}");
        }
        for wrong in ["", "=a", "app in (a)", "a=b,", "!"] {
            assert!(wrong.parse::<Selector>().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_manifest_without_a_namespace_gets_the_one_that_is_asked_for() {
        let placed = |mut document: Value, asked: Option<&str>| {
            let outcome = place(&mut document, asked, &|| "team".to_owned());
            outcome.map(|()| document["metadata"]["namespace"].as_str().map(str::to_owned))
        };
        for (document, asked, expected) in [
            (json!({"kind": "Pod"}), None, "team"),
            (json!({"kind": "Pod", "metadata": null}), Some("shop"), "shop"),
            (json!({"kind": "Pod", "metadata": {"name": "a", "namespace": ""}}), Some("shop"), "shop"),
            (json!({"kind": "Pod", "metadata": {"namespace": "shop"}}), Some("shop"), "shop"),
            (json!({"kind": "Pod", "metadata": {"namespace": "own"}}), None, "own"),
        ] {
            assert_eq!(placed(document.clone(), asked).ok().flatten().as_deref(), Some(expected), "{document}");
        }
        let workload = json!({"kind": "Job", "spec": {"template": {"metadata": {"namespace": "own"}}}});
        assert_eq!(placed(workload.clone(), None).ok(), Some(None), "the template has its own");
        for other in [workload, json!({"kind": "Pod", "metadata": {"namespace": "own"}})] {
            assert!(matches!(placed(other, Some("shop")), Err(Failure::Usage(_))));
        }
    }

    #[test]
    fn a_manifest_is_one_document() {
        assert_eq!(document("---\nkind: Pod\n---\n").ok(), Some(json!({"kind": "Pod"})));
        for (text, said) in [
            ("kind: Pod\n---\nkind: Pod\n", "several documents: give the one with the pod"),
            ("", "the manifest is empty"),
            ("kind: [", "the manifest is not YAML"),
        ] {
            let error = document(text).map_err(|error| error.to_string());
            assert!(error.as_ref().is_err_and(|error| error.starts_with(said)), "{text}: {error:?}");
        }
    }

    #[test]
    fn the_pod_of_a_workload_is_its_template() {
        let mut job: Value =
            serde_json::json!({"kind": "CronJob", "spec": {"jobTemplate": {"spec": {"template": {"a": 1}}}}});
        assert_eq!(pod_of(&mut job).cloned(), Some(serde_json::json!({"a": 1})));
        assert!(pod_of(&mut serde_json::json!({"kind": "Service", "spec": {}})).is_none());
        assert!(pod_of(&mut serde_json::json!({"kind": "Pod"})).is_some());
    }
}
