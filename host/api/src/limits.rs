//! Every limit of the API, with its unit and its reason.

use std::time::Duration;

/// Time for which a pod stays assumed where neither the core nor the configuration says otherwise: a binding is
/// written and watched within a second or two, and a crashed core should not hold room for minutes.
pub const ASSUME_TTL: Duration = Duration::from_secs(30);

/// The longest time for which a pod can be assumed: a binding that takes longer has failed.
pub const ASSUME_TTL_MAX: Duration = Duration::from_secs(3600);

/// Period in which assumptions that have run out are ended.
pub const ASSUME_TICK: Duration = Duration::from_millis(200);

/// Bytes of one request body unless configured otherwise. The largest pod an API server stores is 1.5 MB; with the names
/// of 100,000 nodes beside it (2.5 MB at 25 bytes a name) a request still fits.
pub const BODY_BYTES: usize = 4 * 1024 * 1024;

/// Bytes of all bodies at once that are larger than [`BODY_BYTES_FREE`], or one body of the configured size where that is
/// more: a flood of large ones waits its turn instead of filling memory. Over loopback 4 MiB arrive in some milliseconds. One
/// of unknown length may come to [`BODY_BYTES`] and leaves those that say theirs room beside it; with what connections and
/// small bodies take, all of it is below 8 MiB.
pub const BODIES_BYTES: usize = 6 << 20;

/// Bytes of a body that need no room among [`BODIES_BYTES`]: whoever asks by name or UID never waits for the large ones.
pub const BODY_BYTES_FREE: usize = 16 << 10;

/// The same of a body that does not say how long it is, as chunks do not: what has arrived of it is held while it waits for
/// room.
pub const BODY_BYTES_FREE_UNDECLARED: usize = 8 << 10;

/// Time for a body to arrive whole. A slower client is cut off: it holds a connection and what it has sent.
pub const BODY_TIME: Duration = Duration::from_secs(5);

/// Time for the head of an HTTP/1 request, and for the first bytes that tell HTTP/1 from HTTP/2; also how long an HTTP/1
/// connection may idle. Reconnecting over loopback costs less than keeping strangers' connections.
pub const HEAD_TIME: Duration = Duration::from_secs(5);

/// Time that a client may leave an answer unread with full buffers before it is cut off.
pub const WRITE_STALL: Duration = Duration::from_secs(5);

/// Bytes of the head of an HTTP/1 request, and of the connection's buffers; that for reading is full while a large body waits
/// for room. hyper's least is 8 KiB; a path and a few headers need less.
pub const HEAD_BYTES: usize = 16 * 1024;

/// Headers of an HTTP/1 request; proxies add a dozen.
pub const HEADERS: usize = 64;

/// Bytes of all headers of an HTTP/2 request, uncompressed.
pub const H2_HEADER_BYTES: u32 = 16 * 1024;

/// Concurrent streams of one HTTP/2 connection: a core pipelines tens of pods.
pub const H2_STREAMS: u32 = 100;

/// Bytes that a peer may send on one HTTP/2 stream before we have read them.
pub const H2_STREAM_WINDOW: u32 = 64 * 1024;

/// Bytes that a peer may send on one HTTP/2 connection before we have read them.
pub const H2_CONNECTION_WINDOW: u32 = 1024 * 1024;

/// Bytes of an answer that one HTTP/2 stream buffers before the writer waits.
pub const H2_SEND_BUFFER: usize = 256 * 1024;

/// Interval of HTTP/2 pings that find dead peers.
pub const H2_PING: Duration = Duration::from_secs(20);

/// Time for the answer to such a ping.
pub const H2_PING_TIMEOUT: Duration = Duration::from_secs(10);

/// Connections of one listener. Each listener has its own, so that a flood over TCP leaves the Unix socket to answer.
pub const CONNECTIONS: usize = 1024;

/// Time for a TLS handshake; two round trips and a signature, even from afar.
pub const TLS_HANDSHAKE: Duration = Duration::from_secs(5);

/// Between looks at the files of certificates; a look costs three `stat` calls.
pub const TLS_LOOK: Duration = Duration::from_secs(1);

/// Requests that wait for an evaluation slot at once; more are refused unheard. At 500 µs each this many are served within
/// a tenth of [`QUEUE_TIME`], so that what is accepted is also answered.
pub const QUEUE_REQUESTS: usize = 256;

