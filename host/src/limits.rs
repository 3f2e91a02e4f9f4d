//! Every limit of the host, with its unit and its reason. A leaf that every room may use.

use std::ops::RangeInclusive;
use std::time::Duration;

/// Rows per chunk of a column. A write copies one chunk while a snapshot shares it: 1,024 rows of 8 bytes are 8 KiB,
/// a tenth of a microsecond; smaller chunks would lengthen the table of chunks that the first write copies.
pub const CHUNK_ROWS: usize = 1024;

/// Values of one sort (texts, label sets, facts) in the pool before unused ones are swept out. Beyond it a sweep follows
/// whenever a quarter as many again have come as were in use: unused ones are a fifth of the pool at most, and a sweep costs
/// a look at five values for each new one, while as many are in use as before.
pub const POOL_SWEEP_MIN: usize = 4 * 1024;

/// Pod templates whose facts are found without compiling them again. The largest clusters run some thousands of them; the
/// content of one takes about half a kilobyte.
pub const RECENT_TEMPLATES: usize = 8 * 1024;

/// Bytes that a thread keeps for the content of the next pod's template. Most need 300 to 600; what a huge one took is given
/// back.
pub const TEMPLATE_BYTES_KEPT: usize = 16 * 1024;

/// Parts of the pod index, each under a lock of its own. When a part grows, readers of it wait: a sixteenth of 150,000 pods
/// is moved in about 0.3 ms.
pub const POD_INDEX_SHARDS: usize = 16;

/// Label columns kept materialised. Clusters filter by a few dozen keys; beyond this a column is built for the one
/// question that needs it, so that odd pods cannot fill memory (256 columns of 100,000 rows are 100 MiB).
pub const LABEL_COLUMNS: usize = 256;

/// Dead texts in the dictionary of a label column before it is compacted, when they are also the majority.
pub const DICTIONARY_DEAD_MIN: usize = 256;

/// Entries kept per change log. A verdict older than that is computed afresh; 65,536 entries are 1 MiB.
pub const CHANGE_LOG_ENTRIES: usize = 65_536;

/// Changes of allocations that a reader of their stream may lag behind before it loses some; an entry is about 50 bytes
/// and keeps its pod's record alive, so that this is some 3 MB.
pub const ALLOCATION_EVENTS: usize = 8192;

/// Pods assumed at once. A core that places 1,000 pods a second, none of them confirmed within the default of
/// [`ASSUME_TTL`], has 30,000; each keeps two records of some 200 bytes.
pub const ASSUMED_PODS: usize = 50_000;

/// Time for which a pod stays assumed where neither the core nor the configuration says otherwise: a binding is
/// written and watched within a second or two, and a crashed core should not hold room for minutes.
pub const ASSUME_TTL: Duration = Duration::from_secs(30);

/// The longest time for which a pod can be assumed: a binding that takes longer has failed.
pub const ASSUME_TTL_MAX: Duration = Duration::from_secs(3600);

/// Period in which assumptions that have run out are ended.
pub const ASSUME_TICK: Duration = Duration::from_millis(200);

/// Period of the clock that interrupts guests. Deadlines are met to one tick.
pub const EPOCH_TICK: Duration = Duration::from_millis(1);

/// Wall-clock time that a call may take from its first tick on, as a multiple of the processor time that it may use: on a
/// machine this busy nothing answers in time any more.
pub const STARVED_FACTOR: u32 = 20;

/// Time that a call may at most be given back for what the host took to answer it, as a multiple of its own time. Building
/// a column that nobody had asked for before takes the host up to 20 ms per 100,000 rows; without a bound a guest could ask
/// for one after the other and never run out of time.
pub const HOST_TIME_FACTOR: u32 = 10;

/// Processor time of one `filter` call per 10,000 rows; never less than [`FILTER_TIME_MIN`]. A vectorised predicate needs some
/// 20 µs for 10,000 rows, an interpreted one about 3 ms.
pub const FILTER_TIME_PER_10_000_ROWS: Duration = Duration::from_millis(5);

/// Least processor time of one `filter` call.
pub const FILTER_TIME_MIN: Duration = Duration::from_millis(10);

/// Processor time to instantiate a component, start functions included, and for `describe` and `configure` each.
pub const INSTANTIATE_TIME: Duration = Duration::from_millis(100);

/// Time to compile a component. The largest in use, language run times of 18 MB, take about 4 s.
pub const COMPILE_TIME: Duration = Duration::from_secs(10);

/// Size of a component in bytes. Language run times are 12–18 MB.
pub const COMPONENT_BYTES: usize = 64 << 20;

