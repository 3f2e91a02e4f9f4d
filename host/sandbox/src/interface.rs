//! The fact interfaces of the contract: one table from which the trait [`Facts`], the closed list [`Interface`] and the
//! linker follow, but for `log` and `row-sets`, which are no facts. A component is linked to the interfaces that it imports and its policy
//! allows, and to nothing else: there is no WASI, no clock, no randomness, no file and no socket.
//!
//! The table is at the end of this file. `make contract` makes it of the contract and of `host/engine/facts.txt`, where a new function gets
//! a line. A line here is the name of a function in the contract, its method, and
//!
//! - `untimed` where the host only hands over what it has. The call is not timed.
//! - `timed` where the host may have to build the value first, and the arguments choose which. That time is added to the guest's
//!   deadline up to a small allowance, and is the guest's beyond it.
//! - `shared[Kept]` where the host may first have to build a [`Kept`], which is the same for every call on the snapshot. That
//!   time is not the guest's; what follows is timed.
//!
//! Where the work may be more than once through the arguments and the cluster, `; meter` follows the arguments: the method gets
//! a [`Meter`] and asks it every so many steps. `or trap` follows the value of a method that may have none, `as set` that of
//! one whose value is a set of rows, for which the guest gets a handle.
//!
//! An interface says whether `pods_on_nodes` change what it answers, and `since` which minor version of the contract there is
//! such an interface, where that is not the first. The implementation of [`Facts`] then does not compile
//! until it has the new method.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use wasmtime::StoreContextMut;
use wasmtime::component::{LinkerInstance, WasmStr};

use crate::contract::{self, Minor};
use crate::deadline::{Deadline, HostWork, Meter};
use crate::refusal::NoValue;
use crate::row_sets::{RowSetError, RowSets};
use crate::rows::Rows;
use crate::wire;
use crate::wire::devices::Query;
use crate::wire::{DiskKind, InfoField, PodSelector};

/// The host state of an instance that may read facts, as the functions of the table use it.
pub(super) trait FactStore: Send + 'static {
    /// The facts of the running call.
    ///
    /// # Errors
    ///
    /// Outside `filter`, `allocate` and `score`; the error ends the guest's call.
    fn facts(&self) -> wasmtime::Result<&dyn Facts>;

    /// The row sets of the running `filter` call.
    ///
    /// # Errors
    ///
    /// [`RowSetError::NoBatch`] outside of one.
    fn row_sets(&mut self) -> Result<&mut RowSets, RowSetError>;

    /// The deadline of the running call.
    fn deadline(&mut self) -> &mut Deadline;
}

/// Facts that the host builds once for every call on a snapshot, and caches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// The names of all nodes as one list.
    NodeNames,
    /// The anti-affinity terms of pods on nodes that match the pod.
    MatchedTerms,
    /// Terms of pods on nodes that match the pod and count in scores.
    ScoringTerms,
    /// Disks and claims in use.
    VolumeUse,
    /// Volumes that are attached.
    Attachments,
    /// Outcomes of device selectors, for the claims of the pod. They are the same for every predicate, though not for every call: the time
    /// that they take is charged to no single predicate.
    DeviceSelectors,
}

