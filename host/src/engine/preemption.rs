//! Preemption: how many of a node's pods have to go until a pod fits there.
//!
//! Start with [`Engine::preempt`]. Most predicates answer once: those that no victim can change are asked about the node
//! as it is, and those that look at the node alone are asked about a strip of it, row by row with one pod fewer.
//! Cluster-wide ones that the victims can change are asked last, about the cluster without the first victims, and only
//! for those numbers of victims that everything else takes: spread and affinity come out as if the pods were gone. Where
//! pods are nominated for the node that are at least as important, the pod has to fit with them there, and without, as it
//! does in kube-scheduler's own dry run.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::answer::{FaultEffect, FaultReport};
use super::context::{Batch, Context};
use super::overlay::changed_by;
use super::question::PodRef;
use super::{Engine, Error, Subject};
use crate::cache::{Hypothesis, OverlayError, Row, Snapshot};
use crate::metadata::{Ownership, PodRecord};
use crate::policy::{ActivePredicate, OnError, Phase};
use crate::sandbox::{Interface, Verdict};

/// How many pods must go for one pod, on some nodes.
#[derive(Debug)]
pub struct Preemption {
    /// The pod that wants to be somewhere.
    pub pod: PodRef,
    /// The nodes, each by itself, in any order.
    pub candidates: Vec<Candidate>,
}

/// A node on which pods could go.
#[derive(Debug)]
pub struct Candidate {
    /// The node's name.
    pub node: String,
    /// UIDs of pods on the node, in the order in which they would go. A UID that the cache does not have on this node takes
    /// part in the count but leaves nothing. So does a static pod: the kubelet would start it again, so that the room it
    /// takes is never there.
    pub victims: Vec<String>,
    /// How many of them go in any case.
    pub start: usize,
}

/// How many pods must go, from one snapshot and one policy.
#[derive(Debug)]
pub struct PreemptionAnswer {
    /// The snapshot that the answer was computed from.
    pub snapshot: Arc<Snapshot>,
    /// The generation of the policy that it was computed with.
    pub policy_generation: u64,
    /// One per candidate of the question, in its order.
    pub outcomes: Vec<PreemptionOutcome>,
    /// Predicates that failed to answer, and what their failure policy did.
    pub faults: Vec<FaultReport>,
}

/// How many pods must go from one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreemptionOutcome {
    /// The pod fits once `victims[..=index]` are gone, and there is no such index between `start` and this; none where it
    /// does not fit with all of them gone.
    pub index: Option<usize>,
    /// Which of the victims are static pods, which stay, in order.
    pub stay: Vec<usize>,
}

impl Engine {
    /// Answers how many pods must go, from the newest snapshot that shows all that is known of the victims. All predicates
    /// of the allocate phase are asked.
    ///
    /// # Errors
    ///
    /// Where the pod or a node is not in the cache, or a victim does not stop changing.
    pub fn preempt(&self, question: &Preemption) -> Result<PreemptionAnswer, Error> {
        self.settled(|snapshot| self.preempt_on(snapshot, question))
    }

    /// Answers from a given snapshot, so that a caller can look up nodes in the same one.
    ///
    /// # Errors
    ///
    /// Where the pod or a node is not in the cache, where the snapshot does not show yet what the cache knows of a victim,
    /// or where it shows the cluster as it is not.
    pub fn preempt_on(&self, snapshot: &Arc<Snapshot>, question: &Preemption) -> Result<PreemptionAnswer, Error> {
        if snapshot.overlaid_rows().is_some() {
            return Err(Error::Overlaid);
        }
        let policy = self.policy();
        let allocating = policy.predicates.iter().filter(|predicate| predicate.phases.contains(Phase::Allocate));
        let predicates: Vec<&ActivePredicate> = allocating.collect();
        let mut trial = Trial {
            whole: predicates.iter().map(|_| None).collect(),
            predicates,
            snapshot: Arc::clone(snapshot),
            subject: self.subject(&question.pod)?,
            faults: Vec::new(),
        };
        let mut outcomes = Vec::with_capacity(question.candidates.len());
        for candidate in &question.candidates {
            let unknown = || Error::UnknownNode { node: candidate.node.clone() };
            let row = snapshot.node_row(&candidate.node).ok_or_else(unknown)?;
            let (victims, stay) = self.victims(snapshot, candidate)?;
            outcomes.push(PreemptionOutcome { index: trial.first_fit(row, &victims, candidate.start), stay });
        }
        let (faults, policy_generation) = (trial.faults, policy.generation);
        Ok(PreemptionAnswer { snapshot: Arc::clone(snapshot), policy_generation, outcomes, faults })
    }

