//! Every limit of negotiation, with its unit and its reason.

use std::time::Duration;

/// Negotiations of local clients at a time, with the deallocations that are left of selections that were given up. Of those that wait for
/// one party with 128 candidates each, one client has some 600: then its share of [`HELD_BYTES`] is full.
pub const NEGOTIATIONS: usize = 2_000;

/// Negotiations of remote clients at a time, with the deallocations that are left of selections that were given up. Remote clients are not
/// the core beside the program.
pub const REMOTE_NEGOTIATIONS: usize = 1_000;

/// Bytes of pods, orders, candidates, questions and selections that the negotiations of local clients hold. A pod is some kilobytes, an
/// order of its own of 5,000 nodes 80 kB, 128 candidates 12 kB, and 5,000 candidates, where one party refuses them all, 480 kB. With
/// [`REMOTE_HELD_BYTES`] and [`KEPT_BYTES`] full as well, a process takes less than the 64 MiB that a container has to have beside what
/// its cluster needs.
pub const HELD_BYTES: usize = 16 << 20;

/// Bytes that the negotiations of remote clients hold, counted as for [`HELD_BYTES`].
pub const REMOTE_HELD_BYTES: usize = 12 << 20;

/// Bytes of one negotiation whatever it is about: what is known of its pod, its places in tables, and the stream on which its client hears
/// of it.
pub const NEGOTIATION_BYTES: usize = 5 << 10;

/// Bytes of a party in one negotiation, beside what it is asked and has said: its open questions, and places of its words.
pub const SEAT_BYTES: usize = 1_800;

/// One part of so many of what a class may hold is out of the reach of each single client, so that another finds room.
pub const CLIENT_SHARE: usize = 4;

/// Bytes of alternatives, by name or by selector, that one party has named for negotiations of one class of clients, and that no round has
/// taken up yet: 30,000 names, those of some hundred negotiations at a time. They do not take the room of what cores bring, and those of
/// one party not that of another's.
pub const SAID_BYTES: usize = 2 << 20;

/// Bytes of alternatives of all parties together, for one class of clients, counted as for [`SAID_BYTES`]: two parties may have all that
/// one may, and leave something to others.
pub const SAID_ALL_BYTES: usize = 6 << 20;

/// Bytes of a claim of a pod that is negotiated: in the negotiation, and among all claims.
pub const CLAIM_BYTES: usize = 200;

/// Parties of a policy. Decisions about a node are one bit a party.
pub const PARTIES: usize = 16;

/// Candidates of a round, unless the core says otherwise: enough that a few parties have one in common, and an answer in time.
pub const CANDIDATES: usize = 128;

/// Most candidates of a round: what KEP-3063 considers for its largest lists.
pub const CANDIDATES_MOST: usize = 256;

/// Nodes in the order of one negotiation. Names are shared with the cache: 16 bytes each.
pub const ORDER_NODES: usize = 16_384;

/// Bytes of one node in an order or another list: a name that is shared with the cache.
pub const NAME_BYTES: usize = 16;

/// Bytes of a text as it came, beside its letters: its place in a list, which may be twice as large as what it holds, and its counts.
pub const TEXT_BYTES: usize = 48;

/// Bytes of one candidate: what has been said of it, and its places in a list and in a table, which may be twice as large as what it
/// holds.
pub const CANDIDATE_BYTES: usize = 64;

/// Nodes that one negotiation considers, alternatives included: as many as its order may have.
pub const SEEN_NODES: usize = 16_384;

/// Claims of a pod: more than a pod object of 1.5 MiB is known to have.
pub const CLAIMS: usize = 256;

/// Time of a round, unless the core says otherwise.
pub const ROUND: Duration = Duration::from_secs(2);

/// Least time of a round: a party on another machine cannot answer in less.
pub const ROUND_LEAST: Duration = Duration::from_millis(10);

/// Time of a negotiation, unless the core says otherwise: what KEP-3063 names.
pub const DEADLINE: Duration = Duration::from_secs(30);

/// Longest time that a core may ask for, to negotiate or to allocate: storage is attached in minutes.
pub const DEADLINE_MOST: Duration = Duration::from_secs(600);

/// Time for which an agreement waits to be selected: as long as the answers behind it can be valid.
pub const AGREED: Duration = Duration::from_secs(30);

/// Time for which an allocation waits for its pod to be bound: the longest life of an assumption.
pub const ALLOCATED: Duration = Duration::from_secs(3_600);

/// Calls of which parties hold something for bound pods, and deallocations that they have not confirmed, beyond which nothing new is
/// negotiated: 250 bytes each, with one claim.
pub const HOLDINGS: usize = 65_536;

