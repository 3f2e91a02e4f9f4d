//! The built-in predicates and the examples as components, as bytes.
//!
//! The build script compiles the crates beside this one; nothing here links their code. A host that wants them takes
//! bytes, as it does from anybody else.

/// A predicate, compiled.
#[derive(Clone, Copy)]
pub struct Module {
    /// The predicate's name, for example `NodeAffinity`.
    pub name: &'static str,
    /// The component.
    pub bytes: &'static [u8],
}

impl std::fmt::Debug for Module {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} ({} bytes)", self.name, self.bytes.len())
    }
}

include!(concat!(env!("OUT_DIR"), "/modules.rs"));

/// Built-in predicates that the default policy leaves out, as a policy in YAML.
pub const OPTIONAL_POLICY: &str = include_str!("../../optional-policy.yaml");

/// The policy that runs the built-in predicates as kube-scheduler does, in YAML.
pub const DEFAULT_POLICY: &str = include_str!("../../default-policy.yaml");
