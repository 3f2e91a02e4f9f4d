//! The driver: the one way from a request to its response, for every [`Call`] and every protocol.
//!
//! ```text
//!               I/O thread                                   evaluation slot
//! Encoded ──▶ small: decode ──┐   else ──────────────────────▶ decode
//! Decoded ──▶ wait for the minimum versions ◀── not met ─────┤
//!             └▶ small: cached answer? ──▶ encode, done       │
//!                └▶ else ───────────────────────────────────▶ parse, evaluate, encode, done
//! Parsed ◀── wait for the next publication ◀── unsettled ─────┘
//! ```
//!
//! No wait holds a slot, and each moves the request's room to where waiting requests are counted. The deadline covers all of it.
//! A protocol begins with [`Stage::Decoded`] or [`Stage::Encoded`], and passes the function that encodes
//! its responses. Start at [`run`].

use std::ops::ControlFlow;
use std::time::Duration;

use bytes::Bytes;
use nodesift_proto::v1::Consistency;
use tokio::time::Instant;

use super::changes::{Changes, Outcomes};
use super::request;
use crate::admission::consistency::{MinimumVersions, next_publication};
use crate::admission::deadline::Deadline;
use crate::admission::scope::RequestScope;
use crate::admission::slots::Size;
use crate::admission::staleness::Staleness;
use crate::{Error, ListenerClass, Service, limits};
use nodesift_cache::Generation;
use nodesift_engine::Engine;
use nodesift_engine::pending::Asker;

/// A call that is answered from a snapshot.
pub(crate) trait Call: 'static {
    /// Whether it is a core that asks, in order to place the pods: [`Self::asked_by`] is told who.
    const IS_OF_CORE: bool = false;

    /// Whether [`Self::parse`] may run on the I/O thread for a request that is too large for any room, to say which field is.
    const PARSE_IS_CHEAP: bool = true;

    /// Request as decoded from the wire.
    type Request: Send + 'static;
    /// The request, checked and compiled once for all tries.
    type Parsed: Send + 'static;
    /// Response that is encoded for the wire.
    type Response: 'static;

    /// The minimum versions of a request.
    fn consistency(request: &Self::Request) -> Option<&Consistency>;

    /// The time that the request sets itself, in milliseconds from its first byte.
    fn timeout_ms(_: &Self::Request) -> Option<u32> {
        None
    }

    /// Bytes of memory that the decoded request holds, where these can be more than its bytes on the wire.
    fn held_bytes(_: &Self::Request) -> usize {
        0
    }

    /// Whether a request is small enough to be parsed, and answered where the answer is cached, on the I/O thread.
    fn is_small(_: &Self::Request) -> bool {
        false
    }

    /// Whether the slot of small requests may serve a request.
    fn size(request: &Self::Request) -> Size {
        if Self::is_small(request) { Size::Small } else { Size::Large }
    }

    /// Whether a request changes the cache before it is answered.
    fn has_changes(_: &Self::Request) -> bool {
        false
    }

    /// Takes out what a request changes before it is answered.
    fn take_changes(_: &mut Self::Request) -> Changes {
        Changes::default()
    }

    /// Keeps what became of the changes for the response.
    fn changed(_: &mut Self::Parsed, _: Outcomes) {}

    /// Keeps who asks, so that the answer is counted and noted.
    fn asked_by(_: &mut Self::Parsed, _: Asker) {}

    /// Whether a small request evaluates anything.
    fn needs_slot(_: &Self::Parsed) -> bool {
        true
    }

    /// Checks every field. Nothing here depends on a snapshot.
    fn parse(request: Self::Request) -> Result<Self::Parsed, Error>;

    /// The answer from the newest snapshot, where all of it is cached and valid.
    fn answer_cached(_: &Engine, _: &Staleness, _: &mut Self::Parsed) -> Option<Self::Response> {
        None
    }

    /// The answer from the newest snapshot, by the deadline. Called again after a publication where it fails as unsettled.
    fn answer(
        engine: &Engine,
        staleness: &Staleness,
        deadline: Deadline,
        parsed: &mut Self::Parsed,
    ) -> Result<Self::Response, Error>;
}

