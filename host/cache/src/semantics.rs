//! Which of Kubernetes' rules the cache compiles and counts by, where its minor versions differ. Start at [`Semantics`].
//!
//! The policy decides: it reads the switches of its version, and the writer has them set before it applies objects. A difference is a
//! switch, and no version is compared anywhere below.

use crate::claims::ClaimRules;
use crate::devices::DeviceRules;
use crate::metadata::requests::ResizeRules;

/// Rules that differ between minor versions of Kubernetes, by switches of the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Semantics {
    /// How much a pod takes of its node while its requests are changed in place.
    pub resize: ResizeRules,
    /// Whether volumes of the in-tree plugin of Portworx count as those of its CSI driver only on nodes whose CSINode lists the
    /// plugin as migrated. Otherwise they do so on every node with a CSINode.
    pub portworx_by_annotation: bool,
    /// Which slices and devices nodes see.
    pub devices: DeviceRules,
    /// Where allocated claims can be used.
    pub claims: ClaimRules,
    /// Rules of the selectors of devices: their functions, and the attributes that they see.
    pub selectors: SelectorRules,
}

/// Rules about the CEL of device selectors that differ between versions of Kubernetes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SelectorRules {
    /// Whether attributes of devices may be lists. Otherwise every selector fails for a device that has one.
    pub lists: bool,
    /// Whether there is the function `includes`.
    pub includes: bool,
}

impl Default for SelectorRules {
    /// The rules of Kubernetes 1.36.
    fn default() -> Self {
        Self { lists: false, includes: true }
    }
}

/// The gate under which amounts in the status of a pod as a whole count.
const POD_LEVEL_RESIZE: &str = "InPlacePodLevelResourcesVerticalScaling";
/// Of a pod, the totals of spec, allocated and actuated amounts are compared, and not the amounts of each container.
const RESIZE_BY_TOTALS: &str = "PodResizeByTotals";
/// Volumes of Portworx are migrated where the CSINode says so.
const PORTWORX_BY_ANNOTATION: &str = "PortworxMigrationByAnnotation";
/// Counters of pools, and nodes of single devices.
const PARTITIONABLE_DEVICES: &str = "DRAPartitionableDevices";
/// Devices with conditions to wait for before a pod is bound.
const BINDING_CONDITIONS: &str = "DRADeviceBindingConditions";
/// The gate by which DeviceTaintRules taint devices.
const TAINT_RULES: &str = "DRADeviceTaintRules";
/// A DeviceTaintRule without a selector taints every device.
const BARE_TAINT_RULES: &str = "TaintRuleWithoutSelectorTaintsAll";
/// Slices with counters concern every node.
const COUNTERS_EVERYWHERE: &str = "SharedCountersOnEveryNode";
/// Compatibility groups are known and not served.
const COMPATIBILITY_GROUPS: &str = "CompatibilityGroups";
/// The allocator is the one that takes devices of incomplete pools.
const EXPERIMENTAL_ALLOCATOR: &str = "ExperimentalAllocator";
/// `skipNodeOperations` of allocated devices is known.
const SKIP_NODE_OPERATIONS: &str = "SkipNodeOperations";
/// The text about the owner of a claim has `pod` in lower case.
const CLAIM_OWNER_IN_LOWER_CASE: &str = "ClaimOwnerInLowerCase";
/// Attributes of devices may be lists.
const LIST_ATTRIBUTES: &str = "ListAttributes";
/// Selectors have the function `includes`.
const SELECTOR_INCLUDES: &str = "SelectorIncludes";

impl Semantics {
    /// Names of the switches that [`Self::from_switches`] reads.
    pub const SWITCHES: [&'static str; 14] = [
        POD_LEVEL_RESIZE,
        RESIZE_BY_TOTALS,
        PORTWORX_BY_ANNOTATION,
        PARTITIONABLE_DEVICES,
        BINDING_CONDITIONS,
        TAINT_RULES,
        BARE_TAINT_RULES,
        COUNTERS_EVERYWHERE,
        COMPATIBILITY_GROUPS,
        EXPERIMENTAL_ALLOCATOR,
        SKIP_NODE_OPERATIONS,
        CLAIM_OWNER_IN_LOWER_CASE,
        LIST_ATTRIBUTES,
        SELECTOR_INCLUDES,
    ];

    /// Reads the rules from switches; `is_on` gives each by its name, and is asked for those of [`Self::SWITCHES`] alone.
    pub fn from_switches(is_on: impl Fn(&str) -> bool) -> Self {
        Self {
            resize: ResizeRules { pod_level: is_on(POD_LEVEL_RESIZE), by_totals: is_on(RESIZE_BY_TOTALS) },
            portworx_by_annotation: is_on(PORTWORX_BY_ANNOTATION),
            devices: DeviceRules {
                partitionable: is_on(PARTITIONABLE_DEVICES),
                binding_conditions: is_on(BINDING_CONDITIONS),
                taint_rules: is_on(TAINT_RULES),
                bare_taint_rules: is_on(BARE_TAINT_RULES),
                counters_everywhere: is_on(COUNTERS_EVERYWHERE),
                leaves_out_groups: is_on(COMPATIBILITY_GROUPS),
                shows_all_pools: is_on(EXPERIMENTAL_ALLOCATOR),
            },
            claims: ClaimRules {
                binding_conditions: is_on(BINDING_CONDITIONS),
                skips_node_operations: is_on(SKIP_NODE_OPERATIONS),
                owner_in_lower_case: is_on(CLAIM_OWNER_IN_LOWER_CASE),
            },
            selectors: SelectorRules { lists: is_on(LIST_ATTRIBUTES), includes: is_on(SELECTOR_INCLUDES) },
        }
    }
}

impl Default for Semantics {
    /// The rules of Kubernetes 1.36 with feature gates at their defaults.
    fn default() -> Self {
        Self {
            resize: ResizeRules::default(),
            portworx_by_annotation: false,
            devices: DeviceRules::default(),
            claims: ClaimRules::default(),
            selectors: SelectorRules::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_switch_changes_the_rules() {
        let without = Semantics::from_switches(|_| false);
        for switch in Semantics::SWITCHES {
            assert_ne!(Semantics::from_switches(|name| name == switch), without, "{switch}");
        }
        let of_1_36 = [
            POD_LEVEL_RESIZE,
            PARTITIONABLE_DEVICES,
            BINDING_CONDITIONS,
            BARE_TAINT_RULES,
            COUNTERS_EVERYWHERE,
            SELECTOR_INCLUDES,
        ];
        assert_eq!(Semantics::from_switches(|name| of_1_36.contains(&name)), Semantics::default());
    }
}
