//! The engine: evaluates a query about pods and nodes against one snapshot and one policy. It does no I/O and never waits.
//!
//! ```text
//! query       pods, nodes, phase, depth         answer      feasible rows, failures, faults    error    why there is none
//! options     snapshot, policy, unknown names
//! policy      the predicates that run           metrics     counters and gauges    limits    every limit
//! clock       what tells the time to predicates
//! breaker     quarantine of a predicate that fails for everybody
//! set_aside   pod templates that a predicate is not called about for now
//! throttle    namespaces whose pods have taken much processor time lately
//! predicate_metrics   calls, rows, time, reuse and faults of each predicate    latency    their times
//! subject     the pod of a query
//! accounting  the accounting component of the policy: what pods take of their nodes
//! party       external parties of a policy
//! unnamed     reads of facts that the policy does not name
//! facts       what predicates read: one pod, one batch of rows, one snapshot
//! evaluate    evaluation of a query, pod by pod: predicates called or cached verdicts used, then combined
//! reuse       cached verdicts, and the facts that they depend on
//! allocation  what a pod's claims get on a node, as it is written
//! scores      how good the feasible nodes of a pod are, by the scorers of the policy
//! selectors   which devices the CEL of selectors matches, and what is kept of it
//! pending     why pods are pending: the list that is kept, with causes, and when cores last asked
//! shadow      policies that are evaluated beside the active one and decide nothing
//! why         why one pod is pending: funnel, only obstacles, facts by interface, nearest nodes, edits that help
//! scenarios   nominated pods, limits on nodes, overlays, preemption, the trial of a policy, the first evaluation
//! ```
//!
//! Start with [`Engine::answer`]; [`Engine::answer_cached`] answers where no predicate has to be called. Preemption asks other
//! questions: [`Engine::preempt`], [`Engine::reprieve`]. [`Engine::headroom`] asks no predicate. Devices for claims are asked for by [`Engine::allocate`].

pub mod accounting;
pub mod allocation;
mod answer;
mod breaker;
mod clock;
mod error;
mod evaluate;
mod facts;
mod latency;
pub mod limits;
mod metrics;
mod options;
mod party;
pub mod pending;
mod policy;
pub mod predicate_metrics;
mod query;
mod reuse;
mod scenarios;
mod scores;
pub mod selectors;
mod set_aside;
pub mod shadow;
mod subject;
mod throttle;
mod unnamed;
pub mod why;

use std::sync::Arc;
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use nodesift_cache::metadata::PodRecord;
use nodesift_cache::{Reader, Snapshot};
use nodesift_sandbox::{Pulse, Runtime};
use parking_lot::Mutex;

pub use accounting::{AccountingSettings, ActiveAccounting, OnAccountError};
pub use answer::{
    Answer, Cycle, ExplainedParties, FailureGroup, FaultEffect, FaultReport, PodAnswer, PredicateAnswer,
    RequestedDevices,
};
pub use breaker::{Breaker, Quarantine};
pub use clock::Clock;
pub use error::Error;
pub use evaluate::row_set::RowSet;
pub use evaluate::rows_by_name::RowsByName;
pub use facts::{Batch, Context};
pub use metrics::Metrics;
pub use nodesift_cache::Semantics;
pub use nodesift_cache::metadata::Watermark;
pub use nodesift_sandbox::Code;
pub use options::Options;
pub use party::{OnUnknown, PartySeat, PolicyParty};
pub use policy::{
    ActivePolicy, ActivePredicate, KubernetesVersion, LastReload, Mode, OnError, Origin, PastReload, Phase, Phases,
    PolicySettings, Refusal, ReloadOutcome, ReloadStep, Retired, StaticPods, StepFailure, VersionOrigin,
};
pub use query::{Depth, Nodes, PodRef, Query, Sample};
pub use scenarios::headroom::{Headroom, ResourceHeadroom};
pub use scenarios::overlay::{OverlayPart, OverlaySpec, accounted};
pub use scenarios::preemption::{Candidate, Preemption, PreemptionAnswer, PreemptionOutcome};
pub use scenarios::reprieve::{NodeVictims, Reprieve, ReprieveAnswer, ReprieveError};
pub use scenarios::reprieve_run::ReprieveOutcome;
pub use scenarios::trial::{Trial, TrialFault};
pub use scenarios::warm_up::WarmUp;
pub use scores::{
    ActiveScorer, NodeScore, PodScores, ScoreRequest, ScoredNode, ScorerChanges, ScorerOutcome, ScorerScores,
    WeightChange, normalize,
};
pub use set_aside::Aside;
pub use shadow::{
    Alternative, Asked, BestChange, Change, Comparison, Differences, Effect, Extent, PodDifference, Record,
    RecordedBest, RecordedChange, RecordedDifference, ScoreDifference, ScoreDifferences, Shadow,
};
pub use throttle::{Throttle, Throttled};
pub use unnamed::PolicyFact;

