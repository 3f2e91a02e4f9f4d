//! The built-in predicates, the built-in scorers and the device selector, as the bytes of their components, and the default policies.
//!
//! The build script compiles the predicate crates to components. This crate does not link their code: a host loads the
//! bytes like those of any other component.

/// A compiled component with its name.
#[derive(Clone, Copy)]
pub struct Module {
    /// Its name, for example `NodeAffinity`.
    pub name: &'static str,
    /// The bytes of the component.
    pub bytes: &'static [u8],
}

impl std::fmt::Debug for Module {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} ({} bytes)", self.name, self.bytes.len())
    }
}

include!(concat!(env!("OUT_DIR"), "/modules.rs"));

/// A policy with the built-in predicates that the default policy leaves out, in YAML.
pub const OPTIONAL_POLICY: &str = include_str!("../../optional-policy.yaml");

/// The table of the versions of Kubernetes whose verdicts are given: their default policies and scores, and the switches of their
/// semantics, in YAML; its head says what a row is.
pub const KUBERNETES: &str = include_str!("../../kubernetes.yaml");

/// The policy that applies where no other is configured, in YAML: the default filter plugins of kube-scheduler, which follow the version.
pub const DEFAULT_POLICY: &str = include_str!("../../default-policy.yaml");

/// Names of the default predicates of the oldest version of [`KUBERNETES`], in its order: every version has them. Files that name the
/// built-ins are written from it, see `tests/repeated.rs`.
pub fn default_predicates() -> impl Iterator<Item = &'static str> {
    let listed = KUBERNETES.lines().skip_while(|line| *line != "defaultPolicy:").skip(2);
    let entries = listed.map_while(|line| line.strip_prefix("  - "));
    let names = entries.filter_map(|entry| entry.trim_start_matches('{').strip_prefix("name: "));
    names.filter_map(|rest| rest.split([',', '}']).next())
}
