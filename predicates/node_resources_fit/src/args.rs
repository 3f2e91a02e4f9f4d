//! The arguments of NodeResourcesFit, as in kube-scheduler's `NodeResourcesFitArgs`.

use nodesift_sdk::args::{check_kind, null_as_default};
use nodesift_sdk::syntax;
use serde::Deserialize;
use serde::de::IgnoredAny;

/// What resources belong to Kubernetes itself: these are never ignored.
const NATIVE: &str = "kubernetes.io/";

/// What quotas put before a resource's name; a resource so named is none.
const QUOTA_PREFIX: &str = "requests.";

/// `NodeResourcesFitArgs`, what concerns filtering.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Args {
    api_version: Option<String>,
    kind: Option<String>,
    /// Extended resources that are not checked.
    #[serde(deserialize_with = "null_as_default")]
    ignored_resources: Vec<String>,
    /// Prefixes, without the slash, of extended resources that are not checked.
    #[serde(deserialize_with = "null_as_default")]
    ignored_resource_groups: Vec<String>,
    /// How nodes are scored; of no concern here.
    #[serde(rename = "scoringStrategy")]
    _scoring_strategy: Option<IgnoredAny>,
}

impl Args {
    /// Checks what kube-scheduler checks (`ValidateNodeResourcesFitArgs`).
    ///
    /// # Errors
    ///
    /// The first wrong argument, with its path.
    pub(crate) fn check(&self) -> Result<(), String> {
        check_kind(self.api_version.as_deref(), self.kind.as_deref(), "NodeResourcesFitArgs")?;
        for (index, resource) in self.ignored_resources.iter().enumerate() {
            if !syntax::is_label_key(resource) {
                return Err(format!("ignoredResources[{index}]: `{resource}` is no resource name"));
            }
        }
        for (index, group) in self.ignored_resource_groups.iter().enumerate() {
            if group.contains('/') || !syntax::is_label_key(group) {
                return Err(format!("ignoredResourceGroups[{index}]: `{group}` is no resource group"));
            }
        }
        Ok(())
    }

    /// Whether a resource is not to be checked.
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
    fn arguments_as_kube_scheduler_writes_them_are_read() {
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
    fn wrong_arguments_are_refused_with_their_path() {
        let refused = |text| parse::<Args>(text).and_then(|args| args.check()).unwrap_err();
        assert!(refused(r#"{"ignoredResource":["a.com/x"]}"#).starts_with("ignoredResource: unknown field"));
        assert!(refused(r#"{"ignoredResources":["a.com/x","a b"]}"#).starts_with("ignoredResources[1]: "));
        assert!(refused(r#"{"ignoredResourceGroups":["a.com/x"]}"#).starts_with("ignoredResourceGroups[0]: "));
        assert!(refused(r#"{"kind":"NodeAffinityArgs"}"#).starts_with("kind: "));
    }
}
