//! The way through a proxy to a server: `CONNECT` or SOCKS 5, over a connection to the proxy.
//!
//! hyper-util has both. Its errors do not say what the proxy has answered, which is often all that can be known of why there is no way;
//! it offers a SOCKS proxy nothing but the name and password, where Go offers none as well; and long ones do not fit. Start at
//! [`Tunnel`].

use std::io;
use std::net::IpAddr;
use std::task::{Context, Poll};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::BoxFuture;
use http::Uri;
use hyper::rt::{Read, Write};
use hyper_util::rt::TokioIo;
use secrecy::{ExposeSecret as _, SecretString};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tower::{BoxError, Service};

use super::failure::plain;
use super::proxy::{Protocol, Proxy};
use crate::limits::KUBE_PROXY_ANSWER_BYTES;

/// Why no way leads through a proxy. The texts say it of the proxy.
#[derive(Debug, thiserror::Error)]
enum Blocked {
    /// There is no connection to it.
    #[error("no connection to it")]
    Unreachable(#[source] BoxError),
    /// The connection to it broke.
    #[error("the connection to it broke")]
    Broken(#[source] io::Error),
    /// It has closed the connection.
    #[error("it has closed the connection instead of answering")]
    Closed,
    /// It speaks something else.
    #[error("it answers with what is no {0}: is it another kind of proxy, or its port another one?")]
    Foreign(&'static str),
    /// Its answer does not end.
    #[error("its answer does not end within {} KiB", KUBE_PROXY_ANSWER_BYTES >> 10)]
    Endless,
    /// The proxy refuses to connect to the API server.
    #[error("it does not connect to the API server: {0}")]
    Refused(String),
    /// It wants to know who asks.
    #[error("it asks for a name and password: write them before its host, as in NAME:PASSWORD@HOST:PORT")]
    Anonymous,
    /// It does not know who asks.
    #[error("it does not accept the name and password in its address")]
    Stranger,
    /// It wants to know who asks in a way that is not known here.
    #[error("it asks for another proof of who asks than a name and password")]
    Method,
    /// Something is longer than SOCKS can have it.
    #[error("{0} has more than 255 bytes")]
    Long(&'static str),
}

impl From<io::Error> for Blocked {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::UnexpectedEof { Self::Closed } else { Self::Broken(error) }
    }
}

/// Makes connections to servers through a proxy, over another connector's connections to the proxy.
#[derive(Debug, Clone)]
pub(super) struct Tunnel<C> {
    proxy: Proxy,
    connector: C,
}

impl<C> Tunnel<C> {
    pub(super) fn new(proxy: Proxy, connector: C) -> Self {
        Self { proxy, connector }
    }
}

impl<C> Service<Uri> for Tunnel<C>
where
    C: Service<Uri>,
    C::Response: Read + Write + Send + Unpin + 'static,
    C::Future: Send + 'static,
    C::Error: Into<BoxError>,
{
    type Response = C::Response;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<C::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.connector.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, server: Uri) -> Self::Future {
        let proxy = self.proxy.clone();
        let connecting = self.connector.call(proxy.address.clone());
        Box::pin(async move {
            let stream = connecting.await.map_err(|error| Blocked::Unreachable(error.into()))?;
            let mut stream = TokioIo::new(stream);
            let user = proxy.user.as_ref();
            match proxy.protocol {
                Protocol::Http | Protocol::Https => connect(&mut stream, place(&server), user).await?,
                Protocol::Socks5 => socks(&mut stream, place(&server), user).await?,
            }
            Ok(stream.into_inner())
        })
    }
}

/// The host of a server, which is an address of IPv6 only within brackets, and its port.
fn place(server: &Uri) -> (&str, u16) {
    let port = if server.scheme_str() == Some("http") { 80 } else { 443 };
    (server.host().unwrap_or_default(), server.port_u16().unwrap_or(port))
}

/// A name and password as a header for proxies has them.
pub(super) fn basic((name, password): &(String, SecretString)) -> String {
    format!("Basic {}", STANDARD.encode(format!("{name}:{}", password.expose_secret())))
}

/// Asks by `CONNECT`. As in Go, any status but 200 is a refusal.
async fn connect(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    (host, port): (&str, u16),
    user: Option<&(String, SecretString)>,
) -> Result<(), Blocked> {
    let authorization = user.map(|user| format!("Proxy-Authorization: {}\r\n", basic(user))).unwrap_or_default();
    send(stream, format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n{authorization}\r\n").as_bytes())
        .await?;
    let answer = status(stream).await?;
    match answer.split(' ').next() {
        Some("200") => Ok(()),
        Some("407") if user.is_some() => Err(Blocked::Stranger),
        Some("407") => Err(Blocked::Anonymous),
        _ => Err(Blocked::Refused(answer)),
    }
}

/// Reads the head of an answer to `CONNECT`, and returns its status and what is said about it. What follows the head is not used: behind
/// a refusal it is a page for people, and behind 200 the client speaks first.
async fn status(stream: &mut (impl AsyncRead + Unpin)) -> Result<String, Blocked> {
    let mut head: Vec<u8> = Vec::new();
    let mut piece = [0; 1024];
    // Some end their lines as Go reads them, without a carriage return.
    let is_whole = |head: &[u8]| head.windows(4).any(|end| end == b"\r\n\r\n" || end.ends_with(b"\n\n"));
    while !is_whole(&head) {
        if head.len() >= KUBE_PROXY_ANSWER_BYTES {
            return Err(Blocked::Endless);
        }
        let read = stream.read(&mut piece).await?;
        if read == 0 {
            return Err(Blocked::Closed);
        }
        head.extend(piece.iter().take(read));
        if head.iter().zip(b"HTTP/1.").any(|(byte, expected)| byte != expected) {
            return Err(Blocked::Foreign("HTTP/1"));
        }
    }
    let head = String::from_utf8_lossy(&head);
    let (_, answer) = head.lines().next().and_then(|line| line.split_once(' ')).unwrap_or_default();
    Ok(plain(answer))
}

/// Asks by SOCKS 5. Names of servers are resolved by the proxy.
async fn socks(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    (host, port): (&str, u16),
    user: Option<&(String, SecretString)>,
) -> Result<(), Blocked> {
    let foreign = || Blocked::Foreign("SOCKS 5");
    // Without a name, or with one, as the proxy likes.
    send(stream, if user.is_some() { &[5, 2, 0, 2] } else { &[5, 1, 0] }).await?;
    match (received::<2>(stream).await?, user) {
        ([5, 0], _) => {}
        ([5, 2], Some((name, password))) => {
            let name = counted(name, "the name for it")?;
            let password = counted(password.expose_secret(), "the password for it")?;
            send(stream, &[[1_u8].as_slice(), &name, &password].concat()).await?;
            let [_, status] = received::<2>(stream).await?;
            if status != 0 {
                return Err(Blocked::Stranger);
            }
        }
        ([5, 255], Some(_)) => return Err(Blocked::Method),
        ([5, 255], None) => return Err(Blocked::Anonymous),
        _ => return Err(foreign()),
    }
    let address = match host.trim_start_matches('[').trim_end_matches(']').parse() {
        Ok(IpAddr::V4(address)) => [[1_u8].as_slice(), &address.octets()].concat(),
        Ok(IpAddr::V6(address)) => [[4_u8].as_slice(), &address.octets()].concat(),
        Err(_) => [[3_u8].as_slice(), &counted(host, "the name of the API server")?].concat(),
    };
    send(stream, &[[5_u8, 1, 0].as_slice(), &address, &port.to_be_bytes()].concat()).await?;
    let [version, outcome, _, kind] = received::<4>(stream).await?;
    if version != 5 {
        return Err(foreign());
    }
    if outcome != 0 {
        return Err(Blocked::Refused(outcome_words(outcome)));
    }
    // Where the proxy connects from is of no use.
    let length = match kind {
        1 => 4,
        3 => usize::from(received::<1>(stream).await?[0]),
        4 => 16,
        _ => return Err(foreign()),
    };
    stream.read_exact(&mut vec![0; length + 2]).await?;
    Ok(())
}

fn outcome_words(outcome: u8) -> String {
    match outcome {
        1 => "it has failed".to_owned(),
        2 => "its rules do not allow it".to_owned(),
        3 => "network unreachable".to_owned(),
        4 => "host unreachable".to_owned(),
        5 => "connection refused".to_owned(),
        6 => "TTL expired".to_owned(),
        7 | 8 => "it supports only other commands or addresses".to_owned(),
        other => format!("code {other} of SOCKS"),
    }
}

/// A text behind its length.
fn counted(text: &str, what: &'static str) -> Result<Vec<u8>, Blocked> {
    let length = u8::try_from(text.len()).map_err(|_| Blocked::Long(what))?;
    Ok([[length].as_slice(), text.as_bytes()].concat())
}

async fn send(stream: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> Result<(), Blocked> {
    stream.write_all(bytes).await?;
    Ok(stream.flush().await?)
}

async fn received<const BYTES: usize>(stream: &mut (impl AsyncRead + Unpin)) -> Result<[u8; BYTES], Blocked> {
    let mut bytes = [0; BYTES];
    stream.read_exact(&mut bytes).await?;
    Ok(bytes)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tokio::io::duplex;

    use super::*;

    /// Asks a proxy that answers so and then closes the connection; returns the outcome, and the bytes that it has received. The name for
    /// it is `us`, the password `pa:ss`.
    async fn asked(protocol: Protocol, is_named: bool, answer: &[u8]) -> (Result<(), String>, Vec<u8>) {
        let (mut own, mut proxy) = duplex(1 << 20);
        proxy.write_all(answer).await.unwrap();
        proxy.shutdown().await.unwrap();
        let user = ("us".to_owned(), SecretString::from("pa:ss"));
        let user = is_named.then_some(&user);
        let outcome = match protocol {
            Protocol::Http | Protocol::Https => connect(&mut own, ("api.example", 6443), user).await,
            Protocol::Socks5 => socks(&mut own, ("api.example", 6443), user).await,
        };
        drop(own);
        let mut asked = Vec::new();
        proxy.read_to_end(&mut asked).await.unwrap();
        (outcome.map_err(|error| error.to_string()), asked)
    }

    #[tokio::test]
    async fn connect_leads_to_the_server_or_to_what_the_proxy_says() {
        let (outcome, head) =
            asked(Protocol::Http, true, b"HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\n").await;
        assert_eq!(outcome, Ok(()));
        let expected = "CONNECT api.example:6443 HTTP/1.1\r\nHost: api.example:6443\r\nProxy-Authorization: Basic dXM6cGE6c3M=\r\n\r\n";
        assert_eq!(String::from_utf8(head).unwrap(), expected);
        let (outcome, head) = asked(Protocol::Http, false, b"HTTP/1.0 200\r\n\r\n").await;
        assert_eq!(outcome, Ok(()));
        assert!(!String::from_utf8(head).unwrap().contains("Authorization"));

        let endless = [b"HTTP/1.1 200 OK\r\n".as_slice(), &b"a: b\r\n".repeat(10_000)].concat();
        let cases: [(&[u8], &str); 9] = [
            (
                b"HTTP/1.1 403 Forbidden\x1b[2Jby policy\r\nServer: x\r\n\r\n<html>",
                "it does not connect to the API server: 403 Forbidden [2Jby policy",
            ),
            (
                b"HTTP/1.1 302 Found\r\nLocation: http://other/\r\n\r\n",
                "it does not connect to the API server: 302 Found",
            ),
            (b"HTTP/1.1 204 No Content\r\n\r\n", "it does not connect to the API server: 204 No Content"),
            (b"HTTP/1.1 407 x\r\n\r\n", "it asks for a name and password"),
            (b"", "it has closed the connection"),
            (b"HTTP/1.1 200 OK\r\n", "it has closed the connection"),
            (b"\x15\x03\x03\x00\x02\x01\x00", "it answers with what is no HTTP/1"),
            (&endless, "its answer does not end within 8 KiB"),
            (b"HTTP/1.1\r\n\r\n", "it does not connect to the API server: "),
        ];
        for (answer, words) in cases {
            let (outcome, _) = asked(Protocol::Https, false, answer).await;
            assert!(outcome.as_ref().is_err_and(|error| error.starts_with(words)), "{words}: {outcome:?}");
        }
        let (outcome, _) = asked(Protocol::Http, true, b"HTTP/1.1 407 x\r\n\r\n").await;
        assert_eq!(outcome, Err("it does not accept the name and password in its address".to_owned()));
    }

    /// The request for the server, behind what comes before.
    fn for_the_server(before: &[u8]) -> Vec<u8> {
        [before, &[5, 1, 0, 3, 11], b"api.example", &[0x19, 0x2b]].concat()
    }

    #[tokio::test]
    async fn socks_leads_to_the_server_or_to_what_the_proxy_says() {
        const DONE: [u8; 10] = [5, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        let (outcome, bytes) = asked(Protocol::Socks5, false, &[[5_u8, 0].as_slice(), &DONE].concat()).await;
        assert_eq!((outcome, bytes), (Ok(()), for_the_server(&[5, 1, 0])));
        // A proxy that does not want to know who asks is not told.
        let (outcome, bytes) = asked(Protocol::Socks5, true, &[[5_u8, 0].as_slice(), &DONE].concat()).await;
        assert_eq!((outcome, bytes), (Ok(()), for_the_server(&[5, 2, 0, 2])));
        let (outcome, bytes) = asked(Protocol::Socks5, true, &[5, 2, 1, 0, 5, 0, 0, 3, 1, b'x', 0, 0]).await;
        assert_eq!((outcome, bytes), (Ok(()), for_the_server(b"\x05\x02\x00\x02\x01\x02us\x05pa:ss")));

        let cases: [(bool, &[u8], &str); 10] = [
            (true, &[5, 2, 1, 1], "it does not accept the name and password"),
            (true, &[5, 255], "it asks for another proof"),
            (false, &[5, 255], "it asks for a name and password"),
            (false, &[5, 2], "it answers with what is no SOCKS 5"),
            (false, b"HTTP/1.1 400 Bad Request\r\n\r\n", "it answers with what is no SOCKS 5"),
            (false, &[5, 0, 5, 5, 0, 1], "it does not connect to the API server: connection refused"),
            (false, &[5, 0, 5, 99, 0, 1], "it does not connect to the API server: code 99 of SOCKS"),
            (false, &[5, 0, 5, 0, 0, 9], "it answers with what is no SOCKS 5"),
            (false, &[5, 0, 5, 0, 0, 1, 0], "it has closed the connection"),
            (false, &[], "it has closed the connection"),
        ];
        for (is_named, answer, words) in cases {
            let (outcome, _) = asked(Protocol::Socks5, is_named, answer).await;
            assert!(outcome.as_ref().is_err_and(|error| error.starts_with(words)), "{words}: {outcome:?}");
        }
    }

    #[tokio::test]
    async fn socks_is_told_addresses_as_addresses_and_names_of_255_bytes() {
        let long = "n".repeat(255);
        let named = [[3_u8, 255].as_slice(), long.as_bytes()].concat();
        let sixth = [[4_u8].as_slice(), &[0; 15], &[1]].concat();
        for (host, address) in [("192.0.2.1", vec![1, 192, 0, 2, 1]), ("[::1]", sixth), (long.as_str(), named)] {
            let (mut own, mut proxy) = duplex(1 << 10);
            proxy.write_all(&[5, 0, 5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await.unwrap();
            socks(&mut own, (host, 443), None).await.unwrap();
            drop(own);
            let mut bytes = Vec::new();
            proxy.read_to_end(&mut bytes).await.unwrap();
            assert_eq!(bytes, [[5_u8, 1, 0, 5, 1, 0].as_slice(), &address, &[1, 187]].concat(), "{host}");
        }
        let user = ("us".to_owned(), SecretString::from("p".repeat(256)));
        let (mut own, mut proxy) = duplex(1 << 10);
        proxy.write_all(&[5, 2]).await.unwrap();
        let error = socks(&mut own, ("api.example", 443), Some(&user)).await.unwrap_err();
        assert_eq!(error.to_string(), "the password for it has more than 255 bytes");
    }

    #[test]
    fn a_server_without_a_port_has_that_of_its_scheme() {
        for (server, expected) in [
            ("http://api.example", ("api.example", 80)),
            ("https://api.example", ("api.example", 443)),
            ("https://[::1]:6443", ("[::1]", 6443)),
        ] {
            assert_eq!(place(&Uri::from_static(server)), expected);
        }
    }
}
