//! Report of a run: the figures that it prints, and the failures. Start at [`Report::failures`].

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::PARTS;
use crate::judge::Judged;
use crate::load::Answered;
use crate::vitals::{Course, Quiet};

/// Answers that are compared, at least, in one of this many.
const SAMPLED_ONE_IN: usize = 100;

/// How much slower the last part may be than the first, and from when on that fails the run: other programs share the machine.
const SLOWER_WARNING: f64 = 1.2;
const SLOWER_FAILURE: f64 = 2.0;

/// A difference in latency that is no failure, whatever the ratio.
const LATENCY_NOISE: Duration = Duration::from_millis(5);

/// Growth of the resident memory after the warm-up that is no failure, besides that of the cached verdicts, which have a limit
/// of their own: 8 MiB, and one part in 20. An allocator gives memory back late, and a run of minutes sees little of a slow
/// leak: the slope is printed.
const GROWTH_BYTES: u64 = 8 << 20;
const GROWTH_DIVISOR: u64 = 20;

/// The result of a run.
pub(crate) struct Report {
    pub(crate) time: Duration,
    pub(crate) before: Quiet,
    pub(crate) after: Quiet,
    pub(crate) vitals: Course,
    pub(crate) judged: Judged,
    pub(crate) faults: BTreeMap<&'static str, usize>,
    pub(crate) changes: usize,
    pub(crate) log: String,
    pub(crate) answered: Answered,
}

impl Report {
    fn answers(&self) -> usize {
        self.answered.counts.values().sum()
    }

    /// Answers with a verdict, which a sample may be taken of.
    fn verdicts(&self) -> usize {
        const WITHOUT: [&str; 8] =
            ["/v1/state", "/metrics", "/readyz", "assume", "forget", "malformed", "hostile", "version"];
        let verdicts =
            self.answered.counts.iter().filter(|((way, status), _)| *status == 200 && !WITHOUT.contains(way));
        verdicts.map(|(_, count)| count).sum()
    }

    fn judged(&self) -> usize {
        self.judged.samples.values().sum::<usize>() + self.judged.wrong
    }

    /// The latencies in each part of the run.
    fn parts(&self) -> impl Iterator<Item = Vec<Duration>> {
        let part = self.time / PARTS;
        (0..PARTS).map(move |number| {
            let within = |at: &Duration| *at >= part * number && *at < part * (number + 1);
            self.answered.latencies.iter().filter(|(at, _)| within(at)).map(|(_, latency)| *latency).collect()
        })
    }

    /// The 99th percentile of the latency in each part of the run.
    fn p99(&self) -> Vec<Duration> {
        let of = |mut latencies: Vec<Duration>| {
            latencies.sort_unstable();
            latencies.get(latencies.len() * 99 / 100).copied().unwrap_or_default()
        };
        self.parts().map(of).collect()
    }

    fn slower(&self) -> (f64, Duration) {
        let p99 = self.p99();
        let (first, last) = (p99.first().copied().unwrap_or_default(), p99.last().copied().unwrap_or_default());
        (last.as_secs_f64() / first.as_secs_f64().max(1e-6), last.saturating_sub(first))
    }

    /// Returns the failures of the run, one line each; none where it passes.
    pub(crate) fn failures(&self) -> Vec<String> {
        let mut failures: Vec<String> =
            self.judged.shown.iter().map(|wrong| format!("wrong answer: {wrong}")).collect();
        failures.extend(self.answered.unexpected.iter().map(|answer| format!("unexpected answer: {answer}")));
        if self.judged() * SAMPLED_ONE_IN < self.verdicts() {
            failures.push(format!("only {} of {} answers were compared", self.judged(), self.verdicts()));
        }
        if self.judged.feasible == 0 || self.judged.rejected == 0 {
            failures.push("the compared answers are all alike".to_owned());
        }
        for word in ["panicked", "overflowed its stack", "please report"] {
            if let Some(line) = self.log.lines().find(|line| line.contains(word)) {
                failures.push(format!("the log says: {line}"));
            }
        }
        let Course { early, late, early_cached, late_cached, .. } = self.vitals;
        let cached = late_cached.saturating_sub(early_cached);
        if late > early + GROWTH_BYTES + early / GROWTH_DIVISOR + cached {
            failures.push(format!("resident memory has grown from {} to {} MiB", early >> 20, late >> 20));
        }
        if !self.after.is_like(self.before) {
            failures.push(format!("{:?} before the load, {:?} after it", self.before, self.after));
        }
        let (ratio, difference) = self.slower();
        if ratio > SLOWER_FAILURE && difference > LATENCY_NOISE {
            failures.push(format!("p99 has become {ratio:.1} times as long"));
        }
        failures
    }
}

#[allow(clippy::cast_precision_loss, reason = "for display")]
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} answers in {} s, by way and status:", self.answers(), self.time.as_secs())?;
        for ((way, status), count) in &self.answered.counts {
            writeln!(f, "  {way} {status}: {count}")?;
        }
        let share = self.judged() as f64 * 100.0 / (self.verdicts().max(1) as f64);
        writeln!(
            f,
            "{} answers compared ({share:.1} % of those with verdicts), {} wrong:",
            self.judged(),
            self.judged.wrong
        )?;
        for (way, count) in &self.judged.samples {
            writeln!(f, "  {way}: {count}")?;
        }
        writeln!(f, "  {} nodes fit, {} do not", self.judged.feasible, self.judged.rejected)?;
        writeln!(f, "{} changes of the cluster; faults:", self.changes)?;
        for (class, count) in &self.faults {
            writeln!(f, "  {class}: {count}")?;
        }
        let p99: Vec<String> = self.p99().iter().map(|p99| format!("{:.2}", p99.as_secs_f64() * 1000.0)).collect();
        let (ratio, _) = self.slower();
        let warning = if ratio > SLOWER_WARNING { ": WARNING, more than 1.2" } else { "" };
        writeln!(f, "p99 per tenth, filter by UID, ms: {}; last to first {ratio:.2}{warning}", p99.join(" "))?;
        // The machine is shared with clients, API server and reference: what the sidecar itself takes tells whether it is slower.
        let processor: Vec<String> =
            self.vitals.processor.iter().map(|used| format!("{:.1}", used.as_secs_f64())).collect();
        let answers: Vec<String> = self.parts().map(|latencies| latencies.len().to_string()).collect();
        writeln!(
            f,
            "per tenth: {} s of the sidecar's processor time; {} answers by UID",
            processor.join(" "),
            answers.join(" ")
        )?;
        let Course { early, late, most, early_cached, late_cached, slope, most_files, most_threads, .. } = self.vitals;
        writeln!(
            f,
            "resident MiB: {} early, {} late, {} at most (cached verdicts: {} early, {} late), slope {:+.1} MiB/h after the warm-up",
            early >> 20,
            late >> 20,
            most >> 20,
            early_cached >> 20,
            late_cached >> 20,
            slope / f64::from(1 << 20)
        )?;
        let (before, after) = (self.before, self.after);
        writeln!(f, "descriptors: {} before, {} after, {most_files} at most", before.files, after.files)?;
        writeln!(f, "threads: {} before, {} after, {most_threads} at most", before.threads, after.threads)?;
        for failure in self.failures() {
            writeln!(f, "FAILED: {failure}")?;
        }
        Ok(())
    }
}
