//! Every limit of the predicate.

/// Devices that one claim can have, as in the Kubernetes API.
pub const CLAIM_DEVICES: usize = 32;

/// Steps of the search per situation, as a guest has no clock. A step is a place entered or a device tried, and takes about 25 ns.
/// 99 of 100 pods of the real plugin's vectors need 1,165 or less, and the worst of them 133,137.
pub const SEARCH_STEPS: u32 = 1_000_000;

/// Devices passed over that count as one step: what kind they are or who holds them excludes them, which takes about a
/// nanosecond each.
pub const PASSED_PER_STEP: usize = 64;

/// Steps of a search before it looks for devices that no solution has: most searches end before.
pub const STEPS_BEFORE_PRUNING: usize = 8;

/// Looks at one device for one request that take about as long as a step. Situations with many devices are searched for longer
/// before all of them are looked at.
pub const LOOKS_PER_STEP: usize = 2;
