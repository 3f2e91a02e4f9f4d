//! The kinds of components that the sandbox calls, each with a contract of its own: predicates ([`predicate`](crate::predicate)),
//! accounting components and the device selector. One code loads, pools and calls all of them (`component`); a [`World`] is what differs,
//! and [`Guest`] the part of that which an instance alone needs.

use std::time::Duration;

use crate::fault::Fault;
use crate::grants::Lifetime;
use crate::guest::Guest;
use crate::instance::Instance;

/// A kind of component: its exports, how it is configured, and how its instances are made and kept.
pub(super) trait World: Guest {
    /// Indices of the exported functions.
    type Exports: Send + Sync;

    /// Settings that a policy gives, by which new instances are configured.
    type Settings: Send + Sync;

    /// Whether making an instance counts as a part of the call that finds none waiting: it has the time of the call, and a fault names
    /// the step that failed.
    const STARTS_IN_CALL: bool;

    /// Names of the slots of one component, and of those that it shares with others, as an overloaded call reports them.
    const SLOTS: [&'static str; 2];

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
