//! The dry run of preemption on many nodes at once. Start at [`PreemptionDryRun::reprieve`].
//!
//! In each round one victim per node is given back, and predicates are evaluated by what they read:
//!
//! 1. One that reads nothing that victims change has one verdict, which may be cached, for all rounds.
//! 2. A pointwise one is called once per round, over the rows of all nodes: their victims do not matter to each other.
//! 3. A cluster-wide one is called once per round and node, on a snapshot in which the other nodes keep their pods.

use std::cell::OnceCell;
use std::sync::Arc;
use std::time::Instant;

use nodesift_cache::metadata::PodRecord;
use nodesift_cache::{OverlayBuilder, Row, Snapshot};
use nodesift_sandbox::fault::Fault;
use nodesift_sandbox::{Failure, Interface, Verdict};
use rustc_hash::FxHashMap;

use super::dry_run::{PreemptionDryRun, UnchangedVerdict};
use super::overlay::changed_by;
use crate::answer::FaultReport;
use crate::evaluate::Stop;
use crate::evaluate::evaluation::verdict_on_fault;
use crate::evaluate::predicate_verdict::Scope;
use crate::facts::{Batch, Context};
use crate::policy::ActivePredicate;
use crate::reuse::{CachedVerdict, Store};

/// Result of the dry run of a preemption on one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReprieveOutcome {
    /// The pod fits without the victims that are not kept.
    Fits {
        /// Ascending indices of the victims that stay.
        kept: Vec<usize>,
    },
    /// The pod does not fit without all victims.
    Rejected {
        /// The first predicate that rejects the node, in policy order.
        predicate: Arc<str>,
        /// Status code and reasons of the rejection.
        failure: Failure,
    },
}

/// A node with its victims.
#[derive(Debug, Clone)]
pub(super) struct Tried {
    row: Row,
    victims: Vec<Arc<PodRecord>>,
    /// Whether each victim is on the node.
    stays: Vec<bool>,
    /// The nominated pods that take precedence there.
    nominated: Vec<Arc<PodRecord>>,
    /// The interfaces that its victims change, and those that its victims and nominated pods change.
    changed: [Vec<Interface>; 2],
    /// Per side and cluster-wide predicate, its verdict about the node as it is now: a victim that changes nothing that was read for
    /// it can be given back without another.
    known: FxHashMap<Asked, Arc<CachedVerdict>>,
    rejection: Option<Rejection>,
}

/// Whether nominated pods are on their nodes, and the place of a predicate.
type Asked = (bool, usize);

/// Verdicts about a node with a victim that may have to go again.
type Learnt = Vec<(usize, Asked, Arc<CachedVerdict>)>;

/// The predicate that rejects a node, and why.
type Rejection = (Arc<str>, Failure);

impl Tried {
    pub(super) fn new(row: Row, victims: Vec<Arc<PodRecord>>) -> Self {
        let stays = vec![false; victims.len()];
        Self {
            row,
            victims,
            stays,
            nominated: Vec::new(),
            changed: Default::default(),
            known: FxHashMap::default(),
            rejection: None,
        }
    }
}

/// The cluster without the victims that are gone, with or without nominated pods: of all nodes at once.
struct Side {
    /// Whether the nominated pods are on their nodes.
    is_nominated: bool,
    builder: OverlayBuilder,
    /// Way in which each predicate is evaluated, one entry per predicate.
    methods: Vec<Method>,
}

/// How a predicate is evaluated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Method {
    Unchanged,
    AllRows,
    RowByRow,
}

