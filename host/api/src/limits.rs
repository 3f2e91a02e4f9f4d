//! Every limit of the API, with its unit and its reason. Grouped as the rooms are: admission, calls, admin. Those of
//! connections, bodies and unread responses are the edge's.

use std::time::Duration;

pub use nodesift_edge::limits::*;

// Requests.

/// Bytes that the response of a decision counts for, taken before it is made: a version, and names of a pod.
pub const DECISION_BYTES: usize = 4 << 10;

/// Bytes of one request body unless configured otherwise. The largest pod an API server stores is 1.5 MB; with the names
/// of 100,000 nodes beside it (2.5 MB at 25 bytes a name) a request still fits.
pub const BODY_BYTES: usize = 4 * 1024 * 1024;

/// Time for a request from the first byte of its head to its answer, unless configured otherwise: its body, its waits and its
/// evaluation. kube-scheduler gives an extender 5 s; answers take milliseconds.
pub const REQUEST_TIME: Duration = Duration::from_secs(2);

/// Bytes of memory that a name or a pod of a decoded gRPC request counts for: a string of 25 bytes, its place in a list, and
/// what the allocator adds. On the wire it may be two bytes.
pub const NAME_BYTES: usize = 64;

/// Digits of a resource version that a request waits for. API servers count to 2^64, which has twenty.
pub const VERSION_DIGITS: usize = 40;

/// Bytes of memory that an item of a JSON body counts for while it is decoded. Whole objects stay text; their items are as long
/// on average, so that objects of the largest body still fit.
pub const JSON_ITEM_BYTES: usize = 32;

/// Bytes of a manifest, and of all values in it, those that its aliases repeat among them. The largest pod templates have some ten
/// kilobytes; what is much larger is a list of objects, or written to expand.
pub const MANIFEST_BYTES: usize = 512 << 10;

/// Values and containers in a manifest, those that its aliases repeat among them: a template with a hundred containers of a hundred
/// variables each has thirty thousand.
pub const MANIFEST_NODES: usize = 50_000;

/// Events of a manifest's YAML that its aliases repeat: people repeat a block of some hundred a few times.
pub const MANIFEST_REPEATED: usize = 10_000;

/// Bytes of memory for each byte of a manifest while it is read: its text, the tree of its values, and the text of its pod.
pub const MANIFEST_COPIES: usize = 8;

/// Names of nodes that fit in an answer to why a pod is pending: such an answer is about those that do not.
pub const WHY_FEASIBLE: usize = 20;

// Admission: slots, queues, waits.

/// Requests that wait for an evaluation slot at once; more are refused. Small ones have a slot and as many places of their own. At 500 µs
/// each this many are served within a tenth of [`QUEUE_TIME`], so that what is accepted is also answered.
pub const QUEUE_REQUESTS: usize = 256;

/// Time that a request waits for an evaluation slot (one per core) before it is refused: an evaluation takes microseconds
/// to milliseconds, so a longer queue means overload.
pub const QUEUE_TIME: Duration = Duration::from_secs(1);

/// Expected wait for a slot above which a request is refused at once: a fifth of [`QUEUE_TIME`]. The estimate follows the
/// mean evaluation time; where it is wrong by a factor of five, as at the start of a load, requests are still answered in time.
pub const QUEUE_EXPECTED: Duration = Duration::from_millis(200);

/// Pods of a request that may be answered on the I/O thread from cached answers: 3 µs each, and 12.5 kB of bitmap at 100,000
/// nodes. More would delay the other connections of the thread for longer than a switch of threads takes.
pub const CACHED_PODS: usize = 8;

/// Names of nodes in an answer that is encoded on the I/O thread: at 8 ns each they take as long as a switch of threads.
pub const CACHED_NAMES: usize = 10_000;

/// Bytes of a JSON body that is decoded on the I/O thread: [`CACHED_PODS`] pods by the longest names fit, and decoding takes as
/// long as a switch of threads. Larger bodies are decoded in an evaluation slot.
pub const DECODE_BYTES: usize = 4 << 10;

/// Time that a request waits for its minimum versions unless `consistency.deadline_ms` sets another: a watch is a few milliseconds
/// behind.
pub const CONSISTENCY_WAIT: Duration = Duration::from_secs(1);

