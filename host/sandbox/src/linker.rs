//! What a component may be linked to: one function per fact interface, and nothing else.
//!
//! [`Interface`] is the closed list. A component gets exactly the interfaces that it imports and that its policy
//! allows; there is no WASI, no clock, no randomness, no file and no socket to link.

use std::time::Instant;

use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, LinkerInstance, WasmStr};

use super::facts::Facts;
use super::instance::Frame;
use super::wire::{Attachment, DiskKind, PodSelector};
use crate::limits::EPOCH_TICK;

/// The package that holds every interface of the contract.
pub const PACKAGE: &str = "nodesift:predicate";

/// The version of the contract that this host speaks. It serves components written against this or an earlier 0.1.
pub const VERSION: &str = "0.1.0";

/// A fact interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the names of the contract")]
pub enum Interface {
    PodLabels,
    PodPlacement,
    PodTolerations,
    PodResources,
    NodeIdentity,
    NodeLabels,
    NodeTaints,
    NodeResources,
    NodePorts,
    PodSpread,
    PodAffinity,
    PodFeatures,
    PodVolumes,
    NodeFeatures,
    ClusterPods,
    ClusterAffinity,
    ClusterVolumeUse,
    ClusterAttachments,
    ClusterStorage,
}

impl Interface {
    /// All of them.
    pub const ALL: [Self; 19] = [
        Self::PodLabels,
        Self::PodPlacement,
        Self::PodTolerations,
        Self::PodResources,
        Self::NodeIdentity,
        Self::NodeLabels,
        Self::NodeTaints,
        Self::NodeResources,
        Self::NodePorts,
        Self::PodSpread,
        Self::PodAffinity,
        Self::PodFeatures,
        Self::PodVolumes,
        Self::NodeFeatures,
        Self::ClusterPods,
        Self::ClusterAffinity,
        Self::ClusterVolumeUse,
        Self::ClusterAttachments,
        Self::ClusterStorage,
    ];

