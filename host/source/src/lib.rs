//! Where the cluster's objects come from: cluster files, or a watched Kubernetes API server. Sources write the cache.
//!
//! | room | holds |
//! |---|---|
//! | [`files`] | cluster files → objects |
//! | [`kube`] | an API server: reflectors list and watch kinds; what they bring is decoded, compiled and delivered |
//! | [`feed`] | delivered changes → the cache, on one thread: queue, resourceVersions, tombstones, retries, snapshots |
//! | [`audit`] | compares cache and server from time to time, and repairs drift |
//! | [`change`] | what the rooms pass on: [`Change`](change::Change), and the compiler that makes it of objects |
//! | [`freshness`] | when each kind was last confirmed to be current: staleness |
//! | `yield_budget` | lets a busy thread yield its core to answers |
//! | [`limits`] | every limit, with unit and reason |
//!
//! # What depends on what
//!
//! ```text
//! audit ──► feed ──► change ──► cache::metadata, object
//!   │                  ▲
//!   └─────► kube ──────┘          files ──► object
//! ```
//!
//! `kube` does not know `feed`: it delivers to a closure. `files` knows neither. `freshness`, `yield_budget` and `limits` depend
//! on no room. Outside this crate, sources depend on the cache's writer, on the objects' decoder, and for
//! [`kube::kinds`] on the sandbox's list of interfaces.
//!
//! # The way of a watch event
//!
//! There are two words on the way: a `WatchEvent` is what the server says, a [`Change`](change::Change) is what the feed is to do.
//!
//! 1. `kube/server.rs`: the body of a watch arrives as chunks of bytes.
//! 2. `kube/reflector/task.rs` reads them; `kube/reflector/lines.rs` joins them to whole lines.
//! 3. `kube/reflector/events.rs` and `kube/decode/event.rs`: each line becomes a `WatchEvent`. Its object is compiled by
//!    `change.rs` at once, on a thread for blocking work where the lines are many.
//! 4. `kube/reflector/objects.rs`: all events of a chunk become `Change`s and are delivered together. `kube/reflector/state.rs` notes
//!    their resourceVersions, from which the next watch resumes.
//! 5. `feed/queue.rs`: a change merges with the one of the same object that waits, or queues behind the others.
//! 6. `feed/worker.rs` takes the batch; `feed/applier.rs` checks each change by `feed/ledger.rs`, so that nothing older follows
//!    anything newer, and applies it to the cache's writer through `feed/target.rs`. What fails waits in `feed/retry.rs`.
//! 7. `feed/applier.rs` publishes one snapshot for the batch; `feed/worker.rs` wakes who waits for it.
//!
//! A list takes the same way as one [`Change::Replaced`](change::Change::Replaced), a bookmark as one
//! [`Change::Bookmark`](change::Change::Bookmark).
//!
//! Files go the short way: [`files::read`] gives each object to a [`Loader`] of an empty cache. Start there, or at
//! [`kube::Following`].

pub mod audit;
pub mod change;
pub mod feed;
pub mod files;
pub mod freshness;
pub mod kube;
pub mod limits;
mod yield_budget;

pub use feed::Loader;
pub use files::{Skipped, Summary};
