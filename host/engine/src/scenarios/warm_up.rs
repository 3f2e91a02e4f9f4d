//! The active policy evaluated before anybody asks: pages of code are touched, instances called, columns and counts of the snapshot built.
//! Without it the first questions of a process would pay for that, and their cores may take them for an outage.
//!
//! Nobody is blamed for a fault, nothing is counted, and no verdict is kept. Start at [`Engine::warm_up`].

use std::sync::Arc;
use std::time::Instant;

use nodesift_object::Pod;
use nodesift_sandbox::Lifetime;
use nodesift_sandbox::fault::FaultKind;
use serde_json::json;

use crate::limits::{WARM_UP_PODS, WARM_UP_TIME};
use crate::policy::{ActivePolicy, ActivePredicate, Mode, Phases};
use crate::{Engine, Error, Options, PodRef, Query, ScoreRequest};

/// Extent of a first evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WarmUp {
    /// Pods that were evaluated, the ordinary one included.
    pub pods: usize,
    /// Whether [`WARM_UP_TIME`] ended it.
    pub is_cut: bool,
}

impl Engine {
    /// Evaluates an ordinary pod and a sample of those in the cache over all nodes of the newest snapshot, by the active policy, for
    /// [`WARM_UP_TIME`] at most. Requests are answered meanwhile, and the policy may be replaced.
    pub fn warm_up(&self) -> WarmUp {
        let until = Instant::now() + WARM_UP_TIME;
        let (snapshot, active) = (self.snapshot(), self.policy());
        let alternative = self.alternative(beside(&active));
        let mut scores = Some(ScoreRequest { top: 1, ..ScoreRequest::default() });
        let ask = |pod: PodRef, skip: &[String], scores: Option<ScoreRequest>| {
            let query = Query::new([pod]).with_deadline(until).with_skip(skip.to_vec()).with_scores(scores);
            self.answer(&query, Options::on(&snapshot).with_alternative(&alternative))
        };
        let (mut warm_up, mut faulty) = (WarmUp::default(), Vec::<String>::new());
        if let Some(pod) = ordinary() {
            let is_custom = |known: &&ActivePredicate| known.module.grants().lifetime != Lifetime::Reused;
            let custom = active.predicates.iter().filter(is_custom).map(|known| known.name.to_string());
            let custom: Vec<String> = custom.collect();
            // Built-ins first: where another predicate never ends, they are warm all the same.
            for skip in [custom, Vec::new()] {
                match ask(PodRef::Whole(Box::new(pod.clone())), &skip, scores) {
                    Ok(answer) => {
                        let faults = answer.pods.iter().flat_map(|pod| &pod.faults);
                        let faults = faults.filter(|report| report.fault.kind.is_of_predicate());
                        faulty.extend(faults.map(|report| report.predicate.to_string()));
                        let scored = answer.pods.iter().filter_map(|pod| pod.scores.as_ref());
                        let takes_all = |kind: FaultKind| kind.is_of_predicate() || kind == FaultKind::RequestDeadline;
                        if scored.flat_map(|scores| &scores.faults).any(|report| takes_all(report.fault.kind)) {
                            // Scorers cannot be left out one by one.
                            scores = None;
                        }
                    }
                    Err(Error::DeadlineExceeded) => return WarmUp { is_cut: true, ..warm_up },
                    // A defect, or a pod that cannot be evaluated: the first question will say so.
                    Err(_) => {}
                }
            }
            warm_up.pods += 1;
        }
        let [pending, bound] = self.templates();
        for pod in pending.into_iter().chain(bound).take(WARM_UP_PODS) {
            // One that fails for an ordinary pod would most likely take the time of all others.
            match ask(PodRef::Known(pod), &faulty, scores) {
                Err(Error::DeadlineExceeded) => return WarmUp { is_cut: true, ..warm_up },
                Ok(_) | Err(_) => warm_up.pods += 1,
            }
        }
        warm_up
    }
}

/// Copy of the active policy with every predicate enforced in every phase. Pods take the requests of their specs, and no namespace
/// has debts: the accounting component and the throttle count whom they are asked about.
fn beside(active: &ActivePolicy) -> ActivePolicy {
    let mut policy = ActivePolicy { accounting: None, throttle: Arc::default(), ..active.clone() };
    for predicate in &mut policy.predicates {
        (predicate.mode, predicate.phases) = (Mode::Enforce, Phases::ALL);
    }
    policy
}

/// A pod as most are.
fn ordinary() -> Option<Pod> {
    let requests = json!({"cpu": "100m", "memory": "128Mi"});
    let container = json!({"name": "main", "resources": {"requests": requests}});
    let metadata = json!({"name": "ordinary", "namespace": "default"});
    serde_json::from_value(json!({"metadata": metadata, "spec": {"containers": [container]}})).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use nodesift_cache::metadata::{self, PodRecord};
    use nodesift_sandbox::Runtime;

    use super::*;

    #[test]
    fn the_ordinary_pod_is_one_and_asks_for_processors_and_memory() {
        let pod = ordinary().unwrap();
        let requests = &pod.spec.containers[0].resources.requests;
        assert_eq!(requests.len(), 2, "{requests:?}");
    }

    #[test]
    fn an_ordinary_pod_is_evaluated_and_so_many_of_the_cluster_the_pending_ones_first() {
        let (mut writer, reader) = nodesift_cache::new();
        let own = ["default-scheduler".to_owned()];
        let engine = Engine::new(reader, ActivePolicy::new(own.to_vec(), Vec::new()), Runtime::start(None).unwrap());
        // An empty cluster: the ordinary pod alone.
        assert_eq!(engine.warm_up(), WarmUp { pods: 1, is_cut: false });
        let mut apply = |number: usize, node: &str| {
            let name = format!("p{number}");
            let labels = json!({"number": name});
            let metadata = json!({"name": name, "namespace": "ns", "uid": name, "labels": labels});
            let pod = serde_json::from_value(json!({"metadata": metadata, "spec": {"nodeName": node}})).unwrap();
            writer.apply(metadata::pod_record(&pod, &own));
        };
        apply(0, "n0");
        apply(1, "");
        let names = |pods: &[Arc<PodRecord>]| pods.iter().map(|pod| pod.name.to_string()).collect::<Vec<_>>();
        let [pending, bound] = engine.templates();
        assert_eq!((names(&pending), names(&bound)), (vec!["p1".to_owned()], vec!["p0".to_owned()]));
        assert_eq!(engine.warm_up(), WarmUp { pods: 3, is_cut: false });
        (2..2 + 2 * WARM_UP_PODS).for_each(|number| apply(number, ""));
        assert_eq!(engine.warm_up(), WarmUp { pods: 1 + WARM_UP_PODS, is_cut: false });
    }
}
