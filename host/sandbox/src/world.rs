//! The kinds of components that the sandbox calls, each with a contract of its own: predicates ([`predicate`](crate::predicate)),
//! accounting components and the device selector. [`Component`](crate::component::Component) loads, pools and calls all of them; a
//! [`World`] is what differs.

use std::fmt;
use std::time::Duration;

use crate::fault::{Fault, FaultKind};
use crate::grants::Lifetime;
use crate::instance::Instance;

/// A kind of component: its exports, what its calls are about, and the texts of its faults.
pub(super) trait World: fmt::Debug + Sized + 'static {
    /// Indices of the exported functions.
    type Exports: Send + Sync;

    /// Exported functions that are called often, compared with the contract's types once per instance.
    type Functions: Default + Send;

    /// The subject of a running call, which host functions read.
    type Subject: Send;

    /// Settings that a policy gives, by which new instances are configured.
    type Settings: Send + Sync;

    /// Bytes that an instance may pass to the host in each call before the first one that sets its own limit.
    const OUTPUT_BYTES: usize;

    /// Whether making an instance counts as a part of the call that finds none waiting: it has the time of the call, and a fault names
    /// the step that failed.
    const STARTS_IN_CALL: bool;

    /// Names of the slots of one component, and of those that it shares with others, as an overloaded call reports them.
    const SLOTS: [&'static str; 2];

    /// Whether a fault names the functions in which the guest exceeded a limit.
    const LOCATES_LIMITS: bool;

    /// Compares the exported functions with the contract's types.
    fn check_types(instance: &mut Instance<Self>, exports: &Self::Exports) -> wasmtime::Result<()>;

    /// Configures a new instance.
    fn configure(
        instance: &mut Instance<Self>,
        exports: &Self::Exports,
        settings: &Self::Settings,
    ) -> Result<(), Fault>;

    /// Returns how instances are kept under these settings.
    fn rules(settings: &Self::Settings) -> Rules;

    /// Describes the limit that has ended a call of this processor time and memory; `None` for all other kinds of faults, which
    /// their cause describes.
    fn limit_text(kind: FaultKind, cause: &str, time: Duration, memory_bytes: usize) -> Option<String>;
}

/// How the instances of a component are made and kept.
#[derive(Debug)]
pub(super) struct Rules {
    pub(super) lifetime: Lifetime,
    /// Linear memory of one instance in bytes.
    pub(super) memory_bytes: usize,
    /// Processor time in which a new instance must be ready.
    pub(super) start_time: Duration,
    /// Calls at once; `None` where only the slots of the pool limit them.
    pub(super) calls: Option<u32>,
    /// Whether an instance keeps its slot of the pool while it waits for a call. Otherwise it waits in a slot for spares.
    pub(super) keeps_slot: bool,
    /// Instances that wait at most.
    pub(super) waiting: usize,
    /// Lines that instances made beside calls may write to the log in each period.
    pub(super) log_lines: u32,
}
