//! Every limit of policy documents, with its unit and its reason.

use std::time::Duration;

/// Bytes of linear memory that a policy can grant one instance: half of what a 32-bit guest can address.
pub const GUEST_MEMORY_BYTES_MAX: usize = 2 << 30;

/// Bytes of one policy document. Hundreds of predicates with their arguments take less than 100 KB.
pub const POLICY_FILE_BYTES: u64 = 1 << 20;

/// Annotation keys that one policy can list. Each key can add a value to every object, so their number bounds the memory
/// that annotations take; the predicates of one cluster read far fewer than 256.
pub const ANNOTATION_KEYS_MAX: usize = 256;

/// Processor time that a policy can grant one `filter` call. A scheduler core does not wait longer for an answer.
pub const GUEST_TIME_PER_CALL_MAX: Duration = Duration::from_secs(10);
