//! Negotiation: nodes for a pod that parties outside of the cluster agree on, and what they allocate there.
//!
//! A state machine without I/O, threads and clock: requests and [`Event`]s go in, [`Effect`]s come out. Start with
//! [`Negotiations`]. The caller evaluates predicates, sends messages, assumes pods, and tells the time.
//!
//! | file | holds |
//! |---|---|
//! | `limits` | every limit, with unit and reason |
//! | `request` | pods, claims, parties; requests of a core, and their refusals |
//! | `subject` | what answers are about, and what they say of a node |
//! | `message` | calls of parties, and what parties say |
//! | `decision` | what parties hold for pods: what outlives the process |
//! | `effect` | events and effects |
//! | `reasons` | reasons that are kept, each text once |
//! | `kept` | answers that are kept: the rows of the column of unsuitable nodes |
//! | `standing` | whether a party may be asked: back-off, quarantine |
//! | `words` | what a party has said, and since when |
//! | `candidates` | the nodes of a negotiation, one bit a party |
//! | `claims` | who allocates a claim, who uses it, who gives it back |
//! | `negotiation` | the state of one negotiation |
//! | `view` | what operators see |
//! | `stance` | what explanations say of parties |
//! | `ledger` | what negotiations hold, by who opened them |
//! | `refused` | pods that parties keep waiting after the end of their negotiation |
//! | `sweep` | what has changed of a party, until all its negotiations know |
//! | `repeats` | calls that a party is told again once it has a new stream |
//! | `undos` | deallocations that parties have not confirmed |
//! | `holdings` | what parties hold for bound pods, until these end |
//! | `desk` | what all negotiations share |
//! | `turn`, `round`, `selection` | one step of one negotiation: its ends, its rounds, its allocations |
//! | `negotiations` | all of them |
//!
//! A file imports only those above it.
//!
//! A negotiation goes through these phases; each but the first and the last ends at a deadline:
//!
//! ```text
//! evaluating ⇄ asking → agreed → assuming → allocating → allocated → over
//!      ↑        ↓          ↓        ↑                        (bound, and shown by the claims; held until the pod ends)
//!      └──── waiting ←─────┘        └── optimistic: from any phase before
//! ```

mod candidates;
mod claims;
mod decision;
mod desk;
mod effect;
mod holdings;
mod kept;
mod ledger;
pub mod limits;
mod message;
mod negotiation;
mod negotiations;
mod reasons;
mod refused;
mod repeats;
mod request;
mod round;
mod selection;
mod stance;
mod standing;
mod subject;
mod sweep;
mod turn;
mod undos;
mod view;
mod words;

#[cfg(test)]
mod tests;

pub use decision::{Decision, Held, Stage};
pub use effect::{Defect, Effect, End, Evaluate, Evaluated, Event, Failure, Progress, RefusedNodes};
pub use message::{
    Allocate, Answer, Ask, Bound, Call, CallId, Deallocate, Invalidate, MalformedAnswer, OtherClaim, PartyAllocated,
    PartyFailed, Unsuitable,
};
pub use negotiations::Negotiations;
pub use request::{
    Claim, ClaimState, ClaimUid, Class, Concern, NegotiationId, Node, OnSilence, Owner, Party, Pod, Refusal, Request,
    Scope, Select,
};
pub use stance::{Said, Stance};
pub use subject::{Subject, Suitability};
pub use view::{PartyView, SeatView, Usage, View};
