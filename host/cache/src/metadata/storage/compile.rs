//! Compilation of storage objects into their facts.

use std::sync::Arc;

use super::super::labels::labels;
use super::super::volumes::in_tree;
use super::{
    Attachment, BindingMode, Capacity, Claim, Class, CsiDriver, CsiNode, Exact, StorageRecord, Volume, VolumeSource,
};
use nodesift_object::storage::{
    BIND_COMPLETED_ANNOTATION, CLASS_ANNOTATION, DEFAULT_CLASS_ANNOTATION, MIGRATED_PLUGINS_ANNOTATION,
    PersistentVolume, PersistentVolumeClaim, SELECTED_NODE_ANNOTATION, STORAGE, StorageClass, StorageObject,
};
use nodesift_object::{Quantity, storage as object};

/// The mode of a volume that names none.
const DEFAULT_VOLUME_MODE: &str = "Filesystem";

/// Compiles the facts of a storage object.
pub fn storage(object: &StorageObject) -> StorageRecord {
    match object {
        StorageObject::Claim(claim) => StorageRecord::Claim(self::claim(claim)),
        StorageObject::Volume(volume) => StorageRecord::Volume(self::volume(volume)),
        StorageObject::Class(class) => StorageRecord::Class(self::class(class)),
        StorageObject::Node(node) => StorageRecord::Node(self::node(node)),
        StorageObject::Driver(driver) => StorageRecord::Driver(CsiDriver {
            name: text(&driver.metadata.name),
            reports_capacity: driver.spec.storage_capacity,
            keeps_pods_away: driver.spec.prevent_pod_scheduling_if_missing,
        }),
        StorageObject::Capacity(capacity) => StorageRecord::Capacity(self::capacity(capacity)),
        StorageObject::Attachment(attachment) => StorageRecord::Attachment(Attachment {
            name: text(&attachment.metadata.name),
            node: text(&attachment.spec.node_name),
            driver: text(&attachment.spec.attacher),
            volume: attachment.spec.source.persistent_volume_name.as_deref().map(Arc::from),
        }),
    }
}

fn claim(claim: &PersistentVolumeClaim) -> Claim {
    let PersistentVolumeClaim { metadata, spec, status } = claim;
    Claim {
        namespace: text(metadata.namespace_or_default()),
        name: text(&metadata.name),
        uid: text(&metadata.uid),
        volume_name: text(&spec.volume_name),
        class_name: metadata
            .annotations
            .get(CLASS_ANNOTATION)
            .or(spec.storage_class_name.as_ref())
            .map(|name| text(name)),
        access_modes: texts(&spec.access_modes),
        requested: spec.resources.requests.get(STORAGE).map(Quantity::value_rounded_up),
        exact_request: spec.resources.requests.get(STORAGE).map(|size| Exact(size.nano())),
        volume_mode: text(spec.volume_mode.as_deref().unwrap_or(DEFAULT_VOLUME_MODE)),
        attributes_class: text(&spec.volume_attributes_class_name),
        selector: spec.selector.clone(),
        bind_completed: metadata.annotations.contains_key(BIND_COMPLETED_ANNOTATION),
        selected_node: metadata.annotations.get(SELECTED_NODE_ANNOTATION).map(|name| text(name)),
        phase: text(&status.phase),
        deleting: metadata.deleting,
        controller_uid: metadata.controller_uid().map(text),
        has_data_source: spec.data_source || spec.data_source_ref,
        labels: labels(&metadata.labels),
    }
}

fn volume(volume: &PersistentVolume) -> Volume {
    let PersistentVolume { metadata, spec, status } = volume;
    let source = match (&spec.csi, spec.in_tree()) {
        (Some(csi), _) => VolumeSource::Csi { driver: text(&csi.driver), handle: text(&csi.volume_handle) },
        (None, Some(source)) => VolumeSource::InTree(in_tree::persistent(source, &metadata.labels)),
        (None, None) => VolumeSource::Other,
    };
    Volume {
        name: text(&metadata.name),
        class_name: text(metadata.annotations.get(CLASS_ANNOTATION).unwrap_or(&spec.storage_class_name)),
        access_modes: texts(&spec.access_modes),
        capacity: spec.capacity.get(STORAGE).map_or(0, Quantity::value_rounded_up),
        exact_capacity: spec.capacity.get(STORAGE).map(|size| Exact(size.nano())).unwrap_or_default(),
        volume_mode: text(spec.volume_mode.as_deref().unwrap_or(DEFAULT_VOLUME_MODE)),
        attributes_class: text(&spec.volume_attributes_class_name),
        labels: labels(&metadata.labels),
        node_selector: spec.node_affinity.required.clone(),
        claim_ref: spec.claim_ref.as_ref().map(|claim| (text(&claim.namespace), text(&claim.name), text(&claim.uid))),
        phase: text(&status.phase),
        deleting: metadata.deleting,
        source,
    }
}

