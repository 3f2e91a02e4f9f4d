//! Reload: the files of a policy are followed, and what they hold becomes the active policy of a running engine, or is refused.
//!
//! ```text
//! pipeline  one reload: read → activate → prepare → trial → recount → commit
//! follow    the thread: waits for a change that is whole, reloads, and rolls back
//! attempt   one reload on it: the pipeline, and what is noted and told of its end
//! steps     how long each step of it took
//! notice    notifications of the system about the files, and which are open for writing
//! watches   the watches of the system that send them
//! source    where the document is
//! object    an object of a cluster in the place of the document's file
//! stamp     which files there are, and in which state
//! settle    when a change is whole: a state machine without I/O
//! changes   the same wait, for a process that has no policy yet
//! rollback  back to the policy before, once a new predicate is put in quarantine
//! attempt_error  why a policy does not become active
//! failure   errors of all steps as the engine reports them
//! told      what is told of the states of an object
//! metrics   generation, reloads by result, time of the last
//! ```
//!
//! Nothing here runs on a thread of a request. A step that fails leaves the active policy in its place. Start at [`start`].

mod attempt;
mod attempt_error;
mod changes;
mod failure;
mod follow;
mod metrics;
mod notice;
mod object;
mod pipeline;
mod rollback;
mod settle;
mod source;
mod stamp;
mod steps;
mod told;
mod watches;

pub use attempt_error::{Unacceptable, Unprepared};
pub use changes::Changes;
pub use failure::start_refusal;
pub use follow::{Follow, Following, start};
pub use metrics::Metrics;
pub use object::{Attempt, AttemptOutcome, ObjectId, ObjectState, PolicyObject, Quarantined};
pub use pipeline::Host;
pub use source::Source;
pub(crate) use stamp::{Files, Stamp};
