//! Metrics of the process: one registry, exposed as OpenMetrics text.
//!
//! Each crate has `Metrics` types that register themselves in the registry. Every label set is bounded by the code and not
//! by the cluster: kinds, actions, names of predicates. Only sums that a policy lists are by node, and only for those who may read about
//! nodes ([`Exposition::without_names`]). [`process`] adds what the operating system
//! reports of the process, [`build`] which program it is. Start at [`Exposition`].

use std::fmt;
use std::fs;
use std::sync::Arc;

use cpu_time::ProcessTime;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::registry::Registry;

use super::version::REVISION;

/// The registry; clones share it.
#[derive(Debug, Clone, Default)]
pub struct Exposition {
    registry: Arc<Registry>,
}

impl Exposition {
    /// The media type of [`Exposition::text`].
    pub const MEDIA_TYPE: &'static str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

    /// The media type of [`Exposition::plain`].
    pub const PLAIN_MEDIA_TYPE: &'static str = "text/plain; version=0.0.4; charset=utf-8";

    /// Exposes the metrics of a registry.
    pub fn new(registry: Registry) -> Self {
        Self { registry: Arc::new(registry) }
    }

    /// The current values of all metrics as OpenMetrics text.
    ///
    /// # Errors
    ///
    /// Where a collector fails to encode.
    pub fn text(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }

    /// Removes the samples that name a pod or a node, by their labels, from OpenMetrics text.
    pub fn without_names(openmetrics: &str) -> String {
        // In a value the quotation mark that follows would have a backslash before it.
        let names = |line: &str| {
            let labels = ["node", "pod", "namespace"];
            !line.starts_with('#')
                && labels.iter().any(|label| ['{', ','].iter().any(|at| line.contains(&format!("{at}{label}=\""))))
        };
        openmetrics
            .lines()
            .filter(|line| !names(line))
            .fold(String::with_capacity(openmetrics.len()), |text, line| text + line + "\n")
    }

    /// OpenMetrics text as Prometheus' older text. The samples of both are the same; the older one describes a counter under
    /// the name of its samples, and has neither units nor an end.
    pub fn plain(openmetrics: &str) -> String {
        let mut text = String::with_capacity(openmetrics.len());
        let mut help = None;
        for line in openmetrics.lines() {
            match line.split(' ').collect::<Vec<_>>().as_slice() {
                ["#", "HELP", ..] => help = Some(line),
                ["#", "TYPE", name, kind] => {
                    let suffix = if *kind == "counter" { "_total" } else { "" };
                    if let Some(help) = help.take().and_then(|help| help.strip_prefix("# HELP ")?.strip_prefix(*name)) {
                        text.extend(["# HELP ", name, suffix, help, "\n"]);
                    }
                    text.extend(["# TYPE ", name, suffix, " ", kind, "\n"]);
                }
                ["#", ..] => {}
                _ => text.extend([line, "\n"]),
            }
        }
        text
    }
}

/// Registers which program this is, as `nodesift_build_info` with the value 1.
pub fn build(registry: &mut Registry) {
    let labels = [
        ("version", env!("CARGO_PKG_VERSION")),
        ("revision", REVISION.unwrap_or_default()),
        ("contract", nodesift_sandbox::VERSION),
    ];
    let info = Family::<Vec<(&str, &str)>, Gauge>::default();
    info.get_or_create(&labels.to_vec()).set(1);
    let help = "1: version and revision of the program, and the version of the contract with predicates";
    registry.register("nodesift_build_info", help, info);
}

/// Registers processor time, memory, threads and file descriptors of this process.
pub fn process(registry: &mut Registry) {
    registry.register_collector(Box::new(Process));
}

#[derive(Debug)]
struct Process;

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let cpu = ConstCounter::new(ProcessTime::now().as_duration().as_secs_f64());
        let help = "Processor time used, in seconds";
        cpu.encode(encoder.encode_descriptor("process_cpu_seconds", help, None, cpu.metric_type())?)?;
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let gauges = [
            (
                "process_resident_memory_bytes",
                "Resident memory, in bytes",
                field(&status, "VmRSS:").map(|kibibytes| kibibytes * 1024),
            ),
            ("process_threads", "Threads of the process", field(&status, "Threads:")),
            ("process_open_fds", "Open file descriptors", open_files()),
        ];
        for (name, help, value) in gauges {
            // Left out where the system does not report it.
            if let Some(value) = value {
                let gauge = ConstGauge::new(value);
                gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)?;
            }
        }
        Ok(())
    }
}

/// The number after a name in `/proc/self/status`.
fn field(status: &str, name: &str) -> Option<i64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

fn open_files() -> Option<i64> {
    i64::try_from(fs::read_dir("/proc/self/fd").ok()?.count()).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use prometheus_client::metrics::counter::Counter;

    use super::*;

    #[test]
    fn the_older_text_describes_counters_by_the_name_of_their_samples() {
        let mut registry = Registry::default();
        let counter = Family::<Vec<(&str, &str)>, Counter>::default();
        counter.get_or_create(&vec![("a", "# b")]).inc();
        registry.register("asked", "Questions", counter);
        build(&mut registry);
        let text = Exposition::new(registry).text().unwrap();
        let plain = Exposition::plain(&text);
        let (counters, info) = plain.split_at(plain.find("# HELP nodesift_build_info").unwrap());
        assert_eq!(counters, "# HELP asked_total Questions.\n# TYPE asked_total counter\nasked_total{a=\"# b\"} 1\n");
        assert!(info.ends_with("\"} 1\n") && info.contains("# TYPE nodesift_build_info gauge\n"), "{info}");
    }

    #[test]
    fn the_process_has_metrics_of_standard_names_and_units() {
        let mut registry = Registry::default();
        process(&mut registry);
        let text = Exposition::new(registry).text().unwrap();
        let value = |name: &str| -> f64 {
            let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim().parse().unwrap()
        };
        assert!(value("process_resident_memory_bytes ") > 1e6);
        assert!(value("process_threads ") >= 1.0);
        assert!(value("process_open_fds ") >= 3.0);
        assert!(value("process_cpu_seconds_total ") >= 0.0);
        assert!(text.ends_with("# EOF\n"));
    }

    #[test]
    fn samples_that_name_a_node_or_a_pod_can_be_left_out() {
        let text = "# HELP a node=\"n\"\n# TYPE a gauge\na 1\na{node=\"secret\",sum=\"s\"} 1\na{sum=\"s\",pod=\"x\"} 1\n\
                    a{party=\",node=\\\"x\\\"\"} 2\n# EOF\n";
        let left = "# HELP a node=\"n\"\n# TYPE a gauge\na 1\na{party=\",node=\\\"x\\\"\"} 2\n# EOF\n";
        assert_eq!(Exposition::without_names(text), left);
    }
}
