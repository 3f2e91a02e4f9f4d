//! The facts of the fixture: [`Batch`] implements [`Facts`] for some nodes of a [`Cluster`], one plain loop per fact. Totals over pods on
//! nodes are in `running`.

mod dictionaries;

use std::cell::Cell;
use std::collections::BTreeMap;

use super::claims;
use super::cluster::Cluster;
use super::node::{Node, field_name};
use super::parties;
use super::running::{self, count};
use crate::columns::cluster_attachments::{Attachment, Obstacle, UncountedPod};
use crate::columns::cluster_pods::PodSelector;
use crate::columns::cluster_storage::{Capacity, Claim, Class, ExactSizes, Volume as StoredVolume};
use crate::columns::cluster_volume_use::{DiskKind, DiskUser};
use crate::columns::node_conditions;
use crate::columns::node_devices::{DeviceColumns, Query};
use crate::columns::node_info::Field;
use crate::columns::node_parties::PartyColumn;
use crate::columns::node_taints::Taint;
use crate::columns::pod_affinity;
use crate::columns::pod_claims;
use crate::columns::pod_owner::Owner;
use crate::columns::pod_placement::{PreferredTerm, Term};
use crate::columns::pod_resources::Request;
use crate::columns::pod_spread::Constraint;
use crate::columns::pod_tolerations::Toleration;
use crate::columns::pod_volumes::Volume;
use crate::columns::selectors::LabelSelector;
use crate::facts::Facts;
use dictionaries::{annotations, index, info, labels};

/// A batch of some nodes of a cluster.
pub(super) struct Batch {
    cluster: Cluster,
    /// Per row of the batch, the index of its node in the cluster.
    rows: Vec<usize>,
    /// Whether a `cluster-*` fact has been read.
    cluster_wide: Cell<bool>,
}

impl Batch {
    pub(super) fn new(cluster: Cluster, rows: Vec<usize>) -> Self {
        Self { cluster, rows, cluster_wide: Cell::new(false) }
    }

    pub(super) fn has_read_cluster_facts(&self) -> bool {
        self.cluster_wide.get()
    }

    /// The cluster, for `cluster-*` facts. Reading one makes the predicate cluster-wide.
    fn all_rows(&self) -> &Cluster {
        self.cluster_wide.set(true);
        &self.cluster
    }

    /// A column over the rows of the batch.
    fn column<T>(&self, value: impl Fn(&Node) -> T) -> Vec<T> {
        self.rows.iter().filter_map(|row| self.cluster.nodes.get(*row)).map(value).collect()
    }
}

fn amount(amounts: &BTreeMap<String, i64>, resource: &str) -> i64 {
    amounts.get(resource).copied().unwrap_or(0)
}

impl Facts for Batch {
    fn pod_labels_namespace(&self) -> String {
        self.cluster.pod.namespace.clone()
    }

    fn pod_labels_label(&self, key: &str) -> Option<String> {
        self.cluster.pod.labels.get(key).cloned()
    }

    fn pod_annotations_annotation(&self, key: &str) -> Option<String> {
        self.cluster.pod.annotations.get(key).cloned()
    }

    fn pod_placement_node_name(&self) -> Option<String> {
        self.cluster.pod.node_name.clone()
    }

    fn pod_placement_node_selector(&self) -> Vec<(String, String)> {
        self.cluster.pod.node_selector.clone().into_iter().collect()
    }

    fn pod_placement_required_terms(&self) -> Option<Vec<Term>> {
        self.cluster.pod.required_terms.clone()
    }

    fn pod_placement_preferred_terms(&self) -> Option<Vec<PreferredTerm>> {
        self.cluster.pod.preferred_terms.clone()
    }

    fn pod_tolerations_tolerations(&self) -> Vec<Toleration> {
        self.cluster.pod.tolerations.clone()
    }

    fn pod_resources_requests(&self) -> Vec<Request> {
        self.cluster.pod.requests.clone()
    }