/// Longest wait for minimum versions that a request can ask for; it does not count towards [`REQUEST_TIME`]. kube-apiserver holds
/// consistent reads for 3 s, relists of large clusters take ten times that.
pub const CONSISTENCY_WAIT_MAX: Duration = Duration::from_secs(30);

/// Bytes that a request counts for at least while it waits for a version: so 320 of one class of listeners may wait at once.
pub const VERSION_WAITER_BYTES: usize = 16 << 10;

/// Time that a request waits for the publication that shows a pod it names as the cache already knows it. Snapshots are
/// published within 2 ms of a change; this is ten times that.
pub const UNSETTLED_WAIT: Duration = Duration::from_millis(20);

/// Silence of the source after which responses are marked stale, unless configured otherwise. A quiet API server confirms every
/// kind within 10 s, and a dead watch is found within 20 s. A missing permission is met when a watch ends, within 10 s, so
/// that everything that goes wrong shows within 40 s.
pub const STALE_AFTER: Duration = Duration::from_secs(30);

/// Concurrent calls that change the cache, and as many that take its lock to read, of each class of listeners; each holds a thread while it
/// waits for the lock.
pub const WRITES: usize = 16;

/// Concurrent state dumps of one class of listeners; each holds references to all pods, 24 MB for a million.
pub const STATE_DUMPS: usize = 4;

/// Concurrent streams of events and of node index changes, of one class of listeners.
pub const STREAMS: usize = 16;

/// Bytes of a stream of requests or of a party that are read before they are worked on: more than thousand requests by name. A client that
/// has written more small ones than these loses its connection.
pub const READ_AHEAD: usize = 256 << 10;

/// Concurrent `FilterStream` calls of one class of listeners. A core keeps one or two; each may hold one partial message and
/// the responses of [`STREAM_REQUESTS`] requests.
pub const REQUEST_STREAMS: usize = 64;

/// Concurrent `Watch` calls of the health service over one class of listeners: one per probe, load balancer and client with health checks.
pub const HEALTH_WATCHES: usize = 64;

/// Interval at which a `Watch` of the health service looks for a change: probes look every few seconds.
pub const HEALTH_TICK: Duration = Duration::from_millis(500);

/// Requests of one `FilterStream` that are worked on at once; the rest waits in the client.
pub const STREAM_REQUESTS: usize = 16;

/// Evaluation slots of the explorer's listener, beside those of cores: what people look at waits for what they looked at before, and
/// takes one thread at most.
pub const EXPLORER_SLOTS: usize = 1;

/// Dumps of the state, or of one node, of the explorer's listener at once: the page of a node asks for the latter, and one person who reads a
/// dump slowly keeps the others from none.
pub const EXPLORER_DUMPS: usize = 4;

/// Tables of nodes and of pending pods, and dumps, that are read or encoded at once for the explorer's listener: each takes a thread, and at
/// 100,000 nodes 5 MB until its answer is counted.
pub const EXPLORER_READS: usize = 2;

/// Streams of events of the explorer's listener at once: a page asks again and again in their place.
pub const EXPLORER_STREAMS: usize = 4;

/// Bytes of a body that the explorer's listener takes: a pod, or a manifest of [`MANIFEST_BYTES`], and an overlay with a hundred nodes.
pub const EXPLORER_BODY_BYTES: usize = 1 << 20;

/// Bytes of a body that the listener of probes takes: none of its paths has one.
pub const PROBE_BODY_BYTES: usize = 1 << 10;

/// Time of a request from which on it has a log line at level info. Answers take milliseconds; kube-scheduler gives an
/// extender five seconds.
pub const SLOW_REQUEST: Duration = Duration::from_secs(1);

/// Least time between two such lines, and between two about clients without a right: a client can make as many as it likes.
pub const REQUEST_LOG_PERIOD: Duration = Duration::from_millis(100);

/// Age of the watchdog's last look from which on the process counts as dead, its own thread included.
pub const WATCHDOG_AGE: Duration = Duration::from_millis(900);

