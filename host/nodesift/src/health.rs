//! `nodesift health`: one request to the probes of a running sidecar, as an exec probe. Start at [`run`].

use anyhow::anyhow;
use http::StatusCode;

use crate::args::HealthArgs;
use crate::client::{self, Endpoint, Named};
use crate::exit::Failure;
use crate::{limits, serve, terminal};

/// Asks, and prints what the sidecar says.
///
/// # Errors
///
/// [`Failure::Usage`] if there is nothing to ask, [`Failure::Unavailable`] if there is no answer in time, or another than 200.
pub(crate) fn run(args: &HealthArgs) -> anyhow::Result<()> {
    let endpoint = endpoint(args)?;
    let path = if args.live { "/livez" } else { "/readyz" };
    let (status, text) = client::get(&endpoint, path, limits::HEALTH, limits::HEALTH_BYTES)?;
    if status != StatusCode::OK {
        let error = anyhow!("{}: {}", status.as_u16(), text.trim());
        return Err(client::unavailable(&endpoint, path, error).into());
    }
    terminal::print(&terminal::escaped(&text))
}

/// Where the sidecar listens: what is typed, else what the environment names, else its socket where `serve` has it by default.
fn endpoint(args: &HealthArgs) -> Result<Endpoint, Failure> {
    if let Some(url) = &args.url {
        return Endpoint::from_url("--url", url);
    }
    match Named::find(None, args.socket.as_deref()) {
        Some(named) => named.endpoint(),
        None => serve::socket_path(None).map(Endpoint::Socket),
    }
}
