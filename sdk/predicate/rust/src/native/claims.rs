//! Claims and devices of the fixture. They are given as whole answers, with columns over all nodes of the cluster in the order in
//! which these were added; a batch of some nodes takes its rows of them. Builder methods, then how a batch reads them.

use super::cluster::Cluster;
use super::pod::Pod;
use crate::columns::node_devices::{DeviceColumns, Situation};
use crate::columns::pod_claims::{Claim, ExtendedClaim, ExtendedResources, Obstacle};

impl Pod {
    /// Adds a claim, which is called `namespace/name`.
    #[must_use]
    pub fn claim(mut self, name: &str, claim: Claim) -> Self {
        self.claims.push((name.into(), claim));
        self
    }

    /// Gives these alternatives to the claim that was added last, as `pod-claims.chosen` numbers them.
    #[must_use]
    pub fn chosen(mut self, alternatives: &[u32]) -> Self {
        let claim = self.claims.len().saturating_sub(1);
        self.chosen.insert(claim, alternatives.to_vec());
        self
    }

    /// Makes what has these numbers of the claim that was added last derive attributes, as `pod-claims.deriving` numbers it.
    #[must_use]
    pub fn deriving(mut self, asked: &[u32]) -> Self {
        let claim = self.claims.len().saturating_sub(1);
        self.deriving.insert(claim, asked.to_vec());
        self
    }

    /// Makes it impossible to allocate the claims anywhere.
    #[must_use]
    pub fn claims_obstacle(mut self, text: &str, is_error: bool) -> Self {
        self.claims_obstacle = Some(Obstacle { text: text.into(), is_error });
        self
    }

    /// Sets the extended resources that DeviceClasses provide, and `namespace/name` of the claim for them.
    #[must_use]
    pub fn extended(mut self, claim_name: &str, extended: ExtendedResources) -> Self {
        self.extended = Some((claim_name.into(), extended));
        self
    }
}

impl Cluster {
    /// Sets what nodes see of devices, whatever is asked: the matches of kinds and the values of devices have to be those that the
    /// predicate asks for.
    #[must_use]
    pub fn devices(mut self, devices: DeviceColumns) -> Self {
        self.devices = Some(devices);
        self
    }
}

/// The entries of a column that belong to a batch.
fn rows_of<T: Copy>(column: &[T], rows: &[usize]) -> Vec<T> {
    rows.iter().filter_map(|row| column.get(*row).copied()).collect()
}

/// `pod-claims.claims` for a batch.
pub(super) fn claims(pod: &Pod, rows: &[usize]) -> Result<Vec<Claim>, Obstacle> {
    if let Some(obstacle) = &pod.claims_obstacle {
        return Err(obstacle.clone());
    }
    let claim = |claim: &Claim| match claim {
        Claim::Unallocated(claim) => Claim::Unallocated(claim.clone()),
        Claim::Allocated(usable) => Claim::Allocated(rows_of(usable, rows)),
    };
    Ok(pod.claims.iter().map(|(_, given)| claim(given)).collect())
}

/// `pod-claims.extended` for a batch.
pub(super) fn extended(pod: &Pod, rows: &[usize]) -> Option<ExtendedResources> {
    let (_, mut extended) = pod.extended.clone()?;
    if let ExtendedClaim::Allocated(usable) = &mut extended.claim {
        *usable = rows_of(usable, rows);
    }
    for resource in &mut extended.resources {
        resource.own = rows_of(&resource.own, rows);
    }
    Some(extended)
}

/// Implements `pod-claims.claim-name`: the name of a claim by its number; the claim for extended resources follows the last. Empty for any
/// other number.
pub(super) fn claim_name(pod: &Pod, claim: u32) -> String {
    let named = pod.claims.iter().map(|(name, _)| name);
    let mut names = named.chain(pod.extended.iter().map(|(name, _)| name));
    usize::try_from(claim).ok().and_then(|claim| names.nth(claim).cloned()).unwrap_or_default()
}

/// Answers `pod-claims.chosen` for a pod.
pub(super) fn chosen(pod: &Pod, claim: u32) -> Vec<u32> {
    usize::try_from(claim).ok().and_then(|claim| pod.chosen.get(&claim).cloned()).unwrap_or_default()
}

/// Answers `pod-claims.deriving` for a pod.
pub(super) fn deriving(pod: &Pod, claim: u32) -> Vec<u32> {
    usize::try_from(claim).ok().and_then(|claim| pod.deriving.get(&claim).cloned()).unwrap_or_default()
}

/// `node-devices.devices` for a batch.
pub(super) fn devices(cluster: &Cluster, rows: &[usize]) -> DeviceColumns {
    let mut devices = cluster.devices.clone().unwrap_or_else(|| none(cluster.nodes.len()));
    devices.codes = rows_of(&devices.codes, rows);
    devices
}

/// No devices on so many nodes.
fn none(nodes: usize) -> DeviceColumns {
    DeviceColumns {
        codes: vec![0; nodes],
        situations: vec![Situation::Pools(0)],
        pools: Vec::new(),
        counters: Vec::new(),
        device_kinds: Vec::new(),
        in_use: Vec::new(),
        held: Vec::new(),
        values: Vec::new(),
        pool_names: Vec::new(),
        names: Vec::new(),
        kinds: Vec::new(),
        drivers: Vec::new(),
        taints: Vec::new(),
    }
}
