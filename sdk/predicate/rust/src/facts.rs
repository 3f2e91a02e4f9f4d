//! The source of facts outside a component: the trait [`Facts`], and the thread-local that holds the implementation in
//! use.
//!
//! [`columns`](crate::columns) reads facts through `ask`; [`with_facts`] sets what it reads. This module holds no
//! implementation: [`native::Cluster`](crate::native::Cluster) is one. It uses the generated types only, so that
//! `columns` and `native` can both depend on it.

use std::cell::RefCell;
use std::rc::Rc;

use crate::bindings::nodesift::predicate::cluster_attachments::{Attachment, Obstacle, UncountedPod};
use crate::bindings::nodesift::predicate::cluster_pods::PodSelector;
use crate::bindings::nodesift::predicate::cluster_storage::{
    Capacity, Claim, Class, ExactSizes, Volume as StoredVolume,
};
use crate::bindings::nodesift::predicate::cluster_volume_use::{DiskKind, DiskUser};
use crate::bindings::nodesift::predicate::node_devices::{DeviceColumns, Query};
use crate::bindings::nodesift::predicate::node_info::Field;
use crate::bindings::nodesift::predicate::node_parties::PartyColumn;
use crate::bindings::nodesift::predicate::node_taints::Taint;
use crate::bindings::nodesift::predicate::pod_affinity;
use crate::bindings::nodesift::predicate::pod_claims;
use crate::bindings::nodesift::predicate::pod_owner::Owner;
use crate::bindings::nodesift::predicate::pod_placement::Term;
use crate::bindings::nodesift::predicate::pod_resources::Request;
use crate::bindings::nodesift::predicate::pod_spread::Constraint;
use crate::bindings::nodesift::predicate::pod_tolerations::Toleration;
use crate::bindings::nodesift::predicate::pod_volumes::Volume;
use crate::bindings::nodesift::predicate::selectors::LabelSelector;

/// The fact functions of the contract. Each method is named after its interface and its function; the functions with
/// the same names in [`columns`](crate::columns) say what they return.
#[allow(missing_docs, reason = "documented in `columns` under the same names")]
pub trait Facts {
    fn pod_labels_namespace(&self) -> String;
    fn pod_labels_label(&self, key: &str) -> Option<String>;

    fn pod_annotations_annotation(&self, key: &str) -> Option<String>;

    fn pod_placement_node_name(&self) -> Option<String>;
    fn pod_placement_node_selector(&self) -> Vec<(String, String)>;
    fn pod_placement_required_terms(&self) -> Option<Vec<Term>>;

    fn pod_tolerations_tolerations(&self) -> Vec<Toleration>;

    fn pod_resources_requests(&self) -> Vec<Request>;

    fn node_identity_names(&self) -> Vec<String>;
    fn node_identity_row(&self, name: &str) -> Option<u32>;

    fn node_labels_column(&self, key: &str) -> Vec<u32>;
    fn node_labels_code(&self, key: &str, text: &str) -> Option<u32>;
    fn node_labels_dictionary(&self, key: &str) -> Vec<String>;
    fn node_labels_integers(&self, key: &str) -> Vec<i64>;

    fn node_annotations_column(&self, key: &str) -> Vec<u32>;
    fn node_annotations_code(&self, key: &str, text: &str) -> Option<u32>;
    fn node_annotations_dictionary(&self, key: &str) -> Vec<String>;
    fn node_annotations_integers(&self, key: &str) -> Vec<i64>;

    fn node_taints_unschedulable(&self) -> Vec<u8>;
    fn node_taints_sets(&self) -> Vec<Vec<Taint>>;
    fn node_taints_column(&self) -> Vec<u32>;

    fn node_resources_allocatable(&self, resource: &str) -> Vec<i64>;
    fn node_resources_requested(&self, resource: &str) -> Vec<i64>;
    fn node_resources_foreign(&self, resource: &str) -> Vec<i64>;
    fn node_resources_free(&self, resource: &str) -> Vec<i64>;
    fn node_resources_pods(&self) -> Vec<i64>;
    fn node_resources_foreign_pods(&self) -> Vec<i64>;
    fn node_resources_pod_limit(&self) -> Vec<i64>;
    fn node_resources_pod_room(&self) -> Vec<i64>;
    fn node_resources_device_class_serves(&self, resource: &str) -> bool;

    fn node_ports_conflicts(&self) -> Option<Vec<u8>>;

    fn pod_spread_constraints(&self) -> Vec<Constraint>;
    fn pod_spread_default_selector(&self) -> Option<LabelSelector>;

    fn pod_affinity_affinity(&self) -> Vec<pod_affinity::Term>;
    fn pod_affinity_anti_affinity(&self) -> Vec<pod_affinity::Term>;
    fn pod_affinity_invalid_preferred(&self) -> (Vec<pod_affinity::Term>, Vec<pod_affinity::Term>);

    fn pod_features_required(&self) -> Vec<String>;

    fn pod_volumes_volumes(&self) -> Vec<Volume>;
    fn pod_volumes_owner(&self) -> (String, String, String);

    fn namespace_labels_label(&self, key: &str) -> Option<String>;

