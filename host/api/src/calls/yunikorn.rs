//! YuniKorn's predicate calls, with the semantics and error texts of its shim.
//!
//! A pod or node that is not in the cache is no error of the call: the core takes the text as the reason why the pod does not
//! fit. It counts equal texts, so no text names a node. Start at [`Predicates`].

use nodesift_proto::v1::{
    Consistency, PreFilterPredicatesRequest, PreFilterPredicatesResponse, PredicatesRequest, PredicatesResponse,
    PreemptionPredicatesRequest, PreemptionPredicatesResponse,
};

use super::driver::Call;
use super::response;
use crate::admission::deadline::Deadline;
use crate::admission::staleness::Staleness;
use crate::error::at_most;
use crate::{Age, Error, limits};
use nodesift_engine::pending::Asker;
use nodesift_engine::{
    self as engine, Answer, Candidate, Engine, Nodes, Options, Phase, PodAnswer, PodRef, Preemption, PreemptionOutcome,
    Query,
};

/// The error text of YuniKorn's shim for a pod that it does not know.
const NO_POD: &str = "predicates were not run because pod was not found in cache";
/// The error text of YuniKorn's shim for a node that it does not know.
const NO_NODE: &str = "predicates were not run because node was not found in cache";

/// A request of a core, and who asks.
pub(crate) struct Asked<R> {
    request: R,
    asker: Option<Asker>,
}

impl<R> Asked<R> {
    fn new(request: R) -> Self {
        Self { request, asker: None }
    }
}

/// `Predicates`: one pod on one node.
pub(crate) enum Predicates {}

impl Call for Predicates {
    const IS_OF_CORE: bool = true;

    type Request = PredicatesRequest;
    type Parsed = Asked<PredicatesRequest>;
    type Response = PredicatesResponse;

    fn consistency(request: &PredicatesRequest) -> Option<&Consistency> {
        request.consistency.as_ref()
    }

    fn is_small(_: &PredicatesRequest) -> bool {
        true
    }

    fn asked_by(asked: &mut Asked<PredicatesRequest>, asker: Asker) {
        asked.asker = Some(asker);
    }

    fn parse(request: PredicatesRequest) -> Result<Asked<PredicatesRequest>, Error> {
        Ok(Asked::new(request))
    }

