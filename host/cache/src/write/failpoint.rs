//! Failpoints: places between the steps of a change where a test can have the writer panic, as a defect could anywhere. In
//! a release build they do nothing.

/// A step of a change is done.
#[cfg(not(debug_assertions))]
pub(super) fn step() {}

#[cfg(debug_assertions)]
pub use armed::panic_after;
#[cfg(debug_assertions)]
pub(super) use armed::step;

#[cfg(debug_assertions)]
#[allow(clippy::panic)]
mod armed {
    use std::cell::Cell;

    thread_local! {
        static LEFT: Cell<Option<u32>> = const { Cell::new(None) };
    }

    /// Has this thread panic once, after so many steps more; `None`: never.
    pub fn panic_after(steps: Option<u32>) {
        LEFT.set(steps);
    }

    /// A step of a change is done.
    pub(crate) fn step() {
        let Some(left) = LEFT.get() else { return };
        LEFT.set(left.checked_sub(1));
        assert!(left > 0, "on purpose, between two steps");
    }
}
