//! Every limit of the command line, with its unit and its reason.

use std::time::Duration;

/// The largest value of `--max-body-bytes`, in bytes. A kube-scheduler extender without `nodeCacheCapable` receives whole
/// nodes of about 10 kB each; this is room for 25,000 of them.
pub(crate) const BODY_BYTES_MAX: usize = 256 * 1024 * 1024;

/// The smallest value of `--verdict-cache-bytes`, in bytes: room for the verdicts of a few pods of a small cluster. With less,
/// every answer would evict the one before.
pub(crate) const VERDICT_CACHE_BYTES_MIN: usize = 1 << 20;

/// Time for evaluations that are still running after the drain. The process then ends without them.
pub const DRAIN_ABANDON: Duration = Duration::from_millis(500);

/// Objects of cluster files that are applied under one lock of the cache's writer, where they are read again while requests are answered: a
/// millisecond or two.
pub(crate) const FILES_BATCH: usize = 256;

/// Pods per request to a sidecar. It keeps a request below
/// [`REQUEST_PAIRS`](nodesift_api::limits::REQUEST_PAIRS) for up to 100,000 nodes.
pub(crate) const CLIENT_PODS: usize = 16;

/// Bytes of one answer that the client accepts from a sidecar: room for
/// [`REQUEST_PAIRS`](nodesift_api::limits::REQUEST_PAIRS) node names of 63 bytes and their framing.
pub(crate) const CLIENT_ANSWER_BYTES: usize = 256 * 1024 * 1024;

/// Timeout for connecting to a sidecar, which normally runs on the same machine.
pub const CLIENT_CONNECT: Duration = Duration::from_secs(3);

/// Timeout for one answer from a sidecar.
pub const CLIENT_ANSWER: Duration = Duration::from_secs(60);

/// Time in which `health` must have its answer: kubelet gives an exec probe one second unless configured otherwise.
pub(crate) const HEALTH: Duration = Duration::from_millis(900);

/// Bytes of the answer of a probe that `health` reads: a line that names what has stopped or is waited for.
pub(crate) const HEALTH_BYTES: usize = 64 << 10;

/// Path of the active policy of a sidecar, with what is told about its predicates.
pub(crate) const POLICY_STATUS_PATH: &str = "/v1/policy";

/// Bytes of the answer of `/v1/policy` that `policy status` reads: a document of
/// [`POLICY_FILE_BYTES`](nodesift_policy::limits::POLICY_FILE_BYTES) with its line breaks escaped, and what is told about its
/// predicates.
pub(crate) const POLICY_STATUS_BYTES: usize = 8 << 20;

/// Bytes of what a sidecar says about its shadows: two of them, each with differences of
/// [`SHADOW_DIFFERENCE_BYTES`](nodesift_engine::limits::SHADOW_DIFFERENCE_BYTES), in JSON.
pub(crate) const POLICY_SHADOW_BYTES: usize = 16 << 20;

/// Time for which a start waits until the API server has told its version. After it the process is not ready until it has, or until
/// [`SERVER_VERSION_PATIENCE`] or [`SERVER_VERSION_ANSWERS`] have shown that it does not.
pub(crate) const SERVER_VERSION_FIRST: Duration = Duration::from_secs(3);

/// Time between two looks at the version of an API server that has told it. A control plane is upgraded a few times a year, and behind one
/// address may be several servers, of which no outage is seen.
pub(crate) const SERVER_VERSION_LOOK: Duration = Duration::from_secs(60);

/// Time between two attempts to read the version of an API server that has not told it, at first; it doubles up to
/// [`SERVER_VERSION_LOOK`].
pub(crate) const SERVER_VERSION_RETRY: Duration = Duration::from_millis(500);

/// Answers in a row without a version after which a start waits for it no longer: the first one may come before the roles of a new cluster
/// have reached every server, and a few seconds later they have.
pub(crate) const SERVER_VERSION_ANSWERS: u32 = 3;

/// Time after which a start waits no longer for the version of an API server that answers everything else. Verdicts are those of the newest
/// version then, and a warning says so.
pub(crate) const SERVER_VERSION_PATIENCE: Duration = Duration::from_secs(60);

