//! Lists whose items are made while they are encoded. Start at [`Lazy`].

use serde::{Serialize, Serializer};

/// A list whose items are made while it is encoded, each time anew.
pub(super) struct Lazy<F>(pub(super) F);

impl<F: Fn() -> I, I: Iterator<Item: Serialize>> Serialize for Lazy<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}
