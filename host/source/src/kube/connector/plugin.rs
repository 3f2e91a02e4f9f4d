//! Credential plugins: the programs of a user's `exec` in a kubeconfig, which print a token or a certificate.
//!
//! They are run here and not by kube, which runs them at any request without a limit, twice for one client, and shows their
//! environment, arguments and output where they fail. All of these may hold secrets, so only the command, how it has ended and the
//! beginning of what it has written to stderr are told. Start at [`run`].

use std::io::{self, IsTerminal as _, Read};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use kube::config::{ExecConfig, ExecInteractiveMode};
use rustix::process::{Pid, Signal, kill_process_group};
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::json;

use crate::kube::failure::plain;
use crate::limits::{KUBE_PLUGIN_ANSWER_BYTES, KUBE_PLUGIN_POLL, KUBE_PLUGIN_STDERR_BYTES, KUBE_PLUGIN_STDERR_MOST};
use nodesift_object::time::Timestamp;

/// Why a credential plugin has given nothing.
#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    /// The kubeconfig names none.
    #[error("the user's exec names no command")]
    Unnamed,
    /// It cannot be started, most often because it is not installed.
    #[error("the credential plugin {command:?} {}: {source}{hint}", match source.kind() {
        io::ErrorKind::NotFound => "was not found",
        _ => "cannot be started",
    })]
    Start {
        /// Command of the plugin, as in the kubeconfig.
        command: String,
        /// I/O error of starting the process, or of waiting for it.
        source: io::Error,
        /// Install hint of the kubeconfig, behind a semicolon; empty where there is none.
        hint: String,
    },
    /// It has not ended in time.
    #[error("the credential plugin {command:?} hangs: it was ended after {} s", time.as_secs())]
    Hangs {
        /// Command of the plugin, as in the kubeconfig.
        command: String,
        /// The time that it was given.
        time: Duration,
    },
    /// It has ended with a failure.
    #[error("the credential plugin {command:?} has failed, {status}{said}")]
    Failed {
        /// Command of the plugin, as in the kubeconfig.
        command: String,
        /// How it has ended.
        status: ExitStatus,
        /// The beginning of what it has written to stderr, behind a colon; empty where it has written nothing.
        said: String,
    },
    /// It has printed no usable `ExecCredential`.
    #[error("the credential plugin {command:?} has printed {what}")]
    Answer {
        /// Command of the plugin, as in the kubeconfig.
        command: String,
        /// Description of the output, never its text.
        what: &'static str,
    },
}

/// Credentials that a plugin has printed.
#[derive(Debug, Default)]
pub(super) struct Credential {
    pub(super) token: Option<SecretString>,
    /// A certificate and its key, as PEM.
    pub(super) identity: Option<(String, SecretString)>,
    /// When it ends, in seconds since 1970.
    pub(super) expires: Option<i64>,
}

/// Runs a plugin on this thread, for at most so long.
pub(super) fn run(plugin: &ExecConfig, time: Duration) -> Result<Credential, PluginError> {
    let name = plugin.command.clone().ok_or(PluginError::Unnamed)?;
    let deadline = Instant::now() + time;
    // As kubectl has it: a person may be asked only where there is one.
    let is_interactive = plugin.interactive_mode != Some(ExecInteractiveMode::Never) && io::stdin().is_terminal();
    let start = |source| {
        let hint = plugin.install_hint.iter().map(|hint| plain(hint)).filter(|hint| !hint.is_empty());
        let hint = hint.map(|hint| format!("; to install it: {hint}")).collect();
        PluginError::Start { command: name.clone(), source, hint }
    };
    let mut child = command(plugin, &name, is_interactive).spawn().map_err(start)?;
    let (status, stdout, stderr) = match end(&mut child, deadline) {
        Ok(Ending::Ended(status, stdout, stderr)) => (status, stdout, stderr),
        Err(error) => {
            stop(&mut child, is_interactive);
            return Err(start(error));
        }
        Ok(Ending::TooMuch(pipe)) => {
            stop(&mut child, is_interactive);
            return Err(PluginError::Answer { command: name, what: pipe.too_much() });
        }
        Ok(Ending::Hangs) => {
            stop(&mut child, is_interactive);
            return Err(PluginError::Hangs { command: name, time });
        }
    };
    if !status.success() {
        let said = plain(&String::from_utf8_lossy(&stderr));
        let said = if said.is_empty() { said } else { format!(": {said}") };
        return Err(PluginError::Failed { command: name, status, said });
    }
    credential(&stdout).map_err(|what| PluginError::Answer { command: name, what })
}

