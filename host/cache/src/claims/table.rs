//! Claims as snapshots show them, and the allocations that schedulers have decided and not yet written.
//!
//! [`Claims`] is what a snapshot shows, [`ClaimTable`] what the writer keeps. Every change of a claim gives a [`HoldChange`]: the devices
//! that are held from now on, and those that are not held any more.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use thiserror::Error;

use super::classes::Classes;
use super::owners::Owners;
use super::shards::Shards;
use crate::columns::Generation;
use crate::limits::INDEX_ENTRY_BYTES;
use crate::metadata::{ClaimRecord, ClassRecord, Hold, Labels};

/// Devices and shares of devices that one allocation holds.
pub(crate) type Holds = Arc<[Hold]>;

/// All claims and classes at one generation.
#[derive(Debug, Clone, Default)]
pub struct Claims {
    /// All claims by `namespace/name`.
    by_key: Shards<Arc<ClaimRecord>>,
    /// Claims for extended resources by the UID of their pod, in the order of names; more than one only against the rules.
    by_pod: Shards<Arc<[Arc<ClaimRecord>]>>,
    /// Allocations in flight by the UID of the claim, or of the pod whose claim is still to be made.
    in_flight: Shards<Holds>,
    classes: Arc<Classes>,
    changed: Generation,
    pub(super) rules: ClaimRules,
}

/// Rules about claims that differ between versions of Kubernetes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClaimRules {
    /// Whether an allocation is given up where its devices are not attached in time, or cannot be. Otherwise they are not waited for.
    pub binding_conditions: bool,
    /// Whether a claim whose devices skip operations of the node can be used only where the node declares that it can skip them.
    pub skips_node_operations: bool,
    /// Whether the reason why another pod's claim cannot be used has `pod` in lower case.
    pub owner_in_lower_case: bool,
}

impl Default for ClaimRules {
    /// The rules of Kubernetes 1.36.
    fn default() -> Self {
        Self { binding_conditions: true, skips_node_operations: false, owner_in_lower_case: false }
    }
}

impl Claims {
    /// Whether a claim can be used on a node of these labels and this name at a time, in seconds since 1970-01-01T00:00:00Z. One that is
    /// not allocated can.
    pub fn is_usable_on(&self, claim: &ClaimRecord, labels: &Labels, node_name: &str, now_s: i64) -> bool {
        if self.rules.binding_conditions {
            claim.usable_on(labels, node_name, now_s)
        } else {
            claim.reaches(labels, node_name)
        }
    }

    /// Whether an allocated claim can be used on a node for all that the node declares.
    pub fn has_operations(&self, claim: &ClaimRecord, features: &[Arc<str>]) -> bool {
        /// The feature of nodes that can skip operations.
        const OPTIONAL_OPERATIONS: &str = "DRAOptionalNodeOperations";
        let skips = claim.allocation.as_ref().is_some_and(|allocation| allocation.skips_node_operations);
        !skips || !self.rules.skips_node_operations || features.iter().any(|it| **it == *OPTIONAL_OPERATIONS)
    }

    /// The claim of this `namespace/name`.
    pub fn claim(&self, key: &str) -> Option<&Arc<ClaimRecord>> {
        self.by_key.get(key)
    }

    /// All claims, in no order.
    pub fn all(&self) -> impl Iterator<Item = &Arc<ClaimRecord>> {
        self.by_key.values()
    }

    /// The claim that was made for the extended resources of a pod.
    pub fn made_for(&self, pod_name: &str, pod_uid: &str) -> Option<&Arc<ClaimRecord>> {
        let is_owner = |(name, uid): &(Arc<str>, Arc<str>)| (&**name, &**uid) == (pod_name, pod_uid);
        self.by_pod.get(pod_uid)?.iter().find(|claim| claim.extended_for.iter().any(is_owner))
    }

    /// Whether an allocation for the claim, or for the pod whose claim is still to be made, is in flight.
    pub fn is_in_flight(&self, uid: &str) -> bool {
        self.in_flight.get(uid).is_some()
    }

