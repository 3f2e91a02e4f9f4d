//! Connections: accepted up to a limit per listener, served as HTTP/1.1 or HTTP/2, drained at the end.
//!
//! The Unix socket is served by [`Threads`] of its own, one for each core; TCP by the runtime that accepts.
//!
//! Start at [`Server`].

use std::convert::Infallible;
use std::io;
use std::num::NonZero;
use std::pin::pin;
use std::sync::Arc;
use std::thread::available_parallelism;

use bytes::Bytes;
use http::{Request, Response, Version};
use hyper::body::{Body, Incoming};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use tower::{Service, ServiceExt as _};

use super::budget::BudgetMetrics;
use super::guarded_io::GuardedIo;
use super::joined_writes;
use super::listen::{Accepted, Connection, Listener, TcpListener, UnixListener};
use super::places::{Activity, Place, Places};
use super::threads::Threads;
use super::tls::Tls;
use super::unsent::{Unsent, UnsentBudget};
use crate::{BoxError, Caller, Identity, Peer, limits};

/// Listeners that have their requests answered by a service until they are drained.
#[derive(Debug)]
pub struct Server<S> {
    service: S,
    stop: CancellationToken,
    /// Places for connections, with their number, one entry per listener.
    connections: Vec<(Places, usize)>,
    accepting: Vec<JoinHandle<()>>,
    /// Threads that serve the Unix socket, until it is drained.
    threads: Vec<Arc<Threads>>,
    /// Whether the files of certificates are looked at already, for all listeners that have them.
    follows_tls: bool,
}

/// The differences between listeners.
#[derive(Debug, Clone, Copy)]
struct Kind {
    /// The most connections at once.
    connections: usize,
    /// Whether it is that of the explorer.
    is_explorer: bool,
}

impl Kind {
    /// Any listener but that of the explorer.
    const ORDINARY: Self = Self { connections: limits::CONNECTIONS, is_explorer: false };

    /// The listener of the explorer.
    const EXPLORER: Self = Self { connections: limits::EXPLORER_CONNECTIONS, is_explorer: true };
}

/// How a drain ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drained {
    /// Every connection has ended.
    Whole,
    /// The grace period has passed with connections open.
    CutShort,
}

impl<S, B> Server<S>
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible, Future: Send> + Clone + Send + 'static,
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    /// A server without listeners. Requests have a [`Peer`] among their extensions.
    pub fn new(service: S) -> Self {
        let (connections, accepting, threads) = (Vec::new(), Vec::new(), Vec::new());
        Self { service, stop: CancellationToken::new(), connections, accepting, threads, follows_tls: false }
    }

    /// Starts to serve a Unix socket, on threads of its own. Needs a tokio runtime.
    ///
    /// # Errors
    ///
    /// Where the system starts no thread.
    pub fn listen_unix(&mut self, listener: UnixListener) -> io::Result<()> {
        // One in all would take less time for many connections, and have no more than one core for them.
        let count = available_parallelism().map_or(1, NonZero::get).min(limits::SOCKET_THREADS);
        let threads = Arc::new(Threads::start("unix-socket", count)?);
        self.threads.push(Arc::clone(&threads));
        self.listen(listener, None, self.service.clone(), Some(threads), Kind::ORDINARY);
        Ok(())
    }

    /// Starts to serve a TCP port, under TLS where given. Needs a tokio runtime.
    pub fn listen_tcp(&mut self, listener: TcpListener, tls: Option<Tls>) {
        self.listen(listener, tls, self.service.clone(), None, Kind::ORDINARY);
    }

    /// Starts to serve a TCP port of its own for probes by another service, without TLS. Needs a tokio runtime.
    pub fn listen_probes(&mut self, listener: TcpListener, probes: S) {
        self.listen(listener, None, probes, None, Kind::ORDINARY);
    }

    /// Starts to serve a TCP port of its own for browsers by another service, under TLS where given, with fewer places and bytes than
    /// others. Needs a tokio runtime.
    pub fn listen_explorer(&mut self, listener: TcpListener, tls: Option<Tls>, explorer: S) {
        self.listen(listener, tls, explorer, None, Kind::EXPLORER);
    }

    fn listen<L: Listener<Io: Accepted>>(
        &mut self,
        listener: L,
        tls: Option<Tls>,
        service: S,
        threads: Option<Arc<Threads>>,
        kind: Kind,
    ) {
        let connections = Places::for_connections(kind.connections);
        self.connections.push((connections.clone(), kind.connections));
        if let Some(tls) = tls.clone().filter(|_| !std::mem::replace(&mut self.follows_tls, true)) {
            tokio::spawn(tls.follow(self.stop.clone()));
        }
        let metrics = BudgetMetrics::default();
        let unsent = if kind.is_explorer { UnsentBudget::of_explorer(metrics) } else { UnsentBudget::new(metrics) };
        let serving =
            Serving { service, protocols: protocols(), stop: self.stop.clone(), is_explorer: kind.is_explorer };
        self.accepting.push(tokio::spawn(serving.accept(listener, tls, connections, unsent, threads)));
    }

    /// Ends readiness, stops accepting, and waits for running requests, for [`limits::DRAIN_GRACE`] at most. The addresses are free
    /// then.
    pub async fn drain(self, end_readiness: impl FnOnce()) -> Drained {
        end_readiness();
        sleep(limits::DRAIN_NOTICE).await;
        self.stop.cancel();
        let end = Instant::now() + limits::DRAIN_GRACE;
        for accepting in self.accepting {
            // A task that panicked has left its address as well.
            let _ended = timeout_at(end, accepting).await;
        }
        let mut drained = Drained::Whole;
        for (connections, count) in &self.connections {
            if timeout_at(end, connections.all_free(*count)).await.is_err() {
                drained = Drained::CutShort;
            }
        }
        drained
    }
}