fn command(plugin: &ExecConfig, name: &str, is_interactive: bool) -> Command {
    let mut command = Command::new(name);
    command.args(plugin.args.iter().flatten());
    for variable in plugin.env.iter().flatten() {
        if let (Some(name), Some(value)) = (variable.get("name"), variable.get("value")) {
            command.env(name, value);
        }
    }
    let mut spec = json!({"interactive": is_interactive});
    if let (Some(cluster), Some(spec)) = (&plugin.cluster, spec.as_object_mut()) {
        spec.insert("cluster".to_owned(), serde_json::to_value(cluster).unwrap_or_default());
    }
    let told = json!({"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec});
    command.env("KUBERNETES_EXEC_INFO", told.to_string()).stdout(Stdio::piped());
    if is_interactive {
        command.stdin(Stdio::inherit()).stderr(Stdio::inherit());
    } else {
        // A group of its own, so that the processes that it starts end with it.
        command.stdin(Stdio::null()).stderr(Stdio::piped()).process_group(0);
    }
    command
}

/// The state of a process once nobody waits for it any more.
enum Ending {
    /// It has ended: how, and what it has written to stdout, and the beginning of what it has to stderr.
    Ended(ExitStatus, Vec<u8>, Vec<u8>),
    /// It runs, and has written more to a pipe than it may.
    TooMuch(Pipe),
    /// It runs, and its time is over.
    Hangs,
}

/// A pipe that a process writes to.
#[derive(Debug, Clone, Copy)]
enum Pipe {
    Stdout,
    Stderr,
}

impl Pipe {
    /// Bytes that are kept of what comes, and bytes that may come.
    fn limits(self) -> (u64, u64) {
        match self {
            Self::Stdout => (KUBE_PLUGIN_ANSWER_BYTES, KUBE_PLUGIN_ANSWER_BYTES),
            Self::Stderr => (KUBE_PLUGIN_STDERR_BYTES, KUBE_PLUGIN_STDERR_MOST),
        }
    }

    /// Description of more output than may come.
    fn too_much(self) -> &'static str {
        match self {
            Self::Stdout => "more than an ExecCredential may have, and was ended",
            Self::Stderr => "more to stderr than anybody reads, and was ended",
        }
    }
}

/// Bytes that a process has written to a pipe, until it closed it or until they were too many.
struct Written {
    pipe: Pipe,
    kept: Vec<u8>,
    is_too_much: bool,
}

/// Waits for a process to end.
fn end(child: &mut Child, deadline: Instant) -> io::Result<Ending> {
    let (send, written) = sync_channel(2);
    if let Some(stdout) = child.stdout.take() {
        read(stdout, Pipe::Stdout, send.clone())?;
    }
    if let Some(stderr) = child.stderr.take() {
        read(stderr, Pipe::Stderr, send.clone())?;
    }
    drop(send);
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    loop {
        match written.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(Written { pipe, is_too_much: true, .. }) => return Ok(Ending::TooMuch(pipe)),
            Ok(Written { pipe: Pipe::Stdout, kept, .. }) => stdout = kept,
            Ok(Written { pipe: Pipe::Stderr, kept, .. }) => stderr = kept,
            Err(RecvTimeoutError::Timeout) => return Ok(Ending::Hangs),
            // Both have been read; a thread that has panicked has read as good as nothing.
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Ending::Ended(status, stdout, stderr));
        }
        if Instant::now() >= deadline {
            return Ok(Ending::Hangs);
        }
        thread::sleep(KUBE_PLUGIN_POLL);
    }
}

/// Reads a pipe on a thread of its own, to its end or until too much has come.
fn read(mut from: impl Read + Send + 'static, pipe: Pipe, send: SyncSender<Written>) -> io::Result<()> {
    let work = move || {
        let (keep, most) = pipe.limits();
        let mut kept = Vec::new();
        // What a pipe gives before it breaks is all there is.
        let _ = from.by_ref().take(keep).read_to_end(&mut kept);
        // One byte more than may come tells that there is more.
        let left = most.saturating_add(1).saturating_sub(keep);
        let dropped = io::copy(&mut from.take(left), &mut io::sink()).unwrap_or(0);
        // Nobody may wait for it any more.
        let _ = send.send(Written { pipe, kept, is_too_much: dropped >= left });
    };
    thread::Builder::new().name("plugin output".to_owned()).spawn(work).map(drop)
}

