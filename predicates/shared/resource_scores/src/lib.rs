//! Resources of nodes as the scores of NodeResourcesFit and NodeResourcesBalancedAllocation weigh them. Equivalent to
//! resource_allocation.go in kube-scheduler's pkg/scheduler/framework/plugins/noderesources.
//!
//! On a node that offers nothing of an extended resource which a DeviceClass serves, the devices of the class are counted in its place
//! (gate `DRAExtendedResource`, [`Weighed::served_by_devices`]).
//!
//! [`ResourceSpec`] is a resource as arguments list it; [`Weighed`] has its amounts per row, and [`Shape`] makes a score of
//! the used part. Start at [`Weighed::amounts`].

mod devices;
mod name;
mod shape;
mod spec;

pub use name::is_scalar;
pub use shape::{Point, Shape, rounded};
pub use spec::{Listed, ResourceSpec, weights};

/// A listed resource: what nodes offer of it, what pods on them ask of it, and what the pod asks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Weighed {
    /// Factor of the resource in the mean over all of them.
    pub weight: i64,
    /// Allocatable amount per row.
    pub allocatable: Vec<i64>,
    /// Requests of the pods on the node, per row.
    pub allocated: Vec<i64>,
    /// Request of the pod that is scored.
    pub asked: i64,
}

/// Amounts of one resource on one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Amounts {
    /// Amount that the node offers, never 0.
    pub allocatable: i64,
    /// Requests of the pods on the node.
    pub allocated: i64,
    /// Requests of the pods on the node and of the pod that is scored.
    pub requested: i64,
}

impl Weighed {
    /// Puts devices in the place of the resource on rows whose node offers nothing of it: all that the row sees of the class that serves
    /// the resource of this name, and those in use. Nothing changes where the pod does not ask for the resource, or no class serves it.
    /// Facts about devices are read only where it can change something.
    #[must_use]
    pub fn served_by_devices(mut self, name: &str) -> Self {
        if self.asked == 0 || self.allocatable.iter().all(|amount| *amount != 0) {
            return self;
        }
        let Some(counted) = devices::counted(name) else { return self };
        for ((allocatable, allocated), counted) in self.allocatable.iter_mut().zip(&mut self.allocated).zip(counted) {
            if *allocatable == 0 {
                (*allocatable, *allocated) = (counted.devices, counted.in_use);
            }
        }
        self
    }

    /// The amounts of a row; none where the resource does not count there, because the node offers nothing of it. Sums wrap, as Go's do.
    #[must_use]
    pub fn amounts(&self, row: usize) -> Option<Amounts> {
        let allocatable = self.allocatable.get(row).copied().filter(|amount| *amount != 0)?;
        let allocated = self.allocated.get(row).copied().unwrap_or(0);
        Some(Amounts { allocatable, allocated, requested: allocated.wrapping_add(self.asked) })
    }
}

/// Whether a resource counts on some node: one of a scalar name counts only for a pod that asks for it.
#[must_use]
pub fn counts(name: &str, asked: i64) -> bool {
    asked != 0 || !is_scalar(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_of_which_a_node_offers_nothing_does_not_count_there() {
        let weighed = Weighed { weight: 1, allocatable: vec![0, 8], allocated: vec![2, 3], asked: 4 };
        assert_eq!(weighed.amounts(0), None);
        assert_eq!(weighed.amounts(1), Some(Amounts { allocatable: 8, allocated: 3, requested: 7 }));
        assert_eq!(weighed.amounts(2), None, "there is no such row");
    }

    #[test]
    fn only_scalar_resources_need_a_request() {
        assert!(counts("cpu", 0) && counts("ephemeral-storage", 0) && counts("example.com/gpu", 1));
        assert!(!counts("example.com/gpu", 0) && !counts("hugepages-2Mi", 0));
    }
}
