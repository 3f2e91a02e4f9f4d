//! `nodesift serve`: the sidecar, from its checks to the end of its drain.
//!
//! ```text
//! checks           what is checked before anything is bound
//! explorer         the files of the page that browsers get, and its listener
//! local            the explorer over a cluster that was read once, with nothing else
//! app              the sidecar in four steps: listeners, cluster, policy, API
//! live             follows a live cluster; what readiness waits for
//! server_version   the version of the API server, which policies follow
//! policy_object    the policy as an object of the watched cluster, and its status
//! pod_negotiation  decisions about pods with external parties, as objects of it
//! reload           follows the policy's files, or its object
//! pending          keeps the list of pending pods
//! waiting          live and not ready, where there is no policy yet
//! crossings        lines of the log about watermarks that nodes cross
//! warm_up          the first evaluation, before the process is ready
//! watchdog         heartbeats of threads; liveness
//! starvation       whether a thread only waits for a processor
//! banner           the startup text on stdout, and in the log
//! failpoints       what tests stop or break; not in release builds
//! ```
//!
//! Errors in arguments, cluster files or policy are reported before any address is bound. The API itself is in
//! `nodesift-api`. Start at [`run`].

mod app;
mod banner;
mod checks;
mod crossings;
pub(crate) mod explorer;
#[cfg(debug_assertions)]
mod failpoints;
mod live;
mod local;
mod pending;
mod pod_negotiation;
mod policy_object;
mod reload;
mod server_version;
mod starvation;
mod waiting;
mod warm_up;
mod watchdog;

use std::net::SocketAddr;
use std::path::Path;

use anyhow::Context as _;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::args::ServeArgs;
use crate::cluster;
use crate::exit::{self, Failure, collect};
use crate::limits;
use app::{App, Serving};
use checks::Checked;
pub(crate) use checks::socket_path;
pub(crate) use live::needs_without;
pub(crate) use local::local;
use nodesift_api::Readiness;
use nodesift_api::listen::{self, SocketFile, TcpListener, UnixListener};
use nodesift_api::server::{Drained, Server};
use nodesift_api::tls::Tls;
use nodesift_policy::Reach;
use nodesift_policy::kubernetes::ServerVersion;
use nodesift_policy::reload::Source;
use nodesift_source::audit::Audit;
use policy_object::Followed;
pub(crate) use server_version::{ask_once, undecided_of};

/// Serves until SIGTERM or SIGINT, then drains. A second signal ends the process at once.
///
/// # Errors
///
/// If arguments, files, policy or kubeconfig are invalid, an address cannot be bound, or a second signal arrives.
pub(crate) fn run(args: &ServeArgs) -> anyhow::Result<()> {
    let runtime = Runtime::new().context("cannot start threads")?;
    // From the beginning: its default action would end the process. The other signals still end one that is not serving yet.
    let hangups = runtime.block_on(async { signal(SignalKind::hangup()) }).context("cannot listen for signals")?;
    let followed = Followed::start(args, &runtime)?;
    let reach = args.reach.reach(followed.is_some())?;
    let version = server_version::undecided(args);
    let source = policy_source(args, &reach, followed.as_ref())?;
    // Files that are broken end a start which could not go on with others. An object is mended while its replicas run.
    let waits = args.state_folder.is_some() || followed.is_some();
    let checked = match (checks::check(args, &reach, &runtime, followed.as_ref(), &version), &source) {
        (Err(error), Some(source)) if waits && checks::is_about_policy(&error) => {
            waiting::until_checked(args, &reach, &runtime, (source, &version), followed.as_ref(), &error)?
        }
        (outcome, _) => outcome?,
    };
    cluster::note_summary(&checked.opened.summary);

    let told = |serving: &Serving| Ok(serving.banner.print()?);
    let outcome = runtime.block_on(serve((args, &reach, &version), hangups, checked, followed, told));
    // A running evaluation must not delay the end of the process.
    runtime.shutdown_timeout(limits::DRAIN_ABANDON);
    outcome
}