use limits::{CACHED_LOOKUP_TIME, REUSE_BYTES};
use pending::{AskedPods, PendingList};
use policy::Reloads;
use policy::replace::Handover;
use policy::running::Running;

/// Whether verdicts are reused between queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reuse {
    /// Cached verdicts are used while they are valid.
    #[default]
    On,
    /// Every query calls all predicates.
    Off,
    /// Every query is evaluated with and without cached verdicts; the first difference is an error.
    Verified,
}

/// Answers queries. All methods may be called from many threads at once.
#[derive(Debug)]
pub struct Engine {
    cache: Reader,
    running: ArcSwap<Running>,
    /// Locked while the policy is replaced.
    replacing: Mutex<()>,
    /// Policies that are not active, while snapshots belong to them.
    handover: Handover,
    refusal: ArcSwapOption<Refusal>,
    /// Warnings about the cluster that were found last, with the generation of the policy that they are about.
    of_cluster: ArcSwapOption<(u64, Vec<String>)>,
    last_reload: ArcSwapOption<LastReload>,
    reloads: Reloads,
    shadow: ArcSwapOption<Shadow>,
    pending: PendingList,
    asked: AskedPods,
    reuse: Reuse,
    /// Time for each pod of [`Engine::answer_cached`].
    cached_lookup: Duration,
    store_bytes: usize,
    metrics: Metrics,
    clock: Clock,
    /// Keeps the epoch clock of all deadlines running.
    runtime: Runtime,
}

impl Engine {
    /// Creates an engine over a cache, with its first policy and the runtime that loaded it.
    pub fn new(cache: Reader, mut policy: ActivePolicy, runtime: Runtime) -> Self {
        policy.origin.since = clock::now();
        let metrics = Metrics::default();
        let ownership = cache.snapshot().ownership();
        let reloads = Reloads::new(&policy);
        let running = Running::new(Arc::new(policy), REUSE_BYTES, metrics.clone(), ownership);
        Self {
            cache,
            running: ArcSwap::from_pointee(running),
            replacing: Mutex::default(),
            handover: Handover::default(),
            refusal: ArcSwapOption::empty(),
            of_cluster: ArcSwapOption::empty(),
            last_reload: ArcSwapOption::empty(),
            reloads,
            shadow: ArcSwapOption::empty(),
            pending: PendingList::default(),
            asked: AskedPods::default(),
            reuse: Reuse::default(),
            cached_lookup: CACHED_LOOKUP_TIME,
            store_bytes: REUSE_BYTES,
            metrics,
            clock: Clock::default(),
            runtime,
        }
    }

    /// Sets what tells the time to predicates; by default, the clock of the machine.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// Sets whether verdicts are reused.
    #[must_use]
    pub fn with_reuse(self, reuse: Reuse) -> Self {
        Self { reuse, ..self }
    }

    /// Sets how long [`Self::answer_cached`] compares the cached verdicts about a pod with what they depend on; by default,
    /// [`limits::CACHED_LOOKUP_TIME`].
    #[must_use]
    pub fn with_cached_lookup_time(self, time: Duration) -> Self {
        Self { cached_lookup: time, ..self }
    }

