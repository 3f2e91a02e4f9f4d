//! Every limit of sources, with its unit and its reason.

use std::ops::RangeInclusive;
use std::time::Duration;

/// Bytes of one cluster file, unpacked. A cluster of 100,000 nodes and 1,000,000 pods is about 3 GB with all its fields.
pub const CLUSTER_FILE_BYTES: u64 = 8 << 30;

/// Bytes of the text of one object in a cluster file: etcd takes objects of 1.5 MB, which may be several times longer as YAML
/// or with escaped text.
pub const CLUSTER_OBJECT_BYTES: u64 = 64 << 20;

/// Bytes of a cluster file that are read at a time: enough that system calls do not matter.
pub const CLUSTER_FILE_CHUNK_BYTES: usize = 256 << 10;

/// Bytes of a line of YAML that are read at a time: lines that people write are shorter, and a list on one line is as long as
/// the file.
pub const YAML_LINE_BYTES: u64 = 64 << 10;

/// Values in one YAML document; a pod as `kubectl` writes it has about 150. Fewer than eight bytes of text for each are rare.
pub const YAML_NODES: usize = 1 << 30;

/// Time between two audits. Up to half of it is added as jitter, so that many sidecars do not list at the same time.
pub const AUDIT_PERIOD: Duration = Duration::from_secs(300);

/// Shortest outage after which the server may have another history: to restore etcd and start a server takes longer, and a watch that
/// was silent goes on sooner.
pub const AWAY_LEAST: Duration = Duration::from_secs(2);

/// Longest time from the end of an outage to an audit, drawn evenly: sidecars of one cluster do not list all objects together while its
/// server has just come back.
pub const AUDIT_AFTER_OUTAGE: Duration = Duration::from_secs(30);

/// Rows that an audit recounts per turn with the cache's writer: 32 full nodes take a millisecond or two.
pub const AUDIT_ROWS: u32 = 32;

/// Objects that an audit compares per turn with the cache's writer.
pub const AUDIT_OBJECTS: usize = 512;

/// Time that events on their way have to arrive before a difference from a list counts as drift.
pub const AUDIT_SETTLE: Duration = Duration::from_secs(5);

/// Time after which a thread that catches up with events yields its core: a third of the time of an answer with 5,000 names,
/// and a hundred times that of the system call.
pub const YIELD_PERIOD: Duration = Duration::from_micros(50);

/// Time from the beginning of one turn of the feed to the next. What arrives meanwhile is published together, so that
/// thousands of events a second need a few hundred snapshots a second at most.
pub const FEED_GATHER: Duration = Duration::from_millis(2);

/// Time between two heartbeats of a feed that has nothing to do, and time that one waits for the cache's writer. A watchdog
/// allows several of them.
pub const FEED_PULSE: Duration = Duration::from_millis(100);

/// Pods that are compared with a list between two heartbeats: about a millisecond.
pub const FEED_PULSE_PODS: usize = 4 * 1024;

/// Backoff of a change that failed for the first time; doubles with each failure.
pub const FEED_RETRY_FIRST: Duration = Duration::from_millis(100);

/// Longest backoff of a change that fails.
pub const FEED_RETRY_MOST: Duration = Duration::from_secs(60);

/// Pods, and nodes, of which no account is known, that wait for another attempt at a time. Where there are more, the accountant fails
/// for everything, and the others follow once these are known.
pub const FEED_UNACCOUNTED: usize = 1024;

/// Of these, how many are attempted in one turn: each may take as long as a call that never ends is given.
pub const FEED_UNACCOUNTED_TURN: usize = 8;

/// Failures that one turn of the feed logs one by one: a defect that concerns every object would flood the log.
pub const FEED_ERRORS_LOGGED: usize = 10;

/// Tombstones: deleted objects that a late event must not bring back. As many as a busy cluster deletes in some minutes;
/// about 2 MB.
pub const FEED_TOMBSTONES: usize = 16 * 1024;

/// Requests that wait for changes of objects at a time.
pub const FEED_WAITERS: usize = 16 * 1024;

/// Objects per page of a list, as the client libraries of Kubernetes ask for them. 500 pods of a real cluster are 1.2 MB.
pub const LIST_PAGE_OBJECTS: usize = 500;

/// Bytes of one page: more than [`LIST_PAGE_OBJECTS`] objects of 1.5 MB, which is etcd's limit.
pub const LIST_PAGE_BYTES: usize = 1 << 30;

/// Timeout of one page; an API server itself gives a list 60 s.
pub const LIST_PAGE_TIME: Duration = Duration::from_secs(60);

/// Pages of one list: 5,000,000 objects, five times as many as the largest clusters have pods. A server that goes on beyond has lost its
/// place, and all pages are held until the last.
pub const LIST_PAGES: usize = 10_000;

/// Pages of one list that are decoded while the next one is read. More pages than cores would only hold more bytes.
pub const LIST_PAGES_DECODING: usize = 4;

