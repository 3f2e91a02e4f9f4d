//! Devices that allocated claims hold. Start at [`Uses`].

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::columns::Delta;
use crate::metadata::{Hold, NanoAmounts, PoolName};

/// Devices in use, by pool.
#[derive(Debug, Default)]
pub(super) struct Uses {
    by_pool: FxHashMap<PoolName, Arc<PoolUses>>,
}

/// A device whose use was not what claims hold of it.
#[derive(Debug)]
pub(crate) struct Miscounted {
    pub(crate) pool: PoolName,
    pub(crate) device: Arc<str>,
    /// Use of the device as it was recorded, as text.
    pub(crate) held: String,
    /// Use of the device according to claims, as text.
    pub(crate) counted: String,
}

/// Devices of one pool that are in use, by name.
pub(super) type PoolUses = FxHashMap<Arc<str>, DeviceUse>;

/// How a device is in use.
#[derive(Debug, Clone, Default)]
pub(super) struct DeviceUse {
    /// Claims that have it for themselves: more than one where they contradict each other.
    exclusive: u32,
    /// Amounts of each claim that has a share.
    shares: Vec<NanoAmounts>,
    /// The sums of all shares; `None` where there is none.
    shared: Option<NanoAmounts>,
}

impl Uses {
    /// The devices of a pool that are in use.
    pub(super) fn in_pool(&self, pool: &PoolName) -> Arc<PoolUses> {
        self.by_pool.get(pool).map(Arc::clone).unwrap_or_default()
    }

    /// A claim comes to hold a device, or releases it; true where that changes what readers see. What is not held is not released.
    pub(super) fn apply(&mut self, delta: Delta, pool: &PoolName, hold: &Hold) -> bool {
        if delta == Delta::Remove && !self.by_pool.get(pool).is_some_and(|uses| uses.contains_key(&hold.device.device))
        {
            return false;
        }
        let uses = Arc::make_mut(self.by_pool.entry(pool.clone()).or_default());
        let device = uses.entry(Arc::clone(&hold.device.device)).or_default();
        let changes = device.apply(delta, hold.share.as_ref());
        if device.exclusive == 0 && device.shares.is_empty() {
            uses.remove(&hold.device.device);
        }
        if uses.is_empty() {
            self.by_pool.remove(pool);
        }
        changes
    }
}

/// Recount of uses from claims.
impl Uses {
    /// How many devices are in use.
    pub(super) fn len(&self) -> usize {
        self.by_pool.values().map(|uses| uses.len()).sum()
    }

    /// Makes uses equal what is held, and gives what did not.
    pub(super) fn recount<'a>(&mut self, held: impl Iterator<Item = &'a Hold>) -> Vec<Miscounted> {
        let mut counted = Self::default();
        for hold in held {
            let pool = PoolName { driver: Arc::clone(&hold.device.driver), name: Arc::clone(&hold.device.pool) };
            counted.apply(Delta::Add, &pool, hold);
        }
        let pools: BTreeSet<PoolName> = self.by_pool.keys().chain(counted.by_pool.keys()).cloned().collect();
        let mut found = Vec::new();
        for pool in pools {
            let (before, uses) = (self.in_pool(&pool), counted.in_pool(&pool));
            let devices = before.keys().chain(uses.keys().filter(|device| !before.contains_key(*device)));
            let differs = |device: &&Arc<str>| match (before.get(*device), uses.get(*device)) {
                (Some(before), Some(uses)) => !before.is_same(uses),
                (before, uses) => before.is_some() || uses.is_some(),
            };
            let mut differing: Vec<&Arc<str>> = devices.filter(differs).collect();
            if differing.is_empty() {
                continue;
            }
            differing.sort_unstable();
            found.extend(differing.into_iter().map(|device| {
                let text = |uses: &PoolUses| uses.get(device).map_or_else(|| "free".to_owned(), DeviceUse::text);
                Miscounted { pool: pool.clone(), device: Arc::clone(device), held: text(&before), counted: text(&uses) }
            }));
            if uses.is_empty() {
                self.by_pool.remove(&pool);
            } else {
                self.by_pool.insert(pool, uses);
            }
        }
        found
    }
}

impl DeviceUse {
    /// Whether another has the same claims and shares.
    fn is_same(&self, other: &Self) -> bool {
        let sorted = |shares: &[NanoAmounts]| {
            let mut shares = shares.to_vec();
            shares.sort_unstable();
            shares
        };
        self.exclusive == other.exclusive && sorted(&self.shares) == sorted(&other.shares)
    }

    fn text(&self) -> String {
        format!("in use by {} alone, shares {:?}", self.exclusive, self.shares)
    }

    /// Whether a claim has the device for itself.
    pub(super) fn is_exclusive(&self) -> bool {
        self.exclusive > 0
    }

    /// Returns the sum of all shares' amounts; none where there is no share.
    pub(super) fn shared(&self) -> Option<&NanoAmounts> {
        self.shared.as_ref()
    }

    fn apply(&mut self, delta: Delta, share: Option<&NanoAmounts>) -> bool {
        let Some(share) = share else {
            let was_exclusive = self.is_exclusive();
            delta.apply_to(&mut self.exclusive);
            return was_exclusive != self.is_exclusive();
        };
        match delta {
            Delta::Add => self.shares.push(Arc::clone(share)),
            Delta::Remove => match self.shares.iter().position(|known| known == share) {
                Some(place) => drop(self.shares.swap_remove(place)),
                None => return false,
            },
        }
        let shared = sum(&self.shares);
        let changes = self.shared != shared;
        self.shared = shared;
        changes
    }
}

/// The sum of all shares. Summed anew at each change, since sums stop at a bound from which nothing can be taken back.
fn sum(shares: &[NanoAmounts]) -> Option<NanoAmounts> {
    let (first, others) = shares.split_first()?;
    if others.is_empty() {
        return Some(Arc::clone(first));
    }
    let mut sums: FxHashMap<&Arc<str>, i128> = FxHashMap::default();
    for (name, amount) in shares.iter().flat_map(|share| share.iter()) {
        let sum = sums.entry(name).or_default();
        *sum = sum.saturating_add(*amount);
    }
    let mut sums: Vec<(Arc<str>, i128)> = sums.into_iter().map(|(name, sum)| (Arc::clone(name), sum)).collect();
    sums.sort_unstable();
    Some(sums.into())
}
