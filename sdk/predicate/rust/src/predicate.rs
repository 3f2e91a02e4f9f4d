//! The trait [`Predicate`], and [`export!`](crate::export), which turns a predicate into a component.

use std::cell::OnceCell;

use serde::de::DeserializeOwned;

use crate::args;
use crate::bindings::exports::nodesift::predicate::predicate::Descriptor;
use crate::verdict::{Failure, Verdict};

/// A predicate over columns: one call decides for a whole batch of nodes.
///
/// It must be deterministic: the same pod, facts and arguments give the same verdict. The host can drop an instance at
/// any time, so an instance must hold no state other than its arguments.
pub trait Predicate: Sized + 'static {
    /// The predicate's name, as used in policies, for example `NodeAffinity`.
    const NAME: &'static str;
    /// One line that says what the predicate rejects.
    const SUMMARY: &'static str;
    /// The policy's arguments; [`NoArgs`](crate::NoArgs) where there are none. The type should refuse unknown fields
    /// (`#[serde(deny_unknown_fields)]`), because a mistyped argument would otherwise be ignored.
    type Args: DeserializeOwned;

    /// Creates the predicate from its arguments.
    ///
    /// # Errors
    ///
    /// Where the arguments are invalid. The host refuses the policy with this text, which should begin with the path of
    /// the argument.
    fn new(args: Self::Args) -> Result<Self, String>;

    /// Decides for every row of the batch whether the node can run the pod. `rows` is the number of rows. The facts are
    /// in [`columns`](crate::columns).
    fn filter(&self, rows: usize) -> Verdict;
}

/// Creates a predicate from the JSON text of its arguments.
///
/// # Errors
///
/// Where the arguments are invalid: the path of the argument and the reason, or that the predicate takes no arguments.
pub fn configure<P: Predicate>(args: &str) -> Result<P, String> {
    P::new(args::parse(args)?)
}

/// The predicate of a component instance. Only the code of [`export!`](crate::export) uses it.
#[derive(Debug)]
pub struct Instance<P>(OnceCell<P>);

impl<P: Predicate> Instance<P> {
    /// An instance without arguments yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(OnceCell::new())
    }

    /// The descriptor of the predicate.
    #[must_use]
    pub fn describe(version: &str) -> Descriptor {
        Descriptor { name: P::NAME.into(), version: version.into(), summary: P::SUMMARY.into() }
    }

    /// Creates the predicate from the JSON text of its arguments. Can be called once.
    ///
    /// # Errors
    ///
    /// Where the arguments are invalid, or on the second call.
    pub fn configure(&self, args: &str) -> Result<(), String> {
        self.0.set(configure(args)?).map_err(|_| String::from("the predicate is already configured"))
    }

    /// The predicate, once it is configured.
    pub(crate) fn predicate(&self) -> Option<&P> {
        self.0.get()
    }

    /// Filters one batch of `rows` rows.
    #[must_use]
    pub fn filter(&self, rows: u32) -> Verdict {
        match self.predicate() {
            Some(predicate) => predicate.filter(rows as usize).bounded(),
            // The host always configures first. If it does not, no node may be reported as fitting.
            None => Verdict::FitsNone(Failure::error("the predicate was called before it was configured")),
        }
    }
}

impl<P: Predicate> Default for Instance<P> {
    fn default() -> Self {
        Self::new()
    }
}

/// Exports a [`Predicate`] or a [`NodePredicate`](crate::per_node::NodePredicate) as the predicate of this crate's
/// component. The version in its descriptor is the version of the crate. With `allocator` after the type, an
/// [`Allocator`](crate::allocator::Allocator) is exported as that as well, and with `scorer` a [`Scorer`](crate::scorer::Scorer).
///
/// On targets other than wasm32 it does nothing, so that several predicates can be linked into one test or benchmark.
#[macro_export]
macro_rules! export {
    (@allocator) => {
        use $crate::bindings::allocating::exports::nodesift::predicate::allocator;

        impl allocator::Guest for Component {
            fn allocate(rows: u32, row: u32) -> ::core::option::Option<allocator::Allocation> {
                INSTANCE.with(|instance| instance.allocate(rows, row))
            }
        }

        $crate::bindings::allocating::__export_allocator!(Component with_types_in $crate::bindings::allocating);
    };
    (@scorer) => {
        use $crate::bindings::scoring::exports::nodesift::predicate::scorer;

        impl scorer::Guest for Component {
            fn normalize_by() -> scorer::Normalization {
                INSTANCE.with($crate::Instance::normalize_by)
            }

            fn score(rows: u32) -> scorer::Scores {
                INSTANCE.with(|instance| instance.score(rows))
            }
        }

        $crate::bindings::scoring::__export_scorer!(Component with_types_in $crate::bindings::scoring);
    };
    ($predicate:ty $(, $second:ident)*) => {
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
                    $crate::panics::write_them();
                    INSTANCE.with(|instance| instance.configure(&args))
                }

                fn filter(rows: u32) -> Verdict {
                    INSTANCE.with(|instance| instance.filter(rows))
                }
            }

            $crate::bindings::__export_component!(Component with_types_in $crate::bindings);

            $($crate::export!(@$second);)*
        };
    };
}
