//! External parties as the calls see them: the seam to the crate that negotiates with them, without which this one is built and read.
//!
//! ```text
//! Parties     the calls of cores, the overview for operators, and what `Explain` says of parties
//! Attendance  the stream of one party
//! Outbox      events of a core and calls of a party, which wait for the reader of their stream
//! work        what a `Service` does for whoever implements these
//! ```
//!
//! On this side messages are decoded, streams have their places, and what is unread has its bounds; nothing here knows a rule of
//! negotiation. Start at [`Parties`].

mod work;

use std::fmt;

use futures_util::future::BoxFuture;
use nodesift_engine::ExplainedParties;
use nodesift_proto::v1;

use crate::access::{Caller, CallerRights};
pub use crate::calls::request::evaluated_pod;
pub use crate::error::at_most;
pub use crate::protocols::grpc::Outbox;
use crate::{Error, RequestScope};

/// Negotiation with external parties, as [`Service::with_parties`](crate::Service::with_parties) takes it. A call fails as any other does,
/// and a rule that it breaks is [`Error::Refused`].
pub trait Parties: fmt::Debug + Send + Sync {
    /// Begins to negotiate, and sends what comes of it to `events`. The scope is kept until the end, without the room of the request.
    fn negotiate(
        &self,
        scope: RequestScope,
        request: v1::NegotiateRequest,
        events: Outbox,
    ) -> BoxFuture<'_, Result<Listening, Error>>;

    /// Selects nodes of a negotiation, and sends what comes of it to `events`.
    fn select<'a>(
        &'a self,
        caller: &'a Caller,
        request: v1::SelectRequest,
        events: Outbox,
    ) -> BoxFuture<'a, Result<(), Error>>;

    /// Gives a negotiation up for its owner.
    fn release<'a>(&'a self, caller: &'a Caller, request: v1::ReleaseRequest) -> BoxFuture<'a, Result<(), Error>>;

    /// Sends what parties say by now of pods that wait for them, whose negotiations have ended, to `events`.
    fn follow<'a>(&'a self, caller: &'a Caller, events: Outbox) -> BoxFuture<'a, Result<Listening, Error>>;

    /// Opens the stream of a party that is yet to say who it is. What it is told goes to `calls`.
    fn attend(&self, rights: CallerRights, calls: Outbox) -> Box<dyn Attendance>;

    /// Returns what the parties of a pod have said of it, for explanations; nothing where that is not known in time.
    fn stances<'a>(&'a self, parties: &'a ExplainedParties) -> BoxFuture<'a, Vec<v1::PartyStance>>;

    /// Returns all negotiations and parties as the JSON document of `GET /v1/negotiations`.
    fn overview(&self) -> BoxFuture<'_, Result<Vec<u8>, Error>>;
}

/// Guard of the stream of a core that negotiates. Dropped before the end of the negotiation, the core has left.
pub type Listening = Box<dyn Send>;

/// The stream of a party, as far as it speaks. Dropped, the party has left.
pub trait Attendance: Send {
    /// Counts a message by the rate at which the party may speak, before anything is held for it.
    ///
    /// # Errors
    ///
    /// [`Error::Flood`].
    fn admit(&self, said: &v1::PartyMessage) -> Result<(), Error>;

    /// Takes a message, in the order in which they come. The stream ends with the first that fails.
    fn take(&mut self, said: v1::PartyMessage) -> BoxFuture<'_, Result<(), Error>>;
}
