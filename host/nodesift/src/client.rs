//! A running sidecar: which one is meant, one GET request, for commands that print what it says, or a gRPC channel. Start at [`Named`],
//! [`get`] and [`channel`].

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use http::{Request, StatusCode, Uri, header};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::runtime::Builder;
use tokio::time::timeout;
use tonic::transport;

use crate::exit::Failure;
use crate::limits;

/// The option that names a sidecar by its URL.
pub(crate) const SERVER: &str = "--server";

/// Where the sidecar listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Endpoint {
    Socket(PathBuf),
    Tcp(String),
}

/// The sidecar that a command line names, else the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Named {
    /// By the URL of `--server`, else of `$NODESIFT_SERVER`.
    Server {
        url: String,
        /// Which of the two it is from, for errors.
        option: &'static str,
    },
    /// By the path of `--socket`.
    Socket(PathBuf),
    /// By the path of `$NODESIFT_SOCKET`.
    SocketOfEnvironment(PathBuf),
}

impl Named {
    /// The one that the values of `--server` and `--socket` name, else the environment; none where nothing does.
    pub(crate) fn find(server: Option<&str>, socket: Option<&Path>) -> Option<Self> {
        Self::first(server, socket, std::env::var_os("NODESIFT_SERVER"), std::env::var_os("NODESIFT_SOCKET"))
    }

    /// The first that is there: what is typed wins over each variable, and an empty variable is none.
    fn first(
        server: Option<&str>,
        socket: Option<&Path>,
        server_variable: Option<OsString>,
        socket_variable: Option<OsString>,
    ) -> Option<Self> {
        let typed = server.map(|url| Self::Server { url: url.to_owned(), option: SERVER });
        let typed = typed.or_else(|| socket.map(|path| Self::Socket(path.to_owned())));
        let is_set = |value: &OsString| !value.is_empty();
        let of_environment = || {
            let server = server_variable
                .filter(is_set)
                .map(|url| Self::Server { url: url.to_string_lossy().into_owned(), option: "$NODESIFT_SERVER" });
            server.or_else(|| socket_variable.filter(is_set).map(|path| Self::SocketOfEnvironment(path.into())))
        };
        typed.or_else(of_environment)
    }

    /// Where it listens.
    ///
    /// # Errors
    ///
    /// [`Failure::Usage`] if the URL has another form than `unix:PATH` or `http://HOST:PORT`.
    pub(crate) fn endpoint(self) -> Result<Endpoint, Failure> {
        match self {
            Self::Server { url, option } => Endpoint::from_server(option, &url),
            Self::Socket(path) | Self::SocketOfEnvironment(path) => Ok(Endpoint::Socket(path)),
        }
    }
}

impl Endpoint {
    /// A listener without TLS, from the value `http://HOST:PORT` of an option.
    ///
    /// # Errors
    ///
    /// [`Failure::Usage`] if it has another form.
    pub(crate) fn from_url(option: &str, url: &str) -> Result<Self, Failure> {
        authority(option, url).map(Self::Tcp)
    }

    /// A listener without TLS, from the value `unix:PATH` or `http://HOST:PORT` of an option or a variable.
    ///
    /// # Errors
    ///
    /// [`Failure::Usage`] if it has another form.
    pub(crate) fn from_server(option: &str, url: &str) -> Result<Self, Failure> {
        match url.strip_prefix("unix:").map(|path| path.strip_prefix("//").unwrap_or(path)) {
            Some("") => Err(Failure::Usage(format!("{option} {url:?}: expected unix:PATH or http://HOST:PORT"))),
            Some(path) => Ok(Self::Socket(PathBuf::from(path))),
            None => Self::from_url(option, url),
        }
    }
}

/// Asks for a JSON document of at most `bytes` bytes.
///
/// # Errors
///
/// [`Failure::Unavailable`] if the sidecar does not give it within [`limits::CLIENT_CONNECT`], and an error of no kind of its own if it is
/// no JSON.
pub(crate) fn document(endpoint: &Endpoint, path: &str, bytes: usize) -> anyhow::Result<Value> {
    let (code, text) = get(endpoint, path, limits::CLIENT_CONNECT, bytes)?;
    if code != StatusCode::OK {
        let error = anyhow!("{}: {}", code.as_u16(), text.trim());
        return Err(unavailable(endpoint, path, error).into());
    }
    serde_json::from_str(&text).context("the sidecar's answer is not JSON")
}

/// Asks, and returns status and body: at most `bytes`, within `time`.
///
/// # Errors
///
/// [`Failure::Unavailable`] if there is no whole answer in time.
pub(crate) fn get(
    endpoint: &Endpoint,
    path: &str,
    time: Duration,
    bytes: usize,
) -> anyhow::Result<(StatusCode, String)> {
    let runtime = Builder::new_current_thread().enable_all().build().context("cannot start the network client")?;
    let answer = runtime.block_on(async { timeout(time, ask(endpoint, path, bytes)).await });
    // A lookup of a name that does not end is not waited for.
    runtime.shutdown_background();
    match answer {
        Ok(answer) => Ok(answer.map_err(|error| unavailable(endpoint, path, error))?),
        Err(_) => Err(unavailable(endpoint, path, anyhow!("no answer within {} ms", time.as_millis())).into()),
    }
}

