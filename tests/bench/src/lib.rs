//! The host's facts for a natively compiled predicate: the same columns, read by the same code, without a sandbox.

mod convert;
pub mod load;
pub mod native;
pub mod streamed;

use std::sync::Arc;

use nodesift_engine::Context;
use nodesift_sandbox::{Facts as _, Meter, wire};
use nodesift_sdk::columns::cluster_attachments::{Attachment, Obstacle, UncountedPod};
use nodesift_sdk::columns::{
    cluster_pods, cluster_storage, cluster_volume_use, node_devices, node_info, node_parties, node_taints,
    pod_affinity, pod_claims, pod_owner, pod_placement, pod_resources, pod_spread, pod_tolerations, pod_volumes,
    selectors,
};
use nodesift_sdk::native::Facts;

use convert::{
    affinity_term, claims, devices, disk_kind, effect, host_disk_kind, host_selectors, inclusion, info_field,
    label_selector, obstacle, pairs, request, stored_volume, term, text, texts,
};

/// An evaluation's context as the facts of the SDK.
#[derive(Debug)]
pub struct Bridge(pub Arc<Context>);

impl Facts for Bridge {
    // contract: bridge, made by `make contract`
    fn pod_labels_namespace(&self) -> String {
        text(&self.0.namespace())
    }

    fn pod_labels_label(&self, key: &str) -> Option<String> {
        self.0.label(key).as_ref().map(text)
    }

    fn pod_annotations_annotation(&self, key: &str) -> Option<String> {
        self.0.annotation(key).as_ref().map(text)
    }

    fn pod_placement_node_name(&self) -> Option<String> {
        self.0.node_name().as_ref().map(text)
    }

    fn pod_placement_node_selector(&self) -> Vec<(String, String)> {
        pairs(&self.0.node_selector())
    }

    fn pod_images_containers(&self) -> Vec<String> {
        texts(&self.0.container_images())
    }

    fn pod_images_volumes(&self) -> Vec<String> {
        texts(&self.0.volume_images())
    }

    fn pod_features_required(&self) -> Vec<String> {
        texts(&self.0.required_features())
    }

    fn namespace_labels_label(&self, key: &str) -> Option<String> {
        self.0.namespace_label(key).as_ref().map(text)
    }

    fn pod_spec_priority(&self) -> i32 {
        self.0.priority()
    }

    fn pod_spec_priority_class(&self) -> Option<String> {
        self.0.priority_class().as_ref().map(text)
    }

    fn pod_spec_service_account(&self) -> Option<String> {
        self.0.service_account().as_ref().map(text)
    }

    fn pod_spec_runtime_class(&self) -> Option<String> {
        self.0.runtime_class().as_ref().map(text)
    }

    fn pod_spec_host_network(&self) -> bool {
        self.0.host_network()
    }

    fn pod_spec_images(&self) -> Vec<String> {
        texts(&self.0.images())
    }

    fn pod_spec_scheduler_name(&self) -> String {
        text(&self.0.scheduler_name())
    }

    fn pod_owner_controller_uid(&self) -> Option<String> {
        self.0.controller_uid().as_ref().map(text)
    }

    fn pod_claims_claim_name(&self, claim: u32) -> String {
        text(&self.0.claim_name(claim))
    }

    fn pod_claims_chosen(&self, claim: u32) -> Vec<u32> {
        self.0.chosen(claim).to_vec()
    }

    fn pod_claims_deriving(&self, claim: u32) -> Vec<u32> {
        self.0.deriving(claim).to_vec()
    }

    fn node_identity_names(&self) -> Vec<String> {
        texts(&self.0.names())
    }

    fn node_identity_row(&self, name: &str) -> Option<u32> {
        self.0.row(name)
    }

    fn node_labels_column(&self, key: &str) -> Vec<u32> {
        self.0.label_column(key).to_vec()
    }

    fn node_labels_code(&self, key: &str, text: &str) -> Option<u32> {
        self.0.label_code(key, text)
    }

    fn node_labels_dictionary(&self, key: &str) -> Vec<String> {
        texts(&self.0.label_dictionary(key))
    }

    fn node_labels_integers(&self, key: &str) -> Vec<i64> {
        self.0.label_integers(key).to_vec()
    }

    fn node_annotations_column(&self, key: &str) -> Vec<u32> {
        self.0.annotation_column(key).to_vec()
    }

    fn node_annotations_code(&self, key: &str, text: &str) -> Option<u32> {
        self.0.annotation_code(key, text)
    }

    fn node_annotations_dictionary(&self, key: &str) -> Vec<String> {
        texts(&self.0.annotation_dictionary(key))
    }

