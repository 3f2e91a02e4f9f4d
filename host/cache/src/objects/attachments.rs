//! Volumes that CSI drivers attach: how many of a driver each row may have, and how many are attached there already.
//!
//! [`resolve`] says which volumes a pod attaches; it is the same for the pod being filtered and for pods on nodes.
//! Source: pkg/scheduler/framework/plugins/nodevolumelimits/csi.go.

use std::borrow::Cow;
use std::collections::HashSet;
use std::hash::Hash;
use std::sync::{Arc, OnceLock};

use rustc_hash::{FxHashMap, FxHashSet};

use super::migrated::MigratedPlugins;
use super::storage::StorageTable;
use super::volume_use::VolumePods;
use crate::columns::{Column, Row};
use crate::limits::FEW_VOLUMES;
use crate::metadata::volumes::PodVolume;
use crate::metadata::volumes::in_tree::{self, Plugin};
use crate::metadata::{Claim, PodRecord, VolumeSource};

/// A volume as a CSI driver attaches it: the driver's name and the volume handle.
pub type CsiVolume = (Arc<str>, Arc<str>);

/// Why the volumes of a pod cannot be counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// A volume names no claim.
    UnnamedClaim,
    /// There is no claim of this name.
    MissingClaim(Arc<str>),
    /// The claim of this name was made for another pod.
    ForeignClaim(Arc<str>),
    /// The pod's volume of this name cannot be named to its CSI driver, and why.
    Untranslatable(Arc<str>, Arc<str>),
}

/// A pod on a node whose volumes cannot be counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uncounted {
    /// The row of its node.
    pub row: Row,
    /// Namespace of the pod.
    pub namespace: Arc<str>,
    /// Name of the pod.
    pub pod: Arc<str>,
    /// Reason why its volumes cannot be counted.
    pub obstacle: Obstacle,
}

/// The pod whose volumes are resolved.
#[derive(Debug, Clone, Copy)]
pub struct Owner<'a> {
    /// Namespace of the pod.
    pub namespace: &'a str,
    /// Name of the pod.
    pub name: &'a str,
    /// UID of the pod; empty where the source has none.
    pub uid: &'a str,
}

impl<'a> From<&'a PodRecord> for Owner<'a> {
    fn from(pod: &'a PodRecord) -> Self {
        Self { namespace: &pod.namespace, name: &pod.name, uid: pod.object_uid() }
    }
}

/// Whether the pod whose volumes are resolved is bound to a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binding {
    /// The pod is bound: a claim that does not exist is left out.
    Bound,
    /// The pod is not bound, and cannot run without its claims: one that does not exist is an obstacle.
    Pending,
}

/// The volumes that a pod attaches, each once. In-tree kinds count only where a CSI driver has replaced their plugin (`migrated`).
/// Claims of which neither volume nor class names a driver are left out.
///
/// # Errors
///
/// The [`Obstacle`] of the first volume that cannot be resolved.
pub fn resolve(
    storage: &StorageTable,
    owner: Owner<'_>,
    volumes: &[PodVolume],
    migrated: MigratedPlugins,
    binding: Binding,
) -> Result<Vec<CsiVolume>, Obstacle> {
    let mut found = Distinct::for_at_most(volumes.len());
    for volume in volumes {
        let wanted = match volume.claim_name(owner.name) {
            Some(name) => match claim(storage, owner, volume, &name, binding)? {
                Some(claim) => driver_of(storage, claim, migrated),
                None => None,
            },
            None => match &volume.in_tree {
                Some(in_tree) if migrated.has(in_tree.plugin) => match &in_tree.handle {
                    Ok(handle) => Some((Arc::from(in_tree.plugin.driver()), Arc::clone(handle))),
                    Err(reason) => {
                        return Err(Obstacle::Untranslatable(Arc::clone(&volume.name), Arc::clone(reason)));
                    }
                },
                _ => None,
            },
        };
        if let Some(wanted) = wanted {
            found.add(wanted);
        }
    }
    Ok(found.values)
}

/// Values, each once, in the order in which they came.
struct Distinct<T> {
    values: Vec<T>,
    known: Option<HashSet<T>>,
}

impl<T: Clone + Eq + Hash> Distinct<T> {
    /// Returns an empty list for `count` values at most. A pod may list tens of thousands of volumes; most list a few.
    fn for_at_most(count: usize) -> Self {
        Self { values: Vec::new(), known: (count > FEW_VOLUMES).then(HashSet::new) }
    }

