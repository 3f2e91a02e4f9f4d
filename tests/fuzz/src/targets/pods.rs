//! Whole pods in queries: the engine's verdicts are those of the reference implementation, predicate by predicate and node by
//! node. An input is a pod.
//!
//! The pod is evaluated as an API server would hand it over: with the types of the Kubernetes API, and nothing else.

use std::hash::{Hash as _, Hasher as _};
use std::sync::LazyLock;

use k8s_openapi::api::core::v1::Pod as ApiPod;
use nodesift_engine::{Depth, Options, PodRef, Query};
use nodesift_fixtures::json;
use nodesift_fixtures::random::History;
use nodesift_fixtures::random::claims::DeviceCluster;
use nodesift_object::decode::decode;
use nodesift_object::pod::DEFAULT_NAMESPACE;
use nodesift_object::{Kind, Object};
use nodesift_reference::{Filter, explain, filters};

use nodesift_sandbox::limits::REASON_BYTES;
use serde_json::Value;

use super::world::{World, default_policy};
use crate::comparison::{self, Answered};
use crate::{Behaviour, mutate};

/// Clusters in which the pods are evaluated.
const CLUSTERS: u64 = 4;

/// Differences that are shown.
const SHOWN: usize = 3;

static WORLDS: LazyLock<Vec<World>> = LazyLock::new(|| (0..CLUSTERS).map(World::new).collect());

static FILTERS: LazyLock<Vec<Filter>> = LazyLock::new(|| {
    let policy = default_policy();
    let names: Vec<&str> = policy.predicates.iter().map(|predicate| predicate.name.as_str()).collect();
    filters::named(&names)
});

/// The pod of the document, in one of the clusters.
pub fn run(input: &[u8]) -> Behaviour {
    let Some(document) = mutate::document(input) else { return Behaviour::new("not a document") };
    let mut typed = match serde_json::from_value::<ApiPod>(document) {
        Ok(typed) => typed,
        Err(error) => return Behaviour::error(&error.to_string()),
    };
    // An API server hands over no pod without a namespace; what comes from elsewhere is in this one.
    if typed.metadata.namespace.as_ref().is_none_or(String::is_empty) {
        typed.metadata.namespace = Some(DEFAULT_NAMESPACE.to_owned());
    }
    let pod = serde_json::to_value(&typed).expect("a pod has a form in JSON");
    // What Go makes of a sum with a very negative amount depends on how it holds the amount, which the reference does not model. API
    // servers refuse negative amounts.
    if has_very_negative(&pod) {
        return Behaviour::new("a very negative amount");
    }
    let decoded = match decode(Kind::Pod, &pod.to_string()) {
        Ok(Object::Pod(decoded)) => decoded,
        Ok(other) => panic!("a pod is decoded as {other:?}"),
        Err(error) => return Behaviour::error(&error.to_string()),
    };
    let mut hasher = std::hash::DefaultHasher::new();
    input.hash(&mut hasher);
    let world = &WORLDS[usize::try_from(hasher.finish() % CLUSTERS).unwrap_or(0)];

    let explanation = explain(&world.cluster, &pod, &FILTERS);
    let failures = || explanation.alone.iter().flat_map(|(_, outcome)| outcome.failures.values());
    // The host cuts long reasons, and escapes control characters.
    let is_changed = |reason: &String| reason.len() > REASON_BYTES || reason.chars().any(char::is_control);
    if failures().flat_map(|failure| &failure.reasons).any(is_changed) {
        return Behaviour::new("a reason that the host changes");
    }
    let names: Vec<String> = world.cluster.nodes().map(|node| json::name(node).to_owned()).collect();
    let mut seen = Vec::new();
    for depth in [Depth::Each, Depth::FirstFailure] {
        let answer =
            world.engine.answer(&Query::new([PodRef::Whole(decoded.clone())]).with_depth(depth), Options::default());
        let answered = Answered::new(&answer.expect("an answer"));
        let differences = comparison::differences(&answered, &explanation, &names, depth);
        let shown: String = differences.iter().take(SHOWN).map(|difference| format!("\n  {difference}")).collect();
        assert!(differences.is_empty(), "the engine differs from the reference:{shown}\n  pod {pod}");
        seen.push(explanation.together.feasible.len());
    }
    let reasons = explanation.alone.iter().map(|(name, outcome)| {
        let reasons: Vec<String> =
            outcome.failures.values().flat_map(|failure| &failure.reasons).map(|reason| crate::shape(reason)).collect();
        (*name, reasons.first().cloned(), outcome.failures.len())
    });
    Behaviour::new((seen, reasons.collect::<Vec<_>>()))
}

/// Whether a text could be an amount below -10^9: in units of 10^-9 that is beyond 64 bits.
fn has_very_negative(value: &Value) -> bool {
    match value {
        Value::String(text) => text.strip_prefix('-').is_some_and(|rest| {
            rest.bytes().filter(u8::is_ascii_digit).count() > 9
                || rest.contains(|letter: char| letter.is_ascii_alphabetic())
        }),
        Value::Array(items) => items.iter().any(has_very_negative),
        Value::Object(fields) => fields.values().any(has_very_negative),
        _ => false,
    }
}

/// A random pod, or one that asks for devices of a cluster.
pub fn generate(random: &mut fastrand::Rng) -> Vec<u8> {
    let pod = match random.bool() {
        true => History::new(random.u64(..)).asked_pod(),
        false => {
            let mut pods = DeviceCluster::new(random.u64(..CLUSTERS)).pods;
            pods.swap_remove(random.usize(..pods.len()))
        }
    };
    pod.to_string().into_bytes()
}
