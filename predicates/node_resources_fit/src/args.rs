//! The arguments of NodeResourcesFit: kube-scheduler's `NodeResourcesFitArgs`.

use nodesift_sdk::args::{check_kind, null_as_default};
use nodesift_sdk::syntax;
use serde::Deserialize;
use serde::de::IgnoredAny;

/// The domain of resources that belong to Kubernetes itself. They are not extended resources.
const NATIVE: &str = "kubernetes.io/";

/// The prefix of resource names in quotas. A name with this prefix is not an extended resource.
const QUOTA_PREFIX: &str = "requests.";

/// `NodeResourcesFitArgs`. Only the ignored resources affect filtering.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Args {
    api_version: Option<String>,
    kind: Option<String>,
    /// Names of extended resources that are not checked.
    #[serde(deserialize_with = "null_as_default")]
    ignored_resources: Vec<String>,
    /// Groups of extended resources that are not checked: the part of the name before the slash.
    #[serde(deserialize_with = "null_as_default")]
    ignored_resource_groups: Vec<String>,
    /// Only affects scoring, so it is ignored.
    #[serde(rename = "scoringStrategy")]
    _scoring_strategy: Option<IgnoredAny>,
    pub(crate) switches: Switches,
}

/// Switches of the Kubernetes version, by default those of 1.36.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Switches {
    /// Whether devices of a DeviceClass serve the extended resource that it names, so that nodes need not list it.
    #[serde(rename = "DRAExtendedResource")]
    pub(crate) extended_resources: bool,
}

impl Default for Switches {
    fn default() -> Self {
        Self { extended_resources: true }
    }
}

impl Args {
    /// Validates the arguments as kube-scheduler does (`ValidateNodeResourcesFitArgs`).
    ///
    /// # Errors
    ///
    /// The first invalid argument, with its path.
    pub(crate) fn check(&self) -> Result<(), String> {
        check_kind(self.api_version.as_deref(), self.kind.as_deref(), "NodeResourcesFitArgs")?;
        for (index, resource) in self.ignored_resources.iter().enumerate() {
            if !syntax::is_label_key(resource) {
                return Err(format!("ignoredResources[{index}]: `{resource}` is not a resource name"));
            }
        }
        for (index, group) in self.ignored_resource_groups.iter().enumerate() {
            if group.contains('/') || !syntax::is_label_key(group) {
                return Err(format!("ignoredResourceGroups[{index}]: `{group}` is not a resource group"));
            }
        }
        Ok(())
    }

    /// Whether a resource is not checked.
    pub(crate) fn ignores(&self, resource: &str) -> bool {
        let Some((group, _)) = resource.split_once('/') else { return false };
        is_extended(resource)
            && (self.ignored_resources.iter().any(|ignored| ignored == resource)
                || self.ignored_resource_groups.iter().any(|ignored| ignored == group))
    }
}

/// Whether a resource is an extended one: `IsExtendedResourceName` in pkg/apis/core/v1/helper.
fn is_extended(resource: &str) -> bool {
    resource.contains('/')
        && !resource.contains(NATIVE)
        && !resource.starts_with(QUOTA_PREFIX)
        && syntax::is_label_key(&format!("{QUOTA_PREFIX}{resource}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use nodesift_sdk::args::parse;

    use super::*;

    #[test]
    fn arguments_in_the_form_of_kube_scheduler_are_accepted() {
        let args: Args = parse(
            r#"{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"NodeResourcesFitArgs",
                "ignoredResources":["a.com/x"],"ignoredResourceGroups":["b.com"],
                "scoringStrategy":{"type":"LeastAllocated","resources":[{"name":"cpu","weight":1}]}}"#,
        )
        .unwrap();
        args.check().unwrap();
        assert!(args.ignores("a.com/x"));
        assert!(args.ignores("b.com/anything"));
        assert!(!args.ignores("a.com/y"));
    }

    #[test]
    fn null_lists_are_empty() {
        let args: Args = parse(r#"{"ignoredResources":null,"ignoredResourceGroups":null}"#).unwrap();
        assert!(!args.ignores("a.com/x"));
    }

    #[test]
    fn only_extended_resources_can_be_ignored() {
        let args: Args = parse(
            r#"{"ignoredResources":["cpu","hugepages-2Mi","kubernetes.io/batch","requests.a.com/x"],
                "ignoredResourceGroups":["kubernetes.io","cpu"]}"#,
        )
        .unwrap();
        for resource in ["cpu", "hugepages-2Mi", "kubernetes.io/batch", "requests.a.com/x"] {
            assert!(!args.ignores(resource), "{resource}");
        }
    }

    #[test]
    fn invalid_arguments_are_refused_with_their_path() {
        let refused = |text| parse::<Args>(text).and_then(|args| args.check()).unwrap_err();
        assert!(refused(r#"{"ignoredResource":["a.com/x"]}"#).starts_with("ignoredResource: unknown field"));
        assert!(refused(r#"{"ignoredResources":["a.com/x","a b"]}"#).starts_with("ignoredResources[1]: "));
        assert!(refused(r#"{"ignoredResourceGroups":["a.com/x"]}"#).starts_with("ignoredResourceGroups[0]: "));
        assert!(refused(r#"{"kind":"NodeAffinityArgs"}"#).starts_with("kind: "));
        assert!(refused(r#"{"switches":{"A":true}}"#).starts_with("switches.A: unknown field"));
    }
}
