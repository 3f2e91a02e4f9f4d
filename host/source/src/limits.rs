//! Every limit of sources, with its unit and its reason.

use std::ops::RangeInclusive;
use std::time::Duration;

/// Bytes of one cluster file, unpacked. A cluster of 100,000 nodes and 1,000,000 pods is about 3 GB with all its fields.
pub const CLUSTER_FILE_BYTES: u64 = 8 << 30;

/// Documents in one YAML file: one per object in the longest form.
pub const YAML_DOCUMENTS: usize = 2_000_000;

/// Values in one YAML file; a pod as `kubectl` writes it has about 150.
pub const YAML_NODES: usize = 100_000_000;

/// Bytes of text values in one YAML file.
pub const YAML_SCALAR_BYTES: usize = 2 << 30;

/// Time between two audits; half of it again is added at random, so that many sidecars do not list at the same time.
pub const AUDIT_PERIOD: Duration = Duration::from_secs(300);

/// Rows that are counted once more before others may have the cache's writer: 32 full nodes take a millisecond or two.
pub const AUDIT_ROWS: u32 = 32;

/// Objects that are compared before others may have the cache's writer.
pub const AUDIT_OBJECTS: usize = 512;

/// Time that an event on its way has to arrive before what differs from a list counts as a difference.
pub const AUDIT_SETTLE: Duration = Duration::from_secs(5);

/// Time after which whoever catches up with events lets others have the core: a third of what an answer with 5,000 names
/// takes, and a hundred times what asking the kernel does.
pub const WORK_STRETCH: Duration = Duration::from_micros(50);

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
