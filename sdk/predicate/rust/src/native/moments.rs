//! Moments of the nodes of the fixture. Made from the contract by `make contract`; not to be edited.

use super::node::Node;

impl Node {
    /// Sets `created` of `node-age`, in seconds since 1970-01-01T00:00:00Z.
    #[must_use]
    pub fn created(mut self, seconds: i64) -> Self {
        self.moments.insert("node-age.created", seconds);
        self
    }
}
