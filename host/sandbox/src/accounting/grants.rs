//! Permissions of an accounting component, from a policy.

use super::contract::ObjectInterface;
use crate::limits::GUEST_MEMORY_BYTES;

/// Permissions, arguments and memory limit that a policy gives an accounting component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountingGrants {
    /// The interfaces that it may import; `None` allows all.
    pub allow: Option<Vec<ObjectInterface>>,
    /// Keys of the annotations that it may read, in any order.
    pub annotations: Vec<String>,
    /// The arguments for `configure`: a JSON object as text.
    pub args: String,
    /// Linear memory of one instance in bytes.
    pub memory_bytes: usize,
}

impl Default for AccountingGrants {
    /// Every interface, no annotation.
    fn default() -> Self {
        Self { allow: None, annotations: Vec::new(), args: "{}".to_owned(), memory_bytes: GUEST_MEMORY_BYTES }
    }
}
