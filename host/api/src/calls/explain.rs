//! `Explain`: every predicate by itself over every node, and the conjunction.
//!
//! Start at [`Explain`].

use nodesift_proto::v1::{Consistency, ExplainRequest, Version};

use super::driver::Call;
use super::request::{self, Fields, Selection};
use super::{overlay, response};
use crate::admission::deadline::Deadline;
use crate::admission::staleness::Staleness;
use crate::{Age, Error};
use nodesift_engine::{Answer, Depth, Engine, OverlaySpec};

/// `Explain`.
pub(crate) enum Explain {}

/// A checked request.
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
}

impl Explanation {
    /// The message, with a string for each name of a node.
    #[cfg(test)]
    pub(crate) fn message(&self) -> nodesift_proto::v1::ExplainResponse {
        let next_page_token = self.next_page_token.clone();
        nodesift_proto::v1::ExplainResponse { next_page_token, ..response::explain(&self.answer, self.age) }
    }

    /// The versions of the answer.
    pub(crate) fn version(&self) -> Version {
        response::version(&self.answer.snapshot, self.answer.policy_generation, self.age)
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
        let ExplainRequest { pods, pending, page_size, page_token, phase, nodes, overlay, .. } = request;
        let fields =
            Fields { pods, pending, page_size, page_token, phase, nodes, limit: 0, start: 0, skip: Vec::new() };
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
        let answer = engine.answer_known_on(&snapshot, query)?.of_known_pods()?;
        Ok(Explanation { answer, age: staleness.age(), next_page_token: parsed.selection.next_page_token() })
    }
}
