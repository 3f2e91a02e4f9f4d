//! The feed: brings the changes that sources deliver into the cache, on one thread, one object at a time.
//!
//! ```text
//! Feed::deliver ── queue ────── worker ── applier ──┬── target    the cache's writer: apply, remove, publish
//!                  merges by    one       applies,  ├── ledger    applied resourceVersions and tombstones
//!                  object       thread    publishes └── retry     failed changes, with exponential backoff
//! ```
//!
//! | file | holds |
//! |---|---|
//! | `handle` | [`Feed`]: what sources, the audit and readiness call |
//! | `intake` | what the handle and the worker share, under one lock; [`Backlog`] |
//! | `queue` | undelivered changes, at most one per object and one list per kind: the feed's backpressure |
//! | `worker` | the thread: waits, takes a batch, lets the applier take its turn, wakes waiters |
//! | `applier` | one turn: version check, apply, retry, publish |
//! | `perform` | one change: compared with the ledger, applied, noted in it |
//! | `ledger` | which resourceVersion of each object is applied; tombstones of deleted objects |
//! | `retry` | changes that failed, and when each is attempted again |
//! | `unaccounted` | objects of which no account is known, and when the accountant is asked again |
//! | `target` | the trait that the applier writes to, and its implementation for the cache's writer |
//! | `waiters` | who waits for the next change of an object |
//! | `load` | the same without a thread, for files |
//! | `metrics`, `backlog` | counters, and gauges of the queue |
//! | `pulse` | heartbeats of the thread and of publication, for a watchdog |
//!
//! The feed knows nothing of files or API servers. Start at [`Feed`], then `applier`.

mod applier;
mod backlog;
mod handle;
mod intake;
mod ledger;
mod load;
mod metrics;
mod perform;
mod pulse;
mod queue;
mod retry;
mod target;
mod unaccounted;
mod waiters;
mod worker;

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

pub use handle::{Feed, WaitError};
pub use intake::Backlog;
pub(crate) use ledger::{Held, Ledger};
pub use load::Loader;
pub use metrics::Metrics;
pub use pulse::Pulse;