/// An argument of a fact function: its type in [`Facts`], its type at the boundary, and how one becomes the other.
macro_rules! argument {
    (method text) => { &str };
    (method flag) => { bool };
    (method integer) => { i64 };
    (method texts) => { &[Cow<'_, str>] };
    (method disk_kind) => { DiskKind };
    (method info_field) => { InfoField };
    (method attachment) => { &wire::Attachment };
    (method selectors) => { &[PodSelector] };
    (method number) => { u32 };
    (method query) => { &Query };
    (guest text) => { WasmStr };
    (guest flag) => { bool };
    (guest integer) => { i64 };
    (guest texts) => { Vec<WasmStr> };
    (guest disk_kind) => { DiskKind };
    (guest info_field) => { InfoField };
    (guest attachment) => { wire::Attachment };
    (guest selectors) => { Vec<PodSelector> };
    (guest number) => { u32 };
    (guest query) => { Query };
    // Read in place in the guest's memory.
    (pass text, $value:ident, $store:ident) => { &$value.to_str(&$store)? };
    (pass flag, $value:ident, $store:ident) => { $value };
    (pass integer, $value:ident, $store:ident) => { $value };
    (pass texts, $value:ident, $store:ident) => {
        &$value.iter().map(|text| text.to_str(&$store)).collect::<wasmtime::Result<Vec<_>>>()?
    };
    (pass disk_kind, $value:ident, $store:ident) => { $value };
    (pass info_field, $value:ident, $store:ident) => { $value };
    (pass number, $value:ident, $store:ident) => { $value };
    (pass query, $value:ident, $store:ident) => { $value.bounded()? };
    (pass $list:ident, $value:ident, $store:ident) => { &$value };
}

/// Calls a method of the running call's facts with the arguments of the guest. An error ends the guest's call.
macro_rules! call {
    ($store:ident, $method:ident($($argument:ident: $kind:ident),*; $($meter:ident)?)) => {
        $store.data().facts()?.$method($(argument!(pass $kind, $argument, $store),)* $(&$meter)?)
    };
    ($store:ident, $method:ident($($argument:ident: $kind:ident),*; $($meter:ident)?), or trap) => {
        call!($store, $method($($argument: $kind),*; $($meter)?)).map_err(NoValue::trap)?
    };
    ($store:ident, $method:ident($($argument:ident: $kind:ident),*; $($meter:ident)?), as set) => {{
        let rows = call!($store, $method($($argument: $kind),*; $($meter)?));
        $store.data_mut().row_sets()?.add(rows)?
    }};
}

/// Adds one function of an interface to a linker instance.
macro_rules! link {
    (
        $instance:ident, $name:literal, untimed,
        $method:ident($($argument:ident: $kind:ident),*; $($meter:ident)?) $(, $or:ident $trap:ident)?
    ) => {
        $instance.func_wrap(
            $name,
            |store: StoreContextMut<'_, T>, ($($argument,)*): ($(argument!(guest $kind),)*)| {
                Ok((call!(store, $method($($argument: $kind),*; $($meter)?) $(, $or $trap)?),))
            },
        )?
    };
    (
        $instance:ident, $name:literal, $timing:ident $([$kept:ident])?,
        $method:ident($($argument:ident: $kind:ident),*; $($meter:ident)?) $(, $or:ident $trap:ident)?
    ) => {
        $instance.func_wrap(
            $name,
            |mut store: StoreContextMut<'_, T>, ($($argument,)*): ($(argument!(guest $kind),)*)| {
                $(
                    let started = Instant::now();
                    let limit = store.data_mut().deadline().meter(HostWork::Shared);
                    let filled = store.data().facts()?.fill(Kept::$kept, &limit);
                    store.data_mut().deadline().credit(HostWork::Shared, started);
                    filled.map_err(NoValue::trap)?;
                )?
                let started = Instant::now();
                $(let $meter = store.data_mut().deadline().meter(HostWork::Chosen);)?
                let value = call!(store, $method($($argument: $kind),*; $($meter)?) $(, $or $trap)?);
                store.data_mut().deadline().credit(HostWork::Chosen, started);
                Ok((value,))
            },
        )?
    };
}