/// Service, protocols and end of all connections of a listener.
#[derive(Debug, Clone)]
struct Serving<S> {
    service: S,
    protocols: auto::Builder<TokioExecutor>,
    stop: CancellationToken,
    is_explorer: bool,
}

impl<S, B> Serving<S>
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible, Future: Send> + Clone + Send + 'static,
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    /// Accepts until stopped. At the limit of connections, one that comes takes the place of the one that is idle longest; where
    /// none is idle, it waits, and further ones in the kernel's backlog.
    async fn accept<L: Listener>(
        self,
        mut listener: L,
        tls: Option<Tls>,
        connections: Places,
        unsent: UnsentBudget,
        threads: Option<Arc<Threads>>,
    ) {
        loop {
            let next = async {
                let io = listener.accept().await;
                let activity = Activity::default();
                (io, connections.enter(activity.clone(), &activity).await)
            };
            let Some((io, place)) = self.stop.run_until_cancelled(next).await else { return };
            // It is never refused: this is the only one who waits.
            let Some(place) = place else { continue };
            let unsent = Unsent::new(&unsent, place.activity());
            // A slow handshake must not hold up the next accept.
            let connection = self.clone().begin(io, tls.clone(), place, unsent, threads.is_some());
            match &threads {
                Some(threads) => threads.spawn(connection),
                None => drop(tokio::spawn(connection)),
            }
        }
    }

    /// Serves a connection that has been accepted, by another runtime than this one where it `has_moved`.
    async fn begin(self, io: impl Accepted, tls: Option<Tls>, place: Place, unsent: Unsent, has_moved: bool) {
        let io = if has_moved { io.moved_here() } else { Ok(io) };
        let io = match io {
            Ok(io) => io,
            Err(error) => return tracing::debug!(%error, "connection closed: it cannot be served by another thread"),
        };
        let Some(tls) = tls else {
            let caller = io.caller();
            return self.serve(io, caller, place, unsent).await;
        };
        let dismissed = place.dismissed();
        tokio::select! {
            handshake = tls.accept(io) => match handshake {
                Ok(io) => {
                    let caller = Caller::Tcp { identity: Identity::from_connection(&io) };
                    self.serve(io, caller, place, unsent).await;
                }
                Err(error) => tracing::debug!(%error, "TLS handshake failed"),
            },
            () = dismissed => tracing::debug!("connection closed: another needs its place"),
        }
    }

    /// Serves one connection to its end. On a stop, HTTP/1 finishes its request and HTTP/2 sends GOAWAY and finishes its
    /// streams; where the connection is idle or old, or another needs its place, they have a limited time for that.
    async fn serve(self, io: impl Connection, caller: Caller, place: Place, unsent: Unsent) {
        let Self { service, protocols, stop, is_explorer } = self;
        let activity = place.activity().clone();
        let is_local = matches!(caller, Caller::Socket { .. });
        // From the wire to the service: limits on bytes and frames, joined writes, HTTP within its limits, the peer of a request.
        let (io, flusher) = joined_writes::join(GuardedIo::new(io, activity.clone(), is_local));
        let peer = Peer { caller, activity: activity.clone(), unsent: Some(unsent.clone()), began: None, is_explorer };
        let service = service.map_request(move |mut request: Request<Incoming>| {
            peer.activity.touch();
            let began = if request.version() == Version::HTTP_2 { None } else { peer.activity.take_head() };
            request.extensions_mut().insert(Peer { began, ..peer.clone() });
            request
        });
        let io = TokioIo::new(io);
        let mut connection = pin!(protocols.serve_connection(io, TowerToHyperService::new(service)));
        let ended = async {
            let grace = tokio::select! {
                outcome = flusher.drive(connection.as_mut()) => return outcome,
                () = stop.cancelled() => None,
                () = place.dismissed() => Some(limits::DISMISSAL_GRACE),
                () = expiry(&activity) => Some(limits::CONNECTION_GRACE),
            };
            activity.close();
            connection.as_mut().graceful_shutdown();
            match grace {
                None => flusher.drive(connection).await,
                Some(grace) => timeout(grace, flusher.drive(connection)).await.unwrap_or(Ok(())),
            }
        };
        // Failures of clients are no failures of the sidecar, so they are logged at debug level.
        tokio::select! {
            outcome = ended => if let Err(error) = outcome {
                tracing::debug!(%error, "connection ended with an error");
            },
            () = activity.ended() => tracing::debug!("connection closed: others need what it holds"),
            () = unsent.overdue(&stop) => tracing::debug!("connection closed: the peer does not read its responses"),
        }
        drop(place);
    }
}

