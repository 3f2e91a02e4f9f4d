//! Shared by the tests: a sidecar on the sample cluster with a policy in a folder, and what it says about it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use nodesift_tests::http::get;
use nodesift_tests::sidecar::{self, Sidecar};
use nodesift_tests::timeout;
use serde_json::Value;
use tempfile::TempDir;

pub(crate) fn command() -> Command {
    sidecar::command(Path::new(env!("CARGO_BIN_EXE_nodesift")), Path::new(env!("CARGO_TARGET_TMPDIR")))
}

/// A policy of these predicates, one YAML flow mapping each.
pub(crate) fn policy(predicates: &[&str]) -> String {
    let entries: String = predicates.iter().map(|predicate| format!("  - {predicate}\n")).collect();
    format!(
        "apiVersion: nodesift.dev/v1alpha1\nkind: PredicatePolicy\nmetadata: {{name: test}}\nspec:\n  \
         schedulerNames: [default-scheduler]\n  predicates:\n{entries}"
    )
}

/// A folder with a policy, and files beside it.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file beside, and gives it the name in one step.
    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        let new = self.path(&format!(".new-{name}"));
        fs::write(&new, content).unwrap();
        fs::rename(new, self.path(name)).unwrap();
    }
}

/// A sidecar whose policy is `policy.yaml` in a folder.
pub(crate) struct Reloading {
    pub(crate) folder: Folder,
    pub(crate) sidecar: Sidecar,
}

impl Reloading {
    pub(crate) fn start(policy: &str) -> Self {
        Self::with(Folder::new(), policy)
    }

    /// Starts a sidecar with `policy.yaml` in a folder that can have files already.
    pub(crate) fn with(folder: Folder, policy: &str) -> Self {
        folder.put("policy.yaml", policy);
        let path = folder.path("policy.yaml");
        Self::serving(folder, &path)
    }

    /// Starts a sidecar with the policy at this path.
    pub(crate) fn serving(folder: Folder, path: &Path) -> Self {
        Self::started(folder, path, command(), &[])
    }

    /// Starts a sidecar with the policy at this path, by this command with more arguments.
    pub(crate) fn started(folder: Folder, path: &Path, command: Command, arguments: &[&str]) -> Self {
        let sidecar = Sidecar::start(command, &[&["--policy", path.to_str().unwrap()], arguments].concat());
        Self { folder, sidecar }
    }

    /// Starts a sidecar like [`Self::start`], with one arena of the allocator: in the dev profile, which has that of the C library, each
    /// thread comes to have one, and what these keep looks like memory that grows.
    pub(crate) fn with_one_arena(policy: &str) -> Self {
        let folder = Folder::new();
        folder.put("policy.yaml", policy);
        let mut command = command();
        command.env("MALLOC_ARENA_MAX", "1");
        let sidecar = Sidecar::start(command, &["--policy", folder.path("policy.yaml").to_str().unwrap()]);
        Self { folder, sidecar }
    }

    /// Replaces the policy in one step.
    pub(crate) fn put(&self, policy: &str) {
        self.folder.put("policy.yaml", policy);
    }

    /// Reads the document in the policy's file.
    pub(crate) fn document(&self) -> String {
        fs::read_to_string(self.folder.path("policy.yaml")).unwrap()
    }

    /// Requests `GET /v1/policy` and expects 200.
    pub(crate) fn status(&self) -> Value {
        let answer = get(&self.sidecar.unix(), "/v1/policy").expect("the sidecar answers");
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()
    }

    pub(crate) fn generation(&self) -> u64 {
        generation(&self.status())
    }

    /// Waits until the active policy is this document.
    pub(crate) fn becomes(&self, document: &str) -> Value {
        self.when(&format!("the policy becomes {document}"), |status| status["document"] == document)
    }

    /// Waits until the status is as wanted.
    pub(crate) fn when(&self, what: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
        let found = timeout::until(|| Some(self.status()).filter(|status| is_wanted(status)));
        found.unwrap_or_else(|| panic!("not seen: {what}: {}", self.status()))
    }

    /// Waits until a policy has been refused after `since`. Returns the failure.
    pub(crate) fn refuses(&self, what: &str, since: Instant) -> (Value, std::time::Duration) {
        let status = self.when(&format!("{what} is refused"), |status| status["lastFailure"].is_object());
        (status["lastFailure"].clone(), since.elapsed())
    }

    /// The value of a metric with its labels.
    pub(crate) fn metric(&self, name: &str) -> f64 {
        let text = get(&self.sidecar.unix(), "/metrics").expect("the sidecar answers").body;
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{name} is not in {text}"))
    }
}

pub(crate) fn generation(status: &Value) -> u64 {
    status["generation"].as_str().unwrap().parse().unwrap()
}
