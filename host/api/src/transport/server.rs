//! Connections: accepted up to a limit per listener, served as HTTP/1.1 or HTTP/2, drained at the end.
//!
//! Start at [`Server`].

use std::pin::pin;
use std::sync::Arc;

use axum::Router;
use axum::http::Request;
use axum::serve::Listener;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use super::budget::BudgetMetrics;
use super::io_timeout::TimeoutIo;
use super::tls::Tls;
use super::unsent::{Unsent, UnsentBudget};
use crate::{Readiness, limits};

/// Listeners that serve one router until they are drained.
#[derive(Debug)]
pub struct Server {
    router: Router,
    readiness: Readiness,
    stop: CancellationToken,
    /// One per listener, with a permit for each connection.
    connections: Vec<Arc<Semaphore>>,
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
        Self { router, readiness, stop: CancellationToken::new(), connections: Vec::new() }
    }

    /// Starts to serve a listener, under TLS where given. Needs a tokio runtime.
    pub fn listen<L: Listener>(&mut self, listener: L, tls: Option<Tls>) {
        let connections = Arc::new(Semaphore::new(limits::CONNECTIONS));
        self.connections.push(Arc::clone(&connections));
        if let Some(tls) = tls.clone() {
            tokio::spawn(tls.follow(self.stop.clone()));
        }
        let unsent = UnsentBudget::new(BudgetMetrics::default());
        tokio::spawn(accept(listener, tls, self.router.clone(), connections, unsent, self.stop.clone()));
    }

    /// Ends readiness, stops accepting, and waits for running requests, for [`limits::DRAIN_GRACE`] at most.
    pub async fn drain(self) -> Drained {
        self.readiness.drain();
        sleep(limits::DRAIN_NOTICE).await;
        self.stop.cancel();
        let end = Instant::now() + limits::DRAIN_GRACE;
        let mut drained = Drained::Whole;
        for connections in &self.connections {
            // All permits are free once every connection has ended.
            if timeout_at(end, connections.acquire_many(ALL)).await.is_err() {
                drained = Drained::CutShort;
            }
        }
        drained
    }
}

/// The permits of one listener.
#[allow(clippy::cast_possible_truncation)] // A constant far below 2^32.
const ALL: u32 = limits::CONNECTIONS as u32;

/// Accepts until stopped. At the limit of connections, further ones wait in the kernel's backlog.
async fn accept<L: Listener>(
    mut listener: L,
    tls: Option<Tls>,
    router: Router,
    connections: Arc<Semaphore>,
    unsent: UnsentBudget,
    stop: CancellationToken,
) {
    let protocols = protocols();
    loop {
        let next = async {
            let permit = Arc::clone(&connections).acquire_owned().await.ok()?;
            // axum's listeners wait and retry when file descriptors run out.
            Some((permit, listener.accept().await.0))
        };
        let Some(Some((permit, io))) = stop.run_until_cancelled(next).await else { return };
        let (router, protocols, stop) = (router.clone(), protocols.clone(), stop.clone());
        let unsent = Unsent::new(unsent.clone());
        match tls.clone() {
            None => drop(tokio::spawn(serve(io, router, protocols, permit, unsent, stop))),
            // A slow handshake must not hold up the next accept.
            Some(tls) => drop(tokio::spawn(async move {
                match tls.accept(io).await {
                    Ok(io) => serve(io, router, protocols, permit, unsent, stop).await,
                    Err(error) => tracing::debug!(%error, "TLS handshake failed"),
                }
            })),
        }
    }
}

/// Serves one connection to its end. On a stop, HTTP/1 finishes its request and HTTP/2 sends GOAWAY and finishes its streams.
async fn serve<I>(
    io: I,
    router: Router,
    protocols: auto::Builder<TokioExecutor>,
    permit: OwnedSemaphorePermit,
    unsent: Unsent,
    stop: CancellationToken,
) where
    I: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let io = TokioIo::new(TimeoutIo::new(io));
    let service = router.map_request({
        let unsent = unsent.clone();
        move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(unsent.clone());
            request
        }
    });
    let mut connection = pin!(protocols.serve_connection(io, TowerToHyperService::new(service)));
    let ended = async {
        match stop.run_until_cancelled(connection.as_mut()).await {
            Some(outcome) => outcome,
            None => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        }
    };
    // Failures of clients are no failures of the sidecar, so they are logged at debug level.
    tokio::select! {
        outcome = ended => if let Err(error) = outcome {
            tracing::debug!(%error, "connection ended with an error");
        },
        () = unsent.overdue() => tracing::debug!("connection closed: the peer does not read its responses"),
    }
    drop(permit);
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
