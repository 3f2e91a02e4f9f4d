//! Compares a pod's requests with the free resources of nodes. Start at [`verdict`].
//!
//! Two implementations give the same verdict: [`by_column`] for pods with few resources, which are nearly all pods, and
//! [`by_row`] for any number. Both read the free amounts first, and the allocatable amounts only of resources that some
//! row lacks.

use std::collections::BTreeMap;

use nodesift_sdk::columns::node_resources;
use nodesift_sdk::columns::pod_resources::Request;
use nodesift_sdk::{Failure, Status, Verdict, VerdictBuilder, kernels};

/// Reason: the node has reached its pod limit.
pub(crate) const TOO_MANY_PODS: &str = "Too many pods";

/// The native resources. kube-scheduler calls all others scalar resources.
const CORE: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

/// The bit of a row that has reached its pod limit. The bits above it belong to the resources, in order.
const POD_LIMIT: u8 = 1;

/// The bit of a row where a request is greater than the allocatable amount, so that preempting pods does not help.
const UNRESOLVABLE: u8 = 1 << 7;

/// The maximum number of resources for [`by_column`]: the bits between these two.
const MAX_BY_COLUMN: usize = 6;

/// A request that is checked.
#[derive(Debug)]
pub(crate) struct Dimension {
    resource: String,
    /// In the unit of the resource: `cpu` in millicores, `memory` and `ephemeral-storage` in bytes, others as a count.
    amount: i64,
    /// Whether a DeviceClass may serve the resource.
    may_be_served: bool,
}

impl Dimension {
    /// `extended_resources`: whether DeviceClasses serve extended resources.
    pub(crate) fn new(request: Request, extended_resources: bool) -> Self {
        let may_be_served = extended_resources && !CORE.contains(&request.resource.as_str());
        Self { resource: request.resource, amount: request.amount, may_be_served }
    }

    fn reason(&self) -> String {
        format!("Insufficient {}", self.resource)
    }

    /// Whether nodes that do not list the resource pass, because a DeviceClass provides it.
    fn has_device_class(&self) -> bool {
        self.may_be_served && node_resources::device_class_serves(&self.resource)
    }
}

/// The verdict for these requests. `rows` is the number of rows of the batch.
pub(crate) fn verdict(rows: usize, dimensions: &[Dimension]) -> Verdict {
    if dimensions.len() <= MAX_BY_COLUMN { by_column(rows, dimensions) } else { by_row(rows, dimensions) }
}

/// One column after the other, with one pattern bit per resource.
fn by_column(rows: usize, dimensions: &[Dimension]) -> Verdict {
    let dimensions: Vec<(u8, &Dimension)> = (1..).map(|bit| 1 << bit).zip(dimensions).collect();
    let mut patterns = vec![0; rows];
    kernels::mark_short(&mut patterns, &node_resources::pod_room(), 1, POD_LIMIT);
    for (bit, dimension) in &dimensions {
        kernels::mark_short(&mut patterns, &node_resources::free(&dimension.resource), dimension.amount, *bit);
    }
    let short = kernels::union(&patterns);
    for (bit, dimension) in dimensions.iter().filter(|(bit, _)| short & bit != 0) {
        let (bit, amount) = (*bit, dimension.amount);
        let allocatable = node_resources::allocatable(&dimension.resource);
        if dimension.has_device_class() {
            kernels::update(&mut patterns, &allocatable, |pattern, has| if has > 0 { pattern } else { pattern & !bit });
        }
        kernels::mark_short_among(&mut patterns, bit, &allocatable, amount, UNRESOLVABLE);
    }
    Verdict::by_pattern(&patterns, |pattern| {
        let lacking = dimensions.iter().filter(|(bit, _)| pattern & bit != 0).map(|(_, dimension)| *dimension);
        failure(pattern & POD_LIMIT != 0, lacking, pattern & UNRESOLVABLE != 0)
    })
}

/// The columns of a resource, one entry per row.
struct Columns {
    free: Vec<i64>,
    /// Read only where some row lacks the resource.
    allocatable: Option<Vec<i64>>,
    has_device_class: bool,
}

/// One row after the other.
fn by_row(rows: usize, dimensions: &[Dimension]) -> Verdict {
    let room = node_resources::pod_room();
    let columns: Vec<Columns> = dimensions
        .iter()
        .map(|dimension| {
            let free = node_resources::free(&dimension.resource);
            let is_short = free.iter().any(|free| dimension.amount > *free);
            let allocatable = is_short.then(|| node_resources::allocatable(&dimension.resource));
            Columns { free, allocatable, has_device_class: is_short && dimension.has_device_class() }
        })
        .collect();
    let mut verdict = VerdictBuilder::new(rows);
    // Rows with equal shortages share a failure, so that its texts are formatted once.
    let mut codes = BTreeMap::new();
    let mut shortage = Shortage::default();
    for row in 0..rows {
        shortage.pod_limit_reached = value(&room, row) < 1;
        shortage.is_unresolvable = false;
        shortage.lacking.clear();
        for (index, (dimension, columns)) in dimensions.iter().zip(&columns).enumerate() {
            let allocatable = columns.allocatable.as_deref().map_or(0, |column| value(column, row));
            let passes = columns.has_device_class && allocatable <= 0;
            if dimension.amount > value(&columns.free, row) && !passes {
                shortage.lacking.push(index);
                shortage.is_unresolvable |= dimension.amount > allocatable;
            }
        }
        if shortage == Shortage::default() {
            continue;
        }
        let code = match codes.get(&shortage) {
            Some(code) => *code,
            None => {
                let lacking = shortage.lacking.iter().filter_map(|index| dimensions.get(*index));
                let code = verdict.code(failure(shortage.pod_limit_reached, lacking, shortage.is_unresolvable));
                codes.insert(shortage.clone(), code);
                code
            }
        };
        verdict.reject_as(row, code);
    }
    verdict.finish()
}

