//! The trial of a policy: its new predicates and scorers are called about a sample of the cluster before it becomes active. A module that
//! passes all other checks may still fault on the facts of this cluster.
//!
//! A predicate or scorer is judged by most of its pods, of most of their namespaces: one tenant's pod that takes too much time of any
//! predicate must not keep a policy from becoming active. The others are remarks. Verdicts and scores are dropped; that scores are in their
//! range is judged in `scored`. Start at [`Engine::try_policy`].

mod scored;

use std::sync::Arc;
use std::time::Instant;

use nodesift_cache::metadata::{PodFacts, PodRecord};
use nodesift_cache::{Row, Snapshot};
use nodesift_sandbox::fault::{Fault, FaultKind};
use nodesift_sandbox::{Facts, printable};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::Engine;
use crate::breaker::Blame;
use crate::facts::{Batch, Context};
use crate::limits::{
    QUARANTINE_NAMESPACES, SET_ASIDE_NAME_BYTES, TRIAL_BOUND_PODS, TRIAL_NODES, TRIAL_PENDING_PODS, TRIAL_REMARKS,
    TRIAL_TIME, TRIAL_TRIES,
};
use crate::policy::{ActivePolicy, ActivePredicate};
use crate::subject::Subject;
use scored::Judge;

/// Extent and remarks of a trial.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trial {
    /// Pods of the sample.
    pub pods: usize,
    /// Nodes of the sample.
    pub nodes: usize,
    /// Calls that ended with a verdict or with scores.
    pub calls: usize,
    /// Whether [`TRIAL_TIME`] ended it before the end of the sample.
    pub is_cut: bool,
    /// Calls that failed, of predicates and scorers that answer for most others: the first [`TRIAL_REMARKS`].
    pub remarks: Vec<TrialFault>,
}

/// A call of the trial that ended in a fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} {predicate}: pod {pod}: {fault}", self.role())]
pub struct TrialFault {
    /// Name of the predicate or scorer.
    pub predicate: Arc<str>,
    /// Whether it is a scorer.
    pub is_of_scorer: bool,
    /// `namespace/name`, in one line: in files it may be anything.
    pub pod: String,
    /// The fault of the call.
    pub fault: Fault,
}

impl TrialFault {
    /// Name of the failed role in messages: `predicate` or `scorer`. One of each can have the same name.
    pub fn role(&self) -> &'static str {
        if self.is_of_scorer { "scorer" } else { "predicate" }
    }
}

impl Engine {
    /// Calls every predicate and scorer of a policy that the active one does not have, about nodes and pods of the newest snapshot: pending
    /// pods and bound ones, no two of which read alike.
    ///
    /// # Errors
    ///
    /// The first fault of a predicate or scorer that fails for most pods of most namespaces.
    pub fn try_policy(&self, policy: &ActivePolicy) -> Result<Trial, TrialFault> {
        let active = self.policy();
        let is_in = |known: &[&ActivePredicate], component: &ActivePredicate| {
            known.iter().any(|known| Arc::ptr_eq(&known.module, &component.module))
        };
        let predicates: Vec<&ActivePredicate> = active.predicates.iter().collect();
        let scorers: Vec<&ActivePredicate> = active.scorers.iter().map(|scorer| &scorer.component).collect();
        let tried = Tried::all(policy).filter(|tried| match tried {
            Tried::Predicate(component) => !is_in(&predicates, component),
            Tried::Scorer(component) => !is_in(&scorers, component),
        });
        self.try_components(&tried.collect::<Vec<_>>(), policy)
    }

    /// Calls every predicate and scorer of the active policy, about nodes and pods of the newest snapshot like [`Self::try_policy`].
    ///
    /// # Errors
    ///
    /// As [`Self::try_policy`].
    pub fn try_active_policy(&self) -> Result<Trial, TrialFault> {
        let policy = self.policy();
        self.try_components(&Tried::all(&policy).collect::<Vec<_>>(), &policy)
    }