    fn pod_non_zero_requests_requests(&self) -> Vec<Request> {
        self.cluster.pod.non_zero_requests.clone()
    }

    fn pod_images_containers(&self) -> Vec<String> {
        self.cluster.pod.container_images.clone()
    }

    fn pod_images_volumes(&self) -> Vec<String> {
        self.cluster.pod.volume_images.clone()
    }

    fn node_identity_names(&self) -> Vec<String> {
        self.column(|node| node.name.clone())
    }

    fn node_identity_row(&self, name: &str) -> Option<u32> {
        index(&self.node_identity_names(), &name.to_owned(), 0)
    }

    fn node_labels_column(&self, key: &str) -> Vec<u32> {
        self.codes(labels, key)
    }

    fn node_labels_code(&self, key: &str, text: &str) -> Option<u32> {
        index(&self.dictionary(labels, key), &text.to_owned(), 1)
    }

    fn node_labels_dictionary(&self, key: &str) -> Vec<String> {
        self.dictionary(labels, key)
    }

    fn node_labels_integers(&self, key: &str) -> Vec<i64> {
        self.integers(labels, key)
    }

    fn node_annotations_column(&self, key: &str) -> Vec<u32> {
        self.codes(annotations, key)
    }

    fn node_annotations_code(&self, key: &str, text: &str) -> Option<u32> {
        index(&self.dictionary(annotations, key), &text.to_owned(), 1)
    }

    fn node_annotations_dictionary(&self, key: &str) -> Vec<String> {
        self.dictionary(annotations, key)
    }

    fn node_annotations_integers(&self, key: &str) -> Vec<i64> {
        self.integers(annotations, key)
    }

    fn node_taints_unschedulable(&self) -> Vec<u8> {
        self.column(|node| u8::from(node.unschedulable))
    }

    fn node_taints_sets(&self) -> Vec<Vec<Taint>> {
        self.taint_sets()
    }

    fn node_taints_column(&self) -> Vec<u32> {
        let sets = self.taint_sets();
        self.column(|node| index(&sets, &node.taints, 0).unwrap_or(0))
    }

    fn node_resources_allocatable(&self, resource: &str) -> Vec<i64> {
        self.column(|node| amount(&node.allocatable, resource))
    }

    fn node_resources_requested(&self, resource: &str) -> Vec<i64> {
        self.column(|node| amount(&node.requested, resource))
    }

    fn node_resources_foreign(&self, resource: &str) -> Vec<i64> {
        self.column(|node| amount(&node.foreign, resource))
    }

    fn node_resources_free(&self, resource: &str) -> Vec<i64> {
        self.column(|node| amount(&node.allocatable, resource).wrapping_sub(amount(&node.requested, resource)))
    }

    fn node_resources_pods(&self) -> Vec<i64> {
        self.column(|node| node.pods)
    }

    fn node_resources_foreign_pods(&self) -> Vec<i64> {
        self.column(|node| node.foreign_pods)
    }

    fn node_resources_pod_limit(&self) -> Vec<i64> {
        self.column(|node| node.pod_limit)
    }

    fn node_resources_pod_room(&self) -> Vec<i64> {
        self.column(|node| node.pod_limit.wrapping_sub(node.pods))
    }

    fn node_resources_device_class_serves(&self, resource: &str) -> bool {
        self.cluster.device_classes.contains(resource)
    }

    fn node_non_zero_requests_requested(&self, resource: &str) -> Vec<i64> {
        self.column(|node| amount(&node.non_zero, resource))
    }

    fn node_ports_conflicts(&self) -> Option<Vec<u8>> {
        self.cluster.pod.host_port.then(|| self.column(|node| u8::from(node.port_taken)))
    }

    fn pod_spread_constraints(&self) -> Vec<Constraint> {
        self.cluster.pod.constraints.clone()
    }

