//! Every limit of the sandbox, with its unit and its reason.

use std::time::Duration;

/// Period of the clock that interrupts guests. Deadlines are met to one tick.
pub const EPOCH_TICK: Duration = Duration::from_millis(1);

/// Wall-clock time that a call may take from its first tick on, as a multiple of the processor time that it may use: on a
/// machine this busy nothing answers in time any more.
pub const STARVED_FACTOR: u32 = 20;

/// Time that a call may at most be given back for what the host took to answer it, as a multiple of its own time. Building
/// a column that nobody had asked for before takes the host up to 20 ms per 100,000 rows; without a bound a guest could ask
/// for one after the other and never run out of time.
pub const HOST_TIME_FACTOR: u32 = 10;

/// Processor time of one `filter` call per 10,000 rows; never less than [`FILTER_TIME_MIN`]. A vectorised predicate needs some
/// 20 µs for 10,000 rows, an interpreted one about 3 ms.
pub const FILTER_TIME_PER_10_000_ROWS: Duration = Duration::from_millis(5);

/// Least processor time of one `filter` call.
pub const FILTER_TIME_MIN: Duration = Duration::from_millis(10);

/// Processor time to instantiate a component, start functions included, and for `describe` and `configure` each.
pub const INSTANTIATE_TIME: Duration = Duration::from_millis(100);

/// Time to compile a component. The largest in use, language run times of 18 MB, take about 4 s.
pub const COMPILE_TIME: Duration = Duration::from_secs(10);

/// Size of a component in bytes. Language run times are 12–18 MB.
pub const COMPONENT_BYTES: usize = 64 << 20;

/// Linear memory of one instance in bytes, summed over its memories, where the policy says nothing. Columns of 100,000
/// rows are 0.8 MB each.
pub const GUEST_MEMORY_BYTES: usize = 16 << 20;

/// Core instances in one component; language run times are made of about twenty.
pub const GUEST_INSTANCES: usize = 64;

/// Tables in one component.
pub const GUEST_TABLES: usize = 32;

/// Memories in one component; nobody needs more than one, some linkers make two.
pub const GUEST_MEMORIES: usize = 4;

/// Elements of one table: function pointers of the guest.
pub const GUEST_TABLE_ELEMENTS: usize = 10_000;

/// Stack of a guest in bytes; wasmtime's default.
pub const GUEST_STACK_BYTES: usize = 512 << 10;

/// Instances that exist at once, idle ones included, over all predicates. A slot reserves 4 GiB of address space.
pub const GUEST_SLOTS: u32 = 256;

/// Idle instances kept per predicate; as many evaluations run at once without instantiating.
pub const IDLE_INSTANCES: usize = 8;

/// Failures in one verdict.
pub const VERDICT_FAILURES: usize = 4096;

/// Reasons in one failure.
pub const FAILURE_REASONS: usize = 32;

/// Bytes of one reason.
pub const REASON_BYTES: usize = 1024;

/// Bytes that a guest may hand over in one call beside the codes of the rows.
pub const OUTPUT_BYTES: usize = 1 << 20;

/// Bytes of a fault's detail.
pub const FAULT_DETAIL_BYTES: usize = 512;

/// Rows per chunk of a verdict's codes. A verdict that differs from another in one row copies one chunk of 2 KiB.
pub const VERDICT_CHUNK_ROWS: usize = 1024;