/// Time in which a watchdog that only slept, as the whole process does under SIGSTOP, looks again.
pub const WATCHDOG_RECHECK: Duration = Duration::from_millis(100);

// Calls: what one request may hold.

/// Depth of nested JSON. serde_json's own limit, named here because clients meet it; protobuf's is 100.
pub const JSON_DEPTH: usize = 128;

/// Pods of one request.
pub const REQUEST_PODS: usize = 1000;

/// Pods that one `Filter` request may assume and forget: as many as it may name. Each takes some microseconds under the lock of the
/// cache's writer.
pub const REQUEST_CHANGES: usize = 1000;

/// Pods times nodes of one request: a response of this many node names takes 100 MB at most.
pub const REQUEST_PAIRS: usize = 2_000_000;

/// Predicates that one request skips: as many as a policy has at most.
pub const REQUEST_SKIPPED: usize = 128;

/// Nominated pods of one request: more than wait for their victims at any time. Each costs a few microseconds.
pub const REQUEST_NOMINATED: usize = 10_000;

/// Amounts of one `Headroom`: a pod has three or four resources.
pub const REQUEST_AMOUNTS: usize = 64;

/// Nodes of one `Reprieve`: some milliseconds of work, so that a core can end its dry run between two calls.
pub const REPRIEVE_NODES: usize = 500;

/// Victims of one preemption request, over all its nodes: kube-scheduler tries 10 % of the nodes, some hundred of them, and
/// a node holds 110 pods unless configured otherwise.
pub const REQUEST_VICTIMS: usize = 100_000;

/// Pods that one overlay may remove: those of a hundred full nodes. Each costs a few microseconds.
pub const OVERLAY_REMOVED_PODS: usize = 10_000;

/// Pods that one overlay may add. Each costs a few microseconds.
pub const OVERLAY_ADDED_PODS: usize = 10_000;

/// Nodes that one overlay may add or replace: a large group that an autoscaler adds at once. An existing node is changed in
/// every column; a new one costs one search over all pods.
pub const OVERLAY_NODES: usize = 1_000;

/// Bytes of the reasons that kube-scheduler's extender protocol repeats for each rejected node. The built-in predicates need
/// some hundred.
pub const NODE_REASON_BYTES: usize = 1024;

/// Bytes of an error's text: it may quote what a client sent, and a gRPC status travels in a header.
pub const ERROR_BYTES: usize = 1024;

/// Bytes of one message of gRPC, which is encoded whole because its length comes first. Clients accept 4 MiB unless they are
/// configured otherwise; documents in JSON are encoded while they are sent and have no such limit.
pub const MESSAGE_BYTES: usize = 16 << 20;

/// Rows of the node index in one message of its stream: at 253 bytes, the longest name, a message stays below the 4 MiB that
/// gRPC clients accept by default.
pub const NODE_INDEX_PART: usize = 10_000;

/// Time for which a pod stays assumed where neither the core nor the configuration says otherwise: a binding is written and
/// watched within a second or two, and a crashed core should not hold resources for minutes.
pub const ASSUME_TTL: Duration = Duration::from_secs(30);

/// The longest time for which a pod can be assumed: a binding that takes longer has failed.
pub const ASSUME_TTL_MAX: Duration = Duration::from_secs(3600);

/// Time for the evaluation of an `Assume` with `check`, without the lock of the cache's writer: one pod on one node, which takes a
/// millisecond.
pub const CHECK_TIME: Duration = Duration::from_millis(500);

/// Time for the evaluation of an `Assume` with `check` under the lock of the cache's writer, where something was published
/// meanwhile: watch events and all other placements wait for it, and a custom predicate may be granted seconds for a call. On a
/// busy cluster something is published every few milliseconds, so an evaluation that takes longer than that happens under the lock
/// each time, and one that takes longer than this is refused each time: a smaller limit would keep pods from ever being placed. It
/// is the time of several calls of custom predicates that are granted no more than others
/// ([`FILTER_TIME_MIN`](nodesift_sandbox::limits::FILTER_TIME_MIN) each).
pub const LOCKED_CHECK_TIME: Duration = Duration::from_millis(50);