/// `timeoutSeconds` of a watch, chosen at random so that not all kinds come back at once. The end of a watch is the only
/// regular sign that nothing has been missed, since servers send bookmarks once a minute: the longest is the staleness of a
/// quiet cluster, and with [`WATCH_SILENCE`] the time within which a dead watch is found. 15 kinds make two requests a second.
pub const WATCH_SECONDS: RangeInclusive<u64> = 6..=10;

/// Time that a watch may stay open past its `timeoutSeconds` before its connection counts as dead.
pub const WATCH_SILENCE: Duration = Duration::from_secs(10);

/// A watch that ends sooner, without a newer resourceVersion, is a failure: to request it again at once would be a hot loop.
pub const WATCH_LEAST: Duration = Duration::from_secs(1);

/// Time since a watch last brought an event or a bookmark after which its end is followed by a probe: a list of one object. An
/// API server sends a bookmark two seconds before it ends a watch, unless nothing at all has changed since the watch began.
pub const PROBE_AFTER: Duration = Duration::from_secs(4);

/// Time from one probe beside a watch that brings events to the next. Events alone do not show whether they are late, and a probe is a
/// list of one object: 15 busy kinds add one and a half requests a second.
pub const PROBE_BUSY: Duration = Duration::from_secs(10);

/// Time after a probe within which a watch has brought all older events: watches are some milliseconds behind lists, and a server or a
/// host that is busy for moments is not one that lags.
pub const WATCH_LATE: Duration = Duration::from_secs(5);

/// Timeout of a probe. A watch goes on meanwhile.
pub const PROBE_TIME: Duration = Duration::from_secs(10);

/// Time for which all lists have to be older than what has been seen before the server counts as restored from a backup. A list
/// is read by quorum, so a single etcd never lags; one of several API servers may be the last to know that etcd was restored.
pub const RESTORED_AFTER: Duration = Duration::from_secs(20);

/// Lists that have to be older as well: one that was delayed on its way says nothing of now.
pub const RESTORED_LISTS: u32 = 3;

/// Time without an older list after which a server has not lagged all the time: longer than one list takes.
pub const LAG_GAP: Duration = Duration::from_secs(90);

/// Longest backoff of the lists of a server that lags.
pub const LAGGING_RETRY_MOST: Duration = Duration::from_secs(5);

/// Least time between two log lines about a restored cluster: each kind finds it out by itself.
pub const RESTORED_LOG_PERIOD: Duration = Duration::from_secs(60);

/// Watches refused in a row, without a success between them, before a relist. With backoff this takes about two minutes, which
/// is longer than most temporary errors of a server last.
pub const WATCH_REFUSALS: u32 = 8;

/// Bytes of one watch event. etcd takes objects of 1.5 MB; as escaped JSON they can be several times longer.
pub const WATCH_EVENT_BYTES: usize = 16 << 20;

/// Bytes of events that are decoded on the I/O thread: a few pods, which take no longer than the way to another thread and
/// back. More are decoded on a thread for blocking work, so that other I/O does not wait.
pub const WATCH_DECODE_INLINE_BYTES: usize = 16 << 10;

/// First backoff of a request that failed; doubles up to [`RETRY_MOST`]. Both are those of client-go.
pub const RETRY_FIRST: Duration = Duration::from_millis(800);

/// Longest backoff of one kind's requests, plus or minus [`RETRY_JITTER`].
pub const RETRY_MOST: Duration = Duration::from_secs(30);

/// Longest backoff while a server cannot be reached, or breaks connections off, plus or minus [`RETRY_JITTER`]. It may have been restored
/// meanwhile: that has to be said within 30 s of its start, of which [`OUTAGE_FAILURES`] older lists take three.
pub const UNREACHABLE_RETRY_MOST: Duration = Duration::from_secs(20);

/// Jitter: the part by which backoff is lengthened or shortened at random, so that sidecars do not all come back at once.
pub const RETRY_JITTER: f64 = 0.25;

/// Time without a failure after which backoff starts again at [`RETRY_FIRST`].
pub const RETRY_RESET: Duration = Duration::from_secs(120);

/// Longest wait that a server can ask for by `Retry-After`; a longer one is shortened to this.
pub const RETRY_AFTER_MOST: Duration = Duration::from_secs(120);

/// Period in which a kind that the server does not serve is requested again: servers are upgraded at run time.
pub const UNSERVED_KIND_PERIOD: Duration = Duration::from_secs(300);

/// Period in which a kind that the server does not serve is requested again where one object of the kind is read: an operator has named it
/// and is about to add its kind, or has forgotten to.
pub const UNSERVED_NAME_PERIOD: Duration = Duration::from_secs(10);

/// Bytes of a list of the objects of one name: one of at most 1.5 MB, as etcd takes them, which may be several times longer as
/// JSON.
pub const NAMED_LIST_BYTES: usize = 16 << 20;

/// Timeout of writing a status: as long as a request is worth waiting for that is sent again anyway.
pub const STATUS_TIME: Duration = Duration::from_secs(10);

/// Pause before a status is given up again that others have yet to write themselves: about what an event takes to them and back.
pub const STATUS_RELEASE_LOOK: Duration = Duration::from_millis(50);