    /// Sets the metrics. Cached verdicts are dropped.
    #[must_use]
    pub fn with_metrics(self, metrics: Metrics) -> Self {
        Self { metrics, ..self }.with_empty_store()
    }

    /// Sets the upper bound of the store of cached verdicts, in bytes. Cached verdicts are dropped.
    #[must_use]
    pub fn with_store_bytes(self, bytes: usize) -> Self {
        Self { store_bytes: bytes, ..self }.with_empty_store()
    }

    fn with_empty_store(self) -> Self {
        let running = self.running.load().with_empty_store(self.store_bytes, self.metrics.clone());
        Self { running: ArcSwap::from_pointee(running), ..self }
    }

    /// Returns the newest published snapshot of the cache.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.cache.snapshot()
    }

    /// Returns the policy that answers queries now.
    pub fn policy(&self) -> Arc<ActivePolicy> {
        Arc::clone(&self.running.load().policy)
    }

    /// The sandbox, for loading the next policy.
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// The heartbeat of the clock that limits the time of guests.
    pub fn pulse(&self) -> &Arc<Pulse> {
        self.runtime.pulse()
    }

    /// Has answers by the active policy compared with those of others from now on; `None` ends that.
    pub fn set_shadow(&self, shadow: Option<Arc<Shadow>>) {
        self.shadow.store(shadow);
    }

    /// Returns the alternatives with which answers are compared; `None` where there are none.
    pub fn shadow(&self) -> Option<Arc<Shadow>> {
        self.shadow.load_full()
    }

    /// Pods of the cache, bound or not, in no order.
    pub fn pods(&self) -> Vec<Arc<PodRecord>> {
        self.cache.pods().all()
    }

    /// Pods of the cache that are bound to no node, by namespace and name.
    pub fn pending_pods(&self) -> Vec<Arc<PodRecord>> {
        self.cache.pods().pending()
    }

    /// The list of pending pods as it was last made.
    pub fn pending(&self) -> &PendingList {
        &self.pending
    }

    /// When cores last asked about pods.
    pub fn asked(&self) -> &AskedPods {
        &self.asked
    }

    /// Answers a query, as the options say: by default from the newest snapshot, by the active policy.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownPod`] or [`Error::UnknownNode`] where a pod or node is not in the cache, [`Error::TooManyNominated`] where
    /// too many nodes have nominated pods, [`Error::DeadlineExceeded`] where the query's deadline passes first,
    /// [`Error::OlderThanPolicy`] where the policy is replaced meanwhile, [`Error::ReuseMismatch`] with [`Reuse::Verified`].
    pub fn answer(&self, query: &Query, options: Options<'_>) -> Result<Answer, Error> {
        let newest;
        let snapshot = match options.snapshot {
            Some(snapshot) => snapshot,
            None => {
                newest = self.snapshot();
                &newest
            }
        };
        if let Some(alternative) = options.alternative {
            return self.answer_by(alternative.running(), None, query, snapshot, options.unknown);
        }
        let running = self.running_on(snapshot);
        if running.is_after(snapshot) {
            return Err(Error::OlderThanPolicy);
        }
        self.answer_by(&running, self.shadow.load().as_deref(), query, snapshot, options.unknown)
    }

    /// The answer to a query about all nodes, where all verdicts are cached and valid; `None` in every other case, errors included. Takes
    /// some microseconds per pod and calls no predicate, so that threads that must not be held up can ask before [`Self::answer`]. `None` where
    /// scores are wanted: adding them up takes a while for each feasible node.
    pub fn answer_cached(&self, query: &Query, snapshot: &Arc<Snapshot>) -> Option<Answer> {
        let every_row = query.nodes == Nodes::All && snapshot.overlaid_rows().is_none();
        if self.reuse != Reuse::On || !every_row || query.depth != Depth::FirstFailure || query.scores.is_some() {
            return None;
        }
        let running = self.running_on(snapshot);
        if running.is_after(snapshot) || running.policy.check_names(&query.skip).is_err() {
            return None;
        }
        self.answer_of_store(&running, query, snapshot)
    }
}
