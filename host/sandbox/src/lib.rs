//! The sandbox: compiles wasm components, links them to the facts that they may read, calls them within limits, and checks
//! their verdicts. It depends on wasmtime and the contract, not on Kubernetes or on any predicate.
//!
//! ```text
//! runtime     engines, pools of instances, the epoch clock; bytes → Module
//!   compile · code_cache          bytes → compiled component, within limits; the folder of compiled code
//! manifest    what a component imports and exports, read before it is compiled
//! component   a loaded component of any world: linked, called on an instance that waits or is new, kept or dropped
//!   spares                        the thread that makes instances beside the requests
//!   slots                         how many instances exist at once
//! instance    one instance with its own store; wasmtime errors → Fault
//!   backtrace                     where a guest was when its call ended
//!   deadline · clock · memory     the limits of a call
//! world · guest   what differs between the kinds of components, of which there are three:
//!   module · predicate            a loaded predicate: described, configured, called about a batch of rows
//!   accounting                    components that say what a pod takes of its node, by a contract of their own
//!   device_selector               the component that evaluates CEL about devices, by a contract of its own
//! grants      what a policy gives a predicate, and what one call has beyond that
//! load_error  why a component is not loaded
//! inspect     what a component is, without a policy
//! contract    versions of the contract: those that are served, and that of a component
//! interface   the fact interfaces that a guest can import, and nothing else but `log` and `row-sets`
//!   link                          these two, and the linker of predicates
//!   refusal                       why a host function gives no value
//! log         lines that guests write for operators
//! row_sets    sets of rows that guests combine and reject
//!   rows      one of them, as bits
//! wire        types of the contract at the component boundary
//! check       the value that a guest returned → Verdict, Allocation, Scores or Fault
//! verdict · codes     the checked verdict
//! fault       the closed list of failures
//! text        texts of guests, escaped and shortened
//! limits      every limit with its unit and reason
//! ```
//!
//! Start with [`Runtime`], then [`Module::filter`]. Every call of a guest ends with a checked [`Verdict`] or a
//! [`Fault`](fault::Fault), or, of [`Module::allocate`] and [`Module::score`], with a checked [`Allocation`](wire::allocation::Allocation),
//! checked [`Scores`](wire::scoring::Scores), or a fault.

pub mod accounting;
mod backtrace;
mod check;
mod clock;
mod code_cache;
mod codes;
mod compile;
mod component;
mod contract;
mod deadline;
pub mod device_selector;
pub mod fault;
mod grants;
mod guest;
mod inspect;
mod instance;
mod interface;
pub mod limits;
mod link;
mod load_error;
mod log;
mod manifest;
mod memory;
mod module;
mod predicate;
mod refusal;
mod row_sets;
mod rows;
mod runtime;
mod slots;
mod spares;
mod text;
mod verdict;
pub mod wire;
mod world;

// For the fuzz target: guests can return anything, and only the check stands between that and the host.
#[doc(hidden)]
pub use check::verdict as checked_verdict;
pub use clock::Pulse;
pub use codes::Codes;
pub use compile::{CodeOrigin, CompileApartError, Compiled, CompilerProgram, compile_apart};
pub use contract::{Minor, PACKAGE, VERSION};
pub use deadline::Meter;
pub use grants::{Extra, Grants, Lifetime};
pub use inspect::Inspection;
pub use interface::{Facts, Interface, Kept};
pub use load_error::LoadError;
pub use log::{Level, Line, printable};
pub use module::Module;
pub use refusal::NoValue;
pub use rows::Rows;
pub use runtime::{Runtime, StartError};
pub use verdict::{Code, Failure, RowVerdict, Verdict};
