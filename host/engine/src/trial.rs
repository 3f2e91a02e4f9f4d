//! One node of a preemption question: how many of its pods have to go until every predicate takes it.
//!
//! Start with [`Trial::first_fit`]. Most predicates answer once: one that reads nothing that the victims change says of the
//! node as it is what it says of it without them, and that verdict may be kept. What a predicate imports says what it can
//! read; a verdict that is kept says what it has read, which is less. Those that look at the node alone are asked about a
//! strip of it, row by row with one pod fewer. Cluster-wide ones that the victims can change are asked last, about the
//! cluster without the first victims, and only for those numbers of victims that everything else takes: spread and affinity
//! come out as if the pods were gone.

use std::cell::OnceCell;
use std::sync::Arc;

use super::Subject;
use super::answer::{FaultEffect, FaultReport};
use super::context::{Batch, Context};
use super::judgement::Judgement;
use super::overlay::changed_by;
use super::reuse::{Kept, Store};
use crate::policy::{ActivePolicy, ActivePredicate, OnError, Phase};
use nodesift_cache::metadata::PodRecord;
use nodesift_cache::{OverlayBuilder, Row, Snapshot};
use nodesift_sandbox::fault::Fault;
use nodesift_sandbox::{Interface, Verdict};

/// One pod against one snapshot.
pub(super) struct Trial<'a> {
    /// Those of the phase, in policy order.
    predicates: Vec<Asked<'a>>,
    /// Verdicts about the cluster as it is; none where nothing is kept.
    store: Option<&'a Store>,
    snapshot: Arc<Snapshot>,
    subject: Subject,
    /// The pod and every row of the cluster as it is.
    whole: Arc<Context>,
    faults: Vec<FaultReport>,
}

/// A predicate, and what it says of the cluster as it is.
struct Asked<'a> {
    /// Where it is in the policy.
    place: usize,
    predicate: &'a ActivePredicate,
    whole: Whole,
}

/// A verdict over every row of the cluster as it is.
#[derive(Clone)]
enum Whole {
    /// Nobody has looked for it.
    Unasked,
    /// None is kept, and a row is judged sooner than all of them.
    Unknown,
    /// One that was kept, with what was read for it.
    Kept(Arc<Kept>),
    /// One that is kept nowhere, or what stands in for one of a predicate that failed to answer and may.
    Judged(Arc<Judgement>),
    /// The predicate failed to answer, which its failure policy makes a rejection.
    Failed,
}

/// A verdict; none where the predicate failed to answer and its failure policy makes that a rejection.
type Answered = Option<Verdict>;

impl<'a> Trial<'a> {
    pub(super) fn new(
        policy: &'a ActivePolicy,
        store: Option<&'a Store>,
        snapshot: &Arc<Snapshot>,
        subject: Subject,
    ) -> Self {
        let asked = |(place, predicate)| Asked { place, predicate, whole: Whole::Unasked };
        let all = policy.predicates.iter().enumerate();
        let allocating = all.filter(|(_, predicate)| predicate.phases.contains(Phase::Allocate));
        let whole = Arc::new(subject.context(snapshot, Batch::All));
        let (predicates, snapshot) = (allocating.map(asked).collect(), Arc::clone(snapshot));
        Self { predicates, store, snapshot, subject, whole, faults: Vec::new() }
    }

    /// Predicates that failed to answer.
    pub(super) fn into_faults(self) -> Vec<FaultReport> {
        self.faults
    }