    fn answer(
        engine: &Engine,
        staleness: &Staleness,
        deadline: Deadline,
        Asked { request, asker }: &mut Asked<PredicatesRequest>,
    ) -> Result<PredicatesResponse, Error> {
        let (key, phase) = (&request.allocation_key, phase(request.allocate));
        let answer = match evaluate(engine, key, Nodes::Named(vec![request.node_id.clone()]), phase, (deadline, *asker))
        {
            Ok(answer) => answer,
            Err(error) => {
                let mut text = missing(error)?;
                // Where both are missing the shim names the pod.
                let of_the_pod = || evaluate(engine, key, Nodes::Named(Vec::new()), phase, (deadline, None));
                if text == NO_NODE && matches!(of_the_pod(), Err(engine::Error::UnknownPod { .. })) {
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
pub(crate) enum PreFilterPredicates {}

/// The nodes that one pod fits.
pub(crate) enum PreFiltered {
    /// The answer for the pod.
    Evaluated(Answer, Age),
    /// The text for a pod that was not evaluated.
    Missing(&'static str),
}

impl PreFiltered {
    /// The message, with a string for each name of a node.
    #[cfg(test)]
    pub(crate) fn message(&self) -> PreFilterPredicatesResponse {
        let feasible_nodes = match self {
            Self::Evaluated(answer, _) => self.pod().map(|pod| response::feasible(&answer.snapshot, pod)),
            Self::Missing(_) => None,
        };
        PreFilterPredicatesResponse { feasible_nodes: feasible_nodes.unwrap_or_default(), ..self.without_nodes() }
    }

    /// The answer for the pod, where it was evaluated.
    pub(crate) fn pod(&self) -> Option<&PodAnswer> {
        match self {
            Self::Evaluated(answer, _) => answer.pods.first(),
            Self::Missing(_) => None,
        }
    }

    /// The message without names of nodes.
    pub(crate) fn without_nodes(&self) -> PreFilterPredicatesResponse {
        let (answer, age) = match self {
            Self::Evaluated(answer, age) => (answer, age),
            Self::Missing(error) => {
                return PreFilterPredicatesResponse { error: (*error).to_owned(), ..Default::default() };
            }
        };
        let pod = answer.pods.first();
        PreFilterPredicatesResponse {
            success: pod.is_some_and(|pod| !pod.feasible.is_empty()),
            feasible_nodes: Vec::new(),
            error: pod.and_then(|pod| pod.message.as_deref()).unwrap_or_default().to_owned(),
            version: Some(response::version(&answer.snapshot, answer.policy_generation, *age)),
            faults: pod.map(|pod| response::faults(&pod.faults)).unwrap_or_default(),
        }
    }
}

impl Call for PreFilterPredicates {
    const IS_OF_CORE: bool = true;

    type Request = PreFilterPredicatesRequest;
    type Parsed = Asked<PreFilterPredicatesRequest>;
    type Response = PreFiltered;

    fn consistency(request: &PreFilterPredicatesRequest) -> Option<&Consistency> {
        request.consistency.as_ref()
    }

    fn is_small(_: &PreFilterPredicatesRequest) -> bool {
        true
    }

    fn asked_by(asked: &mut Asked<PreFilterPredicatesRequest>, asker: Asker) {
        asked.asker = Some(asker);
    }

    fn parse(request: PreFilterPredicatesRequest) -> Result<Asked<PreFilterPredicatesRequest>, Error> {
        Ok(Asked::new(request))
    }

    fn answer_cached(
        engine: &Engine,
        staleness: &Staleness,
        Asked { request, asker }: &mut Asked<PreFilterPredicatesRequest>,
    ) -> Option<PreFiltered> {
        let snapshot = engine.snapshot();
        if snapshot.node_count() > limits::CACHED_NAMES {
            return None;
        }
        let query = query(&request.allocation_key, Nodes::All, phase(request.allocate), None).with_asker(*asker);
        Some(PreFiltered::Evaluated(engine.answer_cached(&query, &snapshot)?, staleness.age()))
    }

    fn answer(
        engine: &Engine,
        staleness: &Staleness,
        deadline: Deadline,
        Asked { request, asker }: &mut Asked<PreFilterPredicatesRequest>,
    ) -> Result<PreFiltered, Error> {
        match evaluate(engine, &request.allocation_key, Nodes::All, phase(request.allocate), (deadline, *asker)) {
            Ok(answer) => Ok(PreFiltered::Evaluated(answer, staleness.age())),
            Err(error) => Ok(PreFiltered::Missing(missing(error)?)),
        }
    }
}

/// `PreemptionPredicates`: one pod on one node, without the first of its pods.
pub(crate) enum PreemptionPredicates {}

impl Call for PreemptionPredicates {
    type Request = PreemptionPredicatesRequest;
    type Parsed = Preemption;
    type Response = PreemptionPredicatesResponse;

    fn consistency(request: &PreemptionPredicatesRequest) -> Option<&Consistency> {
        request.consistency.as_ref()
    }

    fn held_bytes(request: &PreemptionPredicatesRequest) -> usize {
        request.preempt_allocation_keys.len().saturating_mul(limits::NAME_BYTES)
    }

    fn parse(request: PreemptionPredicatesRequest) -> Result<Preemption, Error> {
        // The shim does not check, and panics.
        let start = usize::try_from(request.start_index).map_err(|_| Error::invalid("start_index", "is negative"))?;
        let victims = request.preempt_allocation_keys;
        at_most("victims", victims.len(), limits::REQUEST_VICTIMS)?;
        let candidates = vec![Candidate { node: request.node_id, victims, start }];
        Ok(Preemption { pod: PodRef::Uid(request.allocation_key), candidates, deadline: None })
    }

    fn answer(
        engine: &Engine,
        staleness: &Staleness,
        deadline: Deadline,
        query: &mut Preemption,
    ) -> Result<PreemptionPredicatesResponse, Error> {
        query.deadline = Some(deadline.for_engine());
        let nowhere = PreemptionPredicatesResponse { index: -1, ..PreemptionPredicatesResponse::default() };
        let answer = match engine.preempt(query, &engine.snapshot()) {
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

/// The text of YuniKorn's shim for a pod or node that is not there; any other failure stays one.
fn missing(error: engine::Error) -> Result<&'static str, Error> {
    if matches!(error, engine::Error::UnknownPod { .. }) {
        return Ok(NO_POD);
    }
    if matches!(error, engine::Error::UnknownNode { .. }) { Ok(NO_NODE) } else { Err(error.into()) }
}

fn phase(allocate: bool) -> Phase {
    if allocate { Phase::Allocate } else { Phase::Reserve }
}

fn query(key: &str, nodes: Nodes, phase: Phase, deadline: Option<Deadline>) -> Query {
    let deadline = deadline.map(Deadline::for_engine);
    Query::new([PodRef::Uid(key.to_owned())]).with_nodes(nodes).with_phase(phase).with_deadline(deadline)
}

fn evaluate(
    engine: &Engine,
    key: &str,
    nodes: Nodes,
    phase: Phase,
    (deadline, asker): (Deadline, Option<Asker>),
) -> Result<Answer, engine::Error> {
    engine.answer(&query(key, nodes, phase, Some(deadline)).with_asker(asker), Options::default())
}

/// The text for a pod that does not fit the one node it was evaluated on.
fn failed_plugin(pod: &PodAnswer) -> Option<String> {
    let failure = pod.failures.first()?;
    Some(format!("failed plugin: '{}'\n{}", failure.predicate, failure.reasons.join(", ")))
}