    fn add(&mut self, value: T) {
        let is_new = match &mut self.known {
            Some(known) => known.insert(value.clone()),
            None => !self.values.contains(&value),
        };
        if is_new {
            self.values.push(value);
        }
    }
}

/// The claim of a volume; `None` where it is left out.
fn claim<'a>(
    storage: &'a StorageTable,
    owner: Owner<'_>,
    volume: &PodVolume,
    name: &Arc<str>,
    binding: Binding,
) -> Result<Option<&'a Claim>, Obstacle> {
    if name.is_empty() {
        return Err(Obstacle::UnnamedClaim);
    }
    let Some(claim) = storage.claim(owner.namespace, name) else {
        return match binding {
            Binding::Bound => Ok(None),
            Binding::Pending => Err(Obstacle::MissingClaim(Arc::clone(name))),
        };
    };
    if volume.is_ephemeral() && claim.controller_uid.as_deref() != Some(owner.uid) {
        return Err(Obstacle::ForeignClaim(Arc::clone(name)));
    }
    Ok(Some(claim))
}

/// The driver of a claim, by its volume or else by its class.
fn driver_of(storage: &StorageTable, claim: &Claim, migrated: MigratedPlugins) -> Option<CsiVolume> {
    let volume = Some(&claim.volume_name).filter(|name| !name.is_empty()).and_then(|name| storage.volume(name));
    let (driver, handle) = match volume.map(|volume| &volume.source) {
        None => return driver_of_class(storage, claim, migrated),
        Some(VolumeSource::Csi { driver, handle }) => (Arc::clone(driver), Arc::clone(handle)),
        Some(VolumeSource::InTree(volume)) if migrated.has(volume.plugin) => {
            (Arc::from(volume.plugin.driver()), volume.handle.clone().ok()?)
        }
        Some(VolumeSource::InTree(_) | VolumeSource::Other) => return None,
    };
    (!driver.is_empty() && !handle.is_empty()).then_some((driver, handle))
}

/// The driver that will provision a claim's volume. The stand-in for its handle is the same for all pods that use the
/// claim, and equals no handle of a driver.
fn driver_of_class(storage: &StorageTable, claim: &Claim, migrated: MigratedPlugins) -> Option<CsiVolume> {
    let class = storage.class(claim.class_name.as_deref().filter(|name| !name.is_empty())?)?;
    let driver: Arc<str> = if in_tree::is_migratable(&class.provisioner) {
        let plugin = Plugin::from_name(&class.provisioner).filter(|plugin| migrated.has(*plugin))?;
        Arc::from(plugin.driver())
    } else {
        Arc::clone(&class.provisioner)
    };
    let handle = format!("{UNPROVISIONED_VOLUME}{}/{}", claim.namespace, claim.name);
    (!driver.is_empty()).then(|| (driver, Arc::from(handle)))
}

/// Prefix of the stand-in for the handle of a volume that is not provisioned yet. kube-scheduler takes a random text; this
/// one is as unlikely to begin a real handle.
const UNPROVISIONED_VOLUME: &str = "\u{1}unmade\u{1}";

/// The count below an overlay, and the rows that the overlay counts itself, sorted.
type Below = (Arc<OnceLock<Attachments>>, Arc<[Row]>);

/// Volumes attached to the nodes of rows.
#[derive(Debug, Default)]
pub struct Attachments {
    registered: Vec<u8>,
    limited: Vec<u8>,
    limits: FxHashMap<Arc<str>, Vec<(Row, i64)>>,
    used: FxHashMap<Arc<str>, Vec<(Row, i64)>>,
    /// Rows where pods use a volume.
    rows_with: FxHashMap<CsiVolume, Vec<u32>>,
    uncounted: Vec<Uncounted>,
    /// `None` where all rows are counted here.
    below: Option<Below>,
}

impl Attachments {
    pub(super) fn count(names: &Column<Arc<str>>, rows: &Column<VolumePods>, storage: &StorageTable) -> Self {
        let mut counted = Self::default();
        let attached = attached(storage, |_| true);
        for ((row, name), pods) in (0..).map(Row).zip(names.iter()).zip(rows.iter()) {
            let node = storage.node(name);
            counted.registered.push(u8::from(node.is_some()));
            counted.limited.push(u8::from(node.is_some_and(|node| !node.limits.is_empty())));
            counted.add_node(row, name, pods, storage, &attached);
        }
        counted
    }

