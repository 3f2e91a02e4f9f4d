//! Heap sizes of values, in bytes. The store of cached verdicts is bounded in bytes, and guests choose much of its content, so
//! every text, list and column is counted.
//!
//! Shared values count in full at each holder. Fields are listed without `..`, so that a new field does not compile until it is
//! counted.

use std::sync::Arc;

use nodesift_cache::metadata::requests::NonZero;
use nodesift_cache::metadata::volumes::in_tree::InTreeVolume;
use nodesift_cache::metadata::volumes::{ClaimSource, Disk, PodVolume};
use nodesift_cache::metadata::{
    AntiAffinityTerm, ClaimReference, ContainerResource, ContainerResources, HostPort, ImageFacts, LabelRequirement,
    NonZeroUsage, ObjectFacts, OwnerFacts, PodClaim, PodClaims, PodFacts, PodPreferences, PodSelector, ScoringTerm,
    SpecFacts,
};
use nodesift_cache::{Column, CountKey, Dictionary, LabelColumn, Row, SumKey};
use nodesift_negotiation::Subject;
use nodesift_object as object;
use nodesift_object::affinity::{PodAffinityTerm, PreferredTerm, TopologySpreadConstraint, WeightedPodAffinityTerm};
use nodesift_object::node::Taint;
use nodesift_object::pod::Toleration;
use nodesift_object::selector::{LabelSelector, NodeSelector, NodeSelectorTerm, Requirement};
use nodesift_sandbox::wire::{claims, devices};
use nodesift_sandbox::{Failure, Verdict, wire};

use crate::party::PartySeat;

/// Bytes of the reference counters of an `Arc`.
pub(crate) const SHARED: usize = 2 * size_of::<usize>();

/// The heap size of a value.
pub(crate) trait Size {
    /// Heap bytes that the value holds, without `size_of` the value itself.
    fn heap(&self) -> usize;
}

impl<T: Clone + Size> Size for Column<T> {
    /// The chunks, the contiguous copy that a guest reads, and the heap sizes of the values.
    fn heap(&self) -> usize {
        let values = SHARED + size_of::<Self>() + self.len() * size_of::<T>();
        2 * values + self.iter().map(Size::heap).sum::<usize>()
    }
}

impl Size for LabelColumn {
    fn heap(&self) -> usize {
        self.codes.heap() + self.dictionary().bytes()
    }
}

impl Size for Dictionary {
    fn heap(&self) -> usize {
        self.bytes()
    }
}

impl Size for CountKey {
    fn heap(&self) -> usize {
        self.selectors.heap()
    }
}

impl Size for SumKey {
    fn heap(&self) -> usize {
        self.pods.heap() + self.resource.heap()
    }
}

impl Size for Verdict {
    fn heap(&self) -> usize {
        match self {
            Self::FitsAll => 0,
            Self::FitsNone(failure) => failure.heap(),
            Self::ByRow(by_row) => {
                by_row.codes().bytes() + by_row.failures().heap() + by_row.named().map_or(0, Size::heap)
            }
        }
    }
}

impl Size for Failure {
    fn heap(&self) -> usize {
        self.reasons.heap()
    }
}

impl Size for str {
    fn heap(&self) -> usize {
        0
    }
}

impl Size for String {
    fn heap(&self) -> usize {
        self.capacity()
    }
}

impl<T: Size> Size for [T] {
    fn heap(&self) -> usize {
        self.iter().map(Size::heap).sum()
    }
}

impl<T: Size, const N: usize> Size for [T; N] {
    fn heap(&self) -> usize {
        self.as_slice().heap()
    }
}

impl<T: Size> Size for Vec<T> {
    fn heap(&self) -> usize {
        self.capacity() * size_of::<T>() + self.as_slice().heap()
    }
}

impl<T: Size + ?Sized> Size for Arc<T> {
    fn heap(&self) -> usize {
        SHARED + size_of_val(&**self) + (**self).heap()
    }
}

impl<T: Size> Size for Box<T> {
    fn heap(&self) -> usize {
        size_of::<T>() + (**self).heap()
    }
}

impl<T: Size> Size for Option<T> {
    fn heap(&self) -> usize {
        self.as_ref().map_or(0, Size::heap)
    }
}

