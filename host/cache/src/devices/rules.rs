//! Which slices and devices count, where versions of Kubernetes differ. Start at [`DeviceRules`].

/// Rules about slices and devices that differ between versions of Kubernetes and follow feature gates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DeviceRules {
    /// Whether counters of pools and nodes of single devices are known. Otherwise slices that have either are left out.
    pub partitionable: bool,
    /// Whether devices with binding conditions can be allocated. Otherwise no node sees them.
    pub binding_conditions: bool,
    /// Whether DeviceTaintRules taint devices.
    pub taint_rules: bool,
    /// Whether a DeviceTaintRule without `deviceSelector` taints every device, and not none.
    pub bare_taint_rules: bool,
    /// Whether every node sees slices with counters, whatever nodes they name.
    pub counters_everywhere: bool,
    /// Whether slices with compatibility groups are left out; their pools are incomplete then.
    pub leaves_out_groups: bool,
    /// Whether a node sees what it can of incomplete and of invalid pools.
    pub shows_all_pools: bool,
}

impl Default for DeviceRules {
    /// The rules of Kubernetes 1.36 with feature gates at their defaults.
    fn default() -> Self {
        Self {
            partitionable: true,
            binding_conditions: true,
            taint_rules: false,
            bare_taint_rules: true,
            counters_everywhere: true,
            leaves_out_groups: false,
            shows_all_pools: false,
        }
    }
}
