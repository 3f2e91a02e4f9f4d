//! `nodesift health`: one request to the probes of a running sidecar, as an exec probe. Start at [`run`].

use anyhow::anyhow;
use http::StatusCode;

use crate::args::HealthArgs;
use crate::client::{self, Endpoint};
use crate::{limits, serve, terminal};

/// Asks, and prints what the sidecar says.
///
/// # Errors
///
/// [`Failure::Usage`](crate::exit::Failure::Usage) if there is nothing to ask,
/// [`Failure::Unavailable`](crate::exit::Failure::Unavailable) if there is no answer in time, or another than 200.
pub(crate) fn run(args: &HealthArgs) -> anyhow::Result<()> {
    let endpoint = match &args.url {
        Some(url) => Endpoint::from_url("--url", url)?,
        None => Endpoint::Socket(serve::socket_path(args.socket.as_ref())?),
    };
    let path = if args.live { "/livez" } else { "/readyz" };
    let (status, text) = client::get(&endpoint, path, limits::HEALTH, limits::HEALTH_BYTES)?;
    if status != StatusCode::OK {
        let error = anyhow!("{}: {}", status.as_u16(), text.trim());
        return Err(client::unavailable(&endpoint, path, error).into());
    }
    terminal::print(&terminal::escaped(&text))
}
