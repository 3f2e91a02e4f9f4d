//! `nodesift ui`: the explorer in a browser, of a running sidecar, or served from here over a cluster that is read once. Start at [`run`].

use std::process::{Command, Stdio};
use std::thread;

use anyhow::anyhow;
use serde_json::Value;

use crate::args::{SourceArgs, UiArgs};
use crate::ask::listed::{self, ListedCluster, Say};
use crate::client::{self, Endpoint};
use crate::cluster::{self, Opened, Origin};
use crate::exit::Failure;
use crate::{limits, serve, terminal};
use nodesift_source::Summary;

/// How a sidecar in a cluster is reached. A port-forward of this program's own would need the feature `ws` of its client.
const ELSEWHERE: &str = "a sidecar in a cluster is reached through a port-forward, which this program does not make:
  kubectl get pods -A -l nodesift.dev/sidecar=true
  kubectl port-forward -n NAMESPACE pod/NAME 10272:10272
and then http://127.0.0.1:10272/ in a browser. Without a sidecar: nodesift ui --local";

/// Prints the link, and opens it unless that is not wanted.
///
/// # Errors
///
/// [`Failure::Unavailable`] if there is no sidecar, or it has no explorer; [`Failure::Usage`] if a cluster is named without `--local`; and
/// those of opening the cluster, and of a write to stdout.
pub(crate) fn run(args: &UiArgs) -> anyhow::Result<()> {
    let shown = |url: &str| {
        terminal::print(&format!("{url}/\n"))?;
        if !args.no_open {
            open(&format!("{url}/"));
        }
        Ok(())
    };
    if args.local {
        return serve::local(opened(&args.source)?, args.port, shown);
    }
    if !args.source.cluster.is_empty() || args.source.listed.origin().is_some() {
        return Err(
            Failure::Usage("with a cluster, say --local: it is read once, and served from here".to_owned()).into()
        );
    }
    shown(&explorer_of(&endpoint(&args.source)?)?)
}

/// The sidecar that is named, else the one at the socket.
fn endpoint(args: &SourceArgs) -> anyhow::Result<Endpoint> {
    if let Some(url) = &args.server {
        return Ok(Endpoint::from_server(url)?);
    }
    let socket = serve::socket_path(args.socket.as_ref())?;
    if args.socket.is_none() && !socket.exists() {
        return Err(Failure::Unavailable(anyhow!("no sidecar listens on this machine\n{ELSEWHERE}")).into());
    }
    Ok(Endpoint::Socket(socket))
}

/// The URL of a sidecar's explorer.
fn explorer_of(endpoint: &Endpoint) -> anyhow::Result<String> {
    let index = client::document(endpoint, "/", limits::CLIENT_INDEX_BYTES)?;
    url_in(&index).map(str::to_owned).ok_or_else(|| {
        let error = anyhow!("it serves no explorer: start it without --no-explorer, at a port that is free");
        client::unavailable(endpoint, "/", error).into()
    })
}

/// The URL that a sidecar tells. It is opened by another program: nothing but a URL of HTTP may be.
fn url_in(index: &Value) -> Option<&str> {
    let url = index["explorer"].as_str()?;
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"))?;
    let is_address = !rest.is_empty() && rest.chars().all(|c| c.is_ascii_alphanumeric() || ".:[]-".contains(c));
    is_address.then_some(url)
}

/// The cluster of the files that are named, else one list of that of the kubeconfig.
fn opened(args: &SourceArgs) -> anyhow::Result<Opened> {
    if !args.cluster.is_empty() {
        let opened = cluster::open(&Origin::Files(&args.cluster), &args.policy)?;
        cluster::note_summary(&opened.summary);
        return Ok(opened);
    }
    if !args.listed.skip.is_empty() {
        let text =
            "the page shows verdicts of the whole policy: leave --skip out, and name what may run with --predicates";
        return Err(Failure::Usage(text.to_owned()).into());
    }
    let listed = listed::open(&args.listed.default_origin(), &args.policy, &[], Say::What)?;
    let ListedCluster { engine, writer, runtime, .. } = listed;
    runtime.shutdown_background();
    Ok(Opened { engine, writer, summary: Summary::default(), files: None })
}

/// Opens a link in the browser of the desktop; without one, or where that fails, says so.
fn open(url: &str) {
    let has_desktop = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
    if !has_desktop {
        return terminal::note("no desktop here: open the link in a browser");
    }
    let started =
        Command::new("xdg-open").arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    match started {
        // Its end is waited for, so that it leaves no process behind while the explorer is served.
        Ok(mut child) => drop(thread::spawn(move || child.wait())),
        Err(error) => terminal::note(&format!("xdg-open: {error}: open the link in a browser")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_but_the_address_of_a_page_is_opened() {
        let of = |explorer: Value| url_in(&json!({"explorer": explorer})).map(str::to_owned);
        for url in ["http://127.0.0.1:10272", "https://[::1]:1", "http://host-1.example:80"] {
            assert_eq!(of(json!(url)).as_deref(), Some(url));
        }
        for other in [
            json!(null),
            json!(1),
            json!("file:///etc/passwd"),
            json!("http://"),
            json!("http://a/b"),
            json!("http://a b"),
        ] {
            assert_eq!(of(other.clone()), None, "{other}");
        }
    }
}