/// Time for which readiness waits, once the version of the API server is known, until the policy follows it or is refused.
pub(crate) const SERVER_VERSION_RELOAD: Duration = Duration::from_secs(10);

/// Interval at which it looks whether that is so.
pub(crate) const SERVER_VERSION_RELOAD_LOOK: Duration = Duration::from_millis(50);

/// Time that a new policy waits until what it reads is listed. The longest lists of a large cluster take some ten seconds; a kind
/// that cannot be listed within this most likely is not permitted, and the operator is to hear of it.
pub(crate) const POLICY_SYNC: Duration = Duration::from_secs(60);

/// Interval at which a policy that waits looks whether a newer one has been written.
pub(crate) const POLICY_SYNC_LOOK: Duration = Duration::from_millis(100);

/// Time that a start waits for spare instances after its first evaluation: an interpreter takes some ten milliseconds for one. There may
/// be more predicates than spares.
pub(crate) const WARM_UP_SPARES: Duration = Duration::from_millis(200);

/// Interval at which it looks whether they are there.
pub(crate) const WARM_UP_LOOK: Duration = Duration::from_millis(1);

/// Interval at which the watchdog looks at every heartbeat. It counts looks and not time, so that a process which was stopped
/// as a whole is not taken for one with a stuck thread.
pub(crate) const WATCHDOG_LOOK: Duration = Duration::from_millis(10);

/// Looks at an epoch clock without a beat after which guests are no longer called: 80 ms, in which it should have ticked 80
/// times, or 16 times while no guest is called. Looks at a clock that waits for a processor do not count.
pub(crate) const WATCHDOG_CLOCK_LOOKS: u32 = 8;

/// Looks at any other heartbeat after which its thread counts as stopped: 700 ms, seven times the longest time between two
/// beats of a thread that has nothing to do. Probes then fail within a second.
pub(crate) const WATCHDOG_LOOKS: u32 = 70;

/// How many times the processor time of a compilation a development build has: its compiler of wasm is not optimised, and takes several
/// times as long as that of a release. A shipped program has [`COMPILE_TIME`](nodesift_sandbox::limits::COMPILE_TIME).
pub(crate) const DEVELOPMENT_COMPILE_FACTOR: u32 = 8;

/// Interval at which the sign of work of unknown length moves.
pub(crate) const PROGRESS_TICK: Duration = Duration::from_millis(100);

/// Time after which a progress bar appears. For shorter work it would only flicker.
pub(crate) const PROGRESS_AFTER: Duration = Duration::from_secs(1);

/// Time for which a start waits until anything is known of the policy's object. After it the process is live and not ready, until
/// more is known.
pub(crate) const POLICY_OBJECT_TIME: Duration = Duration::from_secs(3);

/// Writes of the status of the policy's object about one attempt to use it, without a pause. Replicas that try it at the same time
/// correct each other's conditions a few times.
pub(crate) const STATUS_WRITES: u32 = 16;

/// Pause between further writes.
pub(crate) const STATUS_WRITE_PERIOD: Duration = Duration::from_secs(60);

/// Interval at which a replica says in the status of the policy's object that it is there. Each of these is a write and an event for
/// every other replica: a hundred of them make ten in a minute.
pub(crate) const STATUS_BEAT: Duration = Duration::from_secs(10 * 60);

/// Time after which a replica that has not said that it is there is taken out of the status: two missed beats and clocks that differ.
pub(crate) const STATUS_UNSEEN: Duration = Duration::from_secs(30 * 60);

/// Time at the end of the process for taking its entry out of the status of the policy's object.
pub(crate) const STATUS_END_TIME: Duration = Duration::from_secs(1);

/// Bytes of the name of a field manager, as API servers limit it. Names of pods may be longer.
pub(crate) const FIELD_MANAGER_BYTES: usize = 128;

/// Tries of one write to the object of a decision whose metadata others change meanwhile: each is two requests, and garbage collection
/// changes it once.
pub(crate) const RECORD_TRIES: u32 = 4;

