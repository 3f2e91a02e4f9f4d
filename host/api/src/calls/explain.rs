//! `Explain`: every predicate by itself over every node, and the conjunction.
//!
//! Start at [`Explain`].

use nodesift_proto::v1::{Consistency, ExplainRequest, ExplainResponse, PartyStance, PodExplanation, ScoreRequest};

use super::driver::{self, Call, Stage};
use super::request::{self, Fields, Selection};
use super::{overlay, response};
use crate::admission::deadline::Deadline;
use crate::admission::scope::RequestScope;
use crate::admission::slots::Size;
use crate::admission::staleness::Staleness;
use crate::{Age, Error, Service};
use nodesift_engine::{Answer, Depth, Engine, Options, OverlaySpec, PodAnswer};

/// Marker type of the call `Explain`.
pub(crate) enum Explain {}

/// Checked request of `Explain`.
pub(crate) struct Parsed {
    overlay: OverlaySpec,
    selection: Selection,
}

/// An answer with every predicate alone.
pub(crate) struct Explanation {
    pub(crate) answer: Answer,
    pub(crate) age: Age,
    /// Of the pending pods that follow; else empty.
    pub(crate) next_page_token: String,
    /// Until when it is to be sent.
    pub(crate) deadline: Deadline,
    /// By pod, as in the answer: what parties have said. Empty where the policy has none.
    pub(crate) parties: Vec<Vec<PartyStance>>,
}

impl Explanation {
    /// The message, with a string for each name of a node.
    #[cfg(test)]
    pub(crate) fn message(&self) -> ExplainResponse {
        let ExplainResponse { mut pods, .. } = response::explain(&self.answer, self.age);
        for (pod, parties) in pods.iter_mut().zip(&self.parties) {
            pod.parties.clone_from(parties);
        }
        ExplainResponse { pods, ..self.without_pods() }
    }

    /// The message without its pods.
    pub(crate) fn without_pods(&self) -> ExplainResponse {
        let next_page_token = self.next_page_token.clone();
        ExplainResponse { next_page_token, ..response::explain_without_pods(&self.answer, self.age) }
    }

    /// The explanation of a pod without its predicates and their conjunction.
    pub(crate) fn pod_without_nodes(&self, at: usize, pod: &PodAnswer) -> PodExplanation {
        let parties = self.parties.get(at).cloned().unwrap_or_default();
        PodExplanation { parties, ..response::explanation_without_nodes(pod) }
    }
}

impl Call for Explain {
    type Request = ExplainRequest;
    type Parsed = Parsed;
    type Response = Explanation;

    fn consistency(request: &ExplainRequest) -> Option<&Consistency> {
        request.consistency.as_ref()
    }

    fn timeout_ms(request: &ExplainRequest) -> Option<u32> {
        request.timeout_ms
    }

    fn held_bytes(request: &ExplainRequest) -> usize {
        request::held_bytes(&request.pods, request.nodes.as_ref(), request.overlay.as_ref())
    }

    fn parse(request: ExplainRequest) -> Result<Parsed, Error> {
        let ExplainRequest { pods, pending, page_size, page_token, phase, nodes, overlay, scores, .. } = request;
        let (limit, start, skip, negotiates) = Default::default();
        let scores = scores.map(|scores| ScoreRequest { each: true, ..scores });
        let fields =
            Fields { pods, pending, page_size, page_token, phase, nodes, limit, start, skip, negotiates, scores };
        Ok(Parsed { overlay: overlay::parse(overlay)?, selection: Selection::parse(fields, Depth::Each)? })
    }

    fn answer(
        engine: &Engine,
        staleness: &Staleness,
        deadline: Deadline,
        parsed: &mut Parsed,
    ) -> Result<Explanation, Error> {
        let snapshot = overlay::snapshot(engine, &parsed.overlay, false)?;
        parsed.selection.until(deadline);
        let query = parsed.selection.on(engine, &snapshot)?;
        let answer = engine.answer(query, Options::on(&snapshot).with_unknown_named())?.require_known_pod()?;
        let next_page_token = parsed.selection.next_page_token();
        Ok(Explanation { answer, age: staleness.age(), next_page_token, deadline, parties: Vec::new() })
    }
}

/// Answers a request as [`driver::run`] does, and adds what parties have said. That is known outside of evaluation slots, and asked for
/// only where the policy has parties: the answer is encoded in a slot of its own then.
///
/// # Errors
///
/// As [`driver::run`].
pub(crate) async fn run<E: Send + 'static>(
    service: &Service,
    scope: RequestScope,
    stage: Stage<Explain>,
    encode: fn(Explanation) -> Result<E, Error>,
) -> Result<E, Error> {
    if service.engine().policy().settings.parties.is_empty() {
        return driver::run(service, scope, stage, encode).await;
    }
    let _work = scope.peer.work();
    let mut explanation = driver::run(service, scope.clone(), stage, Ok).await?;
    for pod in &explanation.answer.pods {
        explanation.parties.push(match &pod.parties {
            Some(parties) => match service.parties() {
                Ok(negotiator) => negotiator.stances(parties).await,
                // Nobody is there to have said anything.
                Err(_) => Vec::new(),
            },
            None => Vec::new(),
        });
    }
    // The request may have set itself less time.
    let scope = RequestScope { deadline: explanation.deadline, ..scope.clone() };
    service.evaluate(&scope, Size::Large, move |_| encode(explanation)).await
}
