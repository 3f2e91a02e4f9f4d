//! One pod against one batch of rows of one snapshot. `interfaces` answers the functions of the contract from it. Start at
//! [`Context`].

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use nodesift_cache::metadata::PodFacts;
use nodesift_cache::{
    ClaimObstacle, Column, LabelColumn, MatchedScoringTerm, MatchedTerm, Resolved, Row, Snapshot, TermOwner,
};

use nodesift_sandbox::fault::{Fault, FaultKind};
use nodesift_sandbox::limits::FILTER_TIME_WEIGHT;
use nodesift_sandbox::wire::claims::Claim;
use nodesift_sandbox::{Kept, NoValue};
use parking_lot::Mutex;

use super::convert;
use super::gathered::Gathered;
use super::matched::ByKey;
use super::scoring_sums::ScoringSums;
use crate::limits::UNSCORED_SHARE;
use crate::party::{PartySeat, PolicyParty};
use crate::policy::PolicySettings;
use crate::reuse::size::Size as _;
use crate::selectors::Selectors;
use crate::throttle::{CallTimer, Throttle, Turn};
use crate::unnamed::{PolicyFact, UnnamedReads};

/// The rows that one evaluation asks about.
#[derive(Debug, Clone)]
pub enum Batch {
    /// Every row; columns cross whole.
    All,
    /// Some rows, in the order of node names; columns are gathered.
    Rows(Arc<[Row]>),
}

/// The facts of one evaluation.
#[derive(Debug)]
pub struct Context {
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) pod: Arc<PodFacts>,
    pub(super) node_name: Option<Arc<str>>,
    batch: Batch,
    /// Fields of the policy's document; `None` where no policy hides what the cache holds.
    settings: Option<Arc<PolicySettings>>,
    /// Evaluator of the selectors of devices; `None` where the policy reads no devices.
    selectors: Option<Arc<Selectors>>,
    /// Who is told what calls take; none where nobody is.
    throttle: Option<Arc<Throttle>>,
    /// Whether the pod's namespace is throttled.
    is_throttled: bool,
    /// Why no row fits the pod, where what it takes is not known.
    refusal: Option<Arc<str>>,
    /// Whether nodes are asked for as candidates of a negotiation.
    pub(super) is_negotiated: bool,
    /// The pod's name and UID, empty where nobody said: which claims are made for it.
    pub(super) owner: (Arc<str>, Arc<str>),
    /// The rows of the cluster on which the pod fits, as flags; `None` except in a score call.
    pub(super) candidates: Option<Arc<[u8]>>,
    /// When the request ends for which the facts are read.
    deadline: Option<Instant>,
    /// When its scorers end, so that the verdicts are told in time.
    scores_until: Option<Instant>,
    /// When the evaluation of the pod began, in seconds since 1970-01-01T00:00:00Z.
    now: i64,
    // Not here but elsewhere: an answer from cached verdicts needs neither, and counts the bytes of a context.
    matched_terms: OnceLock<Box<ByKey<MatchedTerm>>>,
    scoring_terms: OnceLock<Box<ByKey<MatchedScoringTerm>>>,
    /// The terms whose lookup took too long, until the log says whose they are.
    given_up: Mutex<Option<Kept>>,
    /// The topology key that sums of scoring terms were asked for last, with these sums.
    pub(super) scoring_sums: Mutex<Option<(Arc<str>, ScoringSums)>>,
    /// The claims of the pod, looked up once, for these rows and others. Not here but elsewhere, as the next: most pods have none.
    pub(super) claims: OnceLock<Arc<Result<Option<Resolved>, ClaimObstacle>>>,
    /// Unallocated claims in the form that guests read, where none of the pod's claims is allocated: they are then the same for all
    /// rows.
    pub(super) open_claims: OnceLock<Arc<[Claim]>>,
    /// The parties that decide about the pod, looked up once.
    pub(super) party_seats: OnceLock<Arc<[PartySeat]>>,
    /// Devices that the rows see, gathered once.
    pub(super) gathered: OnceLock<Box<Gathered>>,
    /// Facts that were read and that the policy does not name.
    unnamed: UnnamedReads,
}

