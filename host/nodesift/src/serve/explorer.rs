//! The explorer of a sidecar: the files of its page, and the address that it listens on. Start at [`ASSETS`] and [`bind`].

use std::error::Error as _;
use std::net::SocketAddr;

use nodesift_api::explorer::assets::{Asset, INDEX};
use nodesift_api::listen::{self, TcpListener};

/// The files of the page, as `build.rs` found them; none where it was not built.
pub(super) static ASSETS: &[Asset] = include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// Whether the page is in this program.
pub(crate) fn is_there() -> bool {
    ASSETS.iter().any(|asset| asset.path == INDEX)
}

/// Listens for browsers; where that is not possible, says so: no core needs it.
pub(super) async fn bind(address: Option<SocketAddr>) -> Option<TcpListener> {
    let bound = listen::bind_tcp(address?).await;
    let warn = |error: &listen::Error| {
        let cause = error.source().map(ToString::to_string).unwrap_or_default();
        tracing::warn!(%error, cause, "no explorer: choose another address with --explorer, or --no-explorer");
    };
    bound.inspect_err(warn).ok()
}
