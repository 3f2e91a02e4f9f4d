//! What `serve` says on stdout once it listens: the addresses, one per line for machines, and lines to paste for people.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde_json::json;

use nodesift_cache::{Row, Snapshot};
use nodesift_engine::Engine;

/// Where the cluster comes from, as the text tells it.
pub(super) enum Shown<'a> {
    /// These files; none: the sample.
    Files(&'a [PathBuf]),
    /// The API server at this address, of which nothing is known yet.
    Live(&'a str),
}

/// The whole text. The lines that begin with `listening on ` are for machines and keep their form.
pub(super) fn text(tcp: Option<String>, socket: &Path, shown: &Shown<'_>, engine: &Engine) -> String {
    let (pending, snapshot) = (engine.pending_pods(), engine.snapshot());
    let pod = pending.first().map(|pod| (&*pod.namespace, &*pod.name));
    render(
        tcp,
        socket,
        shown,
        &Seen { nodes: snapshot.node_count(), pending: pending.len(), pod, names: names(&snapshot) },
    )
}

/// What the lines are made of.
struct Seen<'a> {
    nodes: usize,
    pending: usize,
    /// Namespace and name of a pod to ask about.
    pod: Option<(&'a str, &'a str)>,
    /// Two nodes to ask about.
    names: Vec<&'a str>,
}

fn names(snapshot: &Snapshot) -> Vec<&str> {
    let rows = u32::try_from(snapshot.node_count()).unwrap_or(u32::MAX);
    (0..rows).map(|row| snapshot.node_name(Row(row))).filter(|name| !name.is_empty()).take(2).collect()
}

fn render(tcp: Option<String>, socket: &Path, shown: &Shown<'_>, seen: &Seen<'_>) -> String {
    let mut text = String::new();
    let unix = socket.display();
    if let Some(url) = &tcp {
        put(&mut text, format_args!("listening on {url}"));
    }
    // Over TLS a client needs certificates that are not ours to name; the socket needs none.
    let tcp = tcp.filter(|url| url.starts_with("http://"));
    put(&mut text, format_args!("listening on unix:{unix}"));
    let counts = format!("has {} nodes and {} pending pods", seen.nodes, seen.pending);
    match shown {
        Shown::Files([]) => {
            put(&mut text, format_args!("the sample cluster (yours: --cluster FILE or --kube) {counts}"))
        }
        Shown::Files(_) => put(&mut text, format_args!("the cluster {counts}")),
        Shown::Live(address) => {
            put(&mut text, format_args!("following the cluster at {address}; answers begin when /readyz says ok"))
        }
    }

    let asked = match seen.pod {
        Some((namespace, name)) => json!({"pods": [{"name": {"namespace": namespace, "name": name}}]}),
        None => json!({"pods": [{"object": sample_pod()}]}),
    };
    let extender = json!({"Pod": sample_pod(), "NodeNames": seen.names});
    let over_unix = format!("curl -s --unix-socket {} http://localhost", quoted(&unix.to_string()));
    let over_tcp = tcp.as_ref().map_or_else(|| over_unix.clone(), |url| format!("curl -s {url}"));
    let data = |body: &serde_json::Value| format!("-H content-type:application/json -d {}", quoted(&body.to_string()));

    put(
        &mut text,
        format_args!("\nwhich nodes can run it, over the socket:\n  {over_unix}/v1/filter {}", data(&asked)),
    );
    put(
        &mut text,
        format_args!(
            "why the others cannot{}:\n  {over_tcp}/v1/explain {}",
            if tcp.is_some() { ", over TCP" } else { "" },
            data(&asked)
        ),
    );
    put(
        &mut text,
        format_args!("as kube-scheduler asks an extender:\n  {over_tcp}/extender/filter {}", data(&extender)),
    );
    let server = tcp.unwrap_or_else(|| quoted(&format!("unix:{unix}")));
    put(&mut text, format_args!("every pending pod, as a table:\n  nodesift explain --server {server} -o table"));
    let cluster = match shown {
        Shown::Files([]) | Shown::Live(_) => "CLUSTER.json".to_owned(),
        Shown::Files(files) => {
            files.iter().map(|file| quoted(&file.display().to_string())).collect::<Vec<_>>().join(" ")
        }
    };
    put(
        &mut text,
        format_args!(
            "with a predicate of your own (see predicates/examples):\n  nodesift explain --cluster {cluster} --policy POLICY.yaml"
        ),
    );
    text
}

/// A pod that asks for something, so that an answer has something to say.
fn sample_pod() -> serde_json::Value {
    json!({
        "metadata": {"namespace": "default", "name": "try-me"},
        "spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "2", "memory": "4Gi"}}}]},
    })
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if !word.is_empty() && word.chars().all(safe) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn put(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a String does not fail.
    let _infallible = writeln!(text, "{line}");
}

/// Prints the text whole. Nobody listening on stdout is no reason not to serve.
pub(super) fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_first_in_their_fixed_form_and_lines_can_be_pasted() {
        let seen = Seen { nodes: 2, pending: 1, pod: Some(("core", "it's")), names: vec!["n0", "n1"] };
        let text =
            render(Some("http://127.0.0.1:4000".into()), Path::new("/run/a b/s.sock"), &Shown::Files(&[]), &seen);
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("listening on http://127.0.0.1:4000"));
        assert_eq!(lines.next(), Some("listening on unix:/run/a b/s.sock"));
        assert!(text.contains(r#"--unix-socket '/run/a b/s.sock' http://localhost/v1/filter"#), "{text}");
        assert!(text.contains(r#"'{"pods":[{"name":{"name":"it'\''s","namespace":"core"}}]}'"#), "{text}");
        assert!(text.contains(r#""NodeNames":["n0","n1"]"#), "{text}");
    }

    #[test]
    fn under_tls_every_line_uses_the_socket_too() {
        let seen = Seen { nodes: 0, pending: 0, pod: None, names: vec![] };
        let text = render(Some("https://10.0.0.1:4000".into()), Path::new("/run/s.sock"), &Shown::Files(&[]), &seen);
        assert!(text.starts_with("listening on https://10.0.0.1:4000\n"), "{text}");
        assert_eq!(text.matches("https://").count(), 1, "{text}");
    }

    #[test]
    fn without_tcp_every_line_uses_the_socket() {
        let seen = Seen { nodes: 0, pending: 0, pod: None, names: vec![] };
        let text = render(None, Path::new("/run/s.sock"), &Shown::Files(&["c.json".into()]), &seen);
        assert!(!text.contains("127.0.0.1"), "{text}");
        assert!(text.contains("nodesift explain --server unix:/run/s.sock"), "{text}");
        assert!(text.contains("--cluster c.json --policy"), "{text}");
    }

    #[test]
    fn of_a_live_cluster_nothing_is_told_that_is_not_known_yet() {
        let seen = Seen { nodes: 0, pending: 0, pod: None, names: vec![] };
        let text = render(None, Path::new("/run/s.sock"), &Shown::Live("https://10.0.0.1:6443/"), &seen);
        assert!(text.contains("following the cluster at https://10.0.0.1:6443/; "), "{text}");
        assert!(text.contains("/readyz") && !text.contains("0 nodes"), "{text}");
    }
}
