//! Totals of the cluster, in the form of YuniKorn's partitions. Kubernetes clusters have one, `default`. Start at
//! [`Partition::new`].

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use nodesift_cache::metadata::PodRecord;
use nodesift_cache::metadata::requests::PODS;
use nodesift_cache::{Column, Row, Snapshot};

/// Partition of a cluster as JSON, in YuniKorn's field names.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Partition<'a> {
    name: &'static str,
    capacity: Capacity<'a>,
    /// Requests of pods of other schedulers.
    foreign: Sums<'a>,
    /// Named sums over all nodes; absent without an accounting component.
    #[serde(skip_serializing_if = "Option::is_none")]
    sums: Option<Sums<'a>>,
    total_nodes: usize,
    /// Allocations: pods of the policy's schedulers on nodes.
    total_containers: usize,
    /// Pods of other schedulers on nodes.
    foreign_pod_count: usize,
}

/// Sums over nodes or pods, without those that are zero.
pub(super) type Sums<'a> = BTreeMap<&'a str, i64>;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Capacity<'a> {
    /// Allocatable resources of all nodes.
    capacity: Sums<'a>,
    /// Requests of pods of the policy's schedulers.
    used_capacity: Sums<'a>,
    /// `used_capacity` in percent of `capacity`, where there is a capacity.
    utilization: Sums<'a>,
}

impl<'a> Partition<'a> {
    /// The sums over all nodes of a snapshot, each with its pods.
    pub(super) fn new(snapshot: &'a Snapshot, nodes: &'a [(Row, Vec<Arc<PodRecord>>)]) -> Self {
        let rows = || nodes.iter().map(|(row, _)| *row);
        let total = |column: &Column<i64>| rows().fold(0, |sum: i64, row: Row| sum.saturating_add(at(column, row)));
        let resources = snapshot.resource_names().filter_map(|name| Some((&**name, snapshot.resource(name)?)));
        let mut capacity: Sums<'a> = resources.map(|(name, resource)| (name, total(&resource.allocatable))).collect();
        capacity.insert(PODS, total(snapshot.pod_limit()));
        capacity.retain(|_, amount| *amount != 0);

        let (mut used, mut foreign) = (Sums::new(), Sums::new());
        let (mut total_containers, mut foreign_pod_count) = (0, 0);
        for pod in nodes.iter().flat_map(|(_, pods)| pods) {
            let is_foreign = pod.ownership.is_foreign();
            let (sums, count) =
                if is_foreign { (&mut foreign, &mut foreign_pod_count) } else { (&mut used, &mut total_containers) };
            *count += 1;
            for (name, amount) in pod.usage().iter().filter(|(_, amount)| *amount != 0) {
                let sum = sums.entry(&**name).or_insert(0);
                *sum = sum.saturating_add(*amount);
            }
        }
        let percent = |(name, used): (&&'a str, &i64)| {
            let of = capacity.get(name).filter(|of| **of > 0)?;
            let percent = i128::from(*used) * 100 / i128::from(*of);
            Some((*name, i64::try_from(percent).unwrap_or(i64::MAX)))
        };
        let sums = named_sums(snapshot, |column| rows().fold(0, |sum: i64, row| sum.wrapping_add(at(column, row))));
        let utilization = used.iter().filter_map(percent).collect();
        Self {
            name: "default",
            capacity: Capacity { capacity, used_capacity: used, utilization },
            foreign,
            sums,
            total_nodes: nodes.len(),
            total_containers,
            foreign_pod_count,
        }
    }
}

/// Named sums, each as `of` its column; `None` where the policy has no accounting component, or that makes no sums.
pub(super) fn named_sums<'a>(snapshot: &'a Snapshot, of: impl Fn(&Column<i64>) -> i64) -> Option<Sums<'a>> {
    let named = snapshot.sum_names().filter_map(|name| Some((&**name, of(snapshot.named_sum(name)?))));
    Some(named.collect::<Sums<'a>>()).filter(|sums| !sums.is_empty())
}

fn at(column: &Column<i64>, row: Row) -> i64 {
    column.get(row).copied().unwrap_or(0)
}
