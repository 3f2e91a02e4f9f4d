//! Every limit of the engine, with its unit and its reason.

/// Rows that cluster-wide predicates judge again in one question for nominated pods: each of their nodes takes a call over
/// all rows for every such predicate. At 5,000 nodes 4,000 such nodes may have nominated pods that a pod
/// must yield to, at 100,000 nodes 200; beyond it the question is refused, since an answer without them would be wrong.
pub const NOMINATED_ROWS: usize = 20_000_000;

/// Rows that are judged at once, to begin with, where fewer are enough: a call costs as much as some hundred rows.
pub const SAMPLE_ROWS: usize = 256;

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

/// Reasons that may pile up in a kept verdict, beyond those it began with, before every row is judged again.
pub const REUSE_STALE_REASONS: usize = 64;

/// Where more than one row in so many has changed, all are judged again: columns of all rows need not be gathered.
pub const REUSE_PATCH_SHARE: usize = 4;