/// Where the policy comes from, if it is followed. One of this program's own is followed where the version of the API server decides what it
/// means.
fn policy_source(args: &ServeArgs, reach: &Reach, followed: Option<&Followed>) -> anyhow::Result<Option<Source>> {
    Ok(match (followed, &args.policy.policy) {
        (Some(followed), _) => Some(Source::Object(followed.object.clone())),
        (None, Some(path)) => Some(Source::Path(path.clone(), reach.clone())),
        (None, None) if args.kube.origin().is_some() => {
            let text = cluster::policy_text(&args.policy).map_err(Failure::Policy)?;
            Some(Source::Fixed(text))
        }
        (None, None) => None,
    })
}

/// The listeners, all bound before anything is served.
struct Listeners {
    unix: UnixListener,
    socket_file: SocketFile,
    tcp: Option<TcpListener>,
    probes: Option<TcpListener>,
    /// None where its port is taken, too.
    explorer: Option<TcpListener>,
}

impl Listeners {
    /// Binds all, and reports all that cannot be bound. Of the explorer it only warns: no core needs it.
    async fn bind(args: &ServeArgs, socket: &Path) -> anyhow::Result<Self> {
        let mut errors = Vec::new();
        let unix = collect(&mut errors, listen::bind_unix(socket).await);
        let mut bound = async |address: Option<SocketAddr>| match address {
            Some(address) => collect(&mut errors, listen::bind_tcp(address).await),
            None => None,
        };
        let tcp = bound((!args.no_tcp).then_some(args.listen)).await;
        let probes = bound(args.probe_listen).await;
        match (unix, exit::all(errors)) {
            (Some((unix, socket_file)), None) => {
                let explorer = explorer::bind(args.explorer_address()).await;
                Ok(Self { unix, socket_file, tcp, probes, explorer })
            }
            (_, error) => Err(error.unwrap_or_else(|| anyhow::anyhow!("cannot listen on {}", socket.display()))),
        }
    }
}

/// Serves what the checks have opened, in the four steps of an [`App`]; `told` says so once it does.
async fn serve(
    (args, reach, version): (&ServeArgs, &Reach, &ServerVersion),
    hangups: Signal,
    checked: Checked,
    followed: Option<Followed>,
    told: impl FnOnce(&Serving) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let Checked { tls, socket, connection, opened } = checked;
    let signals = Signals::new().context("cannot listen for signals")?;
    let mut app = App::new(args, opened, followed.as_ref());
    let listening = app.listen(&socket, tls.clone(), connection.as_ref()).await?;
    let sourced = app.follow_cluster(connection.as_ref(), version)?;
    let governed = app.follow_policy(reach, sourced)?;
    tokio::spawn(reload_certificates(hangups, tls));
    let serving = app.serve(listening, governed).await?;
    told(&serving)?;
    drain(serving.server, &serving.readiness, signals).await?;
    if let Some(followed) = followed {
        followed.end().await;
    }
    Ok(())
}

/// Waits for a signal, and then until no request is open.
async fn drain(server: Server, readiness: &Readiness, mut signals: Signals) -> anyhow::Result<()> {
    let first = signals.next().await;
    tracing::info!(signal = first, "shutting down");
    tokio::select! {
        drained = server.drain(|| readiness.drain()) => if drained == Drained::CutShort {
            tracing::warn!(grace_s = nodesift_api::limits::DRAIN_GRACE.as_secs(), "requests cut off: drain timeout reached");
        },
        second = signals.next() => anyhow::bail!("received a second signal ({second}) while draining"),
    }
    Ok(())
}

/// Reads the certificates again on SIGHUP.
async fn reload_certificates(mut hangups: Signal, tls: Option<Tls>) {
    while hangups.recv().await.is_some() {
        match &tls {
            Some(tls) => tls.reload(),
            None => tracing::info!("SIGHUP: there is nothing to read again"),
        }
    }
}

/// Checks the cache for drift periodically and on SIGUSR1.
fn self_check(audit: Audit) -> anyhow::Result<impl Future<Output = ()>> {
    let mut requests = signal(SignalKind::user_defined1()).context("cannot listen for signals")?;
    let wanted = audit.wanted();
    Ok(async move {
        let on_request = async {
            while requests.recv().await.is_some() {
                wanted.notify_one();
            }
        };
        tokio::join!(audit.run(), on_request);
    })
}

/// The signals that end the process.
struct Signals {
    term: Signal,
    int: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self { term: signal(SignalKind::terminate())?, int: signal(SignalKind::interrupt())? })
    }

    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.term.recv() => "SIGTERM",
            _ = self.int.recv() => "SIGINT",
        }
    }
}
