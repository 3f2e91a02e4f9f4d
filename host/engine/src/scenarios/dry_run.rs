//! The dry run of preemption on one node: how many victims must be removed until every predicate fits the node.
//!
//! Start with [`PreemptionDryRun::first_fit`]. Predicates are evaluated in order of cost:
//!
//! 1. A predicate that reads nothing that the victims change is evaluated once; its verdict may be cached. Its imports bound
//!    what it can read, and a cached verdict records what it has read, which may be less.
//! 2. A pointwise predicate that the victims can change is called once over a strip: a batch in which row k is the node without
//!    `victims[..=start + k]`.
//! 3. A cluster-wide predicate that the victims can change is called once per index that fits all others, on a snapshot without
//!    the first victims, so that spread and affinity are those without these pods.

use std::cell::OnceCell;
use std::sync::Arc;
use std::time::Instant;

use nodesift_cache::metadata::PodRecord;
use nodesift_cache::{OverlayBuilder, Row, Snapshot};
use nodesift_sandbox::fault::Fault;
use nodesift_sandbox::{Interface, Verdict};

use super::overlay::changed_by;
use crate::answer::{FaultEffect, FaultReport};
use crate::evaluate::unsupported::Unsupported;
use crate::facts::{Batch, Context};
use crate::policy::{ActivePolicy, ActivePredicate, OnError, Phase};
use crate::reuse::{CachedVerdict, Store};
use crate::subject::Subject;

/// The dry run of one pod against one snapshot.
pub(super) struct PreemptionDryRun<'a> {
    /// The predicates of the allocate phase, in policy order.
    pub(super) predicates: Vec<PredicateState<'a>>,
    /// Cached verdicts about the unchanged cluster, if they may be used.
    store: Option<&'a Store>,
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) subject: Subject,
    /// When the request ends. Calls then fail, and so does the query as a whole: what they would have said is not known.
    pub(super) deadline: Option<Instant>,
    /// The facts about the pod and every row of the unchanged cluster.
    pub(super) all_rows: Arc<Context>,
    /// Requests of the pod that no predicate evaluates, over every row, and their failure policy. Pods on nodes do not change them.
    pub(super) unsupported: Option<(Unsupported, OnError)>,
    pub(super) faults: Vec<FaultReport>,
}

/// A predicate and its verdict about the unchanged cluster.
pub(super) struct PredicateState<'a> {
    /// Its index in the policy.
    place: usize,
    pub(super) predicate: &'a ActivePredicate,
    pub(super) unchanged: UnchangedVerdict,
}

/// The verdict over every row of the unchanged cluster.
#[derive(Clone)]
pub(super) enum UnchangedVerdict {
    /// Not looked up yet.
    NotLookedUp,
    /// Not cached; one row costs less to evaluate than all rows.
    NotCached,
    /// Cached, with the facts that were read for it.
    Cached(Arc<CachedVerdict>),
    /// Evaluated and not cached, or given by the failure policy.
    Evaluated(Arc<Verdict>),
    /// The call failed, and the failure policy rejects.
    Failed,
}

/// A verdict; `None` where the call failed and the failure policy rejects.
type CallResult = Option<Verdict>;

impl<'a> PreemptionDryRun<'a> {
    pub(super) fn new(
        policy: &'a ActivePolicy,
        store: Option<&'a Store>,
        snapshot: &Arc<Snapshot>,
        subject: Subject,
        skip: &[String],
        deadline: Option<Instant>,
    ) -> Self {
        let state = |(place, predicate)| PredicateState { place, predicate, unchanged: UnchangedVerdict::NotLookedUp };
        let all = policy.predicates.iter().enumerate();
        let allocating = all.filter(|(_, predicate)| {
            predicate.decides(Phase::Allocate) && !skip.iter().any(|name| *name == *predicate.name)
        });
        let all_rows = Arc::new(subject.context(snapshot, Batch::All).with_deadline(deadline));
        let (predicates, snapshot) = (allocating.map(state).collect(), Arc::clone(snapshot));
        let unsupported =
            Unsupported::find(policy, &all_rows).map(|unsupported| (unsupported, policy.settings.on_unsupported));
        let faults = unsupported.iter().map(|(unsupported, policy)| unsupported.report(*policy)).collect();
        Self { predicates, store, snapshot, subject, deadline, all_rows, unsupported, faults }
    }

