//! The arguments of NodeResourcesBalancedAllocation: kube-scheduler's `NodeResourcesBalancedAllocationArgs`.

use nodesift_resource_scores::{ResourceSpec, weights};
use nodesift_sdk::args::{check_kind, null_as_default};
use serde::Deserialize;

use crate::balance::Balance;

/// Only weight that a resource may have. Source: `ValidateNodeResourcesBalancedAllocationArgs`.
const WEIGHT: i64 = 1;

/// `NodeResourcesBalancedAllocationArgs`, and the switches of the Kubernetes version.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Args {
    api_version: Option<String>,
    kind: Option<String>,
    #[serde(deserialize_with = "null_as_default")]
    resources: Vec<ResourceSpec>,
    pub(crate) switches: Switches,
}

/// Switches of the Kubernetes version, by default those of 1.36.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Switches {
    #[serde(rename = "BalanceByChange")]
    by_change: bool,
    /// Whether devices of a DeviceClass count on nodes that do not list the extended resource that it names.
    #[serde(rename = "DRAExtendedResource")]
    pub(crate) extended_resources: bool,
}

impl Default for Switches {
    fn default() -> Self {
        Self { by_change: true, extended_resources: true }
    }
}

impl Args {
    /// The form of the score, and the names of the resources that it compares.
    ///
    /// # Errors
    ///
    /// The first invalid argument, with its path.
    pub(crate) fn read(self) -> Result<(Balance, Vec<String>), String> {
        check_kind(self.api_version.as_deref(), self.kind.as_deref(), "NodeResourcesBalancedAllocationArgs")?;
        let resources = weights(self.resources, "resources", Some(WEIGHT))?;
        let balance = if self.switches.by_change { Balance::Change } else { Balance::WithPod };
        Ok((balance, resources.into_iter().map(|(name, _)| name).collect()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use nodesift_sdk::args::parse;

    use super::*;

    fn read(text: &str) -> Result<(Balance, Vec<String>), String> {
        parse::<Args>(text).and_then(Args::read)
    }

    #[test]
    fn cpu_and_memory_are_compared_by_default() {
        assert_eq!(read("{}").unwrap(), (Balance::Change, vec!["cpu".to_owned(), "memory".to_owned()]));
        let listed = read(r#"{"resources":[{"name":"a.com/x","weight":1}],"switches":{"BalanceByChange":false}}"#);
        assert_eq!(listed.unwrap(), (Balance::WithPod, vec!["a.com/x".to_owned()]));
    }

    #[test]
    fn invalid_arguments_are_refused_with_their_path() {
        let refused = |text: &str| read(text).unwrap_err();
        assert!(refused(r#"{"resources":[{"name":"cpu","weight":2}]}"#).starts_with("resources[0].weight: "));
        assert!(refused(r#"{"kind":"NodeResourcesFitArgs"}"#).starts_with("kind: "));
        assert!(refused(r#"{"resource":[]}"#).starts_with("resource: unknown field"));
        assert!(refused(r#"{"switches":{"A":true}}"#).starts_with("switches.A: unknown field"));
    }
}
