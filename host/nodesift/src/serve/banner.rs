//! The startup text of `serve` on stdout: the addresses, one per line in a fixed format, and commands to try. With JSON log
//! lines, the addresses are log events and nothing is printed.
//!
//! It is told once the listeners are bound. Start at [`Banner`].

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::args::ServeArgs;
use crate::{log, terminal};
use nodesift_api::version::{CONTRACT, REVISION};
use nodesift_cache::{Row, Snapshot};
use nodesift_engine::Engine;

/// Where the cluster comes from.
pub(super) enum ClusterSource<'a> {
    /// The built-in sample cluster.
    Sample,
    /// Files with the cluster's objects.
    Files(&'a [PathBuf]),
    /// The API server at this address. Nothing has been listed yet.
    Live(&'a str),
}

/// The addresses of the listeners.
pub(super) struct Bound<'a> {
    /// URL of the TCP listener of cores.
    pub(super) tcp: Option<String>,
    /// Path of the Unix socket.
    pub(super) socket: &'a Path,
    /// Address of the listener of probes.
    pub(super) probes: Option<String>,
    /// URL of the explorer.
    pub(super) explorer: Option<String>,
}

impl Bound<'_> {
    /// One line per listener.
    pub(super) fn lines(&self) -> Vec<String> {
        let tcp = self.tcp.as_ref().map(|url| format!("listening on {url}"));
        let unix = format!("listening on unix:{}", self.socket.display());
        let probes =
            self.probes.as_ref().map(|address| format!("listening on http://{address} for probes and metrics alone"));
        let explorer = self.explorer.as_ref().map(|url| format!("listening on {url} for the explorer"));
        tcp.into_iter().chain([unix]).chain(probes).chain(explorer).collect()
    }
}

/// Startup message once the listeners are bound: text on stdout, or log events where those are JSON.
pub(super) struct Banner {
    /// Lines that begin with `listening on ` are parsed by programs; their format is fixed.
    listening: Vec<String>,
    text: String,
}

impl Banner {
    pub(super) fn new(bound: &Bound<'_>, source: &ClusterSource<'_>, engine: &Engine) -> Self {
        let (pending, snapshot) = (engine.pending_pods(), engine.snapshot());
        let pod = pending.first().map(|pod| (&*pod.namespace, &*pod.name));
        let summary = Summary { nodes: snapshot.node_count(), pending: pending.len(), pod, names: names(&snapshot) };
        Self { listening: bound.lines(), text: render(bound, source, &summary) }
    }

    /// Logs what starts here: version, policy, source and who may call.
    pub(super) fn log(&self, engine: &Engine, source: &ClusterSource<'_>, args: &ServeArgs) {
        let policy = engine.policy();
        let predicates: Vec<&str> = policy.predicates.iter().map(|predicate| &*predicate.name).collect();
        let file = match (&args.policy.policy, &args.policy_resource) {
            (Some(file), _) => file.display().to_string(),
            (None, Some(name)) => format!("PredicatePolicy {name}"),
            (None, None) => "built-in".to_owned(),
        };
        let source = match source {
            ClusterSource::Sample => "sample".to_owned(),
            ClusterSource::Files(files) => {
                files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(" ")
            }
            ClusterSource::Live(address) => (*address).to_owned(),
        };
        let clients = match (&args.tls.tls_client_ca, args.no_tcp) {
            (_, true) => "unix socket only",
            (Some(_), _) if args.access.checks(args.listen).rights.restrict() => "certificates, by list",
            (Some(_), _) => "certificates",
            (None, _) => "anonymous",
        };
        tracing::info!(
            version = env!("CARGO_PKG_VERSION"),
            revision = REVISION,
            contract = %*CONTRACT,
            policy = %terminal::escaped(&file),
            policy_generation = policy.generation,
            kubernetes = %terminal::escaped(&policy.settings.kubernetes.describe()),
            predicates = %predicates.join(","),
            schedulers = %policy.scheduler_names.join(","),
            source = %terminal::escaped(&source),
            clients,
            "starting"
        );
        // What calls have read is logged with the call.
        policy.warnings().iter().for_each(|warning| tracing::warn!("{warning}"));
    }

