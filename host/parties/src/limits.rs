//! Limits of the broker, with unit and reason. Those of the rules of negotiation are in [`nodesift_negotiation::limits`], those of streams
//! in [`nodesift_api::limits`].

use std::time::Duration;

use nodesift_api::limits::{ASSUME_SILENCE, PARTY_MESSAGE_BYTES, PARTY_STREAMS};
use nodesift_negotiation::limits::{ANSWER_BYTES, CANDIDATES_MOST, PARTIES};

// The largest answer fits into a message, and each party of a policy may attend while the stream before it ends.
const _: () = assert!(PARTY_MESSAGE_BYTES == ANSWER_BYTES * 5 / 4 && PARTY_STREAMS == 2 * PARTIES);

/// Messages to the broker that wait: with more, whoever sends waits. Each is handled in microseconds.
pub(crate) const NEGOTIATION_COMMANDS: usize = 1_024;

/// Interval at which the broker looks for pods and claims that have changed, and for another policy: cores and parties wait
/// milliseconds for each other anyway.
pub(crate) const NEGOTIATION_TICK: Duration = Duration::from_millis(50);

/// Time after which candidates are evaluated again where that failed, for example for want of a slot.
pub(crate) const NEGOTIATION_RETRY: Duration = Duration::from_millis(50);

/// Nodes of an order up to which cached verdicts are looked through on an I/O thread: some 50 µs.
pub(crate) const NEGOTIATION_AT_ONCE_NODES: usize = 1_000;

/// Messages of one party that wait for the broker: with more, its stream waits. It takes one of each party in turn.
pub(crate) const PARTY_HEARD: usize = 64;

/// Messages that a party may send at once without having been called: it takes back what it knows no more, by subject. After some seconds
/// without any it is twice this number, because what its time has earned is counted once the first are spent.
pub(crate) const PARTY_MESSAGES: u32 = 1_024;

/// Messages that a party may send per second in the long run without having been called.
pub(crate) const PARTY_MESSAGES_PER_SECOND: u32 = 256;

/// Messages for each call of a party: an answer in parts may name each node that was asked about alone.
/// Twice [`CANDIDATES_MOST`].
pub(crate) const PARTY_MESSAGES_PER_CALL: u32 = 512;
const _: () = assert!(PARTY_MESSAGES_PER_CALL as usize == 2 * CANDIDATES_MOST);

/// Questions of operators and explanations to the broker that wait. It takes turns between them and everybody else.
pub(crate) const NEGOTIATION_LOOKS: usize = 64;

/// Time for which an explanation waits for what parties have said: it says the rest without.
pub(crate) const STANCES_TIME: Duration = Duration::from_millis(500);

/// Streams of what parties say of pods that wait: a few for each scheduler, of which clusters have some.
pub(crate) const FOLLOWERS: usize = 64;

/// Orders that are remembered until those are looked for which nobody negotiates about any more: with each further request, and with each look
/// of the broker.
pub(crate) const ORDERS_UNPRUNED: usize = 64;

/// Time for which a core that follows may be away until what it has selected and not bound is given back: one that restarts, or whose
/// connection breaks, follows again within seconds, and its pods keep what is allocated for them.
pub(crate) const FOLLOWER_GRACE: Duration = Duration::from_secs(30);

/// Silence about pods from which on no core that follows is lost: what it has bound is not seen. After it, each has its grace once more,
/// which is longer than the events of the outage take to arrive.
pub(crate) const FOLLOWER_SILENCE: Duration = ASSUME_SILENCE;

/// Time for one write to the record of decisions: an API server that is there answers in some milliseconds, and a pod waits meanwhile.
pub const RECORD_TIME: Duration = Duration::from_secs(5);

/// Pause before the second try of a read or write of the record; each further one is twice as long.
pub(crate) const RECORD_RETRY_FIRST: Duration = Duration::from_millis(100);

/// Longest such pause: an API server that is back is noticed in this time.
pub(crate) const RECORD_RETRY_MOST: Duration = Duration::from_secs(10);

/// Interval at which a sidecar looks for decisions of others that are not there any more: one list, of half a kilobyte a pod. A pod that such
/// a sidecar has left in an allocation waits as long.
pub(crate) const RECORD_LOOK: Duration = Duration::from_secs(30);

/// Time to read all decisions of the record: some hundred pages of an API server that starts as well. Nothing is negotiated before the first
/// has ended.
pub const RECORD_LOAD_TIME: Duration = Duration::from_secs(120);

/// Writes of the record at a time, but for claims: what one API server answers in parallel without a queue of its own.
pub(crate) const RECORD_WRITES: usize = 16;

/// Claims of the record at a time: they have permits of their own, since pods wait for them and for no other write.
pub(crate) const RECORD_CLAIMS: usize = 16;

/// Tries of a claim where another sidecar writes the same decision: each of its writes is one step towards the end of that.
pub(crate) const RECORD_CLAIM_TRIES: u32 = 4;

/// Pods of which a first write may be in the record without having been heard of, some 100 bytes each: those that are selected while an API
/// server does not answer. With more, what was written stays until the next start.
pub(crate) const RECORD_UNHEARD: usize = 4_096;

/// Bound pods that are looked up at each look of the broker: some 400 µs. With more, each is looked up every second or third time.
pub(crate) const ENDS_LOOKED_AT: usize = 4_096;

/// Looks of the broker after which a pod that has ended comes again while a pod on a node names a claim of it: a second. Each such look goes
/// through all pods.
pub(crate) const NAMED_LOOKS: u32 = 20;

/// Bytes of the name of a party, as a policy takes them.
pub(crate) const PARTY_NAME_BYTES: usize = 63;

/// Bytes of the name of a node that is not in the cache: what Kubernetes takes for one.
pub(crate) const NODE_NAME_BYTES: usize = 253;

/// Evaluations of candidates at once for clients of one class of listeners: half of the slots, so that `Filter` finds others where only one
/// class negotiates.
pub(crate) fn negotiation_evaluations() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| (cores.get() / 2).max(1))
}
