//! Facts that are about neither the pod nor a node, and the same for every row. Made from the contract by `make contract`; not to be
//! edited.

/// Moments that have passed. No clock can be read: a predicate asks about one moment, and its cached verdict expires there.
/// Since 0.2.
pub mod time {
    /// Whether the moment `at`, in seconds since 1970-01-01T00:00:00Z, has passed. The answer is that of the moment at which the
    /// evaluation of the pod began.
    #[must_use]
    pub fn passed(at: i64) -> bool {
        ask!(time::passed(at) or time_passed)
    }
}

/// Entries of the cluster's ConfigMaps. The host keeps only the ConfigMaps that the policy lists in `spec.facts.configMaps`; an
/// entry of any other reads as absent. The same for every node. Since 0.2.
pub mod config_maps {
    /// The value of `key` in `data` of the ConfigMap, named as `namespace/name`; none where there is no such entry, or it has more
    /// than 65,536 bytes.
    #[must_use]
    pub fn entry(config_map: &str, key: &str) -> Option<String> {
        ask!(config_maps::entry(config_map, key) or config_maps_entry)
    }
}
