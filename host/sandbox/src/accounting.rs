//! Accounting components: what a pod takes of its node where the API does not say it. They are no predicates: the host calls one
//! about single objects, by the contract `nodesift:accounting`.
//!
//! ```text
//! contract     its version and interfaces
//! manifest     what a component imports and exports
//! error        why a component is not loaded
//! object       what can be read of one object
//! link         the functions by which it is read
//! state        the host state of an instance
//! accountant   one instance with its own store
//! types        what crosses, named as in sdk/predicate/wit/accounting
//! check        what a guest returned → needs, account or sums, or a fault
//! ```
//!
//! Objects are accounted for in batches, one after the other on one instance, each with a time of its own. A fault of one ends the
//! instance and nothing else: the next object has a new one. Start at [`Accounting::pods`].

mod accountant;
mod check;
mod contract;
mod error;
mod link;
mod manifest;
mod object;
mod state;
mod types;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use wasmtime::component::{Component, InstancePre, Linker};

pub use contract::{ACCOUNTING_PACKAGE, ACCOUNTING_VERSION, ObjectInterface};
pub use error::AccountingError;
pub use manifest::{AccountingInspection, inspect_accounting};
pub use object::AccountedObject;
pub use types::{Account, Amount, Needs, ObjectOwner, Ruling, Sums};

use super::clock::Pulse;
use super::load_error::LoadError;
use super::manifest::Surface;
use super::slots::{Slot, Slots};
use super::text::shorten;
use crate::fault::{Fault, FaultKind};
use crate::limits::{
    ACCOUNTING_BATCH, ACCOUNTING_CALLS, ACCOUNTING_START_TIME, GUEST_MEMORY_BYTES, INSTANTIATE_TIME, REUSED_CALLS,
    REUSED_GROWTH_BYTES, SLOT_WAIT,
};
use accountant::{Accountant, Exports};
use manifest::Manifest;
use state::State;

/// Permissions, arguments and memory limit that a policy gives an accounting component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountingGrants {
    /// The interfaces that it may import; `None` allows all.
    pub allow: Option<Vec<ObjectInterface>>,
    /// Keys of the annotations that it may read, in any order.
    pub annotations: Vec<String>,
    /// The arguments for `configure`: a JSON object as text.
    pub args: String,
    /// Linear memory of one instance in bytes.
    pub memory_bytes: usize,
}

impl Default for AccountingGrants {
    /// Every interface, no annotation.
    fn default() -> Self {
        Self { allow: None, annotations: Vec::new(), args: "{}".to_owned(), memory_bytes: GUEST_MEMORY_BYTES }
    }
}

/// A loaded accounting component. It can be called from many threads at once.
pub struct Accounting {
    pre: InstancePre<State>,
    exports: Exports,
    manifest: Manifest,
    grants: AccountingGrants,
    needs: Arc<Needs>,
    /// One for each batch that runs.
    turns: Arc<Slots>,
    /// Of all accounting components: one for each instance.
    pool: Arc<Slots>,
    clock: Arc<Pulse>,
    /// At most as many as there are turns.
    waiting: Mutex<Vec<Accountant>>,
}

/// Inspection and loading of a component.
impl Accounting {
    /// Reads the imports and exports of a component and checks them against its grants, before it is compiled.
    ///
    /// # Errors
    ///
    /// All of [`AccountingError`] that can be told by that.
    pub(super) fn inspect(bytes: &[u8], grants: &AccountingGrants) -> Result<Manifest, AccountingError> {
        let manifest = Manifest::of(&Surface::read(bytes)?)?;
        manifest.check(grants.allow.as_deref())?;
        Ok(manifest)
    }

