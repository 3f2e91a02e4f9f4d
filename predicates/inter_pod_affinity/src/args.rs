//! The arguments of InterPodAffinity: kube-scheduler's `InterPodAffinityArgs`. They only affect the score, which is a component of its
//! own and reads them. They are validated here, so that a kube-scheduler configuration can be copied into a policy, and otherwise
//! ignored. [`Switches`] are of the Kubernetes version.

use nodesift_sdk::args::check_kind;
use serde::Deserialize;

/// The greatest weight that kube-scheduler accepts.
const MAX_WEIGHT: i32 = 100;

/// `InterPodAffinityArgs` of kube-scheduler's configuration.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Args {
    api_version: Option<String>,
    kind: Option<String>,
    /// The weight of required affinity of other pods in scoring.
    hard_pod_affinity_weight: Option<i32>,
    /// Whether scoring ignores preferred terms of other pods.
    #[serde(rename = "ignorePreferredTermsOfExistingPods")]
    _ignore_preferred_terms_of_existing_pods: Option<bool>,
    pub(crate) switches: Switches,
}

/// Switches of the Kubernetes version, by default those of 1.36.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(default, rename_all = "PascalCase", deny_unknown_fields)]
pub(crate) struct Switches {
    /// Whether the namespace selector of a term of the pod is compared with no labels at all once its namespaces are listed, so that
    /// one with nothing but `NotIn` and `DoesNotExist` selects every namespace (kubernetes#141526).
    pub(crate) namespace_selector_merge: bool,
}

impl Default for Switches {
    fn default() -> Self {
        Self { namespace_selector_merge: true }
    }
}

impl Args {
    /// Validates the arguments as kube-scheduler does (`ValidateInterPodAffinityArgs`).
    ///
    /// # Errors
    ///
    /// The first invalid argument, with its path.
    pub(crate) fn check(&self) -> Result<(), String> {
        check_kind(self.api_version.as_deref(), self.kind.as_deref(), "InterPodAffinityArgs")?;
        match self.hard_pod_affinity_weight {
            Some(weight) if !(0..=MAX_WEIGHT).contains(&weight) => {
                Err(format!("hardPodAffinityWeight: `{weight}` is not in the range from 0 to {MAX_WEIGHT}"))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use nodesift_sdk::args::parse;

    use super::*;

    fn read(text: &str) -> Result<(), String> {
        parse::<Args>(text).and_then(|args| args.check())
    }

    #[test]
    fn arguments_in_the_form_of_kube_scheduler_are_accepted() {
        let args = r#"{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"InterPodAffinityArgs",
                       "hardPodAffinityWeight":100,"ignorePreferredTermsOfExistingPods":true}"#;
        assert_eq!(read(args), Ok(()));
        assert_eq!(read(r#"{"hardPodAffinityWeight":null}"#), Ok(()));
        assert_eq!(read("{}"), Ok(()));
    }

    #[test]
    fn invalid_arguments_are_refused_with_their_path() {
        for (args, path) in [
            (r#"{"hardPodAffinityWeight":101}"#, "hardPodAffinityWeight: "),
            (r#"{"hardPodAffinityWeight":-1}"#, "hardPodAffinityWeight: "),
            (r#"{"hardPodAffinityWeight":"1"}"#, "hardPodAffinityWeight: "),
            (r#"{"ignorePreferredTermsOfExistingPods":1}"#, "ignorePreferredTermsOfExistingPods: "),
            (r#"{"weight":1}"#, "weight: unknown field"),
            (r#"{"kind":"NodeAffinityArgs"}"#, "kind: "),
            (r#"{"switches":{"A":true}}"#, "switches.A: unknown field"),
        ] {
            let error = read(args).unwrap_err();
            assert!(error.starts_with(path), "{args}: {error}");
        }
    }
}