impl Context {
    /// The facts for `pod`, which asks for the node of that name if any, about `batch`.
    pub fn new(snapshot: Arc<Snapshot>, pod: Arc<PodFacts>, node_name: Option<Arc<str>>, batch: Batch) -> Self {
        Self {
            snapshot,
            pod,
            node_name,
            batch,
            settings: None,
            selectors: None,
            throttle: None,
            is_throttled: false,
            refusal: None,
            is_negotiated: false,
            owner: (Arc::default(), Arc::default()),
            candidates: None,
            deadline: None,
            scores_until: None,
            now: 0,
            matched_terms: OnceLock::new(),
            scoring_terms: OnceLock::new(),
            given_up: Mutex::new(None),
            scoring_sums: Mutex::new(None),
            claims: OnceLock::new(),
            open_claims: OnceLock::new(),
            party_seats: OnceLock::new(),
            gathered: OnceLock::new(),
            unnamed: UnnamedReads::default(),
        }
    }

    /// Sets the pod's name and UID, by which claims for its ephemeral volumes are found.
    #[must_use]
    pub fn with_owner(self, name: Arc<str>, uid: Arc<str>) -> Self {
        Self { owner: (name, uid), ..self }
    }

    /// Sets the fields of the policy's document: annotations and ConfigMaps that it does not list are hidden, and its parties have a say.
    #[must_use]
    pub fn with_settings(self, settings: Arc<PolicySettings>) -> Self {
        Self { settings: Some(settings), ..self }
    }

    /// Sets the evaluator of the selectors of devices.
    #[must_use]
    pub fn with_selectors(self, selectors: Option<Arc<Selectors>>) -> Self {
        Self { selectors, ..self }
    }

    /// Returns the evaluator of the selectors of devices; `None` where the policy reads no devices.
    pub fn selectors(&self) -> Option<&Arc<Selectors>> {
        self.selectors.as_ref()
    }

    /// Sets who knows the namespaces that are throttled.
    #[must_use]
    pub(crate) fn with_throttle(self, throttle: &Arc<Throttle>) -> Self {
        let is_throttled = throttle.throttles(&self.pod.namespace);
        Self { throttle: Some(Arc::clone(throttle)), is_throttled, ..self }
    }

    /// Whether the pod's namespace is throttled, so that the pod has no more time than an ordinary one.
    pub(crate) fn is_throttled(&self) -> bool {
        self.is_throttled
    }

    /// Whether a call about the pod may have more time or memory than its size gives it: what it takes is charged, and the namespace is not
    /// throttled.
    pub(crate) fn may_take_more(&self) -> bool {
        self.throttle.is_some() && !self.is_throttled
    }

