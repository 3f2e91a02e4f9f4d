//! Values of the contract: the host's own types and the SDK's, one as the other. Those of `pod-claims` and `node-devices` are in
//! files of their own.

pub(crate) mod claims;
pub(crate) mod devices;

use std::sync::Arc;

use nodesift_sandbox::wire;
use nodesift_sdk::columns::cluster_attachments::Obstacle;
use nodesift_sdk::columns::{
    cluster_pods, cluster_storage, node_info, pod_affinity, pod_placement, pod_resources, pod_spread, pod_tolerations,
    pod_volumes, selectors,
};

pub(crate) fn text(text: &Arc<str>) -> String {
    text.to_string()
}

#[allow(clippy::needless_pass_by_value, reason = "for map")]
pub(crate) fn request(request: wire::Request) -> pod_resources::Request {
    pod_resources::Request { resource: text(&request.resource), amount: request.amount }
}

pub(crate) fn requirement(requirement: &wire::Requirement) -> pod_placement::Requirement {
    pod_placement::Requirement {
        key: text(&requirement.key),
        operator: match requirement.operator {
            wire::Operator::In => pod_placement::Operator::In,
            wire::Operator::NotIn => pod_placement::Operator::NotIn,
            wire::Operator::Exists => pod_placement::Operator::Exists,
            wire::Operator::DoesNotExist => pod_placement::Operator::DoesNotExist,
            wire::Operator::Gt => pod_placement::Operator::Gt,
            wire::Operator::Lt => pod_placement::Operator::Lt,
            wire::Operator::Unknown => pod_placement::Operator::Unknown,
        },
        values: requirement.values.iter().map(text).collect(),
    }
}

pub(crate) fn effect(effect: wire::Effect) -> pod_tolerations::Effect {
    match effect {
        wire::Effect::NoSchedule => pod_tolerations::Effect::NoSchedule,
        wire::Effect::PreferNoSchedule => pod_tolerations::Effect::PreferNoSchedule,
        wire::Effect::NoExecute => pod_tolerations::Effect::NoExecute,
        wire::Effect::Other => pod_tolerations::Effect::Other,
    }
}

pub(crate) fn info_field(field: node_info::Field) -> wire::InfoField {
    match field {
        node_info::Field::KubeletVersion => wire::InfoField::KubeletVersion,
        node_info::Field::KernelVersion => wire::InfoField::KernelVersion,
        node_info::Field::ContainerRuntimeVersion => wire::InfoField::ContainerRuntimeVersion,
        node_info::Field::OsImage => wire::InfoField::OsImage,
        node_info::Field::OperatingSystem => wire::InfoField::OperatingSystem,
        node_info::Field::Architecture => wire::InfoField::Architecture,
        node_info::Field::ProviderId => wire::InfoField::ProviderId,
    }
}

pub(crate) fn texts(texts: &[Arc<str>]) -> Vec<String> {
    texts.iter().map(text).collect()
}

pub(crate) fn pairs(pairs: &[(Arc<str>, Arc<str>)]) -> Vec<(String, String)> {
    pairs.iter().map(|(key, value)| (text(key), text(value))).collect()
}

pub(crate) fn term(term: &wire::Term) -> pod_placement::Term {
    pod_placement::Term {
        expressions: term.expressions.iter().map(requirement).collect(),
        fields: term.fields.iter().map(requirement).collect(),
    }
}

pub(crate) fn label_requirement(requirement: wire::LabelRequirement) -> selectors::Requirement {
    selectors::Requirement {
        key: requirement.key,
        operator: match requirement.operator {
            wire::LabelOperator::In => selectors::Operator::In,
            wire::LabelOperator::NotIn => selectors::Operator::NotIn,
            wire::LabelOperator::Exists => selectors::Operator::Exists,
            wire::LabelOperator::DoesNotExist => selectors::Operator::DoesNotExist,
            wire::LabelOperator::Unknown => selectors::Operator::Unknown,
        },
        values: requirement.values,
        operator_text: requirement.operator_text,
    }
}

pub(crate) fn host_requirement(requirement: &selectors::Requirement) -> wire::LabelRequirement {
    wire::LabelRequirement {
        key: requirement.key.clone(),
        operator: match requirement.operator {
            selectors::Operator::In => wire::LabelOperator::In,
            selectors::Operator::NotIn => wire::LabelOperator::NotIn,
            selectors::Operator::Exists => wire::LabelOperator::Exists,
            selectors::Operator::DoesNotExist => wire::LabelOperator::DoesNotExist,
            selectors::Operator::Unknown => wire::LabelOperator::Unknown,
        },
        values: requirement.values.clone(),
        operator_text: requirement.operator_text.clone(),
    }
}

