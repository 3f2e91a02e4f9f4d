//! A load balancer that forwards TCP: one address for several API servers, whose TLS it does not end. New connections go to the
//! server that it was turned to last, and wait where that is none.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::Context as _;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Destination of new connections.
#[derive(Debug, Clone, Copy)]
struct Turn {
    /// None where new connections wait.
    server: Option<SocketAddr>,
    /// Connections of earlier turns are cut.
    number: u64,
}

/// A load balancer of one address in front of two API servers.
#[derive(Debug)]
pub(crate) struct Balancer {
    /// The address for clients.
    pub(crate) address: SocketAddr,
    turn: watch::Sender<Turn>,
}

impl Balancer {
    /// Listens on a new port, and is turned to `server`.
    pub(crate) async fn to(server: SocketAddr) -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("no free port")?;
        let address = listener.local_addr()?;
        let (turn, turns) = watch::channel(Turn { server: Some(server), number: 0 });
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(connection(client, turns.clone()));
            }
        });
        Ok(Self { address, turn })
    }

    /// Cuts all connections but those that wait. These and new ones go to `server`.
    pub(crate) fn turn_to(&self, server: SocketAddr) {
        self.next(Some(server));
    }

    /// Cuts all connections but those that wait. New ones wait as well.
    pub(crate) fn hold(&self) {
        self.next(None);
    }

    fn next(&self, server: Option<SocketAddr>) {
        self.turn.send_modify(|turn| *turn = Turn { server, number: turn.number + 1 });
    }
}

/// Forwards one connection until both ends have closed it or it is cut.
async fn connection(mut client: TcpStream, mut turns: watch::Receiver<Turn>) {
    let turn = turns.wait_for(|turn| turn.server.is_some()).await.map(|turn| *turn);
    let Ok(Turn { server: Some(server), number }) = turn else { return };
    // The server does not listen: the client's connection is closed.
    let Ok(mut server) = TcpStream::connect(server).await else { return };
    // Where that cannot be set, small messages go on a little later.
    let _unset = (client.set_nodelay(true), server.set_nodelay(true));
    let cut = async { turns.wait_for(|turn| turn.number != number).await.is_ok() };
    tokio::select! {
        _closed = copy_bidirectional(&mut client, &mut server) => {}
        _cut = cut => {}
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn a_turn_cuts_what_there_is_and_takes_along_what_waits() -> anyhow::Result<()> {
        let first = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let second = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let balancer = Balancer::to(first.local_addr()?).await?;
        let mut early = TcpStream::connect(balancer.address).await?;
        early.write_all(b"1").await?;
        let mut to_early = first.accept().await?.0;
        assert_eq!(to_early.read_u8().await?, b'1');

        balancer.hold();
        assert!(early.read_u8().await.is_err(), "a connection is not cut");
        let mut late = TcpStream::connect(balancer.address).await?;
        late.write_all(b"2").await?;
        balancer.turn_to(second.local_addr()?);
        let mut to_late = second.accept().await?.0;
        assert_eq!(to_late.read_u8().await?, b'2');
        to_late.write_all(b"3").await?;
        assert_eq!(late.read_u8().await?, b'3');
        Ok(())
    }
}
