//! `nodesift health`: one request to the probes of a running sidecar, as an exec probe. Start at [`run`].

use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use http::{Request, StatusCode, Uri, header};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::runtime::Builder;
use tokio::time::timeout;

use crate::args::HealthArgs;
use crate::exit::Failure;
use crate::{limits, serve, terminal};

/// Where the sidecar listens.
#[derive(Debug, PartialEq, Eq)]
enum Endpoint {
    Socket(PathBuf),
    Tcp(String),
}

/// Asks, and prints what the sidecar says.
///
/// # Errors
///
/// [`Failure::Usage`] if there is nothing to ask, [`Failure::Unavailable`] if there is no answer in time, or another than 200.
pub(crate) fn run(args: &HealthArgs) -> anyhow::Result<()> {
    let endpoint = match &args.url {
        Some(url) => Endpoint::Tcp(authority(url)?),
        None => Endpoint::Socket(serve::socket_path(args.socket.as_ref())?),
    };
    let path = if args.live { "/livez" } else { "/readyz" };
    let runtime = Builder::new_current_thread().enable_all().build().context("cannot start the network client")?;
    let answer = runtime.block_on(async { timeout(limits::HEALTH, ask(&endpoint, path)).await });
    // A lookup of a name that does not end is not waited for.
    runtime.shutdown_background();
    let unavailable = |error: anyhow::Error| {
        let name = match &endpoint {
            Endpoint::Socket(path) => format!("unix:{}", path.display()),
            Endpoint::Tcp(authority) => format!("http://{authority}"),
        };
        Failure::Unavailable(error.context(format!("{name}{path}")))
    };
    let (status, text) = match answer {
        Ok(answer) => answer.map_err(unavailable)?,
        Err(_) => return Err(unavailable(anyhow!("no answer within {} ms", limits::HEALTH.as_millis())).into()),
    };
    if status != StatusCode::OK {
        return Err(unavailable(anyhow!("{}: {}", status.as_u16(), text.trim())).into());
    }
    terminal::print(&terminal::escaped(&text))
}

/// Host and port of `http://HOST:PORT`.
fn authority(url: &str) -> Result<String, Failure> {
    let usage = || {
        let text = format!(
            "--url {url:?}: expected http://HOST:PORT; a listener with TLS is asked over --socket, or has \
                            another with --probe-listen beside it"
        );
        Failure::Usage(text)
    };
    let parsed: Uri = url.parse().map_err(|_| usage())?;
    let has_port = parsed.port().is_some();
    match parsed.authority() {
        Some(authority) if parsed.scheme_str() == Some("http") && has_port && matches!(parsed.path(), "" | "/") => {
            Ok(authority.to_string())
        }
        _ => Err(usage()),
    }
}

async fn ask(endpoint: &Endpoint, path: &str) -> anyhow::Result<(StatusCode, String)> {
    match endpoint {
        Endpoint::Socket(socket) => exchange(UnixStream::connect(socket).await?, "localhost", path).await,
        Endpoint::Tcp(authority) => {
            // Names are looked up on another thread, within the timeout.
            exchange(TcpStream::connect(authority.as_str()).await?, authority, path).await
        }
    }
}

async fn exchange<I>(io: I, host: &str, path: &str) -> anyhow::Result<(StatusCode, String)>
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(io)).await?;
    // Its errors reach the request too.
    tokio::spawn(connection);
    let request = Request::get(path).header(header::HOST, host).body(Empty::<Bytes>::new())?;
    let response = sender.send_request(request).await?;
    let status = response.status();
    let body =
        Limited::new(response.into_body(), limits::HEALTH_BYTES).collect().await.map_err(|error| anyhow!(error))?;
    Ok((status, String::from_utf8_lossy(&body.to_bytes()).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_plain_http_with_a_port_and_no_path() {
        assert_eq!(authority("http://127.0.0.1:8080").ok().as_deref(), Some("127.0.0.1:8080"));
        assert_eq!(authority("http://[::1]:8080/").ok().as_deref(), Some("[::1]:8080"));
        for url in ["", "127.0.0.1:1", "https://a:1", "http://a", "http://a:1/readyz", "unix:/s.sock"] {
            assert!(matches!(authority(url), Err(Failure::Usage(_))), "{url}");
        }
    }
}