/// The part of [`HOLDINGS`] that one party may have, which counts what it holds and has not given back: with more, no pod that it decides
/// about is negotiated, and those of others are.
pub const HOLDINGS_OF_PARTY: usize = HOLDINGS / 2;

/// Deallocations of one pod that are not confirmed, with which it is selected no more: what it had in two selections with all parties there
/// may be, or in more with fewer.
pub const UNDOS_OF_POD: usize = 32;

/// Calls in the decision about one pod: what it is bound with, what a selection is about to have, and what is given back. The definition of
/// PodNegotiations has this number as well.
pub const CALLS_OF_POD: usize = 2 * PARTIES + UNDOS_OF_POD;

/// Pods that wait for parties after a negotiation without an allocation, by whom it was for: 300 bytes each. Beyond it, the one that has
/// waited longest is not told of what parties say, and is tried again by its core alone.
pub const REFUSED_PODS: usize = 10_000;

/// Pods that are woken because a party has given something back: as many as may have what one pod had, and not all of a cluster.
pub const WOKEN: usize = 64;

/// Time for which a deallocation that its party does not confirm keeps a claim in progress. After it, only the claim's status
/// counts; the party is told again for as long as it has not confirmed.
pub const DEALLOCATION: Duration = Duration::from_secs(60);

/// Longest time for which an answer is kept: a party that knows of a change says so by invalidating it.
pub const VALID_MOST: Duration = Duration::from_secs(30);

/// Negotiations that are looked at in one step because a party has taken back what it said, has another stream, or may be asked again; and
/// deallocations that are repeated in one step: some hundred microseconds. The others follow in the next steps, or when something else
/// happens to them.
pub const SWEPT: usize = 64;

/// Subjects that a party takes back, told apart until all its negotiations have been looked at. With more, all counts as taken back.
pub const SWEPT_SUBJECTS: usize = 64;

/// Bytes of answers about nodes that are kept, over all parties and subjects: some 130,000 nodes. Beyond it, those of the subject
/// that expires first are dropped, which makes its nodes unknown.
pub const KEPT_BYTES: usize = 16 << 20;

/// Bytes of one node of which an answer is kept: two times, a name and a reason that are shared, and its place in a tree.
pub const KEPT_NODE_BYTES: usize = 120;

/// Bytes of a party and a subject, beside its text: twice in a tree.
pub const KEPT_SUBJECT_BYTES: usize = 240;

/// Different reasons of one party that are kept; the rest counts as one. A party has a few, with or without a number in them.
pub const KEPT_REASONS: usize = 256;

/// Bytes of the texts of one answer: 256 nodes with names of 253 bytes and reasons of some hundred take 100 kB.
pub const ANSWER_BYTES: usize = 256 << 10;

/// Alternatives of one answer, and those of one party that wait for the next round of a negotiation: a round has no more candidates.
pub const ALTERNATIVES: usize = CANDIDATES_MOST;

/// Bytes of the selector of an answer.
pub const SELECTOR_BYTES: usize = 4 << 10;

/// Reasons of one party that an explanation tells apart in one negotiation; the rest counts as one. Each takes a line.
pub const EXPLAINED_REASONS: usize = 16;

/// Bytes of a reason; the rest is cut. A message repeats it per node.
pub const REASON_BYTES: usize = 1 << 10;

/// Nodes known to be unsuitable that one question repeats: as many as it has candidates at most.
pub const RECHECKED: usize = CANDIDATES_MOST;

/// Questions of one negotiation that are open at a party: late answers to earlier rounds are welcome. The oldest is withdrawn.
pub const OPEN_ASKS: usize = 4;

/// Least time without an answer that is a silence, however short a core's rounds are: one core must not put a party into
/// quarantine for all.
pub const SILENCE_LEAST: Duration = Duration::from_secs(1);

/// Time for which a party is not asked after its first silence.
pub const BACKOFF_FIRST: Duration = Duration::from_millis(100);

/// Longest such time; each silence doubles it.
pub const BACKOFF_MOST: Duration = Duration::from_secs(60);

/// Share of that time by which chance shortens it at most, so that parties that fell silent together are not asked together.
pub const BACKOFF_JITTER: f64 = 0.2;

/// Silences within [`QUARANTINE_WINDOW`] that put a party into quarantine.
pub const QUARANTINE_SILENCES: usize = 5;

/// Time within which these silences happen.
pub const QUARANTINE_WINDOW: Duration = Duration::from_secs(60);

/// Time for which a party in quarantine is not asked.
pub const QUARANTINE: Duration = Duration::from_secs(60);
