//! A start without a policy: the one that is named is broken, and none is remembered. The process is live and not ready, says why,
//! and begins to serve once the policy is mended. Start at [`until_checked`].

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use prometheus_client::registry::Registry;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::checks::{self, Checked, check_listen, is_about_policy};
use super::policy_object::Followed;
use super::{Listeners, banner, live, server_version, socket_path};
use crate::args::ServeArgs;
use crate::cluster;
use crate::exit::{self, Failure};
use crate::terminal;
use nodesift_api::exposition::{self, Exposition};
use nodesift_api::server::Server;
use nodesift_api::tls::Tls;
use nodesift_api::{Latch, Readiness, router};
use nodesift_policy::Reach;
use nodesift_policy::kubernetes::{Auto, ServerVersion};
use nodesift_policy::reload::{Changes, Source};

/// Waits for a policy that is valid. `error` says what is wrong with the one that is there. Signals end the process, as before
/// any other start.
///
/// # Errors
///
/// If an address cannot be bound, or anything else than the policy turns out to be wrong.
pub(super) fn until_checked(
    args: &ServeArgs,
    reach: &Reach,
    runtime: &Runtime,
    (source, version): (&Source, &ServerVersion),
    followed: Option<&Followed>,
    error: &anyhow::Error,
) -> anyhow::Result<Checked> {
    let mut changes = Changes::new(source, version, &cluster::pulled_folder(args.state_folder.as_deref()));
    let _asking = ask(args, runtime, followed, version)?;
    let waiting = runtime.block_on(Waiting::start(args, followed, error))?;
    loop {
        // At first once more: it may have been mended before anybody looked for changes.
        match checks::check(args, reach, runtime, followed, version) {
            Ok(checked) => {
                runtime.block_on(waiting.end());
                tracing::info!("the policy is valid");
                return Ok(checked);
            }
            Err(error) if is_about_policy(&error) => {
                waiting.say(&error);
                if let Some(followed) = followed {
                    followed.refuse(&error);
                }
            }
            Err(error) => return Err(error),
        }
        changes.wait();
    }
}

/// Follows the version of the API server, where that decides anything, until what is returned is dropped: a policy may be invalid under the
/// guessed version alone.
fn ask(
    args: &ServeArgs,
    runtime: &Runtime,
    followed: Option<&Followed>,
    version: &ServerVersion,
) -> Result<JoinSet<()>, Failure> {
    let mut asking = JoinSet::new();
    let connection = match (followed, args.kube.origin()) {
        _ if matches!(version.auto(), Auto::Argument(_)) => None,
        (Some(followed), _) => Some(followed.connection.clone()),
        (None, Some(origin)) => Some(runtime.block_on(live::connect(&origin))?),
        (None, None) => None,
    };
    if let Some(connection) = connection {
        let follows = server_version::follow_without_policy(connection.server, version.clone());
        asking.spawn_on(follows, runtime.handle());
    }
    Ok(asking)
}

/// The listeners of a process that has no policy.
struct Waiting {
    server: Server,
    readiness: Readiness,
    why: Arc<Mutex<String>>,
    // Dropped with this: readiness begins anew with the real start.
    _latch: Latch,
    _socket_file: nodesift_api::listen::SocketFile,
}

impl Waiting {
    async fn start(args: &ServeArgs, followed: Option<&Followed>, error: &anyhow::Error) -> anyhow::Result<Self> {
        check_listen(args)?;
        let tls = args.tls.files().map(Tls::open).transpose().map_err(|error| Failure::Files(error.into()))?;
        let socket = socket_path(args.socket.as_ref())?;
        // The page would say no more than probes do.
        let Listeners { unix, socket_file, tcp, probes, explorer: _ } = Listeners::bind(args, &socket).await?;
        let readiness = Readiness::default();
        let latch = readiness.wait_for("a valid policy");
        let why = Arc::new(Mutex::new(exit::text(error)));
        let said = Arc::clone(&why);
        readiness.remark_naming(
            move || Some(said.lock().unwrap_or_else(PoisonError::into_inner).replace('\n', "; ")),
            || Some("the log says why there is none".to_owned()),
        );
        if let Some(followed) = followed {
            followed.remark(&readiness);
        }
        let mut registry = Registry::default();
        exposition::build(&mut registry);
        exposition::process(&mut registry);
        let exposition = Exposition::new(registry);
        let waiting = |open| router::waiting(readiness.clone(), args.request_timeout, exposition.clone(), open);
        let (router, open) = (waiting(false), waiting(true));
        let mut server = Server::new(router);
        let scheme = if tls.is_some() { "https" } else { "http" };
        let address = tcp.as_ref().map(|tcp| tcp.local_addr()).transpose().context("cannot read the bound address")?;
        let probed =
            probes.as_ref().map(|probes| probes.local_addr()).transpose().context("cannot read the bound address")?;
        let tcp_url = address.map(|address| format!("{scheme}://{address}"));
        let bound = banner::Bound {
            tcp: tcp_url,
            socket: socket_file.path(),
            probes: probed.map(|address| address.to_string()),
            explorer: None,
        };
        for line in bound.lines() {
            tracing::info!("{line}");
        }
        server.listen_unix(unix).context("cannot start threads")?;
        if let Some(tcp) = tcp {
            server.listen_tcp(tcp, tls);
        }
        if let Some(probes) = probes {
            server.listen_probes(probes, open);
        }
        tracing::warn!(
            reason = %terminal::escaped(&exit::text(error)),
            "no valid policy, and none is remembered: not ready until it is mended"
        );
        Ok(Self { server, readiness, why, _latch: latch, _socket_file: socket_file })
    }

    /// Says what is wrong now.
    fn say(&self, error: &anyhow::Error) {
        let text = exit::text(error);
        let mut why = self.why.lock().unwrap_or_else(PoisonError::into_inner);
        if *why != text {
            tracing::warn!(reason = %terminal::escaped(&text), "the policy is still not valid");
            *why = text;
        }
    }

    /// Leaves the addresses to the real start.
    async fn end(self) {
        self.server.drain(|| self.readiness.drain()).await;
    }
}
