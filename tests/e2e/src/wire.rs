//! A TCP proxy between two programs. It can close connections, hold what is sent, and stop forwarding like a network that drops
//! packets.

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
    /// Keeps connections open, old and new, and forwards nothing. They go on from there once it is `Whole`, also where an end has
    /// closed meanwhile.
    Held,
}

/// TCP proxy to a server, whose mode can be changed.
#[derive(Debug)]
pub(crate) struct Wire {
    /// The address for the client.
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
    reached(&mut state, |state| state != State::Held).await;
    if *state.borrow_and_update() == State::Cut {
        return;
    }
    // The server does not listen: the client's connection is closed.
    let Ok(server) = TcpStream::connect(server).await else { return };
    // Where that cannot be set, small messages go on a little later.
    let _unset = (client.set_nodelay(true), server.set_nodelay(true));
    let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
    tokio::select! {
        () = carry(from_client, to_server, state.clone()) => {}
        () = carry(from_server, to_client, state.clone()) => {}
        () = reached(&mut state, |state| state == State::Cut) => {}
    }
}

/// Forwards one direction. After `Silent` the connection never forwards again, as if the other end were gone.
async fn carry(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut state: watch::Receiver<State>) {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = tokio::select! {
            biased;
            () = reached(&mut state, |state| state != State::Whole) => None,
            read = from.read(&mut buffer) => Some(read),
        };
        match read {
            Some(Ok(0) | Err(_)) => return,
            Some(Ok(count)) => {
                let Some(bytes) = buffer.get(..count) else { return };
                if to.write_all(bytes).await.is_err() {
                    return;
                }
            }
            None => {
                let now = *state.borrow();
                match now {
                    State::Whole => {}
                    // What is sent meanwhile waits in the system's buffers.
                    State::Held => reached(&mut state, |state| state != State::Held).await,
                    State::Cut | State::Silent => return std::future::pending().await,
                }
            }
        }
    }
}

/// Waits until the proxy is in a mode that is wanted.
async fn reached(state: &mut watch::Receiver<State>, is_wanted: impl Fn(State) -> bool) {
    if state.wait_for(|state| is_wanted(*state)).await.is_err() {
        // The run has ended.
        std::future::pending().await
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn what_is_sent_to_a_held_wire_arrives_once_it_is_whole() -> anyhow::Result<()> {
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let wire = Wire::to(server.local_addr()?).await?;
        let mut early = TcpStream::connect(wire.address).await?;
        early.write_all(b"1").await?;
        let mut to_early = server.accept().await?.0;
        assert_eq!(to_early.read_u8().await?, b'1');

        wire.set(State::Held);
        early.write_all(b"2").await?;
        let mut late = TcpStream::connect(wire.address).await?;
        late.write_all(b"3").await?;
        to_early.write_all(b"4").await?;
        let wait = Duration::from_millis(100);
        assert!(timeout(wait, to_early.read_u8()).await.is_err(), "what the client sent is forwarded");
        assert!(timeout(wait, early.read_u8()).await.is_err(), "what the server sent is forwarded");
        assert!(timeout(wait, server.accept()).await.is_err(), "a connection is made");
        wire.set(State::Whole);
        assert_eq!((to_early.read_u8().await?, early.read_u8().await?), (b'2', b'4'));
        let mut to_late = server.accept().await?.0;
        assert_eq!(to_late.read_u8().await?, b'3');
        Ok(())
    }
}
