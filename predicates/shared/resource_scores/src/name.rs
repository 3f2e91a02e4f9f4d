//! Names of resources that kube-scheduler keeps as scalars.

use nodesift_sdk::syntax;

/// Part of a name that is Kubernetes' own.
const NATIVE: &str = "kubernetes.io/";
/// Prefix of names in quotas; no extended resource has it.
const QUOTA_PREFIX: &str = "requests.";
/// Prefix of names that are followed by the DeviceClass that serves them.
const CLASS_PREFIX: &str = "deviceclass.resource.kubernetes.io/";

/// Whether a name is that of a scalar resource: extended, in a domain of Kubernetes, of huge pages or of attachable volumes. Source:
/// `IsScalarResourceName` of kube-scheduler.
#[must_use]
pub fn is_scalar(name: &str) -> bool {
    name.starts_with("hugepages-")
        || name.starts_with("attachable-volumes-")
        || name.contains(NATIVE)
        || is_extended(name)
}

/// Whether a DeviceClass may serve a resource of this name. Source: extendeddynamicresources.go of kube-scheduler.
pub(crate) fn may_be_served(name: &str) -> bool {
    name.starts_with(CLASS_PREFIX) || (is_extended(name) && !name.contains(NATIVE))
}

fn is_extended(name: &str) -> bool {
    name.contains('/') && !name.starts_with(QUOTA_PREFIX) && syntax::is_label_key(&format!("{QUOTA_PREFIX}{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn native_names_without_a_domain_are_no_scalars() {
        for name in ["cpu", "memory", "ephemeral-storage", "pods", "odd", "requests.example.com/gpu", "example.com/"] {
            assert!(!is_scalar(name), "{name}");
        }
        for name in ["example.com/gpu", "hugepages-1Gi", "attachable-volumes-csi", "kubernetes.io/batch"] {
            assert!(is_scalar(name), "{name}");
        }
    }

    #[test]
    fn devices_serve_extended_resources_and_those_that_are_called_by_their_class() {
        for name in ["example.com/gpu", "deviceclass.resource.kubernetes.io/gpu"] {
            assert!(may_be_served(name), "{name}");
        }
        for name in ["cpu", "hugepages-1Gi", "kubernetes.io/batch", "requests.example.com/gpu"] {
            assert!(!may_be_served(name), "{name}");
        }
    }
}
