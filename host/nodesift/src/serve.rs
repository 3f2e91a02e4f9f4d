//! `nodesift serve`: the sidecar, from its checks to the end of its drain.
//!
//! ```text
//! live     follows a live cluster; what readiness waits for
//! banner   the startup text on stdout
//! ```
//!
//! Errors in arguments, cluster files or policy are reported before any address is bound. The API itself is in
//! `nodesift-api`. Start at [`run`].

mod banner;
mod live;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use prometheus_client::registry::Registry;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::args::ServeArgs;
use crate::cluster::{self, Opened, Origin};
use crate::exit::Failure;
use crate::limits;
use banner::ClusterSource;
use nodesift_api::BodyLimit;
use nodesift_api::exposition::{self as metrics, Exposition};
use nodesift_api::server::{Drained, Server};
use nodesift_api::tls::Tls;
use nodesift_api::{self as api, ListenerClass, Readiness, Service, Settings, Staleness, assume, listen, router};
use nodesift_cache as cache;
use nodesift_engine::{self as engine, Reuse};
use nodesift_object::Kind;
use nodesift_source::audit::{self, Audit};
use nodesift_source::feed::{self, Feed};
use nodesift_source::freshness::Freshness;
use nodesift_source::kube::Health;
use nodesift_source::kube::connection::Connection;

/// Serves until SIGTERM or SIGINT, then drains. A second signal ends the process at once.
///
/// # Errors
///
/// If arguments, files, policy or kubeconfig are invalid, an address cannot be bound, or a second signal arrives.
pub(crate) fn run(args: &ServeArgs) -> anyhow::Result<()> {
    let tls = args.tls.files().map(Tls::open).transpose().map_err(|error| Failure::Files(error.into()))?;
    if !args.no_tcp && tls.is_none() {
        listen::check_loopback(args.listen).map_err(|error| Failure::Usage(error.to_string()))?;
    }
    let runtime = Runtime::new().context("cannot start threads")?;
    let connection = match args.kube.origin() {
        Some(origin) => Some(runtime.block_on(live::connect(&origin))?),
        None => None,
    };
    let origin = match (&connection, args.cluster.cluster.as_slice()) {
        (Some(_), _) => Origin::Live,
        (None, []) => Origin::Sample,
        (None, files) => Origin::Files(files),
    };
    let opened = cluster::open(&origin, &args.policy)?;
    cluster::note_summary(&opened.summary);

    let outcome = runtime.block_on(serve(args, tls, opened, connection));
    // A running evaluation must not delay the end of the process.
    runtime.shutdown_timeout(limits::DRAIN_ABANDON);
    outcome
}

async fn serve(
    args: &ServeArgs,
    tls: Option<Tls>,
    opened: Opened,
    connection: Option<Connection>,
) -> anyhow::Result<()> {
    let mut registry = Registry::default();
    let writer = opened.writer;
    let reuse = if args.verify_reuse { Reuse::Verified } else { Reuse::On };
    let engine = opened.engine.keeping_at_most(args.verdict_cache_bytes);
    let engine = engine.counting(engine::Metrics::register(&mut registry)).reusing(reuse);
    let engine = Arc::new(engine);
    let mut signals = Signals::new().context("cannot listen for signals")?;
    let socket = args.socket.clone().unwrap_or_else(default_socket);
    let (unix, socket_file) = listen::bind_unix(&socket).await?;
    let tcp = if args.no_tcp { None } else { Some(listen::bind_tcp(args.listen).await?) };

    let scheme = if tls.is_some() { "https" } else { "http" };
    let bound = match &tcp {
        Some(tcp) => Some(format!("{scheme}://{}", tcp.local_addr().context("cannot read the bound address")?)),
        None => None,
    };
    let source = match &connection {
        Some(connection) => ClusterSource::Live(&connection.address),
        None => ClusterSource::Files(&args.cluster.cluster),
    };
    let banner = banner::text(bound, socket_file.path(), &source, &engine);

    let readiness = Readiness::default();
    // It stays empty without a live cluster: files never become stale.
    let freshness = Freshness::default();
    metrics::build(&mut registry);
    metrics::process(&mut registry);
    engine::predicate_metrics::register(&engine, &mut registry);
    writer.lock().set_metrics(cache::Metrics::register(&mut registry));
    cache::MemoryStats::register(&writer, &mut registry);
    let feed =
        Feed::start(Arc::clone(&writer), feed::Metrics::register(&mut registry)).context("cannot start threads")?;
    feed.register(&mut registry);
    let retried = feed.clone();
    readiness.remark(move || retried.remark());
    let health = Health::default();
    let failing = health.clone();
    readiness.remark(move || failing.report());
    // Readiness must wait for every kind before the server accepts requests.
    let (_following, kinds, list) = match &connection {
        Some(connection) => live::follow(connection, &engine, &feed, &readiness, (&freshness, &health), &mut registry),
        None => live::nothing(),
    };
    let audit = Audit::new(Arc::clone(&writer), feed, kinds, list, audit::Metrics::register(&mut registry));
    tokio::spawn(self_check(audit)?);
    let pods = freshness.clone();
    tokio::spawn(assume::expire(Arc::downgrade(&writer), move || pods.staleness_of(Kind::Pod)));
    let staleness = Staleness::new(move || freshness.staleness(), args.stale_after, args.refuse_stale);
    let settings = Settings { assume_ttl: args.assume_ttl, staleness, request_time: args.request_timeout };
    let counting = api::Metrics::register(&mut registry);
    let service = Service::new(engine, writer, readiness.clone(), settings).counting(counting);
    let mut server =
        Server::new(router::router(service, BodyLimit(args.max_body_bytes), Exposition::new(registry)), readiness);
    server.listen(unix, ListenerClass::Unix, None);
    if let Some(tcp) = tcp {
        server.listen(tcp, ListenerClass::Tcp, tls);
    }
    banner::print(&banner)?;

    let first = signals.next().await;
    tracing::info!(signal = first, "shutting down");
    tokio::select! {
        drained = server.drain() => if drained == Drained::CutShort {
            tracing::warn!(grace_s = nodesift_api::limits::DRAIN_GRACE.as_secs(), "requests cut off: drain timeout reached");
        },
        second = signals.next() => anyhow::bail!("received a second signal ({second}) while draining"),
    }
    Ok(())
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

/// `nodesift.sock` in the first of `$XDG_RUNTIME_DIR`, `/run/nodesift` and the temporary directory that exists.
fn default_socket() -> PathBuf {
    const NAME: &str = "nodesift.sock";
    let user_folder = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|folder| folder.is_dir());
    let system_folder = || {
        let folder = Path::new("/run/nodesift");
        std::fs::create_dir_all(folder).is_ok().then(|| folder.to_owned())
    };
    user_folder.or_else(system_folder).unwrap_or_else(std::env::temp_dir).join(NAME)
}
