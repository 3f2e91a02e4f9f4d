//! Pools of devices that the node of each row sees, as a column. Start at [`Devices::seen_by`].

use std::sync::Arc;

use super::model::{Device, DeviceNodes, SeenPool, SeenPools};
use super::offer::{Blind, Offer};
use crate::columns::{Column, Row};
use crate::metadata::devices::Reach;
use crate::metadata::{Labels, PoolName};

/// Per row the pools that its node sees, at one generation. A copy costs reference counts.
#[derive(Debug, Clone, Default)]
pub struct Devices {
    rows: Column<Seen>,
    /// Pools that several nodes may see, sorted by name.
    wide: Arc<[Offer]>,
}

/// Pools that a row sees, or the reason why they cannot be determined.
pub(super) type Seen = Result<SeenPools, Arc<str>>;

impl Devices {
    /// Bytes of a row, without the pools.
    pub(crate) const ROW_BYTES: usize = size_of::<Seen>();

    /// The pools that the node of a row sees; none past the last row. Rows that see the same often share the list.
    ///
    /// # Errors
    ///
    /// The error of kube-scheduler where it cannot be told which slices are for the node, without `gather pool information: `.
    pub fn seen_by(&self, row: Row) -> Result<SeenPools, Arc<str>> {
        self.rows.get(row).cloned().unwrap_or_else(|| Ok(SeenPools::default()))
    }

    /// Returns the pools that the node of a row sees, like [`Self::seen_by`] but borrowed; none past the last row.
    ///
    /// # Errors
    ///
    /// As [`Self::seen_by`].
    pub fn pools_of(&self, row: Row) -> Result<&[Arc<SeenPool>], &Arc<str>> {
        self.rows.get(row).map_or(Ok(&[]), |seen| seen.as_ref().map(|pools| &**pools))
    }

    /// Pools that several nodes may see, sorted by name, each with all devices of its newest generation.
    pub fn wide(&self) -> impl Iterator<Item = SeenPool> {
        self.wide.iter().filter_map(Offer::whole)
    }

    /// Whether several nodes may see a pool. The slices of all others name their node.
    pub fn is_wide(&self, pool: &PoolName) -> bool {
        self.wide.binary_search_by(|offer| (*offer.name).cmp(pool)).is_ok()
    }

    /// The nodes that a device of a pool is for, as its slice or the device itself says. It is one that the node of these labels and
    /// this name sees, and `device` is the one of [`Self::seen_by`]; `None` where that is not so.
    pub fn nodes_of(&self, pool: &PoolName, device: &Arc<Device>, node: &str, labels: &Labels) -> Option<DeviceNodes> {
        // Slices of all other pools name their node.
        let Ok(place) = self.wide.binary_search_by(|offer| (*offer.name).cmp(pool)) else {
            return Some(DeviceNodes::One);
        };
        match self.wide.get(place)?.reach_of(device, node, labels)? {
            Reach::Everywhere => Some(DeviceNodes::All),
            Reach::Node(_) => Some(DeviceNodes::One),
            Reach::Selected(_, selector) => Some(DeviceNodes::Selected(Arc::clone(selector))),
            Reach::Nowhere | Reach::Broken(_) => None,
        }
    }

    /// Appends a row that sees nothing.
    pub(crate) fn push(&mut self) {
        self.rows.push(Ok(SeenPools::default()));
    }

    /// Takes a row out; the last row moves into its place.
    pub(crate) fn swap_remove(&mut self, row: Row) {
        self.rows.swap_remove(row);
    }

    /// Replaces what a row sees; true where that changes something.
    pub(super) fn set(&mut self, row: Row, seen: Seen) -> bool {
        let is_same = self.rows.get(row).is_some_and(|held| match (held, &seen) {
            (Ok(held), Ok(seen)) => {
                held.len() == seen.len() && held.iter().zip(seen.iter()).all(|(a, b)| Arc::ptr_eq(a, b))
            }
            (Err(held), Err(seen)) => held == seen,
            _ => false,
        });
        if !is_same {
            self.rows.set(row, seen);
        }
        !is_same
    }

    /// Replaces the pools that several nodes may see.
    pub(super) fn set_wide(&mut self, wide: Arc<[Offer]>) {
        self.wide = wide;
    }

    /// Brings a row of an overlay up to date after its labels changed. What slices offer to a node by its name stays as it is in
    /// the row, so a node that only the overlay has sees nothing of it.
    pub(crate) fn set_overlaid(&mut self, row: Row, node: &str, labels: &Labels) {
        if self.wide.is_empty() {
            return;
        }
        let held = self.rows.get(row).and_then(|held| held.as_ref().ok());
        let mut pools: Vec<Arc<SeenPool>> = held.into_iter().flat_map(|held| held.iter()).cloned().collect();
        pools.retain(|pool| !self.is_wide(&pool.name));
        let mut blind: Option<Blind> = None;
        for offer in self.wide.iter() {
            match offer.sight(0..offer.slices.len(), node, labels) {
                Ok(sight) => pools.extend(offer.view(&sight).map(Arc::new)),
                Err(new) => blind = first(blind, new),
            }
        }
        let seen = blind.map_or_else(|| Ok(in_order(pools)), |blind| Err(blind.error));
        self.rows.set(row, seen);
    }

    /// `len` rows that all see what one row does.
    pub(crate) fn repeated(&self, row: Row, len: usize) -> Self {
        Self { rows: Column::filled(len, &self.seen_by(row)), wide: Arc::clone(&self.wide) }
    }
}

/// The error about the slice that comes first by name: slices are looked at in this order.
pub(super) fn first(known: Option<Blind>, new: Blind) -> Option<Blind> {
    Some(match known {
        Some(known) if known.slice <= new.slice => known,
        _ => new,
    })
}

/// Pools in kube-scheduler's order.
pub(super) fn in_order(mut pools: Vec<Arc<SeenPool>>) -> SeenPools {
    pools.sort_by(|a, b| (a.binds(), &a.name).cmp(&(b.binds(), &b.name)));
    pools.into()
}
