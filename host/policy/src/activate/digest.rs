//! Digests, by which modules are pinned and known again.

/// SHA-256 of a module, as bytes.
pub(crate) type Digest = [u8; 32];