fn class(class: &StorageClass) -> Class {
    let term = |term: &object::TopologyTerm| {
        term.match_label_expressions.iter().map(|label| (text(&label.key), texts(&label.values))).collect()
    };
    Class {
        name: text(&class.metadata.name),
        provisioner: text(&class.provisioner),
        binding_mode: class.volume_binding_mode.as_deref().map(|mode| match mode {
            "WaitForFirstConsumer" => BindingMode::WaitForFirstConsumer,
            _ => BindingMode::Immediate,
        }),
        allowed_topologies: class.allowed_topologies.iter().map(term).collect(),
        is_default: class.metadata.annotations.get(DEFAULT_CLASS_ANNOTATION).is_some_and(|value| value == "true"),
    }
}

fn node(node: &object::CsiNode) -> CsiNode {
    let mut limits: Vec<(Arc<str>, i64)> = Vec::new();
    for driver in &node.spec.drivers {
        let Some(count) = driver.allocatable.count else { continue };
        // Of two entries of one driver the later one holds, as in a map.
        limits.retain(|(name, _)| **name != *driver.name);
        limits.push((text(&driver.name), i64::from(count)));
    }
    let migrated = node.metadata.annotations.get(MIGRATED_PLUGINS_ANNOTATION).map_or("", String::as_str);
    let mut drivers: Vec<Arc<str>> = node.spec.drivers.iter().map(|driver| text(&driver.name)).collect();
    drivers.sort_unstable();
    drivers.dedup();
    CsiNode { name: text(&node.metadata.name), limits, migrated: migrated.split(',').map(Arc::from).collect(), drivers }
}

fn capacity(capacity: &object::CsiStorageCapacity) -> Capacity {
    Capacity {
        key: Arc::from(capacity.metadata.namespaced()),
        class_name: text(&capacity.storage_class_name),
        bytes: capacity.capacity.as_ref().map(Quantity::value_rounded_up),
        maximum_volume_bytes: capacity.maximum_volume_size.as_ref().map(Quantity::value_rounded_up),
        node_selector: capacity.node_topology.clone(),
    }
}

fn text(text: &str) -> Arc<str> {
    Arc::from(text)
}

fn texts(texts: &[String]) -> Vec<Arc<str>> {
    texts.iter().map(|text| self::text(text)).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

    use super::*;

    fn claim_of(json: &str) -> Claim {
        claim(&serde_json::from_str(json).unwrap())
    }

    #[test]
    fn the_class_annotation_goes_before_the_field() {
        let annotated = format!(
            r#"{{"metadata":{{"name":"c","annotations":{{"{CLASS_ANNOTATION}":"old"}}}},"spec":{{"storageClassName":"new"}}}}"#
        );
        assert_eq!(claim_of(&annotated).class_name.as_deref(), Some("old"));
        let volume: PersistentVolume = serde_json::from_str(&annotated).unwrap();
        assert_eq!(super::volume(&volume).class_name.as_ref(), "old");
        assert_eq!(
            claim_of(r#"{"metadata":{"name":"c"},"spec":{"storageClassName":""}}"#).class_name.as_deref(),
            Some("")
        );
        assert_eq!(claim_of(r#"{"metadata":{"name":"c"}}"#).class_name, None);
    }

    #[test]
    fn what_a_claim_does_not_say_is_filled_in() {
        let claim = claim_of(r#"{"metadata":{"name":"c"},"spec":{"volumeMode":null}}"#);
        assert_eq!((&*claim.namespace, &*claim.volume_mode, claim.requested), ("default", "Filesystem", None));
        assert_eq!((claim.selected_node, claim.bind_completed, claim.controller_uid), (None, false, None));
    }

    #[test]
    fn an_annotation_may_be_empty_and_still_be_there() {
        let claim = claim_of(&format!(
            r#"{{"metadata":{{"name":"c","annotations":{{"{SELECTED_NODE_ANNOTATION}":"","{BIND_COMPLETED_ANNOTATION}":""}}}}}}"#
        ));
        assert_eq!((claim.selected_node.as_deref(), claim.bind_completed), (Some(""), true));
    }

    #[test]
    fn a_driver_without_a_count_sets_no_limit() {
        let json = r#"{"metadata":{"name":"n"},"spec":{"drivers":[{"name":"a","allocatable":{"count":3}},
            {"name":"b","allocatable":null},{"name":"c"},{"name":"a","allocatable":{"count":0}}]}}"#;
        let node = node(&serde_json::from_str(json).unwrap());
        assert_eq!(node.limits, [(Arc::from("a"), 0)]);
    }

    #[test]
    fn a_volume_is_of_a_csi_driver_or_of_an_in_tree_kind() {
        let source = |spec: &str| {
            volume(&serde_json::from_str(&format!(r#"{{"metadata":{{"name":"v"}},"spec":{spec}}}"#)).unwrap()).source
        };
        let VolumeSource::Csi { driver, handle } = source(r#"{"csi":{"driver":"d","volumeHandle":"h"}}"#) else {
            panic!("a CSI volume");
        };
        assert_eq!((&*driver, &*handle), ("d", "h"));
        let VolumeSource::InTree(volume) = source(r#"{"awsElasticBlockStore":{"volumeID":"aws://z/vol-7"}}"#) else {
            panic!("an EBS volume");
        };
        assert_eq!((volume.plugin.driver(), volume.handle.as_deref()), ("ebs.csi.aws.com", Ok("vol-7")));
        assert_eq!(source(r#"{"local":{"path":"/x"}}"#), VolumeSource::Other);
    }
}
