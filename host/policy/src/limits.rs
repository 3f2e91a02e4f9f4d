//! Every limit of policies, with its unit and its reason.

use std::time::Duration;

/// The most linear memory that a policy can grant one instance: all a 32-bit guest can address in half.
pub const GUEST_MEMORY_BYTES_MAX: usize = 2 << 30;

/// Bytes of one policy document: hundreds of predicates with their arguments are less than 100 KB.
pub const POLICY_FILE_BYTES: u64 = 1 << 20;

/// The most time that a policy can grant one `filter` call: a core that waits longer has given up on the answer.
pub const GUEST_TIME_PER_CALL_MAX: Duration = Duration::from_secs(10);
