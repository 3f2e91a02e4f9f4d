//! The version of Kubernetes of a policy, as documents show it. Start at [`Kubernetes`].

use std::collections::BTreeMap;

use nodesift_engine::KubernetesVersion;
use serde::Serialize;

/// The version of Kubernetes whose verdicts a policy gives.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Kubernetes {
    /// Minor version, such as `1.37`.
    version: String,
    /// Where it was taken from: `policy`, `argument`, `server`, `nearest-to-server`, `server-unknown` or `newest`.
    origin: &'static str,
    /// `gitVersion` of the API server, where the version follows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    /// Feature gates and quirks that are not at the default of the version, by name.
    changed: BTreeMap<String, bool>,
    /// Why the verdicts may be those of another version than the cluster's; none where they are not.
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
    /// All of this in one line, for people.
    summary: String,
}

impl From<&KubernetesVersion> for Kubernetes {
    fn from(version: &KubernetesVersion) -> Self {
        Self {
            version: version.version.to_string(),
            origin: version.origin.as_str(),
            server: version.origin.server().map(str::to_owned),
            changed: version.changed.iter().map(|(name, on)| (name.to_string(), *on)).collect(),
            warning: version.warning(),
            summary: version.describe(),
        }
    }
}
