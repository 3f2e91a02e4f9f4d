//! The active policy: every predicate loaded, linked and configured, in evaluation order; and how it is replaced.
//!
//! ```text
//! kubernetes    the version of Kubernetes whose verdicts it gives
//! settings      fields of its document that need no module
//! running       a policy that answers, with its cached verdicts
//! replace       the swap of the active policy, with what is kept over it
//! refusal       why a document did not become active
//! last_reload   how the last reload ended; `reloads`, the last ones with what they changed
//! warnings      facts that its predicates will miss
//! ```
//!
//! Policy documents and their loading are in `host/policy`. Start at [`ActivePolicy`].

mod kubernetes;
mod last_reload;
mod refusal;
mod reloads;
pub(crate) mod replace;
pub(crate) mod running;
mod settings;
mod warnings;

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use nodesift_cache::metadata::{Accountant, Selection};
use nodesift_sandbox::fault::{Fault, FaultKind};
use nodesift_sandbox::limits::{EXTRA_MEMORY_BYTES, FILTER_TIME_WEIGHT, GUEST_MEMORY_BYTES, LOG_LINE_BYTES};
use nodesift_sandbox::wire::allocation::Allocation;
use nodesift_sandbox::wire::scoring::Scores;
use nodesift_sandbox::{Extra, Facts, Interface, Level, Lifetime, Line, Module, Verdict, printable};

use crate::accounting::ActiveAccounting;
use crate::breaker::{Blame, Breaker, Change, is_by_size};
use crate::limits::{QUARANTINE_FAULTS, QUARANTINE_WINDOW, TERM_OWNER_TIME, THROTTLE_FROM};
use crate::predicate_metrics::PredicateCounts;
use crate::scores::ActiveScorer;
use crate::selectors::Selectors;
use crate::set_aside::{Earlier, Owner};
use crate::throttle::{CallTimer, Throttle, Turn};
use crate::unnamed::PolicyFact;
use crate::{Context, Error};
pub use kubernetes::{KubernetesVersion, VersionOrigin};
pub use last_reload::{LastReload, ReloadOutcome, ReloadStep};
pub use refusal::{Refusal, StepFailure};
pub use reloads::PastReload;
pub(crate) use reloads::Reloads;
pub use replace::Retired;
pub use settings::PolicySettings;

/// A loaded policy: predicates, accounting component and parties, ready to evaluate pods.
#[derive(Debug, Clone)]
pub struct ActivePolicy {
    /// Number of this policy in the process; each reload increments it.
    pub generation: u64,
    /// The `spec.schedulerName` values of the pods that are ours. Pods of every other scheduler are foreign.
    pub scheduler_names: Vec<String>,
    /// The loaded predicates, in evaluation order.
    pub predicates: Vec<ActivePredicate>,
    /// The loaded scorers, in the order in which the policy lists them; empty where it scores nothing.
    pub scorers: Vec<ActiveScorer>,
    /// Fields of its document that evaluations read as they are.
    pub settings: Arc<PolicySettings>,
    /// Evaluator of the selectors of devices; `None` where neither a predicate nor a scorer reads devices.
    pub selectors: Option<Arc<Selectors>>,
    /// Accounting component, which says what pods take of their nodes; `None` where the requests of their specs count.
    pub accounting: Option<Arc<ActiveAccounting>>,
    /// Namespaces whose pods have taken much time of its predicates lately.
    pub throttle: Arc<Throttle>,
    /// The document that it was made of.
    pub origin: Origin,
}

impl ActivePolicy {
    /// The first policy of a process, with nothing but predicates. Pods that ask for what none of them evaluates are rejected.
    pub fn new(scheduler_names: Vec<String>, predicates: Vec<ActivePredicate>) -> Self {
        Self {
            generation: 1,
            scheduler_names,
            predicates,
            scorers: Vec::new(),
            settings: Arc::default(),
            selectors: None,
            accounting: None,
            throttle: Arc::default(),
            origin: Origin::default(),
        }
    }

