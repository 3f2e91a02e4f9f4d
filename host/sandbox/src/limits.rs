//! Every limit of the sandbox, with its unit and its reason.

use std::time::Duration;

/// Period of the epoch clock. Deadlines are accurate to one tick.
pub const EPOCH_TICK: Duration = Duration::from_millis(1);

/// Period of the epoch clock while no guest is called: half of what the watchdog waits for a beat. The epochs advance by as much, so that
/// a long call beside which no other begins has its time, to 5 ms.
pub const IDLE_TICK: Duration = Duration::from_millis(5);

/// Ticks without a new call after which the clock slows down: a quarter of a second, so that it never does under load.
pub const IDLE_AFTER: u32 = 250;

/// Wall-clock time that a call may take from its first tick on, as a multiple of its processor time budget. It is only reached
/// on an overloaded machine, where no call is answered in time.
pub const STARVED_FACTOR: u32 = 20;

/// Host time that does not count as the guest's, as a multiple of the call's processor time budget, for work that the guest
/// chooses by its arguments. Building a label column at its first use takes the host 1 ms at 5,000 rows and 20 ms at 100,000,
/// a count of pods about as long, and a call needs a few of them at most. Beyond it a guest that requests one new column or
/// count after the other uses up its own time.
pub const HOST_TIME_FACTOR: u32 = 2;

/// Host time that does not count as the guest's for work that the host does once for every call on a snapshot, such as counting
/// the volumes that are attached: a tenth of a second for 100,000 pods with claims. The guest does not choose it, and it is
/// done only once. The deadline of the request bounds it as well.
pub const SHARED_HOST_TIME: Duration = Duration::from_secs(1);

/// Processor time of one `filter` call per 10,000 rows, but at least [`FILTER_TIME_MIN`]. A vectorised predicate needs about
/// 20 µs for 10,000 rows, one in an interpreted language about 3 ms.
pub const FILTER_TIME_PER_10_000_ROWS: Duration = Duration::from_millis(5);

/// Least processor time budget of one `filter` call.
pub const FILTER_TIME_MIN: Duration = Duration::from_millis(10);

/// Bytes of a pod for which a call has as much time again: so that a pod with many terms or requests is answered. Most pods have less.
pub const FILTER_TIME_WEIGHT: usize = 8 << 10;

/// Longest processor time budget that a pod's size makes, unless rows alone make it longer. kube-scheduler takes about as long for pods of
/// 1 MB. A pod for which it is too short is set aside.
pub const FILTER_TIME_MOST: Duration = Duration::from_millis(500);

/// Processor time budget at load for instantiating a component, start functions included, and for each of `describe` and
/// `configure`: pages of the code are touched for the first time. Later a new instance is a part of the call that needs it, and
/// so is its `configure`.
pub const INSTANTIATE_TIME: Duration = Duration::from_millis(100);

/// Level to which zstd compresses compiled code on disk; 3 is its default. At 20, wasmtime's default for code that was loaded 256
/// times, a process of 60 MiB takes 160 MiB more for a second, which a container's limit may not have.
pub const CODE_COMPRESSION: i32 = 3;

/// Processor time to compile a component, of all threads together, where it is compiled by a process of its own. The largest in
/// use, language runtimes of 12 to 18 MB, take 12 to 14 s. Processor time, so that a busy machine refuses none of them.
pub const COMPILE_TIME: Duration = Duration::from_secs(30);

/// Wall-clock time to compile a component: a machine on which this is too short has no time for requests either.
pub const COMPILE_WAIT: Duration = Duration::from_secs(300);

/// After this time, and then every so often, the log says that a component is still being compiled.
pub const COMPILE_NOTICE: Duration = Duration::from_secs(5);

/// Memory to compile a component in bytes, where it is compiled by a process of its own.
pub const COMPILE_BYTES: u64 = 1 << 30;

/// Threads of that process. Each takes some megabytes, whatever it compiles.
pub const COMPILE_THREADS: u32 = 4;

/// By how much the priority of that process is below this one's: requests go first.
pub const COMPILE_NICE: i32 = 10;

/// Size of a component in bytes. Components with a language runtime have 12–18 MB.
pub const COMPONENT_BYTES: usize = 64 << 20;

/// Declarations in a component: types, imports, exports, aliases, instances and canonical functions, with those of its core modules.
/// They are checked within the serving process, before the compiler that has limits of its own is asked; a component without such a
/// limit could make that take minutes and gigabytes. A predicate has some hundred, a language runtime of many libraries some ten
/// thousand.
pub const COMPONENT_DECLARATIONS: usize = 200_000;