/// Ends a process, and those that it has started.
fn stop(child: &mut Child, is_interactive: bool) {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw).filter(|_| !is_interactive);
    if let Some(group) = group {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// Reads what a plugin has printed: JSON, or YAML as client-go takes it. The error says what it is, and never quotes it.
fn credential(stdout: &[u8]) -> Result<Credential, &'static str> {
    #[derive(Deserialize)]
    struct Answer {
        status: Option<Status>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Status {
        expiration_timestamp: Option<String>,
        token: Option<String>,
        client_certificate_data: Option<String>,
        client_key_data: Option<String>,
    }
    let answer: Answer = serde_saphyr::from_slice(stdout).map_err(|_| "what is no ExecCredential")?;
    let status = answer.status.ok_or("an ExecCredential without a status")?;
    let expires = match status.expiration_timestamp {
        Some(text) => Some(Timestamp::parse(&text).0.ok_or("an ExecCredential whose expirationTimestamp is no time")?),
        None => None,
    };
    let token = status.token.filter(|token| !token.trim().is_empty()).map(SecretString::from);
    let identity = match (status.client_certificate_data, status.client_key_data) {
        (Some(certificate), Some(key)) => Some((certificate, SecretString::from(key))),
        (None, None) => None,
        _ => return Err("an ExecCredential with a certificate and no key, or a key alone"),
    };
    if token.is_none() && identity.is_none() {
        return Err("an ExecCredential with neither a token nor a certificate");
    }
    Ok(Credential { token, identity, expires })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::path::Path;

    use nodesift_tests::timeout;
    use secrecy::ExposeSecret as _;

    use super::*;

    fn shell(script: &str) -> ExecConfig {
        ExecConfig {
            command: Some("sh".to_owned()),
            args: Some(["-c", script, "ARGUMENT-SECRET"].map(str::to_owned).into()),
            env: Some(vec![
                [("name", "NODESIFT_X"), ("value", "VARIABLE-SECRET")]
                    .map(|(name, value)| (name.to_owned(), value.to_owned()))
                    .into(),
            ]),
            interactive_mode: Some(ExecInteractiveMode::Never),
            ..ExecConfig::default()
        }
    }

    const LONG: Duration = Duration::from_secs(600);

    #[test]
    fn a_plugin_that_fails_is_told_with_its_stderr_and_without_its_other_secrets() {
        let error = |script: &str| {
            let error = run(&shell(script), LONG).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("SECRET"), "{error:?}");
            error.to_string()
        };
        assert_eq!(
            error("echo $NODESIFT_X $0 STDOUT-SECRET; printf 'log in\n' >&2; exit 3"),
            r#"the credential plugin "sh" has failed, exit status: 3: log in"#
        );
        assert_eq!(error("kill -9 $$"), r#"the credential plugin "sh" has failed, signal: 9 (SIGKILL)"#);
        let long = error("yes no | head -c 1000000 >&2; exit 1");
        assert!(long.len() < 400, "{}", long.len());
        for (answer, what) in [
            ("", "ExecCredential"),
            ("SECRET: [", "what is no ExecCredential"),
            (r#"{"token":"SECRET"}"#, "without a status"),
            (r#"{"status":{"token":" \n"}}"#, "neither a token"),
            (r#"{"status":{"clientKeyData":"SECRET"}}"#, "no key, or a key alone"),
            (r#"{"status":{"token":"SECRET","expirationTimestamp":"SECRET"}}"#, "is no time"),
        ] {
            let error = error(&format!("printf '%s' '{answer}'"));
            assert!(error.contains(what), "{answer}: {error}");
        }
        assert!(error("yes SECRET | head -c 9000000").contains("more than an ExecCredential"));
    }

    #[test]
    fn a_plugin_that_prints_without_an_end_is_ended_long_before_its_time() {
        for (script, what) in [
            ("yes SECRET", "more than an ExecCredential"),
            ("yes SECRET >&2", "more to stderr"),
            // Whether or not it ends its other output.
            ("exec 2>&-; yes SECRET", "more than an ExecCredential"),
            ("exec >&-; yes SECRET >&2", "more to stderr"),
        ] {
            let error = run(&shell(script), LONG).unwrap_err().to_string();
            assert!(error.contains(what) && error.contains("was ended") && !error.contains("SECRET"), "{error}");
        }
        // As much as an answer may have is none that is too long.
        let longest = format!("head -c {KUBE_PLUGIN_ANSWER_BYTES} /dev/zero");
        let error = run(&shell(&longest), LONG).unwrap_err().to_string();
        assert!(error.contains("what is no ExecCredential"), "{error}");
    }

    #[test]
    fn a_plugin_that_hangs_is_ended_with_what_it_has_started() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pid");
        for closed in ["", "exec >&- 2>&-;"] {
            let script = format!("{closed} sleep 777 & echo $! > {}; wait", file.display());
            let error = run(&shell(&script), Duration::from_secs(2)).unwrap_err();
            assert!(matches!(error, PluginError::Hangs { .. }), "{error}");
            let started = std::fs::read_to_string(&file).unwrap();
            let stat = Path::new("/proc").join(started.trim()).join("stat");
            // One that was ended and that nobody has waited for yet is a zombie.
            let is_running = || std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
            timeout::until(|| (!is_running()).then_some(())).unwrap();
        }
    }

    #[test]
    fn a_credential_is_read_as_json_and_as_yaml() {
        let read = |text: &str| credential(text.as_bytes()).unwrap();
        let json = read(r#"{"status":{"token":"t","expirationTimestamp":"1970-01-01T00:01:00Z"}}"#);
        assert_eq!((json.token.unwrap().expose_secret(), json.expires), ("t", Some(60)));
        let yaml = read("kind: ExecCredential\nstatus:\n  clientCertificateData: c\n  clientKeyData: k\n");
        let (certificate, key) = yaml.identity.unwrap();
        assert_eq!((certificate.as_str(), key.expose_secret(), yaml.expires), ("c", "k", None));
    }
}
