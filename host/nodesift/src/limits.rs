//! Every limit of the command line, with its unit and its reason.

use std::time::Duration;

/// Bytes that `--max-body-bytes` may at most allow: kube-scheduler's extender sends whole nodes (10 kB each) where it is
/// not told that we keep a cache, 25,000 of them fit.
pub const BODY_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Time for evaluations that outlive the drain; past it the process ends under them.
pub const DRAIN_ABANDON: Duration = Duration::from_millis(500);

/// Pods that the command line asks a sidecar about in one request: below [`REQUEST_PAIRS`](nodesift_api::limits::REQUEST_PAIRS) up to 100,000 nodes.
pub const CLIENT_PODS: usize = 16;

/// Bytes of one answer that the command line accepts from a sidecar: [`REQUEST_PAIRS`](nodesift_api::limits::REQUEST_PAIRS) names of 63 bytes and their framing.
pub const CLIENT_ANSWER_BYTES: usize = 256 * 1024 * 1024;

/// Time for the command line to connect to a sidecar on this machine.
pub const CLIENT_CONNECT: Duration = Duration::from_secs(3);

/// Time for one answer to the command line.
pub const CLIENT_ANSWER: Duration = Duration::from_secs(60);

/// Work that takes longer shows a progress bar: shorter, it would only flicker.
pub const PROGRESS_AFTER: Duration = Duration::from_secs(1);

/// Pods to ask about in one run of the benchmark: each is measured some thousand times and has 64 replicas in the cache.
pub const BENCH_TEMPLATES: usize = 32;