    /// The calls that failed.
    pub(super) fn into_faults(self) -> Vec<FaultReport> {
        self.faults
    }

    /// The first index from `start` on for which every predicate fits the node without `victims[..=index]`, both with and
    /// without the pods that are nominated for the node. `None` in `victims` is a victim whose removal changes nothing.
    pub(super) fn first_fit(&mut self, row: Row, victims: &[Option<Arc<PodRecord>>], start: usize) -> Option<usize> {
        let tries = victims.len().checked_sub(start).filter(|tries| *tries > 0)?;
        if self.unsupported.as_ref().is_some_and(|(unsupported, policy)| unsupported.rejects(*policy, row.index())) {
            return None;
        }
        let gone: Vec<&PodRecord> = victims.iter().flatten().map(|pod| &**pod).collect();
        let changed = changed_by(&gone, &self.subject.facts, &self.snapshot);
        let unchanged = NodeView::new(&self.snapshot, row);
        let nominated = self.with_nominated(row);
        let by_nominated = nominated.as_ref().map(|(_, changed)| changed.as_slice()).unwrap_or_default();
        let (constant, changing): (Vec<usize>, Vec<usize>) =
            (0..self.predicates.len()).partition(|at| !self.imports(*at, &changed));
        let (mut row_by_row, mut in_one_call): (Vec<usize>, Vec<usize>) =
            changing.into_iter().partition(|at| self.needs_cluster(*at));

        // Cheapest first: a predicate that victims cannot change has one result for all indices.
        if !constant.iter().all(|at| self.is_cluster_wide(*at) || self.fits_unchanged(*at, &unchanged)) {
            return None;
        }
        if !self.remove_unchanged(&mut in_one_call, &unchanged, &changed, by_nominated) {
            return None;
        }
        let mut fits = self.strip(&in_one_call, &unchanged.snapshot, row, victims, start, tries);
        if let Some((nominated, changed)) = &nominated {
            let fits_with_nominated = |at: &usize| {
                self.look_up_unchanged_by(*at, changed);
                !self.may_change(*at, changed) || self.fits(*at, nominated)
            };
            if !constant.iter().all(fits_with_nominated) {
                return None;
            }
            let with_nominated = self.strip(&in_one_call, &nominated.snapshot, row, victims, start, tries);
            fits.iter_mut().zip(with_nominated).for_each(|(fits, with_nominated)| *fits &= with_nominated);
        }
        if !fits.contains(&true) {
            return None;
        }
        if !constant.iter().all(|at| !self.is_cluster_wide(*at) || self.fits_unchanged(*at, &unchanged)) {
            return None;
        }
        if !self.remove_unchanged(&mut row_by_row, &unchanged, &changed, by_nominated) {
            return None;
        }
        if row_by_row.is_empty() {
            return (start..).zip(&fits).find(|(_, fits)| **fits).map(|(index, _)| index);
        }
        let views = [Some(&unchanged), nominated.as_ref().map(|(nominated, _)| nominated)];
        let mut overlays: Vec<OverlayBuilder> =
            views.into_iter().flatten().map(|view| OverlayBuilder::new(&view.snapshot)).collect();
        for (index, victim) in victims.iter().enumerate() {
            if let Some(victim) = victim {
                overlays.iter_mut().for_each(|overlay| overlay.remove(row, victim));
            }
            // Without a victim the result is that of the index before.
            let is_try = index == start || (index > start && victim.is_some());
            if !is_try || fits.get(index - start) != Some(&true) {
                continue;
            }
            let all_fit = overlays.iter().all(|overlay| {
                let without = NodeView::new(&Arc::new(overlay.snapshot()), row);
                row_by_row.iter().all(|at| self.fits(*at, &without))
            });
            if all_fit {
                return Some(index);
            }
        }
        None
    }

    /// Removes the predicates whose cached verdict has read nothing that victims or nominated pods change, since it is valid
    /// for every index. False where one of them rejects the node.
    fn remove_unchanged(
        &mut self,
        places: &mut Vec<usize>,
        unchanged: &NodeView,
        changed: &[Interface],
        by_nominated: &[Interface],
    ) -> bool {
        let mut fits = true;
        let changed: Vec<Interface> = changed.iter().chain(by_nominated).copied().collect();
        places.retain(|at| {
            if !fits {
                return true;
            }
            self.look_up_unchanged_by(*at, &changed);
            let stays = self.may_change(*at, &changed);
            fits = stays || self.fits_unchanged(*at, unchanged);
            stays
        });
        fits
    }

