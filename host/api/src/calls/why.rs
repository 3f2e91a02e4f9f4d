//! `Why`: why one pod is pending. Start at [`Why`].

use nodesift_proto::v1::{Consistency, WhyRequest, WhyResponse};

use super::driver::{self, Call, Stage};
use super::{manifest, overlay, request, why_message};
use crate::admission::deadline::Deadline;
use crate::admission::scope::RequestScope;
use crate::admission::slots::Size;
use crate::admission::staleness::Staleness;
use crate::error::at_most;
use crate::{Error, Service, limits};
use nodesift_engine::why::WhyOptions;
use nodesift_engine::{Engine, ExplainedParties, Nodes, OverlaySpec, PodRef, Query, limits as engine_limits};

/// Marker type of the call `Why`.
pub(crate) enum Why {}

/// Checked request of `Why`.
pub(crate) struct Parsed {
    overlay: OverlaySpec,
    query: Query,
    wanted: WhyOptions,
    has_cells: bool,
}

/// An answer, before it is known what parties have said.
pub(crate) struct Explained {
    pub(crate) response: WhyResponse,
    parties: Option<ExplainedParties>,
    /// Until when it is to be sent.
    deadline: Deadline,
}

impl Call for Why {
    // A manifest is YAML, whose aliases make more of it than its length tells.
    const PARSE_IS_CHEAP: bool = false;

    type Request = WhyRequest;
    type Parsed = Parsed;
    type Response = Explained;

    fn consistency(request: &WhyRequest) -> Option<&Consistency> {
        request.consistency.as_ref()
    }

    fn timeout_ms(request: &WhyRequest) -> Option<u32> {
        request.timeout_ms
    }

    fn held_bytes(request: &WhyRequest) -> usize {
        let lists = request::held_bytes(request.pod.as_slice(), request.nodes.as_ref(), request.overlay.as_ref());
        // A manifest is text, a tree of its values, and text again, before it is a pod.
        lists.saturating_add(request.manifest.len().saturating_mul(limits::MANIFEST_COPIES))
    }

    fn parse(request: WhyRequest) -> Result<Parsed, Error> {
        let WhyRequest { pod, manifest, phase, nodes, overlay, skip, by, nearest, cells, help, negotiates, .. } =
            request;
        at_most("skipped predicates", skip.len(), limits::REQUEST_SKIPPED)?;
        at_most("bytes of a manifest", manifest.len(), limits::MANIFEST_BYTES)?;
        let pod = match (pod, manifest) {
            (Some(_), text) if !text.is_empty() => {
                return Err(Error::invalid("manifest", "give either pod or manifest, not both"));
            }
            (Some(pod), _) => request::evaluated_pod("pod", pod)?,
            (None, text) if text.is_empty() => return Err(Error::invalid("pod", "give a pod, or a manifest")),
            (None, text) => PodRef::Whole(Box::new(manifest::pod(&text)?)),
        };
        if by.len() > engine_limits::WHY_TEXT_BYTES {
            return Err(Error::invalid("by", "is longer than any key of a label"));
        }
        let nearest = match nearest.map(|most| usize::try_from(most).unwrap_or(usize::MAX)) {
            None => engine_limits::WHY_NEAREST,
            Some(most) if most > engine_limits::WHY_NEAREST => {
                return Err(Error::invalid("nearest", format!("is at most {}", engine_limits::WHY_NEAREST)));
            }
            Some(most) => most,
        };
        let nodes = nodes.map_or(Nodes::All, |subset| Nodes::Named(subset.names));
        let query = Query::new([pod]).with_nodes(nodes).with_phase(request::phase(phase)?).with_skip(skip);
        Ok(Parsed {
            overlay: overlay::parse(overlay)?,
            query: query.with_negotiated(negotiates),
            wanted: WhyOptions { by: Some(by).filter(|by| !by.is_empty()), nearest, help },
            has_cells: cells,
        })
    }

    fn answer(
        engine: &Engine,
        staleness: &Staleness,
        deadline: Deadline,
        parsed: &mut Parsed,
    ) -> Result<Explained, Error> {
        let snapshot = overlay::snapshot(engine, &parsed.overlay, false)?;
        parsed.query.deadline = Some(deadline.for_engine());
        let answer = engine.why(&parsed.query, &snapshot, &parsed.wanted)?;
        let response = why_message::response(&answer, staleness.age(), parsed.has_cells);
        Ok(Explained { response, parties: answer.pod.parties, deadline })
    }
}

/// Answers a request as [`driver::run`] does, and adds what parties have said, as `Explain` does.
///
/// # Errors
///
/// As [`driver::run`].
pub(crate) async fn run<E: Send + 'static>(
    service: &Service,
    scope: RequestScope,
    stage: Stage<Why>,
    encode: fn(Explained) -> Result<E, Error>,
) -> Result<E, Error> {
    if service.engine().policy().settings.parties.is_empty() {
        return driver::run(service, scope, stage, encode).await;
    }
    let _work = scope.peer.work();
    let mut explained = driver::run(service, scope.clone(), stage, Ok).await?;
    if let (Some(parties), Ok(negotiator)) = (&explained.parties, service.parties()) {
        explained.response.parties = negotiator.stances(parties).await;
    }
    // The request may have set itself less time.
    let scope = RequestScope { deadline: explained.deadline, ..scope.clone() };
    service.evaluate(&scope, Size::Large, move |_| encode(explained)).await
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use nodesift_proto::v1::NodeSubset;

    use super::*;
    use crate::calls::testing::idle;

    fn of_manifest(manifest: String) -> WhyRequest {
        WhyRequest { manifest, ..WhyRequest::default() }
    }

    #[tokio::test(start_paused = true)]
    async fn a_manifest_of_a_request_too_large_for_any_room_is_not_read() {
        let names = vec![String::new(); limits::BODY_BYTES / 16];
        let malformed = WhyRequest { nodes: Some(NodeSubset { names }), ..of_manifest("kind: [".to_owned()) };
        let error = driver::admit::<Why>(&idle(), &mut RequestScope::detached(), malformed).await.err().unwrap();
        assert!(matches!(error, Error::TooMuch { .. }), "{}", error.text());
    }

    #[test]
    fn a_manifest_has_a_length_at_most() {
        let error = |length: usize| Why::parse(of_manifest("x".repeat(length))).err().unwrap();
        assert!(matches!(error(limits::MANIFEST_BYTES + 1), Error::TooMuch { .. }));
        assert!(!matches!(error(limits::MANIFEST_BYTES), Error::TooMuch { .. }));
    }
}
