//! `nodesift serve`: the sidecar, from its first check to the end of its drain.
//!
//! Everything that can be wrong with arguments, cluster or policy is told before any address is bound. Start at [`run`].

mod live;
mod welcome;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use prometheus_client::registry::Registry;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::args::ServeArgs;
use super::cluster::{self, Opened, Origin};
use super::exit::Failure;
use crate::limits;
use nodesift_api::ahead::{self, Ahead};
use nodesift_api::exposition::{self as metrics, Exposition};
use nodesift_api::guard::BodyLimit;
use nodesift_api::server::{Drained, Server};
use nodesift_api::tls::Tls;
use nodesift_api::{self as api, Readiness, Service, Settings, Staleness, assume, listen, router};
use nodesift_cache as cache;
use nodesift_engine::{self as engine, Reuse};
use nodesift_source::audit::{self, Audit};
use nodesift_source::feed::{self, Feed};
use nodesift_source::freshness::Freshness;
use nodesift_source::kube::connection::Connection;
use welcome::Shown;

/// Serves until SIGTERM or SIGINT, then drains; a second signal ends it at once.
pub(super) fn run(args: &ServeArgs) -> anyhow::Result<()> {
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
    cluster::note_skipped(&opened.skipped);

    let outcome = runtime.block_on(serve(args, tls, opened, connection));
    // An evaluation that hangs must not hold the end up.
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
    let engine = opened.engine.counting(engine::Metrics::register(&mut registry)).reusing(reuse);
    let engine = Arc::new(engine);
    let mut signals = Signals::new().context("cannot listen for signals")?;
    let socket = args.socket.clone().unwrap_or_else(default_socket);
    let (unix, socket_file) = listen::bind_unix(&socket).await?;
    let tcp = if args.no_tcp { None } else { Some(listen::bind_tcp(args.listen).await?) };

    let scheme = if tls.is_some() { "https" } else { "http" };
    let bound = match &tcp {
        Some(tcp) => Some(format!("{scheme}://{}", tcp.local_addr().context("the address bound is not known")?)),
        None => None,
    };
    let shown = match &connection {
        Some(connection) => Shown::Live(&connection.address),
        None => Shown::Files(&args.cluster.cluster),
    };
    let welcome = welcome::text(bound, socket_file.path(), &shown, &engine);

    let readiness = Readiness::default();
    // Without a live cluster nothing is heard of and nothing grows old: files do not.
    let freshness = Freshness::default();
    metrics::process(&mut registry);
    writer.lock().set_metrics(cache::Metrics::register(&mut registry));
    cache::MemoryStats::register(&writer, &mut registry);
    let feed =
        Feed::start(Arc::clone(&writer), feed::Metrics::register(&mut registry)).context("cannot start threads")?;
    feed.register(&mut registry);
    let retried = feed.clone();
    readiness.remark(move || retried.remark());
    let mut ahead = Ahead::of(&writer, ahead::Metrics::register(&mut registry));
    // Readiness waits for every kind before anybody can ask.
    let (_following, kinds, list) = match &connection {
        Some(connection) => live::follow(connection, &engine, &feed, &readiness, &freshness, &mut registry),
        None => live::nothing(),
    };
    let audit = Audit::new(Arc::clone(&writer), feed, kinds, list, audit::Metrics::register(&mut registry));
    tokio::spawn(self_check(audit)?);
    tokio::spawn(assume::expire(Arc::downgrade(&writer)));
    let staleness = Staleness::new(move || freshness.staleness(), args.stale_after, args.refuse_stale);
    let settings = Settings { assume_ttl: args.assume_ttl, staleness };
    let counting = api::Metrics::register(&mut registry);
    let service = Service::new(engine, writer, readiness.clone(), settings).counting(counting);
    ahead.start(&service).context("cannot start threads")?;
    let mut server =
        Server::new(router::router(service, BodyLimit(args.max_body_bytes), Exposition::new(registry)), readiness);
    server.listen(unix, None);
    if let Some(tcp) = tcp {
        server.listen(tcp, tls);
    }
    welcome::print(&welcome)?;

    let first = signals.next().await;
    tracing::info!(signal = first, "shutting down");
    ahead.stop();
    tokio::select! {
        drained = server.drain() => if drained == Drained::CutShort {
            tracing::warn!(grace_s = nodesift_api::limits::DRAIN_GRACE.as_secs(), "requests were cut short: the grace ran out");
        },
        second = signals.next() => anyhow::bail!("ended at once by a second signal ({second})"),
    }
    Ok(())
}

/// Checks the cache now and then, and on SIGUSR1.
fn self_check(audit: Audit) -> anyhow::Result<impl Future<Output = ()>> {
    let mut asked = signal(SignalKind::user_defined1()).context("cannot listen for signals")?;
    let wanted = audit.wanted();
    Ok(async move {
        let asking = async {
            while asked.recv().await.is_some() {
                wanted.notify_one();
            }
        };
        tokio::join!(audit.run(), asking);
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

/// `nodesift.sock` in the runtime folder: the user's, else the system's, else the temporary folder.
fn default_socket() -> PathBuf {
    const NAME: &str = "nodesift.sock";
    let users = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|folder| folder.is_dir());
    let systems = || {
        let folder = Path::new("/run/nodesift");
        std::fs::create_dir_all(folder).is_ok().then(|| folder.to_owned())
    };
    users.or_else(systems).unwrap_or_else(std::env::temp_dir).join(NAME)
}
