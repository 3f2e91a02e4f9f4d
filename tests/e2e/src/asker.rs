//! Requests to the sidecar in a loop during the whole run. Reports every missing answer, every answer that is not about the
//! whole cluster, and every answer that is older than the one before.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use nodesift_fixtures::json::{at, flag, list, text};
use nodesift_tests::http::{self, Endpoint};
use serde_json::{Value, json};

/// Time between two requests: the machine has other work.
const PAUSE: Duration = Duration::from_millis(20);

/// Maximum number of reported errors.
const KEPT: usize = 10;

/// The request loop, until it is stopped.
#[derive(Debug)]
pub(crate) struct Asker {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Report>,
}

/// Results of the request loop.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// Number of requests that were sent.
    pub(crate) asked: usize,
    /// The longest answer time.
    pub(crate) slowest: Duration,
    complaints: Vec<String>,
}

/// The versions from which an answer was computed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Version {
    /// The generation of the cache.
    pub(crate) generation: u64,
    /// The newest resource version of nodes.
    pub(crate) nodes: u64,
    /// The newest resource version of pods.
    pub(crate) pods: u64,
    /// Whether the API server has confirmed nothing for too long.
    pub(crate) is_stale: bool,
}

impl Version {
    fn from_answer(answer: &Value) -> Self {
        // 64-bit numbers are strings in protobuf JSON.
        let number = |field| text(at(answer, "version"), field).parse().unwrap_or(0);
        Self {
            generation: number("generation"),
            nodes: number("nodesResourceVersion"),
            pods: number("podsResourceVersion"),
            is_stale: flag(answer, "version.stale"),
        }
    }

    fn is_older_than(self, other: Self) -> bool {
        self.generation < other.generation || self.nodes < other.nodes || self.pods < other.pods
    }
}

impl Asker {
    /// Starts the loop. No answer may be about fewer than `nodes_at_least` nodes.
    pub(crate) fn start(sidecar: Endpoint, nodes_at_least: usize) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut report = Report::default();
            let mut last = Version::default();
            while !told.load(Ordering::Relaxed) {
                let start = Instant::now();
                match ask(&sidecar, nodes_at_least) {
                    Ok(version) if version.is_older_than(last) => {
                        report.complain(format!("back from {last:?} to {version:?}"));
                    }
                    Ok(version) => last = version,
                    Err(error) => report.complain(error.to_string()),
                }
                report.asked += 1;
                report.slowest = report.slowest.max(start.elapsed());
                std::thread::park_timeout(PAUSE);
            }
            report
        });
        Self { stop, thread }
    }

    /// Stops the loop; an error if any answer was wrong.
    pub(crate) fn stop(self) -> anyhow::Result<Report> {
        self.stop.store(true, Ordering::Relaxed);
        let Ok(report) = self.thread.join() else { bail!("the request loop panicked") };
        ensure!(
            report.complaints.is_empty(),
            "{} requests were sent; errors: {}",
            report.asked,
            report.complaints.join("; ")
        );
        Ok(report)
    }
}

impl Report {
    fn complain(&mut self, complaint: String) {
        if self.complaints.len() < KEPT {
            self.complaints.push(complaint);
        }
    }
}

fn ask(sidecar: &Endpoint, nodes_at_least: usize) -> anyhow::Result<Version> {
    let pod = json!({
        "metadata": {"name": "asked", "namespace": "default"},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}]},
    });
    let answer = question(sidecar, &json!({"pods": [{"object": pod}], "detail": "DETAIL_FAILURES"}))?;
    let nodes = list(&answer, "pods").first().and_then(|pod| at(pod, "nodes").as_u64()).unwrap_or(0);
    ensure!(usize::try_from(nodes)? >= nodes_at_least, "an answer about {nodes} nodes");
    Ok(Version::from_answer(&answer))
}

/// The version that the sidecar's answers have now.
pub(crate) fn version(sidecar: &Endpoint) -> anyhow::Result<Version> {
    ask(sidecar, 0)
}

fn question(sidecar: &Endpoint, request: &Value) -> anyhow::Result<Value> {
    let response = http::post(sidecar, "/v1/filter", request.to_string()).map_err(anyhow::Error::msg)?;
    ensure!(response.status == 200, "{}: {}", response.status, response.body);
    Ok(response.json())
}