/// The failure of a request, with the address that was asked and the path apart from that: both could be of a file.
pub(crate) fn unavailable(endpoint: &Endpoint, path: &str, error: anyhow::Error) -> Failure {
    let name = match endpoint {
        Endpoint::Socket(path) => format!("unix:{}", path.display()),
        Endpoint::Tcp(authority) => format!("http://{authority}"),
    };
    Failure::Unavailable(error.context(format!("the sidecar at {name}: GET {path}")))
}

/// Where to connect to for gRPC, from the value `unix:PATH` or `http://HOST:PORT` of an option or a variable.
///
/// # Errors
///
/// [`Failure::Usage`] if the URL has another form.
pub(crate) fn channel(option: &str, url: &str) -> Result<transport::Endpoint, Failure> {
    let usage = || Failure::Usage(format!("{option} {url:?}: expected unix:PATH or http://HOST:PORT"));
    let socket = url.strip_prefix("unix:").map(|path| path.strip_prefix("//").unwrap_or(path));
    match socket {
        Some("") => Err(usage()),
        Some(path) => transport::Endpoint::from_shared(format!("unix:{path}")).map_err(|_| usage()),
        None if url.starts_with("http://") => transport::Endpoint::from_shared(url.to_owned()).map_err(|_| usage()),
        None => Err(usage()),
    }
}

/// Host and port of `http://HOST:PORT`.
fn authority(option: &str, url: &str) -> Result<String, Failure> {
    let usage = || {
        let text = format!(
            "{option} {url:?}: expected http://HOST:PORT; a listener with TLS is asked over --socket, or has \
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

async fn ask(endpoint: &Endpoint, path: &str, bytes: usize) -> anyhow::Result<(StatusCode, String)> {
    match endpoint {
        Endpoint::Socket(socket) => exchange(UnixStream::connect(socket).await?, "localhost", path, bytes).await,
        Endpoint::Tcp(authority) => {
            // Names are looked up on another thread, within the timeout.
            exchange(TcpStream::connect(authority.as_str()).await?, authority, path, bytes).await
        }
    }
}

async fn exchange<I>(io: I, host: &str, path: &str, bytes: usize) -> anyhow::Result<(StatusCode, String)>
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(io)).await?;
    // Its errors reach the request too.
    tokio::spawn(connection);
    let request = Request::get(path).header(header::HOST, host).body(Empty::<Bytes>::new())?;
    let response = sender.send_request(request).await?;
    let status = response.status();
    let body = Limited::new(response.into_body(), bytes).collect().await.map_err(|error| anyhow!(error))?;
    Ok((status, String::from_utf8_lossy(&body.to_bytes()).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_wins_over_the_environment() {
        let (url, path) = ("http://127.0.0.1:1", Path::new("/t.sock"));
        let (server, socket) = (|| Some("unix:/s".into()), || Some("/e.sock".into()));
        let first = |url, path| Named::first(url, path, server(), socket());
        assert_eq!(first(None, Some(path)), Some(Named::Socket(path.to_owned())));
        let named = |url: &str, option| Some(Named::Server { url: url.to_owned(), option });
        assert_eq!(first(Some(url), None), named(url, "--server"));
        assert_eq!(first(None, None), named("unix:/s", "$NODESIFT_SERVER"));
        let of_environment = |server, socket| Named::first(None, None, server, socket);
        let expected = Some(Named::SocketOfEnvironment("/e.sock".into()));
        assert_eq!(of_environment(None, socket()), expected);
        assert_eq!(of_environment(Some(OsString::new()), socket()), expected);
        assert_eq!(of_environment(None, Some(OsString::new())), None);
    }

    #[test]
    fn a_url_that_is_none_is_refused_by_the_name_of_what_it_is_from() {
        for url in ["https://h:1", "unix:"] {
            let typed = Named::first(Some(url), None, Some("unix:/s".into()), None);
            let of_environment = Named::first(None, None, Some(url.into()), None);
            for (named, option) in [(typed, "--server"), (of_environment, "$NODESIFT_SERVER")] {
                let said = match named.map(Named::endpoint) {
                    Some(Err(Failure::Usage(said))) => said,
                    other => format!("{:?}", other.map(|endpoint| endpoint.is_ok())),
                };
                assert!(said.starts_with(&format!("{option} {url:?}: expected")), "{said}");
            }
        }
    }

    #[test]
    fn a_url_is_plain_http_with_a_port_and_no_path() {
        assert_eq!(authority("--url", "http://127.0.0.1:8080").ok().as_deref(), Some("127.0.0.1:8080"));
        assert_eq!(authority("--url", "http://[::1]:8080/").ok().as_deref(), Some("[::1]:8080"));
        for url in ["", "127.0.0.1:1", "https://a:1", "http://a", "http://a:1/readyz", "unix:/s.sock"] {
            assert!(matches!(authority("--url", url), Err(Failure::Usage(_))), "{url}");
        }
    }

    #[test]
    fn only_sockets_and_plain_http_are_supported() {
        for url in ["unix:/run/s.sock", "unix:///run/s.sock", "unix:s.sock", "http://127.0.0.1:1"] {
            assert!(channel("--server", url).is_ok(), "{url}");
        }
        for url in ["", "unix:", "unix://", "https://127.0.0.1:1", "127.0.0.1:1", "http://", "http:// x"] {
            assert!(matches!(channel("--server", url), Err(Failure::Usage(_))), "{url}");
        }
    }
}
