//! Connections: accepted up to a limit per listener, served as HTTP/1.1 or HTTP/2, drained at the end.
//!
//! Start at [`Server`].

use std::pin::pin;

use axum::Router;
use axum::http::{Request, Version};
use axum::serve::Listener;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use super::budget::BudgetMetrics;
use super::control_frames::ControlledIo;
use super::io_timeout::TimeoutIo;
use super::joined_writes;
use super::listen::{FromPeer, TcpListener, UnixListener};
use super::places::{Activity, Peer, Place, Places};
use super::tls::Tls;
use super::unsent::{Unsent, UnsentBudget};
use crate::access::{Caller, Identity};
use crate::{Readiness, limits};

/// Listeners that serve one router until they are drained.
#[derive(Debug)]
pub struct Server {
    router: Router,
    readiness: Readiness,
    stop: CancellationToken,
    /// Places for connections, one entry per listener.
    connections: Vec<Places>,
    accepting: Vec<JoinHandle<()>>,
}

/// How a drain ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drained {
    /// Every connection has ended.
    Whole,
    /// The grace period has passed with connections open.
    CutShort,
}

impl Server {
    /// A server without listeners.
    pub fn new(router: Router, readiness: Readiness) -> Self {
        Self { router, readiness, stop: CancellationToken::new(), connections: Vec::new(), accepting: Vec::new() }
    }

    /// Starts to serve a Unix socket. Needs a tokio runtime.
    pub fn listen_unix(&mut self, listener: UnixListener) {
        self.listen(listener, None, self.router.clone());
    }

    /// Starts to serve a TCP port, under TLS where given. Needs a tokio runtime.
    pub fn listen_tcp(&mut self, listener: TcpListener, tls: Option<Tls>) {
        self.listen(listener, tls, self.router.clone());
    }

    /// Starts to serve another router on a TCP port of its own, without TLS. Needs a tokio runtime.
    pub fn listen_probes(&mut self, listener: TcpListener, probes: Router) {
        self.listen(listener, None, probes);
    }

    fn listen<L: Listener<Io: FromPeer>>(&mut self, listener: L, tls: Option<Tls>, router: Router) {
        let connections = Places::of_connections(limits::CONNECTIONS);
        self.connections.push(connections.clone());
        if let Some(tls) = tls.clone() {
            tokio::spawn(tls.follow(self.stop.clone()));
        }
        let unsent = UnsentBudget::new(BudgetMetrics::default());
        let accepting = accept(listener, tls, router, connections, unsent, self.stop.clone());
        self.accepting.push(tokio::spawn(accepting));
    }

    /// Ends readiness, stops accepting, and waits for running requests, for [`limits::DRAIN_GRACE`] at most. The addresses are free
    /// then.
    pub async fn drain(self) -> Drained {
        self.readiness.drain();
        sleep(limits::DRAIN_NOTICE).await;
        self.stop.cancel();
        let end = Instant::now() + limits::DRAIN_GRACE;
        for accepting in self.accepting {
            // A task that panicked has left its address as well.
            let _ended = timeout_at(end, accepting).await;
        }
        let mut drained = Drained::Whole;
        for connections in &self.connections {
            if timeout_at(end, connections.all_free(limits::CONNECTIONS)).await.is_err() {
                drained = Drained::CutShort;
            }
        }
        drained
    }
}

/// Accepts until stopped. At the limit of connections, one that comes takes the place of the one that is idle longest; where
/// none is idle, it waits, and further ones in the kernel's backlog.
async fn accept<L: Listener<Io: FromPeer>>(
    mut listener: L,
    tls: Option<Tls>,
    router: Router,
    connections: Places,
    unsent: UnsentBudget,
    stop: CancellationToken,
) {
    let protocols = protocols();
    loop {
        let next = async {
            // axum's listeners wait and retry when file descriptors run out.
            let (io, _) = listener.accept().await;
            let activity = Activity::default();
            (io, connections.enter(activity.clone(), &activity).await)
        };
        let Some((io, place)) = stop.run_until_cancelled(next).await else { return };
        // It is never refused: this is the only one who waits.
        let Some(place) = place else { continue };
        let (router, protocols, stop) = (router.clone(), protocols.clone(), stop.clone());
        let unsent = Unsent::new(&unsent, place.activity());
        match tls.clone() {
            None => {
                let caller = io.caller();
                drop(tokio::spawn(serve(io, caller, router, protocols, place, unsent, stop)));
            }
            // A slow handshake must not hold up the next accept.
            Some(tls) => drop(tokio::spawn(async move {
                let dismissed = place.dismissed();
                tokio::select! {
                    handshake = tls.accept(io) => match handshake {
                        Ok(io) => {
                            let caller = Caller::Tcp { identity: Identity::of_client(&io) };
                            serve(io, caller, router, protocols, place, unsent, stop).await;
                        }
                        Err(error) => tracing::debug!(%error, "TLS handshake failed"),
                    },
                    () = dismissed => tracing::debug!("connection closed: another needs its place"),
                }
            })),
        }
    }
}

/// Serves one connection to its end. On a stop, HTTP/1 finishes its request and HTTP/2 sends GOAWAY and finishes its streams;
/// where the connection is idle or old, or another needs its place, they have a limited time for that.
async fn serve<I>(
    io: I,
    caller: Caller,
    router: Router,
    protocols: auto::Builder<TokioExecutor>,
    place: Place,
    unsent: Unsent,
    stop: CancellationToken,
) where
    I: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let (class, activity) = (caller.listener(), place.activity().clone());
    let (io, flusher) = joined_writes::join(ControlledIo::new(TimeoutIo::new(io, activity.clone())));
    let io = TokioIo::new(io);
    let service = router.map_request({
        let (unsent, activity) = (unsent.clone(), activity.clone());
        move |mut request: Request<Incoming>| {
            activity.touch();
            let began = if request.version() == Version::HTTP_2 { None } else { activity.take_head() };
            request.extensions_mut().insert(Peer { class, activity: activity.clone(), began });
            request.extensions_mut().insert(unsent.clone());
            request.extensions_mut().insert(caller.clone());
            request
        }
    });
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
    use super::*;

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