    /// The victims that leave something when they go, none in the place of each other one; and which of them stay.
    fn victims(&self, snapshot: &Snapshot, candidate: &Candidate) -> Result<Victims, OverlayError> {
        let mut victims: Vec<Option<Arc<PodRecord>>> = Vec::with_capacity(candidate.victims.len());
        let mut stay = Vec::new();
        let mut gone: FxHashSet<&str> = FxHashSet::default();
        for (index, uid) in candidate.victims.iter().enumerate() {
            let is_repeated = gone.contains(uid.as_str());
            let victim = if is_repeated { None } else { snapshot.counted(self.cache.pods(), uid)? };
            if victim.as_ref().is_some_and(|pod| pod.ownership == Ownership::ForeignStatic) {
                stay.push(index);
            }
            let is_here = |pod: &Arc<PodRecord>| pod.node_name.as_deref() == Some(&*candidate.node);
            let victim = victim.filter(|pod| is_here(pod) && pod.ownership != Ownership::ForeignStatic);
            if victim.is_some() {
                gone.insert(uid);
            }
            victims.push(victim);
        }
        Ok((victims, stay))
    }
}

/// Pods that go, none in the place of each one that leaves nothing, and which ones stay, in order.
type Victims = (Vec<Option<Arc<PodRecord>>>, Vec<usize>);

/// One pod against one snapshot.
struct Trial<'a> {
    /// Those of the phase, in policy order.
    predicates: Vec<&'a ActivePredicate>,
    /// What cluster-wide ones said of the cluster as it is, once they were asked.
    whole: Vec<Option<Answered>>,
    snapshot: Arc<Snapshot>,
    subject: Subject,
    faults: Vec<FaultReport>,
}

/// A verdict; none where the predicate failed to answer and its failure policy makes that a rejection.
type Answered = Option<Verdict>;