    fn pod_spec_priority(&self) -> i32;
    fn pod_spec_priority_class(&self) -> Option<String>;
    fn pod_spec_service_account(&self) -> Option<String>;
    fn pod_spec_runtime_class(&self) -> Option<String>;
    fn pod_spec_host_network(&self) -> bool;
    fn pod_spec_images(&self) -> Vec<String>;
    fn pod_spec_scheduler_name(&self) -> String;

    fn pod_owner_controller(&self) -> Option<Owner>;
    fn pod_owner_controller_uid(&self) -> Option<String>;

    fn pod_claims_claims(&self) -> Result<Vec<pod_claims::Claim>, pod_claims::Obstacle>;
    fn pod_claims_extended(&self) -> Option<pod_claims::ExtendedResources>;
    fn pod_claims_claim_name(&self, claim: u32) -> String;

    fn node_features_sets(&self) -> Vec<Vec<String>>;
    fn node_features_column(&self) -> Vec<u32>;

    fn time_passed(&self, at: i64) -> bool;

    fn config_maps_entry(&self, config_map: &str, key: &str) -> Option<String>;

    fn node_sums_column(&self, name: &str) -> Vec<i64>;

    fn node_conditions_column(&self, kind: &str) -> Vec<u8>;

    fn node_info_column(&self, field: Field) -> Vec<u32>;
    fn node_info_code(&self, field: Field, text: &str) -> Option<u32>;
    fn node_info_dictionary(&self, field: Field) -> Vec<String>;

    fn node_images_present(&self, image: &str) -> Vec<u8>;

    fn node_age_created(&self) -> Vec<i64>;

    fn node_devices_devices(&self, query: &Query) -> DeviceColumns;

    fn node_parties_unsuitable(&self) -> Vec<PartyColumn>;

    fn cluster_pods_matching(&self, selectors: &[PodSelector], terminating: bool) -> Vec<u32>;
    fn cluster_pods_requested(&self, selectors: &[PodSelector], resource: &str, terminating: bool) -> Vec<i64>;
    fn cluster_pods_matches_this_pod(&self, selectors: &[PodSelector]) -> bool;

    fn cluster_controllers_same_controller(&self, terminating: bool) -> Option<Vec<u32>>;

    fn cluster_affinity_topology_keys(&self) -> Vec<String>;
    fn cluster_affinity_anti_affinity_terms(&self, topology_key: &str) -> Vec<u32>;

    fn cluster_volume_use_disk_users(&self, kind: DiskKind, id: &str) -> Vec<DiskUser>;
    fn cluster_volume_use_claim_users(&self, claim: &str) -> u32;

    fn cluster_attachments_wanted(&self, registered: bool) -> Result<Vec<Attachment>, Obstacle>;
    fn cluster_attachments_registered(&self) -> Vec<u8>;
    fn cluster_attachments_limited(&self) -> Vec<u8>;
    fn cluster_attachments_limit(&self, driver: &str) -> Vec<i64>;
    fn cluster_attachments_used(&self, driver: &str) -> Vec<i64>;
    fn cluster_attachments_rows_with(&self, volume: &Attachment) -> Vec<u32>;
    fn cluster_attachments_uncounted(&self) -> Vec<UncountedPod>;

    fn cluster_storage_claim_named(&self, name: &str) -> Option<Claim>;
    fn cluster_storage_volume_named(&self, name: &str) -> Option<StoredVolume>;
    fn cluster_storage_volumes_for(&self, claim: &str) -> Vec<StoredVolume>;
    fn cluster_storage_exact_sizes_for(&self, claim: &str) -> Option<ExactSizes>;
    fn cluster_storage_class_named(&self, name: &str) -> Option<Class>;
    fn cluster_storage_default_class(&self) -> Option<String>;
    fn cluster_storage_driver_reports_capacity(&self, driver: &str) -> bool;
    fn cluster_storage_capacities(&self, class_name: &str) -> Vec<Capacity>;
    fn cluster_storage_migrated(&self, plugin: &str) -> Vec<u8>;
}

thread_local! {
    /// The facts of the running [`with_facts`] calls, the innermost last.
    static FACTS: RefCell<Vec<Rc<dyn Facts>>> = const { RefCell::new(Vec::new()) };
}

/// Runs `f`. Every function of [`columns`](crate::columns) that `f` calls on this thread reads `facts`.
pub fn with_facts<T>(facts: Rc<dyn Facts>, f: impl FnOnce() -> T) -> T {
    /// Removes the facts again, also where `f` panics.
    struct Guard;
    impl Drop for Guard {
        fn drop(&mut self) {
            FACTS.with_borrow_mut(Vec::pop);
        }
    }
    FACTS.with_borrow_mut(|stack| stack.push(facts));
    let _guard = Guard;
    f()
}

/// Reads a fact from the innermost running [`with_facts`].
#[allow(clippy::panic, reason = "a fact read outside a filter call: a component would trap")]
pub(crate) fn ask<T>(read: impl FnOnce(&dyn Facts) -> T) -> T {
    match FACTS.with_borrow(|stack| stack.last().cloned()) {
        Some(facts) => read(facts.as_ref()),
        None => panic!("a fact was read outside `native::with_facts`"),
    }
}
