//! DynamicResources: which nodes can give a pod the devices of its claims, and which devices.
//!
//! Pure functions over facts: [`filter`] answers for all rows, [`allocate`] says what claims get on one of them, [`score`] what that is
//! worth on each. Each distinct situation of rows is searched once, in kube-scheduler's order. No facts can make it panic, loop
//! or exhaust the stack.
//!
//! | module | what |
//! |---|---|
//! | [`facts`] | what the host tells: claims as trees, devices as columns |
//! | `filter`, `allocation`, `score` | the three questions |
//! | [`verdict`] | the answer to the first |
//! | `pod` | the pod's claims resolved, and what has to be done for a row |
//! | [`extended`] | requests for extended resources that classes serve |
//! | `plan` | claims as flat lists, and what they ask about devices |
//! | `fit`, `capacity` | what can be said of a kind of devices before any search |
//! | `layout` | where situations and pools are in the columns |
//! | `count` | claims whose devices only have to be counted |
//! | `search` | the depth-first search |
//! | `prune` | devices that no solution has |
//! | `picks` | the devices picked so far, and whether one more may be |
//! | `problem` | what ends a cycle, as texts |
//! | [`quantity`] | exact amounts |
//! | [`switches`] | what follows the version of Kubernetes |
//! | [`limits`] | every limit |
//!
//! Start with [`facts::Facts`], then `filter`.

pub mod extended;
pub mod facts;
pub mod limits;
pub mod quantity;
pub mod switches;
pub mod verdict;

mod allocation;
mod capacity;
mod count;
mod filter;
mod fit;
mod layout;
mod picks;
mod plan;
mod pod;
mod problem;
mod prune;
mod score;
mod search;

pub use allocation::{Allocation, Picked, allocate};
pub use filter::{Effort, Filtered, filter};
pub use score::score;