    /// Looks up a cached verdict that has read none of these interfaces. The lookup calls no predicate.
    pub(super) fn look_up_unchanged_by(&mut self, at: usize, changed: &[Interface]) {
        let (Some(state), Some(store)) = (self.predicates.get_mut(at), self.store) else { return };
        if matches!(state.unchanged, UnchangedVerdict::NotLookedUp)
            && let Some(cached) = store.lookup_or_patch_without(state.place, state.predicate, &self.all_rows, changed)
        {
            state.unchanged = UnchangedVerdict::Cached(cached);
        }
    }

    /// Whether a predicate imports any of these interfaces.
    pub(super) fn imports(&self, at: usize, changed: &[Interface]) -> bool {
        let state = self.predicates.get(at);
        state.is_some_and(|state| state.predicate.module.imports().iter().any(|read| changed.contains(read)))
    }

    /// Whether a change of these interfaces may change the verdict of a predicate.
    pub(super) fn may_change(&self, at: usize, changed: &[Interface]) -> bool {
        let has_read = match self.predicates.get(at).map(|state| &state.unchanged) {
            Some(UnchangedVerdict::Cached(cached)) => cached.has_read(changed),
            _ => true,
        };
        has_read && self.imports(at, changed)
    }

    /// The cluster with the nominated pods that take precedence on a node, and the interfaces that they change; `None` where
    /// there are no such pods.
    fn with_nominated(&self, row: Row) -> Option<(NodeView, Vec<Interface>)> {
        let pods = self.subject.nominated_ahead(&self.snapshot, self.snapshot.node_name(row));
        if pods.is_empty() {
            return None;
        }
        let mut overlay = OverlayBuilder::new(&self.snapshot);
        pods.iter().for_each(|pod| overlay.add(row, pod));
        let pods: Vec<&PodRecord> = pods.iter().map(|pod| &**pod).collect();
        let changed = changed_by(&pods, &self.subject.facts, &self.snapshot);
        Some((NodeView::new(&Arc::new(overlay.snapshot()), row), changed))
    }

    /// Per index from `start` on, whether all of these pointwise predicates fit the node without its first victims. One call
    /// per predicate: row k of the batch is the node without `victims[..=start + k]`.
    fn strip(
        &mut self,
        places: &[usize],
        snapshot: &Snapshot,
        row: Row,
        victims: &[Option<Arc<PodRecord>>],
        start: usize,
        tries: usize,
    ) -> Vec<bool> {
        let mut fits = vec![true; tries];
        if places.is_empty() {
            return fits;
        }
        let strip = Arc::new(snapshot.without_one_by_one(row, victims, start));
        let context = self.context(&strip, Batch::All);
        for at in places {
            let verdict = self.call(*at, &context);
            for (place, fits) in fits.iter_mut().enumerate() {
                *fits &= fits_at(verdict.as_ref(), place);
            }
        }
        fits
    }

    pub(super) fn is_cluster_wide(&self, at: usize) -> bool {
        self.predicates.get(at).is_some_and(|state| state.predicate.module.is_cluster_wide())
    }

    /// Whether a predicate cannot be evaluated over a strip: it is cluster-wide, or it looks up nodes by name, and all rows of
    /// a strip have the same name.
    fn needs_cluster(&self, at: usize) -> bool {
        let looks_up = |state: &PredicateState<'_>| state.predicate.module.imports().contains(&Interface::NodeIdentity);
        self.is_cluster_wide(at) || self.predicates.get(at).is_some_and(looks_up)
    }

    /// Looks up the verdict about the unchanged cluster. If it is not cached, a cluster-wide predicate is evaluated and cached;
    /// a pointwise one is not, since one row costs less to evaluate than all rows.
    pub(super) fn look_up(&mut self, at: usize) {
        let (Some(state), Some(store)) = (self.predicates.get(at), self.store) else { return };
        if !matches!(state.unchanged, UnchangedVerdict::NotLookedUp) {
            return;
        }
        let unchanged = match state.predicate.module.is_cluster_wide() {
            true => match store.get_or_call(state.place, state.predicate, &self.all_rows) {
                Ok(cached) => UnchangedVerdict::Cached(cached),
                Err(fault) => UnchangedVerdict::from(on_fault(&mut self.faults, state.predicate, fault)),
            },
            false => store
                .lookup_or_patch(state.place, state.predicate, &self.all_rows)
                .map_or(UnchangedVerdict::NotCached, UnchangedVerdict::Cached),
        };
        self.set_unchanged(at, unchanged);
    }

