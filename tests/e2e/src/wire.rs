//! A TCP proxy between the sidecar and the API server. It can close connections, and it can stop forwarding like a network that
//! drops packets.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::Context as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Mode of the proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// Forwards everything in both directions.
    Whole,
    /// Closes every connection, old and new.
    Cut,
    /// Keeps connections open and forwards nothing. Connections open at that time never forward again.
    Silent,
}

/// TCP proxy to the API server, whose mode can be changed.
#[derive(Debug)]
pub(crate) struct Wire {
    /// The address for the sidecar.
    pub(crate) address: SocketAddr,
    state: Arc<watch::Sender<State>>,
}

impl Wire {
    /// Listens on a new port and forwards to `server`.
    pub(crate) async fn to(server: SocketAddr) -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("no free port")?;
        let address = listener.local_addr()?;
        let state = Arc::new(watch::channel(State::Whole).0);
        let states = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(connection(client, server, states.subscribe()));
            }
        });
        Ok(Self { address, state })
    }

    /// Changes the mode, for open connections as well.
    pub(crate) fn set(&self, state: State) {
        self.state.send_replace(state);
    }
}

/// Forwards one connection until an end closes it or the mode is `Cut`.
async fn connection(client: TcpStream, server: SocketAddr, mut state: watch::Receiver<State>) {
    if *state.borrow_and_update() == State::Cut {
        return;
    }
    // The server does not listen: the client's connection is closed.
    let Ok(server) = TcpStream::connect(server).await else { return };
    let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
    tokio::select! {
        () = carry(from_client, to_server, state.clone()) => {}
        () = carry(from_server, to_client, state.clone()) => {}
        () = reached(&mut state, State::Cut) => {}
    }
}

/// Forwards one direction. After `Silent` the connection never forwards again, as if the other end were gone.
async fn carry(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut state: watch::Receiver<State>) {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        tokio::select! {
            biased;
            () = reached(&mut state, State::Silent) => return std::future::pending().await,
            read = from.read(&mut buffer) => match read {
                Ok(0) | Err(_) => return,
                Ok(count) => {
                    let Some(bytes) = buffer.get(..count) else { return };
                    if to.write_all(bytes).await.is_err() {
                        return;
                    }
                }
            },
        }
    }
}

/// Waits until the proxy is in a mode.
async fn reached(state: &mut watch::Receiver<State>, wanted: State) {
    if state.wait_for(|state| *state == wanted).await.is_err() {
        // The run has ended.
        std::future::pending().await
    }
}