/// Time for all evaluations under the lock of the cache's writer together: well below the 900 ms without a publication after which
/// `/livez` fails.
pub const LOCKED_CHECKS_TIME: Duration = Duration::from_millis(400);

/// Divisor of the elapsed time that is added back to [`LOCKED_CHECKS_TIME`]: one in so many.
pub const LOCKED_CHECKS_SHARE: u32 = 4;

/// Time for which each `Assume` may be evaluated under the lock of the cache's writer in any case, and which does not count:
/// built-in predicates take a tenth of it for an ordinary pod. As many as there are places for calls that write, [`WRITES`] of both
/// classes, take 64 ms.
pub const LOCKED_CHECK_FREE: Duration = Duration::from_millis(2);

/// Bytes of allocations from which on one `Filter` request gets no more of them. One pod has at most
/// [`ALLOCATION_BYTES`](nodesift_engine::limits::ALLOCATION_BYTES), and both together leave room for the answers in a message
/// ([`MESSAGE_BYTES`]); a thousand pods with one device each take half a megabyte.
pub const REQUEST_ALLOCATION_BYTES: usize = 4 << 20;

/// Interval at which expired assumptions are ended.
pub const ASSUME_TICK: Duration = Duration::from_millis(200);

/// Silence about pods that is an outage to assumptions: longer than a quiet API server is silent. Assumptions that are kept past
/// their time to live are then named in a warning.
pub const ASSUME_SILENCE: Duration = Duration::from_secs(15);

/// Time after such a silence in which no assumption expires: the events of the outage have to arrive.
pub const ASSUME_CATCH_UP: Duration = Duration::from_secs(5);

/// Least time between two warnings about the assumptions that one silence keeps.
pub const ASSUME_WARN_PERIOD: Duration = Duration::from_secs(60);

// Streams of negotiation with parties. Other limits of it are in `nodesift-parties`, those of its rules in `nodesift-negotiation`.

/// Bytes of words of parties that a core which follows them has not read: one about all pods that may wait, with the names of their UIDs.
pub const FOLLOWER_UNREAD_BYTES: usize = 512 << 10;

/// Bytes of events of one negotiation that its core has not read: one with 256 names of the greatest length, and some more.
pub const NEGOTIATION_UNREAD_BYTES: usize = 128 << 10;

/// Bytes of calls that one party has not read: some thousand questions about 128 nodes each.
pub const PARTY_UNREAD_BYTES: usize = 8 << 20;

/// Bytes of one message of a party: an answer of 256 KiB of texts, and what protobuf adds to them.
pub const PARTY_MESSAGE_BYTES: usize = (256 << 10) * 5 / 4;

/// Streams of parties of one class of listeners: each of the 16 parties of a policy, and the stream that takes its place.
pub const PARTY_STREAMS: usize = 2 * 16;

// Admin: dumps and streams.

/// Chunks of a dump that are made before the reader has taken the first.
pub const STATE_CHUNKS: usize = 4;

/// Streams of server reflection at once, of all clients: a person with grpcurl opens one.
pub const REFLECTION_STREAMS: usize = 32;

/// Bytes of one question of server reflection: the name of a symbol or a file.
pub const REFLECTION_QUESTION_BYTES: usize = 16 << 10;

/// Time after which a stream without events sends a bookmark; also finds readers that are gone.
pub const STREAM_IDLE: Duration = Duration::from_secs(20);

/// Pods on a page of `GET /v1/pending`, where the request does not say.
pub const PENDING_PAGE: usize = 100;

/// Pods on a page of `GET /v1/pending`, at most: 3 MB where each has another message.
pub const PENDING_PAGE_MOST: usize = 1_000;

/// Groups in an answer of `GET /v1/pending`: more than anybody reads. The others are counted.
pub const PENDING_GROUPS: usize = 200;

/// Names of pods that a group has.
pub const PENDING_GROUP_PODS: usize = 3;

/// Columns in an answer of `GET /v1/nodes`: more than a table has that people read.
pub const NODE_COLUMNS: usize = 32;

/// Rows in an answer of `GET /v1/nodes`: with as many columns as there may be, 3 MB.
pub const NODE_ROWS: usize = 10_000;