    /// Prints the text, or logs its addresses. A closed stdout is ignored: the sidecar serves without a reader.
    ///
    /// # Errors
    ///
    /// Any other I/O error of stdout.
    pub(super) fn print(&self) -> io::Result<()> {
        if log::is_json() {
            for line in &self.listening {
                tracing::info!("{line}");
            }
            return Ok(());
        }
        let text = format!("{}\n{}", self.listening.join("\n"), self.text);
        let mut stdout = io::stdout().lock();
        match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            outcome => outcome,
        }
    }
}

/// Facts about the cluster for the startup text.
struct Summary<'a> {
    /// Number of nodes in the cluster.
    nodes: usize,
    /// Number of pending pods.
    pending: usize,
    /// Namespace and name of a pod for the commands.
    pod: Option<(&'a str, &'a str)>,
    /// Names of up to two nodes for the commands.
    names: Vec<&'a str>,
}

fn names(snapshot: &Snapshot) -> Vec<&str> {
    let rows = u32::try_from(snapshot.node_count()).unwrap_or(u32::MAX);
    (0..rows).map(|row| snapshot.node_name(Row(row))).filter(|name| !name.is_empty()).take(2).collect()
}

fn render(bound: &Bound<'_>, source: &ClusterSource<'_>, summary: &Summary<'_>) -> String {
    let mut text = String::new();
    let unix = bound.socket.display();
    // With TLS a client needs certificates whose paths are not known here. The socket needs none.
    let tcp = bound.tcp.clone().filter(|url| url.starts_with("http://"));
    let counts = format!("has {} nodes and {} pending pods", summary.nodes, summary.pending);
    match source {
        ClusterSource::Sample => put(
            &mut text,
            format_args!("the built-in sample cluster {counts}; for your own use --cluster FILE or --kube"),
        ),
        ClusterSource::Files(_) => put(&mut text, format_args!("the cluster {counts}")),
        ClusterSource::Live(address) => put(
            &mut text,
            format_args!("watching the cluster at {address}; requests are answered once /readyz returns ok"),
        ),
    }

    let request = match summary.pod {
        Some((namespace, name)) => json!({"pods": [{"name": {"namespace": namespace, "name": name}}]}),
        None => json!({"pods": [{"object": sample_pod()}]}),
    };
    let extender = json!({"Pod": sample_pod(), "NodeNames": summary.names});
    let over_unix = format!("curl -s --unix-socket {} http://localhost", quoted(&unix.to_string()));
    let over_tcp = tcp.as_ref().map_or_else(|| over_unix.clone(), |url| format!("curl -s {url}"));
    let data = |body: &serde_json::Value| format!("-H content-type:application/json -d {}", quoted(&body.to_string()));

    if let Some(url) = &bound.explorer {
        put(&mut text, format_args!("\nwhy pods are pending, in a browser:\n  {url}/"));
    }
    put(
        &mut text,
        format_args!("\nwhich nodes fit a pod, over the Unix socket:\n  {over_unix}/v1/filter {}", data(&request)),
    );
    put(
        &mut text,
        format_args!(
            "why the others do not{}:\n  {over_tcp}/v1/explain {}",
            if tcp.is_some() { ", over TCP" } else { "" },
            data(&request)
        ),
    );
    put(
        &mut text,
        format_args!("as kube-scheduler calls an extender:\n  {over_tcp}/extender/filter {}", data(&extender)),
    );
    let server = tcp.unwrap_or_else(|| quoted(&format!("unix:{unix}")));
    put(&mut text, format_args!("every pending pod, as a table:\n  nodesift explain --server {server} -o table"));
    let cluster = match source {
        ClusterSource::Sample | ClusterSource::Live(_) => "CLUSTER.json".to_owned(),
        ClusterSource::Files(files) => {
            files.iter().map(|file| quoted(&file.display().to_string())).collect::<Vec<_>>().join(" ")
        }
    };
    put(
        &mut text,
        format_args!(
            "with a custom predicate (see predicates/examples):\n  nodesift explain --cluster {cluster} --policy POLICY.yaml"
        ),
    );
    text
}

