//! `Filter`: the nodes that fit, per pod, and why the others do not.
//!
//! Start at [`Filter`].

use nodesift_proto::v1::{Bitmaps, Consistency, Detail, FilterRequest, FilterResponse, pod};

use super::changes::{Changes, Outcomes};
use super::driver::Call;
use super::node_index::IndexVersion;
use super::request::{self, Fields, Selection};
use super::{overlay, response};
use crate::admission::deadline::Deadline;
use crate::admission::slots::Size;
use crate::admission::staleness::Staleness;
use crate::{Age, Error, limits};
use nodesift_engine::pending::Asker;
use nodesift_engine::{Answer, Depth, Engine, Options, OverlaySpec, PodRef};

/// Marker type of the call `Filter`.
pub(crate) enum Filter {}

/// Checked request of `Filter`.
pub(crate) struct Parsed {
    overlay: OverlaySpec,
    /// Pods and the nodes that they are nominated for.
    nominated: Vec<(PodRef, String)>,
    selection: Selection,
    detail: Detail,
    /// The node index that the core knows, where it wants bitmaps over rows.
    bitmaps: Option<Bitmaps>,
    outcomes: Outcomes,
}

/// An answer, and what the request wants of it.
pub(crate) struct Filtered {
    pub(crate) answer: Answer,
    pub(crate) age: Age,
    pub(crate) detail: Detail,
    pub(crate) bitmaps: Option<Bitmaps>,
    /// Of the pending pods that follow; else empty.
    pub(crate) next_page_token: String,
    /// Results of the changes that the request has made.
    pub(crate) outcomes: Outcomes,
}

impl Filtered {
    /// The message, with a string for each name of a node.
    #[cfg(test)]
    pub(crate) fn message(&self) -> FilterResponse {
        let FilterResponse { pods, .. } = response::filter(&self.answer, self.age, self.detail, self.bitmaps.as_ref());
        FilterResponse { pods, ..self.without_pods() }
    }

    /// The message without its pods.
    pub(crate) fn without_pods(&self) -> FilterResponse {
        FilterResponse {
            next_page_token: self.next_page_token.clone(),
            assumed: self.outcomes.assumed.clone(),
            forgotten: self.outcomes.forgotten.clone(),
            ..response::filter_without_pods(&self.answer, self.age, self.bitmaps.as_ref())
        }
    }
}

impl Call for Filter {
    const IS_OF_CORE: bool = true;

    type Request = FilterRequest;
    type Parsed = Parsed;
    type Response = Filtered;

    fn consistency(request: &FilterRequest) -> Option<&Consistency> {
        request.consistency.as_ref()
    }

    fn timeout_ms(request: &FilterRequest) -> Option<u32> {
        request.timeout_ms
    }

    fn held_bytes(request: &FilterRequest) -> usize {
        let names =
            2 * request.nominated_pods.len() + request.skip.len() + request.forget.len() + 2 * request.assume.len();
        request::held_bytes(&request.pods, request.nodes.as_ref(), request.overlay.as_ref())
            .saturating_add(names.saturating_mul(limits::NAME_BYTES))
    }

    /// Whole pods have to be decoded and compiled; names of nodes in a request are many; an overlay is a snapshot of its own; scorers are
    /// called.
    fn is_small(request: &FilterRequest) -> bool {
        request.overlay.is_none()
            && request.nominated_pods.is_empty()
            && request.nodes.is_none()
            && request.limit == 0
            && request.scores.is_none_or(|scores| scores.top == 0)
            && !request.pending
            && request.pods.len() <= limits::CACHED_PODS
            && request.pods.iter().all(|pod| matches!(pod.pod, Some(pod::Pod::Uid(_) | pod::Pod::Name(_))))
    }

    fn size(request: &FilterRequest) -> Size {
        let is_plain = !request.pending && request.overlay.is_none();
        let is_small = is_plain && request.pods.len().max(request.nominated_pods.len()) <= limits::CACHED_PODS;
        if is_small { Size::Small } else { Size::Large }
    }

    fn has_changes(request: &FilterRequest) -> bool {
        !request.forget.is_empty() || !request.assume.is_empty()
    }

    fn take_changes(request: &mut FilterRequest) -> Changes {
        Changes { forget: std::mem::take(&mut request.forget), assume: std::mem::take(&mut request.assume) }
    }

    fn changed(parsed: &mut Parsed, outcomes: Outcomes) {
        parsed.outcomes = outcomes;
    }

    /// A request that supposes another cluster is no question of a core that is to place pods.
    fn asked_by(parsed: &mut Parsed, asker: Asker) {
        if parsed.overlay.is_empty() {
            parsed.selection.asked_by(asker);
        }
    }

    /// A request may do nothing but change.
    fn needs_slot(parsed: &Parsed) -> bool {
        parsed.selection.pods() > 0
    }

    fn parse(request: FilterRequest) -> Result<Parsed, Error> {
        let FilterRequest { pods, pending, page_size, page_token, phase, nodes, limit, start, skip, .. } = request;
        let (negotiates, scores) = (request.negotiates, request.scores);
        Ok(Parsed {
            detail: request::detail(request.detail)?,
            overlay: overlay::parse(request.overlay)?,
            nominated: overlay::parse_nominated(request.nominated_pods)?,
            selection: Selection::parse(
                Fields { pods, pending, page_size, page_token, phase, nodes, limit, start, skip, negotiates, scores },
                Depth::FirstFailure,
            )?,
            bitmaps: request.bitmaps,
            outcomes: Outcomes::default(),
        })
    }

    fn answer_cached(engine: &Engine, staleness: &Staleness, parsed: &mut Parsed) -> Option<Filtered> {
        let snapshot = engine.snapshot();
        let names = match &parsed.bitmaps {
            Some(known) if IndexVersion::known(known) == Some(IndexVersion::new(&snapshot)) => 0,
            // The difference between the two node indexes may be all of it.
            Some(_) => snapshot.node_count(),
            None => parsed.selection.pods() * snapshot.node_count(),
        };
        if names > limits::CACHED_NAMES {
            return None;
        }
        // What is wrong with the request is said where it is evaluated.
        let query = parsed.selection.on(engine, &snapshot).ok()?;
        let answer = engine.answer_cached(query, &snapshot)?;
        let (age, detail, bitmaps) = (staleness.age(), parsed.detail, parsed.bitmaps);
        let outcomes = std::mem::take(&mut parsed.outcomes);
        Some(Filtered { answer, age, detail, bitmaps, next_page_token: String::new(), outcomes })
    }

    fn answer(
        engine: &Engine,
        staleness: &Staleness,
        deadline: Deadline,
        parsed: &mut Parsed,
    ) -> Result<Filtered, Error> {
        let snapshot = overlay::snapshot(engine, &parsed.overlay, parsed.bitmaps.is_some())?;
        let snapshot = overlay::nominating(engine, &snapshot, &parsed.nominated)?;
        parsed.selection.until(deadline);
        let query = parsed.selection.on(engine, &snapshot)?;
        let answer = engine.answer(query, Options::on(&snapshot).with_unknown_named())?;
        // Where the request has changed something, its outcomes have to arrive.
        let answer = if parsed.outcomes.is_empty() { answer.require_known_pod()? } else { answer };
        Ok(Filtered {
            answer,
            age: staleness.age(),
            detail: parsed.detail,
            bitmaps: parsed.bitmaps,
            next_page_token: parsed.selection.next_page_token(),
            outcomes: std::mem::take(&mut parsed.outcomes),
        })
    }
}
