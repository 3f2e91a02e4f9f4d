//! Every limit of the cache, with its unit and its reason.

use std::time::Duration;

/// Rows per chunk of a column. A write copies one chunk while a snapshot shares it: 1,024 rows of 8 bytes are 8 KiB,
/// a tenth of a microsecond; smaller chunks would lengthen the table of chunks that the first write copies.
pub const CHUNK_ROWS: usize = 1024;

/// Values of one type (texts, label sets, facts) in the pool before unused ones are swept. Beyond it a sweep follows whenever
/// the pool has grown by a quarter since the last one: unused values are at most a fifth of the pool, and in a steady state
/// a sweep looks at five values for each new one.
pub const POOL_SWEEP_MIN: usize = 4 * 1024;

/// Values of devices of which it is known for a while that one device had them, to see whether another has them too: those of more
/// slices than one machine has, in 40 kB.
pub const MET_VALUES: usize = 1024;

/// Models of devices that are kept however few devices there are: more than a cluster has kinds of machines and places in them.
pub const MODELS_MIN: usize = 256;

/// Beyond [`MODELS_MIN`], devices per model: with fewer, values that other devices have too are kept in each device, which takes some
/// bytes of each value. A model takes about 200 bytes, 25 for each of so many devices.
pub const DEVICES_PER_MODEL: usize = 8;

/// Pod templates whose compiled facts are kept for reuse. The largest clusters run some thousands of templates; the content
/// of one takes about half a kilobyte.
pub const RECENT_TEMPLATES: usize = 8 * 1024;

/// Bytes of the buffer that a thread keeps for the content of the next pod's template. Most need 300 to 600; a larger buffer
/// is freed.
pub const TEMPLATE_BYTES_KEPT: usize = 16 * 1024;

/// Shards of the pod index, each under a lock of its own. While a shard grows its readers wait: a sixteenth of 150,000 pods
/// is moved in about 0.3 ms. A power of two, as the map requires.
pub const POD_INDEX_SHARDS: usize = 16;

/// Label columns that are kept; beyond it the least recently used goes. Clusters filter by a few dozen keys, and unusual pods
/// must not fill memory: 256 columns of 100,000 rows are 100 MiB.
pub const LABEL_COLUMNS: usize = 256;

/// Label columns that make room at once where a change of labels finds no room for another one: the next readers find some.
pub const LABEL_COLUMNS_EVICTED: usize = LABEL_COLUMNS / 4;

/// Unused texts in the dictionary of a label column before the column is dropped, if they are also the majority.
pub const DICTIONARY_DEAD_MIN: usize = 256;

/// Entries per change log. A cached verdict older than that is computed again; 65,536 entries are 1 MiB.
pub const CHANGE_LOG_ENTRIES: usize = 65_536;

/// Events of allocations that are kept for readers: by so many one may lag before it loses some, or come late. A busy cluster has a hundred
/// a second.
pub const EVENTS: usize = 10_000;

/// Bytes of the events that are kept for readers. One takes 500 to 700, so that a tenant has to use extreme names and accounts for fewer
/// than [`EVENTS`] to be kept.
pub const EVENTS_BYTES: usize = 16 << 20;

/// Events that a reader takes at once: some 40 kB of JSON, the size of one chunk of a stream.
pub const EVENTS_READ: usize = 64;

/// Events that are kept of one node: a node of 110 pods on which one comes or goes every ten seconds has those of a quarter of an hour.
pub const NODE_EVENTS: usize = 100;

/// Bytes of the events that are kept of all nodes by node: some 60,000.
pub const HISTORY_BYTES: usize = 32 << 20;

/// Pods that the event of a watermark names: enough to choose from for whoever moves one away.
pub const WEIGHING_PODS: usize = 10;

/// Amounts that an event lists of a pod, and of what is free. Pods ask for three or four resources.
pub const EVENT_RESOURCES: usize = 64;

/// Bytes of an event without its texts and amounts: the event itself, and its entries in the log and in the history of its node.
pub const EVENT_BYTES: usize = 384;

/// Bytes that an amount or a flag of an event takes beside its name: two references, up to two numbers, and the counters of what is shared.
pub const EVENT_AMOUNT_BYTES: usize = 48;

/// Volumes of a pod up to which they are compared one by one, which takes less time than a set.
pub const FEW_VOLUMES: usize = 16;

/// Pods assumed at once. A core that places 1,000 pods a second, none of them confirmed within the default of
/// `ASSUME_TTL`, has 30,000; each keeps two records of some 200 bytes.
pub const ASSUMED_PODS: usize = 50_000;

/// Pods that a log line about overdue assumptions names; the others are counted.
pub const OVERDUE_NAMED: usize = 10;

/// UIDs of deleted and ended pods that are remembered, so that a placement that was on its way meanwhile is refused: those of
/// a minute in which a cluster replaces 270 pods a second; about 2 MB.
pub const GONE_PODS: usize = 16 * 1024;

/// Bytes of memory of all assumed pods that the watch has never shown. A usual one counts for 3 to 5 kB, more than it takes,
/// so that these are 13,000 and more: a core that sends whole pods has those few hundred that the watch has not shown yet.
pub const ASSUMED_BYTES: usize = 64 << 20;

/// Bytes that a pod takes whatever is in it: two records, its entries in indices, a class and an assumption of its own.
pub const POD_BYTES: usize = 512;

/// Bytes that a text or a number of a pod takes beside its content: a reference or a field of its own, the counters of what is
/// shared, and its part of what the cache keeps by it.
pub const POD_PART_BYTES: usize = 56;

/// Scheduling gates of a pod that are kept: each belongs to a controller that removes it, of which a cluster has a few.
pub const PENDING_GATES: usize = 16;