    /// The count of rows of which some differ from those that `below` has counted.
    pub(super) fn over(
        below: &Arc<OnceLock<Self>>,
        touched: &Arc<[Row]>,
        names: &Column<Arc<str>>,
        rows: &Column<VolumePods>,
        storage: &StorageTable,
    ) -> Self {
        let all = below.get();
        let nodes: FxHashSet<&str> = touched.iter().filter_map(|row| names.get(*row)).map(|name| &**name).collect();
        let attached = attached(storage, |node| nodes.contains(node));
        let mut counted = Self {
            registered: all.map(|all| all.registered.clone()).unwrap_or_default(),
            limited: all.map(|all| all.limited.clone()).unwrap_or_default(),
            below: Some((Arc::clone(below), Arc::clone(touched))),
            ..Self::default()
        };
        // Nodes of the cache have the CSINode that they had; those that an overlay adds come last.
        for name in names.iter().skip(counted.registered.len()) {
            let node = storage.node(name);
            counted.registered.push(u8::from(node.is_some()));
            counted.limited.push(u8::from(node.is_some_and(|node| !node.limits.is_empty())));
        }
        for row in touched.iter() {
            if let (Some(name), Some(pods)) = (names.get(*row), rows.get(*row)) {
                counted.add_node(*row, name, pods, storage, &attached);
            }
        }
        counted
    }

    fn add_node(
        &mut self,
        row: Row,
        name: &str,
        pods: &VolumePods,
        storage: &StorageTable,
        attached: &FxHashMap<&str, Vec<CsiVolume>>,
    ) {
        let node = storage.node(name);
        for (driver, limit) in node.iter().flat_map(|node| &node.limits) {
            self.limits.entry(Arc::clone(driver)).or_default().push((row, *limit));
        }
        self.add_row(row, pods, storage, storage.migrated(name), attached.get(name).map_or(&[], Vec::as_slice));
    }

    fn add_row(
        &mut self,
        row: Row,
        pods: &VolumePods,
        storage: &StorageTable,
        migrated: MigratedPlugins,
        attached: &[CsiVolume],
    ) {
        let mut distinct: FxHashSet<CsiVolume> = FxHashSet::default();
        let mut uncounted: Vec<Uncounted> = Vec::new();
        for pod in pods.iter() {
            match resolve(storage, (&**pod).into(), &pod.facts.volumes, migrated, Binding::Bound) {
                Ok(volumes) => distinct.extend(volumes),
                Err(obstacle) => uncounted.push(Uncounted {
                    row,
                    namespace: Arc::clone(&pod.namespace),
                    pod: Arc::clone(&pod.name),
                    obstacle,
                }),
            }
        }
        // Which one kube-scheduler names depends on the order in which it saw the pods; here it is always the same.
        uncounted.sort_by(|a, b| (&a.namespace, &a.pod).cmp(&(&b.namespace, &b.pod)));
        self.uncounted.extend(uncounted.into_iter().take(1));
        for volume in &distinct {
            self.rows_with.entry(volume.clone()).or_default().push(row.0);
        }
        distinct.extend(attached.iter().cloned());
        let mut by_driver: FxHashMap<Arc<str>, i64> = FxHashMap::default();
        for (driver, _) in distinct {
            *by_driver.entry(driver).or_default() += 1;
        }
        for (driver, volumes) in by_driver {
            self.used.entry(driver).or_default().push((row, volumes));
        }
    }

    /// 1 per row that has a CSINode, else 0.
    pub fn registered(&self) -> &[u8] {
        &self.registered
    }

    /// 1 per row whose CSINode sets a limit for some driver, else 0.
    pub fn limited(&self) -> &[u8] {
        &self.limited
    }

