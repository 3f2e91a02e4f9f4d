//! The functions of the contract, answered from a [`Context`]: one method per function, in the order of the contract. To add
//! one, see `host/engine/facts.txt`.

use std::borrow::Cow;
use std::sync::Arc;

use nodesift_cache::{LabelColumn, Moment, NOT_AN_INTEGER, PortUse};
use nodesift_object::affinity::{PodAffinityTerm, PreferredTerm};
use nodesift_object::node::Taint;
use nodesift_sandbox::{Facts, Kept, Meter, NoValue, Rows, wire};

use super::context::{Batch, Context};
use super::convert;
use super::ports::WantedPorts;
use crate::limits::{CLAIMS_WEIGHT, VOLUME_WEIGHT};

impl Facts for Context {
    fn weight(&self) -> usize {
        // A claim is an object of its own, and devices are searched for it.
        let claims = if self.pod.resource_claims.is_empty() { 0 } else { CLAIMS_WEIGHT };
        // Each of its claims may be bound to each of the volumes.
        let binds = self.pod.volumes.iter().any(|volume| volume.claim.is_some());
        let volumes = if binds { self.snapshot.storage().volume_count() * VOLUME_WEIGHT } else { 0 };
        // What others ask for stays: the claims and volumes of an ordinary pod take as long.
        let own = if self.is_throttled() { 0 } else { self.pod_bytes() };
        own + claims + volumes
    }

    fn fill(&self, kept: Kept, meter: &Meter) -> Result<(), NoValue> {
        match (kept, self.batch()) {
            (Kept::NodeNames, Batch::All) => _ = self.snapshot.names().flat(),
            // A list of some rows is made for each call.
            (Kept::NodeNames, Batch::Rows(_)) => {}
            (Kept::MatchedTerms | Kept::ScoringTerms, _) => return self.look_up_terms(kept, &|| meter.goes_on()),
            (Kept::VolumeUse, _) => _ = self.snapshot.volume_use(),
            (Kept::Attachments, _) => _ = self.snapshot.attachments(),
            (Kept::DeviceSelectors, _) => return self.evaluate_claims(),
        }
        Ok(())
    }

    fn namespace(&self) -> Arc<str> {
        Arc::clone(&self.pod.namespace)
    }

    fn label(&self, key: &str) -> Option<Arc<str>> {
        self.pod.label(key).cloned()
    }

    fn annotation(&self, key: &str) -> Option<Arc<str>> {
        self.shows_annotation(key).then(|| self.pod.annotation(key).cloned())?
    }

    fn node_name(&self) -> Option<Arc<str>> {
        self.node_name.clone()
    }

    fn node_selector(&self) -> Arc<[(Arc<str>, Arc<str>)]> {
        Arc::clone(&self.pod.node_selector)
    }

    fn required_terms(&self) -> Option<Vec<wire::Term>> {
        let selector = self.pod.required_affinity.as_ref()?;
        Some(selector.node_selector_terms.iter().map(convert::node_selector_term).collect())
    }

    fn preferred_terms(&self) -> Option<Vec<wire::PreferredTerm>> {
        let term = |preferred: &PreferredTerm| wire::PreferredTerm {
            weight: preferred.weight,
            preference: convert::node_selector_term(&preferred.preference),
        };
        Some(self.pod.preferred_affinity.as_ref()?.iter().map(term).collect())
    }

    fn tolerations(&self) -> Vec<wire::Toleration> {
        self.pod.tolerations.iter().map(convert::toleration).collect()
    }

    fn requests(&self) -> Vec<wire::Request> {
        self.pod.requests.iter().map(request).collect()
    }

    fn non_zero_requests(&self) -> Vec<wire::Request> {
        self.pod.non_zero_requests.iter().map(request).collect()
    }

    fn container_images(&self) -> Arc<[Arc<str>]> {
        self.pod.images.as_ref().map(|images| Arc::clone(&images.containers)).unwrap_or_default()
    }

    fn volume_images(&self) -> Arc<[Arc<str>]> {
        self.pod.images.as_ref().map(|images| Arc::clone(&images.volumes)).unwrap_or_default()
    }

    fn names(&self) -> Arc<[Arc<str>]> {
        self.column(self.snapshot.names())
    }