    /// Links, instantiates and configures a compiled component, whose instances share the slots of a pool.
    pub(super) fn prepare(
        component: &Component,
        manifest: Manifest,
        grants: AccountingGrants,
        pool: &Arc<Slots>,
        clock: &Arc<Pulse>,
    ) -> Result<Self, AccountingError> {
        let contract = |error: wasmtime::Error| AccountingError::Contract(format!("{error:#}"));
        let mut linker = Linker::new(component.engine());
        manifest.imports.iter().try_for_each(|import| link::link(*import, &mut linker)).map_err(contract)?;
        let pre = linker.instantiate_pre(component).map_err(contract)?;
        let exports = Exports::of(component, &manifest.export).map_err(AccountingError::Contract)?;
        let mut accounting = Self {
            pre,
            exports,
            manifest,
            grants,
            needs: Arc::default(),
            turns: Slots::new(ACCOUNTING_CALLS),
            pool: Arc::clone(pool),
            clock: Arc::clone(clock),
            waiting: Mutex::default(),
        };
        let step = |step| move |fault| AccountingError::Load(LoadError::Step { step, fault });
        let mut first = accounting.instantiate(INSTANTIATE_TIME).map_err(step("instantiate"))?;
        first.check_types(&accounting.exports).map_err(contract)?;
        let raw = first.configure(&accounting.exports, &accounting.grants.args).map_err(step("configure"))?;
        let needs =
            check::needs(raw.map_err(|text| AccountingError::Refused(shorten(&text)))?).map_err(step("configure"))?;
        let is_granted = |key: &Arc<str>| accounting.grants.annotations.iter().any(|granted| **granted == **key);
        let beyond: Vec<String> =
            needs.annotations.iter().filter(|key| !is_granted(key)).map(ToString::to_string).collect();
        if !beyond.is_empty() {
            return Err(AccountingError::NotGranted(beyond));
        }
        accounting.needs = Arc::new(needs);
        drop(first);
        // Pages of the code have been touched by now: this is what each new instance takes.
        let ready = accounting.make().map_err(|fault| match fault.kind {
            FaultKind::Deadline => AccountingError::SlowStart(ACCOUNTING_START_TIME),
            _ => step("configure")(fault),
        })?;
        accounting.lock().push(ready);
        Ok(accounting)
    }

    /// Returns the annotations that the component reads and the sums that it declares, as `configure` returned them.
    pub fn needs(&self) -> &Needs {
        &self.needs
    }

    /// Returns the permissions, arguments and memory limit that the policy gives the component.
    pub fn grants(&self) -> &AccountingGrants {
        &self.grants
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
        self.each(objects, |accountant, object| {
            let raw = accountant.pod(&self.exports, object, &self.needs)?;
            check::ruling(raw, &self.needs)
        })
    }

    /// Calls `node` for each of these objects and returns what they add to sums, in the order of the objects. The inner error is a line for
    /// operators: the data that the component reads of the node is inconsistent.
    ///
    /// A fault is as for [`Self::pods`].
    pub fn nodes(&self, objects: &[Arc<dyn AccountedObject>]) -> Vec<Result<Result<Sums, String>, Fault>> {
        self.each(objects, |accountant, object| {
            let raw = accountant.node(&self.exports, object, &self.needs)?;
            check::node_sums(raw, &self.needs)
        })
    }

    fn each<T>(
        &self,
        objects: &[Arc<dyn AccountedObject>],
        call: impl Fn(&mut Accountant, &Arc<dyn AccountedObject>) -> Result<T, Fault>,
    ) -> Vec<Result<T, Fault>> {
        let mut answers = Vec::with_capacity(objects.len());
        for batch in objects.chunks(ACCOUNTING_BATCH) {
            let turn = match self.turns.take(|| Instant::now() + SLOT_WAIT) {
                Some(turn) => turn,
                None => {
                    answers.extend(batch.iter().map(|_| Err(overloaded("all turns"))));
                    continue;
                }
            };
            let mut accountant = self.lock().pop();
            for object in batch {
                // An instance that has faulted is not there any more.
                let answer = accountant.take().map_or_else(|| self.make(), Ok).and_then(|mut instance| {
                    self.clock.admit()?;
                    let answer = call(&mut instance, object)?;
                    accountant = Some(instance);
                    Ok(answer)
                });
                answers.push(answer);
            }
            let may_be_called = |it: &Accountant| it.calls() < REUSED_CALLS && it.grown_bytes() <= REUSED_GROWTH_BYTES;
            if let Some(accountant) = accountant.filter(may_be_called) {
                self.lock().push(accountant);
            }
            drop(turn);
        }
        answers
    }

    /// A new instance that is configured.
    fn make(&self) -> Result<Accountant, Fault> {
        self.clock.admit()?;
        let mut accountant = self.instantiate(ACCOUNTING_START_TIME)?;
        let raw = accountant.configure(&self.exports, &self.grants.args)?;
        let needs = check::needs(raw.map_err(|refusal| Fault::new(FaultKind::Configure, &refusal))?)?;
        if needs != *self.needs {
            return Err(Fault::new(FaultKind::Configure, "it has other needs than when it was loaded"));
        }
        Ok(accountant)
    }

    fn instantiate(&self, time: Duration) -> Result<Accountant, Fault> {
        let slot: Slot = self.pool.take(|| Instant::now() + SLOT_WAIT).ok_or_else(|| overloaded("all instances"))?;
        Accountant::new(&self.pre, slot, self.grants.memory_bytes, time)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Accountant>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Accounting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Accounting").field("grants", &self.grants).field("needs", &self.needs).finish_non_exhaustive()
    }
}

fn overloaded(what: &str) -> Fault {
    Fault { kind: FaultKind::Overloaded, detail: format!("{what} were in use for {} ms", SLOT_WAIT.as_millis()) }
}

#[cfg(test)]
mod tests;
