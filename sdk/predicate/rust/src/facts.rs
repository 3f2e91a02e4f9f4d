//! The source of facts outside a component: the trait [`Facts`], and the thread-local that holds the implementation in
//! use.
//!
//! [`columns`](crate::columns) reads facts through `ask`; [`with_facts`] sets what it reads. This module holds no
//! implementation: [`native::Cluster`](crate::native::Cluster) is one. It uses the generated types only, so that
//! `columns` and `native` can both depend on it. The trait is made from the contract (`functions`).

use std::cell::RefCell;
use std::rc::Rc;

mod functions;

pub use functions::Facts;

thread_local! {
    /// The facts of the running [`with_facts`] calls, the innermost last.
    static FACTS: RefCell<Vec<Rc<dyn Facts>>> = const { RefCell::new(Vec::new()) };
}

/// Runs `f`. Every function of [`columns`](crate::columns) that `f` calls on this thread reads `facts`.
pub fn with_facts<T>(facts: Rc<dyn Facts>, f: impl FnOnce() -> T) -> T {
    /// Removes the facts again, also where `f` panics.
    struct Guard;
    impl Drop for Guard {
        fn drop(&mut self) {
            FACTS.with_borrow_mut(Vec::pop);
        }
    }
    FACTS.with_borrow_mut(|stack| stack.push(facts));
    let _guard = Guard;
    f()
}

/// Reads a fact from the innermost running [`with_facts`].
#[allow(clippy::panic, reason = "a fact read outside a filter call: a component would trap")]
pub(crate) fn ask<T>(read: impl FnOnce(&dyn Facts) -> T) -> T {
    match FACTS.with_borrow(|stack| stack.last().cloned()) {
        Some(facts) => read(facts.as_ref()),
        None => panic!("a fact was read outside `native::with_facts`"),
    }
}

/// Ends the test that calls a fact function of which its facts have no answer.
#[allow(clippy::panic, reason = "fails the author's test")]
fn missing(interface: &str, function: &str) -> ! {
    panic!("the test has no answer of `{function}` of the interface `{interface}`: implement it in `native::Facts`")
}