/// Makes [`Interface`], [`Facts`] and the linker from the table.
macro_rules! interfaces {
    ($(
        $(#[doc = $doc:literal])+
        $interface:ident = $name:literal, pods_on_nodes: $pods_on_nodes:literal $(, since: $since:ident)? {
            $($function:literal => $timing:ident $([$kept:ident])? $method:ident($($argument:ident: $kind:ident),* $(; $meter:ident)?)
                -> $value:ty $(, $or:ident $trap:ident)?;)*
        }
    )*) => {
        /// A fact interface of the contract.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Interface {
            $($(#[doc = $doc])+ $interface,)*
        }

        impl Interface {
            /// Every interface, in the order of the contract.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$interface),*];

            /// The name in the contract and in a policy's `allow`.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$interface => $name,)*
                }
            }

            /// The names of its functions that are those of [`Facts`].
            fn fact_functions(self) -> &'static [&'static str] {
                match self {
                    $(Self::$interface => &[$($function),*],)*
                }
            }

            /// Describes in one sentence the facts that can be read through the interface.
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Self::$interface => concat!($($doc),+),)*
                }
            }

            /// Whether binding a pod to a node, or removing one, can change what the interface answers.
            pub fn depends_on_pods_on_nodes(self) -> bool {
                match self {
                    $(Self::$interface => $pods_on_nodes,)*
                }
            }

            /// The minor version of the contract that has brought the interface.
            pub fn since(self) -> Minor {
                match self {
                    $(Self::$interface => interfaces!(since $($since)?),)*
                }
            }

            /// Adds the functions of the interface that read facts to an instance of a linker. Functions that a later version of the
            /// contract has added are there as well: no component of an earlier version imports them.
            pub(crate) fn link_facts<T: FactStore>(self, instance: &mut LinkerInstance<'_, T>) -> wasmtime::Result<()> {
                match self {
                    $(Self::$interface => {
                        $(link!(instance, $function, $timing $([$kept])?, $method($($argument: $kind),*; $($meter)?) $(, $or $trap)?);)*
                    })*
                }
                Ok(())
            }
        }

        /// Facts of a running call: the pod and the batch of that call, one method per function of the contract. Columns have one
        /// entry per row of the batch. Units and meanings are those of the contract.
        pub trait Facts: Send + Sync {
            /// Builds what is kept for every call on the snapshot, where that has not been done yet and there is time left.
            ///
            /// # Errors
            ///
            /// [`NoValue::Deadline`] where `meter` ends first: objects of others may make it any amount of work.
            fn fill(&self, kept: Kept, meter: &Meter) -> Result<(), NoValue>;

            /// About how many bytes the pod asks with: its terms, constraints, requests. What a predicate does for them takes time, so the
            /// time budget of a call grows with it.
            fn weight(&self) -> usize {
                0
            }

            $($(
                #[doc = concat!("`", $name, ".", $function, "`")]
                fn $method(&self $(, $argument: argument!(method $kind))* $(, $meter: &Meter)?)
                    -> interfaces!(value $value $(, $or $trap)?);
            )*)*
        }

        /// The facts of a call that reads none.
        #[cfg(test)]
        #[derive(Debug)]
        pub(super) struct NothingToRead;

        #[cfg(test)]
        #[allow(unused_variables, clippy::unreachable, reason = "a call that reads a fact is a mistake of the test")]
        impl Facts for NothingToRead {
            fn fill(&self, kept: Kept, meter: &Meter) -> Result<(), NoValue> {
                unreachable!()
            }

            $($(
                fn $method(&self $(, $argument: argument!(method $kind))* $(, $meter: &Meter)?)
                    -> interfaces!(value $value $(, $or $trap)?) {
                    unreachable!()
                }
            )*)*
        }
    };
    (since) => { Minor::V0_1 };
    (since $since:ident) => { Minor::$since };
    (value $value:ty) => { $value };
    (value $value:ty, or trap) => { Result<$value, NoValue> };
    (value $value:ty, as set) => { $value };
}

impl Interface {
    /// Whether a predicate that imports it is cluster-wide: always evaluated over every row.
    pub fn is_cluster_wide(self) -> bool {
        self.name().starts_with("cluster-")
    }

    /// Whether it gives facts. A policy's `allow` lists the facts that a module may read; what gives none needs no entry.
    pub fn is_fact(self) -> bool {
        !matches!(self, Self::Log | Self::RowSets)
    }

    /// The names of its functions in the contract.
    pub fn functions(self) -> &'static [&'static str] {
        match self {
            Self::Log => &["write"],
            Self::RowSets => &["all", "and", "or", "not", "count", "reject"],
            _ => self.fact_functions(),
        }
    }

    /// The interface of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|interface| interface.name() == name)
    }

    /// The interface with an import's full name, if this host serves the version in it and the interface is of that version.
    pub(crate) fn from_import(import: &str) -> Option<Self> {
        let (name, version) = contract::split(import)?;
        let minor = Minor::from_version(version)?;
        Self::from_name(name).filter(|interface| interface.since() <= minor)
    }

    /// The versions of the contract that have it.
    pub(crate) fn minors(self) -> impl Iterator<Item = Minor> {
        Minor::ALL.into_iter().filter(move |minor| self.since() <= *minor)
    }
}

