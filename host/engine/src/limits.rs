//! Every limit of the engine, with its unit and its reason.

/// Rows that cluster-wide predicates are evaluated over for nominated pods in one query: each node with such pods takes a call
/// over all rows per predicate. That is 4,000 nodes of 5,000, or 200 of 100,000. Beyond it the query is refused, since an
/// answer without them would be wrong.
pub const NOMINATED_ROWS: usize = 20_000_000;

/// Rows of the first range where a limit asks for fewer nodes: a call costs as much as some hundred rows.
pub const SAMPLE_ROWS: usize = 256;

/// Bytes of all cached verdicts and conjunctions, counted as if columns were not shared. A pod template takes about 0.5 MB at
/// 100,000 nodes where one predicate rejects rows, and some 30 kB at 5,000 nodes.
pub const REUSE_BYTES: usize = 512 << 20;

/// Facts that one call may read for its verdict to be cached. Predicates read a dozen.
pub const REUSE_READS: usize = 256;

/// Bytes of the keys by which one call may read facts, selectors included, for its verdict to be cached. Predicates read by
/// some hundred bytes of keys and names; a node affinity of a thousand host names of 20 bytes takes 76,000. A guest chooses
/// its keys, so they must not fill memory.
pub const REUSE_KEY_BYTES: usize = 128 << 10;

/// Verdicts cached for pods whose facts have the same values, where facts about the cluster differ from pod to pod.
pub const REUSE_VARIANTS: usize = 4;

/// Failures that patches may add to a cached verdict before every row is evaluated again.
pub const REUSE_STALE_FAILURES: usize = 64;

/// Where more than one row in so many has changed, all rows are evaluated: their columns need not be gathered.
pub const REUSE_PATCH_SHARE: usize = 4;