/// Bytes of the object of one pending pod that is kept, with the fields that are read. Most have one or two thousand.
pub const PENDING_OBJECT_BYTES: usize = 64 << 10;

/// Bytes of the objects of all pending pods that are kept, which is some 30,000 pods. Beyond that the objects of further pods are not kept.
pub const PENDING_OBJECTS_BYTES: usize = 64 << 20;

/// Bytes that a text of a pending pod takes beside its content: its reference, and the counters of what is shared.
pub const PENDING_TEXT_BYTES: usize = 32;

/// Tables by which controllers are found, each copied on the first write after a snapshot: with 50,000 controllers one has 200
/// entries, some microseconds. Empty tables take 2 kB.
pub const CONTROLLER_SHARDS: usize = 256;

/// Anti-affinity terms per chunk of a map of them. The first write after a snapshot copies one chunk and the list of chunks: with 20,000
/// distinct terms some 300 references each.
pub const TERM_CHUNK: usize = 256;

/// Headings under which an anti-affinity term is filed for the label values that it lists; one that lists more of them is filed by a
/// key alone. Terms seldom list more than a few values, and each heading takes 16 bytes.
pub const TERM_HEADINGS: usize = 8;

/// Steps of a question about terms between two questions whether it may go on: terms that are looked at, and requirements that a pod is
/// compared with. Some 50 to 200 µs.
pub const TERM_STRIDE_STEPS: usize = 2_048;

/// Terms that are looked up, evenly chosen, once a question about terms has been given up, to find whose they are: enough to tell hundredths
/// roughly, in some 1 ms.
pub const TERM_OWNER_TERMS: usize = 1_024;

/// Tables by which claims on devices are found, each copied on the first write after a snapshot: with 50,000 claims one has 200
/// entries, some microseconds. Empty tables take 2 kB.
pub const CLAIM_SHARDS: usize = 256;

/// Bytes of what external parties have said of nodes. An answer about a node counts for [`PARTY_ANSWER_BYTES`] and its reason, so that
/// this is a million with reasons of some hundred bytes. Beyond it, new answers are left out, which makes their nodes unknown.
pub const PARTY_ANSWERS_BYTES: usize = 256 << 20;

/// The part of it for one party: what a single one says of some hundred thousand nodes leaves the others their room.
pub const PARTY_SHARE_BYTES: usize = PARTY_ANSWERS_BYTES / 4;

/// Bytes of an answer of a party about a node without its reason: name, reason, and the free slots of a hash table.
pub const PARTY_ANSWER_BYTES: usize = 64;

/// Bytes of the configurations of one claim or class that are kept. The API server refuses more than 32 of 10 KiB each, so that
/// more comes from elsewhere; what asks for it cannot be allocated here.
pub const CONFIGURATION_BYTES: usize = 512 << 10;

/// Seconds that the devices of a claim have for their binding conditions: the default of kube-scheduler's plugin.
pub const BINDING_TIMEOUT_S: i64 = 600;

/// Counts that pod events keep up to date. A pod event costs some nanoseconds for each; the pending pods of a busy cluster
/// use a few hundred selectors.
pub const COUNTS: usize = 1024;

/// How long a scrape of metrics waits for the lock of the writer; a turn of the feed takes a few milliseconds, its yields
/// included.
pub const MEMORY_STATS_WAIT: Duration = Duration::from_millis(20);

/// Bytes of a pod's entry in one index: a reference, a generation, and the free slots of a hash table.
pub const INDEX_ENTRY_BYTES: usize = 24;

/// Bytes of all maintained counts together; one of 100,000 rows is 400 kB. Readers of one state of the cache may build as
/// much again.
pub const COUNTS_BYTES: usize = 256 << 20;

/// Sums of what pods use that pod events keep up to date. A predicate sums up a resource or two, by selectors of which there
/// are fewer than for counts.
pub const SUMS: usize = 256;

/// Bytes of all maintained sums together; one of 100,000 rows is 800 kB. Readers of one state of the cache may build as much
/// again.
pub const SUMS_BYTES: usize = 64 << 20;

/// Bytes of the name of a resource in a sum that is kept: more than a valid name of a resource has.
pub const SUM_RESOURCE_BYTES: usize = 512;

/// Counts and sums that one publication begins to maintain; further ones wait for the next. Building one looks at every pod, a
/// millisecond or two for a million pods, while the writer is locked.
pub const COUNTS_PER_PUBLICATION: usize = 8;

/// Bytes of the selectors of a count that is kept; a count by larger ones is built for each read. Selectors are a few hundred
/// bytes, and those of a pod may be a megabyte: [`COUNTS`] of this size are 16 MiB.
pub const COUNT_KEY_BYTES: usize = 16 << 10;

/// Selectors and requirements of a count that is kept, together. Each new class of pods is matched with every kept count while
/// the writer is locked; the pods of a busy cluster use two or three, so that [`COUNTS`] take about 0.1 ms.
pub const COUNT_KEY_PARTS: usize = 64;

/// Classes that a reader matches between two questions whether it may go on: some 30 µs.
pub const COUNT_STRIDE_CLASSES: usize = 256;

/// Pods that a reader counts between two questions whether it may go on: some 100 µs.
pub const COUNT_STRIDE_PODS: usize = 65_536;

/// Bytes of an entry of a ConfigMap; a longer one reads as absent. A cached verdict keeps the entries that it has read, and lists of
/// some thousand names fit.
pub const CONFIG_ENTRY_BYTES: usize = 64 * 1024;

/// Bytes of the errors of one node selector that are kept. Kubernetes refuses such selectors, so that one comes from elsewhere; a
/// megabyte of them would become hundreds of megabytes of text.
pub const SELECTOR_ERROR_BYTES: usize = 16 << 10;