    pub(super) fn set_unchanged(&mut self, at: usize, unchanged: UnchangedVerdict) {
        if let Some(state) = self.predicates.get_mut(at) {
            state.unchanged = unchanged;
        }
    }

    /// Whether a predicate fits the node of the unchanged cluster.
    fn fits_unchanged(&mut self, at: usize, view: &NodeView) -> bool {
        self.look_up(at);
        let unchanged = self.predicates.get(at).map_or(UnchangedVerdict::Failed, |state| state.unchanged.clone());
        match unchanged {
            UnchangedVerdict::Cached(cached) => cached.verdict().failure_at(view.row.index()).is_none(),
            UnchangedVerdict::Evaluated(verdict) => verdict.failure_at(view.row.index()).is_none(),
            UnchangedVerdict::Failed => false,
            UnchangedVerdict::NotLookedUp | UnchangedVerdict::NotCached if self.is_cluster_wide(at) => {
                let context = Arc::clone(&self.all_rows);
                let unchanged = UnchangedVerdict::from(self.call(at, &context));
                self.set_unchanged(at, unchanged);
                self.fits_unchanged(at, view)
            }
            UnchangedVerdict::NotLookedUp | UnchangedVerdict::NotCached => self.fits(at, view),
        }
    }

    /// Whether a predicate fits the node in a view of the cluster.
    fn fits(&mut self, at: usize, view: &NodeView) -> bool {
        match self.is_cluster_wide(at) {
            true => {
                let context = view.all_rows.get_or_init(|| self.context(&view.snapshot, Batch::All));
                fits_at(self.call(at, context).as_ref(), view.row.index())
            }
            false => {
                let batch = || Batch::Rows([view.row].into());
                let context = view.one_row.get_or_init(|| self.context(&view.snapshot, batch()));
                fits_at(self.call(at, context).as_ref(), 0)
            }
        }
    }

    /// The facts about the pod and a batch of a snapshot.
    pub(super) fn context(&self, snapshot: &Arc<Snapshot>, batch: Batch) -> Arc<Context> {
        Arc::new(self.subject.context(snapshot, batch).with_deadline(self.deadline))
    }

    fn call(&mut self, at: usize, context: &Arc<Context>) -> CallResult {
        let predicate = self.predicates.get(at)?.predicate;
        match predicate.filter(Arc::clone(context) as _, context) {
            Ok(verdict) => Some(verdict),
            Err(fault) => on_fault(&mut self.faults, predicate, fault),
        }
    }
}

impl From<CallResult> for UnchangedVerdict {
    fn from(verdict: CallResult) -> Self {
        verdict.map_or(Self::Failed, |verdict| Self::Evaluated(Arc::new(verdict)))
    }
}

/// One node in a snapshot, unchanged or with an overlay, and the facts that all predicates share.
struct NodeView {
    snapshot: Arc<Snapshot>,
    row: Row,
    one_row: OnceCell<Arc<Context>>,
    all_rows: OnceCell<Arc<Context>>,
}

impl NodeView {
    fn new(snapshot: &Arc<Snapshot>, row: Row) -> Self {
        Self { snapshot: Arc::clone(snapshot), row, one_row: OnceCell::new(), all_rows: OnceCell::new() }
    }
}

/// The verdict of the failure policy. A fault is reported once per predicate.
fn on_fault(faults: &mut Vec<FaultReport>, predicate: &ActivePredicate, fault: Fault) -> CallResult {
    let (verdict, effect) = match predicate.on_error {
        OnError::Ignore => (Some(Verdict::FitsAll), FaultEffect::Ignored),
        OnError::Reject => (None, FaultEffect::Rejected),
    };
    if faults.iter().all(|known| known.predicate != predicate.name) {
        faults.push(FaultReport { predicate: Arc::clone(&predicate.name), fault, effect });
    }
    verdict
}

fn fits_at(verdict: Option<&Verdict>, at: usize) -> bool {
    match verdict {
        Some(Verdict::FitsAll) => true,
        Some(Verdict::FitsNone(_)) | None => false,
        Some(Verdict::ByRow(by_row)) => by_row.codes().get(at) == 0,
    }
}
