//! Every limit of the predicate.

/// Devices that one claim can have, as in the Kubernetes API.
pub const CLAIM_DEVICES: usize = 32;

/// Steps of all searches of one call, as a guest has no clock. A step is a place entered or a device tried, and takes about 25 ns, so that
/// a call ends long before its time does. 99 of 100 pods of the real plugin's vectors need 1,165 or less for a situation, and the worst
/// of them 133,137.
pub const SEARCH_STEPS: u32 = 1_000_000;

/// Steps that a situation has where those before it have used up nearly all of the call's: enough for most.
pub const LEAST_STEPS: u32 = 1_165;

/// Devices passed over that count as one step: what kind they are or who holds them excludes them, which takes about a
/// nanosecond each.
pub const PASSED_PER_STEP: usize = 64;

/// Steps of a search before it looks for devices that no solution has: most searches end before.
pub const STEPS_BEFORE_PRUNING: usize = 8;

/// Looks at one device for one request that take about as long as a step. Situations with many devices are searched for longer
/// before all of them are looked at.
pub const LOOKS_PER_STEP: usize = 2;
