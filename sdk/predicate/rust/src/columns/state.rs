//! Facts that are about neither the pod nor a node, and the same for every row: the interfaces `time` and `config-maps`.

/// Moments that have passed. No clock can be read: a predicate asks about one moment, and its cached verdict expires there.
pub mod time {
    /// Whether the moment `at`, in seconds since 1970-01-01T00:00:00Z, has passed when the evaluation of the pod begins.
    #[must_use]
    pub fn passed(at: i64) -> bool {
        ask!(time::passed(at) or time_passed)
    }
}

/// Entries of ConfigMaps, as far as the policy lists these in `spec.facts.configMaps`.
pub mod config_maps {
    /// The value of a key in `data` of a ConfigMap, which is named `namespace/name`; none where there is no such entry, or the
    /// policy does not list the ConfigMap.
    #[must_use]
    pub fn entry(config_map: &str, key: &str) -> Option<String> {
        ask!(config_maps::entry(config_map, key) or config_maps_entry)
    }
}