    fn node_annotations_integers(&self, key: &str) -> Vec<i64> {
        self.0.annotation_integers(key).to_vec()
    }

    fn node_taints_unschedulable(&self) -> Vec<u8> {
        self.0.unschedulable().to_vec()
    }

    fn node_taints_column(&self) -> Vec<u32> {
        self.0.taint_column().to_vec()
    }

    fn node_resources_allocatable(&self, resource: &str) -> Vec<i64> {
        self.0.allocatable(resource).to_vec()
    }

    fn node_resources_requested(&self, resource: &str) -> Vec<i64> {
        self.0.requested(resource).to_vec()
    }

    fn node_resources_foreign(&self, resource: &str) -> Vec<i64> {
        self.0.foreign(resource).to_vec()
    }

    fn node_resources_free(&self, resource: &str) -> Vec<i64> {
        self.0.free(resource).to_vec()
    }

    fn node_resources_pods(&self) -> Vec<i64> {
        self.0.pods().to_vec()
    }

    fn node_resources_foreign_pods(&self) -> Vec<i64> {
        self.0.foreign_pods().to_vec()
    }

    fn node_resources_pod_limit(&self) -> Vec<i64> {
        self.0.pod_limit().to_vec()
    }

    fn node_resources_pod_room(&self) -> Vec<i64> {
        self.0.pod_room().to_vec()
    }

    fn node_resources_device_class_serves(&self, resource: &str) -> bool {
        self.0.device_class_serves(resource)
    }

    fn node_sums_column(&self, name: &str) -> Vec<i64> {
        self.0.named_sum(name).to_vec()
    }

    fn node_non_zero_requests_requested(&self, resource: &str) -> Vec<i64> {
        self.0.non_zero_requested(resource).to_vec()
    }

    fn node_ports_conflicts(&self) -> Option<Vec<u8>> {
        self.0.port_conflicts().map(|column| column.to_vec())
    }

    fn node_features_sets(&self) -> Vec<Vec<String>> {
        self.0.feature_sets().iter().map(|set| texts(set)).collect()
    }

    fn node_features_column(&self) -> Vec<u32> {
        self.0.feature_column().to_vec()
    }

    fn node_conditions_column(&self, kind: &str) -> Vec<u8> {
        self.0.condition_column(kind).to_vec()
    }

    fn node_images_present(&self, image: &str) -> Vec<u8> {
        self.0.image_column(image).to_vec()
    }

    fn node_age_created(&self) -> Vec<i64> {
        self.0.created().to_vec()
    }

    fn cluster_controllers_same_controller(&self, terminating: bool) -> Option<Vec<u32>> {
        self.0.same_controller(terminating).map(|column| column.to_vec())
    }

    fn cluster_candidates_feasible(&self) -> Vec<u8> {
        self.0.feasible().to_vec()
    }

    fn cluster_affinity_topology_keys(&self) -> Vec<String> {
        texts(&self.0.anti_affinity_keys())
    }

    fn cluster_affinity_anti_affinity_terms(&self, topology_key: &str) -> Vec<u32> {
        self.0.anti_affinity_terms(topology_key).to_vec()
    }

    fn cluster_preferences_topology_keys(&self) -> Vec<String> {
        texts(&self.0.preference_keys())
    }

    fn cluster_preferences_preferred_terms(&self, topology_key: &str) -> Vec<u32> {
        self.0.preference_terms(topology_key).to_vec()
    }

    fn cluster_preferences_weights(&self, topology_key: &str) -> Vec<i64> {
        self.0.preference_weights(topology_key).to_vec()
    }

    fn cluster_preferences_required_terms(&self, topology_key: &str) -> Vec<u32> {
        self.0.required_affinity_terms(topology_key).to_vec()
    }

    fn cluster_volume_use_claim_users(&self, claim: &str) -> u32 {
        self.0.claim_users(claim)
    }

    fn cluster_attachments_registered(&self) -> Vec<u8> {
        self.0.attachment_registered().to_vec()
    }

    fn cluster_attachments_limited(&self) -> Vec<u8> {
        self.0.attachment_limited().to_vec()
    }

    fn cluster_attachments_driver_missing(&self, driver: &str) -> Vec<u8> {
        self.0.driver_missing(driver).to_vec()
    }

    fn cluster_attachments_limit(&self, driver: &str) -> Vec<i64> {
        self.0.attachment_limit(driver).to_vec()
    }

    fn cluster_attachments_used(&self, driver: &str) -> Vec<i64> {
        self.0.attachments_used(driver).to_vec()
    }