    /// Devices and shares of devices that no claim's status shows yet, in no order.
    pub fn in_flight(&self) -> impl Iterator<Item = &Hold> {
        self.in_flight.values().flat_map(|holds| holds.iter())
    }

    /// Devices and shares of devices that are not free: of allocated claims, and in flight. In no order.
    pub(crate) fn held(&self) -> impl Iterator<Item = &Hold> {
        let allocations = self.all().filter_map(|claim| claim.allocation.as_ref());
        allocations.flat_map(|allocation| allocation.held.iter()).chain(self.in_flight())
    }

    /// The class of this name.
    pub fn class(&self, name: &str) -> Option<&Arc<ClassRecord>> {
        self.classes.get(name)
    }

    /// All classes, in the order of names.
    pub fn classes(&self) -> impl Iterator<Item = &Arc<ClassRecord>> {
        self.classes.all()
    }

    /// The class that serves an extended resource. Of those that name it the youngest, then the one with the lower name.
    pub fn class_serving(&self, resource: &str) -> Option<&Arc<ClassRecord>> {
        self.classes.serving(resource)
    }

    /// The generation at which claims, classes or allocations in flight last changed.
    pub fn changed(&self) -> Generation {
        self.changed
    }

    /// Replaces the claims for extended resources of a pod by what `change` makes of them.
    fn change_pod(&mut self, pod_uid: &Arc<str>, change: impl FnOnce(&mut Vec<Arc<ClaimRecord>>)) {
        let mut claims = self.by_pod.remove(pod_uid).map(|claims| claims.to_vec()).unwrap_or_default();
        change(&mut claims);
        claims.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
        if !claims.is_empty() {
            self.by_pod.insert(Arc::clone(pod_uid), claims.into());
        }
    }
}

/// Why allocations are not held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum InFlightError {
    /// The claim's status shows an allocation.
    #[error("the claim is allocated already")]
    Allocated,
    /// Another allocation is held for the claim.
    #[error("an allocation for the claim is in flight")]
    InFlight,
    /// The pod that they are for is not in the cache.
    #[error("the pod is not in the cache")]
    UnknownPod,
}

/// Devices held in flight for the claims of one pod, to be released and held again.
#[derive(Debug, Clone)]
pub struct PodHolds {
    pub(crate) pod_uid: Arc<str>,
    /// Devices by the UID of the claim or pod that they are held for; not empty.
    pub(crate) held: Vec<(Arc<str>, Holds)>,
}

/// Devices that a change of claims holds, and devices that it releases.
#[derive(Debug, Default)]
pub(crate) struct HoldChange {
    /// Devices held from now on. Where a claim goes on to hold a device, it is here and in `released`: hold first.
    pub(crate) held: Vec<Holds>,
    /// Devices that are not held any more.
    pub(crate) released: Vec<Holds>,
}

/// Claims, classes and allocations in flight as the writer keeps them, indexed by UID and by pod.
#[derive(Debug, Default)]
pub(crate) struct ClaimTable {
    shown: Arc<Claims>,
    by_uid: FxHashMap<Arc<str>, Arc<ClaimRecord>>,
    /// Allocations in flight that end with a pod.
    owners: Owners,
}

impl ClaimTable {
    /// Bytes of claims by the lengths of their tables: a lower bound.
    pub(crate) fn bytes(&self) -> usize {
        // By name and by UID.
        self.by_uid.len() * (size_of::<ClaimRecord>() + 2 * INDEX_ENTRY_BYTES)
    }

    /// Sets the rules that differ between versions.
    pub(crate) fn set_rules(&mut self, rules: ClaimRules) {
        if self.shown.rules != rules {
            Arc::make_mut(&mut self.shown).rules = rules;
        }
    }

    /// Returns the claims, classes and allocations in flight that the next snapshot shows.
    pub(crate) fn shown(&self) -> &Arc<Claims> {
        &self.shown
    }