    /// The name in the contract and in a policy's `allow`.
    pub fn name(self) -> &'static str {
        match self {
            Self::PodLabels => "pod-labels",
            Self::PodPlacement => "pod-placement",
            Self::PodTolerations => "pod-tolerations",
            Self::PodResources => "pod-resources",
            Self::NodeIdentity => "node-identity",
            Self::NodeLabels => "node-labels",
            Self::NodeTaints => "node-taints",
            Self::NodeResources => "node-resources",
            Self::NodePorts => "node-ports",
            Self::PodSpread => "pod-spread",
            Self::PodAffinity => "pod-affinity",
            Self::PodFeatures => "pod-features",
            Self::PodVolumes => "pod-volumes",
            Self::NodeFeatures => "node-features",
            Self::ClusterPods => "cluster-pods",
            Self::ClusterAffinity => "cluster-affinity",
            Self::ClusterVolumeUse => "cluster-volume-use",
            Self::ClusterAttachments => "cluster-attachments",
            Self::ClusterStorage => "cluster-storage",
        }
    }

    /// Whether a predicate that imports it is cluster-wide: always asked about every row.
    pub fn is_cluster_wide(self) -> bool {
        self.name().starts_with("cluster-")
    }

    /// Whether some pod that comes to a node or leaves it can change what the interface answers.
    pub fn is_about_pods_on_nodes(self) -> bool {
        match self {
            Self::NodeResources
            | Self::NodePorts
            | Self::ClusterPods
            | Self::ClusterAffinity
            | Self::ClusterVolumeUse
            | Self::ClusterAttachments => true,
            Self::PodLabels
            | Self::PodPlacement
            | Self::PodTolerations
            | Self::PodResources
            | Self::PodSpread
            | Self::PodAffinity
            | Self::PodFeatures
            | Self::PodVolumes
            | Self::NodeIdentity
            | Self::NodeLabels
            | Self::NodeTaints
            | Self::NodeFeatures
            | Self::ClusterStorage => false,
        }
    }

    /// The interface of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|interface| interface.name() == name)
    }

    /// Adds the interface, and only it, to a linker.
    pub(super) fn link(self, linker: &mut Linker<Frame>) -> wasmtime::Result<()> {
        let mut instance = linker.instance(&format!("{PACKAGE}/{}@{VERSION}", self.name()))?;
        let instance = &mut instance;
        match self {
            Self::PodLabels => {
                at_hand(instance, "namespace", |facts| facts.namespace())?;
                at_hand_by_text(instance, "label", |facts, key| facts.label(key))
            }
            Self::PodPlacement => {
                at_hand(instance, "node-name", |facts| facts.node_name())?;
                at_hand(instance, "node-selector", |facts| facts.node_selector())?;
                at_hand(instance, "required-terms", |facts| facts.required_terms())
            }
            Self::PodTolerations => at_hand(instance, "tolerations", |facts| facts.tolerations()),
            Self::PodResources => at_hand(instance, "requests", |facts| facts.requests()),
            Self::NodeIdentity => {
                plain(instance, "names", |facts| facts.names())?;
                at_hand_by_text(instance, "row", |facts, name| facts.row(name))
            }
            Self::NodeLabels => {
                by_text(instance, "column", |facts, key| facts.label_column(key))?;
                by_text(instance, "dictionary", |facts, key| facts.label_dictionary(key))?;
                by_text(instance, "integers", |facts, key| facts.label_integers(key))?;
                by_texts(instance, "code", |facts, key, text| facts.label_code(key, text))
            }
            Self::NodeTaints => {
                at_hand(instance, "unschedulable", |facts| facts.unschedulable())?;
                plain(instance, "sets", |facts| facts.taint_sets())?;
                at_hand(instance, "column", |facts| facts.taint_column())
            }
            Self::NodeResources => {
                // Of a resource that no node lists they are made anew each time.
                by_text(instance, "allocatable", |facts, resource| facts.allocatable(resource))?;
                by_text(instance, "requested", |facts, resource| facts.requested(resource))?;
                by_text(instance, "foreign", |facts, resource| facts.foreign(resource))?;
                by_text(instance, "free", |facts, resource| facts.free(resource))?;
                at_hand(instance, "pods", |facts| facts.pods())?;
                at_hand(instance, "foreign-pods", |facts| facts.foreign_pods())?;
                at_hand(instance, "pod-limit", |facts| facts.pod_limit())?;
                at_hand(instance, "pod-room", |facts| facts.pod_room())?;
                at_hand_by_text(instance, "device-class-serves", |facts, resource| facts.device_class_serves(resource))
            }
            Self::NodePorts => plain(instance, "conflicts", |facts| facts.port_conflicts()),
            Self::PodSpread => {
                at_hand(instance, "constraints", |facts| facts.spread_constraints())?;
                plain(instance, "default-selector", |facts| facts.default_selector())
            }
            Self::PodAffinity => {
                at_hand(instance, "affinity", |facts| facts.affinity())?;
                at_hand(instance, "anti-affinity", |facts| facts.anti_affinity())
            }
            Self::PodFeatures => at_hand(instance, "required", |facts| facts.required_features()),
            Self::PodVolumes => {
                at_hand(instance, "volumes", |facts| facts.volumes())?;
                at_hand(instance, "owner", |facts| facts.owner())
            }
            Self::NodeFeatures => {
                plain(instance, "sets", |facts| facts.feature_sets())?;
                at_hand(instance, "column", |facts| facts.feature_column())
            }
            Self::ClusterPods => link_cluster_pods(instance),
            Self::ClusterAffinity => {
                plain(instance, "topology-keys", |facts| facts.anti_affinity_keys())?;
                by_text(instance, "anti-affinity-terms", |facts, key| facts.anti_affinity_terms(key))
            }
            Self::ClusterVolumeUse => {
                by_text(instance, "claim-users", |facts, claim| facts.claim_users(claim))?;
                instance.func_wrap(
                    "disk-users",
                    |store: StoreContextMut<'_, Frame>, (kind, id): (DiskKind, WasmStr)| {
                        Ok((store.data().facts()?.disk_users(kind, &id.to_str(&store)?),))
                    },
                )
            }
            Self::ClusterAttachments => {
                instance.func_wrap("wanted", |store: StoreContextMut<'_, Frame>, (registered,): (bool,)| {
                    Ok((store.data().facts()?.wanted_attachments(registered),))
                })?;
                plain(instance, "registered", |facts| facts.attachment_registered())?;
                plain(instance, "limited", |facts| facts.attachment_limited())?;
                by_text(instance, "limit", |facts, driver| facts.attachment_limit(driver))?;
                by_text(instance, "used", |facts, driver| facts.attachments_used(driver))?;
                instance.func_wrap("rows-with", |store: StoreContextMut<'_, Frame>, (volume,): (Attachment,)| {
                    Ok((store.data().facts()?.rows_with_attachment(&volume),))
                })?;
                plain(instance, "uncounted", |facts| facts.uncounted_pods())
            }
            Self::ClusterStorage => {
                by_text(instance, "claim-named", |facts, name| facts.claim(name))?;
                by_text(instance, "volume-named", |facts, name| facts.volume(name))?;
                by_text(instance, "volumes-for", |facts, claim| facts.volumes_for(claim))?;
                by_text(instance, "class-named", |facts, name| facts.storage_class(name))?;
                plain(instance, "default-class", |facts| facts.default_class())?;
                by_text(instance, "driver-reports-capacity", |facts, driver| facts.driver_reports_capacity(driver))?;
                by_text(instance, "capacities", |facts, class| facts.capacities(class))?;
                by_text(instance, "migrated", |facts, plugin| facts.migrated(plugin))
            }
        }
    }
}

