//! The version of Kubernetes whose verdicts a policy gives. Start at [`KubernetesVersion`].

use std::sync::Arc;

use nodesift_cache::Semantics;

/// The version of Kubernetes whose verdicts a policy gives, and where it was taken from. `host/policy` decides it; predicates have its
/// switches in their arguments.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KubernetesVersion {
    /// Minor version, such as `1.37`; empty for a policy that was made of no document.
    pub version: Arc<str>,
    /// Where the version was taken from.
    pub origin: VersionOrigin,
    /// Feature gates and quirks by name that are not at the default of the version, sorted; each with whether it is on.
    pub changed: Arc<[(Arc<str>, bool)]>,
    /// Rules by which the cache compiles and counts.
    pub semantics: Semantics,
}

/// Where the version of a policy was taken from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum VersionOrigin {
    /// The newest that is known: the policy names none, and the cluster is in files.
    #[default]
    Newest,
    /// The newest that is known: the policy follows the API server, which has not told its version.
    ServerUnknown,
    /// The policy names it.
    Policy,
    /// The command line names it.
    Argument,
    /// The version of the API server.
    Server {
        /// `gitVersion` of the API server, such as `v1.36.2`.
        git_version: Arc<str>,
    },
    /// The nearest to that of the API server, which is not known.
    NearestToServer {
        /// `gitVersion` of the API server, such as `v1.39.0`.
        git_version: Arc<str>,
    },
}

impl VersionOrigin {
    /// One word for documents and labels of metrics.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Newest => "newest",
            Self::ServerUnknown => "server-unknown",
            Self::Policy => "policy",
            Self::Argument => "argument",
            Self::Server { .. } => "server",
            Self::NearestToServer { .. } => "nearest-to-server",
        }
    }

    /// `gitVersion` of the API server, where the version follows it.
    pub fn server(&self) -> Option<&str> {
        match self {
            Self::Server { git_version } | Self::NearestToServer { git_version } => Some(git_version),
            Self::Newest | Self::ServerUnknown | Self::Policy | Self::Argument => None,
        }
    }
}

impl KubernetesVersion {
    /// One sentence where the verdicts may not be those of the cluster's scheduler, and nobody has asked for that.
    pub fn warning(&self) -> Option<String> {
        let version = &self.version;
        match &self.origin {
            VersionOrigin::NearestToServer { git_version } => Some(format!(
                "the API server is {git_version}, which is not known: verdicts are those of Kubernetes {version}, the nearest version"
            )),
            VersionOrigin::ServerUnknown => Some(format!(
                "the API server has not told its version: verdicts are those of Kubernetes {version}, the newest that is known"
            )),
            VersionOrigin::Newest | VersionOrigin::Policy | VersionOrigin::Argument | VersionOrigin::Server { .. } => {
                None
            }
        }
    }

    /// One line for people: the version, and why it is that one.
    pub fn describe(&self) -> String {
        let why = match &self.origin {
            VersionOrigin::Newest => "the newest that is known".to_owned(),
            VersionOrigin::ServerUnknown => {
                "the newest that is known: the API server has not told its version".to_owned()
            }
            VersionOrigin::Policy => "as the policy says".to_owned(),
            VersionOrigin::Argument => "as --kubernetes says".to_owned(),
            VersionOrigin::Server { git_version } => format!("of the API server, {git_version}"),
            VersionOrigin::NearestToServer { git_version } => {
                format!("the nearest to that of the API server, {git_version}")
            }
        };
        let changed: Vec<String> = self.changed.iter().map(|(name, on)| format!("{name}={on}")).collect();
        let with = if changed.is_empty() { String::new() } else { format!("; {}", changed.join(", ")) };
        format!("Kubernetes {} ({why}){with}", self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_version_that_nobody_chose_is_warned_of() {
        let git_version = Arc::from("v1.99.0");
        let all = [
            (VersionOrigin::Newest, false),
            (VersionOrigin::ServerUnknown, true),
            (VersionOrigin::Policy, false),
            (VersionOrigin::Argument, false),
            (VersionOrigin::Server { git_version: Arc::clone(&git_version) }, false),
            (VersionOrigin::NearestToServer { git_version }, true),
        ];
        for (origin, warns) in all {
            let server = origin.server().map(str::to_owned);
            let version = KubernetesVersion { version: Arc::from("1.37"), origin, ..KubernetesVersion::default() };
            assert_eq!(version.warning().is_some(), warns, "{version:?}");
            assert!(version.describe().starts_with("Kubernetes 1.37 ("));
            assert!(server.is_none_or(|server| version.describe().contains(&server)));
        }
    }

    #[test]
    fn what_is_changed_of_a_version_is_described() {
        let changed = Arc::from([(Arc::from("A"), true), (Arc::from("B"), false)]);
        let version = KubernetesVersion { version: Arc::from("1.36"), changed, ..KubernetesVersion::default() };
        assert_eq!(version.describe(), "Kubernetes 1.36 (the newest that is known); A=true, B=false");
    }
}
