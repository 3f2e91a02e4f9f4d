//! Every limit of policies, with its unit and its reason.

use std::time::Duration;

/// The most linear memory that a policy can grant one instance: all a 32-bit guest can address in half.
pub const GUEST_MEMORY_BYTES_MAX: usize = 2 << 30;

/// Bytes of one policy document: hundreds of predicates with their arguments are less than 100 KB.
pub const POLICY_FILE_BYTES: u64 = 1 << 20;

/// Annotation keys that one policy may list. Each adds a value to every pod and node that carries it, so the number bounds
/// what annotations cost; 256 is far above what the predicates of one cluster read.
pub const ANNOTATION_KEYS_MAX: usize = 256;

/// The most time that a policy can grant one `filter` call: a core that waits longer has given up on the answer.
pub const GUEST_TIME_PER_CALL_MAX: Duration = Duration::from_secs(10);