    /// Fields of nodes and pods that are compiled for its predicates, its scorers and its accounting component beyond those that every
    /// policy reads.
    pub fn selection(&self) -> Selection {
        let reads = |interface| self.components().any(|component| component.module.imports().contains(&interface));
        let of_predicates = Selection {
            annotation_keys: Arc::clone(&self.settings.annotation_keys),
            pod_spec: reads(Interface::PodSpec),
            config_maps: if reads(Interface::ConfigMaps) {
                Arc::clone(&self.settings.config_maps)
            } else {
                Arc::default()
            },
            pod_owner: reads(Interface::PodOwner) || reads(Interface::ClusterControllers),
            pod_claims: reads(Interface::PodClaims) || reads(Interface::NodeParties),
            pod_preferences: reads(Interface::PodPreferredAffinity) || reads(Interface::ClusterPreferences),
            node_info: reads(Interface::NodeInfo),
            node_images: reads(Interface::NodeImages) || reads(Interface::ClusterImages),
            pod_images: reads(Interface::PodImages),
            non_zero_requests: reads(Interface::PodNonZeroRequests) || reads(Interface::NodeNonZeroRequests),
            ..Selection::default()
        };
        match &self.accounting {
            Some(accounting) => of_predicates.with(&accounting.selection()),
            None => of_predicates,
        }
    }

    /// Iterates over the components that are called about pods: the predicates in evaluation order, then those of the scorers. One of each
    /// can have the same name.
    pub fn components(&self) -> impl Iterator<Item = &ActivePredicate> + Clone {
        self.predicates.iter().chain(self.scorers.iter().map(|scorer| &scorer.component))
    }

    /// Returns [`Self::components`] to change them.
    pub(crate) fn components_mut(&mut self) -> impl Iterator<Item = &mut ActivePredicate> {
        self.predicates.iter_mut().chain(self.scorers.iter_mut().map(|scorer| &mut scorer.component))
    }

    /// Whether a predicate of the policy decides about claims on devices, and about extended resources that devices serve. A scorer that
    /// reads devices does not.
    pub(crate) fn decides_about_devices(&self) -> bool {
        // From the end, where the default policy has it: cached answers ask as well.
        let mut predicates = self.predicates.iter().rev();
        predicates.any(|predicate| predicate.module.imports().contains(&Interface::NodeDevices))
    }

    /// Checks that the policy has all predicates of these names.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownPredicate`], for the first that it does not have.
    pub(crate) fn check_names(&self, names: &[String]) -> Result<(), Error> {
        let is_known = |name: &&String| self.predicates.iter().any(|predicate| *predicate.name == **name);
        let Some(unknown) = names.iter().find(|name| !is_known(name)) else { return Ok(()) };
        let known: Vec<&str> = self.predicates.iter().map(|predicate| &*predicate.name).collect();
        Err(Error::UnknownPredicate { predicate: unknown.clone(), known: known.join(", ") })
    }

    /// Its accounting component, as the cache's writer calls it.
    pub fn accountant(&self) -> Option<Arc<dyn Accountant>> {
        self.accounting.as_ref().map(|accounting| Arc::clone(accounting) as Arc<dyn Accountant>)
    }

    /// Whether what the cache counts is the same by both policies: by accounting component, and by the rules of Kubernetes' version.
    pub fn counts_as(&self, other: &Self) -> bool {
        self.accounts_as(other) && self.settings.kubernetes.semantics == other.settings.kubernetes.semantics
    }