/// Bytes read of the answer to a written status: the object, which is not looked at.
pub const STATUS_ANSWER_BYTES: usize = 16 << 20;

/// Bytes read of the answer to a request about one object, as etcd takes it: 1.5 MB, which may be several times longer as JSON.
pub const OBJECT_ANSWER_BYTES: usize = 16 << 20;

/// Timeout of one request about an object that this process writes: a server that is there answers in milliseconds, and whoever waits can
/// ask again.
pub const OBJECT_TIME: Duration = Duration::from_secs(2);

/// Requests about objects that this process writes, at a time: at some milliseconds each, thousands in a second, and few enough that a
/// server which comes back is not run over. Half of them for what somebody waits for.
pub const OBJECT_REQUESTS: usize = 32;

/// Objects that this process writes, of one kind: with half a kilobyte each, 50 MB while they are read.
pub const STORED_OBJECTS: usize = 100_000;

/// Bytes of [`STORED_OBJECTS`] in a list, as JSON: more than a kilobyte each. An object may be 1.5 MB, if anybody writes such a one.
pub const STORED_BYTES: usize = 128 << 20;

/// Failures of a kind in a row that are an outage. With backoff the third is three seconds after the first: longer than a
/// connection takes to be opened again, or a server that has just started to load its RBAC rules.
pub const OUTAGE_FAILURES: u32 = 3;

/// Kinds that the readiness text names per cause; the others are counted.
pub const HEALTH_KINDS_NAMED: usize = 4;

/// Least time between two attempts to read kubeconfig and credentials again because a server has refused them: an exec plugin
/// is a process. Where their files have changed they are read at once.
pub const KUBE_REFRESH_LEAST: Duration = Duration::from_secs(5);

/// Time that a credential plugin is given before it is ended: those that ask a cloud take some seconds, rarely ten.
pub const KUBE_PLUGIN_TIME: Duration = Duration::from_secs(60);

/// Time between two looks at whether a plugin that has closed its output has ended, which it mostly has.
pub const KUBE_PLUGIN_POLL: Duration = Duration::from_millis(10);

/// Bytes of a kubeconfig, and of each token, key and certificate that it names: those of hundreds of clusters have some hundred KB.
pub const KUBE_FILE_BYTES: u64 = 8 << 20;

/// Bytes of what a plugin prints: a token, or a certificate and its key, have some thousands.
/// One that prints more is ended.
pub const KUBE_PLUGIN_ANSWER_BYTES: u64 = 1 << 20;

/// Bytes kept of what a plugin writes to stderr; at most [`KUBE_MESSAGE_CHARS`] characters of them are told.
pub const KUBE_PLUGIN_STDERR_BYTES: u64 = 4 << 10;

/// Bytes that a plugin may write to stderr; one that writes more is ended, and not read until its time is over. Verbose logs of a login have
/// some hundred KB.
pub const KUBE_PLUGIN_STDERR_MOST: u64 = 16 << 20;

/// Time before credentials end at which they are read again, which is longer than a plugin takes. Those that are given for less than
/// twice as long are read again at half of it.
pub const KUBE_EXPIRY_MARGIN: Duration = Duration::from_secs(60);

/// Timeout of reading kubeconfig and credentials: [`KUBE_PLUGIN_TIME`], and the files, which take milliseconds.
pub const KUBE_PREPARE_TIME: Duration = Duration::from_secs(70);

/// Attempts to read credentials that have not ended. Those that hang beyond [`KUBE_PREPARE_TIME`], as at a file of a server that is away,
/// go on until it gives something; each is a thread.
pub const KUBE_PREPARING: usize = 4;

/// Time that requests wait for credentials that are being read again; after it they use those from before. Files take
/// milliseconds, most plugins less than a second.
pub const KUBE_REFRESH_WAIT: Duration = Duration::from_secs(1);

/// Timeout of connecting to an API server, TLS included.
pub const KUBE_CONNECT: Duration = Duration::from_secs(10);

/// Bytes of the head of a proxy's answer to `CONNECT`; most have a hundred.
pub const KUBE_PROXY_ANSWER_BYTES: usize = 8 << 10;

/// Bytes read of the body of an error response; a `Status` has a few hundred.
pub const KUBE_REFUSAL_BYTES: usize = 64 << 10;

/// Characters of an API server's message in logs.
pub const KUBE_MESSAGE_CHARS: usize = 300;

/// Least time between two log lines about objects of one kind that do not decode; those between are counted.
pub const UNREADABLE_LOG_PERIOD: Duration = Duration::from_secs(10);

/// Objects of a file that are compiled before they are accounted for and applied: as many as an accounting component is called about
/// in one turn.
pub const LOAD_BATCH: usize = 64;

/// Lists inside lists of a cluster file: `jq -s` makes one of several outputs of kubectl, and nobody makes many of them.
pub const NESTED_LISTS: usize = 4;

/// Bytes of an answer to `GET /version`, which has some 400.
pub const VERSION_BYTES: usize = 64 << 10;

/// Time for an answer to `GET /version`, which no server has to look up.
pub const VERSION_TIME: Duration = Duration::from_secs(5);