    fn cluster_storage_default_class(&self) -> Option<String> {
        self.0.default_class().as_ref().map(text)
    }

    fn cluster_storage_driver_reports_capacity(&self, driver: &str) -> bool {
        self.0.driver_reports_capacity(driver)
    }

    fn cluster_storage_migrated(&self, plugin: &str) -> Vec<u8> {
        self.0.migrated(plugin).to_vec()
    }

    fn cluster_images_size(&self, image: &str) -> i64 {
        self.0.image_size(image)
    }

    fn time_passed(&self, at: i64) -> bool {
        self.0.passed(at)
    }

    fn config_maps_entry(&self, config_map: &str, key: &str) -> Option<String> {
        self.0.config_entry(config_map, key).as_ref().map(text)
    }

    // contract: end

    fn pod_placement_required_terms(&self) -> Option<Vec<pod_placement::Term>> {
        Some(self.0.required_terms()?.iter().map(term).collect())
    }

    fn pod_placement_preferred_terms(&self) -> Option<Vec<pod_placement::PreferredTerm>> {
        let preferred = |preferred: &wire::PreferredTerm| pod_placement::PreferredTerm {
            weight: preferred.weight,
            preference: term(&preferred.preference),
        };
        Some(self.0.preferred_terms()?.iter().map(preferred).collect())
    }

    fn pod_tolerations_tolerations(&self) -> Vec<pod_tolerations::Toleration> {
        let toleration = |toleration: wire::Toleration| pod_tolerations::Toleration {
            key: text(&toleration.key),
            operator: match toleration.operator {
                wire::TolerationOperator::Equal => pod_tolerations::Operator::Equal,
                wire::TolerationOperator::Exists => pod_tolerations::Operator::Exists,
                wire::TolerationOperator::Other => pod_tolerations::Operator::Other,
            },
            value: text(&toleration.value),
            effect: toleration.effect.map(effect),
        };
        self.0.tolerations().into_iter().map(toleration).collect()
    }

    fn pod_resources_requests(&self) -> Vec<pod_resources::Request> {
        self.0.requests().into_iter().map(request).collect()
    }

    fn pod_non_zero_requests_requests(&self) -> Vec<pod_resources::Request> {
        self.0.non_zero_requests().into_iter().map(request).collect()
    }

    fn node_taints_sets(&self) -> Vec<Vec<node_taints::Taint>> {
        let taint = |taint: wire::Taint| node_taints::Taint {
            key: text(&taint.key),
            value: text(&taint.value),
            effect: effect(taint.effect),
        };
        self.0.taint_sets().into_iter().map(|set| set.into_iter().map(taint).collect()).collect()
    }

    fn pod_spread_constraints(&self) -> Vec<pod_spread::Constraint> {
        let constraint = |constraint: wire::SpreadConstraint| pod_spread::Constraint {
            max_skew: constraint.max_skew,
            topology_key: text(&constraint.topology_key),
            when_unsatisfiable: match constraint.when_unsatisfiable {
                wire::WhenUnsatisfiable::DoNotSchedule => pod_spread::WhenUnsatisfiable::DoNotSchedule,
                wire::WhenUnsatisfiable::ScheduleAnyway => pod_spread::WhenUnsatisfiable::ScheduleAnyway,
                wire::WhenUnsatisfiable::Other => pod_spread::WhenUnsatisfiable::Other,
            },
            selector: constraint.selector.map(label_selector),
            min_domains: constraint.min_domains,
            node_affinity_policy: constraint.node_affinity_policy.map(inclusion),
            node_taints_policy: constraint.node_taints_policy.map(inclusion),
            match_label_keys: texts(&constraint.match_label_keys),
        };
        self.0.spread_constraints().into_iter().map(constraint).collect()
    }

    fn pod_spread_default_selector(&self) -> Option<selectors::LabelSelector> {
        self.0.default_selector().map(label_selector)
    }

    fn pod_affinity_affinity(&self) -> Vec<pod_affinity::Term> {
        self.0.affinity().into_iter().map(affinity_term).collect()
    }

    fn pod_affinity_anti_affinity(&self) -> Vec<pod_affinity::Term> {
        self.0.anti_affinity().into_iter().map(affinity_term).collect()
    }

    fn pod_affinity_invalid_preferred(&self) -> (Vec<pod_affinity::Term>, Vec<pod_affinity::Term>) {
        let (affinity, anti_affinity) = self.0.invalid_preferred();
        let terms = |terms: Vec<wire::AffinityTerm>| terms.into_iter().map(affinity_term).collect();
        (terms(affinity), terms(anti_affinity))
    }

