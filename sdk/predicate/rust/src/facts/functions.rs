//! The fact functions of the contract, as a trait. Made from it by `make contract`; not to be edited.

use super::missing;
use crate::bindings::nodesift::predicate as wit;

/// The fact functions of the contract. Each method is named after its interface and its function; the functions with
/// the same names in [`columns`](crate::columns) say what they return. A method that an implementation leaves out ends the
/// test that calls it, with its name.
#[allow(missing_docs, unused_variables, reason = "documented in `columns` under the same names")]
pub trait Facts {
    fn pod_labels_namespace(&self) -> String {
        missing("pod-labels", "namespace")
    }

    fn pod_labels_label(&self, key: &str) -> Option<String> {
        missing("pod-labels", "label")
    }

    fn pod_annotations_annotation(&self, key: &str) -> Option<String> {
        missing("pod-annotations", "annotation")
    }

    fn pod_placement_node_name(&self) -> Option<String> {
        missing("pod-placement", "node-name")
    }

    fn pod_placement_node_selector(&self) -> Vec<(String, String)> {
        missing("pod-placement", "node-selector")
    }

    fn pod_placement_required_terms(&self) -> Option<Vec<wit::pod_placement::Term>> {
        missing("pod-placement", "required-terms")
    }

    fn pod_placement_preferred_terms(&self) -> Option<Vec<wit::pod_placement::PreferredTerm>> {
        missing("pod-placement", "preferred-terms")
    }

    fn pod_tolerations_tolerations(&self) -> Vec<wit::pod_tolerations::Toleration> {
        missing("pod-tolerations", "tolerations")
    }

    fn pod_resources_requests(&self) -> Vec<wit::pod_resources::Request> {
        missing("pod-resources", "requests")
    }

    fn pod_non_zero_requests_requests(&self) -> Vec<wit::pod_resources::Request> {
        missing("pod-non-zero-requests", "requests")
    }

    fn pod_images_containers(&self) -> Vec<String> {
        missing("pod-images", "containers")
    }

    fn pod_images_volumes(&self) -> Vec<String> {
        missing("pod-images", "volumes")
    }

    fn pod_spread_constraints(&self) -> Vec<wit::pod_spread::Constraint> {
        missing("pod-spread", "constraints")
    }

    fn pod_spread_default_selector(&self) -> Option<wit::selectors::LabelSelector> {
        missing("pod-spread", "default-selector")
    }

    fn pod_affinity_affinity(&self) -> Vec<wit::pod_affinity::Term> {
        missing("pod-affinity", "affinity")
    }

    fn pod_affinity_anti_affinity(&self) -> Vec<wit::pod_affinity::Term> {
        missing("pod-affinity", "anti-affinity")
    }

    fn pod_affinity_invalid_preferred(&self) -> (Vec<wit::pod_affinity::Term>, Vec<wit::pod_affinity::Term>) {
        missing("pod-affinity", "invalid-preferred")
    }

    fn pod_preferred_affinity_affinity(&self) -> Vec<(i32, wit::pod_affinity::Term)> {
        missing("pod-preferred-affinity", "affinity")
    }

    fn pod_preferred_affinity_anti_affinity(&self) -> Vec<(i32, wit::pod_affinity::Term)> {
        missing("pod-preferred-affinity", "anti-affinity")
    }

    fn pod_features_required(&self) -> Vec<String> {
        missing("pod-features", "required")
    }

    fn pod_volumes_volumes(&self) -> Vec<wit::pod_volumes::Volume> {
        missing("pod-volumes", "volumes")
    }

    fn pod_volumes_owner(&self) -> (String, String, String) {
        missing("pod-volumes", "owner")
    }

    fn namespace_labels_label(&self, key: &str) -> Option<String> {
        missing("namespace-labels", "label")
    }

    fn pod_spec_priority(&self) -> i32 {
        missing("pod-spec", "priority")
    }

    fn pod_spec_priority_class(&self) -> Option<String> {
        missing("pod-spec", "priority-class")
    }

    fn pod_spec_service_account(&self) -> Option<String> {
        missing("pod-spec", "service-account")
    }

    fn pod_spec_runtime_class(&self) -> Option<String> {
        missing("pod-spec", "runtime-class")
    }

    fn pod_spec_host_network(&self) -> bool {
        missing("pod-spec", "host-network")
    }

    fn pod_spec_images(&self) -> Vec<String> {
        missing("pod-spec", "images")
    }

    fn pod_spec_scheduler_name(&self) -> String {
        missing("pod-spec", "scheduler-name")
    }

    fn pod_owner_controller(&self) -> Option<wit::pod_owner::Owner> {
        missing("pod-owner", "controller")
    }

    fn pod_owner_controller_uid(&self) -> Option<String> {
        missing("pod-owner", "controller-uid")
    }

    fn pod_claims_claims(&self) -> Result<Vec<wit::pod_claims::Claim>, wit::pod_claims::Obstacle> {
        missing("pod-claims", "claims")
    }