/// Linear memory of one instance in bytes, summed over its memories, where the policy says nothing. Columns of 100,000
/// rows are 0.8 MB each.
pub const GUEST_MEMORY_BYTES: usize = 16 << 20;

/// The most linear memory that a policy can grant one instance: all a 32-bit guest can address in half.
pub const GUEST_MEMORY_BYTES_MAX: usize = 2 << 30;

/// Core instances in one component; language run times are made of about twenty.
pub const GUEST_INSTANCES: usize = 64;

/// Tables in one component.
pub const GUEST_TABLES: usize = 32;

/// Memories in one component; nobody needs more than one, some linkers make two.
pub const GUEST_MEMORIES: usize = 4;

/// Elements of one table: function pointers of the guest.
pub const GUEST_TABLE_ELEMENTS: usize = 10_000;

/// Stack of a guest in bytes; wasmtime's default.
pub const GUEST_STACK_BYTES: usize = 512 << 10;

/// Instances that exist at once, idle ones included, over all predicates. A slot reserves 4 GiB of address space.
pub const GUEST_SLOTS: u32 = 256;

/// Idle instances kept per predicate; as many evaluations run at once without instantiating.
pub const IDLE_INSTANCES: usize = 8;

/// Failures in one verdict.
pub const VERDICT_FAILURES: usize = 4096;

/// Reasons in one failure.
pub const FAILURE_REASONS: usize = 32;

/// Bytes of one reason.
pub const REASON_BYTES: usize = 1024;

/// Bytes that a guest may hand over in one call beside the codes of the rows.
pub const OUTPUT_BYTES: usize = 1 << 20;

/// Bytes of a fault's detail.
pub const FAULT_DETAIL_BYTES: usize = 512;

/// Bytes of one cluster file, unpacked. A cluster of 100,000 nodes and 1,000,000 pods is about 3 GB with all its fields.
pub const CLUSTER_FILE_BYTES: u64 = 8 << 30;

/// Documents in one YAML file: one per object in the longest form.
pub const YAML_DOCUMENTS: usize = 2_000_000;

/// Values in one YAML file; a pod as `kubectl` writes it has about 150.
pub const YAML_NODES: usize = 100_000_000;

/// Bytes of text values in one YAML file.
pub const YAML_SCALAR_BYTES: usize = 2 << 30;

// The API (`api`).

/// Bytes of one request body unless configured otherwise. The largest pod an API server stores is 1.5 MB; with the names
/// of 100,000 nodes beside it (2.5 MB at 25 bytes a name) a request still fits.
pub const BODY_BYTES: usize = 4 * 1024 * 1024;
/// Bytes that `--max-body-bytes` may at most allow: kube-scheduler's extender sends whole nodes (10 kB each) where it is
/// not told that we keep a cache, 25,000 of them fit.
pub const BODY_BYTES_MAX: usize = 256 * 1024 * 1024;
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
/// Time for evaluations that outlive the drain; past it the process ends under them.
pub const DRAIN_ABANDON: Duration = Duration::from_millis(500);

// The command line (`cli`).

/// Pods that the command line asks a sidecar about in one request: below [`REQUEST_PAIRS`] up to 100,000 nodes.
pub const CLIENT_PODS: usize = 16;
/// Bytes of one answer that the command line accepts from a sidecar: [`REQUEST_PAIRS`] names of 63 bytes and their framing.
pub const CLIENT_ANSWER_BYTES: usize = 256 * 1024 * 1024;
/// Time for the command line to connect to a sidecar on this machine.
pub const CLIENT_CONNECT: Duration = Duration::from_secs(3);
/// Time for one answer to the command line.
pub const CLIENT_ANSWER: Duration = Duration::from_secs(60);
/// Work that takes longer shows a progress bar: shorter, it would only flicker.
pub const PROGRESS_AFTER: Duration = Duration::from_secs(1);

/// Pods to ask about in one run of the benchmark: each is measured some thousand times and has 64 replicas in the cache.
pub const BENCH_TEMPLATES: usize = 32;

/// Materialised counts kept up to date. A pod event costs some nanoseconds for each; a busy cluster's pending pods use
/// a few hundred selectors.
pub const COUNTS: usize = 1024;

/// Time that a scrape of metrics waits for the cache to be free; a turn of the feed takes a few milliseconds, those that it
/// lets others have included.
pub const HOLDINGS_WAIT: Duration = Duration::from_millis(20);

/// Bytes of a pod's entry in one index: a reference, a generation, and what a table keeps free.
pub const INDEX_ENTRY_BYTES: usize = 24;

/// Bytes of all materialised counts together; one of 100,000 rows is 400 kB. Readers of one state of the cache may build
/// as much again.
pub const COUNTS_BYTES: usize = 256 << 20;

