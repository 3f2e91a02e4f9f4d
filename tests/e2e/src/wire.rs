//! A TCP proxy between the sidecar and the API server. It can close connections, and it can stop forwarding as a network
//! does that drops packets.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::Context as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// What the wire does with what is sent through it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// Carries it.
    Whole,
    /// Ends every connection, old and new.
    Cut,
    /// Keeps connections open and carries nothing, either way, ever again on those that were open.
    Silent,
}

/// The proxy.
#[derive(Debug)]
pub(crate) struct Wire {
    /// Where the sidecar connects to.
    pub(crate) address: SocketAddr,
    state: Arc<watch::Sender<State>>,
}

impl Wire {
    /// Listens on a port of its own for whoever wants to reach `server`.
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

    /// Changes what it does, to open connections too.
    pub(crate) fn set(&self, state: State) {
        self.state.send_replace(state);
    }
}

/// Carries one connection until an end closes it or the wire is cut.
async fn connection(client: TcpStream, server: SocketAddr, mut state: watch::Receiver<State>) {
    if *state.borrow_and_update() == State::Cut {
        return;
    }
    // Nobody listening at the other end: the client sees its connection closed.
    let Ok(server) = TcpStream::connect(server).await else { return };
    let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
    tokio::select! {
        () = carry(from_client, to_server, state.clone()) => {}
        () = carry(from_server, to_client, state.clone()) => {}
        () = reached(&mut state, State::Cut) => {}
    }
}

/// Carries one direction. Once the wire has been silent it stays so for this connection, as for one whose other end is gone.
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

/// Waits until the wire is in a state.
async fn reached(state: &mut watch::Receiver<State>, wanted: State) {
    if state.wait_for(|state| *state == wanted).await.is_err() {
        // The run is over.
        std::future::pending().await
    }
}