    /// Whether pods take the same by the accounting components of both policies.
    pub fn accounts_as(&self, other: &Self) -> bool {
        match (&self.accounting, &other.accounting) {
            (None, None) => true,
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

/// Where a policy comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The path of its file, or what messages call it where it has none.
    pub source: String,
    /// `metadata.name`; empty where the document has none.
    pub name: String,
    /// The document as written.
    pub document: Arc<str>,
    /// When it became active.
    pub since: SystemTime,
    /// It is the last good policy of an earlier process, because the one that is named is broken.
    pub is_remembered: bool,
}

impl Default for Origin {
    fn default() -> Self {
        let (source, name) = (String::new(), String::new());
        Self { source, name, document: Arc::default(), since: SystemTime::UNIX_EPOCH, is_remembered: false }
    }
}

/// A loaded predicate. Module, counts and breaker are shared with the same predicate of the policy before, if that had it.
#[derive(Debug, Clone)]
pub struct ActivePredicate {
    /// Name of the predicate in the policy.
    pub name: Arc<str>,
    /// The phases in which it runs.
    pub phases: Phases,
    /// Verdict in the place of a call that fails.
    pub on_error: OnError,
    /// Whether its verdicts count.
    pub mode: Mode,
    /// The SHA-256 of the component.
    pub digest: [u8; 32],
    /// The loaded wasm component.
    pub module: Arc<Module>,
    /// Its calls so far.
    pub counts: Arc<PredicateCounts>,
    /// Circuit breaker: whether the predicate is called at all.
    pub breaker: Arc<Breaker>,
    /// Whether it is of a policy that decides nothing. Then it is called whatever the breaker says, and nothing of its calls is
    /// counted or logged.
    pub is_beside: bool,
}

impl ActivePredicate {
    /// Whether it takes part in answers about this phase.
    pub(crate) fn decides(&self, phase: Phase) -> bool {
        self.mode == Mode::Enforce && self.phases.contains(phase)
    }

    /// Calls the module about a context until the deadline of the request, unless it is in quarantine, and counts and times the
    /// call. `facts` are those of the context, or a recorder of them.
    ///
    /// # Errors
    ///
    /// The fault of the call, or [`FaultKind::Quarantined`](nodesift_sandbox::fault::FaultKind::Quarantined).
    pub(crate) fn filter(&self, facts: Arc<dyn Facts>, context: &Context) -> Result<Verdict, Fault> {
        if self.is_beside {
            let timer = CallTimer::start();
            let verdict = self.module.filter(facts, context.rows(), context.deadline());
            context.charge(&timer, timer.elapsed(), self.is_of_pod(verdict.as_ref().err(), context));
            return verdict;
        }
        self.call(context, |lines, extra| {
            self.module.filter_with(facts, context.rows(), context.deadline(), lines, extra)
        })
    }

    /// Asks the module which devices the pod's claims get on the row at a place of the context's batch; `None` where it rejects the
    /// row. Otherwise as [`Self::filter`].
    ///
    /// # Errors
    ///
    /// As [`Self::filter`].
    pub(crate) fn allocate(
        &self,
        facts: Arc<dyn Facts>,
        context: &Context,
        place: u32,
    ) -> Result<Option<Allocation>, Fault> {
        self.call(context, |_, extra| {
            self.module.allocate_with(facts, context.rows(), place, context.deadline(), extra)
        })
    }

    /// Has the module score the pod on every row of the context's batch, until [`Context::scores_until`], and converts the scores; a fault of
    /// `convert` is one of the call. Otherwise as [`Self::filter`].
    ///
    /// # Errors
    ///
    /// As [`Self::filter`].
    pub(crate) fn score<T>(
        &self,
        facts: Arc<dyn Facts>,
        context: &Context,
        convert: impl FnOnce(Scores) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        if self.is_beside {
            let timer = CallTimer::start();
            let scores = self.module.score(facts, context.rows(), context.scores_until()).and_then(convert);
            context.charge(&timer, timer.elapsed(), self.is_of_pod(scores.as_ref().err(), context));
            return scores;
        }
        self.call(context, |lines, extra| {
            let scores = self.module.score_with(facts, context.rows(), context.scores_until(), lines, extra);
            scores.and_then(convert)
        })
    }

    /// Makes a call about a context, unless the module is in quarantine, and counts, times and logs it.
    fn call<T>(
        &self,
        context: &Context,
        call: impl FnOnce(&mut Vec<Line>, Extra) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let owner = Owner::pod(context);
        let admitted = self.breaker.admit(&owner).inspect_err(|fault| self.counts.refuse(fault.kind))?;
        let extra = self.extra(admitted.earlier(), context);
        // Those of cached verdicts that were looked at before are no reads of this call.
        drop(context.take_unnamed());
        _ = context.take_given_up();
        // Held until the call has ended.
        let turn = extra.map(|_| self.turn(context)).transpose()?;
        let timer = CallTimer::start();
        let mut lines = Vec::new();
        let outcome = call(&mut lines, extra.unwrap_or_default()).map_err(|fault| context.explain(fault));
        let taken = timer.elapsed();
        drop(turn);
        let given_up = context.take_given_up();
        let fault = outcome.as_ref().err();
        self.counts.count(context.rows(), taken, fault.map(|fault| fault.kind));
        // One that has more time, and goes on until its request ends, has had too little again: else it would be made again at once.
        let has_more_time = extra.is_some_and(|extra| !extra.time.is_zero());
        let too_little = fault
            .filter(|fault| has_more_time && fault.kind == FaultKind::RequestDeadline)
            .map(|fault| Fault { kind: FaultKind::Deadline, detail: fault.detail.clone() });
        let of_pod = too_little.as_ref().or(fault);
        context.charge(&timer, taken, self.is_of_pod(of_pod, context));
        let mut set_aside = None;
        // A call that was ended at once says nothing about such pods: they are answered once the namespace has paid.
        let is_refused = context.is_throttled()
            && taken < THROTTLE_FROM
            && fault.is_some_and(|fault| fault.kind == FaultKind::Deadline);
        let change = if is_refused { Change::None } else { admitted.end(&owner, of_pod, self.blame(of_pod, context)) };
        match change {
            Change::None => {}
            Change::SetAside(wait) => set_aside = Some(wait),
            Change::Opened => tracing::warn!(
                predicate = &*self.name,
                templates = QUARANTINE_FAULTS,
                within_s = QUARANTINE_WINDOW.as_secs(),
                fault = fault.map(tracing::field::display),
                "predicate quarantined: its failure policy answers without calling it"
            ),
            Change::Closed => {
                tracing::info!(predicate = &*self.name, "predicate called again: its quarantine has ended")
            }
        }
        lines.iter().for_each(|line| self.log(line, context));
        for missed in self.count_unnamed(context) {
            tracing::warn!(predicate = &*self.name, "{} reads {missed}", self.name);
        }
        if let Some(fault) = fault.filter(|fault| fault.kind.is_of_predicate() && self.module.admits_fault_line()) {
            let mut text = fault.to_string();
            // Looked for beside the call, whose time is up: once for each line, of which there are few.
            let until = Instant::now() + TERM_OWNER_TIME;
            let whose = given_up.and_then(|kept| context.whose_terms(kept, &|| Instant::now() < until));
            if let Some(whose) = whose {
                _ = write!(text, "; {whose}");
            }
            if let Some(wait) = set_aside {
                _ = write!(text, "; not called about such pods for {} s", wait.as_secs());
            }
            self.log(&Line { level: Level::Warn, text }, context);
        }
        outcome
    }

    /// Counts the facts that the last call about a context has read and that the policy does not name. Returns those that no call has
    /// read before.
    pub(crate) fn count_unnamed(&self, context: &Context) -> Vec<PolicyFact> {
        let is_named = |fact: &PolicyFact| context.settings().is_none_or(|settings| settings.names(fact));
        let mut found = context.take_unnamed();
        found.retain(|fact| self.counts.unnamed.count(fact, is_named));
        found
    }

    /// Time and memory of the next call about the pod beyond those of others, after the results of earlier calls about such pods.
    /// Only a built-in is trusted with more, and only within the limits that the policy sets for it.
    fn extra(&self, earlier: Earlier, context: &Context) -> Option<Extra> {
        let grants = self.module.grants();
        if !earlier.had_too_little || grants.lifetime != Lifetime::Reused || !context.may_take_more() {
            return None;
        }
        let usual = self.module.time_per_call(context.rows(), context.weight());
        let left = context.deadline().map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let time = if grants.time_per_call.is_some() { usual } else { earlier.time(usual, left) };
        let extra = Extra {
            time: if time > usual { time } else { Duration::ZERO },
            memory_bytes: if grants.memory_bytes == GUEST_MEMORY_BYTES { EXTRA_MEMORY_BYTES } else { 0 },
        };
        (extra != Extra::default()).then_some(extra)
    }

    /// The turn to make a call that has more than others.
    ///
    /// # Errors
    ///
    /// [`FaultKind::Quarantined`] while another one is made.
    fn turn<'c>(&self, context: &'c Context) -> Result<Turn<'c>, Fault> {
        context.turn().ok_or_else(|| {
            let kind = FaultKind::Quarantined;
            self.counts.refuse(kind);
            Fault::new(kind, "not called about such pods for now: a call about another one runs that takes as long")
        })
    }

