//! {{type}}: a pod takes as many of a resource as an annotation says, beside what the API says.

use nodesift_sdk::accounting::{Account, Accounting, Amounts, Needs, Object, Ruling};
use serde::Deserialize;

/// The arguments that a policy gives.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// The key of the annotation, on pods; the policy lists it as well.
    pub annotation: String,
    /// The resource, as nodes list it in `status.allocatable`.
    pub resource: String,
}

/// Adds the count in a pod's annotation to the pod's standard amounts.
#[derive(Debug)]
pub struct {{type}}(Args);

impl Accounting for {{type}} {
    type Args = Args;

    fn new(args: Args) -> Result<Self, String> {
        if args.annotation.is_empty() || args.resource.is_empty() {
            return Err("annotation, resource: must not be empty".into());
        }
        Ok(Self(args))
    }

    fn needs(&self) -> Needs {
        Needs::annotations([&self.0.annotation])
    }

    fn pod(&self, pod: &Object) -> Ruling {
        let Args { annotation, resource } = &self.0;
        let Some(text) = pod.annotation(annotation) else { return Ruling::Standard };
        let Ok(count) = text.parse::<u32>() else { return Ruling::Broken(format!("{annotation}: is no number")) };
        // An account takes the place of what the API says, so it begins with that.
        let with = |mut amounts: Amounts| {
            amounts.insert(resource.clone(), count.into());
            amounts
        };
        Ruling::Account(Account { requests: with(pod.standard()), usage: with(pod.usage()), ..Account::default() })
    }
}

nodesift_sdk::export_accounting!({{type}});

#[cfg(test)]
mod tests {
    use nodesift_sdk::accounting::{configure, ruling};

    use super::*;

    const ARGS: &str = r#"{"annotation": "example.com/licences", "resource": "example.com/licence"}"#;

    #[test]
    fn a_pod_takes_what_its_annotation_says() {
        let module: {{type}} = configure(ARGS).unwrap();
        let pod = |licences: &str| Object::default().with_annotation("example.com/licences", licences);
        let Ruling::Account(account) = ruling(&module, &pod("2").with_request("cpu", 500)) else { panic!() };
        assert_eq!(account.usage["example.com/licence"], 2);
        assert_eq!(account.usage["cpu"], 500);
        assert!(matches!(ruling(&module, &pod("two")), Ruling::Broken(_)));
        assert_eq!(ruling(&module, &Object::default()), Ruling::Standard);
    }

    #[test]
    fn a_mistyped_argument_is_refused() {
        let error = configure::<{{type}}>(r#"{"anotation": "example.com/licences"}"#).unwrap_err();
        assert!(error.starts_with("anotation: unknown field"), "{error}");
    }
}