/// Ends once a connection is idle for too long, or too old.
async fn expiry(activity: &Activity) {
    loop {
        sleep(limits::CONNECTION_TICK).await;
        let is_idle = || activity.idle().is_some_and(|idle| idle >= limits::CONNECTION_IDLE);
        if activity.age() >= limits::CONNECTION_AGE || (!activity.has_endless() && is_idle()) {
            return;
        }
    }
}

/// HTTP/1.1 and HTTP/2 within the limits.
fn protocols() -> auto::Builder<TokioExecutor> {
    let mut protocols = auto::Builder::new(TokioExecutor::new());
    protocols
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits::HEAD_TIME)
        .max_headers(limits::HEADERS)
        .max_buf_size(limits::HEAD_BYTES);
    protocols
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits::H2_STREAMS)
        .max_header_list_size(limits::H2_HEADER_BYTES)
        .initial_stream_window_size(limits::H2_STREAM_WINDOW)
        .initial_connection_window_size(limits::H2_CONNECTION_WINDOW)
        .max_send_buf_size(limits::H2_SEND_BUFFER)
        .keep_alive_interval(limits::H2_PING)
        .keep_alive_timeout(limits::H2_PING_TIMEOUT);
    protocols
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::thread;

    use http_body_util::Full;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpStream, UnixStream};
    use tower::service_fn;

    use super::super::listen::{bind_tcp, bind_unix};
    use super::*;

    /// Asks for the name of the thread that answers, `times` times over one connection.
    async fn threads(mut connection: impl Connection, times: usize) -> Vec<String> {
        let mut names = Vec::new();
        for _ in 0..times {
            connection.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
            let mut answer = String::new();
            while !answer.ends_with('.') {
                let mut part = [0; 1024];
                let length = connection.read(&mut part).await.unwrap();
                assert_ne!(length, 0, "{answer}");
                answer.push_str(std::str::from_utf8(&part[..length]).unwrap());
            }
            names.push(answer.rsplit('\n').next().unwrap().to_owned());
        }
        names
    }

    #[tokio::test]
    async fn connections_of_the_socket_are_answered_by_threads_of_their_own() {
        async fn name(_: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
            let name = format!("{} {:?}.", thread::current().name().unwrap_or_default(), thread::current().id());
            Ok(Response::new(Full::from(name)))
        }
        let mut server = Server::new(service_fn(name));
        let folder = tempfile::tempdir().unwrap();
        let (listener, file) = bind_unix(&folder.path().join("s.sock")).await.unwrap();
        server.listen_unix(listener).unwrap();
        let listener = bind_tcp("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let address = listener.local_addr().unwrap();
        server.listen_tcp(listener, None);

        let of_socket = threads(UnixStream::connect(file.path()).await.unwrap(), 3).await;
        assert!(of_socket.iter().all(|thread| thread.starts_with("unix-socket ")), "{of_socket:?}");
        assert!(of_socket.windows(2).all(|pair| pair[0] == pair[1]), "{of_socket:?}");
        let of_tcp = threads(TcpStream::connect(address).await.unwrap(), 1).await;
        assert!(of_tcp[0].contains(&format!("{:?}", thread::current().id())), "{of_tcp:?}");
        assert_eq!(server.drain(|| ()).await, Drained::Whole);
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_expires_once_it_is_idle_for_long_or_old() {
        let (idle, streaming, working) = (Activity::default(), Activity::default(), Activity::default());
        let (_endless, _work) = (streaming.endless(), working.work());
        for (activity, time) in
            [(&idle, limits::CONNECTION_IDLE), (&streaming, limits::CONNECTION_AGE), (&working, limits::CONNECTION_AGE)]
        {
            expiry(activity).await;
            let age = activity.age();
            assert!(age >= time && age <= time + limits::CONNECTION_TICK, "{age:?} for {time:?}");
        }
    }
}