/// How far a request has come.
pub(crate) enum Stage<C: Call> {
    /// A body, and how to decode it: on the I/O thread up to [`limits::DECODE_BYTES`], in a slot above.
    Encoded(Bytes, fn(&[u8]) -> Result<C::Request, Error>),
    /// Decoded by the protocol, or in a slot.
    Decoded(C::Request),
    /// Its deadline and its room are set. It changes nothing.
    Admitted(C::Request, Admission),
    /// Admitted and checked, and its changes have been made.
    Changed(C::Parsed, Admission),
    /// Answered once at least, or tried for a cached answer.
    Parsed(C::Parsed),
}

/// Conditions under which a request is answered.
pub(crate) struct Admission {
    minimum: Option<MinimumVersions>,
    is_small: bool,
    size: Size,
}

/// Result of one try in a slot.
enum Outcome<C: Call, E> {
    Done(E),
    /// Decoded; the newest snapshot does not show its minimum versions, or its changes have still to be made.
    Behind(C::Request),
    /// No snapshot up to this generation shows a pod of the request as the cache already knows it.
    Unsettled(C::Parsed, Generation, Error),
}

/// Answers a request: waits for its minimum versions, takes the cached answer or evaluates in a slot, and encodes.
///
/// # Errors
///
/// [`Error::NotReady`], [`Error::Stale`], [`Error::NotSeen`], [`Error::Overloaded`], [`Error::DeadlineExceeded`], and those of
/// the call and of `encode`.
pub(crate) async fn run<C: Call, E: Send + 'static>(
    service: &Service,
    mut scope: RequestScope,
    mut stage: Stage<C>,
    encode: fn(C::Response) -> Result<E, Error>,
) -> Result<E, Error> {
    if !matches!(stage, Stage::Changed(..)) {
        service.check()?;
    }
    let _work = scope.peer.work();
    if let Stage::Encoded(body, decode) = &stage {
        if body.len() <= limits::DECODE_BYTES {
            stage = Stage::Decoded(decode(body)?);
        } else {
            scope.hold(request::json_bytes(body))?;
        }
    }
    // Whoever looks at a page is no core that asks.
    let is_of_core = C::IS_OF_CORE && scope.class != ListenerClass::Explorer;
    let asker = is_of_core.then(|| service.asker(scope.caller()));
    let (mut size, mut settles_until) = (Size::Large, None);
    loop {
        if let Stage::Decoded(request) = stage {
            stage = admit(service, &mut scope, request).await?;
        }
        if let Stage::Admitted(_, admission) | Stage::Changed(_, admission) = &mut stage {
            let (minimum, is_small) = (admission.minimum.take(), admission.is_small);
            size = admission.size;
            if let Some(minimum) = minimum.filter(|minimum| !minimum.are_met(&service.reader().snapshot())) {
                scope.deadline = service.version_waiters().wait(&scope, &minimum).await?;
                scope.pend()?;
            }
            if is_small {
                stage = match stage.answer_cached(service, scope.class, asker)? {
                    ControlFlow::Break(response) => return encode(response),
                    ControlFlow::Continue(parsed) => Stage::Parsed(parsed),
                };
            }
        }
        scope.pend()?;
        let staleness = service.staleness().clone();
        let deadline = scope.deadline;
        let work = move |engine: &Engine| stage.in_slot(engine, &staleness, deadline, asker, encode);
        stage = match service.evaluate(&scope, size, work).await? {
            Outcome::Done(response) => return Ok(response),
            Outcome::Behind(request) => Stage::Decoded(request),
            Outcome::Unsettled(parsed, seen, error) => {
                let until = *settles_until.get_or_insert_with(|| Instant::now() + limits::UNSETTLED_WAIT);
                if !next_publication(service.reader(), seen, until.min(scope.deadline.at())).await {
                    return Err(error);
                }
                Stage::Parsed(parsed)
            }
        };
    }
}