    /// Whom a fault of a call about the pod of this context says something about. Every fault of a built-in is about the pod, whatever it
    /// is: it answers other pods, and to stop it would stop them all. A custom module may loop whatever it is asked about; that it takes
    /// too much time, memory or output for a large pod says nothing about others.
    pub(crate) fn blame(&self, fault: Option<&Fault>, context: &Context) -> Blame {
        let is_by_size = fault.is_some_and(is_by_size);
        match self.module.grants().lifetime {
            Lifetime::Reused => Blame::Pod,
            _ if is_by_size && (context.is_throttled() || context.pod_bytes() > FILTER_TIME_WEIGHT) => Blame::Pod,
            Lifetime::PerCall | Lifetime::Recycled => Blame::Predicate,
        }
    }

    /// Whether a call has failed by what the pod asks for, and not by the predicate or because its request has ended.
    fn is_of_pod(&self, fault: Option<&Fault>, context: &Context) -> bool {
        fault.is_some_and(|fault| fault.kind.is_of_predicate()) && self.blame(fault, context) == Blame::Pod
    }

    /// Writes a line of the guest. Names can be those of a request, which may hold anything.
    fn log(&self, Line { level, text }: &Line, context: &Context) {
        let (predicate, pod) = (printable(&self.name, LOG_LINE_BYTES), printable(&context.pod_key(), LOG_LINE_BYTES));
        match level {
            Level::Debug => tracing::debug!(target: GUEST_LOG, "{predicate}: pod {pod}: {text}"),
            Level::Info => tracing::info!(target: GUEST_LOG, "{predicate}: pod {pod}: {text}"),
            Level::Warn => tracing::warn!(target: GUEST_LOG, "{predicate}: pod {pod}: {text}"),
            Level::Error => tracing::error!(target: GUEST_LOG, "{predicate}: pod {pod}: {text}"),
        }
    }
}

