//! Amounts of nodes by resource: what they offer, and what pods take of it. `pods`, the number of them, is a resource among the others.
//! Start at [`NodeAmounts::new`].

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use nodesift_cache::metadata::requests::PODS;
use nodesift_cache::metadata::{Amounts, PodRecord};
use nodesift_cache::{Column, Row, Snapshot};

/// Amounts by name of a resource or a sum: `cpu` in millicores, every other resource in whole units.
pub(super) type ByName<'a> = BTreeMap<&'a str, i64>;

/// Amounts of one resource.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Amount {
    /// Amount in `status.allocatable` of the node.
    pub(super) allocatable: i64,
    /// Allocatable less what pods take; below zero where they take more than that.
    pub(super) free: i64,
    /// Amount that pods of other schedulers take.
    pub(super) foreign: i64,
}

impl Amount {
    /// Amount that all pods take.
    pub(super) fn requested(&self) -> i64 {
        self.allocatable.wrapping_sub(self.free)
    }

    /// Amount that pods of the policy's schedulers take.
    pub(super) fn own(&self) -> i64 {
        self.requested().wrapping_sub(self.foreign)
    }
}

/// Amounts of one node, or of several together.
#[derive(Debug, Default)]
pub(super) struct NodeAmounts<'a>(BTreeMap<&'a str, Amount>);

impl<'a> NodeAmounts<'a> {
    /// Amounts of the node of a row, with the pods that are on it.
    pub(super) fn new(snapshot: &'a Snapshot, row: Row, pods: &'a [Arc<PodRecord>]) -> Self {
        let at = |column: &Column<i64>| column.get(row).copied().unwrap_or(0);
        let named = snapshot.resource_names().filter_map(|name| Some((name, snapshot.resource(name)?)));
        let mut amounts: BTreeMap<&'a str, Amount> = named
            .map(|(name, resource)| {
                let (allocatable, free) = (at(&resource.allocatable), at(&resource.free));
                (&**name, Amount { allocatable, free, foreign: at(&resource.foreign) })
            })
            .collect();
        // Resources that no node advertises have no columns.
        for pod in pods {
            for (name, amount) in pod.usage().iter().filter(|(name, _)| !snapshot.is_advertised(name)) {
                let of = amounts.entry(name).or_default();
                of.free = of.free.wrapping_sub(*amount);
                of.foreign = of.foreign.wrapping_add(if pod.ownership.is_foreign() { *amount } else { 0 });
            }
        }
        let limit = at(snapshot.pod_limit());
        let free = limit.wrapping_sub(at(snapshot.pods()));
        amounts.insert(PODS, Amount { allocatable: limit, free, foreign: at(snapshot.foreign_pods()) });
        Self(amounts)
    }

    /// Adds the amounts of another node.
    pub(super) fn add(&mut self, other: &Self) {
        for (name, amount) in &other.0 {
            let sum = self.0.entry(*name).or_default();
            sum.allocatable = sum.allocatable.wrapping_add(amount.allocatable);
            sum.free = sum.free.wrapping_add(amount.free);
            sum.foreign = sum.foreign.wrapping_add(amount.foreign);
        }
    }

    /// One amount of each resource, without those that are zero.
    pub(super) fn each(&self, of: impl Fn(&Amount) -> i64) -> ByName<'a> {
        self.0.iter().map(|(name, amount)| (*name, of(amount))).filter(|(_, amount)| *amount != 0).collect()
    }
}

/// Named sums, each as `of` its column; `None` where the policy has no accounting component, or that makes no sums.
pub(super) fn named_sums<'a>(snapshot: &'a Snapshot, of: impl Fn(&Column<i64>) -> i64) -> Option<ByName<'a>> {
    let named = snapshot.sum_names().filter_map(|name| Some((&**name, of(snapshot.named_sum(name)?))));
    Some(named.collect::<ByName<'a>>()).filter(|sums| !sums.is_empty())
}

/// Amounts of a pod as a JSON object, without those that are zero.
#[derive(Debug)]
pub(super) struct Resources<'a>(pub(super) &'a Amounts);

impl Serialize for Resources<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().filter(|(_, amount)| *amount != 0).map(|(name, amount)| (&**name, amount)))
    }
}
