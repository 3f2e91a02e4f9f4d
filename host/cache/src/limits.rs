//! Every limit of the cache, with its unit and its reason.

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
/// `ASSUME_TTL`, has 30,000; each keeps two records of some 200 bytes.
pub const ASSUMED_PODS: usize = 50_000;

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
