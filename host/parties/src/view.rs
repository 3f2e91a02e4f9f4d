//! Negotiations as operators see them: [`Overview`], as in `GET /v1/negotiations`, and [`stance`], for `Explain`.

use std::time::{Duration, Instant, SystemTime};

use nodesift_negotiation::{PartyView, Said, SeatView, Stance, Usage, View};
use nodesift_proto::v1;
use nodesift_proto::wkt::Timestamp;
use serde::Serialize;

/// Everything at one moment.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Overview {
    pub(super) usage: Counts,
    /// Parties in the order of the policy.
    pub(super) parties: Vec<PartyState>,
    /// Negotiations that have not ended, the oldest first.
    pub(super) negotiations: Vec<NegotiationState>,
}

/// Counts of what the state machine holds, in entries and bytes.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Counts {
    negotiations: usize,
    held: usize,
    deallocations: usize,
    calls: usize,
    kept_nodes: usize,
    kept_bytes: usize,
    local_bytes: usize,
    remote_bytes: usize,
}

/// A party of the policy.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PartyState {
    party: String,
    attends: bool,
    /// Whether it has been silent so often that it is not asked for a while.
    quarantined: bool,
    /// Until it is asked again; none where it is asked now.
    #[serde(skip_serializing_if = "Option::is_none")]
    rests_ms: Option<u64>,
}

/// State of one negotiation.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NegotiationState {
    /// Its place among all that have begun. The id is known to its owner alone.
    number: u64,
    /// The pod as `namespace/name`.
    pod: String,
    uid: String,
    round: u32,
    /// Step that the negotiation is in.
    phase: &'static str,
    candidates: usize,
    /// Candidates that suit all parties that have been heard.
    suitable: usize,
    /// UID of the claim that it waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    waits_for: Option<String>,
    /// Until it ends, whatever happens.
    ends_ms: u64,
    parties: Vec<SeatState>,
}

/// A party in a negotiation.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SeatState {
    party: String,
    claims: usize,
    /// Candidates that it has refused.
    unsuitable: usize,
    /// Candidates about which it has not been heard.
    unheard: usize,
    /// For how long it has not answered; none where nothing is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    silent_ms: Option<u64>,
    /// Whether it has allocated; none where it was not told to.
    #[serde(skip_serializing_if = "Option::is_none")]
    allocated: Option<bool>,
}

impl Counts {
    pub(super) fn new(usage: Usage) -> Self {
        let Usage { negotiations, held, deallocations, calls, kept_nodes, kept_bytes, local_bytes, remote_bytes } =
            usage;
        Self { negotiations, held, deallocations, calls, kept_nodes, kept_bytes, local_bytes, remote_bytes }
    }
}

impl PartyState {
    pub(super) fn new(view: &PartyView, now: Instant) -> Self {
        Self {
            party: view.party.to_string(),
            attends: view.attends,
            quarantined: view.is_quarantined,
            rests_ms: view.rests_until.map(|until| ms(until.saturating_duration_since(now))),
        }
    }
}

impl NegotiationState {
    /// `pod` is its namespace and name.
    pub(super) fn new(view: View, pod: String, now: Instant) -> Self {
        Self {
            number: view.number,
            pod,
            uid: view.pod.to_string(),
            round: view.round,
            phase: view.phase,
            candidates: view.candidates,
            suitable: view.live,
            waits_for: view.waits_for.map(|claim| claim.to_string()),
            ends_ms: ms(view.deadline.saturating_duration_since(now)),
            parties: view.parties.into_iter().map(|seat| SeatState::new(&seat, now)).collect(),
        }
    }
}

impl SeatState {
    fn new(seat: &SeatView, now: Instant) -> Self {
        Self {
            party: seat.party.to_string(),
            claims: seat.claims,
            unsuitable: seat.unsuitable,
            unheard: seat.unheard,
            silent_ms: seat.silent_since.map(|since| ms(now.saturating_duration_since(since))),
            allocated: seat.has_allocated,
        }
    }
}

/// Converts the stance of a party to a message, with the wall-clock time since when it holds.
pub(super) fn stance(stance: Stance, now: Instant, clock: SystemTime) -> v1::PartyStance {
    let (said, reason) = match stance.said {
        Said::Accepted => ("Accepted", String::new()),
        Said::Refused(reason) => ("Refused", reason.to_string()),
        Said::Silent => ("Silent", String::new()),
        Said::NotAsked(reason) => ("NotAsked", reason.to_owned()),
        Said::Allocating => ("Allocating", String::new()),
        Said::Allocated => ("Allocated", String::new()),
    };
    let since = stance.since.and_then(|since| clock.checked_sub(now.saturating_duration_since(since)));
    v1::PartyStance {
        party: stance.party.to_string(),
        said: said.to_owned(),
        reason,
        nodes: u32::try_from(stance.nodes).unwrap_or(u32::MAX),
        since: since.map(timestamp),
    }
}

/// A time in milliseconds.
fn timestamp(time: SystemTime) -> Timestamp {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp {
        seconds: i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
        nanos: i32::try_from(since.subsec_millis()).unwrap_or(0) * 1_000_000,
    }
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
