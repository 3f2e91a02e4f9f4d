//! A kind of component as one instance of it needs it: what a call is about, and the texts of its faults.

use std::fmt;
use std::time::Duration;

use crate::fault::FaultKind;

/// A kind of component, as an instance of it sees it.
pub(super) trait Guest: fmt::Debug + Sized + 'static {
    /// Exported functions that are called often, compared with the contract's types once per instance.
    type Functions: Default + Send;

    /// The subject of a running call, which host functions read.
    type Subject: Send;

    /// Bytes that an instance may pass to the host in each call before the first one that sets its own limit.
    const OUTPUT_BYTES: usize;

    /// Whether a fault names the functions in which the guest exceeded a limit.
    const LOCATES_LIMITS: bool;

    /// Describes the limit that has ended a call of this processor time and memory; `None` for all other kinds of faults, which
    /// their cause describes.
    fn limit_text(kind: FaultKind, cause: &str, time: Duration, memory_bytes: usize) -> Option<String>;
}