    /// The first of the tries from `start` on that every predicate takes, with the pods that are nominated for the node on
    /// it, and without.
    pub(super) fn first_fit(&mut self, row: Row, victims: &[Option<Arc<PodRecord>>], start: usize) -> Option<usize> {
        let tries = victims.len().checked_sub(start).filter(|tries| *tries > 0)?;
        let gone: Vec<&PodRecord> = victims.iter().flatten().map(|pod| &**pod).collect();
        let changed = changed_by(&gone, &self.subject.facts, &self.snapshot);
        let as_it_is = Ground::of(&self.snapshot, row);
        let claimed = self.claimed(row);
        let by_claims = claimed.as_ref().map(|(_, changed)| changed.as_slice()).unwrap_or_default();
        let (constant, changing): (Vec<usize>, Vec<usize>) =
            (0..self.predicates.len()).partition(|at| !self.imports(*at, &changed));
        let (mut one_by_one, mut at_once): (Vec<usize>, Vec<usize>) =
            changing.into_iter().partition(|at| self.needs_the_cluster(*at));

        // The cheapest first: whoever rejects the node whatever goes ends it.
        if !constant.iter().all(|at| self.is_cluster_wide(*at) || self.fits_as_it_is(*at, &as_it_is)) {
            return None;
        }
        if !self.settle(&mut at_once, &as_it_is, &changed, by_claims) {
            return None;
        }
        let mut fits = self.strip(&at_once, &as_it_is.snapshot, row, victims, start, tries);
        if let Some((claimed, changed)) = &claimed {
            let fits_with_claims = |at: &usize| {
                self.look_for_constant(*at, changed);
                !self.may_change(*at, changed) || self.fits(*at, claimed)
            };
            if !constant.iter().all(fits_with_claims) {
                return None;
            }
            let with_claims = self.strip(&at_once, &claimed.snapshot, row, victims, start, tries);
            fits.iter_mut().zip(with_claims).for_each(|(fits, with_claims)| *fits &= with_claims);
        }
        if !fits.contains(&true) {
            return None;
        }
        if !constant.iter().all(|at| !self.is_cluster_wide(*at) || self.fits_as_it_is(*at, &as_it_is)) {
            return None;
        }
        if !self.settle(&mut one_by_one, &as_it_is, &changed, by_claims) {
            return None;
        }
        if one_by_one.is_empty() {
            return (start..).zip(&fits).find(|(_, fits)| **fits).map(|(index, _)| index);
        }
        let grounds = [Some(&as_it_is), claimed.as_ref().map(|(claimed, _)| claimed)];
        let mut hypotheses: Vec<OverlayBuilder> =
            grounds.into_iter().flatten().map(|ground| OverlayBuilder::new(&ground.snapshot)).collect();
        for (index, victim) in victims.iter().enumerate() {
            if let Some(victim) = victim {
                hypotheses.iter_mut().for_each(|hypothesis| hypothesis.remove(row, victim));
            }
            // Where nobody goes, nothing is different from the try before.
            let is_try = index == start || (index > start && victim.is_some());
            if !is_try || fits.get(index - start) != Some(&true) {
                continue;
            }
            let all_fit = hypotheses.iter().all(|hypothesis| {
                let without = Ground::of(&Arc::new(hypothesis.snapshot()), row);
                one_by_one.iter().all(|at| self.fits(*at, &without))
            });
            if all_fit {
                return Some(index);
            }
        }
        None
    }

    /// Takes out the predicates of which a verdict is kept that has read nothing that victims or claims change: what they say
    /// of the cluster as it is, they say of every try. False where one of these rejects the node.
    fn settle(
        &mut self,
        places: &mut Vec<usize>,
        as_it_is: &Ground,
        changed: &[Interface],
        by_claims: &[Interface],
    ) -> bool {
        let mut fits = true;
        let changed: Vec<Interface> = changed.iter().chain(by_claims).copied().collect();
        places.retain(|at| {
            if !fits {
                return true;
            }
            self.look_for_constant(*at, &changed);
            let stays = self.may_change(*at, &changed);
            fits = stays || self.fits_as_it_is(*at, as_it_is);
            stays
        });
        fits
    }

    /// Looks for a verdict that nothing of this can change. Nothing is judged only to find out.
    fn look_for_constant(&mut self, at: usize, changed: &[Interface]) {
        let (Some(asked), Some(store)) = (self.predicates.get_mut(at), self.store) else { return };
        if matches!(asked.whole, Whole::Unasked)
            && let Some(kept) = store.known_without(asked.place, asked.predicate, &self.whole, changed)
        {
            asked.whole = Whole::Kept(kept);
        }
    }

    /// Whether a predicate imports any of these interfaces.
    fn imports(&self, at: usize, changed: &[Interface]) -> bool {
        let asked = self.predicates.get(at);
        asked.is_some_and(|asked| asked.predicate.module.imports().iter().any(|read| changed.contains(read)))
    }

    /// Whether a predicate may say something else where these interfaces do.
    fn may_change(&self, at: usize, changed: &[Interface]) -> bool {
        let has_read = match self.predicates.get(at).map(|asked| &asked.whole) {
            Some(Whole::Kept(kept)) => kept.has_read(changed),
            _ => true,
        };
        has_read && self.imports(at, changed)
    }

    /// The cluster with the nominated pods on a node that the pod must leave room for, and what that changes; none where
    /// there are none.
    fn claimed(&self, row: Row) -> Option<(Ground, Vec<Interface>)> {
        let pods = self.subject.ahead_of_it(&self.snapshot, self.snapshot.node_name(row));
        if pods.is_empty() {
            return None;
        }
        let mut hypothesis = OverlayBuilder::new(&self.snapshot);
        pods.iter().for_each(|pod| hypothesis.add(row, pod));
        let pods: Vec<&PodRecord> = pods.iter().map(|pod| &**pod).collect();
        let changed = changed_by(&pods, &self.subject.facts, &self.snapshot);
        Some((Ground::of(&Arc::new(hypothesis.snapshot()), row), changed))
    }