pub(crate) fn label_selector(selector: wire::LabelSelector) -> selectors::LabelSelector {
    selectors::LabelSelector {
        match_labels: pairs(&selector.match_labels),
        match_expressions: selector.match_expressions.into_iter().map(label_requirement).collect(),
    }
}

pub(crate) fn host_selectors(selectors: &[cluster_pods::PodSelector]) -> Vec<wire::PodSelector> {
    let requirements = |list: &[selectors::Requirement]| list.iter().map(host_requirement).collect();
    let selector = |selector: &cluster_pods::PodSelector| wire::PodSelector {
        namespaces: selector.namespaces.clone(),
        namespace_requirements: selector.namespace_requirements.as_deref().map(requirements),
        requirements: requirements(&selector.requirements),
    };
    selectors.iter().map(selector).collect()
}

pub(crate) fn affinity_term(term: wire::AffinityTerm) -> pod_affinity::Term {
    pod_affinity::Term {
        selector: term.selector.map(label_selector),
        namespaces: texts(&term.namespaces),
        namespace_selector: term.namespace_selector.map(label_selector),
        topology_key: text(&term.topology_key),
        match_label_keys: texts(&term.match_label_keys),
        mismatch_label_keys: texts(&term.mismatch_label_keys),
    }
}

pub(crate) fn inclusion(inclusion: wire::Inclusion) -> pod_spread::Inclusion {
    match inclusion {
        wire::Inclusion::Honor => pod_spread::Inclusion::Honor,
        wire::Inclusion::Ignore => pod_spread::Inclusion::Ignore,
        wire::Inclusion::Other => pod_spread::Inclusion::Other,
    }
}

pub(crate) fn disk_kind(kind: wire::DiskKind) -> pod_volumes::DiskKind {
    match kind {
        wire::DiskKind::GcePersistentDisk => pod_volumes::DiskKind::GcePersistentDisk,
        wire::DiskKind::AwsElasticBlockStore => pod_volumes::DiskKind::AwsElasticBlockStore,
        wire::DiskKind::Iscsi => pod_volumes::DiskKind::Iscsi,
        wire::DiskKind::Rbd => pod_volumes::DiskKind::Rbd,
    }
}

pub(crate) fn host_disk_kind(kind: pod_volumes::DiskKind) -> wire::DiskKind {
    match kind {
        pod_volumes::DiskKind::GcePersistentDisk => wire::DiskKind::GcePersistentDisk,
        pod_volumes::DiskKind::AwsElasticBlockStore => wire::DiskKind::AwsElasticBlockStore,
        pod_volumes::DiskKind::Iscsi => wire::DiskKind::Iscsi,
        pod_volumes::DiskKind::Rbd => wire::DiskKind::Rbd,
    }
}

pub(crate) fn obstacle(obstacle: wire::Obstacle) -> Obstacle {
    match obstacle {
        wire::Obstacle::UnnamedClaim => Obstacle::UnnamedClaim,
        wire::Obstacle::MissingClaim(claim) => Obstacle::MissingClaim(text(&claim)),
        wire::Obstacle::ForeignClaim(claim) => Obstacle::ForeignClaim(text(&claim)),
        wire::Obstacle::Untranslatable((volume, reason)) => Obstacle::Untranslatable((text(&volume), text(&reason))),
    }
}

pub(crate) fn stored_volume(volume: wire::Volume) -> cluster_storage::Volume {
    cluster_storage::Volume {
        name: text(&volume.name),
        class_name: text(&volume.class_name),
        access_modes: texts(&volume.access_modes),
        capacity: volume.capacity,
        volume_mode: text(&volume.volume_mode),
        labels: pairs(&volume.labels),
        node_terms: volume.node_terms.map(|terms| terms.iter().map(term).collect()),
        claim_ref: volume.claim_ref.map(|(namespace, name, uid)| (text(&namespace), text(&name), text(&uid))),
        phase: text(&volume.phase),
        deleting: volume.deleting,
        attributes_class: text(&volume.attributes_class),
        in_tree_plugin: text(&volume.in_tree_plugin),
        driver: text(&volume.driver),
        handle: volume.handle.as_ref().map(text).map_err(text),
    }
}
