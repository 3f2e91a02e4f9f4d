//! Every limit of the sandbox, with its unit and its reason.

use std::time::Duration;

/// Period of the epoch clock. Deadlines are accurate to one tick.
pub const EPOCH_TICK: Duration = Duration::from_millis(1);

/// Wall-clock time that a call may take from its first tick on, as a multiple of its processor time budget. It is only reached
/// on an overloaded machine, where no call is answered in time.
pub const STARVED_FACTOR: u32 = 20;

/// Upper bound of the host time that is added to a call's deadline, as a multiple of its processor time budget. Building a
/// column at its first use takes the host up to 20 ms per 100,000 rows. Without a bound, a guest could request one new column
/// after the other and never reach its deadline.
pub const HOST_TIME_FACTOR: u32 = 10;

/// Processor time of one `filter` call per 10,000 rows, but at least [`FILTER_TIME_MIN`]. A vectorised predicate needs about
/// 20 µs for 10,000 rows, one in an interpreted language about 3 ms.
pub const FILTER_TIME_PER_10_000_ROWS: Duration = Duration::from_millis(5);

/// Least processor time budget of one `filter` call.
pub const FILTER_TIME_MIN: Duration = Duration::from_millis(10);

/// Processor time budget for instantiating a component, start functions included, and for each of `describe` and `configure`.
pub const INSTANTIATE_TIME: Duration = Duration::from_millis(100);

/// Wall-clock time to compile a component. The largest in use, language runtimes of 18 MB, take about 4 s.
pub const COMPILE_TIME: Duration = Duration::from_secs(10);

/// Size of a component in bytes. Components with a language runtime have 12–18 MB.
pub const COMPONENT_BYTES: usize = 64 << 20;

/// Linear memory of one instance in bytes, summed over its memories, if the policy sets no limit. An `i64` column of 100,000
/// rows takes 0.8 MB.
pub const GUEST_MEMORY_BYTES: usize = 16 << 20;

/// Core instances in one component. Components with a language runtime have about twenty.
pub const GUEST_INSTANCES: usize = 64;

/// Tables in one component.
pub const GUEST_TABLES: usize = 32;

/// Memories in one component. One is enough; some linkers make two.
pub const GUEST_MEMORIES: usize = 4;

/// Elements of one table: function pointers of the guest.
pub const GUEST_TABLE_ELEMENTS: usize = 10_000;

/// Stack of a guest in bytes; wasmtime's default.
pub const GUEST_STACK_BYTES: usize = 512 << 10;

/// Instances that exist at once over all predicates, idle ones included. A slot reserves 4 GiB of address space.
pub const GUEST_SLOTS: u32 = 256;

/// Idle instances per predicate: as many concurrent calls need no instantiation.
pub const IDLE_INSTANCES: usize = 8;

/// Failures in one verdict.
pub const VERDICT_FAILURES: usize = 4096;

/// Reasons in one failure.
pub const FAILURE_REASONS: usize = 32;

/// Bytes of one reason.
pub const REASON_BYTES: usize = 1024;

/// Bytes that a guest may pass to the host in one call, not counting the codes of the rows.
pub const OUTPUT_BYTES: usize = 1 << 20;

/// Bytes of a fault's detail.
pub const FAULT_DETAIL_BYTES: usize = 512;

/// Rows per chunk of a verdict's codes. A verdict that differs from another in one row copies one chunk of 2 KiB.
pub const VERDICT_CHUNK_ROWS: usize = 1024;