    /// Per try, whether every predicate that looks at the node alone takes it.
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
        let context = Arc::new(self.subject.context(&strip, Batch::All));
        for at in places {
            let answered = self.ask(*at, &context);
            for (place, fits) in fits.iter_mut().enumerate() {
                *fits &= fits_at(answered.as_ref(), place);
            }
        }
        fits
    }

    fn is_cluster_wide(&self, at: usize) -> bool {
        self.predicates.get(at).is_some_and(|asked| asked.predicate.module.is_cluster_wide())
    }

    /// Whether a predicate cannot be asked about a strip: it reads the cluster, or looks nodes up by name, of which a strip
    /// has but one.
    fn needs_the_cluster(&self, at: usize) -> bool {
        let looks_up = |asked: &Asked<'_>| asked.predicate.module.imports().contains(&Interface::NodeIdentity);
        self.is_cluster_wide(at) || self.predicates.get(at).is_some_and(looks_up)
    }

    /// Looks for the verdict about the cluster as it is. What a cluster-wide predicate says is kept from here on; a pointwise
    /// one judges a row sooner than all of them.
    fn look(&mut self, at: usize) {
        let (Some(asked), Some(store)) = (self.predicates.get(at), self.store) else { return };
        if !matches!(asked.whole, Whole::Unasked) {
            return;
        }
        let whole = match asked.predicate.module.is_cluster_wide() {
            true => match store.judge(asked.place, asked.predicate, &self.whole) {
                Ok(kept) => Whole::Kept(kept),
                Err(fault) => Whole::of(on_fault(&mut self.faults, asked.predicate, fault)),
            },
            false => store.known(asked.place, asked.predicate, &self.whole).map_or(Whole::Unknown, Whole::Kept),
        };
        self.remember(at, whole);
    }

    fn remember(&mut self, at: usize, whole: Whole) {
        if let Some(asked) = self.predicates.get_mut(at) {
            asked.whole = whole;
        }
    }

    /// Whether a predicate takes the node of the cluster as it is.
    fn fits_as_it_is(&mut self, at: usize, as_it_is: &Ground) -> bool {
        self.look(at);
        let whole = self.predicates.get(at).map_or(Whole::Failed, |asked| asked.whole.clone());
        match whole {
            Whole::Kept(kept) => kept.judgement.reason_at(as_it_is.row.index()).is_none(),
            Whole::Judged(judgement) => judgement.reason_at(as_it_is.row.index()).is_none(),
            Whole::Failed => false,
            Whole::Unasked | Whole::Unknown if self.is_cluster_wide(at) => {
                let context = Arc::clone(&self.whole);
                let whole = Whole::of(self.ask(at, &context));
                self.remember(at, whole);
                self.fits_as_it_is(at, as_it_is)
            }
            Whole::Unasked | Whole::Unknown => self.fits(at, as_it_is),
        }
    }

    /// Whether a predicate takes the node as a snapshot shows it.
    fn fits(&mut self, at: usize, ground: &Ground) -> bool {
        match self.is_cluster_wide(at) {
            true => {
                let context = ground.all.get_or_init(|| Arc::new(self.subject.context(&ground.snapshot, Batch::All)));
                fits_at(self.ask(at, context).as_ref(), ground.row.index())
            }
            false => {
                let batch = || Batch::Rows([ground.row].into());
                let context = ground.here.get_or_init(|| Arc::new(self.subject.context(&ground.snapshot, batch())));
                fits_at(self.ask(at, context).as_ref(), 0)
            }
        }
    }

    fn ask(&mut self, at: usize, context: &Arc<Context>) -> Answered {
        let predicate = self.predicates.get(at)?.predicate;
        match predicate.module.filter(Arc::clone(context) as _, context.rows()) {
            Ok(verdict) => Some(verdict),
            Err(fault) => on_fault(&mut self.faults, predicate, fault),
        }
    }
}

impl Whole {
    fn of(answered: Answered) -> Self {
        answered.map_or(Self::Failed, |verdict| Self::Judged(Arc::new(verdict.into())))
    }
}

/// A cluster, as it is or as it would be, around the node; and the facts about it, which all predicates share.
struct Ground {
    snapshot: Arc<Snapshot>,
    row: Row,
    here: OnceCell<Arc<Context>>,
    all: OnceCell<Arc<Context>>,
}

impl Ground {
    fn of(snapshot: &Arc<Snapshot>, row: Row) -> Self {
        Self { snapshot: Arc::clone(snapshot), row, here: OnceCell::new(), all: OnceCell::new() }
    }
}

/// What stands in for the verdict of a predicate that failed to answer, which is reported once.
fn on_fault(faults: &mut Vec<FaultReport>, predicate: &ActivePredicate, fault: Fault) -> Answered {
    let (answered, effect) = match predicate.on_error {
        OnError::Ignore => (Some(Verdict::FitsAll), FaultEffect::Ignored),
        OnError::Reject => (None, FaultEffect::Rejected),
    };
    if faults.iter().all(|known| known.predicate != predicate.name) {
        faults.push(FaultReport { predicate: Arc::clone(&predicate.name), fault, effect });
    }
    answered
}

fn fits_at(verdict: Option<&Verdict>, at: usize) -> bool {
    match verdict {
        Some(Verdict::FitsAll) => true,
        Some(Verdict::FitsNone(_)) | None => false,
        Some(Verdict::ByRow { codes, .. }) => codes.get(at) == Some(&0),
    }
}