/// Sets the deadline and the room of a request, and makes its changes. A stream waits for this before it begins with the next
/// request, which has to see them.
///
/// # Errors
///
/// [`Error::DeadlineExceeded`], [`Error::Overloaded`], and those of [`Service::change`]. Nothing has changed then.
pub(crate) async fn admit<C: Call>(
    service: &Service,
    scope: &mut RequestScope,
    mut request: C::Request,
) -> Result<Stage<C>, Error> {
    if let Some(milliseconds) = C::timeout_ms(&request) {
        scope.deadline = scope.deadline.shortened(Duration::from_millis(milliseconds.into()));
    }
    scope.deadline.check()?;
    if let Err(error) = scope.hold(C::held_bytes(&request)) {
        // More than any request may have is said so.
        let is_said = C::PARSE_IS_CHEAP && matches!(error, Error::TooMuch { .. });
        let said = is_said.then(|| C::parse(request).err()).flatten();
        return Err(said.unwrap_or(error));
    }
    let minimum = MinimumVersions::parse(C::consistency(&request))?;
    let admission = Admission { minimum, is_small: C::is_small(&request), size: C::size(&request) };
    if !C::has_changes(&request) {
        return Ok(Stage::Admitted(request, admission));
    }
    service.check()?;
    let changes = C::take_changes(&mut request);
    let (mut parsed, outcomes) = service.change(scope, changes, || C::parse(request)).await?;
    C::changed(&mut parsed, outcomes);
    Ok(Stage::Changed(parsed, admission))
}

impl<C: Call> Stage<C> {
    /// Checks every field, as far as that has not been done.
    fn parsed(self, asker: Option<Asker>) -> Result<C::Parsed, Error> {
        let mut parsed = match self {
            Self::Encoded(body, decode) => C::parse(decode(&body)?)?,
            Self::Decoded(request) | Self::Admitted(request, _) => C::parse(request)?,
            Self::Changed(parsed, _) => parsed,
            Self::Parsed(parsed) => return Ok(parsed),
        };
        if let Some(asker) = asker {
            C::asked_by(&mut parsed, asker);
        }
        Ok(parsed)
    }

    /// Breaks with the cached answer of a small request, or continues with what a slot has to evaluate.
    fn answer_cached(
        self,
        service: &Service,
        class: ListenerClass,
        asker: Option<Asker>,
    ) -> Result<ControlFlow<C::Response, C::Parsed>, Error> {
        let mut parsed = self.parsed(asker)?;
        let needs_slot = C::needs_slot(&parsed);
        let cached = |engine: &Engine| C::answer_cached(engine, service.staleness(), &mut parsed);
        let cached = if needs_slot { service.try_at_once(class, cached) } else { service.at_once(cached) };
        Ok(cached?.map_or_else(|| ControlFlow::Continue(parsed), ControlFlow::Break))
    }

    /// Decodes, parses, evaluates and encodes, as far as that has not been done.
    fn in_slot<E>(
        mut self,
        engine: &Engine,
        staleness: &Staleness,
        deadline: Deadline,
        asker: Option<Asker>,
        encode: fn(C::Response) -> Result<E, Error>,
    ) -> Result<Outcome<C, E>, Error> {
        if let Self::Encoded(body, decode) = &self {
            let request = decode(body)?;
            let minimum = MinimumVersions::parse(C::consistency(&request))?;
            if C::has_changes(&request) || minimum.is_some_and(|minimum| !minimum.are_met(&engine.snapshot())) {
                return Ok(Outcome::Behind(request));
            }
            self = Self::Decoded(request);
        }
        let mut parsed = self.parsed(asker)?;
        // Taken before the answer: a publication meanwhile ends the wait for the next one at once.
        let seen = engine.snapshot().generation();
        match C::answer(engine, staleness, deadline, &mut parsed) {
            Ok(response) => encode(response).map(Outcome::Done),
            Err(error) if error.is_unsettled() => Ok(Outcome::Unsettled(parsed, seen, error)),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests;
