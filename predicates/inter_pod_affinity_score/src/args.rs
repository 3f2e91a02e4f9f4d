//! The arguments of the score of InterPodAffinity: kube-scheduler's `InterPodAffinityArgs`, which the filter accepts too. [`Switches`] are of
//! the Kubernetes version.

use nodesift_sdk::args::check_kind;
use serde::Deserialize;

/// The greatest weight that kube-scheduler accepts.
const MAX_WEIGHT: i32 = 100;

/// The weight of required affinity of other pods where the arguments do not say it.
const DEFAULT_WEIGHT: i32 = 1;

/// `InterPodAffinityArgs` of kube-scheduler's configuration.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Args {
    api_version: Option<String>,
    kind: Option<String>,
    /// The points of a pod on a node whose required affinity matches the pod; 0: such affinity does not count.
    hard_pod_affinity_weight: Option<i32>,
    /// Whether a pod without preferred terms is not scored.
    ignore_preferred_terms_of_existing_pods: Option<bool>,
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
    /// The weight of required affinity of other pods.
    ///
    /// # Errors
    ///
    /// The first invalid argument, with its path, as kube-scheduler validates them (`ValidateInterPodAffinityArgs`).
    pub(crate) fn required_weight(&self) -> Result<i32, String> {
        check_kind(self.api_version.as_deref(), self.kind.as_deref(), "InterPodAffinityArgs")?;
        match self.hard_pod_affinity_weight.unwrap_or(DEFAULT_WEIGHT) {
            weight if (0..=MAX_WEIGHT).contains(&weight) => Ok(weight),
            weight => Err(format!("hardPodAffinityWeight: `{weight}` is not in the range from 0 to {MAX_WEIGHT}")),
        }
    }

    /// Whether a pod without preferred terms is not scored.
    pub(crate) fn ignores_preferred_terms_of_others(&self) -> bool {
        self.ignore_preferred_terms_of_existing_pods.unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use nodesift_sdk::args::parse;

    use super::*;

    fn read(text: &str) -> Result<(i32, bool), String> {
        let args: Args = parse(text)?;
        Ok((args.required_weight()?, args.ignores_preferred_terms_of_others()))
    }

    #[test]
    fn arguments_in_the_form_of_kube_scheduler_are_accepted() {
        let args = r#"{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"InterPodAffinityArgs",
                       "hardPodAffinityWeight":37,"ignorePreferredTermsOfExistingPods":true}"#;
        assert_eq!(read(args), Ok((37, true)));
        assert_eq!(read(r#"{"hardPodAffinityWeight":0}"#), Ok((0, false)));
        for absent in ["{}", r#"{"hardPodAffinityWeight":null,"ignorePreferredTermsOfExistingPods":null}"#] {
            assert_eq!(read(absent), Ok((1, false)));
        }
    }

    #[test]
    fn invalid_arguments_are_refused_with_their_path() {
        for (args, path) in [
            (r#"{"hardPodAffinityWeight":101}"#, "hardPodAffinityWeight: "),
            (r#"{"hardPodAffinityWeight":-1}"#, "hardPodAffinityWeight: "),
            (r#"{"ignorePreferredTermsOfExistingPods":1}"#, "ignorePreferredTermsOfExistingPods: "),
            (r#"{"weight":1}"#, "weight: unknown field"),
            (r#"{"kind":"NodeAffinityArgs"}"#, "kind: "),
        ] {
            let error = read(args).unwrap_err();
            assert!(error.starts_with(path), "{args}: {error}");
        }
    }
}