    fn try_components(&self, components: &[Tried<'_>], policy: &ActivePolicy) -> Result<Trial, TrialFault> {
        let snapshot = self.snapshot();
        let rows = rows(&snapshot);
        let mut trial = Trial { nodes: rows.len(), ..Trial::default() };
        if components.is_empty() || rows.is_empty() {
            return Ok(trial);
        }
        let beside = beside(policy);
        let until = Instant::now() + TRIAL_TIME;
        let mut records: Vec<TrialRecord> = components.iter().map(|_| TrialRecord::default()).collect();
        let sample = self.sampled_pods();
        'pods: for pod in &sample {
            let subject = Subject::from_record(pod, &beside, self.clock.now());
            let context =
                Arc::new(subject.context(&snapshot, Batch::Rows(Arc::clone(&rows))).with_deadline(Some(until)));
            trial.pods += 1;
            let mut judge = Judge::new(&beside, &context, &rows);
            for (tried, record) in components.iter().zip(&mut records) {
                match tried.call(&context, &mut judge) {
                    Ok(()) => {
                        trial.calls += 1;
                        record.count(&pod.namespace, false);
                    }
                    Err(fault) if fault.kind == FaultKind::RequestDeadline => {
                        trial.is_cut = true;
                        break 'pods;
                    }
                    // It was not called: that says nothing about it.
                    Err(fault) if matches!(fault.kind, FaultKind::Overloaded | FaultKind::ClockStopped) => {}
                    Err(fault) => {
                        // The pod's own fault is none of the predicate's, however many such pods there are.
                        let component = tried.component();
                        if component.blame(Some(&fault), &context) == Blame::Predicate {
                            record.count(&pod.namespace, true);
                        }
                        let is_of_scorer = matches!(tried, Tried::Scorer(_));
                        let predicate = Arc::clone(&component.name);
                        let pod = printable(&subject.name, SET_ASIDE_NAME_BYTES);
                        record.faults.push(TrialFault { predicate, is_of_scorer, pod, fault });
                    }
                }
            }
        }
        // One namespace says nothing of others that the trial has not come to.
        let (reached, others) = sample.split_at(trial.pods.min(sample.len()));
        let reached: FxHashSet<&Arc<str>> = reached.iter().map(|pod| &pod.namespace).collect();
        let others: FxHashSet<&Arc<str>> = others.iter().map(|pod| &pod.namespace).collect();
        let unreached = others.difference(&reached).count();
        for record in records {
            let fails = record.fails(QUARANTINE_NAMESPACES.min(record.namespaces.len() + unreached));
            for fault in record.faults {
                if fails {
                    return Err(fault);
                }
                if trial.remarks.len() < TRIAL_REMARKS {
                    trial.remarks.push(fault);
                }
            }
        }
        Ok(trial)
    }

    /// Pods of different templates: up to [`TRIAL_PENDING_PODS`] pending ones, and [`TRIAL_BOUND_PODS`] others, namespaces in turn.
    fn sampled_pods(&self) -> Vec<Arc<PodRecord>> {
        let [pending, bound] = self.templates();
        let pods = pending.into_iter().take(TRIAL_PENDING_PODS).chain(bound.into_iter().take(TRIAL_BOUND_PODS));
        // Once more, so that bound pods of other namespaces do not come after all pending ones.
        in_turn(pods.collect())
    }

    /// One pod of each template: the pending ones, and templates of bound pods that none of these has. Namespaces are in turn.
    pub(crate) fn templates(&self) -> [Vec<Arc<PodRecord>>; 2] {
        // Equal facts are one object.
        let mut seen: FxHashSet<*const PodFacts> = FxHashSet::default();
        let mut distinct = |mut pods: Vec<Arc<PodRecord>>| {
            pods.retain(|pod| seen.insert(Arc::as_ptr(&pod.facts)));
            pods
        };
        let pending = distinct(self.pending_pods());
        let mut bound = self.cache.pods().all();
        bound.retain(|pod| pod.node_name.is_some());
        bound.sort_unstable_by(|a, b| a.uid.cmp(&b.uid));
        [in_turn(pending), in_turn(distinct(bound))]
    }
}

/// The first pod of each namespace, then the second of each, and so on: whoever creates many pods takes no more of the sample, or of the
/// time for it, than the others.
fn in_turn(pods: Vec<Arc<PodRecord>>) -> Vec<Arc<PodRecord>> {
    let mut seen: FxHashMap<Arc<str>, usize> = FxHashMap::default();
    let turn = |pod: Arc<PodRecord>| {
        let turn = seen.entry(Arc::clone(&pod.namespace)).or_default();
        *turn += 1;
        (*turn, pod)
    };
    let mut turns: Vec<_> = pods.into_iter().map(turn).collect();
    turns.sort_by_key(|(turn, _)| *turn);
    turns.into_iter().map(|(_, pod)| pod).collect()
}

/// Results of a trial's calls of one predicate.
#[derive(Debug, Default)]
struct TrialRecord {
    /// By namespace, calls about its pods that succeeded and that failed.
    namespaces: FxHashMap<Arc<str>, (usize, usize)>,
    faults: Vec<TrialFault>,
}

impl TrialRecord {
    fn count(&mut self, namespace: &Arc<str>, is_fault: bool) {
        let (good, bad) = self.namespaces.entry(Arc::clone(namespace)).or_default();
        *if is_fault { bad } else { good } += 1;
    }

    /// Whether it fails for most pods in most namespaces, and in so many at least.
    fn fails(&self, least: usize) -> bool {
        let failing = self.namespaces.values().filter(|(good, bad)| bad > good).count();
        failing * 2 > self.namespaces.len() && failing >= least
    }
}

/// Rows at equal distances, at most [`TRIAL_NODES`], by the names of their nodes.
fn rows(snapshot: &Snapshot) -> Arc<[Row]> {
    let by_name = snapshot.rows_by_name();
    let step = by_name.len().div_ceil(TRIAL_NODES).max(1);
    by_name.iter().step_by(step).copied().collect()
}

