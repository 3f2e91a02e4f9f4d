//! The built-in predicates and the device selector, as the bytes of their components, and the default policies.
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

/// The policy with the default filter plugins of kube-scheduler, in YAML.
pub const DEFAULT_POLICY: &str = include_str!("../../default-policy.yaml");

/// Names of the predicates of [`DEFAULT_POLICY`], in its order, which is that of kube-scheduler's default filter plugins. Files that name
/// the built-ins are written from it, see `tests/repeated.rs`.
pub fn default_predicates() -> impl Iterator<Item = &'static str> {
    DEFAULT_POLICY.lines().filter_map(|line| line.strip_prefix("  - name: "))
}
