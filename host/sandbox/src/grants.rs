//! Permissions, limits and arguments that a policy gives a module, the lifetime of its instances, and minimums for a single call.

use std::time::Duration;

use super::interface::Interface;
use crate::limits::{FAILURE_REASONS, GUEST_MEMORY_BYTES, LOG_LINES, OUTPUT_BYTES};

/// Whether instances are reused between calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// A new instance for every call: no state can leak from one pod to the next.
    PerCall,
    /// Instances of a module that one trusts are reused, until they have grown by more than
    /// [`REUSED_GROWTH_BYTES`](crate::limits::REUSED_GROWTH_BYTES), have served
    /// [`REUSED_CALLS`](crate::limits::REUSED_CALLS), or a call faults.
    Recycled,
    /// Instances of a built-in are reused until a call faults.
    Reused,
}

/// The permissions, limits and arguments that a policy gives a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grants {
    /// The interfaces that it may import; `None` allows all.
    pub allow: Option<Vec<Interface>>,
    /// The arguments for `configure`: a JSON object as text.
    pub args: String,
    /// Linear memory of one instance in bytes.
    pub memory_bytes: usize,
    /// Bytes that one call may pass to the host, not counting the codes of the rows.
    pub output_bytes: usize,
    /// Lines that it may write to the log in each [`LOG_PERIOD`](crate::limits::LOG_PERIOD), all instances together.
    pub log_lines: u32,
    /// Processor time budget of one `filter` call; `None` derives it from the number of rows.
    pub time_per_call: Option<Duration>,
    /// Whether instances are reused.
    pub lifetime: Lifetime,
    /// Reasons that are kept of one failure; the others are counted.
    pub reasons: usize,
}

/// Minimum processor time and memory of one call, where its other limits are lower. The default is zero: no minimum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Extra {
    /// Processor time that the call may use at least.
    pub time: Duration,
    /// Linear memory in bytes. If it is more than the grants give, the call has an instance of its own, which ends with it; a built-in can
    /// have up to [`EXTRA_MEMORY_BYTES`](crate::limits::EXTRA_MEMORY_BYTES), other modules no more than before.
    pub memory_bytes: usize,
}

impl Default for Grants {
    /// Grants of a custom module for which the policy sets nothing: every interface, no arguments, the default limits.
    fn default() -> Self {
        Self {
            allow: None,
            args: "{}".to_owned(),
            memory_bytes: GUEST_MEMORY_BYTES,
            output_bytes: OUTPUT_BYTES,
            log_lines: LOG_LINES,
            time_per_call: None,
            lifetime: Lifetime::PerCall,
            reasons: FAILURE_REASONS,
        }
    }
}
