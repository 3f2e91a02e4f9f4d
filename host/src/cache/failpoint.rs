//! Where a test can have the writer panic: between the steps of a change, as a defect could anywhere. Outside of tests
//! nothing is here.

/// A step of a change is done.
#[cfg(not(test))]
pub(super) fn step() {}

#[cfg(test)]
pub(crate) use armed::panic_after;
#[cfg(test)]
pub(super) use armed::step;

#[cfg(test)]
#[allow(clippy::panic)]
mod armed {
    use std::cell::Cell;

    thread_local! {
        static LEFT: Cell<Option<u32>> = const { Cell::new(None) };
    }

    /// Has this thread panic once, after as many steps more; never, where none is given.
    pub(crate) fn panic_after(steps: Option<u32>) {
        LEFT.set(steps);
    }

    /// A step of a change is done.
    pub(in crate::cache) fn step() {
        let Some(left) = LEFT.get() else { return };
        LEFT.set(left.checked_sub(1));
        assert!(left > 0, "on purpose, between two steps");
    }
}
