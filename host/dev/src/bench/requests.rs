//! Connections to the sidecar, and the requests of scheduler cores. Start at [`request`].

use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;

use anyhow::{Context as _, bail};
use nodesift_proto::v1::{self, pod};

use nodesift::limits;

pub(super) fn dial_unix(path: &Path) -> anyhow::Result<UnixStream> {
    let stream = UnixStream::connect(path).context("cannot reach the sidecar")?;
    stream.set_read_timeout(Some(limits::CLIENT_ANSWER))?;
    Ok(stream)
}

pub(super) fn dial_tcp(address: SocketAddr) -> anyhow::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, limits::CLIENT_CONNECT).context("cannot reach the sidecar")?;
    stream.set_read_timeout(Some(limits::CLIENT_ANSWER))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// A request for the nodes that fit, without the failures of the others: all that a core needs to place pods.
pub(super) fn request(uids: &[String], table: v1::Bitmaps) -> v1::FilterRequest {
    let pods = uids.iter().map(|uid| v1::Pod::from(pod::Pod::Uid(uid.clone()))).collect();
    v1::FilterRequest { pods, detail: v1::Detail::Feasible.into(), bitmaps: Some(table), ..Default::default() }
}

/// Checks that every pod is answered. Returns the row table that the answer names.
pub(super) fn known(response: &v1::FilterResponse, pods: usize) -> anyhow::Result<Option<v1::Bitmaps>> {
    let is_bitmap = |pod: &v1::PodAnswer| {
        let bits: u32 = pod.feasible_rows.iter().flatten().map(|byte| byte.count_ones()).sum();
        bits == pod.feasible_count && pod.nodes > 0
    };
    if response.pods.len() != pods || !response.pods.iter().all(is_bitmap) {
        bail!("an answer lacks a pod or a bitmap");
    }
    Ok(response.rows.as_ref().map(|rows| v1::Bitmaps { epoch: rows.epoch, generation: rows.generation }))
}
