//! The sidecar as it serves, built in four steps, each of which takes what the one before has made: listeners, source of the cluster,
//! policy, API. Start at [`App::new`].

use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use prometheus_client::registry::Registry;

use super::banner::{Banner, Bound, ClusterSource};
use super::pod_negotiation;
use super::policy_object::{Followed, replica_name};
use super::watchdog::Watchdog;
use super::{
    Listeners, crossings, explorer, live, pending, policy_source, reload, self_check, server_version, warm_up,
};
use crate::args::ServeArgs;
use crate::cluster::{ClusterFiles, Opened};
use crate::exit::Failure;
use nodesift_api::exposition::{self as metrics, Exposition};
use nodesift_api::listen::{SocketFile, TcpListener};
use nodesift_api::server::Server;
use nodesift_api::tls::Tls;
use nodesift_api::{self as api, BodyLimit, Readiness, Service, Settings, Staleness, assume, router};
use nodesift_cache::{self as cache, SharedWriter};
use nodesift_engine::{self as engine, Engine, Reuse, VersionOrigin};
use nodesift_object::Kind;
use nodesift_parties::BrokeredParties;
use nodesift_parties::record::{NoRecord, Record};
use nodesift_policy::Reach;
use nodesift_policy::kubernetes::{Auto, ServerVersion};
use nodesift_source::audit::{self, Audit};
use nodesift_source::feed::{self, Feed};
use nodesift_source::freshness::Freshness;
use nodesift_source::kube::connection::Connection;
use nodesift_source::kube::{self, Health};

/// Engine and cache, and the state that the steps share.
pub(super) struct App<'a> {
    args: &'a ServeArgs,
    /// The policy as an object of the cluster, if it is one.
    followed: Option<&'a Followed>,
    registry: Registry,
    engine: Arc<Engine>,
    writer: SharedWriter,
    /// The cluster's files, until the policy is followed.
    files: Option<ClusterFiles>,
    readiness: Readiness,
    /// It stays empty without a live cluster: files never become stale.
    freshness: Freshness,
    /// Decisions about pods with external parties.
    record: Arc<dyn Record>,
}

/// The bound listeners, and the startup text about them.
pub(super) struct Listening<'a> {
    listeners: Listeners,
    tls: Option<Tls>,
    banner: Banner,
    /// URL of the explorer, where it is served.
    explorer: Option<String>,
    source: ClusterSource<'a>,
}

/// The cluster that is followed or was read from files.
pub(super) struct Sourced {
    feed: Feed,
    health: Health,
    /// The source of the version of Kubernetes of policies that name none.
    version: ServerVersion,
    watching: live::Followed,
    watchdog: Watchdog,
}

/// The policy that is followed.
pub(super) struct Governed {
    is_live: bool,
    _reloading: reload::Reloading,
    _watchdog: Watchdog,
}

/// The server of a sidecar that is complete. Dropping it ends what the process follows.
pub(super) struct Serving {
    pub(super) server: Server,
    pub(super) banner: Banner,
    /// Says that the process drains.
    pub(super) readiness: Readiness,
    /// URL of the explorer, where it is served.
    pub(super) explorer: Option<String>,
    _governed: Governed,
    _socket_file: SocketFile,
}

impl<'a> App<'a> {
    /// Takes the engine and the cache that the checks have made.
    pub(super) fn new(args: &'a ServeArgs, opened: Opened, followed: Option<&'a Followed>) -> Self {
        let mut registry = Registry::default();
        let reuse = if args.verify_reuse { Reuse::Verified } else { Reuse::On };
        let engine = opened.engine.with_store_bytes(args.verdict_cache_bytes);
        let engine = engine.with_metrics(engine::Metrics::register(&mut registry)).with_reuse(reuse);
        let (readiness, freshness) = (Readiness::default(), Freshness::default());
        let (engine, writer, files) = (Arc::new(engine), opened.writer, opened.files);
        let record = Arc::new(NoRecord::default());
        Self { args, followed, registry, engine, writer, files, readiness, freshness, record }
    }

