//! Facts that are about neither the pod nor a node, and the same for every row: the interface `time`.

/// Moments that have passed. No clock can be read: a predicate asks about one moment, and its cached verdict expires there.
pub mod time {
    /// Whether the moment `at`, in seconds since 1970-01-01T00:00:00Z, has passed when the evaluation of the pod begins.
    #[must_use]
    pub fn passed(at: i64) -> bool {
        ask!(time::passed(at) or time_passed)
    }
}