fn link_cluster_pods(instance: &mut LinkerInstance<'_, Frame>) -> wasmtime::Result<()> {
    let unknown_operator = || wasmtime::Error::msg("a selector with an unknown operator");
    instance.func_wrap(
        "matching",
        move |mut store: StoreContextMut<'_, Frame>, (selectors, terminating): (Vec<PodSelector>, bool)| {
            let started = Instant::now();
            let counts = store.data().facts()?.matching_pods(&selectors, terminating);
            give_time_back(&mut store, started);
            Ok((counts.ok_or_else(unknown_operator)?,))
        },
    )?;
    instance.func_wrap(
        "matches-this-pod",
        move |store: StoreContextMut<'_, Frame>, (selectors,): (Vec<PodSelector>,)| {
            Ok((store.data().facts()?.matches_this_pod(&selectors).ok_or_else(unknown_operator)?,))
        },
    )
}

/// The time of a call is the guest's own: what the host took to answer, to build a column that nobody had asked for
/// before, say, is added to the deadline.
fn give_time_back(store: &mut StoreContextMut<'_, Frame>, started: Instant) {
    let taken = started.elapsed();
    if taken >= EPOCH_TICK {
        store.data_mut().deadline().extend(taken);
    }
}

/// Links a function without parameters of which the host has the answer at hand: nothing is built that could take it a tick,
/// and its time is not looked at.
fn at_hand<T>(
    instance: &mut LinkerInstance<'_, Frame>,
    name: &str,
    read: impl Fn(&dyn Facts) -> T + Send + Sync + 'static,
) -> wasmtime::Result<()>
where
    (T,): wasmtime::component::ComponentNamedList + wasmtime::component::Lower + 'static,
{
    instance.func_wrap(name, move |store: StoreContextMut<'_, Frame>, (): ()| Ok((read(store.data().facts()?),)))
}

/// As [`at_hand`], a function of one text, which is read in place in the guest's memory.
fn at_hand_by_text<T>(
    instance: &mut LinkerInstance<'_, Frame>,
    name: &str,
    read: impl Fn(&dyn Facts, &str) -> T + Send + Sync + 'static,
) -> wasmtime::Result<()>
where
    (T,): wasmtime::component::ComponentNamedList + wasmtime::component::Lower + 'static,
{
    instance.func_wrap(name, move |store: StoreContextMut<'_, Frame>, (text,): (WasmStr,)| {
        Ok((read(store.data().facts()?, &text.to_str(&store)?),))
    })
}

/// Links a function without parameters.
fn plain<T>(
    instance: &mut LinkerInstance<'_, Frame>,
    name: &str,
    read: impl Fn(&dyn Facts) -> T + Send + Sync + 'static,
) -> wasmtime::Result<()>
where
    (T,): wasmtime::component::ComponentNamedList + wasmtime::component::Lower + 'static,
{
    instance.func_wrap(name, move |mut store: StoreContextMut<'_, Frame>, (): ()| {
        let started = Instant::now();
        let value = read(store.data().facts()?);
        give_time_back(&mut store, started);
        Ok((value,))
    })
}

/// Links a function of one text.
fn by_text<T>(
    instance: &mut LinkerInstance<'_, Frame>,
    name: &str,
    read: impl Fn(&dyn Facts, &str) -> T + Send + Sync + 'static,
) -> wasmtime::Result<()>
where
    (T,): wasmtime::component::ComponentNamedList + wasmtime::component::Lower + 'static,
{
    instance.func_wrap(name, move |mut store: StoreContextMut<'_, Frame>, (text,): (WasmStr,)| {
        let started = Instant::now();
        let value = read(store.data().facts()?, &text.to_str(&store)?);
        give_time_back(&mut store, started);
        Ok((value,))
    })
}

/// Links a function of two texts.
fn by_texts<T>(
    instance: &mut LinkerInstance<'_, Frame>,
    name: &str,
    read: impl Fn(&dyn Facts, &str, &str) -> T + Send + Sync + 'static,
) -> wasmtime::Result<()>
where
    (T,): wasmtime::component::ComponentNamedList + wasmtime::component::Lower + 'static,
{
    instance.func_wrap(name, move |mut store: StoreContextMut<'_, Frame>, (first, second): (WasmStr, WasmStr)| {
        let started = Instant::now();
        let value = read(store.data().facts()?, &first.to_str(&store)?, &second.to_str(&store)?);
        give_time_back(&mut store, started);
        Ok((value,))
    })
}
