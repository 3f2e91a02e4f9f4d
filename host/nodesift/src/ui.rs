//! `nodesift ui`: the explorer in a browser, of a running sidecar, or served from here over a cluster that is read once. Start at [`run`].

use std::net::IpAddr;
use std::process::{Command, Stdio};
use std::thread;

use anyhow::anyhow;
use http::Uri;
use serde_json::Value;

use crate::args::{SourceArgs, UiArgs};
use crate::ask::listed::{self, ListedCluster, Say};
use crate::client::{self, Endpoint, Named};
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
    if let Some(named) = Named::find(args.server.as_deref(), args.socket.as_deref()) {
        return Ok(named.endpoint()?);
    }
    let socket = serve::socket_path(None)?;
    if !socket.exists() {
        return Err(Failure::Unavailable(anyhow!("no sidecar listens on this machine\n{ELSEWHERE}")).into());
    }
    Ok(Endpoint::Socket(socket))
}

/// The URL of a sidecar's explorer, as it is reached from here.
fn explorer_of(endpoint: &Endpoint) -> anyhow::Result<String> {
    let index = client::document(endpoint, "/", limits::CLIENT_INDEX_BYTES)?;
    let url = url_in(&index).ok_or_else(|| {
        let error = anyhow!("it serves no explorer: start it without --no-explorer, at a port that is free");
        client::unavailable(endpoint, "/", error)
    })?;
    reached(endpoint, url).ok_or_else(|| {
        let error = anyhow!("its explorer listens on {url}, which is loopback of its own machine\n{ELSEWHERE}");
        client::unavailable(endpoint, "/", error).into()
    })
}

/// The URL at which an explorer answers that listens on `url` beside its sidecar; none where that is loopback of another machine.
fn reached(endpoint: &Endpoint, url: &str) -> Option<String> {
    let server = match endpoint {
        Endpoint::Socket(_) => "http://localhost".to_owned(),
        Endpoint::Tcp(authority) => format!("http://{authority}"),
    };
    let (server, explorer): (Uri, Uri) = (server.parse().ok()?, url.parse().ok()?);
    let (host, listens) = (server.host()?, address(explorer.host()?));
    let is_here = host == "localhost" || address(host).is_some_and(|host| host.is_loopback() || host.is_unspecified());
    if listens.is_some_and(|listens| listens.is_unspecified()) {
        // On every address of its machine, and so on the one that has answered.
        return Some(format!("{}://{host}:{}", explorer.scheme_str()?, explorer.port()?));
    }
    (is_here || listens.is_none_or(|listens| !listens.is_loopback())).then(|| url.to_owned())
}

/// The address that a host of a URL is; none for a name.
fn address(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
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

    #[test]
    fn loopback_of_another_machine_is_not_opened() {
        for (server, explorer, expected) in [
            ("127.0.0.1:10270", "http://127.0.0.1:10272", Some("http://127.0.0.1:10272")),
            ("localhost:10270", "http://[::1]:10272", Some("http://[::1]:10272")),
            ("[::1]:10270", "https://10.0.0.1:1", Some("https://10.0.0.1:1")),
            ("node-1:10270", "http://127.0.0.1:10272", None),
            ("10.0.0.1:10270", "http://[::1]:10272", None),
            ("10.0.0.1:10270", "http://10.0.0.2:10272", Some("http://10.0.0.2:10272")),
            ("node-1:10270", "https://0.0.0.0:10272", Some("https://node-1:10272")),
            ("[fd00::1]:10270", "http://[::]:10272", Some("http://[fd00::1]:10272")),
        ] {
            let found = reached(&Endpoint::Tcp(server.to_owned()), explorer);
            assert_eq!(found.as_deref(), expected, "{server} tells {explorer}");
        }
        let socket = Endpoint::Socket("/run/nodesift.sock".into());
        assert_eq!(reached(&socket, "http://127.0.0.1:1").as_deref(), Some("http://127.0.0.1:1"));
        assert_eq!(reached(&socket, "http://0.0.0.0:1").as_deref(), Some("http://localhost:1"));
    }
}
