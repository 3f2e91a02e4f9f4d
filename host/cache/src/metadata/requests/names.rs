//! Which resource names kube-scheduler counts beside the four it knows by heart.
//!
//! Semantics: `IsScalarResourceName` in pkg/scheduler/util/utils.go and the name rules it calls in
//! pkg/apis/core/v1/helper/helpers.go and apimachinery's `IsQualifiedName`.

/// Part of a resource name that marks it as one of Kubernetes' own.
const NATIVE_DOMAIN: &str = "kubernetes.io/";
/// Prefix under which a quota lists requests of another resource name.
const REQUESTS_PREFIX: &str = "requests.";
/// Prefix of huge pages of one size.
pub(super) const HUGE_PAGES_PREFIX: &str = "hugepages-";
/// Prefix of attachable volumes of one kind.
const ATTACHABLE_VOLUMES_PREFIX: &str = "attachable-volumes-";

/// Bytes of the part after the slash, as Kubernetes limits it.
const MAX_NAME_BYTES: usize = 63;
/// Bytes of the part before the slash, as Kubernetes limits it.
const MAX_DOMAIN_BYTES: usize = 253;

/// Whether kube-scheduler keeps amounts under this name in its `ScalarResources`: extended resources, names in a
/// `kubernetes.io` domain, huge pages, attachable volumes. Any other name is silently ignored.
pub fn is_scalar(name: &str) -> bool {
    name.starts_with(HUGE_PAGES_PREFIX)
        || name.starts_with(ATTACHABLE_VOLUMES_PREFIX)
        || name.contains(NATIVE_DOMAIN)
        || is_extended(name)
}

/// An extended resource: a name in some domain, not Kubernetes' own, that is still valid behind `requests.`.
pub(super) fn is_extended(name: &str) -> bool {
    let Some((domain, rest)) = name.split_once('/') else { return false };
    !name.contains(NATIVE_DOMAIN)
        && !name.starts_with(REQUESTS_PREFIX)
        && domain.len() + REQUESTS_PREFIX.len() <= MAX_DOMAIN_BYTES
        && domain.split('.').all(is_domain_label)
        && rest.len() <= MAX_NAME_BYTES
        && is_name(rest)
}

/// Lower-case letters, digits and inner dashes; at least one byte.
fn is_domain_label(label: &str) -> bool {
    let alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    edges_are(label, alphanumeric) && label.bytes().all(|byte| alphanumeric(byte) || byte == b'-')
}

/// Letters, digits and inner dashes, underscores and dots; at least one byte. A second slash is none of these.
fn is_name(name: &str) -> bool {
    edges_are(name, |byte| byte.is_ascii_alphanumeric())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

fn edges_are(text: &str, rule: impl Fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(|byte| rule(*byte)) && bytes.last().is_some_and(|byte| rule(*byte))
}
