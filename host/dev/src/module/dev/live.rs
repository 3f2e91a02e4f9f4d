//! A sidecar that serves the project's policy, and follows it as any sidecar does: a build is live once its digest is that of the active
//! policy. Start at [`Live::follow`].

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, anyhow};
use rustix::process::{Signal, set_parent_process_death_signal};
use serde_json::Value;

use crate::args::{BESIDE, BesideArgs};
use crate::limits::{LIVE_LOOK, LIVE_OUTPUT_BYTES, LIVE_WAIT};
use nodesift::exit::Failure;

/// File name of a project's policy.
const POLICY: &str = "policy.yaml";

/// Options of the sidecar where none are given: the cluster that every release has.
const SAMPLE: &str = "--sample";

/// A sidecar that is started with the first build, and again where it has ended.
pub(super) struct Live {
    policy: PathBuf,
    socket: PathBuf,
    log: PathBuf,
    options: Vec<OsString>,
    child: Option<Child>,
    /// When the last document was refused that was told.
    refused_at: Value,
    /// The policy when its refusals were last noted.
    document: Option<String>,
}

impl Live {
    /// A sidecar of the project in `folder`, with its socket and its log in `scratch`; it is not started yet.
    pub(super) fn new(folder: &Path, scratch: &Path, options: &[OsString]) -> Self {
        let options = if options.is_empty() { vec![SAMPLE.into()] } else { options.to_vec() };
        Self {
            policy: folder.join(POLICY),
            socket: scratch.join("nodesift.sock"),
            log: scratch.join("serve.log"),
            options,
            child: None,
            refused_at: Value::Null,
            document: None,
        }
    }

    /// Notes that the refusals until now are of builds before: to be called before a build is put in place. Those of a policy that has
    /// been written since the last call may be of it as it is, and will be told.
    pub(super) fn note_refusal(&mut self) {
        let document = std::fs::read_to_string(&self.policy).ok();
        if document == self.document
            && let Ok(status) = nodesift::policy_status(&self.socket)
        {
            self.refused_at = status["lastFailure"]["time"].clone();
        }
        self.document = document;
    }

    /// Waits until a build with this digest answers under the policy as it is written. Returns the policy's generation; the error says why
    /// it does not answer.
    pub(super) fn follow(&mut self, digest: &str) -> Result<String, String> {
        self.start().map_err(|error| format!("{error:#}"))?;
        let begun = Instant::now();
        loop {
            if self.has_ended().map_err(|error| format!("{error:#}"))? {
                return Err(format!("the sidecar has ended\n{}", self.last_lines()));
            }
            // Before it listens there is no answer.
            if let Ok(status) = nodesift::policy_status(&self.socket) {
                let document = std::fs::read_to_string(&self.policy).unwrap_or_default();
                if status["document"] == document.as_str() && has_module(&status, digest) {
                    let generation = status["generation"].as_str().unwrap_or_default();
                    return Ok(format!("policy generation {generation}, on unix:{}\n", self.socket.display()));
                }
                let failure = &status["lastFailure"];
                if failure.is_object() && failure["time"] != self.refused_at {
                    self.refused_at = failure["time"].clone();
                    return Err(refusal(failure));
                }
            }
            if begun.elapsed() > LIVE_WAIT {
                return Err(format!("not live within {} s\n{}", LIVE_WAIT.as_secs(), self.last_lines()));
            }
            std::thread::sleep(LIVE_LOOK);
        }
    }

    /// Starts the sidecar where none runs.
    fn start(&mut self) -> anyhow::Result<()> {
        if self.child.is_some() && !self.has_ended()? {
            return Ok(());
        }
        let this = std::env::current_exe().context("the path of this program is not known")?;
        let beside = this.with_file_name("nodesift");
        let program = if beside.is_file() { beside } else { PathBuf::from("nodesift") };
        let log = File::create(&self.log).with_context(|| self.log.display().to_string())?;
        let mut command = Command::new(this);
        command.arg(BESIDE).arg(program).args(["serve", "--policy"]).arg(&self.policy);
        command.arg("--socket").arg(&self.socket).args(&self.options);
        let errors = log.try_clone().context("the log of the sidecar")?;
        let child = command.stdin(Stdio::null()).stdout(log).stderr(errors).spawn();
        self.child = Some(child.context("the sidecar does not start")?);
        self.refused_at = Value::Null;
        Ok(())
    }

    fn has_ended(&mut self) -> anyhow::Result<bool> {
        let Some(child) = &mut self.child else { return Ok(true) };
        Ok(child.try_wait().context("the sidecar cannot be waited for")?.is_some())
    }

    /// The end of the sidecar's log.
    fn last_lines(&self) -> String {
        let text = std::fs::read(&self.log).unwrap_or_default();
        let from = text.len().saturating_sub(LIVE_OUTPUT_BYTES);
        String::from_utf8_lossy(text.get(from..).unwrap_or_default()).into_owned()
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // One that has ended is waited for all the same.
            let _ended = child.kill();
            let _reaped = child.wait();
        }
    }
}

/// Whether a policy has a module with this digest, as a predicate, as a scorer or for accounting.
fn has_module(status: &Value, digest: &str) -> bool {
    let listed = ["predicates", "scorers"].into_iter().flat_map(|list| status[list].as_array().into_iter().flatten());
    listed.chain([&status["accounting"]]).any(|module| module["digest"] == digest)
}

/// Why a document is refused, as `nodesift policy status` says it.
fn refusal(failure: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let steps = failure["failures"].as_array().into_iter().flatten();
    let lines = steps.map(|step| match &step["predicate"] {
        Value::String(predicate) => {
            format!("refused: {} of {predicate}: {}\n", text(&step["step"]), text(&step["reason"]))
        }
        _ => format!("refused: {}: {}\n", text(&step["step"]), text(&step["reason"])),
    });
    lines.collect()
}

/// Becomes another program that ends with the process that has started this one, however that ends.
///
/// # Errors
///
/// [`Failure::Files`] where the program cannot be run.
pub(crate) fn beside(args: &BesideArgs) -> anyhow::Result<()> {
    set_parent_process_death_signal(Some(Signal::TERM)).context("the end of the other process cannot be followed")?;
    let error = Command::new(&args.program).args(&args.arguments).exec();
    Err(Failure::Files(anyhow!(error).context(args.program.display().to_string())).into())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_build_is_live_as_a_predicate_as_a_scorer_or_as_accounting() {
        let status = json!({"predicates": [{"digest": "sha256:a"}, {"digest": "sha256:b"}], "scorers": [{"digest": "sha256:e"}],
            "accounting": {"digest": "sha256:c"}});
        for (digest, is_there) in [("sha256:b", true), ("sha256:c", true), ("sha256:e", true), ("sha256:d", false)] {
            assert_eq!(has_module(&status, digest), is_there, "{digest}");
        }
        assert!(!has_module(&json!({"document": "sha256:a"}), "sha256:a"));
    }

    #[test]
    fn a_refusal_names_every_step() {
        let failure = json!({"failures": [
            {"step": "load", "predicate": "Own", "reason": "no"}, {"step": "read", "predicate": null, "reason": "broken"}]});
        assert_eq!(refusal(&failure), "refused: load of Own: no\nrefused: read: broken\n");
    }
}
