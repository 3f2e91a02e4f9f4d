//! What the process tells about itself in numbers: one registry, shown as OpenMetrics text. A leaf that every room may use.
//!
//! A room with numbers of its own has a `Metrics` that registers itself here. Every set of labels is bounded by the code
//! and not by the cluster: kinds, actions, names of predicates, never nodes or pods. [`process`] adds what the operating
//! system knows of the process.

use std::fmt;
use std::fs;
use std::sync::Arc;

use cpu_time::ProcessTime;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

/// Everything that was registered; clones share it.
#[derive(Debug, Clone, Default)]
pub struct Exposition {
    registry: Arc<Registry>,
}

impl Exposition {
    /// The media type of [`Exposition::text`].
    pub const MEDIA_TYPE: &'static str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

    /// Shows what is in a registry.
    pub fn new(registry: Registry) -> Self {
        Self { registry: Arc::new(registry) }
    }

    /// All numbers as they are now.
    pub fn text(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

/// Registers what the operating system knows of this process.
pub fn process(registry: &mut Registry) {
    registry.register_collector(Box::new(Process));
}

#[derive(Debug)]
struct Process;

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let cpu = ConstCounter::new(ProcessTime::now().as_duration().as_secs_f64());
        let help = "Processor time used";
        cpu.encode(encoder.encode_descriptor("process_cpu_seconds", help, None, cpu.metric_type())?)?;
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let gauges = [
            (
                "process_resident_memory_bytes",
                "Memory in use",
                field(&status, "VmRSS:").map(|kibibytes| kibibytes * 1024),
            ),
            ("process_threads", "Threads", field(&status, "Threads:")),
            ("process_open_fds", "Open file descriptors", open_files()),
        ];
        for (name, help, value) in gauges {
            // What this system does not tell is left out.
            if let Some(value) = value {
                let gauge = ConstGauge::new(value);
                gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)?;
            }
        }
        Ok(())
    }
}

/// The number behind a name in `/proc/self/status`.
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
    use super::*;

    #[test]
    fn the_process_is_shown_in_standard_names_and_units() {
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
}
