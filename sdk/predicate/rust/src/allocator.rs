//! The trait [`Allocator`], for a predicate that rejects nodes for want of devices: which ones the pod's claims get on a node that
//! fits. Its types are those of the contract's interface `allocator`, which `wit/predicate.wit` describes.

pub use crate::bindings::allocating::exports::nodesift::predicate::allocator::{
    Allocation, Mapping, NewClaim, NewRequest, Pick,
};
use crate::predicate::{Instance, Predicate};

/// A predicate that gives devices. [`export!`](crate::export) takes `allocator` after the type of one.
pub trait Allocator: Predicate {
    /// Allocates devices to the pod's claims on the row `row` of a batch of `rows` rows; `None` where [`filter`](Predicate::filter) rejects
    /// the row. Facts are in [`columns`](crate::columns), as for `filter`, but there are no row sets.
    fn allocate(&self, rows: usize, row: usize) -> Option<Allocation>;
}

impl<P: Allocator> Instance<P> {
    /// Gives devices on one row.
    #[must_use]
    pub fn allocate(&self, rows: u32, row: u32) -> Option<Allocation> {
        // Before it is configured no row fits.
        self.predicate()?.allocate(rows as usize, row as usize)
    }
}