/// Counts that one publication begins to maintain; the others that readers want wait for the next. Building one looks at every
/// pod, a millisecond or two for a million of them, while nobody else can change the cache.
pub const COUNTS_PER_PUBLICATION: usize = 8;

/// Bytes of the selectors of a count that is kept; a count by larger ones is built for each question. Selectors are a few
/// hundred bytes, and a pod's may be a megabyte: [`COUNTS`] of this size are 16 MiB.
pub const COUNT_KEY_BYTES: usize = 16 << 10;

/// Rows that cluster-wide predicates judge again in one question for nominated pods: each of their nodes takes a call over
/// all rows for every such predicate. At 5,000 nodes 4,000 such nodes may have nominated pods that a pod
/// must yield to, at 100,000 nodes 200; beyond it the question is refused, since an answer without them would be wrong.
pub const NOMINATED_ROWS: usize = 20_000_000;

/// Bytes of one policy document: hundreds of predicates with their arguments are less than 100 KB.
pub const POLICY_FILE_BYTES: u64 = 1 << 20;

/// The most time that a policy can grant one `filter` call: a core that waits longer has given up on the answer.
pub const GUEST_TIME_PER_CALL_MAX: Duration = Duration::from_secs(10);

// The audit (`source::audit`).

/// Time between two audits; half of it again is added at random, so that many sidecars do not list at the same time.
pub const AUDIT_PERIOD: Duration = Duration::from_secs(300);

/// Rows that are counted once more before others may have the cache's writer: 32 full nodes take a millisecond or two.
pub const AUDIT_ROWS: u32 = 32;

/// Objects that are compared before others may have the cache's writer.
pub const AUDIT_OBJECTS: usize = 512;

/// Time that an event on its way has to arrive before what differs from a list counts as a difference.
pub const AUDIT_SETTLE: Duration = Duration::from_secs(5);

// What is caught up with (`source::stretch`).

/// Time after which whoever catches up with events lets others have the core: a third of what an answer with 5,000 names
/// takes, and a hundred times what asking the kernel does.
pub const WORK_STRETCH: Duration = Duration::from_micros(50);

// The feed (`source::feed`).

/// Time from the beginning of one turn of the feed to the next: what arrives meanwhile is published together. A busy
/// cluster's thousands of events a second then cost a few hundred snapshots a second at most.
pub const FEED_GATHER: Duration = Duration::from_millis(2);

/// Time after which an object that failed is tried again for the first time; doubles with each failure.
pub const FEED_RETRY_FIRST: Duration = Duration::from_millis(100);

/// The longest time between two tries of an object that fails.
pub const FEED_RETRY_MOST: Duration = Duration::from_secs(60);

/// Failures that one turn of the feed logs one by one: a defect that every object meets would flood the log.
pub const FEED_ERRORS_LOGGED: usize = 10;

/// Deletions that the feed remembers, so that a late event brings nothing back: some minutes of a busy cluster, about
/// 2 MB.
pub const FEED_TOMBSTONES: usize = 16 * 1024;

/// Those who wait for changes of objects at a time; each is a request that is being answered.
pub const FEED_WAITERS: usize = 16 * 1024;

// Following an API server (`source::kube`).

