//! ResourceClaims, DeviceClasses and allocations in flight that come, change and go. Start with [`Writer::hold_in_flight`].

use std::sync::Arc;
use std::time::Instant;

use super::Writer;
use super::assumed::{Placed, Plan};
use crate::claims::{HoldChange, InFlightError, PodHolds};
use crate::metadata::{ClaimRecord, ClassRecord, Hold};
use nodesift_object::claim::AllocatedDevice;

impl Writer {
    /// Adds a ResourceClaim, or replaces what is known of the one of its name.
    pub(super) fn apply_resource_claim(&mut self, record: ClaimRecord) {
        let change = self.claims.apply(record);
        self.claims_changed(change);
    }

    /// Removes a ResourceClaim by its `namespace/name`.
    pub(super) fn remove_resource_claim(&mut self, key: &str) {
        let change = self.claims.remove(key);
        self.claims_changed(change);
    }

    /// Holds what a scheduler core has decided to allocate and not yet written: for the claim of this UID, or, where the claim for
    /// the extended resources of a pod is still to be made, for the pod of this UID. It ends when the claim shows these devices, when
    /// the claim is gone, or by [`Self::release_in_flight`]; a claim that is not known never ends it. An allocation of other devices
    /// does not: it may be an older one, of which the watch tells late.
    ///
    /// # Errors
    /// The claim is allocated, or another allocation for it is in flight. Nothing is held then.
    pub fn hold_in_flight(&mut self, uid: &str, devices: &[AllocatedDevice]) -> Result<(), InFlightError> {
        let held = devices.iter().filter_map(Hold::compile).collect();
        let change = self.claims.hold_in_flight(uid, held)?;
        self.claims_changed(Some(change));
        Ok(())
    }

    /// Holds devices like [`Self::hold_in_flight`] for claims of a pod of the cache, by the UIDs given there, all of them or none. They
    /// end, too, when the pod goes or leaves its node: its assumption is forgotten, expires, or is about another node. Where it is bound as
    /// assumed they stay, since the watch may show the claims later than the pod.
    ///
    /// # Errors
    /// As [`Self::hold_in_flight`], and where the pod is not in the cache.
    pub fn hold_for_pod(
        &mut self,
        pod_uid: &str,
        allocations: &[(Arc<str>, Vec<AllocatedDevice>)],
    ) -> Result<(), InFlightError> {
        let pod = self.pods.by_uid(pod_uid).ok_or(InFlightError::UnknownPod)?;
        let held = allocations
            .iter()
            .map(|(uid, devices)| (Arc::clone(uid), devices.iter().filter_map(Hold::compile).collect()));
        let change = self.claims.hold_for_pod(&pod.uid, held)?;
        self.claims_changed(Some(change).filter(|change| !change.held.is_empty()));
        Ok(())
    }

    /// Does what was planned, as [`Self::carry_out`], and holds devices for the pod, as [`Self::hold_for_pod`]: both or nothing.
    ///
    /// # Errors
    /// As [`Self::hold_in_flight`]. The pod is not assumed then.
    pub fn carry_out_holding(
        &mut self,
        plan: &Plan,
        until: Instant,
        allocations: &[(Arc<str>, Vec<AllocatedDevice>)],
    ) -> Result<Placed, InFlightError> {
        allocations.iter().try_for_each(|(uid, _)| self.claims.check_free(uid))?;
        let placed = self.carry_out(plan, until);
        self.hold_for_pod(&plan.pod.uid, allocations)?;
        Ok(placed)
    }

    /// Returns the devices held in flight for the claims of a pod; none where nothing is held.
    pub fn held_for_pod(&self, pod_uid: &Arc<str>) -> Option<PodHolds> {
        self.claims.held_for(pod_uid)
    }

    /// Gives up what is in flight for the claims of a pod.
    pub fn release_pod(&mut self, pod_uid: &str) {
        let change = self.claims.release_pod(pod_uid);
        self.claims_changed(change);
    }

    /// Holds devices again that [`Self::release_pod`] has given up.
    ///
    /// # Errors
    /// As [`Self::hold_in_flight`].
    pub fn hold_again(&mut self, PodHolds { pod_uid, held }: PodHolds) -> Result<(), InFlightError> {
        let change = self.claims.hold_for_pod(&pod_uid, held.into_iter())?;
        self.claims_changed(Some(change));
        Ok(())
    }

    /// Gives up an allocation in flight, of which the UID is given as to [`Self::hold_in_flight`].
    pub fn release_in_flight(&mut self, uid: &str) {
        let change = self.claims.release_in_flight(uid);
        self.claims_changed(change);
    }

    /// Adds a DeviceClass, or replaces what is known of the one of its name.
    pub(super) fn apply_device_class(&mut self, record: ClassRecord) {
        let serves: Vec<Arc<str>> = record.served_resources().collect();
        let serves_others = self.device_classes.insert(&record.name, &serves);
        if self.claims.apply_class(record) {
            self.claims_changed(Some(HoldChange::default()));
        } else if serves_others {
            self.advance_generation();
        }
    }

    /// Removes the DeviceClass of this name.
    pub(super) fn remove_device_class(&mut self, name: &str) {
        let serves_others = self.device_classes.remove(name);
        if self.claims.remove_class(name) {
            self.claims_changed(Some(HoldChange::default()));
        } else if serves_others {
            self.advance_generation();
        }
    }

    /// Starts a generation with other claims; `change` is none where they are the same.
    fn claims_changed(&mut self, change: Option<HoldChange>) {
        let Some(HoldChange { held, released }) = change else { return };
        self.advance_generation();
        self.claims.note_change(self.generation);
        held.iter().for_each(|holds| self.hold_devices(&**holds));
        released.iter().for_each(|holds| self.release_devices(&**holds));
    }
}