impl<T: Size, E: Size> Size for Result<T, E> {
    fn heap(&self) -> usize {
        match self {
            Ok(value) => value.heap(),
            Err(error) => error.heap(),
        }
    }
}

impl<A: Size, B: Size> Size for (A, B) {
    fn heap(&self) -> usize {
        self.0.heap() + self.1.heap()
    }
}

impl<A: Size, B: Size, C: Size> Size for (A, B, C) {
    fn heap(&self) -> usize {
        self.0.heap() + self.1.heap() + self.2.heap()
    }
}

impl Size for object::Labels {
    fn heap(&self) -> usize {
        let entries = self.iter().map(|(key, value)| size_of::<(String, String)>() + key.len() + value.capacity());
        entries.sum()
    }
}

impl Size for LabelRequirement {
    fn heap(&self) -> usize {
        self.texts().map(|text| size_of::<Arc<str>>() + text.heap()).sum()
    }
}

impl Size for Subject {
    fn heap(&self) -> usize {
        match self {
            Self::Pod(text) | Self::Template(text) => text.heap(),
            Self::Claims(claims) => claims.heap(),
        }
    }
}

impl Size for ClaimReference {
    fn heap(&self) -> usize {
        match self {
            Self::Named(name) | Self::Made(name) => name.heap(),
            Self::NotMade | Self::NotNeeded | Self::Unknown => 0,
        }
    }
}

impl Size for ClaimSource {
    fn heap(&self) -> usize {
        match self {
            Self::Named(name) => name.heap(),
            Self::Ephemeral => 0,
        }
    }
}

impl Size for wire::PodVolume {
    fn heap(&self) -> usize {
        match self {
            Self::Disk(disk) => disk.heap(),
            Self::Claim(claim) => claim.heap(),
        }
    }
}

impl Size for wire::Obstacle {
    fn heap(&self) -> usize {
        match self {
            Self::UnnamedClaim => 0,
            Self::MissingClaim(claim) | Self::ForeignClaim(claim) => claim.heap(),
            Self::Untranslatable(texts) => texts.heap(),
        }
    }
}

impl Size for claims::Claim {
    fn heap(&self) -> usize {
        match self {
            Self::Unallocated(claim) => claim.heap(),
            Self::Allocated(rows) => rows.heap(),
        }
    }
}

impl Size for claims::ConstraintKind {
    fn heap(&self) -> usize {
        match self {
            Self::Match(attribute) | Self::Distinct(attribute) => attribute.heap(),
            Self::Unknown => 0,
        }
    }
}

impl Size for claims::ExtendedClaim {
    fn heap(&self) -> usize {
        match self {
            Self::HasRequests => 0,
            Self::Allocated(rows) => rows.heap(),
            Self::ToBeMade(containers) => containers.heap(),
        }
    }
}

impl Size for devices::Situation {
    fn heap(&self) -> usize {
        match self {
            Self::Pools(_) => 0,
            Self::Error(error) => error.heap(),
        }
    }
}

impl Size for devices::Answer {
    fn heap(&self) -> usize {
        match self {
            Self::No | Self::Yes => 0,
            Self::Error(error) => error.heap(),
        }
    }
}

/// Types without heap memory.
macro_rules! flat {
    ($($type:ty),* $(,)?) => {
        $(impl Size for $type {
            fn heap(&self) -> usize {
                0
            }
        })*
    };
}

flat! {
    bool, i32, i64, u8, u32, ContainerResource, Row, object::Kind, object::affinity::NodeInclusionPolicy,
    object::affinity::WhenUnsatisfiable, object::node::TaintEffect, object::pod::TolerationOperator,
    nodesift_cache::metadata::volumes::DiskKind, nodesift_cache::metadata::volumes::in_tree::Plugin, wire::BindingMode,
    wire::DiskKind, wire::ExactSize, wire::InfoField, wire::LabelOperator, wire::Operator, claims::Amount, claims::NanoUnits,
    claims::ContainerResource, devices::Counter, devices::Held, devices::PoolState, devices::Range,
}

/// Structs whose heap size is the sum of that of their fields.
macro_rules! records {
    ($($($path:ident)::+ { $($field:ident),* $(,)? })*) => {
        $(impl Size for $($path)::+ {
            fn heap(&self) -> usize {
                let $($path)::+ { $($field),* } = self;
                0 $(+ $field.heap())*
            }
        })*
    };
}