    fn pod_preferred_affinity_affinity(&self) -> Vec<(i32, pod_affinity::Term)> {
        self.0.preferred_affinity().into_iter().map(|(weight, term)| (weight, affinity_term(term))).collect()
    }

    fn pod_preferred_affinity_anti_affinity(&self) -> Vec<(i32, pod_affinity::Term)> {
        self.0.preferred_anti_affinity().into_iter().map(|(weight, term)| (weight, affinity_term(term))).collect()
    }

    fn pod_volumes_volumes(&self) -> Vec<pod_volumes::Volume> {
        let volume = |volume: wire::PodVolume| match volume {
            wire::PodVolume::Disk(disk) => pod_volumes::Volume::Disk(pod_volumes::Disk {
                kind: disk_kind(disk.kind),
                id: text(&disk.id),
                read_only: disk.read_only,
                monitors: texts(&disk.monitors),
            }),
            wire::PodVolume::Claim(claim) => pod_volumes::Volume::Claim(pod_volumes::ClaimRef {
                name: text(&claim.name),
                ephemeral: claim.ephemeral,
            }),
        };
        self.0.volumes().into_iter().map(volume).collect()
    }

    fn pod_volumes_owner(&self) -> (String, String, String) {
        let (namespace, name, uid) = self.0.owner();
        (text(&namespace), text(&name), text(&uid))
    }

    fn pod_owner_controller(&self) -> Option<pod_owner::Owner> {
        let controller = self.0.controller()?;
        Some(pod_owner::Owner {
            api_version: text(&controller.api_version),
            kind: text(&controller.kind),
            name: text(&controller.name),
        })
    }

    fn pod_claims_claims(&self) -> Result<Vec<pod_claims::Claim>, pod_claims::Obstacle> {
        match self.0.claims() {
            Ok(found) => Ok(found.iter().map(claims::claim).collect()),
            Err(obstacle) => Err(claims::obstacle(&obstacle)),
        }
    }

    fn pod_claims_extended(&self) -> Option<pod_claims::ExtendedResources> {
        self.0.extended().map(|extended| claims::extended(&extended))
    }

    fn node_info_column(&self, field: node_info::Field) -> Vec<u32> {
        self.0.info_column(info_field(field)).to_vec()
    }

    fn node_info_code(&self, field: node_info::Field, text: &str) -> Option<u32> {
        self.0.info_code(info_field(field), text)
    }

    fn node_info_dictionary(&self, field: node_info::Field) -> Vec<String> {
        texts(&self.0.info_dictionary(info_field(field)))
    }

    #[allow(clippy::panic, reason = "a component would trap")]
    fn node_devices_devices(&self, query: &node_devices::Query) -> node_devices::DeviceColumns {
        let query = devices::host_query(query);
        let query = query.bounded().unwrap_or_else(|error| panic!("{error}"));
        devices::devices(&self.0.devices(query).unwrap_or_else(|error| panic!("{error}")))
    }

    fn node_parties_unsuitable(&self) -> Vec<node_parties::PartyColumn> {
        let column = |party: &wire::PartyColumn| node_parties::PartyColumn {
            party: party.party.to_string(),
            states: party.states.to_vec(),
            reasons: party.reasons.to_vec(),
            texts: party.texts.iter().map(|text| text.to_string()).collect(),
            unknown_fits: party.unknown_fits,
        };
        self.0.unsuitable().iter().map(column).collect()
    }

    #[allow(clippy::panic, reason = "a component would trap")]
    fn cluster_pods_matching(&self, selectors: &[cluster_pods::PodSelector], terminating: bool) -> Vec<u32> {
        match self.0.matching_pods(&host_selectors(selectors), terminating, &Meter::unlimited()) {
            Ok(counts) => counts.to_vec(),
            Err(error) => panic!("{error}"),
        }
    }

    #[allow(clippy::panic, reason = "a component would trap")]
    fn cluster_pods_requested(
        &self,
        selectors: &[cluster_pods::PodSelector],
        resource: &str,
        terminating: bool,
    ) -> Vec<i64> {
        match self.0.requested_by_pods(&host_selectors(selectors), resource, terminating, &Meter::unlimited()) {
            Ok(sums) => sums.to_vec(),
            Err(error) => panic!("{error}"),
        }
    }

    #[allow(clippy::panic, reason = "a component would trap")]
    fn cluster_pods_matches_this_pod(&self, selectors: &[cluster_pods::PodSelector]) -> bool {
        match self.0.matches_this_pod(&host_selectors(selectors)) {
            Ok(matches) => matches,
            Err(error) => panic!("{error}"),
        }
    }

