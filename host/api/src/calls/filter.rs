//! `Filter`: the nodes that fit, per pod, and why the others do not.
//!
//! Start at [`Filter`].

use nodesift_proto::v1::{Bitmaps, Consistency, Detail, FilterRequest, FilterResponse, pod};

use super::driver::Call;
use super::request::{self, Fields, Selection};
use super::{overlay, response};
use crate::admission::staleness::Staleness;
use crate::{Error, limits};
use nodesift_engine::{Depth, Engine, OverlaySpec};

/// `Filter`.
pub(crate) enum Filter {}

/// A checked request.
pub(crate) struct Parsed {
    overlay: OverlaySpec,
    selection: Selection,
    detail: Detail,
    /// The node index that the core knows, where it wants bitmaps over rows.
    bitmaps: Option<Bitmaps>,
}

impl Call for Filter {
    type Request = FilterRequest;
    type Parsed = Parsed;
    type Response = FilterResponse;

    fn consistency(request: &FilterRequest) -> Option<&Consistency> {
        request.consistency.as_ref()
    }

    /// Names of nodes are many and long; whole pods have to be decoded and compiled; an overlay is a snapshot of its own.
    fn is_small(request: &FilterRequest) -> bool {
        request.bitmaps.is_some()
            && request.overlay.is_none()
            && request.nodes.is_none()
            && request.limit == 0
            && !request.pending
            && request.pods.len() <= limits::CACHED_PODS
            && request.pods.iter().all(|pod| matches!(pod.pod, Some(pod::Pod::Uid(_) | pod::Pod::Name(_))))
    }

    fn parse(request: FilterRequest) -> Result<Parsed, Error> {
        let FilterRequest { pods, pending, phase, nodes, limit, start, detail, overlay, bitmaps, .. } = request;
        Ok(Parsed {
            detail: request::detail(detail)?,
            overlay: overlay::parse(overlay)?,
            selection: Selection::parse(Fields { pods, pending, phase, nodes, limit, start }, Depth::FirstFailure)?,
            bitmaps,
        })
    }

    fn answer_cached(engine: &Engine, staleness: &Staleness, parsed: &mut Parsed) -> Option<FilterResponse> {
        let snapshot = engine.snapshot();
        // What is wrong with the request is said where it is evaluated.
        let query = parsed.selection.on(engine, &snapshot).ok()?;
        let answer = engine.answer_cached(&snapshot, query)?;
        Some(response::filter(&answer, staleness.age(), parsed.detail, parsed.bitmaps.as_ref()))
    }

    fn answer(engine: &Engine, staleness: &Staleness, parsed: &mut Parsed) -> Result<FilterResponse, Error> {
        let snapshot = overlay::snapshot(engine, &parsed.overlay, parsed.bitmaps.is_some())?;
        let query = parsed.selection.on(engine, &snapshot)?;
        let answer = engine.answer_on(&snapshot, query)?;
        Ok(response::filter(&answer, staleness.age(), parsed.detail, parsed.bitmaps.as_ref()))
    }
}