    fn pod_claims_extended(&self) -> Option<wit::pod_claims::ExtendedResources> {
        missing("pod-claims", "extended")
    }

    fn pod_claims_claim_name(&self, claim: u32) -> String {
        missing("pod-claims", "claim-name")
    }

    fn pod_claims_chosen(&self, claim: u32) -> Vec<u32> {
        missing("pod-claims", "chosen")
    }

    fn pod_claims_deriving(&self, claim: u32) -> Vec<u32> {
        missing("pod-claims", "deriving")
    }

    fn node_identity_names(&self) -> Vec<String> {
        missing("node-identity", "names")
    }

    fn node_identity_row(&self, name: &str) -> Option<u32> {
        missing("node-identity", "row")
    }

    fn node_labels_column(&self, key: &str) -> Vec<u32> {
        missing("node-labels", "column")
    }

    fn node_labels_code(&self, key: &str, text: &str) -> Option<u32> {
        missing("node-labels", "code")
    }

    fn node_labels_dictionary(&self, key: &str) -> Vec<String> {
        missing("node-labels", "dictionary")
    }

    fn node_labels_integers(&self, key: &str) -> Vec<i64> {
        missing("node-labels", "integers")
    }

    fn node_annotations_column(&self, key: &str) -> Vec<u32> {
        missing("node-annotations", "column")
    }

    fn node_annotations_code(&self, key: &str, text: &str) -> Option<u32> {
        missing("node-annotations", "code")
    }

    fn node_annotations_dictionary(&self, key: &str) -> Vec<String> {
        missing("node-annotations", "dictionary")
    }

    fn node_annotations_integers(&self, key: &str) -> Vec<i64> {
        missing("node-annotations", "integers")
    }

    fn node_taints_unschedulable(&self) -> Vec<u8> {
        missing("node-taints", "unschedulable")
    }

    fn node_taints_sets(&self) -> Vec<Vec<wit::node_taints::Taint>> {
        missing("node-taints", "sets")
    }

    fn node_taints_column(&self) -> Vec<u32> {
        missing("node-taints", "column")
    }

    fn node_resources_allocatable(&self, resource: &str) -> Vec<i64> {
        missing("node-resources", "allocatable")
    }

    fn node_resources_requested(&self, resource: &str) -> Vec<i64> {
        missing("node-resources", "requested")
    }

    fn node_resources_foreign(&self, resource: &str) -> Vec<i64> {
        missing("node-resources", "foreign")
    }

    fn node_resources_free(&self, resource: &str) -> Vec<i64> {
        missing("node-resources", "free")
    }

    fn node_resources_pods(&self) -> Vec<i64> {
        missing("node-resources", "pods")
    }

    fn node_resources_foreign_pods(&self) -> Vec<i64> {
        missing("node-resources", "foreign-pods")
    }

    fn node_resources_pod_limit(&self) -> Vec<i64> {
        missing("node-resources", "pod-limit")
    }

    fn node_resources_pod_room(&self) -> Vec<i64> {
        missing("node-resources", "pod-room")
    }

    fn node_resources_device_class_serves(&self, resource: &str) -> bool {
        missing("node-resources", "device-class-serves")
    }

    fn node_sums_column(&self, name: &str) -> Vec<i64> {
        missing("node-sums", "column")
    }

    fn node_non_zero_requests_requested(&self, resource: &str) -> Vec<i64> {
        missing("node-non-zero-requests", "requested")
    }

    fn node_ports_conflicts(&self) -> Option<Vec<u8>> {
        missing("node-ports", "conflicts")
    }

    fn node_features_sets(&self) -> Vec<Vec<String>> {
        missing("node-features", "sets")
    }

    fn node_features_column(&self) -> Vec<u32> {
        missing("node-features", "column")
    }

    fn node_conditions_column(&self, kind: &str) -> Vec<u8> {
        missing("node-conditions", "column")
    }

    fn node_info_column(&self, field: wit::node_info::Field) -> Vec<u32> {
        missing("node-info", "column")
    }

    fn node_info_code(&self, field: wit::node_info::Field, text: &str) -> Option<u32> {
        missing("node-info", "code")
    }

    fn node_info_dictionary(&self, field: wit::node_info::Field) -> Vec<String> {
        missing("node-info", "dictionary")
    }

    fn node_images_present(&self, image: &str) -> Vec<u8> {
        missing("node-images", "present")
    }

    fn node_age_created(&self) -> Vec<i64> {
        missing("node-age", "created")
    }

    fn node_devices_devices(&self, query: &wit::node_devices::Query) -> wit::node_devices::DeviceColumns {
        missing("node-devices", "devices")
    }

    fn node_parties_unsuitable(&self) -> Vec<wit::node_parties::PartyColumn> {
        missing("node-parties", "unsuitable")
    }

    fn cluster_pods_matching(&self, selectors: &[wit::cluster_pods::PodSelector], terminating: bool) -> Vec<u32> {
        missing("cluster-pods", "matching")
    }