// contract: interfaces, made by `make contract`
interfaces! {
    /// The pod's namespace and labels.
    PodLabels = "pod-labels", pods_on_nodes: false {
        "namespace" => untimed namespace() -> Arc<str>;
        "label" => untimed label(key: text) -> Option<Arc<str>>;
    }
    /// Annotations of the pod.
    PodAnnotations = "pod-annotations", pods_on_nodes: false {
        "annotation" => untimed annotation(key: text) -> Option<Arc<str>>;
    }
    /// `spec.nodeName`, `spec.nodeSelector` and node affinity of the pod, as written and unvalidated.
    PodPlacement = "pod-placement", pods_on_nodes: false {
        "node-name" => untimed node_name() -> Option<Arc<str>>;
        "node-selector" => untimed node_selector() -> Arc<[(Arc<str>, Arc<str>)]>;
        "required-terms" => untimed required_terms() -> Option<Vec<wire::Term>>;
        "preferred-terms" => untimed preferred_terms() -> Option<Vec<wire::PreferredTerm>>;
    }
    /// Tolerations of the pod for taints of nodes.
    PodTolerations = "pod-tolerations", pods_on_nodes: false {
        "tolerations" => untimed tolerations() -> Vec<wire::Toleration>;
    }
    /// The pod's resource requests.
    PodResources = "pod-resources", pods_on_nodes: false {
        "requests" => untimed requests() -> Vec<wire::Request>;
    }
    /// The pod's requests as the score of kube-scheduler's NodeResourcesFit counts them.
    PodNonZeroRequests = "pod-non-zero-requests", pods_on_nodes: false, since: V0_2 {
        "requests" => untimed non_zero_requests() -> Vec<wire::Request>;
    }
    /// Images that the pod uses, as kube-scheduler's ImageLocality compares them: a name without a tag and without a digest has the tag `latest`.
    PodImages = "pod-images", pods_on_nodes: false, since: V0_2 {
        "containers" => untimed container_images() -> Arc<[Arc<str>]>;
        "volumes" => untimed volume_images() -> Arc<[Arc<str>]>;
    }
    /// Topology spread constraints of the pod, as written and unvalidated.
    PodSpread = "pod-spread", pods_on_nodes: false {
        "constraints" => untimed spread_constraints() -> Vec<wire::SpreadConstraint>;
        "default-selector" => timed default_selector() -> Option<wire::LabelSelector>;
    }
    /// Required pod affinity and anti-affinity of the pod, as written and unvalidated; of preferred terms only invalid ones.
    PodAffinity = "pod-affinity", pods_on_nodes: false {
        "affinity" => untimed affinity() -> Vec<wire::AffinityTerm>;
        "anti-affinity" => untimed anti_affinity() -> Vec<wire::AffinityTerm>;
        "invalid-preferred" => untimed invalid_preferred() -> (Vec<wire::AffinityTerm>, Vec<wire::AffinityTerm>);
    }
    /// Preferred pod affinity and anti-affinity of the pod, as written and unvalidated, each term with its weight.
    PodPreferredAffinity = "pod-preferred-affinity", pods_on_nodes: false, since: V0_2 {
        "affinity" => untimed preferred_affinity() -> Vec<(i32, wire::AffinityTerm)>;
        "anti-affinity" => untimed preferred_anti_affinity() -> Vec<(i32, wire::AffinityTerm)>;
    }
    /// Node features that the pod requires.
    PodFeatures = "pod-features", pods_on_nodes: false {
        "required" => untimed required_features() -> Vec<Arc<str>>;
    }
    /// The volumes of the pod that can make a node unsuitable: disks and PersistentVolumeClaims.
    PodVolumes = "pod-volumes", pods_on_nodes: false {
        "volumes" => untimed volumes() -> Vec<wire::PodVolume>;
        "owner" => untimed owner() -> (Arc<str>, Arc<str>, Arc<str>);
    }
    /// Labels of the pod's Namespace.
    NamespaceLabels = "namespace-labels", pods_on_nodes: false, since: V0_2 {
        "label" => untimed namespace_label(key: text) -> Option<Arc<str>>;
    }
    /// Fields of the pod's spec.
    PodSpec = "pod-spec", pods_on_nodes: false, since: V0_2 {
        "priority" => untimed priority() -> i32;
        "priority-class" => untimed priority_class() -> Option<Arc<str>>;
        "service-account" => untimed service_account() -> Option<Arc<str>>;
        "runtime-class" => untimed runtime_class() -> Option<Arc<str>>;
        "host-network" => untimed host_network() -> bool;
        "images" => untimed images() -> Arc<[Arc<str>]>;
        "scheduler-name" => untimed scheduler_name() -> Arc<str>;
    }
    /// The controller of the pod: the entry of `metadata.ownerReferences` whose `controller` is true.
    PodOwner = "pod-owner", pods_on_nodes: false, since: V0_2 {
        "controller" => untimed controller() -> Option<wire::Controller>;
        "controller-uid" => untimed controller_uid() -> Option<Arc<str>>;
    }
    /// The pod's claims of devices: ResourceClaims as DynamicResources of kube-scheduler resolves them.
    PodClaims = "pod-claims", pods_on_nodes: false, since: V0_2 {
        "claims" => timed claims() -> Result<Arc<[wire::claims::Claim]>, wire::claims::Obstacle>;
        "extended" => timed extended() -> Option<Arc<wire::claims::Extended>>;
        "claim-name" => untimed claim_name(claim: number) -> Arc<str>;
        "chosen" => untimed chosen(claim: number) -> Arc<[u32]>;
        "deriving" => untimed deriving(claim: number) -> Arc<[u32]>;
    }
    /// Names of the nodes of the batch.
    NodeIdentity = "node-identity", pods_on_nodes: false {
        "names" => shared[NodeNames] names() -> Arc<[Arc<str>]>;
        "row" => untimed row(name: text) -> Option<u32>;
    }
    /// Labels of the nodes of the batch.
    NodeLabels = "node-labels", pods_on_nodes: false {
        "column" => timed label_column(key: text) -> Arc<[u32]>;
        "code" => timed label_code(key: text, text: text) -> Option<u32>;
        "dictionary" => timed label_dictionary(key: text) -> Arc<[Arc<str>]>;
        "integers" => timed label_integers(key: text) -> Arc<[i64]>;
        "rows-in" => timed rows_with_label_in(key: text, values: texts) -> Rows, as set;
        "rows-with" => timed rows_with_label(key: text) -> Rows, as set;
    }
    /// Annotations of the nodes of the batch.
    NodeAnnotations = "node-annotations", pods_on_nodes: false {
        "column" => timed annotation_column(key: text) -> Arc<[u32]>;
        "code" => timed annotation_code(key: text, text: text) -> Option<u32>;
        "dictionary" => timed annotation_dictionary(key: text) -> Arc<[Arc<str>]>;
        "integers" => timed annotation_integers(key: text) -> Arc<[i64]>;
        "rows-in" => timed rows_with_annotation_in(key: text, values: texts) -> Rows, as set;
        "rows-with" => timed rows_with_annotation(key: text) -> Rows, as set;
    }
    /// Taints and the unschedulable flag of the nodes of the batch.
    NodeTaints = "node-taints", pods_on_nodes: false {
        "unschedulable" => untimed unschedulable() -> Arc<[u8]>;
        "sets" => timed taint_sets() -> Vec<Vec<wire::Taint>>;
        "column" => untimed taint_column() -> Arc<[u32]>;
        "rows-unschedulable" => timed rows_unschedulable() -> Rows, as set;
        "rows-untolerated" => timed rows_untolerated() -> Rows, as set;
    }
    /// Resources of the nodes of the batch, one column per resource name.
    NodeResources = "node-resources", pods_on_nodes: true {
        "allocatable" => timed allocatable(resource: text) -> Arc<[i64]>;
        "requested" => timed requested(resource: text) -> Arc<[i64]>;
        "foreign" => timed foreign(resource: text) -> Arc<[i64]>;
        "free" => timed free(resource: text) -> Arc<[i64]>;
        "pods" => untimed pods() -> Arc<[i64]>;
        "foreign-pods" => untimed foreign_pods() -> Arc<[i64]>;
        "pod-limit" => untimed pod_limit() -> Arc<[i64]>;
        "pod-room" => untimed pod_room() -> Arc<[i64]>;
        "device-class-serves" => untimed device_class_serves(resource: text) -> bool;
        "rows-with-free" => timed rows_with_free(resource: text, amount: integer) -> Rows, as set;
    }
    /// Sums by name, which the policy's accounting component makes of nodes and of the pods on them.
    NodeSums = "node-sums", pods_on_nodes: true, since: V0_2 {
        "column" => timed named_sum(name: text) -> Arc<[i64]>;
    }
    /// Sums of requests in which every container counts that names no `cpu` or no `memory`, as in `pod-non-zero-requests`.
    NodeNonZeroRequests = "node-non-zero-requests", pods_on_nodes: true, since: V0_2 {
        "requested" => timed non_zero_requested(resource: text) -> Arc<[i64]>;
    }
    /// Host port conflicts between the pod being filtered and the pods on the nodes of the batch.
    NodePorts = "node-ports", pods_on_nodes: true {
        "conflicts" => timed port_conflicts() -> Option<Arc<[u8]>>;
    }
    /// Features that the nodes of the batch declare.
    NodeFeatures = "node-features", pods_on_nodes: false {
        "sets" => timed feature_sets() -> Vec<Vec<Arc<str>>>;
        "column" => untimed feature_column() -> Arc<[u32]>;
    }
    /// Conditions of the nodes of the batch: their status alone, not the times of heartbeats.
    NodeConditions = "node-conditions", pods_on_nodes: false, since: V0_2 {
        "column" => timed condition_column(kind: text) -> Arc<[u8]>;
    }
    /// System information of the nodes of the batch: `status.nodeInfo` and the provider.
    NodeInfo = "node-info", pods_on_nodes: false, since: V0_2 {
        "column" => timed info_column(field: info_field) -> Arc<[u32]>;
        "code" => timed info_code(field: info_field, text: text) -> Option<u32>;
        "dictionary" => timed info_dictionary(field: info_field) -> Arc<[Arc<str>]>;
    }
    /// Images that are present on the nodes of the batch.
    NodeImages = "node-images", pods_on_nodes: false, since: V0_2 {
        "present" => timed image_column(image: text) -> Arc<[u8]>;
    }
    /// Ages of the nodes of the batch.
    NodeAge = "node-age", pods_on_nodes: false, since: V0_2 {
        "created" => untimed created() -> Arc<[i64]>;
    }
    /// Devices that the nodes of the batch can reach, from ResourceSlices, and their use.
    NodeDevices = "node-devices", pods_on_nodes: false, since: V0_2 {
        "devices" => shared[DeviceSelectors] devices(query: query) -> Arc<wire::devices::Devices>, or trap;
    }
    /// Answers of external parties about the nodes of the batch, for the pod.
    NodeParties = "node-parties", pods_on_nodes: false, since: V0_2 {
        "unsuitable" => timed unsuitable() -> Arc<[wire::PartyColumn]>;
    }
    /// Counts of the pods on all nodes of the cluster, by selector.
    ClusterPods = "cluster-pods", pods_on_nodes: true {
        "matching" => timed matching_pods(selectors: selectors, terminating: flag; meter) -> Arc<[u32]>, or trap;
        "matches-this-pod" => timed matches_this_pod(selectors: selectors) -> bool, or trap;
        "requested" => timed requested_by_pods(selectors: selectors, resource: text, terminating: flag; meter)
            -> Arc<[i64]>, or trap;
    }
    /// The pods that have the same controller as the pod being filtered, on all nodes of the cluster.
    ClusterControllers = "cluster-controllers", pods_on_nodes: true, since: V0_2 {
        "same-controller" => timed same_controller(terminating: flag) -> Option<Arc<[u32]>>;
    }
    /// The nodes of which a `score` call chooses.
    ClusterCandidates = "cluster-candidates", pods_on_nodes: false, since: V0_2 {
        "feasible" => untimed feasible() -> Arc<[u8]>;
    }
    /// Required anti-affinity terms of the pods on all nodes of the cluster, as far as they match the pod being filtered.
    ClusterAffinity = "cluster-affinity", pods_on_nodes: true {
        "topology-keys" => shared[MatchedTerms] anti_affinity_keys() -> Vec<Arc<str>>;
        "anti-affinity-terms" => shared[MatchedTerms] anti_affinity_terms(topology_key: text) -> Arc<[u32]>;
    }
    /// Preferred terms and required affinity terms of the pods on all nodes of the cluster, as far as they match the pod being filtered.
    ClusterPreferences = "cluster-preferences", pods_on_nodes: true, since: V0_2 {
        "topology-keys" => shared[ScoringTerms] preference_keys() -> Vec<Arc<str>>;
        "preferred-terms" => shared[ScoringTerms] preference_terms(topology_key: text) -> Arc<[u32]>;
        "weights" => shared[ScoringTerms] preference_weights(topology_key: text) -> Arc<[i64]>;
        "required-terms" => shared[ScoringTerms] required_affinity_terms(topology_key: text) -> Arc<[u32]>;
    }
    /// Disks and claims that the pods on all nodes of the cluster use.
    ClusterVolumeUse = "cluster-volume-use", pods_on_nodes: true {
        "disk-users" => shared[VolumeUse] disk_users(kind: disk_kind, id: text) -> Vec<wire::DiskUser>;
        "claim-users" => shared[VolumeUse] claim_users(claim: text) -> u32;
    }
    /// Attached volumes and attach limits of CSI drivers, over all rows of the cluster.
    ClusterAttachments = "cluster-attachments", pods_on_nodes: true {
        "wanted" => untimed wanted_attachments(registered: flag) -> Result<Vec<wire::Attachment>, wire::Obstacle>;
        "registered" => shared[Attachments] attachment_registered() -> Arc<[u8]>;
        "limited" => shared[Attachments] attachment_limited() -> Arc<[u8]>;
        "driver-missing" => timed driver_missing(driver: text) -> Arc<[u8]>;
        "limit" => shared[Attachments] attachment_limit(driver: text) -> Arc<[i64]>;
        "used" => shared[Attachments] attachments_used(driver: text) -> Arc<[i64]>;
        "rows-with" => shared[Attachments] rows_with_attachment(volume: attachment) -> Vec<u32>;
        "uncounted" => shared[Attachments] uncounted_pods() -> Vec<wire::UncountedPod>;
    }
    /// Storage objects: PersistentVolumeClaims, PersistentVolumes, StorageClasses, CSIDrivers and CSIStorageCapacities.
    ClusterStorage = "cluster-storage", pods_on_nodes: false {
        "claim-named" => timed claim(name: text) -> Option<wire::Claim>;
        "volume-named" => timed volume(name: text) -> Option<wire::Volume>;
        "volumes-for" => timed volumes_for(claim: text; meter) -> Arc<[wire::Volume]>, or trap;
        "exact-sizes-for" => timed exact_sizes(claim: text; meter) -> Option<wire::ExactSizes>, or trap;
        "class-named" => timed storage_class(name: text) -> Option<wire::StorageClass>;
        "default-class" => timed default_class() -> Option<Arc<str>>;
        "driver-reports-capacity" => timed driver_reports_capacity(driver: text) -> bool;
        "capacities" => timed capacities(class_name: text; meter) -> Arc<[wire::StorageCapacity]>, or trap;
        "migrated" => timed migrated(plugin: text) -> Arc<[u8]>;
    }
    /// Images that are present on nodes, over all rows of the cluster.
    ClusterImages = "cluster-images", pods_on_nodes: false, since: V0_2 {
        "size" => timed image_size(image: text) -> i64;
    }
    /// Moments that have passed.
    Time = "time", pods_on_nodes: false, since: V0_2 {
        "passed" => untimed passed(at: integer) -> bool;
    }
    /// Entries of the cluster's ConfigMaps.
    ConfigMaps = "config-maps", pods_on_nodes: false, since: V0_2 {
        "entry" => untimed config_entry(config_map: text, key: text) -> Option<Arc<str>>;
    }
    /// Operations on sets of rows of the batch; nothing can be read through it.
    RowSets = "row-sets", pods_on_nodes: false, since: V0_2 {
    }
    /// Lines for operators, in the log of the sidecar; nothing can be read through it.
    Log = "log", pods_on_nodes: false {
    }
}
// contract: end