    /// Rows that limit a driver, and to how many volumes.
    pub fn limits(&self, driver: &str) -> Cow<'_, [(Row, i64)]> {
        let counted = self.limits.get(driver).map_or(&[][..], Vec::as_slice);
        self.with_others(counted, |all| all.limits(driver), |(row, _)| *row)
    }

    /// Rows with volumes of a driver, and how many.
    pub fn used(&self, driver: &str) -> Cow<'_, [(Row, i64)]> {
        let counted = self.used.get(driver).map_or(&[][..], Vec::as_slice);
        self.with_others(counted, |all| all.used(driver), |(row, _)| *row)
    }

    /// Rows where pods use a volume.
    pub fn rows_with(&self, driver: &str, handle: &str) -> Cow<'_, [u32]> {
        let counted = self.rows_with.get(&(Arc::from(driver), Arc::from(handle))).map_or(&[][..], Vec::as_slice);
        self.with_others(counted, |all| all.rows_with(driver, handle), |row| Row(*row))
    }

    /// Returns the first pod by namespace and name of every row whose pods cannot all be counted.
    pub fn uncounted(&self) -> Cow<'_, [Uncounted]> {
        self.with_others(&self.uncounted, Self::uncounted, |pod| pod.row)
    }

    /// Returns the entries counted here, and those that `below` has counted of all other rows.
    fn with_others<'a, T: Clone>(
        &'a self,
        counted: &'a [T],
        of: impl Fn(&'a Self) -> Cow<'a, [T]>,
        row: impl Fn(&T) -> Row,
    ) -> Cow<'a, [T]> {
        let Some((all, touched)) = &self.below else { return counted.into() };
        let all = all.get().map(of).unwrap_or_default();
        let elsewhere = all.iter().filter(|one| touched.binary_search(&row(one)).is_err());
        elsewhere.chain(counted).cloned().collect()
    }
}

/// Volumes that are attached to nodes, by the node's name.
fn attached(storage: &StorageTable, wanted: impl Fn(&str) -> bool) -> FxHashMap<&str, Vec<CsiVolume>> {
    let mut attached: FxHashMap<&str, Vec<CsiVolume>> = FxHashMap::default();
    for attachment in storage.attachments().filter(|attachment| wanted(&attachment.node)) {
        let volume = attachment.volume.as_deref().and_then(|volume| storage.volume(volume));
        let Some(VolumeSource::Csi { handle, .. }) = volume.map(|volume| &volume.source) else { continue };
        if !attachment.driver.is_empty() {
            let volume = (Arc::clone(&attachment.driver), Arc::clone(handle));
            attached.entry(&attachment.node).or_default().push(volume);
        }
    }
    attached
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::cell::Cell;
    use std::hash::Hasher;

    use super::*;
    use crate::metadata::volumes::in_tree::InTreeVolume;

    /// Volumes of so many disks, each disk twice.
    fn volumes(disks: usize) -> Vec<PodVolume> {
        let volume = |number: usize| PodVolume {
            name: Arc::from(format!("v{number}")),
            claim: None,
            disks: Vec::new(),
            in_tree: Some(InTreeVolume {
                plugin: Plugin::AwsEbs,
                handle: Ok(Arc::from(format!("disk-{}", number / 2))),
            }),
        };
        (0..2 * disks).map(volume).collect()
    }

    thread_local! {
        static COMPARED: Cell<usize> = const { Cell::new(0) };
    }

    /// A value that counts how often it is compared.
    #[derive(Clone, Debug)]
    struct Counting(usize);

    impl PartialEq for Counting {
        fn eq(&self, other: &Self) -> bool {
            COMPARED.set(COMPARED.get() + 1);
            self.0 == other.0
        }
    }

    impl Eq for Counting {}

    impl Hash for Counting {
        fn hash<H: Hasher>(&self, state: &mut H) {
            self.0.hash(state);
        }
    }

    #[test]
    fn each_disk_counts_once_also_where_there_are_many() {
        let owner = Owner { namespace: "ns", name: "p", uid: "u" };
        for disks in [FEW_VOLUMES / 4, 16_000] {
            let found =
                resolve(&StorageTable::default(), owner, &volumes(disks), MigratedPlugins::All, Binding::Pending)
                    .unwrap();
            assert_eq!(found.len(), disks);
        }
    }

    #[test]
    fn of_many_values_each_is_compared_with_few() {
        const VALUES: usize = 16_000;
        let mut distinct = Distinct::for_at_most(2 * VALUES);
        (0..2 * VALUES).for_each(|number| distinct.add(Counting(number / 2)));
        assert!(distinct.values.iter().map(|value| value.0).eq(0..VALUES));
        // Each with its equal, and with those of the same hash.
        assert!((VALUES..4 * VALUES).contains(&COMPARED.get()), "{} comparisons", COMPARED.get());
    }
}
