//! Every limit of the commands of authors and developers, with its unit and its reason.

use std::time::Duration;

/// Pods that one benchmark run accepts. Each is measured several thousand times and has 64 replicas in the cache.
pub(crate) const BENCH_TEMPLATES: usize = 32;

/// Nodes of a cluster with devices that is measured: as many as the largest clusters have.
pub(crate) const BENCH_DEVICE_NODES: u32 = 100_000;

/// Devices of each of its nodes: as many as the API server accepts in one ResourceSlice.
pub(crate) const BENCH_DEVICES_PER_NODE: u32 = 128;

/// Bytes of a file of cases: thousands of nodes as whole objects.
pub(crate) const CASES_BYTES: u64 = 16 << 20;

/// Nodes in one recorded case. More are no case that somebody reads.
pub(crate) const RECORD_NODES: usize = 1_000;

/// Bytes that recorded cases may take together, so that they can be read again.
pub(crate) const RECORD_BYTES: usize = 8 << 20;

/// Nodes over which `module check` has a module called: the largest cluster that this program is made for.
pub(crate) const CHECK_NODES: u32 = 100_000;

/// Rounds of one measurement of `module bench`: enough that the median does not move by a stray round.
pub(crate) const MODULE_BENCH_ROUNDS: usize = 50;

/// Rounds before them that are not counted: they build columns of the snapshot and touch the pages of the code.
pub(crate) const MODULE_BENCH_WARM_UP: usize = 3;

/// Objects in a round of a benchmark of an accounting module: pods or nodes of a large cluster, within a tenth of a second.
pub(crate) const ACCOUNTING_BENCH_OBJECTS: usize = 10_000;

/// Time that `module bench` waits for a spare instance: an interpreter on a busy machine takes a hundredth of it.
pub(crate) const MODULE_BENCH_SPARE_WAIT: Duration = Duration::from_secs(10);

/// Time after which `module bench` measures no further rounds of one size: a slow module is measured by fewer.
pub(crate) const MODULE_BENCH_TIME: Duration = Duration::from_secs(5);

/// Interval at which `module test --watch` looks at its files: short against the time in which a module is built.
pub(crate) const WATCH_LOOK: Duration = Duration::from_millis(300);

/// Files of a project that are looked at to tell whether its module is older than they are.
pub(crate) const SOURCE_FILES: usize = 2_000;
