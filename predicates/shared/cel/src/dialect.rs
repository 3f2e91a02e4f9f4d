//! Where versions of Kubernetes differ.

/// Where the expressions of minor versions of Kubernetes differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dialect {
    /// Attributes may be lists, so that their type is `dyn`; otherwise it is `any`, which fewer expressions can use.
    pub lists: bool,
    /// There is the function `includes`.
    pub includes: bool,
    /// The language and its functions are those of cel-go 0.29, which Kubernetes 1.37 has; otherwise those of 0.26.
    pub cel_go29: bool,
}

impl Default for Dialect {
    /// The expressions of Kubernetes 1.36.
    fn default() -> Self {
        Self { lists: false, includes: true, cel_go29: false }
    }
}