    /// The turn to make such a call; none while another one is made.
    pub(crate) fn turn(&self) -> Option<Turn<'_>> {
        self.throttle.as_ref()?.turn()
    }

    /// A call about the pod has taken so long: that is a debt of the pod's namespace where it was long, and has failed or the pod is large.
    pub(crate) fn charge(&self, timer: &CallTimer, taken: Duration, has_failed: bool) {
        if let (Some(throttle), Some(used)) = (&self.throttle, timer.processor(taken))
            && (has_failed || self.pod_bytes() > FILTER_TIME_WEIGHT)
        {
            throttle.charge(&self.pod.namespace, used);
        }
    }

    /// The fault of a call about the pod: where it may have had too little time only because its namespace is throttled, it says so.
    pub(crate) fn explain(&self, fault: Fault) -> Fault {
        match fault.kind {
            FaultKind::Deadline if self.is_throttled => Fault::new(
                fault.kind,
                &format!(
                    "{}; it had the time of an ordinary pod only, because calls about pods of the namespace {} have taken much time lately",
                    fault.detail, self.pod.namespace
                ),
            ),
            _ => fault,
        }
    }

    /// Looks terms of pods on nodes up for a call; other facts are not looked up.
    ///
    /// # Errors
    ///
    /// [`NoValue::Deadline`] once `go_on` returns false before that: [`Self::take_given_up`] tells it.
    pub(crate) fn look_up_terms(&self, kept: Kept, go_on: &dyn Fn() -> bool) -> Result<(), NoValue> {
        let is_found = match kept {
            Kept::MatchedTerms => self.matched_terms_while(go_on).is_some(),
            Kept::ScoringTerms => self.scoring_terms_while(go_on).is_some(),
            _ => true,
        };
        if is_found { Ok(()) } else { Err(self.give_up(kept)) }
    }

    fn give_up(&self, kept: Kept) -> NoValue {
        *self.given_up.lock() = Some(kept);
        NoValue::Deadline
    }

    /// The terms whose lookup a call has given up since this was asked last.
    pub(crate) fn take_given_up(&self) -> Option<Kept> {
        self.given_up.lock().take()
    }

    /// Whose terms took most of a lookup that was given up, as far as is found out while `go_on` returns true. For the log alone: an answer
    /// may be shown to whoever has made the pod, and the names of others are not for them.
    pub(crate) fn whose_terms(&self, given_up: Kept, go_on: &dyn Fn() -> bool) -> Option<String> {
        let (namespace, labels) = (&self.pod.namespace, &self.pod.labels);
        let owner = match given_up {
            Kept::MatchedTerms => self.snapshot.anti_affinity_owner(namespace, labels, go_on),
            Kept::ScoringTerms => self.snapshot.scoring_terms_owner(namespace, labels, go_on),
            _ => None,
        };
        let TermOwner { namespace, pod, percent } = owner?;
        Some(format!(
            "it looked terms of running pods up, and pods of the namespace {namespace} have brought some {percent} % of these, most of them              {namespace}/{pod}"
        ))
    }

    /// Sets whether nodes are asked for as candidates of a negotiation, in which parties have yet to be asked.
    #[must_use]
    pub fn with_negotiated(self, is_negotiated: bool) -> Self {
        Self { is_negotiated, ..self }
    }

    /// Fields of the policy's document; `None` where no policy hides what the cache holds.
    pub(crate) fn settings(&self) -> Option<&PolicySettings> {
        self.settings.as_deref()
    }

    /// The parties of the policy, in its order.
    pub(super) fn parties(&self) -> &[PolicyParty] {
        self.settings().map_or(&[], |settings| &settings.parties)
    }

    /// Sets when the evaluation of the pod began, in seconds since 1970-01-01T00:00:00Z; at its beginning, where nobody says.
    #[must_use]
    pub fn with_now(self, now: i64) -> Self {
        Self { now, ..self }
    }

    /// When the evaluation of the pod began.
    pub(crate) fn now(&self) -> i64 {
        self.now
    }

    /// Sets the rows of the cluster on which the pod fits, as flags: one entry per row of the cluster.
    #[must_use]
    pub fn with_candidates(self, candidates: Arc<[u8]>) -> Self {
        Self { candidates: Some(candidates), ..self }
    }

    /// The facts for the same pod about every row, of which it fits these.
    pub(crate) fn among(&self, rows: &[Row]) -> Self {
        let mut flags = vec![0; self.snapshot.node_count()];
        for row in rows {
            if let Some(flag) = flags.get_mut(row.index()) {
                *flag = 1;
            }
        }
        Self { candidates: Some(flags.into()), ..self.over(Batch::All) }
    }

    /// Sets when the request ends, which begins now: no predicate runs beyond it, and no scorer as long.
    #[must_use]
    pub(crate) fn with_deadline(self, deadline: Option<Instant>) -> Self {
        let scores_until = deadline.map(|deadline| {
            let left = deadline.saturating_duration_since(Instant::now());
            deadline.checked_sub(left / UNSCORED_SHARE).unwrap_or(deadline)
        });
        Self { deadline, scores_until, ..self }
    }

    /// Sets why no row fits the pod.
    #[must_use]
    pub(crate) fn with_refusal(self, refusal: Option<Arc<str>>) -> Self {
        Self { refusal, ..self }
    }

    /// Why no row fits the pod; none where predicates decide.
    pub(crate) fn refusal(&self) -> Option<&Arc<str>> {
        self.refusal.as_ref()
    }

    /// When the request ends for which the facts are read.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// When scorers end, which is before the request does.
    pub(crate) fn scores_until(&self) -> Option<Instant> {
        self.scores_until
    }

    /// `namespace/name` of the pod.
    pub(crate) fn pod_key(&self) -> String {
        [&*self.pod.namespace, "/", &*self.owner.0].concat()
    }

    /// Bytes of what the pod asks for, without what other objects add to it.
    pub(crate) fn pod_bytes(&self) -> usize {
        self.pod.heap()
    }

    /// How many rows the batch has.
    pub fn rows(&self) -> u32 {
        let rows = match &self.batch {
            Batch::All => self.snapshot.node_count(),
            Batch::Rows(rows) => rows.len(),
        };
        u32::try_from(rows).unwrap_or(u32::MAX)
    }

    /// The facts for the same pod about other rows.
    pub(crate) fn over(&self, batch: Batch) -> Self {
        let context = self.against(Arc::clone(&self.snapshot), batch);
        Self { claims: self.claims.clone(), open_claims: self.open_claims.clone(), ..context }
    }

    /// The facts for the same pod about another state of the cluster.
    pub(crate) fn against(&self, snapshot: Arc<Snapshot>, batch: Batch) -> Self {
        Self {
            settings: self.settings.clone(),
            selectors: self.selectors.clone(),
            throttle: self.throttle.clone(),
            is_throttled: self.is_throttled,
            refusal: self.refusal.clone(),
            is_negotiated: self.is_negotiated,
            owner: self.owner.clone(),
            deadline: self.deadline,
            scores_until: self.scores_until,
            now: self.now,
            ..Self::new(snapshot, Arc::clone(&self.pod), self.node_name.clone(), batch)
        }
    }

    /// Calls with the facts over all rows.
    pub(crate) fn over_all<T>(&self, call: impl FnOnce(&Self) -> T) -> T {
        match self.batch {
            Batch::All => call(self),
            Batch::Rows(_) => call(&self.over(Batch::All)),
        }
    }

    /// The pod's UID; empty where nobody said.
    pub(crate) fn pod_uid(&self) -> &Arc<str> {
        &self.owner.1
    }

    pub(crate) fn pod(&self) -> &Arc<PodFacts> {
        &self.pod
    }

    /// Terms of pods on nodes that match the pod, however long it takes; looked up once.
    pub(crate) fn matched_terms(&self) -> &ByKey<MatchedTerm> {
        self.matched_terms.get_or_init(|| Box::new(self.look_up_matched(&|| true).unwrap_or_default()))
    }

    /// Terms of pods on nodes that match the pod; `None` once `go_on` returns false before they are looked up.
    pub(crate) fn matched_terms_while(&self, go_on: &dyn Fn() -> bool) -> Option<&ByKey<MatchedTerm>> {
        get_or_try_init(&self.matched_terms, || self.look_up_matched(go_on))
    }

    fn look_up_matched(&self, go_on: &dyn Fn() -> bool) -> Option<ByKey<MatchedTerm>> {
        let terms = self.snapshot.anti_affinity_while(&self.pod.namespace, &self.pod.labels, go_on)?;
        ByKey::new(terms, |(key, _)| key, go_on)
    }

    /// Terms of pods on nodes that match the pod and count in its scores, however long it takes; looked up once.
    pub(crate) fn scoring_terms(&self) -> &ByKey<MatchedScoringTerm> {
        self.scoring_terms.get_or_init(|| Box::new(self.look_up_scoring(&|| true).unwrap_or_default()))
    }

    /// Terms of pods on nodes that match the pod and count in its scores; `None` once `go_on` returns false before they are looked up.
    pub(crate) fn scoring_terms_while(&self, go_on: &dyn Fn() -> bool) -> Option<&ByKey<MatchedScoringTerm>> {
        get_or_try_init(&self.scoring_terms, || self.look_up_scoring(go_on))
    }

    fn look_up_scoring(&self, go_on: &dyn Fn() -> bool) -> Option<ByKey<MatchedScoringTerm>> {
        let terms = self.snapshot.scoring_terms_while(&self.pod.namespace, &self.pod.labels, go_on)?;
        ByKey::new(terms, |(term, _)| &term.topology_key, go_on)
    }

    /// Whether the request goes on for which the facts are read.
    pub(crate) fn has_time(&self) -> bool {
        self.deadline.is_none_or(|deadline| Instant::now() < deadline)
    }

    pub(crate) fn batch(&self) -> &Batch {
        &self.batch
    }

    pub(crate) fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// The batch's entries of a column.
    pub(crate) fn column<T: Clone>(&self, column: &Column<T>) -> Arc<[T]> {
        match &self.batch {
            Batch::All => column.flat(),
            Batch::Rows(rows) => column.gather(rows),
        }
    }

    /// The status of a condition by set of conditions, as the contract numbers it. Nodes share few distinct sets, so that the type
    /// is looked up in each set once.
    pub(crate) fn condition_by_set(&self, kind: &str) -> Arc<[u8]> {
        self.snapshot.condition_sets().iter().map(|set| convert::condition_status(set, kind)).collect()
    }

    pub(super) fn constant<T: Clone>(&self, value: T) -> Arc<[T]> {
        vec![value; self.rows() as usize].into()
    }

    pub(super) fn resource(&self, name: &str, part: impl Fn(&nodesift_cache::Resource) -> &Column<i64>) -> Arc<[i64]> {
        match self.snapshot.resource(name) {
            Some(resource) => self.column(part(&resource)),
            None => self.constant(0),
        }
    }

    /// Whether the policy lists an annotation; that it does not is noted.
    pub(super) fn shows_annotation(&self, key: &str) -> bool {
        let is_shown = self.settings().is_none_or(|settings| settings.names_annotation(key));
        if !is_shown {
            self.unnamed.note(PolicyFact::annotation(key));
        }
        is_shown
    }

    /// Whether the policy lists a ConfigMap; that it does not is noted.
    pub(super) fn shows_config_map(&self, name: &str) -> bool {
        let is_shown = self.settings().is_none_or(|settings| settings.names_config_map(name));
        if !is_shown {
            self.unnamed.note(PolicyFact::config_map(name));
        }
        is_shown
    }

    /// Takes the facts that were read since the last time and that the policy does not name, each once, at most
    /// [`UNNAMED_FACTS`](crate::limits::UNNAMED_FACTS). Cached verdicts that are compared with the facts read them as calls do.
    pub fn take_unnamed(&self) -> Vec<PolicyFact> {
        self.unnamed.take()
    }

    /// One annotation of all nodes as a column; `None` where no node has it, or the policy does not list it.
    pub(crate) fn annotations_of_nodes(&self, key: &str) -> Option<Arc<LabelColumn>> {
        self.shows_annotation(key).then(|| self.snapshot.annotation_column(key))?
    }

    /// The batch's codes of a dictionary-encoded column; 0 for every row without one.
    pub(super) fn codes(&self, column: Option<Arc<LabelColumn>>) -> Arc<[u32]> {
        column.map_or_else(|| self.constant(0), |column| self.column(&column.codes))
    }
}

/// The value of a cell, made if there is none; `None` where it cannot be made. Calls at the same time may each make it: none waits for
/// another, whose time may be longer.
fn get_or_try_init<T>(cell: &OnceLock<Box<T>>, make: impl FnOnce() -> Option<T>) -> Option<&T> {
    if cell.get().is_none() {
        let made = make()?;
        // Another call may have made it meanwhile.
        _ = cell.set(Box::new(made));
    }
    cell.get().map(|made| &**made)
}

impl Context {
    /// Calls with place in the batch and row.
    pub(crate) fn for_each_row(&self, mut call: impl FnMut(usize, Row)) {
        match &self.batch {
            Batch::All => (0..self.rows()).for_each(|row| call(row as usize, Row(row))),
            Batch::Rows(rows) => rows.iter().enumerate().for_each(|(place, row)| call(place, *row)),
        }
    }
}