/// Where the lines of guests are logged; a log filter can name it.
const GUEST_LOG: &str = "nodesift::predicate";

/// Failure policy: the verdict used in place of that of a predicate whose call fails, or of one that there is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnError {
    /// No node fits (fail closed).
    #[default]
    Reject,
    /// Every node fits (fail open).
    Ignore,
}

/// Rule for static pods among the victims of a preemption. Their kubelet starts them again, whoever evicts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StaticPods {
    /// They are victims by their priority, as any pod: the rule of kube-scheduler.
    #[default]
    ByPriority,
    /// They stay where they are: the rule of YuniKorn.
    Never,
}

/// Whether the verdicts of a predicate count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// The predicate's verdicts count.
    #[default]
    Enforce,
    /// The predicate's verdicts do not count; what they would change is recorded.
    Shadow,
}

/// The phase of scheduling for which a query is made. It selects the predicates that run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The core looks for a node for a pod.
    Allocate,
    /// The core only reserves a node for a pod.
    Reserve,
}

/// The phases in which a predicate runs; at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phases {
    /// Whether it runs in [`Phase::Allocate`].
    pub allocate: bool,
    /// Whether it runs in [`Phase::Reserve`].
    pub reserve: bool,
}

impl Phases {
    /// Both phases: allocate and reserve.
    pub const ALL: Self = Self { allocate: true, reserve: true };

    /// Whether the predicate runs in a phase.
    pub fn contains(self, phase: Phase) -> bool {
        match phase {
            Phase::Allocate => self.allocate,
            Phase::Reserve => self.reserve,
        }
    }
}
