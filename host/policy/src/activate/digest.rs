//! Digests, by which modules are pinned and known again.

/// A SHA-256.
pub(crate) type Digest = [u8; 32];
