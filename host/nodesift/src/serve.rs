//! `nodesift serve`: the sidecar, from its checks to the end of its drain.
//!
//! ```text
//! checks         what is checked before anything is bound
//! live           follows a live cluster; what readiness waits for
//! policy_object  the policy as an object of the watched cluster, and its status
//! reload         follows the policy's files, or its object
//! waiting        live and not ready, where there is no policy yet
//! warm_up        the first evaluation, before the process is ready
//! watchdog       heartbeats of threads; liveness
//! starvation     whether a thread only waits for a processor
//! banner         the startup text on stdout, and in the log
//! failpoints     what tests stop or break; not in release builds
//! ```
//!
//! Errors in arguments, cluster files or policy are reported before any address is bound. The API itself is in
//! `nodesift-api`. Start at [`run`].

mod banner;
mod checks;
#[cfg(debug_assertions)]
mod failpoints;
mod live;
mod policy_object;
mod reload;
mod starvation;
mod waiting;
mod warm_up;
mod watchdog;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use prometheus_client::registry::Registry;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::args::ServeArgs;
use crate::cluster::{self, Opened};
use crate::exit::{self, Failure, collect};
use crate::limits;
use banner::ClusterSource;
use checks::Checked;
pub(crate) use checks::socket_path;
use nodesift_api::BodyLimit;
use nodesift_api::exposition::{self as metrics, Exposition};
use nodesift_api::listen::{SocketFile, TcpListener, UnixListener};
use nodesift_api::server::{Drained, Server};
use nodesift_api::tls::Tls;
use nodesift_api::{self as api, Readiness, Service, Settings, Staleness, assume, listen, router};
use nodesift_cache as cache;
use nodesift_engine::{self as engine, Reuse};
use nodesift_object::Kind;
use nodesift_parties::BrokeredParties;
use nodesift_policy::Reach;
use nodesift_policy::reload::Source;
use nodesift_source::audit::{self, Audit};
use nodesift_source::feed::{self, Feed};
use nodesift_source::freshness::Freshness;
use nodesift_source::kube::connection::Connection;
use nodesift_source::kube::{self, Health};
use policy_object::Followed;
use watchdog::Watchdog;

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
    let source = policy_source(args, &reach, followed.as_ref());
    // Files that are broken end a start which could not go on with others. An object is mended while its replicas run.
    let waits = args.state_folder.is_some() || followed.is_some();
    let checked = match (checks::check(args, &reach, &runtime, followed.as_ref()), &source) {
        (Err(error), Some(source)) if waits && checks::is_about_policy(&error) => {
            waiting::until_checked(args, &reach, &runtime, source, followed.as_ref(), &error)?
        }
        (outcome, _) => outcome?,
    };
    let Checked { tls, socket, connection, opened } = checked;
    cluster::note_summary(&opened.summary);

    let outcome = runtime.block_on(serve((args, &reach), hangups, tls, &socket, opened, connection, followed));
    // A running evaluation must not delay the end of the process.
    runtime.shutdown_timeout(limits::DRAIN_ABANDON);
    outcome
}

/// Where the policy comes from, if it is followed.
fn policy_source(args: &ServeArgs, reach: &Reach, followed: Option<&Followed>) -> Option<Source> {
    let object = followed.map(|followed| Source::Object(followed.object.clone()));
    object.or_else(|| Some(Source::Path(args.policy.policy.clone()?, reach.clone())))
}

/// The listeners, all bound before anything is served.
struct Listeners {
    unix: UnixListener,
    socket_file: SocketFile,
    tcp: Option<TcpListener>,
    probes: Option<TcpListener>,
}

impl Listeners {
    /// Binds all, and reports all that cannot be bound.
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
            (Some((unix, socket_file)), None) => Ok(Self { unix, socket_file, tcp, probes }),
            (_, error) => Err(error.unwrap_or_else(|| anyhow::anyhow!("cannot listen on {}", socket.display()))),
        }
    }
}