    fn pod_spread_default_selector(&self) -> Option<LabelSelector> {
        self.cluster.pod.default_selector.clone()
    }

    fn pod_affinity_affinity(&self) -> Vec<pod_affinity::Term> {
        self.cluster.pod.affinity.clone()
    }

    fn pod_affinity_anti_affinity(&self) -> Vec<pod_affinity::Term> {
        self.cluster.pod.anti_affinity.clone()
    }

    fn pod_affinity_invalid_preferred(&self) -> (Vec<pod_affinity::Term>, Vec<pod_affinity::Term>) {
        self.cluster.pod.invalid_preferred.clone()
    }

    fn pod_preferred_affinity_affinity(&self) -> Vec<(i32, pod_affinity::Term)> {
        self.cluster.pod.preferred_affinity.clone()
    }

    fn pod_preferred_affinity_anti_affinity(&self) -> Vec<(i32, pod_affinity::Term)> {
        self.cluster.pod.preferred_anti_affinity.clone()
    }

    fn pod_features_required(&self) -> Vec<String> {
        self.cluster.pod.features.iter().cloned().collect()
    }

    fn pod_volumes_volumes(&self) -> Vec<Volume> {
        self.cluster.pod.volumes.clone()
    }

    fn pod_volumes_owner(&self) -> (String, String, String) {
        let pod = &self.cluster.pod;
        (pod.namespace.clone(), pod.name.clone(), pod.uid.clone())
    }

    fn namespace_labels_label(&self, key: &str) -> Option<String> {
        self.cluster.namespaces.get(&self.cluster.pod.namespace)?.get(key).cloned()
    }

    fn pod_spec_priority(&self) -> i32 {
        self.cluster.pod.priority
    }

    fn pod_spec_priority_class(&self) -> Option<String> {
        self.cluster.pod.priority_class.clone()
    }

    fn pod_spec_service_account(&self) -> Option<String> {
        self.cluster.pod.service_account.clone()
    }

    fn pod_spec_runtime_class(&self) -> Option<String> {
        self.cluster.pod.runtime_class.clone()
    }

    fn pod_spec_host_network(&self) -> bool {
        self.cluster.pod.host_network
    }

    fn pod_spec_images(&self) -> Vec<String> {
        self.cluster.pod.images.iter().cloned().collect()
    }

    fn pod_spec_scheduler_name(&self) -> String {
        self.cluster.pod.scheduler_name.clone()
    }

    fn pod_owner_controller(&self) -> Option<Owner> {
        self.cluster.pod.controller.clone().map(|(owner, _)| owner)
    }

    fn pod_owner_controller_uid(&self) -> Option<String> {
        self.cluster.pod.controller.clone().map(|(_, uid)| uid)
    }

    fn pod_claims_claims(&self) -> Result<Vec<pod_claims::Claim>, pod_claims::Obstacle> {
        claims::claims(&self.cluster.pod, &self.rows)
    }

    fn pod_claims_extended(&self) -> Option<pod_claims::ExtendedResources> {
        claims::extended(&self.cluster.pod, &self.rows)
    }

    fn pod_claims_claim_name(&self, claim: u32) -> String {
        claims::claim_name(&self.cluster.pod, claim)
    }

    fn pod_claims_chosen(&self, claim: u32) -> Vec<u32> {
        claims::chosen(&self.cluster.pod, claim)
    }

    fn pod_claims_deriving(&self, claim: u32) -> Vec<u32> {
        claims::deriving(&self.cluster.pod, claim)
    }

    fn node_features_sets(&self) -> Vec<Vec<String>> {
        self.feature_sets()
    }

    fn node_features_column(&self) -> Vec<u32> {
        let sets = self.feature_sets();
        self.column(|node| index(&sets, &node.features.iter().cloned().collect(), 0).unwrap_or(0))
    }

    fn time_passed(&self, at: i64) -> bool {
        self.cluster.now >= at
    }