/// Bytes of those declarations: one of them can hold very many fields. A predicate has some kilobytes.
pub const COMPONENT_DECLARATION_BYTES: usize = 8 << 20;

/// Linear memory of one instance in bytes, summed over its memories, if the policy sets no limit. An `i64` column of 100,000
/// rows takes 0.8 MB.
pub const GUEST_MEMORY_BYTES: usize = 16 << 20;

/// Linear memory that one instance of a built-in can have, for a call about a pod that [`GUEST_MEMORY_BYTES`] were too little for. The
/// engine makes one such call at a time, and the instance ends with it. A pod of 1.5 MB, the largest, takes some ten times as much.
pub const EXTRA_MEMORY_BYTES: usize = 64 << 20;

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

/// Instances of built-in predicates that exist at once, idle ones included. A slot reserves 4 GiB of address space.
pub const BUILTIN_SLOTS: u32 = 256;

/// Instances of all other modules that exist at once. They live for one call each, so this many evaluations can run; the
/// sidecar runs one per core. There is room for [`GUEST_INSTANCES`], [`GUEST_MEMORIES`] and [`GUEST_TABLES`] in each, 16 GiB of
/// address space, so that a module with many of these takes no more of the pool than any other.
pub const GUEST_SLOTS: u32 = 64;

/// Instances of one such module that exist at once: one whose calls are slow leaves half of the pool to others.
pub const MODULE_SLOTS: u32 = 32;

/// How long a call waits for an instance, if its request does not end before.
pub const SLOT_WAIT: Duration = Duration::from_secs(1);

/// Instances of these modules that wait for a call, together: those that no call has used, those that are reused, and used ones that
/// are being dropped. Half of them are for modules that have none yet. They have slots of their own, so that they keep no call from
/// an instance.
pub const SPARE_SLOTS: u32 = 32;

/// Instances of one module that wait: as many as calls at once in most sidecars.
pub const MODULE_SPARES: usize = 4;

/// Bytes of linear memory that the waiting instances of one module take, beside the first.
pub const SPARE_BYTES: usize = 64 << 20;

/// By how much the priority of the thread that makes them is below that of requests.
pub const SPARE_NICE: i32 = 5;

/// Calls that one instance serves where a policy has instances reused. What it leaks ends there.
pub const REUSED_CALLS: u32 = 1_000;

/// Bytes by which the memory of such an instance may grow after `configure`: the first call of an interpreter takes some pages.
pub const REUSED_GROWTH_BYTES: usize = 1 << 20;

/// Handles of resources that one instance may hold. The contract has no resources; a language runtime has some of its own.
pub const GUEST_HANDLES: usize = 1024;

/// Processor time of one call of the device selector per 1,000 devices, those begun included. Most expressions take some
/// microseconds a device.
pub const SELECTOR_TIME_PER_1_000_DEVICES: Duration = Duration::from_millis(50);

/// Processor time of a call of the device selector about a single device. An expression ends after the 1,000,000 steps that CEL allows,
/// which take some 60 ms; the rest is for slow machines.
pub const SELECTOR_TIME_OF_ONE_DEVICE: Duration = Duration::from_millis(500);

/// Calls of the device selector at once, and instances of it: expressions are new now and then, and an instance evaluates 1,000
/// devices in some milliseconds.
pub const SELECTOR_CALLS: u32 = 4;

/// Bytes that a call of the device selector may pass to the host for each device: the text of an error has at most 1 KiB.
pub const SELECTOR_OUTPUT_BYTES_PER_DEVICE: usize = 2 << 10;

/// Objects that an accounting component is called about on one instance before the next caller has its turn: some 100 µs.
pub const ACCOUNTING_BATCH: usize = 64;

/// Processor time of one call of an accounting component about one object. A compiled one takes a microsecond, one in an
/// interpreted language less than a tenth of this.
pub const ACCOUNTING_TIME: Duration = Duration::from_millis(5);

/// Processor time in which a new instance of an accounting component is ready: one is made after each fault, while other objects wait.
pub const ACCOUNTING_START_TIME: Duration = Duration::from_millis(10);

/// Batches of one accounting component at once, and instances of it: those who compile pods and nodes, and who ask about pods.
pub const ACCOUNTING_CALLS: u32 = 4;

/// Instances of accounting components that exist at once, waiting ones included: the active policy's, one that is tried, and those
/// that calls have not left yet. They have room of their own, so that they keep no predicate from an instance.
pub const ACCOUNTING_SLOTS: u32 = 4 * ACCOUNTING_CALLS;

