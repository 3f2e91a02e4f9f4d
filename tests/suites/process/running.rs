//! Shared by the tests: commands, failpoints, metrics, requests to the sample cluster.

use std::path::{Path, PathBuf};
use std::process::Command;

use nodesift_tests::http::{Endpoint, get};
use nodesift_tests::sidecar::{self, Sidecar};
use nodesift_tests::timeout;
use serde_json::{Value, json};
use tempfile::TempDir;

const BINARY: &str = env!("CARGO_BIN_EXE_nodesift");

pub(crate) fn command() -> Command {
    sidecar::command(Path::new(BINARY), Path::new(env!("CARGO_TARGET_TMPDIR")))
}

/// A command for the binary under a limit that the shell sets, such as `-n 64`.
pub(crate) fn limited(limit: &str) -> Command {
    let mut command = sidecar::plain(Path::new("sh"), Path::new(env!("CARGO_TARGET_TMPDIR")));
    command.args(["-c", &format!("ulimit {limit} && exec \"$0\" \"$@\""), BINARY]);
    command
}

/// A sidecar on the sample cluster, and the folder of its failpoints.
pub(crate) struct Breakable {
    pub(crate) sidecar: Sidecar,
    folder: TempDir,
}

impl Breakable {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = command();
        command.env("NODESIFT_FAILPOINTS", folder.path());
        Self { sidecar: Sidecar::start(command, arguments), folder }
    }

    pub(crate) fn failpoint(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Breaks a part, until it is healed.
    pub(crate) fn breaks(&self, name: &str) {
        std::fs::write(self.failpoint(name), "").unwrap();
    }

    pub(crate) fn heals(&self, name: &str) {
        std::fs::remove_file(self.failpoint(name)).unwrap();
    }
}

/// The value of a metric.
pub(crate) fn metric(sidecar: &Sidecar, name: &str) -> f64 {
    let text = get(&sidecar.unix(), "/metrics").expect("the sidecar answers").body;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{name} is not in {text}"))
}

/// Status and text of a probe.
pub(crate) fn probe(endpoint: &Endpoint, path: &str) -> (u16, String) {
    let answer = get(endpoint, path).expect("the sidecar answers");
    (answer.status, answer.body)
}

/// Waits until a probe says this.
pub(crate) fn says(endpoint: &Endpoint, path: &str, status: u16, text: &str) {
    let said = || {
        let found = probe(endpoint, path);
        (found.0 == status && found.1.contains(text)).then_some(())
    };
    timeout::until(said)
        .unwrap_or_else(|| panic!("{path} does not become {status} {text:?}: {:?}", probe(endpoint, path)));
}

/// A request about a pod given whole, which the answers before have not cached where `number` is new.
pub(crate) fn question(number: usize) -> Value {
    json!({"pods": [{"object": {
        "metadata": {"namespace": "default", "name": format!("p{number}")},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": format!("{}m", 10 + number)}}}]},
    }}]})
}