    fn row(&self, name: &str) -> Option<u32> {
        let row = self.snapshot.node_row(name)?;
        match self.batch() {
            Batch::All => Some(row.0),
            Batch::Rows(rows) => rows.iter().position(|known| *known == row).and_then(|at| u32::try_from(at).ok()),
        }
    }

    fn label_column(&self, key: &str) -> Arc<[u32]> {
        self.codes(self.snapshot.label_column(key))
    }

    fn label_code(&self, key: &str, text: &str) -> Option<u32> {
        self.snapshot.label_column(key)?.dictionary().code(text)
    }

    fn label_dictionary(&self, key: &str) -> Arc<[Arc<str>]> {
        dictionary(self.snapshot.label_column(key))
    }

    fn label_integers(&self, key: &str) -> Arc<[i64]> {
        integers(self.snapshot.label_column(key))
    }

    fn rows_with_label_in(&self, key: &str, values: &[Cow<'_, str>]) -> Rows {
        self.rows_in(self.snapshot.label_column(key), values)
    }

    fn rows_with_label(&self, key: &str) -> Rows {
        self.rows_with(self.snapshot.label_column(key))
    }

    fn annotation_column(&self, key: &str) -> Arc<[u32]> {
        self.codes(self.annotations_of_nodes(key))
    }

    fn annotation_code(&self, key: &str, text: &str) -> Option<u32> {
        self.annotations_of_nodes(key)?.dictionary().code(text)
    }

    fn annotation_dictionary(&self, key: &str) -> Arc<[Arc<str>]> {
        dictionary(self.annotations_of_nodes(key))
    }

    fn annotation_integers(&self, key: &str) -> Arc<[i64]> {
        integers(self.annotations_of_nodes(key))
    }

    fn rows_with_annotation_in(&self, key: &str, values: &[Cow<'_, str>]) -> Rows {
        self.rows_in(self.annotations_of_nodes(key), values)
    }

    fn rows_with_annotation(&self, key: &str) -> Rows {
        self.rows_with(self.annotations_of_nodes(key))
    }

    fn unschedulable(&self) -> Arc<[u8]> {
        self.column(self.snapshot.unschedulable())
    }

    fn taint_sets(&self) -> Vec<Vec<wire::Taint>> {
        let taint = |taint: &Taint| wire::Taint {
            key: Arc::from(taint.key.as_str()),
            value: Arc::from(taint.value.as_str()),
            effect: convert::effect(taint.effect),
        };
        self.snapshot.taint_sets().iter().map(|set| set.iter().map(taint).collect()).collect()
    }

    fn taint_column(&self) -> Arc<[u32]> {
        self.column(self.snapshot.taint_codes())
    }

    fn rows_unschedulable(&self) -> Rows {
        Rows::from_column(&self.unschedulable(), |flag| flag != 0)
    }

    fn rows_untolerated(&self) -> Rows {
        self.rows_with_untolerated_taint()
    }

    fn allocatable(&self, resource: &str) -> Arc<[i64]> {
        self.resource(resource, |resource| &resource.allocatable)
    }

    fn requested(&self, resource: &str) -> Arc<[i64]> {
        let allocatable = self.allocatable(resource);
        let free = self.free(resource);
        allocatable.iter().zip(free.iter()).map(|(allocatable, free)| allocatable.wrapping_sub(*free)).collect()
    }

    fn foreign(&self, resource: &str) -> Arc<[i64]> {
        self.resource(resource, |resource| &resource.foreign)
    }

    fn free(&self, resource: &str) -> Arc<[i64]> {
        self.resource(resource, |resource| &resource.free)
    }

    fn pods(&self) -> Arc<[i64]> {
        self.column(self.snapshot.pods())
    }

    fn foreign_pods(&self) -> Arc<[i64]> {
        self.column(self.snapshot.foreign_pods())
    }

    fn pod_limit(&self) -> Arc<[i64]> {
        self.column(self.snapshot.pod_limit())
    }

    fn pod_room(&self) -> Arc<[i64]> {
        self.column(self.snapshot.pod_room())
    }

    fn device_class_serves(&self, resource: &str) -> bool {
        self.snapshot.device_class_serves(resource)
    }

    fn rows_with_free(&self, resource: &str, amount: i64) -> Rows {
        Rows::from_column(&self.free(resource), |free| free >= amount)
    }

    fn named_sum(&self, name: &str) -> Arc<[i64]> {
        self.snapshot.named_sum(name).map_or_else(|| self.constant(0), |sum| self.column(sum))
    }

    fn non_zero_requested(&self, resource: &str) -> Arc<[i64]> {
        self.snapshot.non_zero_sum(resource).map_or_else(|| self.constant(0), |sum| self.column(sum))
    }

    fn port_conflicts(&self) -> Option<Arc<[u8]>> {
        if self.pod.host_ports.is_empty() {
            return None;
        }
        // Nodes share few distinct sets of used ports: judge each set once.
        let wanted = WantedPorts::new(&self.pod.host_ports);
        let conflicts = |in_use: &PortUse| in_use.iter().any(|(taken, _)| wanted.conflict_with(taken));
        let by_set: Vec<u8> = self.snapshot.port_sets().iter().map(|set| u8::from(conflicts(set))).collect();
        let codes = self.column(self.snapshot.port_codes());
        Some(codes.iter().map(|code| by_set.get(*code as usize).copied().unwrap_or(0)).collect())
    }

    fn spread_constraints(&self) -> Vec<wire::SpreadConstraint> {
        self.pod.spread.iter().map(convert::constraint).collect()
    }

    fn default_selector(&self) -> Option<wire::LabelSelector> {
        self.merged_selector()
    }

    fn affinity(&self) -> Vec<wire::AffinityTerm> {
        self.pod.affinity.iter().map(convert::pod_affinity_term).collect()
    }

    fn anti_affinity(&self) -> Vec<wire::AffinityTerm> {
        self.pod.anti_affinity.iter().map(convert::pod_affinity_term).collect()
    }

    fn invalid_preferred(&self) -> (Vec<wire::AffinityTerm>, Vec<wire::AffinityTerm>) {
        let Some(terms) = &self.pod.invalid_preferred else { return (Vec::new(), Vec::new()) };
        let (affinity, anti_affinity) = &**terms;
        let terms = |terms: &[PodAffinityTerm]| terms.iter().map(convert::pod_affinity_term).collect();
        (terms(affinity), terms(anti_affinity))
    }

    fn preferred_affinity(&self) -> Vec<(i32, wire::AffinityTerm)> {
        self.pod.preferences.as_ref().map_or_else(Vec::new, |all| convert::weighted_terms(&all.affinity))
    }

    fn preferred_anti_affinity(&self) -> Vec<(i32, wire::AffinityTerm)> {
        self.pod.preferences.as_ref().map_or_else(Vec::new, |all| convert::weighted_terms(&all.anti_affinity))
    }

    fn matching_pods(
        &self,
        selectors: &[wire::PodSelector],
        terminating: bool,
        meter: &Meter,
    ) -> Result<Arc<[u32]>, NoValue> {
        let key = Self::count_key(selectors, terminating).ok_or(NoValue::UnknownOperator)?;
        Ok(self.column(&self.count_within(&key, meter)?))
    }

    fn requested_by_pods(
        &self,
        selectors: &[wire::PodSelector],
        resource: &str,
        terminating: bool,
        meter: &Meter,
    ) -> Result<Arc<[i64]>, NoValue> {
        let key = Self::sum_key(selectors, resource, terminating).ok_or(NoValue::UnknownOperator)?;
        Ok(self.column(&self.sum_within(&key, meter)?))
    }

    fn matches_this_pod(&self, selectors: &[wire::PodSelector]) -> Result<bool, NoValue> {
        Ok(self.is_matched_by(&convert::pod_selectors(selectors).ok_or(NoValue::UnknownOperator)?))
    }

    fn same_controller(&self, terminating: bool) -> Option<Arc<[u32]>> {
        Some(self.count_siblings(&self.siblings()?, terminating))
    }

    fn feasible(&self) -> Arc<[u8]> {
        self.candidates.as_ref().map_or_else(|| self.constant(1), Arc::clone)
    }

    fn anti_affinity_keys(&self) -> Vec<Arc<str>> {
        self.matched_topology_keys()
    }

    fn anti_affinity_terms(&self, topology_key: &str) -> Arc<[u32]> {
        self.count_matched_terms(topology_key)
    }

    fn preference_keys(&self) -> Vec<Arc<str>> {
        self.scoring_keys()
    }

    fn preference_terms(&self, topology_key: &str) -> Arc<[u32]> {
        self.scoring_sums(topology_key).preferred
    }

    fn preference_weights(&self, topology_key: &str) -> Arc<[i64]> {
        self.scoring_sums(topology_key).weights
    }

    fn required_affinity_terms(&self, topology_key: &str) -> Arc<[u32]> {
        self.scoring_sums(topology_key).required
    }

    fn required_features(&self) -> Vec<Arc<str>> {
        self.pod.required_features.clone()
    }

    fn feature_sets(&self) -> Vec<Vec<Arc<str>>> {
        self.snapshot.feature_sets().iter().map(|set| set.to_vec()).collect()
    }

    fn feature_column(&self) -> Arc<[u32]> {
        self.column(self.snapshot.feature_codes())
    }

    fn condition_column(&self, kind: &str) -> Arc<[u8]> {
        let by_set = self.condition_by_set(kind);
        let codes = self.column(self.snapshot.condition_codes());
        codes.iter().map(|code| by_set.get(*code as usize).copied().unwrap_or(0)).collect()
    }

    fn info_column(&self, field: wire::InfoField) -> Arc<[u32]> {
        self.codes(self.snapshot.info_column(field.name()))
    }

    fn info_code(&self, field: wire::InfoField, text: &str) -> Option<u32> {
        self.snapshot.info_column(field.name())?.dictionary().code(text)
    }

    fn info_dictionary(&self, field: wire::InfoField) -> Arc<[Arc<str>]> {
        dictionary(self.snapshot.info_column(field.name()))
    }

    fn image_column(&self, image: &str) -> Arc<[u8]> {
        match self.snapshot.image_column(image) {
            Some(column) => self.column(&column.codes).iter().map(|code| u8::from(*code != 0)).collect(),
            None => self.constant(0),
        }
    }

    fn image_size(&self, image: &str) -> i64 {
        self.snapshot.image_size(image).unwrap_or(0)
    }

    fn volumes(&self) -> Vec<wire::PodVolume> {
        self.volumes_of_pod()
    }

    fn owner(&self) -> (Arc<str>, Arc<str>, Arc<str>) {
        self.owner_of_claims()
    }

    fn namespace_label(&self, key: &str) -> Option<Arc<str>> {
        self.snapshot.namespace_label(&self.pod.namespace, key).cloned()
    }

    fn priority(&self) -> i32 {
        self.pod.spec.as_ref().map_or(0, |spec| spec.priority)
    }

    fn priority_class(&self) -> Option<Arc<str>> {
        self.pod.spec.as_ref()?.priority_class.clone()
    }

    fn service_account(&self) -> Option<Arc<str>> {
        self.pod.spec.as_ref()?.service_account.clone()
    }

    fn runtime_class(&self) -> Option<Arc<str>> {
        self.pod.spec.as_ref()?.runtime_class.clone()
    }

    fn host_network(&self) -> bool {
        self.pod.spec.as_ref().is_some_and(|spec| spec.host_network)
    }

    fn images(&self) -> Arc<[Arc<str>]> {
        self.pod.spec.as_ref().map(|spec| Arc::clone(&spec.images)).unwrap_or_default()
    }

    fn scheduler_name(&self) -> Arc<str> {
        Arc::clone(&self.pod.scheduler_name)
    }

    fn controller(&self) -> Option<wire::Controller> {
        self.pod.owner.as_deref().map(convert::controller)
    }

    fn controller_uid(&self) -> Option<Arc<str>> {
        Some(Arc::clone(&self.pod.owner.as_ref()?.uid))
    }

    fn claims(&self) -> Result<Arc<[wire::claims::Claim]>, wire::claims::Obstacle> {
        self.device_claims()
    }

    fn extended(&self) -> Option<Arc<wire::claims::Extended>> {
        self.extended_resources()
    }

    fn claim_name(&self, claim: u32) -> Arc<str> {
        self.name_of_claim(claim)
    }

    fn chosen(&self, claim: u32) -> Arc<[u32]> {
        self.chosen_in_claim(claim)
    }

    fn deriving(&self, claim: u32) -> Arc<[u32]> {
        self.deriving_in_claim(claim)
    }

    fn devices(&self, query: &wire::devices::Query) -> Result<Arc<wire::devices::Devices>, NoValue> {
        self.devices_in_time(query)
    }

    fn unsuitable(&self) -> Arc<[wire::PartyColumn]> {
        self.party_columns()
    }

    fn config_entry(&self, config_map: &str, key: &str) -> Option<Arc<str>> {
        self.shows_config_map(config_map).then(|| self.snapshot.config_entry(config_map, key).cloned())?
    }

    fn passed(&self, at: i64) -> bool {
        self.now() >= at
    }

    fn disk_users(&self, kind: wire::DiskKind, id: &str) -> Vec<wire::DiskUser> {
        self.users_of_disk(kind, id)
    }

    fn claim_users(&self, claim: &str) -> u32 {
        self.users_of_claim(claim)
    }

    fn wanted_attachments(&self, registered: bool) -> Result<Vec<wire::Attachment>, wire::Obstacle> {
        self.attachments_wanted(registered)
    }

    fn attachment_registered(&self) -> Arc<[u8]> {
        self.snapshot.attachments().registered().into()
    }

    fn attachment_limited(&self) -> Arc<[u8]> {
        self.snapshot.attachments().limited().into()
    }

    fn driver_missing(&self, driver: &str) -> Arc<[u8]> {
        self.rows_without_driver(driver)
    }

    fn attachment_limit(&self, driver: &str) -> Arc<[i64]> {
        self.attachments_limit(driver)
    }

    fn attachments_used(&self, driver: &str) -> Arc<[i64]> {
        self.attachments_in_use(driver)
    }

    fn rows_with_attachment(&self, volume: &wire::Attachment) -> Vec<u32> {
        self.snapshot.attachments().rows_with(&volume.driver, &volume.handle).to_vec()
    }

    fn uncounted_pods(&self) -> Vec<wire::UncountedPod> {
        self.pods_uncounted()
    }

    fn claim(&self, name: &str) -> Option<wire::Claim> {
        self.claim_of_pod(name)
    }

    fn volume(&self, name: &str) -> Option<wire::Volume> {
        self.persistent_volume(name)
    }

    fn volumes_for(&self, claim: &str, meter: &Meter) -> Result<Arc<[wire::Volume]>, NoValue> {
        self.persistent_volumes_for(claim, meter)
    }

    fn exact_sizes(&self, claim: &str, meter: &Meter) -> Result<Option<wire::ExactSizes>, NoValue> {
        self.exact_sizes_of(claim, meter)
    }

    fn storage_class(&self, name: &str) -> Option<wire::StorageClass> {
        self.class_of_storage(name)
    }

    fn default_class(&self) -> Option<Arc<str>> {
        self.class_by_default()
    }

    fn driver_reports_capacity(&self, driver: &str) -> bool {
        self.reports_capacity(driver)
    }

    fn capacities(&self, class_name: &str, meter: &Meter) -> Result<Arc<[wire::StorageCapacity]>, NoValue> {
        self.capacities_of(class_name, meter)
    }

    fn migrated(&self, plugin: &str) -> Arc<[u8]> {
        self.rows_migrated(plugin)
    }
    // contract: moments, made by `make contract`

    fn created(&self) -> Arc<[i64]> {
        self.column(self.snapshot.moments(Moment::Created))
    }
    // contract: end
}

/// The dictionary of a column; that of a column without values where there is none.
fn request((resource, amount): &(Arc<str>, i64)) -> wire::Request {
    wire::Request { resource: resource.clone(), amount: *amount }
}

fn dictionary(column: Option<Arc<LabelColumn>>) -> Arc<[Arc<str>]> {
    column.map_or_else(|| [Arc::from("")].into(), |column| column.dictionary().listed())
}

/// The dictionary of a column as integers.
fn integers(column: Option<Arc<LabelColumn>>) -> Arc<[i64]> {
    column.map_or_else(|| [NOT_AN_INTEGER].into(), |column| column.dictionary().integers())
}