    fn config_maps_entry(&self, config_map: &str, key: &str) -> Option<String> {
        self.cluster.config_maps.get(config_map)?.get(key).cloned()
    }

    fn node_sums_column(&self, name: &str) -> Vec<i64> {
        self.column(|node| amount(&node.sums, name))
    }

    fn node_conditions_column(&self, kind: &str) -> Vec<u8> {
        self.column(|node| node.conditions.get(kind).copied().unwrap_or(node_conditions::ABSENT))
    }

    fn node_info_column(&self, field: Field) -> Vec<u32> {
        self.codes(info, field_name(field))
    }

    fn node_info_code(&self, field: Field, text: &str) -> Option<u32> {
        index(&self.dictionary(info, field_name(field)), &text.to_owned(), 1)
    }

    fn node_info_dictionary(&self, field: Field) -> Vec<String> {
        self.dictionary(info, field_name(field))
    }

    fn node_images_present(&self, image: &str) -> Vec<u8> {
        self.column(|node| u8::from(node.images.contains_key(image)))
    }

    fn node_devices_devices(&self, _: &Query) -> DeviceColumns {
        claims::devices(&self.cluster, &self.rows)
    }

    fn node_parties_unsuitable(&self) -> Vec<PartyColumn> {
        parties::unsuitable(&self.cluster, &self.rows)
    }

    fn cluster_pods_matching(&self, selectors: &[PodSelector], terminating: bool) -> Vec<u32> {
        running::matching(self.all_rows(), selectors, terminating)
    }

    fn cluster_pods_requested(&self, selectors: &[PodSelector], resource: &str, terminating: bool) -> Vec<i64> {
        running::requested(self.all_rows(), selectors, resource, terminating)
    }

    fn cluster_pods_matches_this_pod(&self, selectors: &[PodSelector]) -> bool {
        let cluster = self.all_rows();
        let namespace = cluster.namespaces.get(&cluster.pod.namespace);
        selectors.iter().all(|selector| cluster.selects(selector, &cluster.pod, namespace))
    }

    fn cluster_controllers_same_controller(&self, terminating: bool) -> Option<Vec<u32>> {
        running::same_controller(self.all_rows(), terminating)
    }

    fn cluster_candidates_feasible(&self) -> Vec<u8> {
        self.all_rows().nodes.iter().map(|node| u8::from(!node.infeasible)).collect()
    }

    fn cluster_affinity_topology_keys(&self) -> Vec<String> {
        running::anti_affinity_keys(self.all_rows())
    }

    fn cluster_affinity_anti_affinity_terms(&self, topology_key: &str) -> Vec<u32> {
        running::anti_affinity_terms(self.all_rows(), topology_key)
    }

    fn cluster_preferences_topology_keys(&self) -> Vec<String> {
        running::preference_keys(self.all_rows())
    }

    fn cluster_preferences_preferred_terms(&self, topology_key: &str) -> Vec<u32> {
        running::preferred_terms(self.all_rows(), topology_key)
    }

    fn cluster_preferences_weights(&self, topology_key: &str) -> Vec<i64> {
        running::preferred_weights(self.all_rows(), topology_key)
    }

    fn cluster_preferences_required_terms(&self, topology_key: &str) -> Vec<u32> {
        running::required_terms(self.all_rows(), topology_key)
    }

    fn cluster_volume_use_disk_users(&self, kind: DiskKind, id: &str) -> Vec<DiskUser> {
        running::disk_users(self.all_rows(), kind, id)
    }

    fn cluster_volume_use_claim_users(&self, claim: &str) -> u32 {
        running::claim_users(self.all_rows(), claim)
    }

    fn cluster_attachments_wanted(&self, registered: bool) -> Result<Vec<Attachment>, Obstacle> {
        let storage = &self.all_rows().storage;
        if registered { storage.wanted.clone() } else { storage.wanted_unregistered.clone() }
    }

