//! Write nodesift predicates in Rust.
//!
//! A predicate takes one pod and decides which nodes cannot run it, and why. It is compiled to a WebAssembly component
//! that can read only the facts it imports; `wit/predicate.wit` is the contract. There are two forms.
//!
//! * [`per_node::NodePredicate`]: a function of one pod and one node. Start here.
//! * [`Predicate`]: a function over whole columns, which is faster; the built-in predicates have this form. [`columns`]
//!   are the facts, [`kernels`] the loops over them, [`VerdictBuilder`] and [`Verdict::by_pattern`] make the verdict.
//!   [`node_selector`], [`label_selector`], [`taints`] and [`topology`] implement the Kubernetes semantics of these.
//!
//! [`rows`] are sets of rows that the host combines and rejects, for predicates in few words. [`log`] writes lines for operators.
//! [`accounting`] is for modules that are no predicates: they say what a pod takes. An [`allocator`] also says which devices a pod gets, a [`scorer`] how good a node is that fits.
//! [`export!`] turns either form into a component. Outside a component, in tests and benchmarks, facts come from [`native`]. This crate knows nothing of the host.
//!
//! ```
//! use nodesift_sdk::native::{Cluster, Node, Pod};
//! use nodesift_sdk::per_node::{self, NodePredicate};
//! use nodesift_sdk::{Failure, NoArgs};
//!
//! /// Nodes without an `example.com/rack` label run nothing.
//! pub struct Racked;
//!
//! impl NodePredicate for Racked {
//!     const NAME: &'static str = "Racked";
//!     const SUMMARY: &'static str = "rejects nodes without a rack label";
//!     type Args = NoArgs;
//!
//!     fn new(_: NoArgs) -> Result<Self, String> {
//!         Ok(Self)
//!     }
//!
//!     fn filter(&self, _: &per_node::Pod, node: &per_node::Node) -> Result<(), Failure> {
//!         match node.label("example.com/rack") {
//!             Some(_) => Ok(()),
//!             None => Err(Failure::unresolvable("node(s) had no rack label")),
//!         }
//!     }
//! }
//!
//! nodesift_sdk::export!(Racked);
//!
//! let cluster = Cluster::new(Pod::new("default"))
//!     .node(Node::new("a").label("example.com/rack", "7"))
//!     .node(Node::new("b"));
//! assert_eq!(cluster.rejected(&Racked), ["b: node(s) had no rack label"]);
//! ```

pub mod accounting;
pub mod allocator;
pub mod args;
#[doc(hidden)]
#[rustfmt::skip]
pub mod bindings;
pub mod columns;
#[cfg(not(target_arch = "wasm32"))]
mod facts;
pub mod kernels;
pub mod label_selector;
pub mod log;
#[cfg(not(target_arch = "wasm32"))]
pub mod native;
pub mod node_selector;
#[doc(hidden)]
pub mod panics;
pub mod per_node;
mod predicate;
pub mod rows;
pub mod scorer;
pub mod syntax;
pub mod taints;
mod toleration;
pub mod topology;
mod verdict;

pub use args::{NoArgs, SwitchArgs};
pub use predicate::{Instance, Predicate, configure};
pub use verdict::{Code, Failure, MalformedVerdict, Outcome, Status, Verdict, VerdictBuilder};