    /// Notes when something changed.
    pub(crate) fn note_change(&mut self, generation: Generation) {
        Arc::make_mut(&mut self.shown).changed = generation;
    }

    /// Whether this is what is held of a claim.
    pub(crate) fn holds(&self, record: &ClaimRecord) -> bool {
        self.shown.claim(&record.key()).is_some_and(|known| **known == *record)
    }

    /// Whether this is what is held of a class.
    pub(crate) fn holds_class(&self, class: &ClassRecord) -> bool {
        self.shown.class(&class.name).is_some_and(|known| **known == *class)
    }

    /// Adds a claim, or replaces what is known of the one of its name; none where nothing changes.
    pub(crate) fn apply(&mut self, record: ClaimRecord) -> Option<HoldChange> {
        if self.holds(&record) {
            return None;
        }
        let record = Arc::new(record);
        let mut change = HoldChange::default();
        let shown = Arc::make_mut(&mut self.shown);
        let old = shown.by_key.insert(record.key().into(), Arc::clone(&record));
        if let Some(old) = &old {
            self.unindex(old);
        }
        self.index(&record);
        let (before, after) = (old.as_ref().and_then(held_by), held_by(&record));
        if before != after {
            change.held.extend(after);
            change.released.extend(before);
        }
        if let Some(old) = old.filter(|old| old.uid != record.uid) {
            self.end_in_flight(&old, |_| true, &mut change);
        }
        if let Some(allocation) = &record.allocation {
            // An allocation of other devices is one from before, which comes late, or another scheduler's: the devices may still be
            // written until the scheduler gives them up.
            let is_shown = |held: &Holds| held.iter().all(|hold| allocation.held.contains(hold));
            self.end_in_flight(&record, is_shown, &mut change);
        }
        Some(change)
    }

    /// Removes a claim by its `namespace/name`; none where there was none.
    pub(crate) fn remove(&mut self, key: &str) -> Option<HoldChange> {
        self.shown.claim(key)?;
        let record = Arc::make_mut(&mut self.shown).by_key.remove(key)?;
        self.unindex(&record);
        let mut change = HoldChange::default();
        change.released.extend(held_by(&record));
        self.end_in_flight(&record, |_| true, &mut change);
        Some(change)
    }

    /// Holds devices for the claim of a UID, or for the pod of a UID whose claim is still to be made.
    pub(crate) fn hold_in_flight(&mut self, uid: &str, devices: Holds) -> Result<HoldChange, InFlightError> {
        self.check_free(uid)?;
        Arc::make_mut(&mut self.shown).in_flight.insert(Arc::from(uid), Arc::clone(&devices));
        Ok(HoldChange { held: vec![devices], released: Vec::new() })
    }

    /// Holds devices for several claims of a pod like [`Self::hold_in_flight`], until [`Self::release_pod`]: all of them, or none. Of
    /// several allocations for one claim the last counts, like the last one that is written.
    pub(crate) fn hold_for_pod(
        &mut self,
        pod_uid: &Arc<str>,
        allocations: impl Iterator<Item = (Arc<str>, Holds)>,
    ) -> Result<HoldChange, InFlightError> {
        let last: BTreeMap<Arc<str>, Holds> = allocations.collect();
        last.keys().try_for_each(|uid| self.check_free(uid))?;
        let in_flight = &mut Arc::make_mut(&mut self.shown).in_flight;
        for (uid, devices) in &last {
            self.owners.insert(pod_uid, uid);
            in_flight.insert(Arc::clone(uid), Arc::clone(devices));
        }
        Ok(HoldChange { held: last.into_values().collect(), released: Vec::new() })
    }

    /// Returns the devices held in flight for a pod; none where nothing is held.
    pub(crate) fn held_for(&self, pod_uid: &Arc<str>) -> Option<PodHolds> {
        let holds = |uid: &Arc<str>| Some((Arc::clone(uid), Arc::clone(self.shown.in_flight.get(uid)?)));
        let held: Vec<_> = self.owners.for_pod(pod_uid).iter().filter_map(holds).collect();
        (!held.is_empty()).then(|| PodHolds { pod_uid: Arc::clone(pod_uid), held })
    }