    fn cluster_attachments_registered(&self) -> Vec<u8> {
        self.all_rows().nodes.iter().map(|node| u8::from(!node.unregistered)).collect()
    }

    fn cluster_attachments_limited(&self) -> Vec<u8> {
        self.all_rows().nodes.iter().map(|node| u8::from(!node.limits.is_empty())).collect()
    }

    fn cluster_attachments_driver_missing(&self, driver: &str) -> Vec<u8> {
        self.all_rows().nodes.iter().map(|node| u8::from(node.missing_drivers.contains(driver))).collect()
    }

    fn cluster_attachments_limit(&self, driver: &str) -> Vec<i64> {
        self.all_rows().nodes.iter().map(|node| node.limits.get(driver).copied().unwrap_or(i64::MAX)).collect()
    }

    fn cluster_attachments_used(&self, driver: &str) -> Vec<i64> {
        let used = |node: &Node| {
            i64::from(count(node.attached.union(&node.attached_unused).filter(|volume| volume.driver == driver)))
        };
        self.all_rows().nodes.iter().map(used).collect()
    }

    fn cluster_attachments_rows_with(&self, volume: &Attachment) -> Vec<u32> {
        let rows = (0_u32..).zip(&self.all_rows().nodes);
        rows.filter(|(_, node)| node.attached.contains(volume)).map(|(row, _)| row).collect()
    }

    fn cluster_attachments_uncounted(&self) -> Vec<UncountedPod> {
        let rows = (0_u32..).zip(&self.all_rows().nodes);
        let uncounted = rows.filter_map(|(row, node)| Some((row, node.uncounted.clone()?)));
        uncounted.map(|(row, (namespace, pod, obstacle))| UncountedPod { row, namespace, pod, obstacle }).collect()
    }

    fn cluster_storage_claim_named(&self, name: &str) -> Option<Claim> {
        self.all_rows().storage.claims.iter().find(|claim| claim.name == name).cloned()
    }

    fn cluster_storage_volume_named(&self, name: &str) -> Option<StoredVolume> {
        self.all_rows().storage.volumes.iter().find(|volume| volume.name == name).cloned()
    }

    fn cluster_storage_volumes_for(&self, claim: &str) -> Vec<StoredVolume> {
        let cluster = self.all_rows();
        cluster.storage.volumes_for(&cluster.pod.namespace, claim)
    }

    fn cluster_storage_exact_sizes_for(&self, claim: &str) -> Option<ExactSizes> {
        let cluster = self.all_rows();
        cluster.storage.exact_sizes_for(&cluster.pod.namespace, claim)
    }

    fn cluster_storage_class_named(&self, name: &str) -> Option<Class> {
        self.all_rows().storage.classes.iter().find(|class| class.name == name).cloned()
    }

    fn cluster_storage_default_class(&self) -> Option<String> {
        self.all_rows().storage.default_class.clone()
    }

    fn cluster_storage_driver_reports_capacity(&self, driver: &str) -> bool {
        self.all_rows().storage.reporting_drivers.iter().any(|known| known == driver)
    }

    fn cluster_storage_capacities(&self, class_name: &str) -> Vec<Capacity> {
        let capacities = self.all_rows().storage.capacities.iter().filter(|(class, _)| class == class_name);
        capacities.map(|(_, capacity)| capacity.clone()).collect()
    }

    fn cluster_images_size(&self, image: &str) -> i64 {
        let first = self.all_rows().nodes.iter().find_map(|node| node.images.get(image));
        first.copied().unwrap_or(0)
    }

    fn cluster_storage_migrated(&self, plugin: &str) -> Vec<u8> {
        self.all_rows().nodes.iter().map(|node| u8::from(node.migrated.contains(plugin))).collect()
    }
    // contract: moments, made by `make contract`

    fn node_age_created(&self) -> Vec<i64> {
        self.column(|node| node.moment("node-age.created"))
    }
    // contract: end
}