    /// Step 1: binds every listener, before anything is followed or served.
    pub(super) async fn listen(
        &self,
        socket: &Path,
        tls: Option<Tls>,
        connection: Option<&'a Connection>,
    ) -> anyhow::Result<Listening<'a>> {
        let listeners = Listeners::bind(self.args, socket).await?;
        let scheme = if tls.is_some() { "https" } else { "http" };
        let address = |listener: Option<&TcpListener>| match listener {
            Some(listener) => listener.local_addr().context("cannot read the bound address").map(Some),
            None => Ok(None),
        };
        let url = |address| format!("{scheme}://{address}");
        let explorer = address(listeners.explorer.as_ref())?.map(url);
        let bound = Bound {
            tcp: address(listeners.tcp.as_ref())?.map(url),
            socket: listeners.socket_file.path(),
            probes: address(listeners.probes.as_ref())?.map(|address| address.to_string()),
            explorer: explorer.clone(),
        };
        let source = match connection {
            Some(connection) => ClusterSource::Live(&connection.address),
            None if self.args.sample => ClusterSource::Sample,
            None => ClusterSource::Files(&self.args.cluster.cluster),
        };
        let banner = Banner::new(&bound, &source, &self.engine);
        Ok(Listening { listeners, tls, banner, explorer, source })
    }

    /// Step 2: follows the cluster, unless it comes from files. Readiness waits for every kind before the server accepts requests.
    pub(super) fn follow_cluster(
        &mut self,
        connection: Option<&Connection>,
        version: &ServerVersion,
    ) -> anyhow::Result<Sourced> {
        let (feed, watchdog) = self.start_feed()?;
        let (retried, counted) = (feed.clone(), feed.clone());
        self.readiness.remark_naming(move || retried.remark(), move || counted.counts());
        let (health, requests) = match self.followed {
            Some(followed) => (followed.health.clone(), followed.metrics.clone()),
            None => (Health::default(), kube::Metrics::default()),
        };
        let requests = requests.registered(&mut self.registry, &self.freshness);
        match self.followed {
            Some(followed) => followed.remark(&self.readiness),
            None => {
                let (failing, counted) = (health.clone(), health.clone());
                self.readiness.remark_naming(move || failing.report(), move || counted.counts());
            }
        }
        self.record = pod_negotiation::record(self.args, connection, &self.writer, &self.readiness);
        let watching = match connection {
            Some(connection) => {
                let stated = (&self.freshness, &health, &requests);
                live::follow(connection, (&self.engine, &self.writer), &feed, &self.readiness, stated)
            }
            None => live::nothing(),
        };
        self.follow_version(connection, version, &health);
        Ok(Sourced { feed, health, version: version.clone(), watching, watchdog })
    }

    /// Follows the version of the API server, where that decides anything, and has readiness say where verdicts may be of another one.
    fn follow_version(&self, connection: Option<&Connection>, version: &ServerVersion, health: &Health) {
        let warning = Arc::downgrade(&self.engine);
        self.readiness.remark(move || warning.upgrade()?.policy().settings.kubernetes.warning());
        let auto = version.auto();
        if let Some(connection) = connection.filter(|_| !matches!(auto, Auto::Argument(_))) {
            // A policy that names its version waits for none.
            let is_unknown = self.engine.policy().settings.kubernetes.origin == VersionOrigin::ServerUnknown;
            let latch = is_unknown.then(|| self.readiness.wait_for("the version of the API server"));
            let (server, engine) = (connection.server.clone(), Arc::clone(&self.engine));
            let health = (health.over(), health.clone());
            tokio::spawn(server_version::follow(server, version.clone(), health, engine, latch));
        }
    }

    /// Starts the thread that applies changes to the cache, and the watchdog of it and of the epoch clock.
    fn start_feed(&mut self) -> anyhow::Result<(Feed, Watchdog)> {
        let Self { registry, engine, writer, .. } = self;
        metrics::build(registry);
        metrics::process(registry);
        engine::predicate_metrics::register(engine, registry);
        engine::accounting::metrics::register(engine, registry);
        engine::shadow::metrics::register(engine, registry);
        engine::pending::metrics::register(engine, registry);
        writer.lock().set_metrics(cache::Metrics::register(registry));
        cache::MemoryStats::register(writer, registry);
        tokio::spawn(crossings::follow(writer, engine));
        let feed =
            Feed::start(Arc::clone(writer), feed::Metrics::register(registry)).context("cannot start threads")?;
        feed.register(registry);
        // Files have been loaded without the feed, which asks again about what is not known.
        let unknown = writer.lock().unknown_accounts().any();
        unknown.iter().for_each(|(kind, id)| feed.requeue(*kind, id));
        let (clock, pulse) = (Arc::clone(engine.pulse()), Arc::clone(feed.pulse()));
        #[cfg(debug_assertions)]
        tokio::spawn(super::failpoints::follow(Arc::clone(&clock), Arc::clone(&pulse), Arc::clone(writer)));
        let watchdog = Watchdog::start(clock, pulse, self.readiness.clone()).context("cannot start threads")?;
        Ok((feed, watchdog))
    }

    /// Step 3: follows the policy, evaluates another one beside it if there is one, and begins to check the cache.
    pub(super) fn follow_policy(&mut self, reach: &Reach, sourced: Sourced) -> anyhow::Result<Governed> {
        let Sourced { feed, health, version, watching, watchdog } = sourced;
        let live::Followed { live, first, kinds, list } = watching;
        let is_live = live.is_some();
        let state = self.args.state_folder.as_deref();
        let policy = policy_source(self.args, reach, self.followed)?;
        let files = reload::Files { policy, version: &version, state, cluster: self.files.take() };
        let (engine, writer) = (&self.engine, &self.writer);
        let reloading = reload::follow(files, (engine, writer), (live, first), &self.readiness, &mut self.registry);
        let reloading = reloading.context("cannot start threads")?;
        let second = (self.args.shadow_policy.as_deref(), self.args.reach.reach(false)?, state);
        reload::shadow(second, &version, engine, is_live).map_err(|error| Failure::Policy(error.into()))?;
        let counted = audit::Metrics::register(&mut self.registry);
        let audit = Audit::new(Arc::clone(writer), feed, kinds, list, counted).after(health.over());
        tokio::spawn(self_check(audit)?);
        let pods = self.freshness.clone();
        if !self.args.no_pending_list {
            pending::start(engine, &self.readiness).context("cannot start threads")?;
        }
        tokio::spawn(assume::expire(Arc::downgrade(writer), move || pods.staleness_of(Kind::Pod)));
        Ok(Governed { is_live, _reloading: reloading, _watchdog: watchdog })
    }

    /// Step 4: accepts requests.
    pub(super) async fn serve(mut self, listening: Listening<'_>, governed: Governed) -> anyhow::Result<Serving> {
        let Listening { listeners, tls, banner, explorer: explorer_url, source } = listening;
        let Listeners { unix, socket_file, tcp, probes, explorer } = listeners;
        let args = self.args;
        let freshness = self.freshness;
        let pods = freshness.clone();
        let staleness = Staleness::new(move || freshness.staleness(), args.stale_after, args.refuse_stale)
            .with_pods(move || pods.staleness_of(Kind::Pod));
        let settings = Settings {
            assume_ttl: args.assume_ttl,
            staleness,
            request_time: args.request_timeout,
            replica: replica_name(args.replica_name.as_deref()),
            explorer: explorer_url.clone(),
        };
        let counting = api::Metrics::register(&mut self.registry);
        let negotiated = nodesift_parties::Metrics::register(&mut self.registry, &counting);
        banner.log(&self.engine, &source, args);
        let first_evaluation = warm_up::start(&self.engine, &self.readiness);
        if !governed.is_live {
            // Whoever connects to a sidecar on files is answered and not told to try again. It ends soon, whatever predicates do.
            let _ended = first_evaluation.await;
        }
        let mut service = Service::new(self.engine, self.writer, self.readiness.clone(), settings).counting(counting);
        if let Some(followed) = self.followed {
            service = service.noting_policy(followed.trouble());
        }
        let parties = BrokeredParties::with_record(service.clone(), negotiated, self.record);
        if !service.engine().policy().settings.parties.is_empty() {
            // What an earlier process has left to this one is nobody else's while this one is there.
            parties.start();
        }
        let service = service.with_parties(Arc::new(parties));
        let exposition = Exposition::new(self.registry);
        let probes_router = router::probes(service.clone(), exposition.clone());
        let pages = |address| api::explorer::router(service.clone(), args.access.checks(address), explorer::ASSETS);
        let pages = args.explorer_address().map(pages);
        let access = args.access.checks(args.listen);
        let router = router::router(service, access, BodyLimit(args.max_body_bytes), exposition);
        let mut server = Server::new(router);
        server.listen_unix(unix).context("cannot start threads")?;
        if let Some(tcp) = tcp {
            server.listen_tcp(tcp, tls.clone());
        }
        if let Some(probes) = probes {
            server.listen_probes(probes, probes_router);
        }
        if let (Some(explorer), Some(pages)) = (explorer, pages) {
            server.listen_explorer(explorer, tls, pages);
        }
        Ok(Serving {
            server,
            banner,
            readiness: self.readiness,
            explorer: explorer_url,
            _governed: governed,
            _socket_file: socket_file,
        })
    }
}
