//! The reflector: lists a kind, watches it, relists when the watch cannot go on.
//!
//! ```text
//! task ─┬─ state      what comes next: a pure state machine, without I/O or clock
//!       │   └ backoff   how long a failed request waits
//!       ├─ watch_lag  whether events arrive late
//!       ├─ outlet     what it says to others: changes, freshness, health
//!       ├─ keys       which annotations objects are compiled with
//!       ├─ lines      chunks of a watch → whole lines
//!       └─ Sink       decodes and delivers
//!           ├─ objects    all objects of a kind → changes
//!           │   ├ events      lines → watch events
//!           │   └ unreadable  how often objects that do not decode are logged
//!           ├─ parts      some objects of a kind, each by its name → changes of the kind
//!           └─ named      one object, by its name → what is known of it
//! ```
//!
//! Every kind has a task of its own. Lists are read with [`Pages`](super::list::Pages). Start at
//! [`ReflectorTask`](task::ReflectorTask) for what is done, at [`Reflector`](state::Reflector) for when.

pub(super) mod backoff;
mod events;
pub(super) mod keys;
mod lines;
pub(super) mod named;
pub(super) mod objects;
pub(super) mod outlet;
pub(super) mod parts;
#[cfg(test)]
pub(super) mod script;
pub(super) mod state;
pub(super) mod task;
mod unreadable;
mod watch_lag;