/// Resources of which a row has less free than the pod requests, and whether its pod limit is reached.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Shortage {
    pod_limit_reached: bool,
    /// Indexes of the resources that the row lacks.
    lacking: Vec<usize>,
    /// Whether a request is greater than the allocatable amount.
    is_unresolvable: bool,
}

fn value(column: &[i64], row: usize) -> i64 {
    column.get(row).copied().unwrap_or(0)
}

/// All reasons that apply, in the order of `fitsRequest` of the plugin.
fn failure<'a>(
    pod_limit_reached: bool,
    lacking: impl Iterator<Item = &'a Dimension>,
    is_unresolvable: bool,
) -> Failure {
    let reasons =
        pod_limit_reached.then(|| TOO_MANY_PODS.into()).into_iter().chain(lacking.map(Dimension::reason)).collect();
    let status = if is_unresolvable { Status::UnschedulableAndUnresolvable } else { Status::Unschedulable };
    Failure { status, reasons }
}

#[cfg(test)]
mod tests {
    use nodesift_sdk::kernels::BLOCK;
    use nodesift_sdk::native::{Cluster, Node, Pod};

    use super::*;

    const RESOURCES: [&str; 6] = ["cpu", "memory", "ephemeral-storage", "a.com/x", "b.com/y", "hugepages-2Mi"];

    /// A random cluster, and the checked requests of its pod.
    fn cluster(random: &mut fastrand::Rng) -> (Cluster, Vec<Dimension>) {
        let mut cluster = Cluster::new(Pod::new("default"));
        let count = random.usize(..=RESOURCES.len());
        let amount = |random: &mut fastrand::Rng| random.i64(1..6);
        let requests = RESOURCES.iter().take(count).map(|resource| Request {
            resource: (*resource).into(),
            amount: if random.u8(..20) == 0 { -amount(random) } else { amount(random) },
        });
        let dimensions: Vec<Dimension> = requests.map(|request| Dimension::new(request, true)).collect();
        if random.bool() {
            cluster = cluster.device_class("a.com/x");
        }
        // In some clusters every node has plenty of resources; in others few nodes fit.
        let (load, plenty) = (random.i64(0..8), [0, 20][random.usize(..2)]);
        for row in 0..random.usize(..2 * BLOCK + 3) {
            let mut node = Node::new(&row.to_string()).pods(random.i64(1..4) + plenty, random.i64(0..3));
            for resource in RESOURCES {
                if random.u8(..4) > 0 {
                    let allocatable = if random.u8(..50) == 0 { i64::MIN } else { random.i64(0..12) + plenty };
                    node = node.resource(resource, allocatable, random.i64(0..=load));
                }
            }
            cluster = cluster.node(node);
        }
        (cluster, dimensions)
    }

    /// The failures of all rows; empty where the verdict is malformed.
    fn failures(verdict: &Verdict, rows: usize) -> Vec<Option<Failure>> {
        let failures = verdict.failures(rows).map(|failures| failures.into_iter().map(Option::<&Failure>::cloned));
        failures.map(Iterator::collect).unwrap_or_default()
    }

    #[test]
    fn by_column_and_by_row_give_the_same_verdict() {
        let seed = nodesift_seed::seed();
        let mut random = fastrand::Rng::with_seed(seed);
        let mut kinds = [0; 2];
        for round in 0..1_000 {
            let (cluster, dimensions) = cluster(&mut random);
            cluster.run(|rows| {
                let (fast, slow) = (by_column(rows, &dimensions), by_row(rows, &dimensions));
                assert_eq!(failures(&fast, rows), failures(&slow, rows), "seed {seed}, round {round}");
                assert_eq!(failures(&slow, rows).len(), rows, "seed {seed}, round {round}");
                kinds[match fast {
                    Verdict::FitsAll => 0,
                    _ => 1,
                }] += 1;
            });
        }
        assert!(
            kinds.iter().all(|kind| *kind > 0),
            "seed {seed}: all clusters give the same kind of verdict: {kinds:?}"
        );
    }

    #[test]
    fn more_resources_than_bits_are_all_checked() {
        let names: Vec<String> = (0..MAX_BY_COLUMN + 3).map(|index| format!("a.com/{index}")).collect();
        let dimensions: Vec<Dimension> =
            names.iter().map(|name| Dimension { resource: name.clone(), amount: 1, may_be_served: true }).collect();
        let mut cluster = Cluster::new(Pod::new("default"));
        for short in 0..names.len() {
            let mut node = Node::new(&short.to_string()).pods(1, 0);
            for (index, name) in names.iter().enumerate() {
                node = node.resource(name, 1, i64::from(index == short));
            }
            cluster = cluster.node(node);
        }
        let verdict = cluster.run(|rows| verdict(rows, &dimensions));
        let expected: Vec<_> =
            names.iter().map(|name| Some(Failure::unschedulable(format!("Insufficient {name}")))).collect();
        assert_eq!(failures(&verdict, names.len()), expected);
    }
}