    /// Gives up what is held in flight for a pod; none where nothing is.
    pub(crate) fn release_pod(&mut self, pod_uid: &str) -> Option<HoldChange> {
        let mut change: Option<HoldChange> = None;
        for uid in self.owners.for_pod(pod_uid).to_vec() {
            let ended = self.release_in_flight(&uid).into_iter().flat_map(|ended| ended.released);
            change.get_or_insert_default().released.extend(ended);
        }
        change
    }

    /// Whether an allocation can be held for a UID.
    pub(crate) fn check_free(&self, uid: &str) -> Result<(), InFlightError> {
        let is_allocated = |claim: &Arc<ClaimRecord>| claim.allocation.is_some();
        let made = self.shown.by_pod.get(uid).into_iter().flat_map(|claims| claims.iter());
        if self.by_uid.get(uid).into_iter().chain(made).any(is_allocated) {
            return Err(InFlightError::Allocated);
        }
        if self.shown.is_in_flight(uid) {
            return Err(InFlightError::InFlight);
        }
        Ok(())
    }

    /// Gives up what is held in flight for a UID; none where nothing is.
    pub(crate) fn release_in_flight(&mut self, uid: &str) -> Option<HoldChange> {
        self.shown.in_flight.get(uid)?;
        self.owners.remove(uid);
        let devices = Arc::make_mut(&mut self.shown).in_flight.remove(uid)?;
        Some(HoldChange { held: Vec::new(), released: vec![devices] })
    }

    /// Adds a class, or replaces what is known of the one of its name; true where that changes something.
    pub(crate) fn apply_class(&mut self, class: ClassRecord) -> bool {
        let changes = !self.holds_class(&class);
        if changes {
            Arc::make_mut(&mut Arc::make_mut(&mut self.shown).classes).insert(class);
        }
        changes
    }

    /// Removes a class; true where there was one.
    pub(crate) fn remove_class(&mut self, name: &str) -> bool {
        let is_known = self.shown.class(name).is_some();
        if is_known {
            Arc::make_mut(&mut Arc::make_mut(&mut self.shown).classes).remove(name);
        }
        is_known
    }

    /// An allocation is written, or its claim is gone: what is in flight for it, and is so, is not any more.
    fn end_in_flight(&mut self, claim: &ClaimRecord, is_so: impl Fn(&Holds) -> bool, change: &mut HoldChange) {
        let pods = claim.extended_for.iter().map(|(_, uid)| uid);
        for uid in pods.chain([&claim.uid]) {
            if !self.shown.in_flight.get(uid).is_some_and(&is_so) {
                continue;
            }
            change.released.extend(self.release_in_flight(uid).into_iter().flat_map(|ended| ended.released));
        }
    }

    fn index(&mut self, claim: &Arc<ClaimRecord>) {
        self.by_uid.insert(Arc::clone(&claim.uid), Arc::clone(claim));
        let shown = Arc::make_mut(&mut self.shown);
        for (_, pod) in claim.extended_for.iter() {
            shown.change_pod(pod, |claims| {
                if !claims.iter().any(|known| Arc::ptr_eq(known, claim)) {
                    claims.push(Arc::clone(claim));
                }
            });
        }
    }

    fn unindex(&mut self, claim: &Arc<ClaimRecord>) {
        if self.by_uid.get(&claim.uid).is_some_and(|known| Arc::ptr_eq(known, claim)) {
            self.by_uid.remove(&claim.uid);
        }
        let shown = Arc::make_mut(&mut self.shown);
        for (_, pod) in claim.extended_for.iter() {
            shown.change_pod(pod, |claims| claims.retain(|known| !Arc::ptr_eq(known, claim)));
        }
    }
}

fn held_by(claim: &Arc<ClaimRecord>) -> Option<Holds> {
    claim.allocation.as_ref().map(|allocation| Arc::clone(&allocation.held))
}
