//! Connections: accepted up to a number, served as HTTP/1.1, HTTP/2 or gRPC within limits, drained at the end.
//!
//! Start at [`Server`].

use std::pin::pin;
use std::sync::Arc;

use axum::Router;
use axum::http::{Request, Version};
use axum::serve::Listener;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use super::Readiness;
use super::answers::Answers;
use super::patience::Patient;
use super::tls::Tls;
use crate::limits;

/// Listeners that serve one router until they are drained.
#[derive(Debug)]
pub struct Server {
    router: Router,
    readiness: Readiness,
    stop: CancellationToken,
    /// One per listener: a permit for each connection it may have.
    connections: Vec<Arc<Semaphore>>,
}

/// How a drain ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drained {
    /// Every connection was finished.
    Whole,
    /// The grace ran out with connections open.
    CutShort,
}

impl Server {
    /// A server without any listener yet.
    pub fn new(router: Router, readiness: Readiness) -> Self {
        Self { router, readiness, stop: CancellationToken::new(), connections: Vec::new() }
    }

    /// Serves what comes in on a listener, from now on; under TLS where there is any.
    pub fn listen<L: Listener>(&mut self, listener: L, tls: Option<Tls>) {
        let connections = Arc::new(Semaphore::new(limits::CONNECTIONS));
        self.connections.push(Arc::clone(&connections));
        if let Some(tls) = tls.clone() {
            tokio::spawn(tls.follow(self.stop.clone()));
        }
        tokio::spawn(accept(listener, tls, self.router.clone(), connections, self.stop.clone()));
    }

    /// Says "not ready", stops accepting, lets running requests end, for [`limits::DRAIN_GRACE`] at most.
    pub async fn drain(self) -> Drained {
        self.readiness.drain();
        sleep(limits::DRAIN_NOTICE).await;
        self.stop.cancel();
        let end = Instant::now() + limits::DRAIN_GRACE;
        let mut drained = Drained::Whole;
        for connections in &self.connections {
            // All permits at once can be had only when every connection has given its own back.
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

/// Accepts until told to stop; a full house leaves newcomers in the kernel's queue.
async fn accept<L: Listener>(
    mut listener: L,
    tls: Option<Tls>,
    router: Router,
    connections: Arc<Semaphore>,
    stop: CancellationToken,
) {
    let protocols = protocols();
    loop {
        let next = async {
            let permit = Arc::clone(&connections).acquire_owned().await.ok()?;
            // axum's listeners wait and try again when file descriptors run out.
            Some((permit, listener.accept().await.0))
        };
        let Some(Some((permit, io))) = stop.run_until_cancelled(next).await else { return };
        let (router, protocols, stop) = (router.clone(), protocols.clone(), stop.clone());
        match tls.clone() {
            None => drop(tokio::spawn(serve(io, router, protocols, permit, stop))),
            // Hands are shaken beside the accepting, which must not wait for a slow client.
            Some(tls) => drop(tokio::spawn(async move {
                match tls.accept(io).await {
                    Ok(io) => serve(io, router, protocols, permit, stop).await,
                    Err(error) => tracing::debug!(%error, "no TLS handshake"),
                }
            })),
        }
    }
}

/// Serves one connection to its end. On a stop, HTTP/1 finishes its request and HTTP/2 says GOAWAY and finishes its streams.
async fn serve<I>(
    io: I,
    router: Router,
    protocols: auto::Builder<TokioExecutor>,
    permit: OwnedSemaphorePermit,
    stop: CancellationToken,
) where
    I: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let io = TokioIo::new(Patient::new(io));
    let answers = Answers::default();
    let service = router.map_request({
        let answers = answers.clone();
        move |mut request: Request<Incoming>| {
            if request.version() == Version::HTTP_2 {
                request.extensions_mut().insert(answers.clone());
            }
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
    // Clients that leave or misbehave are their own business, but one wants to see them when looking.
    tokio::select! {
        outcome = ended => if let Err(error) = outcome {
            tracing::debug!(%error, "connection ended early");
        },
        () = answers.stalled() => tracing::debug!("connection cut: its peer does not take its answers"),
    }
    drop(permit);
}

/// HTTP/1.1 and HTTP/2 within our limits.
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
