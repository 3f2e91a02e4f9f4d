//! Requests to the sidecar in a loop during the whole run. It records every answer that is missing, that is not about the
//! whole cluster, or that is older than the one before.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use nodesift_fixtures::json::{at, list, text};
use nodesift_tests::http::{self, Endpoint};
use serde_json::{Value, json};

/// Between two questions: the machine has other things to do as well.
const PAUSE: Duration = Duration::from_millis(20);

/// Complaints that are kept.
const KEPT: usize = 10;

/// The asker, until it is told to stop.
#[derive(Debug)]
pub(crate) struct Asker {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Report>,
}

/// What it has seen.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// Questions.
    pub(crate) asked: usize,
    /// The longest that an answer took.
    pub(crate) slowest: Duration,
    complaints: Vec<String>,
}

/// What an answer was computed from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Version {
    /// The generation of the cache.
    pub(crate) generation: u64,
    /// The newest Node's version.
    pub(crate) nodes: u64,
    /// The newest Pod's version.
    pub(crate) pods: u64,
}

impl Version {
    fn of(answer: &Value) -> Self {
        // 64-bit numbers travel as text.
        let number = |field| text(at(answer, "version"), field).parse().unwrap_or(0);
        Self {
            generation: number("generation"),
            nodes: number("nodesResourceVersion"),
            pods: number("podsResourceVersion"),
        }
    }

    fn is_older_than(self, other: Self) -> bool {
        self.generation < other.generation || self.nodes < other.nodes || self.pods < other.pods
    }
}

impl Asker {
    /// Begins to ask. No answer may ever be about fewer nodes than `nodes_at_least`.
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

    /// Stops asking; an error where an answer was not as it must be.
    pub(crate) fn stop(self) -> anyhow::Result<Report> {
        self.stop.store(true, Ordering::Relaxed);
        let Ok(report) = self.thread.join() else { bail!("the asker panicked") };
        ensure!(
            report.complaints.is_empty(),
            "{} questions were asked, and wrong were: {}",
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
    Ok(Version::of(&answer))
}

/// The version that the sidecar answers from now.
pub(crate) fn version(sidecar: &Endpoint) -> anyhow::Result<Version> {
    ask(sidecar, 0)
}

fn question(sidecar: &Endpoint, request: &Value) -> anyhow::Result<Value> {
    let response = http::post(sidecar, "/v1/filter", request.to_string()).map_err(anyhow::Error::msg)?;
    ensure!(response.status == 200, "{}: {}", response.status, response.body);
    Ok(response.json())
}