impl PreemptionDryRun<'_> {
    /// One outcome per node. Nodes must differ.
    ///
    /// # Errors
    ///
    /// [`Stop::Deadline`] where the request ends first.
    pub(super) fn reprieve(&mut self, nodes: &mut [Tried]) -> Result<Vec<ReprieveOutcome>, Stop> {
        self.prepare(nodes);
        let mut sides = self.sides(nodes);
        let all: Vec<usize> = (0..nodes.len()).collect();
        let (rejections, learnt) = self.rejections(nodes, &all, &mut sides, None)?;
        for (index, rejection) in rejections {
            if let Some(node) = nodes.get_mut(index) {
                node.rejection = Some(rejection);
            }
        }
        learn(nodes, learnt, &[]);
        let rounds = nodes.iter().map(|node| node.victims.len()).max().unwrap_or(0);
        for round in 0..rounds {
            let takes_part = |node: &Tried| node.rejection.is_none() && round < node.victims.len();
            let among: Vec<usize> = (0..).zip(&*nodes).filter(|(_, node)| takes_part(node)).map(|(at, _)| at).collect();
            among.iter().for_each(|at| place(nodes, &mut sides, *at, round, true));
            let (rejections, learnt) = self.rejections(nodes, &among, &mut sides, Some(round))?;
            let gone: Vec<usize> = rejections.into_iter().map(|(index, _)| index).collect();
            gone.iter().for_each(|index| place(nodes, &mut sides, *index, round, false));
            learn(nodes, learnt, &gone);
        }
        Ok(nodes.iter_mut().map(Tried::outcome).collect())
    }

    fn prepare(&self, nodes: &mut [Tried]) {
        for node in nodes {
            node.nominated = self.subject.nominated_ahead(&self.snapshot, self.snapshot.node_name(node.row));
            let mut pods: Vec<&PodRecord> = node.victims.iter().map(|pod| &**pod).collect();
            let changed = changed_by(&pods, &self.subject.facts, &self.snapshot);
            pods.extend(node.nominated.iter().map(|pod| &**pod));
            let with_nominated = changed_by(&pods, &self.subject.facts, &self.snapshot);
            node.changed = [changed, with_nominated];
        }
    }

    /// All victims gone: with the nominated pods first, as kube-scheduler evaluates them, if there are any.
    fn sides(&mut self, nodes: &[Tried]) -> Vec<Side> {
        let mut sides = Vec::new();
        for is_nominated in [true, false] {
            let takes_part = |node: &&Tried| !is_nominated || !node.nominated.is_empty();
            let mut builder = OverlayBuilder::new(&self.snapshot);
            let mut changed: Vec<Interface> = Vec::new();
            for node in nodes.iter().filter(takes_part) {
                node.victims.iter().for_each(|victim| builder.remove(node.row, victim));
                if is_nominated {
                    node.nominated.iter().for_each(|pod| builder.add(node.row, pod));
                }
                let [plain, with_nominated] = &node.changed;
                changed.extend(if is_nominated { with_nominated } else { plain });
            }
            changed.sort_unstable();
            changed.dedup();
            if !is_nominated || nodes.iter().any(|node| takes_part(&node)) {
                let methods = (0..self.predicates.len()).map(|at| self.method(at, &changed)).collect();
                sides.push(Side { is_nominated, builder, methods });
            }
        }
        sides
    }

    fn method(&mut self, at: usize, changed: &[Interface]) -> Method {
        if !self.imports(at, changed) {
            return Method::Unchanged;
        }
        match self.is_cluster_wide(at) {
            // One evaluation of the unchanged cluster tells what it reads, and may spare those of all nodes.
            true => self.look_up(at),
            false => self.look_up_unchanged_by(at, changed),
        }
        match (self.may_change(at, changed), self.is_cluster_wide(at)) {
            (false, _) => Method::Unchanged,
            (true, false) => Method::AllRows,
            (true, true) => Method::RowByRow,
        }
    }

    /// The nodes of `among` that are rejected, with the nominated pods on their nodes or without them. Without a victim, by any
    /// predicate; else by those alone that this victim can change.
    fn rejections(
        &mut self,
        nodes: &[Tried],
        among: &[usize],
        sides: &mut [Side],
        victim: Option<usize>,
    ) -> Result<(Vec<(usize, Rejection)>, Learnt), Stop> {
        let mut learnt = Learnt::new();
        let mut found: Vec<(usize, Rejection)> = Vec::new();
        let mut left = among.to_vec();
        for side in sides {
            if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Err(Stop::Deadline);
            }
            let takes_part = |at: &usize| {
                let node = nodes.get(*at);
                node.is_some_and(|node| !side.is_nominated || !node.nominated.is_empty())
            };
            let asked: Vec<(usize, &Tried)> =
                left.iter().filter(|at| takes_part(at)).filter_map(|at| Some((*at, nodes.get(*at)?))).collect();
            if asked.is_empty() {
                continue;
            }
            let rejections = self.rejections_on(&asked, side, victim, &mut learnt)?;
            let rejected = asked.iter().zip(rejections).filter_map(|((at, _), rejection)| Some((*at, rejection?)));
            let rejected: Vec<(usize, Rejection)> = rejected.collect();
            left.retain(|at| rejected.iter().all(|(other, _)| at != other));
            found.extend(rejected);
        }
        Ok((found, learnt))
    }

    /// One entry per node.
    fn rejections_on(
        &mut self,
        nodes: &[(usize, &Tried)],
        side: &Side,
        victim: Option<usize>,
        learnt: &mut Learnt,
    ) -> Result<Vec<Option<Rejection>>, Stop> {
        let is_first = victim.is_none();
        let rows: Arc<[Row]> = nodes.iter().map(|(_, node)| node.row).collect();
        let (joint, alone) = (OnceCell::new(), vec![OnceCell::new(); nodes.len()]);
        let mut found: Vec<Option<Rejection>> = vec![None; nodes.len()];
        for (at, method) in side.methods.iter().enumerate() {
            if found.iter().all(Option::is_some) {
                break;
            }
            let verdict = match method {
                Method::Unchanged if !is_first => continue,
                Method::Unchanged => OverRows::new(self.unchanged(at, &rows)?),
                Method::AllRows => {
                    let context: &Arc<Context> = joint.get_or_init(|| {
                        self.context(&Arc::new(side.builder.snapshot_of_nodes()), Batch::Rows(Arc::clone(&rows)))
                    });
                    OverRows::ByPlace(Arc::new(self.verdict(at, context)?))
                }
                Method::RowByRow => {
                    self.row_by_row(at, nodes, (side, victim), (&alone, &mut found), learnt)?;
                    continue;
                }
            };
            for ((place, (_, node)), found) in nodes.iter().enumerate().zip(&mut found) {
                if found.is_none() {
                    *found = verdict.failure(place, node.row).map(|failure| (self.name(at), failure.clone()));
                }
            }
        }
        if let Some((unsupported, policy)) = self.unsupported.as_ref().filter(|_| is_first) {
            let verdict = unsupported.verdict(*policy, self.all_rows.rows() as usize, Scope::AllRows);
            for ((_, node), found) in nodes.iter().zip(&mut found) {
                if found.is_none() {
                    let failure = verdict.verdict.failure_at(node.row.index()).cloned();
                    *found = failure.map(|failure| (Arc::clone(&verdict.predicate), failure));
                }
            }
        }
        Ok(found)
    }

    /// Evaluates a cluster-wide predicate for each node that is not rejected yet, where what it has read before may have changed.
    fn row_by_row(
        &mut self,
        at: usize,
        nodes: &[(usize, &Tried)],
        (side, victim): (&Side, Option<usize>),
        (alone, found): (&[OnceCell<Arc<Context>>], &mut [Option<Rejection>]),
        learnt: &mut Learnt,
    ) -> Result<(), Stop> {
        let asked = (side.is_nominated, at);
        for (((index, node), context), found) in nodes.iter().zip(alone).zip(found) {
            if found.is_some() {
                continue;
            }
            let known = match victim {
                None => self.cached(at).filter(|cached| !node.pods(side).any(|pod| self.is_changed(cached, pod))),
                Some(victim) => {
                    let known = node.known.get(&asked).cloned();
                    if let (Some(known), Some(victim)) = (&known, node.victims.get(victim))
                        && !self.is_changed(known, victim)
                    {
                        continue;
                    }
                    None
                }
            };
            let verdict = match known {
                Some(known) => known,
                None => {
                    let snapshot = || self.context(&Arc::new(node.alone(&self.snapshot, side)), Batch::All);
                    self.recorded(at, context.get_or_init(snapshot))?
                }
            };
            let failure = verdict.verdict().failure_at(node.row.index()).cloned();
            if failure.is_none() {
                learnt.push((*index, asked, verdict));
            }
            *found = failure.map(|failure| (self.name(at), failure));
        }
        Ok(())
    }

    /// The cached verdict about the unchanged cluster.
    fn cached(&self, at: usize) -> Option<Arc<CachedVerdict>> {
        match &self.predicates.get(at)?.unchanged {
            UnchangedVerdict::Cached(cached) => Some(Arc::clone(cached)),
            _ => None,
        }
    }

    /// Whether a pod that comes to a node or leaves it changes what was read for a verdict.
    fn is_changed(&self, verdict: &CachedVerdict, pod: &PodRecord) -> bool {
        verdict.is_changed_by(pod, &changed_by(&[pod], &self.subject.facts, &self.snapshot), &self.snapshot)
    }

    /// The verdict about the unchanged cluster, and whether it is over the rows given instead of over all.
    fn unchanged(&mut self, at: usize, rows: &Arc<[Row]>) -> Result<(Arc<Verdict>, bool), Stop> {
        self.look_up(at);
        match self.predicates.get(at).map(|state| state.unchanged.clone()) {
            Some(UnchangedVerdict::Cached(cached)) => Ok((Arc::clone(cached.verdict()), false)),
            Some(UnchangedVerdict::Evaluated(verdict)) => Ok((verdict, false)),
            _ if self.is_cluster_wide(at) => {
                let context = Arc::clone(&self.all_rows);
                let verdict = Arc::new(self.verdict(at, &context)?);
                self.set_unchanged(at, UnchangedVerdict::Evaluated(Arc::clone(&verdict)));
                Ok((verdict, false))
            }
            _ => {
                let context = self.context(&Arc::clone(&self.snapshot), Batch::Rows(Arc::clone(rows)));
                Ok((Arc::new(self.verdict(at, &context)?), true))
            }
        }
    }

    fn name(&self, at: usize) -> Arc<str> {
        self.predicates.get(at).map(|state| Arc::clone(&state.predicate.name)).unwrap_or_default()
    }

    /// Calls a predicate; one whose call has failed is not called again.
    fn verdict(&mut self, at: usize, context: &Arc<Context>) -> Result<Verdict, Stop> {
        let Some(predicate) = self.predicates.get(at).map(|state| state.predicate) else { return Ok(Verdict::FitsAll) };
        match self.failed(predicate, context) {
            Some(verdict) => verdict,
            None => predicate
                .filter(Arc::clone(context) as _, context)
                .or_else(|fault| self.fail(predicate, fault, context)),
        }
    }

    /// Calls a predicate like [`Self::verdict`], and returns its verdict with the facts that were read.
    fn recorded(&mut self, at: usize, context: &Arc<Context>) -> Result<Arc<CachedVerdict>, Stop> {
        let unread = |verdict| Ok(Arc::new(CachedVerdict::unread(verdict, context)));
        let Some(predicate) = self.predicates.get(at).map(|state| state.predicate) else {
            return unread(Verdict::FitsAll);
        };
        match self.failed(predicate, context) {
            Some(verdict) => unread(verdict?),
            None => match Store::call_uncached(predicate, context) {
                Ok(verdict) => Ok(Arc::new(verdict)),
                Err(fault) => unread(self.fail(predicate, fault, context)?),
            },
        }
    }

    /// The verdict of the failure policy, where a call of the predicate has failed before.
    fn failed(&self, predicate: &ActivePredicate, context: &Context) -> Option<Result<Verdict, Stop>> {
        let report = self.faults.iter().find(|report| report.predicate == predicate.name)?;
        Some(verdict_on_fault(predicate, &report.fault, context.rows() as usize).map(|(verdict, _)| verdict))
    }

    /// Reports a fault, and gives the verdict of the failure policy.
    fn fail(&mut self, predicate: &ActivePredicate, fault: Fault, context: &Context) -> Result<Verdict, Stop> {
        let (verdict, effect) = verdict_on_fault(predicate, &fault, context.rows() as usize)?;
        self.faults.push(FaultReport { predicate: Arc::clone(&predicate.name), fault, effect });
        Ok(verdict)
    }
}