/// A component of a policy, and what it is called for.
#[derive(Clone, Copy)]
enum Tried<'a> {
    Predicate(&'a ActivePredicate),
    Scorer(&'a ActivePredicate),
}

impl<'a> Tried<'a> {
    /// Iterates over the predicates of a policy, then its scorers.
    fn all(policy: &'a ActivePolicy) -> impl Iterator<Item = Self> {
        let scorers = policy.scorers.iter().map(|scorer| Self::Scorer(&scorer.component));
        policy.predicates.iter().map(Self::Predicate).chain(scorers)
    }

    fn component(self) -> &'a ActivePredicate {
        match self {
            Self::Predicate(component) | Self::Scorer(component) => component,
        }
    }

    /// Calls it about a pod of the sample.
    fn call(self, context: &Arc<Context>, judge: &mut Judge<'_>) -> Result<(), Fault> {
        let predicate = match self {
            Self::Predicate(predicate) => predicate,
            Self::Scorer(scorer) => return judge.try_scorer(scorer),
        };
        let whole = predicate.module.is_cluster_wide().then(|| Arc::new(context.over(Batch::All)));
        let context = whole.as_ref().unwrap_or(context);
        tried(predicate, context, |facts, rows, until| predicate.module.filter(facts, rows, until).map(drop))
    }
}

/// Makes one call about a context, repeated where it ran out of time: a machine that is busy can take the processor from a thread.
fn tried<T>(
    component: &ActivePredicate,
    context: &Arc<Context>,
    call: impl Fn(Arc<dyn Facts>, u32, Option<Instant>) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let mut tries = 0;
    loop {
        tries += 1;
        let outcome = call(Arc::clone(context) as Arc<dyn Facts>, context.rows(), context.deadline());
        // Not logged here: they are among the warnings of the policy, if it becomes active.
        drop(component.count_unnamed(context));
        match outcome {
            Err(fault) if fault.kind == FaultKind::Deadline && tries < TRIAL_TRIES => {}
            outcome => return outcome,
        }
    }
}

/// A copy of the policy whose calls change no count and no breaker, to ask which nodes a pod fits.
fn beside(policy: &ActivePolicy) -> ActivePolicy {
    let mut policy = ActivePolicy { throttle: Arc::default(), ..policy.clone() };
    policy.components_mut().for_each(|component| component.is_beside = true);
    policy
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use nodesift_cache::metadata::pod_record;

    use super::*;

    /// Good and bad calls about pods of namespaces.
    fn record(namespaces: &[(usize, usize)]) -> TrialRecord {
        let named = namespaces.iter().enumerate().map(|(at, calls)| (at.to_string().into(), *calls));
        TrialRecord { namespaces: named.collect(), faults: Vec::new() }
    }

    #[test]
    fn a_predicate_fails_by_most_pods_of_most_namespaces() {
        for (namespaces, least, expected) in [
            (&[(0, 1)][..], 1, true),
            // Others have not been tried, or may have been.
            (&[(0, 200)], 2, false),
            (&[(0, 3), (0, 1)], 2, true),
            (&[(0, 200), (1, 0)], 1, false),
            (&[(0, 200), (1, 0), (0, 1)], 1, true),
            (&[(2, 2), (0, 0)], 1, false),
            (&[], 1, false),
        ] {
            assert_eq!(record(namespaces).fails(least), expected, "{namespaces:?}, {least} at least");
        }
    }

    #[test]
    fn namespaces_are_sampled_in_turn() {
        let seed = nodesift_seed::seed();
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..100 {
            let pods: Vec<Arc<PodRecord>> = (0..random.usize(0..60))
                .map(|number| {
                    let namespace = format!("n{}", random.u32(0..4) * random.u32(0..2));
                    let pod = serde_json::json!({"metadata": {"name": number.to_string(), "namespace": namespace, "uid": number.to_string()}});
                    Arc::new(pod_record(&serde_json::from_value(pod).unwrap(), &[]))
                })
                .collect();
            let sample = in_turn(pods.clone());
            assert_eq!(sample.len(), pods.len());
            for most in 0..sample.len() {
                let head = &sample[..most];
                let of = |namespace: &Arc<str>| head.iter().filter(|pod| pod.namespace == *namespace).count();
                // Whoever has less than others has no more.
                let whole = |namespace: &Arc<str>| pods.iter().filter(|pod| pod.namespace == *namespace).count();
                let largest = head.iter().map(|pod| of(&pod.namespace)).max().unwrap_or(0);
                for pod in &pods {
                    let has = of(&pod.namespace);
                    assert!(has + 1 >= largest || has == whole(&pod.namespace), "{has} and {largest} of {most}");
                }
            }
            // The order of each namespace stays.
            for pod in &pods {
                let names = |pods: &[Arc<PodRecord>]| -> Vec<Arc<str>> {
                    let own = pods.iter().filter(|other| other.namespace == pod.namespace);
                    own.map(|pod| Arc::clone(&pod.name)).collect()
                };
                assert_eq!(names(&pods), names(&sample));
            }
        }
    }
}