records! {
    PodFacts {
        namespace, scheduler_name, labels, annotations, node_selector, required_affinity, preferred_affinity, is_pinned, tolerations,
        requests, usage, usages, non_zero_requests, non_zero_usage, controller, spread, affinity, anti_affinity, invalid_preferred, anti_affinity_terms,
        preferences, required_features, host_ports, resource_claims,
        volumes, spec, images, owner, claims, object,
    }
    ObjectFacts { owners, containers }
    NonZeroUsage { counted, by_rules }
    NonZero { cpu, memory }
    ImageFacts { containers, volumes }
    PreferredTerm { weight, preference }
    SpecFacts { priority, priority_class, service_account, runtime_class, host_network, images }
    PodClaims { named, resources, containers }
    PodClaim { name, claim }
    ContainerResources { name, is_short, resources }
    OwnerFacts { api_version, kind, name, uid }
    claims::Obstacle { text, is_error }
    claims::Class { name, selectors }
    claims::Toleration { key, operator, value, effect }
    claims::Asked {
        own_name, is_alternative, class, selectors, mode, count, admin_access, tolerations, capacity,
    }
    claims::Request { base, alternatives }
    claims::Constraint { requests, kind }
    claims::Unallocated { requests, constraints }
    claims::Container { is_short, resources }
    claims::ExtendedResource { class, own }
    claims::Extended { claim, resources }
    devices::Query { selector_lists, attributes, names }
    devices::Pool { driver, state, devices, counters }
    devices::Capacity { name, value, default, valid_values, valid_range }
    devices::Kind { matches, reaches, taints, multiple_allocations, capacities, consumes }
    devices::Taint { key, value, effect }
    devices::Devices {
        codes, situations, pools, counters, device_kinds, in_use, held, values, pool_names, names, kinds, drivers, taints,
    }
    PartySeat { party, subject, nodes, unknown_fits }
    wire::PartyColumn { party, states, reasons, texts, unknown_fits }
    NodeSelector { node_selector_terms }
    NodeSelectorTerm { match_expressions, match_fields }
    Requirement { key, operator_text, values }
    LabelSelector { match_labels, match_expressions }
    Toleration { key, operator, value, effect }
    Taint { key, value, effect }
    TopologySpreadConstraint {
        max_skew, topology_key, when_unsatisfiable, label_selector, min_domains, node_affinity_policy, node_taints_policy,
        match_label_keys,
    }
    PodAffinityTerm {
        label_selector, namespaces, namespace_selector, topology_key, match_label_keys, mismatch_label_keys,
    }
    AntiAffinityTerm { selector, topology_key }
    ScoringTerm { topology_key, weight, selector }
    PodPreferences { affinity, anti_affinity, terms }
    WeightedPodAffinityTerm { weight, pod_affinity_term }
    PodSelector { namespaces, namespace_requirements, requirements }
    HostPort { ip, protocol, port }
    PodVolume { name, claim, disks, in_tree }
    Disk { kind, id, read_only, monitors }
    InTreeVolume { plugin, handle }
    wire::Disk { kind, id, read_only, monitors }
    wire::ClaimRef { name, ephemeral }
    wire::DiskUser { row, read_only, monitors }
    wire::Controller { api_version, kind, name }
    wire::Attachment { driver, handle }
    wire::UncountedPod { row, namespace, pod, obstacle }
    wire::LabelSelector { match_labels, match_expressions }
    wire::LabelRequirement { key, operator, values, operator_text }
    wire::Term { expressions, fields }
    wire::Requirement { key, operator, values }
    wire::StorageClass { name, provisioner, binding_mode, allowed_topologies }
    wire::ExactSizes { requested, capacities }
    wire::StorageCapacity { bytes, maximum_volume_bytes, node_selector }
    wire::Claim {
        name, uid, volume_name, class_name, access_modes, requested, volume_mode, attributes_class, selector,
        bind_completed, selected_node, phase, deleting, controller_uid, has_data_source, labels,
    }
    wire::Volume {
        name, class_name, access_modes, capacity, volume_mode, attributes_class, labels, node_terms, claim_ref, phase,
        deleting, in_tree_plugin, driver, handle,
    }
}
