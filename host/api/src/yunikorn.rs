//! YuniKorn's calls, with its semantics and its texts. What is missing is no failed call: the core takes the text as the
//! reason why the pod does not fit, and adds equal texts up, so that no text names a node.

use nodesift_proto::v1::{
    Consistency, PreFilterPredicatesRequest, PreFilterPredicatesResponse, PredicatesRequest, PredicatesResponse,
    PreemptionPredicatesRequest, PreemptionPredicatesResponse,
};

use super::request::{at_most, invalid};
use super::service::Call;
use super::staleness::Staleness;
use super::{Error, response};
use crate::limits;
use nodesift_engine as engine;
use nodesift_engine::{
    self, Answer, Candidate, Depth, Engine, Nodes, Phase, PodAnswer, PodRef, Preemption, PreemptionOutcome, Query,
};

/// What YuniKorn's shim says of a pod that it does not know.
const NO_POD: &str = "predicates were not run because pod was not found in cache";
/// What YuniKorn's shim says of a node that it does not know.
const NO_NODE: &str = "predicates were not run because node was not found in cache";

/// `Predicates`: one pod on one node.
#[derive(Debug)]
pub(super) struct Predicates;

impl Call for Predicates {
    type Request = PredicatesRequest;
    type Response = PredicatesResponse;

    fn consistency(request: &PredicatesRequest) -> Option<&Consistency> {
        request.consistency.as_ref()
    }

    fn answer(engine: &Engine, staleness: &Staleness, request: PredicatesRequest) -> Result<PredicatesResponse, Error> {
        let (key, phase) = (request.allocation_key, phase(request.allocate));
        let answer = match ask(engine, &key, Nodes::Named(vec![request.node_id]), phase) {
            Ok(answer) => answer,
            Err(error) => {
                let mut text = missing(error)?;
                // Where both are missing the shim speaks of the pod.
                if text == NO_NODE && ask(engine, &key, Nodes::Named(Vec::new()), phase).is_err() {
                    text = NO_POD;
                }
                return Ok(PredicatesResponse { error: text.to_owned(), ..PredicatesResponse::default() });
            }
        };
        let pod = answer.pods.first();
        Ok(PredicatesResponse {
            fits: pod.is_some_and(|pod| !pod.feasible.is_empty()),
            error: pod.and_then(failed_plugin).unwrap_or_default(),
            version: Some(response::version(&answer.snapshot, answer.policy_generation, staleness.age())),
            faults: pod.map(|pod| response::faults(&pod.faults)).unwrap_or_default(),
        })
    }
}

/// `PreFilterPredicates`: one pod on all nodes.
#[derive(Debug)]
pub(super) struct PreFilterPredicates;

impl Call for PreFilterPredicates {
    type Request = PreFilterPredicatesRequest;
    type Response = PreFilterPredicatesResponse;

    fn consistency(request: &PreFilterPredicatesRequest) -> Option<&Consistency> {
        request.consistency.as_ref()
    }

    fn answer(
        engine: &Engine,
        staleness: &Staleness,
        request: PreFilterPredicatesRequest,
    ) -> Result<PreFilterPredicatesResponse, Error> {
        let answer = match ask(engine, &request.allocation_key, Nodes::All, phase(request.allocate)) {
            Ok(answer) => answer,
            Err(error) => {
                let error = missing(error)?.to_owned();
                return Ok(PreFilterPredicatesResponse { error, ..PreFilterPredicatesResponse::default() });
            }
        };
        let pod = answer.pods.first();
        let feasible_nodes = pod.map(|pod| response::feasible(&answer.snapshot, pod)).unwrap_or_default();
        Ok(PreFilterPredicatesResponse {
            success: !feasible_nodes.is_empty(),
            feasible_nodes,
            error: pod.and_then(|pod| pod.message.as_deref()).unwrap_or_default().to_owned(),
            version: Some(response::version(&answer.snapshot, answer.policy_generation, staleness.age())),
            faults: pod.map(|pod| response::faults(&pod.faults)).unwrap_or_default(),
        })
    }
}

/// `PreemptionPredicates`: one pod on one node, without the first of its pods.
#[derive(Debug)]
pub(super) struct PreemptionPredicates;

impl Call for PreemptionPredicates {
    type Request = PreemptionPredicatesRequest;
    type Response = PreemptionPredicatesResponse;

    fn consistency(request: &PreemptionPredicatesRequest) -> Option<&Consistency> {
        request.consistency.as_ref()
    }

    fn answer(
        engine: &Engine,
        staleness: &Staleness,
        request: PreemptionPredicatesRequest,
    ) -> Result<PreemptionPredicatesResponse, Error> {
        // The shim does not look: it would end there with a panic.
        let start = usize::try_from(request.start_index).map_err(|_| invalid("start_index", "is negative"))?;
        let victims = request.preempt_allocation_keys;
        at_most("victims", victims.len(), limits::REQUEST_VICTIMS)?;
        let candidates = vec![Candidate { node: request.node_id, victims, start }];
        let question = Preemption { pod: PodRef::Uid(request.allocation_key), candidates };
        let nowhere = PreemptionPredicatesResponse { index: -1, ..PreemptionPredicatesResponse::default() };
        let answer = match engine.preempt(&question) {
            Ok(answer) => answer,
            Err(error) => return Ok(PreemptionPredicatesResponse { error: missing(error)?.to_owned(), ..nowhere }),
        };
        let index = answer.outcomes.first().and_then(|PreemptionOutcome { index, .. }| *index);
        let index = index.and_then(|index| i32::try_from(index).ok());
        Ok(PreemptionPredicatesResponse {
            success: index.is_some(),
            index: index.unwrap_or(nowhere.index),
            version: Some(response::version(&answer.snapshot, answer.policy_generation, staleness.age())),
            faults: response::faults(&answer.faults),
            ..nowhere
        })
    }
}

/// What YuniKorn's shim says where something is missing; any other failure stays one.
fn missing(error: engine::Error) -> Result<&'static str, Error> {
    if matches!(error, engine::Error::UnknownPod { .. }) {
        return Ok(NO_POD);
    }
    if matches!(error, engine::Error::UnknownNode { .. }) { Ok(NO_NODE) } else { Err(error.into()) }
}

fn phase(allocate: bool) -> Phase {
    if allocate { Phase::Allocate } else { Phase::Reserve }
}

fn ask(engine: &Engine, key: &str, nodes: Nodes, phase: Phase) -> Result<Answer, engine::Error> {
    let pods = vec![PodRef::Uid(key.to_owned())];
    engine.answer(&Query { pods, nodes, phase, depth: Depth::FirstFailure })
}

/// The text of a pod that does not fit the one node it was judged against.
fn failed_plugin(pod: &PodAnswer) -> Option<String> {
    let failure = pod.failures.first()?;
    Some(format!("failed plugin: '{}'\n{}", failure.predicate, failure.reasons.join(", ")))
}