/// Time for which what a sidecar outside of the cluster gives back has not been written, until another one gives it back: nobody sees whether
/// the first is there. Longer than an allocation that it has begun may be on its way to a party, at most ten minutes.
pub(crate) const RECORD_UNSEEN_HOLDER: Duration = Duration::from_secs(15 * 60);

/// Bytes of the name of an object, as API servers limit it. Names of pods may be as long.
pub(crate) const RECORD_NAME_BYTES: usize = 253;

/// Time after which `party` attends again when its stream has ended.
pub(crate) const PARTY_RETRY: Duration = Duration::from_millis(500);

/// Interval at which `party` looks whether its script has changed.
pub(crate) const PARTY_LOOK: Duration = Duration::from_millis(200);

/// Bytes of a script of `party`: room for each of 100,000 nodes by its name, of up to 63 bytes, a few times.
pub(crate) const PARTY_SCRIPT_BYTES: u64 = 32 << 20;

/// Crossings of watermarks of one publication that are logged, a line each; of the others the number is logged. Another accounting component
/// lets all nodes cross at once.
pub(crate) const WATERMARK_LINES: usize = 32;

/// Interval at which the list of pending pods is made, where something has changed: people and scrapers look less often.
pub(crate) const PENDING_LIST_INTERVAL: Duration = Duration::from_secs(1);

/// Interval at which what there is of a list of pending pods is published while it is made: one of thousands of templates takes minutes, in
/// which people and scrapers would see none, or one of pods that are bound by now.
pub(crate) const PENDING_LIST_PARTLY: Duration = Duration::from_secs(5);

/// By how much the priority of the thread that makes the list of pending pods is below that of requests.
pub(crate) const PENDING_LIST_NICE: i32 = 10;

/// Bytes of one object that the client accepts from a sidecar: API servers limit objects to 1.5 MiB, and JSON may escape them.
pub(crate) const CLIENT_OBJECT_BYTES: usize = 4 << 20;

/// Bytes of one page of the list of pending pods that the client accepts: 1,000 pods, each with a message of 2 KiB, subjects of 4 KiB, a
/// sentence of 512 bytes and its names, twice that where they are escaped.
pub(crate) const CLIENT_PENDING_BYTES: usize = 16 << 20;

/// Pods that `why` names at most so that edits of nodes are tried for each, in whatever format: a cluster in files is read several times for
/// each of them, a second or two where it is large.
pub(crate) const NODE_HELP_PODS: usize = 3;

/// Bytes of a sidecar's metrics that the client accepts: sums of accounting are a line of some 100 bytes a node, for each of a few keys.
pub(crate) const CLIENT_METRICS_BYTES: usize = 64 << 20;

/// Rows of a page of a sidecar's node table that is asked for: as many as it gives.
pub(crate) const NODE_ROWS: usize = nodesift_api::limits::NODE_ROWS;

/// Limit on such a page: names of 253 bytes, and some values and numbers a row.
pub(crate) const CLIENT_NODES_BYTES: usize = 32 << 20;

/// Pods that one command explains at most: each is an evaluation of its own.
pub(crate) const WHY_PODS: usize = 1_000;

/// Questions that `why --try` asks again at most where the cluster changes between the two that it compares. Where changes come faster than
/// answers, no number would do.
pub(crate) const WHY_REPEATS: usize = 3;

/// Interval at which `why --watch` asks a sidecar. A pod changes its cause within seconds at most, and a warm answer costs next to nothing.
pub(crate) const WATCH_SIDECAR: Duration = Duration::from_secs(1);

/// Interval at which it lists a cluster: each list is of all objects that predicates read.
pub(crate) const WATCH_LIST: Duration = Duration::from_secs(15);

/// Time between two looks of `why --watch` at most while nobody answers: long enough for a server that restarts, short enough for whoever
/// waits.
pub(crate) const WATCH_UNANSWERED: Duration = Duration::from_secs(30);

/// Time in which candidates of a completion are there, or none are: a shell waits for them with a key pressed.
pub(crate) const COMPLETE: Duration = Duration::from_millis(900);

/// Bytes of the answer of a sidecar to `GET /` that `ui` reads: a version and a URL.
pub(crate) const CLIENT_INDEX_BYTES: usize = 4 << 10;
