//! Memory, descriptors and threads of the sidecar: all the time, and in the quiet before and after the load. Start at
//! [`Vitals`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nodesift_tests::http::{self, Endpoint};
use nodesift_tests::process;

use crate::{PARTS, patience, wait};

/// Time between two measurements.
const PAUSE: Duration = Duration::from_millis(500);

/// Time without a change after which descriptors and threads count as settled: idle threads of a pool end after ten seconds.
const SETTLED: Duration = Duration::from_secs(12);

/// Descriptors that may be more: pooled connections to the API server.
const FILES_MORE: usize = 10;

/// Threads that may be more: watches use the pool of threads for blocking work so often that a thread which a burst has started
/// is never idle for as long as it takes to end.
const THREADS_MORE: u64 = 4;

/// One measurement of the process.
#[derive(Debug, Clone, Copy)]
struct Measured {
    at: Instant,
    resident: u64,
    cached: u64,
    files: usize,
    threads: u64,
    processor: Duration,
}

/// Measurements of a process until it is told to stop.
pub(crate) struct Vitals {
    thread: JoinHandle<Vec<Measured>>,
}

/// Evaluated measurements of a process over the run.
#[derive(Debug, Clone)]
pub(crate) struct Course {
    /// Resident bytes: the median of the first and of the last third after the warm-up, and the most.
    pub(crate) early: u64,
    pub(crate) late: u64,
    pub(crate) most: u64,
    /// Bytes of cached verdicts, by the sidecar's own count: the medians of the same thirds.
    pub(crate) early_cached: u64,
    pub(crate) late_cached: u64,
    /// Bytes per hour, by least squares over the time after the warm-up.
    pub(crate) slope: f64,
    pub(crate) most_files: usize,
    pub(crate) most_threads: u64,
    /// Processor time in each part of the run.
    pub(crate) processor: Vec<Duration>,
}

impl Vitals {
    /// Starts the thread that measures.
    pub(crate) fn start(process: u32, sidecar: Endpoint, stop: &Arc<AtomicBool>) -> Self {
        let stop = Arc::clone(stop);
        let measure = move || {
            let (mut measured, mut cached) = (Vec::new(), 0);
            while !stop.load(Ordering::Relaxed) {
                cached = cached_bytes(&sidecar).unwrap_or(cached);
                measured.push(Measured {
                    at: Instant::now(),
                    resident: process::resident_bytes(process),
                    cached,
                    files: process::open_files(process),
                    threads: process::threads(process),
                    processor: process::processor_time(process),
                });
                wait(PAUSE, &stop);
            }
            measured
        };
        Self { thread: std::thread::spawn(measure) }
    }

    /// The course after a warm-up.
    pub(crate) fn stop(self, warm: Instant) -> anyhow::Result<Course> {
        let measured = self.thread.join().map_err(|_| anyhow::anyhow!("measuring has panicked"))?;
        let after: Vec<&Measured> = measured.iter().filter(|measured| measured.at >= warm).collect();
        let third = after.len().div_ceil(3);
        let median = |part: &[&Measured], of: fn(&Measured) -> u64| {
            let mut bytes: Vec<u64> = part.iter().map(|measured| of(measured)).collect();
            bytes.sort_unstable();
            bytes.get(bytes.len() / 2).copied().unwrap_or_default()
        };
        let (first, last) = (&after[..third], &after[after.len() - third..]);
        Ok(Course {
            early: median(first, |measured| measured.resident),
            late: median(last, |measured| measured.resident),
            early_cached: median(first, |measured| measured.cached),
            late_cached: median(last, |measured| measured.cached),
            most: measured.iter().map(|measured| measured.resident).max().unwrap_or_default(),
            slope: slope(&after),
            most_files: measured.iter().map(|measured| measured.files).max().unwrap_or_default(),
            most_threads: measured.iter().map(|measured| measured.threads).max().unwrap_or_default(),
            processor: processor(&measured),
        })
    }
}

/// Bytes of cached verdicts, where the sidecar answers.
fn cached_bytes(sidecar: &Endpoint) -> Option<u64> {
    let metrics = http::get(sidecar, "/metrics").ok().filter(|answer| answer.status == 200)?.body;
    metrics.lines().find_map(|line| line.strip_prefix("nodesift_verdicts_kept_bytes ")?.parse().ok())
}

/// Processor time in each part of the run.
fn processor(measured: &[Measured]) -> Vec<Duration> {
    let ends = (0..=PARTS as usize).map(|part| part * measured.len().saturating_sub(1) / PARTS as usize);
    let used: Vec<Duration> = ends.filter_map(|end| Some(measured.get(end)?.processor)).collect();
    used.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect()
}

/// Bytes per hour, by least squares.
#[allow(clippy::cast_precision_loss, reason = "megabytes in a float")]
fn slope(measured: &[&Measured]) -> f64 {
    let Some(first) = measured.first() else { return 0.0 };
    let points: Vec<(f64, f64)> = measured
        .iter()
        .map(|measured| (measured.at.duration_since(first.at).as_secs_f64() / 3600.0, measured.resident as f64))
        .collect();
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let over: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    let under: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    if under > 0.0 { over / under } else { 0.0 }
}

/// Descriptors and threads without load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Quiet {
    pub(crate) files: usize,
    pub(crate) threads: u64,
}

impl Quiet {
    /// Waits until they do not change any more, or are as before.
    pub(crate) fn reached(process: u32, before: Option<Self>) -> Self {
        let now = || Self { files: process::open_files(process), threads: process::threads(process) };
        let (started, never) = (Instant::now(), AtomicBool::new(false));
        let (mut last, mut since) = (now(), Instant::now());
        loop {
            let as_before = before.is_some_and(|before| last.is_like(before));
            if as_before || (before.is_none() && since.elapsed() >= SETTLED) || started.elapsed() >= patience() {
                return last;
            }
            wait(PAUSE, &never);
            let found = now();
            if found != last {
                (last, since) = (found, Instant::now());
            }
        }
    }

    /// Whether nothing was leaked between two.
    pub(crate) fn is_like(self, before: Self) -> bool {
        self.threads <= before.threads + THREADS_MORE && self.files <= before.files + FILES_MORE
    }
}