    fn cluster_pods_matches_this_pod(&self, selectors: &[wit::cluster_pods::PodSelector]) -> bool {
        missing("cluster-pods", "matches-this-pod")
    }

    fn cluster_pods_requested(
        &self,
        selectors: &[wit::cluster_pods::PodSelector],
        resource: &str,
        terminating: bool,
    ) -> Vec<i64> {
        missing("cluster-pods", "requested")
    }

    fn cluster_controllers_same_controller(&self, terminating: bool) -> Option<Vec<u32>> {
        missing("cluster-controllers", "same-controller")
    }

    fn cluster_candidates_feasible(&self) -> Vec<u8> {
        missing("cluster-candidates", "feasible")
    }

    fn cluster_affinity_topology_keys(&self) -> Vec<String> {
        missing("cluster-affinity", "topology-keys")
    }

    fn cluster_affinity_anti_affinity_terms(&self, topology_key: &str) -> Vec<u32> {
        missing("cluster-affinity", "anti-affinity-terms")
    }

    fn cluster_preferences_topology_keys(&self) -> Vec<String> {
        missing("cluster-preferences", "topology-keys")
    }

    fn cluster_preferences_preferred_terms(&self, topology_key: &str) -> Vec<u32> {
        missing("cluster-preferences", "preferred-terms")
    }

    fn cluster_preferences_weights(&self, topology_key: &str) -> Vec<i64> {
        missing("cluster-preferences", "weights")
    }

    fn cluster_preferences_required_terms(&self, topology_key: &str) -> Vec<u32> {
        missing("cluster-preferences", "required-terms")
    }

    fn cluster_volume_use_disk_users(
        &self,
        kind: wit::pod_volumes::DiskKind,
        id: &str,
    ) -> Vec<wit::cluster_volume_use::DiskUser> {
        missing("cluster-volume-use", "disk-users")
    }

    fn cluster_volume_use_claim_users(&self, claim: &str) -> u32 {
        missing("cluster-volume-use", "claim-users")
    }

    fn cluster_attachments_wanted(
        &self,
        registered: bool,
    ) -> Result<Vec<wit::cluster_attachments::Attachment>, wit::cluster_attachments::Obstacle> {
        missing("cluster-attachments", "wanted")
    }

    fn cluster_attachments_registered(&self) -> Vec<u8> {
        missing("cluster-attachments", "registered")
    }

    fn cluster_attachments_limited(&self) -> Vec<u8> {
        missing("cluster-attachments", "limited")
    }

    fn cluster_attachments_driver_missing(&self, driver: &str) -> Vec<u8> {
        missing("cluster-attachments", "driver-missing")
    }

    fn cluster_attachments_limit(&self, driver: &str) -> Vec<i64> {
        missing("cluster-attachments", "limit")
    }

    fn cluster_attachments_used(&self, driver: &str) -> Vec<i64> {
        missing("cluster-attachments", "used")
    }

    fn cluster_attachments_rows_with(&self, volume: &wit::cluster_attachments::Attachment) -> Vec<u32> {
        missing("cluster-attachments", "rows-with")
    }

    fn cluster_attachments_uncounted(&self) -> Vec<wit::cluster_attachments::UncountedPod> {
        missing("cluster-attachments", "uncounted")
    }

    fn cluster_storage_claim_named(&self, name: &str) -> Option<wit::cluster_storage::Claim> {
        missing("cluster-storage", "claim-named")
    }

    fn cluster_storage_volume_named(&self, name: &str) -> Option<wit::cluster_storage::Volume> {
        missing("cluster-storage", "volume-named")
    }

    fn cluster_storage_volumes_for(&self, claim: &str) -> Vec<wit::cluster_storage::Volume> {
        missing("cluster-storage", "volumes-for")
    }

    fn cluster_storage_exact_sizes_for(&self, claim: &str) -> Option<wit::cluster_storage::ExactSizes> {
        missing("cluster-storage", "exact-sizes-for")
    }

    fn cluster_storage_class_named(&self, name: &str) -> Option<wit::cluster_storage::Class> {
        missing("cluster-storage", "class-named")
    }

    fn cluster_storage_default_class(&self) -> Option<String> {
        missing("cluster-storage", "default-class")
    }

    fn cluster_storage_driver_reports_capacity(&self, driver: &str) -> bool {
        missing("cluster-storage", "driver-reports-capacity")
    }

    fn cluster_storage_capacities(&self, class_name: &str) -> Vec<wit::cluster_storage::Capacity> {
        missing("cluster-storage", "capacities")
    }

    fn cluster_storage_migrated(&self, plugin: &str) -> Vec<u8> {
        missing("cluster-storage", "migrated")
    }

    fn cluster_images_size(&self, image: &str) -> i64 {
        missing("cluster-images", "size")
    }

    fn time_passed(&self, at: i64) -> bool {
        missing("time", "passed")
    }

    fn config_maps_entry(&self, config_map: &str, key: &str) -> Option<String> {
        missing("config-maps", "entry")
    }
}
