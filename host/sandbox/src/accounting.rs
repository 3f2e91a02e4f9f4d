//! Accounting components: what a pod takes of its node where the API does not say it. They are no predicates: the host calls one
//! about single objects, by the contract `nodesift:accounting`.
//!
//! ```text
//! contract     its version and interfaces
//! manifest     what a component imports and exports
//! error        why a component is not loaded
//! grants       what a policy gives it
//! object       what can be read of one object
//! link         the functions by which it is read
//! world        their exports, and the calls of an instance
//! types        what crosses, named as in sdk/predicate/wit/accounting
//! check        what a guest returned → needs, account or sums, or a fault
//! ```
//!
//! Objects are accounted for in batches, one after the other on one instance, each with a time of its own. A fault of one ends the
//! instance and nothing else: the next object has a new one. Start at [`Accounting::pods`].

mod check;
mod contract;
mod error;
mod grants;
mod link;
mod manifest;
mod object;
mod types;
mod world;

use std::fmt;
use std::sync::Arc;

use wasmtime::component;

pub use contract::{ACCOUNTING_PACKAGE, ACCOUNTING_VERSION, ObjectInterface};
pub use error::AccountingError;
pub use grants::AccountingGrants;
pub use manifest::{AccountingInspection, inspect_accounting};
pub use object::AccountedObject;
pub use types::{Account, Amount, Needs, ObjectOwner, Ruling, Sums};

use super::clock::Pulse;
use super::component::{Component, Linked};
use super::instance::{CallLimits, Instance};
use super::load_error::LoadError;
use super::manifest::Surface;
use super::slots::Slots;
use super::text::shorten;
use crate::fault::{Fault, FaultKind};
use crate::limits::{ACCOUNTING_BATCH, ACCOUNTING_START_TIME, ACCOUNTING_TIME};
use manifest::Manifest;
use world::{AccountingWorld, Exports, Running, Settings};

/// A loaded accounting component. It can be called from many threads at once.
pub struct Accounting {
    component: Arc<Component<AccountingWorld>>,
    manifest: Manifest,
}

/// Inspection and loading of a component.
impl Accounting {
    /// Reads the imports and exports of a component and checks them against its grants, before it is compiled.
    ///
    /// # Errors
    ///
    /// All of [`AccountingError`] that can be told by that.
    pub(super) fn inspect(bytes: &[u8], grants: &AccountingGrants) -> Result<Manifest, AccountingError> {
        let manifest = Manifest::new(&Surface::read(bytes)?)?;
        manifest.check(grants.allow.as_deref())?;
        Ok(manifest)
    }

    /// Links, instantiates and configures a compiled component, whose instances share the slots of a pool.
    pub(super) fn prepare(
        compiled: &component::Component,
        manifest: Manifest,
        grants: AccountingGrants,
        pool: &Arc<Slots>,
        clock: &Arc<Pulse>,
    ) -> Result<Self, AccountingError> {
        let contract = |error| match error {
            LoadError::Contract(text) => AccountingError::Contract(text),
            other => AccountingError::Load(other),
        };
        let configure = |fault| AccountingError::Load(LoadError::Step { step: "configure", fault });
        let linked = Linked::<AccountingWorld>::new(
            compiled,
            |linker| manifest.imports.iter().try_for_each(|import| link::link(*import, linker)),
            || Exports::new(compiled, &manifest.export),
        )
        .map_err(contract)?;
        let mut first = linked.first(pool, grants.memory_bytes).map_err(contract)?;
        let raw = first.configure(&linked.exports, &grants.args).map_err(configure)?;
        let needs = check::needs(raw.map_err(|text| AccountingError::Refused(shorten(&text)))?).map_err(configure)?;
        let is_granted = |key: &Arc<str>| grants.annotations.iter().any(|granted| **granted == **key);
        let beyond: Vec<String> =
            needs.annotations.iter().filter(|key| !is_granted(key)).map(ToString::to_string).collect();
        if !beyond.is_empty() {
            return Err(AccountingError::NotGranted(beyond));
        }
        drop(first);
        let component = Component::new(linked, Settings { grants, needs: Arc::new(needs) }, pool, clock, None);
        clock.admit().map_err(configure)?;
        // Pages of the code have been touched by now: this is what each new instance takes.
        component.check_start().map_err(|start| match start.fault.kind {
            FaultKind::Deadline => AccountingError::SlowStart(ACCOUNTING_START_TIME),
            _ => configure(start.fault),
        })?;
        Ok(Self { component, manifest })
    }

    /// Returns the annotations that the component reads and the sums that it declares, as `configure` returned them.
    pub fn needs(&self) -> &Needs {
        &self.component.settings.needs
    }

    /// Returns the permissions, arguments and memory limit that the policy gives the component.
    pub fn grants(&self) -> &AccountingGrants {
        &self.component.settings.grants
    }

    /// The interfaces of which it imports at least one function, sorted.
    pub fn imports(&self) -> &[ObjectInterface] {
        &self.manifest.imports
    }

    /// The version of the contract that it was built for.
    pub fn contract(&self) -> &str {
        &self.manifest.contract
    }
}

/// Calls of a loaded component.
impl Accounting {
    /// Calls `pod` for each of these objects and returns the checked rulings, in the order of the objects.
    ///
    /// A fault is that of one object. But for faults that are not the component's ([`FaultKind::is_of_predicate`]) the same object
    /// has the same one again.
    pub fn pods(&self, objects: &[Arc<dyn AccountedObject>]) -> Vec<Result<Ruling, Fault>> {
        self.each(objects, |instance, running| {
            let raw = instance.pod(&self.component.linked.exports, running)?;
            check::ruling(raw, self.needs())
        })
    }

    /// Calls `node` for each of these objects and returns what they add to sums, in the order of the objects. The inner error is a line for
    /// operators: the data that the component reads of the node is inconsistent.
    ///
    /// A fault is as for [`Self::pods`].
    pub fn nodes(&self, objects: &[Arc<dyn AccountedObject>]) -> Vec<Result<Result<Sums, String>, Fault>> {
        self.each(objects, |instance, running| {
            let raw = instance.node(&self.component.linked.exports, running)?;
            check::node_sums(raw, self.needs())
        })
    }

    fn each<T>(
        &self,
        objects: &[Arc<dyn AccountedObject>],
        call: impl Fn(&mut Instance<AccountingWorld>, Running) -> Result<T, Fault>,
    ) -> Vec<Result<T, Fault>> {
        let limits = CallLimits::from(ACCOUNTING_TIME);
        let needs = &self.component.settings.needs;
        let mut answers = Vec::with_capacity(objects.len());
        for batch in objects.chunks(ACCOUNTING_BATCH) {
            match self.component.turn(limits) {
                Ok(mut turn) => answers.extend(batch.iter().map(|object| {
                    let running = Running { object: Arc::clone(object), needs: Arc::clone(needs) };
                    turn.call(limits, |instance| call(instance, running))
                })),
                Err(fault) => answers.extend(batch.iter().map(|_| Err(fault.clone()))),
            }
        }
        answers
    }
}

impl fmt::Debug for Accounting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Accounting").field("grants", self.grants()).field("needs", self.needs()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
