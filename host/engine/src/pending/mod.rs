//! Why pods are pending: the list of pending pods that is kept beside requests, with their causes, and when cores last asked about them.
//!
//! ```text
//! cause    the closed, ranked list of causes, and the rule that finds the one of a pod
//! asked    when cores last asked about pods, noted with each answer
//! list     the list as it was last made, with the causes that pods had before
//! shares   which pods are listed where there are too many
//! pass     makes the next list: evaluates what may have changed, with rests
//! metrics  pods by cause, for scrapers
//! ```
//!
//! Nothing here decides: a list that is wrong or late changes no answer. Start at [`Engine::list_pending`](crate::Engine::list_pending).

pub mod asked;
pub mod cause;
pub mod list;
pub mod metrics;
mod pass;
mod shares;

pub use asked::{AskResult, AskedPods, Asker, LastQuestion};
pub use cause::{Cause, LastAsked, Reason};
pub use list::{Answered, GonePod, Listed, OfCause, Past, PendingList, PendingPod, Totals};
pub use pass::{AfterRest, Rest};