async fn serve(
    (args, reach): (&ServeArgs, &Reach),
    hangups: Signal,
    tls: Option<Tls>,
    socket: &Path,
    opened: Opened,
    connection: Option<Connection>,
    followed: Option<Followed>,
) -> anyhow::Result<()> {
    let mut registry = Registry::default();
    let writer = opened.writer;
    let reuse = if args.verify_reuse { Reuse::Verified } else { Reuse::On };
    let engine = opened.engine.with_store_bytes(args.verdict_cache_bytes);
    let engine = engine.with_metrics(engine::Metrics::register(&mut registry)).with_reuse(reuse);
    let engine = Arc::new(engine);
    let mut signals = Signals::new().context("cannot listen for signals")?;
    let Listeners { unix, socket_file, tcp, probes } = Listeners::bind(args, socket).await?;

    let scheme = if tls.is_some() { "https" } else { "http" };
    let bound = match &tcp {
        Some(tcp) => Some(format!("{scheme}://{}", tcp.local_addr().context("cannot read the bound address")?)),
        None => None,
    };
    let probes_bound = match &probes {
        Some(probes) => Some(probes.local_addr().context("cannot read the bound address")?.to_string()),
        None => None,
    };
    let source = match &connection {
        Some(connection) => ClusterSource::Live(&connection.address),
        None if args.sample => ClusterSource::Sample,
        None => ClusterSource::Files(&args.cluster.cluster),
    };
    let banner = banner::Banner::new(bound, socket_file.path(), probes_bound, &source, &engine);

    let readiness = Readiness::default();
    // It stays empty without a live cluster: files never become stale.
    let freshness = Freshness::default();
    metrics::build(&mut registry);
    metrics::process(&mut registry);
    engine::predicate_metrics::register(&engine, &mut registry);
    engine::accounting::metrics::register(&engine, &mut registry);
    engine::shadow::metrics::register(&engine, &mut registry);
    writer.lock().set_metrics(cache::Metrics::register(&mut registry));
    cache::MemoryStats::register(&writer, &mut registry);
    let feed =
        Feed::start(Arc::clone(&writer), feed::Metrics::register(&mut registry)).context("cannot start threads")?;
    feed.register(&mut registry);
    // Files have been loaded without the feed, which asks again about what is not known.
    let unknown = writer.lock().unknown_accounts().any();
    unknown.iter().for_each(|(kind, id)| feed.requeue(*kind, id));
    let (clock, pulse) = (Arc::clone(engine.pulse()), Arc::clone(feed.pulse()));
    #[cfg(debug_assertions)]
    tokio::spawn(failpoints::follow(Arc::clone(&clock), Arc::clone(&pulse), Arc::clone(&writer)));
    let _watchdog = Watchdog::start(clock, pulse, readiness.clone()).context("cannot start threads")?;
    let (retried, counted) = (feed.clone(), feed.clone());
    readiness.remark_naming(move || retried.remark(), move || counted.counts());
    let (health, requests) = match &followed {
        Some(followed) => (followed.health.clone(), followed.metrics.clone()),
        None => (Health::default(), kube::Metrics::default()),
    };
    let requests = requests.registered(&mut registry, &freshness);
    match &followed {
        Some(followed) => followed.remark(&readiness),
        None => {
            let (failing, counted) = (health.clone(), health.clone());
            readiness.remark_naming(move || failing.report(), move || counted.counts());
        }
    }
    // Readiness must wait for every kind before the server accepts requests.
    let watching = match &connection {
        Some(connection) => {
            live::follow(connection, (&engine, &writer), &feed, &readiness, (&freshness, &health, &requests))
        }
        None => live::nothing(),
    };
    let live::Followed { live, first, kinds, list } = watching;
    let is_live = live.is_some();
    let files =
        reload::Files { policy: policy_source(args, reach, followed.as_ref()), state: args.state_folder.as_deref() };
    let reloading = reload::follow(files, (&engine, &writer), (live, first), &readiness, &mut registry);
    let _reloading = reloading.context("cannot start threads")?;
    let second = (args.shadow_policy.as_deref(), args.reach.reach(false)?, args.state_folder.as_deref());
    reload::shadow(second, &engine, is_live).map_err(|error| Failure::Policy(error.into()))?;
    let audit = Audit::new(Arc::clone(&writer), feed, kinds, list, audit::Metrics::register(&mut registry));
    let audit = audit.after(health.over());
    tokio::spawn(self_check(audit)?);
    let pods = freshness.clone();
    tokio::spawn(assume::expire(Arc::downgrade(&writer), move || pods.staleness_of(Kind::Pod)));
    tokio::spawn(reload_certificates(hangups, tls.clone()));
    let staleness = Staleness::new(move || freshness.staleness(), args.stale_after, args.refuse_stale);
    let settings = Settings { assume_ttl: args.assume_ttl, staleness, request_time: args.request_timeout };
    let counting = api::Metrics::register(&mut registry);
    let negotiated = nodesift_parties::Metrics::register(&mut registry, &counting);
    banner.log(&engine, &source, args);
    let first_evaluation = warm_up::start(&engine, &readiness);
    if !is_live {
        // Whoever connects to a sidecar on files is answered and not told to try again. It ends soon, whatever predicates do.
        let _ended = first_evaluation.await;
    }
    let mut service = Service::new(engine, writer, readiness.clone(), settings).counting(counting);
    if let Some(followed) = &followed {
        service = service.noting_policy(followed.trouble());
    }
    let parties = BrokeredParties::new(service.clone(), negotiated);
    let service = service.with_parties(Arc::new(parties));
    let exposition = Exposition::new(registry);
    let access = args.access.checks(args.listen);
    let probes_router = router::probes(service.clone(), exposition.clone());
    let mut server =
        Server::new(router::router(service, access, BodyLimit(args.max_body_bytes), exposition), readiness);
    server.listen_unix(unix).context("cannot start threads")?;
    if let Some(tcp) = tcp {
        server.listen_tcp(tcp, tls);
    }
    if let Some(probes) = probes {
        server.listen_probes(probes, probes_router);
    }
    banner.print()?;

    let first = signals.next().await;
    tracing::info!(signal = first, "shutting down");
    tokio::select! {
        drained = server.drain() => if drained == Drained::CutShort {
            tracing::warn!(grace_s = nodesift_api::limits::DRAIN_GRACE.as_secs(), "requests cut off: drain timeout reached");
        },
        second = signals.next() => anyhow::bail!("received a second signal ({second}) while draining"),
    }
    if let Some(followed) = followed {
        followed.end().await;
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
