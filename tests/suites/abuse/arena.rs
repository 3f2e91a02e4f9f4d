//! Shared by the tests: a sidecar on the sample cluster, a request with a known answer before and after the attack, exclusive
//! use of the machine, and random numbers from a printed seed.

use std::path::Path;
use std::time::Duration;

use nodesift_tests::http::{self, Endpoint};
use nodesift_tests::sidecar::{self, Sidecar};
use nodesift_tests::wire::Wire;
use nodesift_tests::{data, timeout};
use serde_json::{Value, json};
use tempfile::TempDir;

/// From how many bytes on glibc maps what is allocated, and gives it back at once when it is freed; without jemalloc it is the sidecar's
/// allocator. 128 KiB is its default, which it raises to the size of the largest mapping that it has freed, unless it is set. A
/// larger predicate, whose code is in a larger buffer while it is loaded, so has bodies kept in arenas, where what is freed stays:
/// that measured 2 to 4 MiB more of the same flood.
const MAPPED_FROM: (&str, &str) = ("MALLOC_MMAP_THRESHOLD_", "131072");

/// A sidecar under attack.
pub(crate) struct Arena {
    pub(crate) sidecar: Sidecar,
    question: Value,
    answer: Value,
}

impl Arena {
    /// A sidecar on the sample cluster, and its answer before the attack.
    pub(crate) fn new(arguments: &[&str]) -> Self {
        let binary = Path::new(env!("CARGO_BIN_EXE_nodesift"));
        let mut command = sidecar::command(binary, Path::new(env!("CARGO_TARGET_TMPDIR")));
        command.env(MAPPED_FROM.0, MAPPED_FROM.1);
        let sidecar = Sidecar::start(command, arguments);
        let question = about(&pending_pods()[..8]);
        let answer = in_time(|| http::ask(&sidecar.unix(), "/v1/filter", &question));
        Self { sidecar, question, answer }
    }

    /// A sidecar on a cluster of these objects and the pending pods of the sample cluster. The folder holds the cluster file.
    pub(crate) fn on(mut objects: Vec<Value>) -> (Self, TempDir) {
        let folder = tempfile::tempdir().unwrap();
        objects.extend(pending_objects());
        let file = folder.path().join("cluster.json");
        std::fs::write(&file, json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string()).unwrap();
        (Self::new(&["--cluster", file.to_str().unwrap()]), folder)
    }

    /// Asserts that the sidecar answers as before, and that nothing in it has panicked.
    pub(crate) fn goes_on(&self) {
        // On a busy machine some requests are refused and have to be retried.
        let answered = || {
            let answer = http::post(&self.sidecar.unix(), "/v1/filter", self.question.to_string()).unwrap();
            assert!(matches!(answer.status, 200 | 429), "{}: {}", answer.status, answer.body);
            (answer.status == 200).then(|| answer.json())
        };
        let answer = in_time(|| timeout::until(answered).expect("an answer"));
        assert_eq!(answer["pods"], self.answer["pods"]);
        let output = self.sidecar.output();
        assert!(!output.contains("panicked") && !output.contains("overflowed its stack"), "{output}");
    }

    /// A connection over the Unix socket.
    pub(crate) fn wire(&self) -> Wire {
        Wire::open(&self.sidecar.unix()).expect("the sidecar accepts connections")
    }

    /// A connection over TCP.
    pub(crate) fn tcp_wire(&self) -> Wire {
        Wire::open(&self.sidecar.tcp()).expect("the sidecar accepts connections")
    }

    /// The value of a metric of the sidecar.
    pub(crate) fn metric(&self, name: &str) -> f64 {
        let text = http::get(&self.sidecar.unix(), "/metrics").expect("the sidecar answers").body;
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{name} is not in {text}"))
    }

    /// Returns the endpoints of both listeners: TCP and the Unix socket.
    pub(crate) fn endpoints(&self) -> [Endpoint; 2] {
        [self.sidecar.tcp(), self.sidecar.unix()]
    }
}

/// Repeats a request while a predicate exceeds its deadline: on a busy machine a thread may not run for 10 ms.
pub(crate) fn in_time(mut ask: impl FnMut() -> Value) -> Value {
    let answer = timeout::until(|| Some(ask()).filter(|answer| !answer.to_string().contains("Deadline")));
    answer.expect("an answer within every predicate's time")
}

/// Names of the nodes of the sample cluster, sorted.
pub(crate) fn node_names() -> Vec<String> {
    let name = |node: &Value| node["metadata"]["name"].as_str().unwrap().to_owned();
    let mut names: Vec<String> = data::sample_objects("Node").map(name).collect();
    names.sort_unstable();
    names
}

/// Pods of the sample cluster that are bound to no node, whole.
pub(crate) fn pending_objects() -> Vec<Value> {
    let is_pending = |pod: &&Value| pod["spec"]["nodeName"].as_str().is_none_or(str::is_empty);
    data::sample_objects("Pod").filter(is_pending).cloned().collect()
}

/// Returns references by name to the pods of the sample cluster that are bound to no node.
pub(crate) fn pending_pods() -> Vec<Value> {
    let reference = |pod: &Value| {
        let metadata = &pod["metadata"];
        json!({"name": {"namespace": metadata["namespace"], "name": metadata["name"]}})
    };
    pending_objects().iter().map(reference).collect()
}

/// A request about pods.
pub(crate) fn about(pods: &[Value]) -> Value {
    json!({"pods": pods})
}

/// Random numbers; `NODESIFT_SEED` repeats them.
pub(crate) fn random() -> fastrand::Rng {
    let seed = nodesift_seed::seed();
    fastrand::Rng::with_seed(seed)
}

/// The value below which `percent` percent of the times are.
pub(crate) fn percentile(times: &mut [Duration], percent: usize) -> Duration {
    times.sort_unstable();
    let at = (times.len() * percent / 100).min(times.len().saturating_sub(1));
    times.get(at).copied().unwrap_or_default()
}

/// Formats a number of bytes in MiB, with one decimal.
pub(crate) fn mib(bytes: u64) -> String {
    format!("{}.{} MiB", bytes >> 20, ((bytes % (1 << 20)) * 10) >> 20)
}
