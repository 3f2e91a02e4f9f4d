//! `Explain`: every predicate by itself over every node, and the conjunction.
//!
//! Start at [`Explain`].

use nodesift_proto::v1::{Consistency, ExplainRequest, ExplainResponse};

use super::driver::Call;
use super::request::{Fields, Selection};
use super::{overlay, response};
use crate::Error;
use crate::admission::staleness::Staleness;
use nodesift_engine::{Depth, Engine, OverlaySpec};

/// `Explain`.
pub(crate) enum Explain {}

/// A checked request.
pub(crate) struct Parsed {
    overlay: OverlaySpec,
    selection: Selection,
}

impl Call for Explain {
    type Request = ExplainRequest;
    type Parsed = Parsed;
    type Response = ExplainResponse;

    fn consistency(request: &ExplainRequest) -> Option<&Consistency> {
        request.consistency.as_ref()
    }

    fn parse(request: ExplainRequest) -> Result<Parsed, Error> {
        let ExplainRequest { pods, pending, phase, nodes, overlay, .. } = request;
        Ok(Parsed {
            overlay: overlay::parse(overlay)?,
            selection: Selection::parse(Fields { pods, pending, phase, nodes, limit: 0, start: 0 }, Depth::Each)?,
        })
    }

    fn answer(engine: &Engine, staleness: &Staleness, parsed: &mut Parsed) -> Result<ExplainResponse, Error> {
        let snapshot = overlay::snapshot(engine, &parsed.overlay, false)?;
        let query = parsed.selection.on(engine, &snapshot)?;
        Ok(response::explain(&engine.answer_on(&snapshot, query)?, staleness.age()))
    }
}
