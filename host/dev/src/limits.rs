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

/// Labels of hostile pods and nodes: those of a case and more, and no more than a Node of a real cluster can have.
pub(crate) const HOSTILE_LABELS: usize = 256;

/// Pods on the nodes of a cluster that is grown from a case: those of large clusters, within a few hundred megabytes.
pub(crate) const GROWTH_PODS: usize = 300_000;

/// Copies of a case over which a module is asked how the case can be grown: verdicts that depend on other copies show among three.
pub(crate) const GROWTH_COPIES: usize = 3;

/// Labels of a case that are tried in that way, each with a call: nodes of real clusters have some 30.
pub(crate) const GROWTH_LABELS: usize = 32;

/// Parts of a grown cluster that are left out in turn to find what a call takes too long for: each takes a cluster of [`CHECK_NODES`].
pub(crate) const GROWTH_SUSPECTS: usize = 8;

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

/// Nodes of a scored pod that are shown, the best first: as many as `nodesift filter --scores` shows.
pub(crate) const SCORES_SHOWN: usize = 10;

/// Interval at which `module test --watch` looks at its files: short against the time in which a module is built.
pub(crate) const WATCH_LOOK: Duration = Duration::from_millis(300);

/// Bytes of what one step of `module dev` has printed that are kept: the first faults are in them, whatever follows.
pub(crate) const DEV_OUTPUT_BYTES: u64 = 256 << 10;

/// Lines of it that are shown: what fits a screen, with the times below.
pub(crate) const DEV_SHOWN_LINES: usize = 30;

/// Time that `module dev` waits for a build to be live: a module in Python is compiled for some 20 s on a busy machine.
pub(crate) const LIVE_WAIT: Duration = Duration::from_secs(120);

/// Interval at which it is looked whether it is: short against the 200 ms that a sidecar waits for files to be quiet.
pub(crate) const LIVE_LOOK: Duration = Duration::from_millis(20);

/// Bytes of the end of a sidecar's log that are shown where it has ended.
pub(crate) const LIVE_OUTPUT_BYTES: usize = 8 << 10;

/// Files of a project that are looked at to tell whether its module is older than they are.
pub(crate) const SOURCE_FILES: usize = 2_000;
