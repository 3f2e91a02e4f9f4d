//! Whether a volume can be provisioned for a claim: `checkVolumeProvisions` of the plugin. Start at [`check`].

use nodesift_sdk::columns::cluster_storage::{self, Capacity, Claim, Class};
use nodesift_sdk::columns::pod_placement::{Operator, Requirement, Term};
use nodesift_sdk::columns::selectors;
use nodesift_sdk::kernels;
use nodesift_sdk::label_selector::Selector;
use nodesift_sdk::node_selector::{Matcher, NodeSelector};

use crate::rows::{BIND, Rows, SPACE};

/// The provisioner of classes without dynamic provisioning.
const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";

/// Rejects the open rows with `needed` 1 on which no volume can be provisioned for the claim.
pub(crate) fn check(rows: &mut Rows, claim: &Claim, needed: &[u8]) {
    if kernels::union(needed) == 0 {
        return;
    }
    let class_name = claim.class_name.as_deref().unwrap_or_default();
    // Claims with delayed binding have a class, and the facts do not change during a call. So the class exists.
    let Some(class) = cluster_storage::class_named(class_name) else { return rows.reject(needed, BIND) };
    if class.provisioner.is_empty() || class.provisioner == NO_PROVISIONER {
        return rows.reject(needed, BIND);
    }
    let mut matcher = Matcher::new(rows.len());
    let mut outside = outside_topologies(&mut matcher, rows.len(), &class);
    and(&mut outside, needed);
    rows.reject(&outside, BIND);
    let mut full = without_capacity(&mut matcher, rows.len(), claim, &class);
    and(&mut full, needed);
    rows.reject(&full, SPACE);
}

fn and(rows: &mut [u8], others: &[u8]) {
    kernels::update(rows, others, |row, other| row & other);
}

/// 1 in the rows that match none of the allowed topologies of the class, else 0; one entry per row.
fn outside_topologies(matcher: &mut Matcher, rows: usize, class: &Class) -> Vec<u8> {
    let mut outside = vec![0; rows];
    if class.allowed_topologies.is_empty() {
        return outside;
    }
    let term = |labels: &Vec<(String, Vec<String>)>| {
        let one_of = |(key, values): &(String, Vec<String>)| Requirement {
            key: key.clone(),
            operator: Operator::In,
            values: values.clone(),
        };
        Term { expressions: labels.iter().map(one_of).collect(), fields: Vec::new() }
    };
    // An empty or invalid topology matches no node, as with node selector terms.
    let selector = NodeSelector::lenient(class.allowed_topologies.iter().map(term).collect());
    matcher.mark_unmatched_node_selector(&mut outside, &selector, 1);
    outside
}

/// 1 in the rows without access to enough storage, else 0; one entry per row. All entries are 0 where the driver does
/// not report capacity.
fn without_capacity(matcher: &mut Matcher, rows: usize, claim: &Claim, class: &Class) -> Vec<u8> {
    let reports = || cluster_storage::driver_reports_capacity(&class.provisioner);
    let Some(requested) = claim.requested.filter(|_| reports()) else { return vec![0; rows] };
    let mut without = vec![1; rows];
    for capacity in cluster_storage::capacities(&class.name) {
        if largest(&capacity).is_some_and(|largest| largest >= requested) {
            for row in reaching(matcher, rows, capacity) {
                if let Some(without) = without.get_mut(row as usize) {
                    *without = 0;
                }
            }
        }
    }
    without
}

/// Per row with `needed` 1 the bytes of the storage of which a volume for the claim would be provisioned: that which is listed first, among
/// those with enough, and 0 where it says none. None where nothing is provisioned or the driver does not report capacity.
pub(crate) fn capacities(matcher: &mut Matcher, claim: &Claim, needed: &[u8]) -> Option<Vec<Option<i64>>> {
    if kernels::union(needed) == 0 {
        return None;
    }
    let class = cluster_storage::class_named(claim.class_name.as_deref()?)?;
    let requested = claim.requested.filter(|_| cluster_storage::driver_reports_capacity(&class.provisioner))?;
    let mut bytes = vec![None; needed.len()];
    for capacity in cluster_storage::capacities(&class.name) {
        if largest(&capacity).is_some_and(|largest| largest >= requested) {
            let of_storage = capacity.bytes.unwrap_or(0);
            for row in reaching(matcher, needed.len(), capacity) {
                let row = row as usize;
                if let Some(bytes) = bytes.get_mut(row).filter(|_| needed.get(row) == Some(&1)) {
                    bytes.get_or_insert(of_storage);
                }
            }
        }
    }
    Some(bytes)
}

/// The size of the largest volume that can be provisioned, in bytes. The maximum volume size takes precedence over the
/// capacity.
fn largest(capacity: &Capacity) -> Option<i64> {
    capacity.maximum_volume_bytes.or(capacity.bytes)
}

/// The rows that can access the storage. An invalid selector selects no node. Drivers of local storage report one for each node, so that no
/// more rows are visited than have access.
fn reaching(matcher: &mut Matcher, rows: usize, capacity: Capacity) -> Vec<u32> {
    let Ok(Selector::All(requirements)) = Selector::read(capacity.node_selector) else { return Vec::new() };
    if requirements.is_empty() {
        return (0..).take(rows).collect();
    }
    let term = Term { expressions: requirements.into_iter().map(requirement).collect(), fields: Vec::new() };
    matcher.matching_rows(&NodeSelector::lenient(vec![term]))
}

/// Converts a label selector requirement to a node selector requirement.
fn requirement(requirement: selectors::Requirement) -> Requirement {
    let operator = match requirement.operator {
        selectors::Operator::In => Operator::In,
        selectors::Operator::NotIn => Operator::NotIn,
        selectors::Operator::Exists => Operator::Exists,
        selectors::Operator::DoesNotExist => Operator::DoesNotExist,
        selectors::Operator::Unknown => Operator::Unknown,
    };
    Requirement { key: requirement.key, operator, values: requirement.values }
}
