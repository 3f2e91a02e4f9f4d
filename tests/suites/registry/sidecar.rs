//! Shared by the tests: a sidecar whose policy names modules of a registry.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use nodesift_tests::http::get;
use nodesift_tests::sidecar::Sidecar;
use nodesift_tests::timeout;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::server::command;

/// A policy without any module.
pub(crate) const PLAIN: &str = "\
apiVersion: nodesift.dev/v1alpha1
kind: PredicatePolicy
spec: {schedulerNames: [default-scheduler], predicates: [{name: NodeName}]}
";

/// A policy with one module of a registry, and who may sign it.
pub(crate) fn policy(reference: &str, digest: &str, keys: &[Value]) -> String {
    let mut spec = json!({
        "schedulerNames": ["default-scheduler"],
        "predicates": [{"name": "NodeName"}, {"name": "Own", "module": {"oci": reference, "digest": digest}}],
    });
    if !keys.is_empty() {
        spec["modules"] = json!({"keys": keys});
    }
    let document = json!({"apiVersion": "nodesift.dev/v1alpha1", "kind": "PredicatePolicy", "spec": spec});
    format!("{document}\n")
}

/// A folder with a policy, and one for what a sidecar keeps.
pub(crate) struct Folders {
    policy: TempDir,
    pub(crate) state: TempDir,
}

impl Folders {
    pub(crate) fn new() -> Self {
        Self { policy: tempfile::tempdir().unwrap(), state: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.policy.path().join(name)
    }

    /// Replaces a file in one step.
    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        let new = self.file(&format!(".new-{name}"));
        fs::write(&new, content).unwrap();
        fs::rename(new, self.file(name)).unwrap();
    }

    fn arguments(&self) -> [String; 4] {
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        ["--policy".into(), text(&self.file("policy.yaml")), "--state-folder".into(), text(self.state.path())]
    }

    /// A sidecar that is ready.
    pub(crate) fn serve(&self) -> Serving {
        self.serve_with(command())
    }

    pub(crate) fn serve_with(&self, command: Command) -> Serving {
        let serving = self.launch(command);
        serving.0.wait_until_ready();
        serving
    }

    /// A sidecar that listens.
    pub(crate) fn launch(&self, command: Command) -> Serving {
        Serving(Sidecar::launch(command, &self.arguments().each_ref().map(String::as_str)))
    }

    /// The files that are kept of registries.
    pub(crate) fn pulled(&self) -> Vec<PathBuf> {
        let found = fs::read_dir(self.state.path().join("pulled"));
        found.into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
    }
}

/// A sidecar that serves.
pub(crate) struct Serving(pub(crate) Sidecar);

impl Serving {
    /// Requests `GET /v1/policy` and expects 200.
    pub(crate) fn status(&self) -> Value {
        let answer = get(&self.0.unix(), "/v1/policy").expect("the sidecar answers");
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()
    }

    /// Waits until the status is as wanted.
    pub(crate) fn when(&self, what: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
        let found = timeout::until(|| Some(self.status()).filter(|status| is_wanted(status)));
        found.unwrap_or_else(|| panic!("not seen: {what}: {}", self.status()))
    }

    /// Waits until the active policy is this document.
    pub(crate) fn becomes(&self, document: &str) -> Value {
        self.when(&format!("the policy becomes {document}"), |status| status["document"] == document)
    }

    /// Waits until a policy is refused with these words. Returns the step that failed. The active policy is this document further.
    pub(crate) fn refuses(&self, words: &str, active: &str) -> String {
        let reason = |status: &Value| status["lastFailure"]["failures"][0].clone();
        let status = self.when(&format!("a refusal with {words:?}"), |status| {
            reason(status)["reason"].as_str().is_some_and(|reason| reason.contains(words))
        });
        assert_eq!(status["document"], active);
        assert_eq!(reason(&status)["predicate"], "Own");
        reason(&status)["step"].as_str().unwrap().to_owned()
    }
}
