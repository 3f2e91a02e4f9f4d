//! What a predicate is, and how one becomes a component.

use std::cell::OnceCell;

use serde::de::DeserializeOwned;

use crate::args;
use crate::bindings::exports::nodesift::predicate::predicate::Descriptor;
use crate::verdict::{Failure, Verdict};

/// A predicate over columns: one call answers for a whole batch of nodes.
///
/// It must be deterministic: same pod, same facts, same arguments, same verdict. The host may throw an instance away
/// at any time, so nothing may live in it but what the arguments gave.
pub trait Predicate: Sized + 'static {
    /// The name that is shown and that a policy uses, for example `NodeAffinity`.
    const NAME: &'static str;
    /// One line that says what the predicate rejects.
    const SUMMARY: &'static str;
    /// The policy's arguments; [`NoArgs`](crate::NoArgs) where there are none. They should refuse unknown fields
    /// (`#[serde(deny_unknown_fields)]`), or a typing mistake would change which nodes fit.
    type Args: DeserializeOwned;

    /// Takes the arguments.
    ///
    /// # Errors
    ///
    /// Where they are contradictory; the text should begin with the argument's path, and refuses the policy.
    fn new(args: Self::Args) -> Result<Self, String>;

    /// Judges the pod against the `rows` rows of the batch. The facts are in [`columns`](crate::columns).
    fn filter(&self, rows: usize) -> Verdict;
}

/// Makes a predicate from the JSON text of its arguments.
///
/// # Errors
///
/// Where the predicate refuses the arguments: the argument's path, and what is wrong with it; or that it takes none.
pub fn configure<P: Predicate>(args: &str) -> Result<P, String> {
    P::new(args::parse(args)?)
}

/// The one predicate of a component. [`export!`](crate::export) makes it; nobody else needs it.
#[derive(Debug)]
pub struct Instance<P>(OnceCell<P>);

impl<P: Predicate> Instance<P> {
    /// An instance that waits for its arguments.
    #[must_use]
    pub const fn new() -> Self {
        Self(OnceCell::new())
    }

    /// What the predicate is.
    #[must_use]
    pub fn describe(version: &str) -> Descriptor {
        Descriptor { name: P::NAME.into(), version: version.into(), summary: P::SUMMARY.into() }
    }

    /// Takes the arguments, once.
    ///
    /// # Errors
    ///
    /// Where the predicate refuses them, or has some already.
    pub fn configure(&self, args: &str) -> Result<(), String> {
        self.0.set(configure(args)?).map_err(|_| String::from("the predicate is configured already"))
    }

    /// Judges one batch.
    #[must_use]
    pub fn filter(&self, rows: u32) -> Verdict {
        match self.0.get() {
            Some(predicate) => predicate.filter(rows as usize),
            // The host always configures first; were it not to, no node may seem to fit.
            None => Verdict::FitsNone(Failure::error("the predicate was asked before it was configured")),
        }
    }
}

impl<P: Predicate> Default for Instance<P> {
    fn default() -> Self {
        Self::new()
    }
}

/// Makes a [`Predicate`] or a [`NodePredicate`](crate::per_node::NodePredicate) the predicate of this crate's component.
/// Its version is the crate's.
///
/// On other targets than wasm32 it does nothing, so that several predicates can be linked into one test or benchmark.
#[macro_export]
macro_rules! export {
    ($predicate:ty) => {
        #[cfg(target_arch = "wasm32")]
        #[allow(unsafe_code, reason = "the component boundary")]
        const _: () = {
            use $crate::bindings::exports::nodesift::predicate::predicate::{Descriptor, Guest, Verdict};

            ::std::thread_local! {
                static INSTANCE: $crate::Instance<$predicate> = const { $crate::Instance::new() };
            }

            struct Component;

            impl Guest for Component {
                fn describe() -> Descriptor {
                    $crate::Instance::<$predicate>::describe(::core::env!("CARGO_PKG_VERSION"))
                }

                fn configure(args: ::std::string::String) -> ::core::result::Result<(), ::std::string::String> {
                    INSTANCE.with(|instance| instance.configure(&args))
                }

                fn filter(rows: u32) -> Verdict {
                    INSTANCE.with(|instance| instance.filter(rows))
                }
            }

    $crate::bindings::__export_component!(Component with_types_in $crate::bindings);
        };
    };
}