/// Bytes that an accounting component may pass to the host in one call: the keys that it reads, and an account as large as may be.
pub const ACCOUNTING_OUTPUT_BYTES: usize = 64 << 10;

/// Annotations that an accounting component reads. The contract names it. Each is kept of every object that has it.
pub const ACCOUNTING_ANNOTATIONS: usize = 32;

/// Bytes of the key of an annotation: a domain of 253, a slash, a name of 63.
pub const ACCOUNTING_KEY_BYTES: usize = 317;

/// Named sums of an accounting component. The contract names it. Each is a column over all nodes.
pub const ACCOUNTING_SUMS: usize = 32;

/// Resources in one list of an account. The contract names it. A pod has some.
pub const ACCOUNT_AMOUNTS: usize = 64;

/// Flags of an account. The contract names it.
pub const ACCOUNT_FLAGS: usize = 8;

/// Bytes of the name of a sum or a flag. The contract names it: as many as a label's value has.
pub const ACCOUNT_NAME_BYTES: usize = 63;

/// Bytes of the name of a resource. The contract names it: a domain of 253, a slash, a name of 63.
pub const RESOURCE_NAME_BYTES: usize = 317;

/// Idle instances per predicate: as many concurrent calls need no instantiation.
pub const IDLE_INSTANCES: usize = 8;

/// Different failures in one verdict. Rows with another one keep its status alone.
pub const VERDICT_FAILURES: usize = 4096;

/// Reasons in one failure of a custom module; the others are counted.
pub const FAILURE_REASONS: usize = 16;

/// Reasons in one failure of a built-in predicate: as many as [`OUTPUT_BYTES`] has room for, since kube-scheduler gives one
/// per resource that a node lacks.
pub const BUILTIN_FAILURE_REASONS: usize = OUTPUT_BYTES;

/// Devices in one allocation. The contract names it. A claim has at most 32, and a pod seldom more than some claims.
pub const ALLOCATION_PICKS: usize = 4096;

/// Bytes of one reason; a longer one is cut.
pub const REASON_BYTES: usize = 1024;

/// Bytes that a guest may pass to the host in one call, not counting the codes or scores of the rows; all of an allocation. A policy can only
/// lower it.
pub const OUTPUT_BYTES: usize = 1 << 20;

/// Languages, tools and SDKs that are told of a component.
pub const PRODUCERS: usize = 16;

/// Row sets that one call may make. The contract names it.
pub const ROW_SETS: usize = 1024;

/// Bytes of the row sets of one call: as many for 125,000 nodes.
pub const ROW_SET_BYTES: usize = 16 << 20;

/// Lists of CEL expressions in one query about devices. The contract names it. A claim has at most 32 requests of 8 alternatives, and
/// each of these asks with one list of its own and one of its class.
pub const QUERY_LISTS: usize = 4096;

/// Expressions in all of them. The contract names it. The host evaluates each on every device that it has not been evaluated on
/// before.
pub const QUERY_EXPRESSIONS: usize = 16_384;

/// Attributes in one query about devices. The contract names it. A claim has at most 32 constraints, each about one attribute.
pub const QUERY_ATTRIBUTES: usize = 4096;

/// Bytes of a fault's detail: what ended the call, the guest's last words, and where it was.
pub const FAULT_DETAIL_BYTES: usize = 1024;

/// Bytes of the guest's last error line in it, so that there is room for the rest.
pub const LAST_WORDS_BYTES: usize = 640;

/// Functions that a fault's detail names.
pub const FAULT_FRAMES: usize = 4;

/// Functions of a guest's stack that are looked at for these: the innermost are those of a panic.
pub const BACKTRACE_FRAMES: usize = 32;

/// Bytes of a backtrace as wasmtime writes it. A guest chooses the names in it, and they grow when they are decoded.
pub const BACKTRACE_BYTES: usize = 16 << 10;

/// Faults of one predicate that are logged within [`LOG_PERIOD`], beside the lines that it writes itself.
pub const FAULT_LINES: u32 = 1;

/// Lines that one predicate may write to the log within [`LOG_PERIOD`]: as many as people read. Further ones are dropped.
pub const LOG_LINES: u32 = 10;

/// The time within which these lines are counted.
pub const LOG_PERIOD: Duration = Duration::from_secs(1);

/// Bytes of one such line, escaped; a longer one is cut.
pub const LOG_LINE_BYTES: usize = 1024;

/// Rows per chunk of a verdict's codes. A verdict that differs from another in one row copies one chunk of 2 KiB.
pub const VERDICT_CHUNK_ROWS: usize = 1024;