/// Keeps verdicts about nodes that are as they were evaluated: those of `gone` have lost the victim again.
fn learn(nodes: &mut [Tried], learnt: Learnt, gone: &[usize]) {
    for (index, asked, verdict) in learnt.into_iter().filter(|(index, ..)| !gone.contains(index)) {
        if let Some(node) = nodes.get_mut(index) {
            node.known.insert(asked, verdict);
        }
    }
}

impl Tried {
    fn outcome(&mut self) -> ReprieveOutcome {
        if let Some((predicate, failure)) = self.rejection.take() {
            return ReprieveOutcome::Rejected { predicate, failure };
        }
        let kept = self.stays.iter().enumerate().filter(|(_, stays)| **stays).map(|(index, _)| index);
        ReprieveOutcome::Fits { kept: kept.collect() }
    }

    /// The pods by which the node differs from the unchanged cluster at first.
    fn pods(&self, side: &Side) -> impl Iterator<Item = &PodRecord> {
        let nominated = self.nominated.iter().filter(|_| side.is_nominated);
        self.victims.iter().chain(nominated).map(|pod| &**pod)
    }

    /// The cluster with the changes of this node alone.
    fn alone(&self, snapshot: &Snapshot, side: &Side) -> Snapshot {
        let mut builder = OverlayBuilder::new(snapshot);
        for (victim, _) in self.victims.iter().zip(&self.stays).filter(|(_, stays)| !**stays) {
            builder.remove(self.row, victim);
        }
        if side.is_nominated {
            self.nominated.iter().for_each(|pod| builder.add(self.row, pod));
        }
        builder.snapshot()
    }
}

/// Puts a victim on its node, or takes it away again.
fn place(nodes: &mut [Tried], sides: &mut [Side], at: usize, victim: usize, stays: bool) {
    let Some(node) = nodes.get_mut(at) else { return };
    let (Some(pod), Some(is_there)) = (node.victims.get(victim), node.stays.get_mut(victim)) else { return };
    *is_there = stays;
    for side in sides.iter_mut().filter(|side| !side.is_nominated || !node.nominated.is_empty()) {
        match stays {
            true => side.builder.add(node.row, pod),
            false => side.builder.remove(node.row, pod),
        }
    }
}

/// A verdict over all rows, or over those that were asked about.
enum OverRows {
    ByRow(Arc<Verdict>),
    ByPlace(Arc<Verdict>),
}

impl OverRows {
    fn new((verdict, is_by_place): (Arc<Verdict>, bool)) -> Self {
        if is_by_place { Self::ByPlace(verdict) } else { Self::ByRow(verdict) }
    }

    fn failure(&self, place: usize, row: Row) -> Option<&Failure> {
        match self {
            Self::ByRow(verdict) => verdict.failure_at(row.index()),
            Self::ByPlace(verdict) => verdict.failure_at(place),
        }
    }
}