/// Objects per page of a list, as the client libraries of Kubernetes ask for them. 500 pods of a real cluster are 1.2 MB.
pub const LIST_PAGE_OBJECTS: usize = 500;
/// Bytes of one page: more than [`LIST_PAGE_OBJECTS`] objects of the 1.5 MB that etcd takes of one.
pub const LIST_PAGE_BYTES: usize = 1 << 30;
/// Time for one page to arrive whole; an API server gives a list 60 s itself.
pub const LIST_PAGE_TIME: Duration = Duration::from_secs(60);
/// Pages of one list that are decoded while the next one is read: more than cores would only hold more bytes.
pub const LIST_PAGES_DECODING: usize = 4;
/// Seconds after which a watch asks the server to end it. Together with [`WATCH_SILENCE`] the longest is the time within
/// which a dead watch is found; spread, so that not all kinds come back at once.
pub const WATCH_SECONDS: RangeInclusive<u64> = 25..=35;
/// Time past its end that a watch is still waited for before the connection is taken for dead.
pub const WATCH_SILENCE: Duration = Duration::from_secs(10);
/// A watch that ends sooner without having told anything new is a failure: asking again at once would be a hot loop.
pub const WATCH_LEAST: Duration = Duration::from_secs(1);
/// Watches refused in a row, without anything new between, before everything is listed anew: with growing waits between
/// them about two minutes, which is longer than most servers that are merely in trouble need.
pub const WATCH_REFUSALS: u32 = 8;
/// Bytes of one event. etcd takes 1.5 MB of one object; as JSON, escaped, it can be some times longer.
pub const WATCH_EVENT_BYTES: usize = 16 << 20;
/// Bytes of events decoded on the thread that read them: some pods, which take no longer than the way to another thread
/// and back. More go to a thread of their own, since others wait for those that read.
pub const WATCH_DECODE_INLINE_BYTES: usize = 16 << 10;
/// First wait after a failure; doubles up to [`RETRY_MOST`]. Both as client-go has them.
pub const RETRY_FIRST: Duration = Duration::from_millis(800);
/// Longest wait between two tries of one kind, give or take [`RETRY_JITTER`].
pub const RETRY_MOST: Duration = Duration::from_secs(30);
/// Part by which waits are made longer or shorter at random, so that sidecars do not come back all at once.
pub const RETRY_JITTER: f64 = 0.25;
/// Time without a failure after which waits begin small again.
pub const RETRY_RESET: Duration = Duration::from_secs(120);
/// Longest wait that a server can ask for by `Retry-After`; whoever asks for more is asked again sooner.
pub const RETRY_AFTER_MOST: Duration = Duration::from_secs(120);
/// Period in which a kind that the server does not serve is looked for again: servers are upgraded while we run.
pub const UNSERVED_KIND_PERIOD: Duration = Duration::from_secs(300);
/// Time to connect to an API server, TLS included.
pub const KUBE_CONNECT: Duration = Duration::from_secs(10);
/// Bytes read of the body of an API server's refusal; a `Status` is a few hundred.
pub const KUBE_REFUSAL_BYTES: usize = 64 << 10;
/// Characters kept of an API server's words in logs.
pub const KUBE_MESSAGE_CHARS: usize = 300;
/// Least time between two log lines about unreadable objects of one kind; those between are counted.
pub const UNREADABLE_LOG_PERIOD: Duration = Duration::from_secs(10);

// Enough nodes (`engine::sample`).

/// Rows that are judged at once, to begin with, where fewer are enough: a call costs as much as some hundred rows.
pub const SAMPLE_ROWS: usize = 256;

// Questions about the cluster as it is not (`engine::overlay`).

/// Tries of an overlay that names a pod of which the newest snapshot does not show yet what the cache has learnt.
pub const OVERLAY_TRIES: usize = 20;

/// Time between two of them: snapshots are published every [`FEED_GATHER`] while there is anything new, so that all of
/// them last ten times as long.
pub const OVERLAY_PAUSE: Duration = Duration::from_millis(1);

// Verdict reuse (`engine::reuse`).

/// Bytes of all kept verdicts and answers, counted as if columns were not shared. A template over 100,000 nodes takes
/// about 0.5 MB where one predicate rejects rows, one over 5,000 nodes some 30 kB.
pub const REUSE_BYTES: usize = 512 << 20;

/// Questions of one call that are written down. Predicates ask a dozen; a verdict that took more is not kept.
pub const REUSE_READS: usize = 256;

/// Bytes of the texts by which one call asks, those of selectors included, that are written down. Predicates ask by some
/// hundred bytes of keys and names; a node affinity that lists a thousand host names of 20 bytes comes to 76,000. A verdict that
/// took more is not kept: what a guest asks by is the guest's choice, and must not fill memory.
pub const REUSE_QUESTION_BYTES: usize = 128 << 10;

/// Verdicts kept for pods that read the same about themselves, where the cluster answers them differently.
pub const REUSE_VARIANTS: usize = 4;

/// Pending pods that wait to be evaluated ahead, each of another template: more would wait too long to be of use. What comes beyond them is evaluated when somebody asks.
pub const AHEAD_PODS: usize = 256;

/// The share of one core that evaluating ahead takes at most, in percent: it must never be felt by requests.
pub const AHEAD_PERCENT: u32 = 10;

/// Between two looks whether evaluating ahead may go on: long enough to cost nothing, short beside what a core waits.
pub const AHEAD_LOOK: Duration = Duration::from_millis(2);

/// Time that evaluating ahead waits for its turn in the middle of a pod before it gives that pod up: on a machine this busy
/// the core asks sooner.
pub const AHEAD_WAIT: Duration = Duration::from_millis(200);

/// Reasons that may pile up in a kept verdict, beyond those it began with, before every row is judged again.
pub const REUSE_STALE_REASONS: usize = 64;

/// Where more than one row in so many has changed, all are judged again: columns of all rows need not be gathered.
pub const REUSE_PATCH_SHARE: usize = 4;
