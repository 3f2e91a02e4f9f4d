//! `Reprieve`: which victims a preemption on each of several nodes needs. Start at [`Reprieve`].

use std::collections::HashSet;

use nodesift_proto::v1::{self, Consistency, ReprieveRequest, ReprieveResponse};

use super::driver::Call;
use super::{request, response};
use crate::admission::deadline::Deadline;
use crate::admission::staleness::Staleness;
use crate::error::{at_most, code_name};
use crate::{Error, limits};
use nodesift_engine::{self as engine, Engine, NodeVictims, ReprieveError, ReprieveOutcome};

/// The call.
pub(crate) enum Reprieve {}

impl Call for Reprieve {
    type Request = ReprieveRequest;
    type Parsed = engine::Reprieve;
    type Response = ReprieveResponse;

    fn consistency(request: &ReprieveRequest) -> Option<&Consistency> {
        request.consistency.as_ref()
    }

    fn timeout_ms(request: &ReprieveRequest) -> Option<u32> {
        request.timeout_ms
    }

    fn held_bytes(request: &ReprieveRequest) -> usize {
        let names: usize = request.nodes.iter().map(|node| 1 + node.victims.len()).sum();
        names.saturating_mul(limits::NAME_BYTES)
    }

    fn parse(request: ReprieveRequest) -> Result<engine::Reprieve, Error> {
        let unsupported = [("nominated_pods", request.nominated_pods.is_empty()), ("skip", request.skip.is_empty())];
        if let Some((field, _)) = unsupported.into_iter().find(|(_, is_absent)| !is_absent) {
            return Err(Error::invalid(field, request::UNSUPPORTED));
        }
        at_most("nodes", request.nodes.len(), limits::REPRIEVE_NODES)?;
        at_most("victims", request.nodes.iter().map(|node| node.victims.len()).sum(), limits::REQUEST_VICTIMS)?;
        let pod = request::pod_ref("pod", request.pod.unwrap_or_default())?;
        let mut seen = HashSet::new();
        for (at, node) in request.nodes.iter().enumerate() {
            if !seen.insert(&node.node) {
                return Err(Error::invalid(format!("nodes[{at}].node"), format!("{:?} is there twice", node.node)));
            }
        }
        let nodes = request.nodes.into_iter().map(|v1::NodeVictims { node, victims }| NodeVictims { node, victims });
        Ok(engine::Reprieve { pod, nodes: nodes.collect(), deadline: None })
    }

    fn answer(
        engine: &Engine,
        staleness: &Staleness,
        deadline: Deadline,
        query: &mut engine::Reprieve,
    ) -> Result<ReprieveResponse, Error> {
        query.deadline = Some(deadline.for_engine());
        let answer = engine.reprieve_on(&engine.snapshot(), query)?;
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