/// A pod with resource requests, so that predicates have something to check.
fn sample_pod() -> serde_json::Value {
    json!({
        "metadata": {"namespace": "default", "name": "try-me"},
        "spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "2", "memory": "4Gi"}}}]},
    })
}

/// A word quoted for a POSIX shell.
fn quoted(word: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if !word.is_empty() && word.chars().all(safe) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn put(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _infallible = writeln!(text, "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound<'a>(tcp: Option<&str>, socket: &'a str) -> Bound<'a> {
        Bound { tcp: tcp.map(str::to_owned), socket: Path::new(socket), probes: None, explorer: None }
    }

    #[test]
    fn addresses_come_first_in_their_fixed_format_and_commands_can_be_pasted() {
        let summary = Summary { nodes: 2, pending: 1, pod: Some(("core", "it's")), names: vec!["n0", "n1"] };
        let mut bound = bound(Some("http://127.0.0.1:4000"), "/run/a b/s.sock");
        bound.probes = Some("0.0.0.0:8080".to_owned());
        bound.explorer = Some("http://127.0.0.1:4002".to_owned());
        let text = render(&bound, &ClusterSource::Sample, &summary);
        assert_eq!(
            bound.lines(),
            [
                "listening on http://127.0.0.1:4000",
                "listening on unix:/run/a b/s.sock",
                "listening on http://0.0.0.0:8080 for probes and metrics alone",
                "listening on http://127.0.0.1:4002 for the explorer"
            ]
        );
        assert!(text.contains("in a browser:\n  http://127.0.0.1:4002/\n"), "{text}");
        assert!(text.contains(r#"--unix-socket '/run/a b/s.sock' http://localhost/v1/filter"#), "{text}");
        assert!(text.contains(r#"'{"pods":[{"name":{"name":"it'\''s","namespace":"core"}}]}'"#), "{text}");
        assert!(text.contains(r#""NodeNames":["n0","n1"]"#), "{text}");
    }

    #[test]
    fn with_tls_every_command_uses_the_socket() {
        let summary = Summary { nodes: 0, pending: 0, pod: None, names: vec![] };
        let text = render(&bound(Some("https://10.0.0.1:4000"), "/run/s.sock"), &ClusterSource::Sample, &summary);
        assert!(!text.contains("https://"), "{text}");
    }

    #[test]
    fn without_tcp_every_command_uses_the_socket() {
        let summary = Summary { nodes: 0, pending: 0, pod: None, names: vec![] };
        let text = render(&bound(None, "/run/s.sock"), &ClusterSource::Files(&["c.json".into()]), &summary);
        assert!(!text.contains("127.0.0.1") && !text.contains("browser"), "{text}");
        assert!(text.contains("nodesift explain --server unix:/run/s.sock"), "{text}");
        assert!(text.contains("--cluster c.json --policy"), "{text}");
    }

    #[test]
    fn a_live_cluster_has_no_counts_yet() {
        let summary = Summary { nodes: 0, pending: 0, pod: None, names: vec![] };
        let text = render(&bound(None, "/run/s.sock"), &ClusterSource::Live("https://10.0.0.1:6443/"), &summary);
        assert!(text.contains("watching the cluster at https://10.0.0.1:6443/; "), "{text}");
        assert!(text.contains("/readyz") && !text.contains("0 nodes"), "{text}");
    }
}