    fn cluster_volume_use_disk_users(
        &self,
        kind: pod_volumes::DiskKind,
        id: &str,
    ) -> Vec<cluster_volume_use::DiskUser> {
        let user = |user: wire::DiskUser| cluster_volume_use::DiskUser {
            row: user.row,
            read_only: user.read_only,
            monitors: texts(&user.monitors),
        };
        self.0.disk_users(host_disk_kind(kind), id).into_iter().map(user).collect()
    }

    fn cluster_attachments_wanted(&self, registered: bool) -> Result<Vec<Attachment>, Obstacle> {
        let attachment = |volume: wire::Attachment| Attachment { driver: volume.driver, handle: volume.handle };
        let wanted = self.0.wanted_attachments(registered).map_err(obstacle)?;
        Ok(wanted.into_iter().map(attachment).collect())
    }

    fn cluster_attachments_rows_with(&self, volume: &Attachment) -> Vec<u32> {
        let volume = wire::Attachment { driver: volume.driver.clone(), handle: volume.handle.clone() };
        self.0.rows_with_attachment(&volume)
    }

    fn cluster_attachments_uncounted(&self) -> Vec<UncountedPod> {
        let uncounted = |pod: wire::UncountedPod| UncountedPod {
            row: pod.row,
            namespace: text(&pod.namespace),
            pod: text(&pod.pod),
            obstacle: obstacle(pod.obstacle),
        };
        self.0.uncounted_pods().into_iter().map(uncounted).collect()
    }

    fn cluster_storage_claim_named(&self, name: &str) -> Option<cluster_storage::Claim> {
        let claim = self.0.claim(name)?;
        Some(cluster_storage::Claim {
            name: text(&claim.name),
            uid: text(&claim.uid),
            volume_name: text(&claim.volume_name),
            class_name: claim.class_name.as_ref().map(text),
            access_modes: texts(&claim.access_modes),
            requested: claim.requested,
            volume_mode: text(&claim.volume_mode),
            attributes_class: text(&claim.attributes_class),
            selector: claim.selector.map(label_selector),
            bind_completed: claim.bind_completed,
            selected_node: claim.selected_node.as_ref().map(text),
            phase: text(&claim.phase),
            deleting: claim.deleting,
            controller_uid: claim.controller_uid.as_ref().map(text),
            has_data_source: claim.has_data_source,
            labels: pairs(&claim.labels),
        })
    }

    fn cluster_storage_volume_named(&self, name: &str) -> Option<cluster_storage::Volume> {
        self.0.volume(name).map(stored_volume)
    }

    fn cluster_storage_volumes_for(&self, claim: &str) -> Vec<cluster_storage::Volume> {
        let volumes = self.0.volumes_for(claim, &Meter::unlimited()).unwrap_or_default();
        volumes.iter().cloned().map(stored_volume).collect()
    }

    fn cluster_storage_exact_sizes_for(&self, claim: &str) -> Option<cluster_storage::ExactSizes> {
        let exact = |size: wire::ExactSize| cluster_storage::ExactSize { high: size.high, low: size.low };
        let sizes = self.0.exact_sizes(claim, &Meter::unlimited()).ok()??;
        let capacities = sizes.capacities.into_iter().map(exact).collect();
        Some(cluster_storage::ExactSizes { requested: exact(sizes.requested), capacities })
    }

    fn cluster_storage_class_named(&self, name: &str) -> Option<cluster_storage::Class> {
        let class = self.0.storage_class(name)?;
        let alternative = |labels: &Vec<(Arc<str>, Vec<Arc<str>>)>| {
            labels.iter().map(|(key, values)| (text(key), texts(values))).collect()
        };
        Some(cluster_storage::Class {
            name: text(&class.name),
            provisioner: text(&class.provisioner),
            binding_mode: class.binding_mode.map(|mode| match mode {
                wire::BindingMode::Immediate => cluster_storage::BindingMode::Immediate,
                wire::BindingMode::WaitForFirstConsumer => cluster_storage::BindingMode::WaitForFirstConsumer,
            }),
            allowed_topologies: class.allowed_topologies.iter().map(alternative).collect(),
        })
    }

    fn cluster_storage_capacities(&self, class_name: &str) -> Vec<cluster_storage::Capacity> {
        let capacity = |capacity: &wire::StorageCapacity| cluster_storage::Capacity {
            bytes: capacity.bytes,
            maximum_volume_bytes: capacity.maximum_volume_bytes,
            node_selector: capacity.node_selector.clone().map(label_selector),
        };
        let capacities = self.0.capacities(class_name, &Meter::unlimited()).unwrap_or_default();
        capacities.iter().map(capacity).collect()
    }
}