/// Pods of one request that is answered on the I/O thread where all of the answer is kept: 3 µs each, and 12.5 kB of bitmap
/// at 100,000 nodes. More keep other connections of the thread waiting for longer than handing over takes.
pub const KEPT_PODS: usize = 8;

/// Depth of nested JSON. serde_json's own limit, named here because clients meet it; protobuf's is 100.
pub const JSON_DEPTH: usize = 128;

/// Streams of requests at once. A core keeps one or two; each may hold a message that has not come whole, and the answers
/// to [`STREAM_REQUESTS`].
pub const REQUEST_STREAMS: usize = 64;

/// Requests of one stream that are worked on at once; the rest waits in the client.
pub const STREAM_REQUESTS: usize = 16;

/// Pods of one request.
pub const REQUEST_PODS: usize = 1000;

/// Pods times nodes of one request: an answer of this many node names takes 100 MB at most.
pub const REQUEST_PAIRS: usize = 2_000_000;

/// Victims of one preemption question, over all its nodes: kube-scheduler tries 10 % of the nodes, some hundred of them, and
/// a node holds 110 pods unless configured otherwise.
pub const REQUEST_VICTIMS: usize = 100_000;

/// Pods that one request may suppose to be gone: those of a hundred full nodes. Each costs a few microseconds.
pub const OVERLAY_REMOVED_PODS: usize = 10_000;

/// Pods that one request may suppose to be on a node. Each costs a few microseconds.
pub const OVERLAY_ADDED_PODS: usize = 10_000;

/// Nodes that one request may suppose: a large group that an autoscaler adds at once. Each one that exists is changed in
/// every column; those that do not are looked for once among all pods.
pub const OVERLAY_NODES: usize = 1_000;

/// Bytes of an error's text: it may quote what a client sent, and a gRPC status travels in a header.
pub const ERROR_BYTES: usize = 1024;

/// Time that a request waits for one of the evaluation slots (one per core) before it is refused: an evaluation takes
/// microseconds to milliseconds, so a longer queue means that the work does not get done anyway.
pub const QUEUE_TIME: Duration = Duration::from_secs(1);

/// Wait for a slot at which a request is refused at once, going by how long evaluations take at the moment: a fifth of
/// [`QUEUE_TIME`], so that where the guess is wrong by as much again, as when a load has just begun, the request is still
/// answered in time.
pub const QUEUE_EXPECTED: Duration = Duration::from_millis(200);

/// Time that a request waits for what it wants to have been seen, where it does not say: a watch is a few milliseconds
/// behind, so that whoever waits longer should know.
pub const CONSISTENCY_WAIT: Duration = Duration::from_secs(1);

/// The longest such wait; kube-apiserver holds consistent reads for 3 s, relists of large clusters take ten times that.
pub const CONSISTENCY_WAIT_MAX: Duration = Duration::from_secs(30);

/// Silence of the source after which answers are marked stale, unless configured otherwise: a dead watch is found within
/// 45 s and opened anew, so that minutes mean that the API server cannot be reached.
pub const STALE_AFTER: Duration = Duration::from_secs(300);

/// Calls that change the cache or take its lock, at once; they wait for each other there, each holding a thread.
pub const WRITES: usize = 16;

/// Dumps of the state made at once; each holds references to all pods, 24 MB for a million.
pub const STATE_DUMPS: usize = 4;

/// Chunks of a dump that are made before the reader has taken the first.
pub const STATE_CHUNKS: usize = 4;

/// Streams of events, and of changes of the table of rows, at once.
pub const STREAMS: usize = 16;

/// Rows of the table of rows in one message of its stream: at 253 bytes, the longest name, it stays below the 4 MiB that
/// gRPC clients accept unless told otherwise.
pub const ROW_TABLE_PART: usize = 10_000;

/// Bytes of a dump or a stream that are sent in one piece.
pub const STREAM_CHUNK: usize = 64 * 1024;

/// Time after which a stream without events says that it still lives; also finds readers that are gone.
pub const STREAM_IDLE: Duration = Duration::from_secs(20);

/// Time between "not ready" and the end of accepting connections, so that who polls readiness can see it.
pub const DRAIN_NOTICE: Duration = Duration::from_millis(200);

/// Time for running requests to end after a signal, before their connections are dropped.
pub const DRAIN_GRACE: Duration = Duration::from_secs(8);
