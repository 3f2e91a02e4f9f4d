//! Sentences about what the sandbox lacks, each with what to use instead: for the adapter for WASI and for the standard library of Go.

/// Said where a clock is read.
pub(crate) const CLOCK: &str = "a predicate has no clock: its answer would go stale unnoticed; nodesift.Passed says whether a \
                                moment has passed, and reads `time`";

/// Said where random numbers are asked for.
pub(crate) const RANDOMNESS: &str = "a predicate has no randomness: it must answer the same question in the same way";

/// Said where something waits.
pub(crate) const WAITING: &str = "a predicate cannot wait: it answers at once, from its facts";

/// Said where a file is opened.
pub(crate) const FILES: &str =
    "a predicate has no files: what it needs comes from facts, arguments and the ConfigMaps that a policy lists";

/// Said where a connection is made.
pub(crate) const NETWORK: &str =
    "a predicate has no network: what it needs comes from facts, arguments and the ConfigMaps that a policy lists";

/// Said where a process is started.
pub(crate) const PROCESSES: &str = "a predicate has no other processes";

/// Said where the program exits.
pub(crate) const EXIT: &str = "a predicate does not exit: return a verdict, or panic";
