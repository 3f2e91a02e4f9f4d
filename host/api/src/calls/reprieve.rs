//! `Reprieve`: which victims a preemption on each of several nodes needs. Start at [`Reprieve`].

use std::collections::HashSet;

use nodesift_proto::v1::{self, Consistency, ReprieveRequest, ReprieveResponse};

use super::driver::Call;
use super::{overlay, request, response};
use crate::admission::deadline::Deadline;
use crate::admission::staleness::Staleness;
use crate::error::{at_most, code_name};
use crate::{Error, limits};
use nodesift_engine::{self as engine, Engine, NodeVictims, PodRef, ReprieveError, ReprieveOutcome};

/// Marker type of the call `Reprieve`.
pub(crate) enum Reprieve {}

/// Checked request of `Reprieve`.
pub(crate) struct Parsed {
    query: engine::Reprieve,
    /// Pods and the nodes that they are nominated for.
    nominated: Vec<(PodRef, String)>,
}

impl Call for Reprieve {
    type Request = ReprieveRequest;
    type Parsed = Parsed;
    type Response = ReprieveResponse;

    fn consistency(request: &ReprieveRequest) -> Option<&Consistency> {
        request.consistency.as_ref()
    }

    fn timeout_ms(request: &ReprieveRequest) -> Option<u32> {
        request.timeout_ms
    }

    fn held_bytes(request: &ReprieveRequest) -> usize {
        let victims: usize = request.nodes.iter().map(|node| 1 + node.victims.len()).sum();
        let names = victims + 2 * request.nominated_pods.len() + request.skip.len();
        names.saturating_mul(limits::NAME_BYTES)
    }

    fn parse(request: ReprieveRequest) -> Result<Parsed, Error> {
        at_most("skipped predicates", request.skip.len(), limits::REQUEST_SKIPPED)?;
        let nominated = overlay::parse_nominated(request.nominated_pods)?;
        at_most("nodes", request.nodes.len(), limits::REPRIEVE_NODES)?;
        at_most("victims", request.nodes.iter().map(|node| node.victims.len()).sum(), limits::REQUEST_VICTIMS)?;
        let pod = request::evaluated_pod("pod", request.pod.unwrap_or_default())?;
        let mut seen = HashSet::new();
        for (at, node) in request.nodes.iter().enumerate() {
            if !seen.insert(&node.node) {
                return Err(Error::invalid(format!("nodes[{at}].node"), format!("{:?} is there twice", node.node)));
            }
        }
        let nodes = request.nodes.into_iter().map(|v1::NodeVictims { node, victims }| NodeVictims { node, victims });
        let (skip, is_negotiated) = (request.skip, request.negotiates);
        let query = engine::Reprieve { pod, nodes: nodes.collect(), deadline: None, skip, is_negotiated };
        Ok(Parsed { query, nominated })
    }

    fn answer(
        engine: &Engine,
        staleness: &Staleness,
        deadline: Deadline,
        parsed: &mut Parsed,
    ) -> Result<ReprieveResponse, Error> {
        parsed.query.deadline = Some(deadline.for_engine());
        let snapshot = overlay::nominating(engine, &engine.snapshot(), &parsed.nominated)?;
        let answer = engine.reprieve(&parsed.query, &snapshot)?;
        Ok(ReprieveResponse {
            version: Some(response::version(&answer.snapshot, answer.policy_generation, staleness.age())),
            nodes: answer.outcomes.into_iter().map(node).collect(),
            faults: response::faults(&answer.faults),
        })
    }
}

fn node(outcome: Result<ReprieveOutcome, ReprieveError>) -> v1::NodeReprieve {
    match outcome {
        Ok(ReprieveOutcome::Fits { kept }) => {
            // An index of a victim is far below 2^32.
            let kept = kept.into_iter().filter_map(|index| u32::try_from(index).ok()).collect();
            v1::NodeReprieve { fits: true, kept, ..v1::NodeReprieve::default() }
        }
        Ok(ReprieveOutcome::Rejected { predicate, failure }) => {
            let failure = v1::Failure {
                predicate: predicate.to_string(),
                code: failure.code.name().to_owned(),
                failure_code: response::failure_code(failure.code).into(),
                reasons: failure.reasons.to_vec(),
                ..v1::Failure::default()
            };
            v1::NodeReprieve { failure: Some(failure), ..v1::NodeReprieve::default() }
        }
        Err(error) => {
            let error = v1::CallError { code: code_name(tonic::Code::NotFound).to_owned(), message: error.to_string() };
            v1::NodeReprieve { error: Some(error), ..v1::NodeReprieve::default() }
        }
    }
}