impl Trial<'_> {
    /// The first of the tries from `start` on that every predicate takes, with the pods that are nominated for the node on
    /// it, and without.
    fn first_fit(&mut self, row: Row, victims: &[Option<Arc<PodRecord>>], start: usize) -> Option<usize> {
        let tries = victims.len().checked_sub(start).filter(|tries| *tries > 0)?;
        let gone: Vec<&PodRecord> = victims.iter().flatten().map(|pod| &**pod).collect();
        let changed = changed_by(&gone);
        let (changing, constant): (Vec<usize>, Vec<usize>) =
            (0..self.predicates.len()).partition(|place| self.reads(*place, &changed));
        let (one_by_one, at_once): (Vec<usize>, Vec<usize>) = changing
            .into_iter()
            .partition(|place| self.predicates.get(*place).is_some_and(|one| needs_the_cluster(one)));
        let as_it_is = Arc::clone(&self.snapshot);
        let claimed = self.claimed(row);

        // The cheapest first: whoever rejects the node whatever goes ends it.
        if !constant.iter().all(|place| self.is_cluster_wide(*place) || self.fits(*place, row, &as_it_is)) {
            return None;
        }
        let mut fits = self.strip(&at_once, &as_it_is, row, victims, start, tries);
        if let Some((claimed, changed)) = &claimed {
            if !constant.iter().all(|place| !self.reads(*place, changed) || self.fits(*place, row, claimed)) {
                return None;
            }
            let with_claims = self.strip(&at_once, claimed, row, victims, start, tries);
            fits.iter_mut().zip(with_claims).for_each(|(fits, with_claims)| *fits &= with_claims);
        }
        if !fits.contains(&true) {
            return None;
        }
        if !constant.iter().all(|place| !self.is_cluster_wide(*place) || self.fits_as_it_is(*place, row)) {
            return None;
        }
        let grounds = [Some(&as_it_is), claimed.as_ref().map(|(claimed, _)| claimed)];
        let mut hypotheses: Vec<Hypothesis> =
            grounds.into_iter().flatten().map(|ground| Hypothesis::of(ground)).collect();
        for (index, victim) in victims.iter().enumerate() {
            if let Some(victim) = victim {
                hypotheses.iter_mut().for_each(|hypothesis| hypothesis.remove(row, victim));
            }
            // Where nobody goes, nothing is different from the try before.
            let is_try = index == start || (index > start && victim.is_some());
            if !is_try || fits.get(index - start) != Some(&true) {
                continue;
            }
            let all_fit = one_by_one.is_empty()
                || hypotheses.iter().all(|hypothesis| {
                    let without = Arc::new(hypothesis.snapshot());
                    one_by_one.iter().all(|place| self.fits(*place, row, &without))
                });
            if all_fit {
                return Some(index);
            }
        }
        None
    }

    /// Whether a predicate reads any of these interfaces.
    fn reads(&self, place: usize, changed: &[Interface]) -> bool {
        let predicate = self.predicates.get(place);
        predicate.is_some_and(|predicate| predicate.module.imports().iter().any(|read| changed.contains(read)))
    }

    /// The snapshot with the nominated pods on a node that the pod must leave room for, and what that changes; none where
    /// there are none.
    fn claimed(&self, row: Row) -> Option<(Arc<Snapshot>, Vec<Interface>)> {
        let pods = self.subject.ahead_of_it(&self.snapshot, self.snapshot.node_name(row));
        if pods.is_empty() {
            return None;
        }
        let mut hypothesis = Hypothesis::of(&self.snapshot);
        pods.iter().for_each(|pod| hypothesis.add(row, pod));
        let pods: Vec<&PodRecord> = pods.iter().map(|pod| &**pod).collect();
        Some((Arc::new(hypothesis.snapshot()), changed_by(&pods)))
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
        let context = Arc::new(self.context(&strip, Batch::All));
        for place in places {
            let answered = self.ask(*place, &context);
            for (at, fits) in fits.iter_mut().enumerate() {
                *fits &= fits_at(answered.as_ref(), at);
            }
        }
        fits
    }

    fn is_cluster_wide(&self, place: usize) -> bool {
        self.predicates.get(place).is_some_and(|predicate| predicate.module.is_cluster_wide())
    }

    /// Whether a cluster-wide predicate takes a node of the cluster as it is.
    fn fits_as_it_is(&mut self, place: usize, row: Row) -> bool {
        if self.whole.get(place).is_some_and(Option::is_none) {
            let context = Arc::new(self.context(&self.snapshot, Batch::All));
            let answered = self.ask(place, &context);
            if let Some(whole) = self.whole.get_mut(place) {
                *whole = Some(answered);
            }
        }
        let answered = self.whole.get(place).and_then(Option::as_ref).and_then(Option::as_ref);
        fits_at(answered, row.index())
    }

    /// Whether a predicate takes a node as a snapshot shows it.
    fn fits(&mut self, place: usize, row: Row, snapshot: &Arc<Snapshot>) -> bool {
        let (batch, at) = match self.is_cluster_wide(place) {
            true => (Batch::All, row.index()),
            false => (Batch::Rows([row].into()), 0),
        };
        let context = Arc::new(self.context(snapshot, batch));
        fits_at(self.ask(place, &context).as_ref(), at)
    }

    fn context(&self, snapshot: &Arc<Snapshot>, batch: Batch) -> Context {
        let subject = &self.subject;
        let context = Context::new(Arc::clone(snapshot), Arc::clone(&subject.facts), subject.node_name.clone(), batch);
        context.named(&subject.pod, &subject.uid)
    }

    fn ask(&mut self, place: usize, context: &Arc<Context>) -> Answered {
        let predicate = self.predicates.get(place)?;
        let fault = match predicate.module.filter(Arc::clone(context) as _, context.rows()) {
            Ok(verdict) => return Some(verdict),
            Err(fault) => fault,
        };
        let (answered, effect) = match predicate.on_error {
            OnError::Ignore => (Some(Verdict::FitsAll), FaultEffect::Ignored),
            OnError::Reject => (None, FaultEffect::Rejected),
        };
        if self.faults.iter().all(|known| known.predicate != predicate.name) {
            self.faults.push(FaultReport { predicate: Arc::clone(&predicate.name), fault, effect });
        }
        answered
    }
}

/// Whether a predicate cannot be asked about a strip: it reads the cluster, or looks nodes up by name, of which a strip
/// has but one.
fn needs_the_cluster(predicate: &ActivePredicate) -> bool {
    predicate.module.is_cluster_wide() || predicate.module.imports().contains(&Interface::NodeIdentity)
}

fn fits_at(verdict: Option<&Verdict>, at: usize) -> bool {
    match verdict {
        Some(Verdict::FitsAll) => true,
        Some(Verdict::FitsNone(_)) | None => false,
        Some(Verdict::ByRow { codes, .. }) => codes.get(at) == Some(&0),
    }
}
