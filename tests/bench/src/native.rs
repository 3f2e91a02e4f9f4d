//! The built-in predicates compiled natively, by name, and whole answers from them: the baseline for the sandbox.

use std::rc::Rc;
use std::sync::Arc;

use anyhow::Context as _;
use nodesift_engine::{ActivePredicate, Context, Engine, Mode, PodAnswer, Query};
use nodesift_sandbox as sandbox;
use nodesift_sdk::native;

use crate::Bridge;

/// Evaluates a batch with this number of rows, with the facts of the running [`native::with_facts`].
pub type Filter = fn(usize) -> nodesift_sdk::Verdict;

/// Makes a predicate of this type without arguments, once per thread.
macro_rules! filter {
    ($predicate:path) => {
        |rows: usize| {
            use nodesift_sdk::Predicate as _;
            thread_local! {
                static PREDICATE: $predicate = nodesift_sdk::configure("{}").expect("no arguments are needed");
            }
            PREDICATE.with(|predicate| predicate.filter(rows))
        }
    };
}

/// The built-in predicate of this name, if any.
#[allow(clippy::expect_used, reason = "every built-in predicate runs without arguments")]
pub fn filter(name: &str) -> Option<Filter> {
    let filter: Filter = match name {
        "DynamicResources" => filter!(nodesift_predicate_dynamic_resources::DynamicResources),
        "InterPodAffinity" => filter!(nodesift_predicate_inter_pod_affinity::InterPodAffinity),
        "NodeAffinity" => filter!(nodesift_predicate_node_affinity::NodeAffinity),
        "NodeDeclaredFeatures" => filter!(nodesift_predicate_node_declared_features::NodeDeclaredFeatures),
        "NodeName" => filter!(nodesift_predicate_node_name::NodeName),
        "NodePorts" => filter!(nodesift_predicate_node_ports::NodePorts),
        "NodeResourcesFit" => filter!(nodesift_predicate_node_resources_fit::NodeResourcesFit),
        "NodeUnschedulable" => filter!(nodesift_predicate_node_unschedulable::NodeUnschedulable),
        "NodeVolumeLimits" => filter!(nodesift_predicate_node_volume_limits::NodeVolumeLimits),
        "PodTopologySpread" => filter!(nodesift_predicate_pod_topology_spread::PodTopologySpread),
        "TaintToleration" => filter!(nodesift_predicate_taint_toleration::TaintToleration),
        "VolumeBinding" => filter!(nodesift_predicate_volume_binding::VolumeBinding),
        "VolumeRestrictions" => filter!(nodesift_predicate_volume_restrictions::VolumeRestrictions),
        "VolumeZone" => filter!(nodesift_predicate_volume_zone::VolumeZone),
        _ => return None,
    };
    Some(filter)
}

/// The answer about each pod of a query over all nodes of the newest snapshot, by native predicates in place of those of the active
/// policy. Facts and conjunction are the engine's.
///
/// # Errors
///
/// If a pod is not in the cache, or a predicate of the policy is not built in.
pub fn answer(engine: &Engine, query: &Query) -> anyhow::Result<Vec<PodAnswer>> {
    let (snapshot, policy) = (engine.snapshot(), engine.policy());
    let decides =
        |predicate: &&ActivePredicate| predicate.mode == Mode::Enforce && predicate.phases.contains(query.phase);
    let predicates: Vec<&ActivePredicate> = policy.predicates.iter().filter(decides).collect();
    let answer = |pod| {
        let context = Arc::new(engine.context(&snapshot, pod)?);
        let verdict =
            |predicate: &&ActivePredicate| Ok((Arc::clone(&predicate.name), verdict(&predicate.name, &context)?));
        let verdicts: Vec<_> = predicates.iter().map(verdict).collect::<anyhow::Result<_>>()?;
        Ok(PodAnswer::from_verdicts(&context, verdicts))
    };
    query.pods.iter().map(answer).collect()
}

/// The verdict of the native predicate of this name over the rows of a context.
fn verdict(name: &str, context: &Arc<Context>) -> anyhow::Result<sandbox::Verdict> {
    let filter = filter(name).with_context(|| format!("{name} is not built in"))?;
    let rows = context.rows() as usize;
    let verdict = native::with_facts(Rc::new(Bridge(Arc::clone(context))), || filter(rows));
    Ok(as_checked(verdict))
}

/// Converts the verdict to the host's checked form.
fn as_checked(verdict: nodesift_sdk::Verdict) -> sandbox::Verdict {
    let by_row = |outcome: nodesift_sdk::Outcome, named: Option<Vec<u32>>| {
        let failures = outcome.failures.into_iter().map(failure).collect();
        let codes = sandbox::Codes::from(outcome.codes);
        sandbox::Verdict::ByRow(sandbox::RowVerdict::new(codes, failures, named.map(Into::into)))
    };
    match verdict {
        nodesift_sdk::Verdict::FitsAll => sandbox::Verdict::FitsAll,
        nodesift_sdk::Verdict::FitsNone(rejected) => sandbox::Verdict::FitsNone(failure(rejected)),
        nodesift_sdk::Verdict::ByRow(outcome) => by_row(outcome, None),
        nodesift_sdk::Verdict::Named((outcome, mut rows)) => {
            rows.sort_unstable();
            rows.dedup();
            by_row(outcome, Some(rows))
        }
    }
}

fn failure(failure: nodesift_sdk::Failure) -> sandbox::Failure {
    let code = match failure.status {
        nodesift_sdk::Status::Unschedulable => sandbox::Code::Unschedulable,
        nodesift_sdk::Status::UnschedulableAndUnresolvable => sandbox::Code::UnschedulableAndUnresolvable,
        nodesift_sdk::Status::Error => sandbox::Code::Error,
    };
    let mut reasons = failure.reasons;
    reasons.sort_unstable();
    sandbox::Failure { code, reasons: reasons.into() }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use nodesift::cluster;
    use nodesift_cache as cache;
    use nodesift_dev::measure::{Testbed, pods};
    use nodesift_engine::{Options, Reuse};
    use nodesift_fixtures::synthetic::Shape;

    use super::*;

    #[test]
    fn whole_answers_are_the_same_natively() {
        let (writer, reader) = cache::new();
        let engine = cluster::engine(reader, &cluster::PolicyArgs::default()).unwrap().with_reuse(Reuse::Off);
        let shape = Shape { nodes: 700, pods_per_node: 10, seed: 3 };
        let testbed =
            Testbed::synthetic(writer, &engine.policy().scheduler_names, &engine.policy().selection(), shape, || ())
                .unwrap();
        for template in testbed.templates() {
            let question = pods::question(template);
            let says = |pod: &PodAnswer| (Arc::clone(&pod.feasible), Arc::clone(&pod.failures), pod.faults.len());
            let sandboxed = engine.answer(&question, Options::default()).unwrap();
            let natively = answer(&engine, &question).unwrap();
            let [sandboxed, natively] = [sandboxed.pods, natively].map(|pods| says(pods.first().unwrap()));
            assert_eq!(sandboxed, natively, "pod {}", template.name());
            assert!(!sandboxed.0.is_empty() && !sandboxed.1.is_empty() && sandboxed.2 == 0, "{sandboxed:?}");
        }
    }
}
