//! GET /v1/events: changes of allocations, one JSON object a line.
//!
//! The first line names the generation at which the stream starts: a reader that takes a dump of the state afterwards skips
//! the events up to the dump's generation, and misses none. A reader that is too slow gets the number of events it has lost,
//! and should take a new dump. Start at [`events`].

use std::convert::Infallible;
use std::time::Duration;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Serialize;
use tokio::sync::broadcast::{Receiver, error::RecvError};
use tokio::time::{Instant, sleep_until};

use super::state::Allocation;
use crate::admission::scope::RequestScope;
use crate::protocols::json::codec;
use crate::{Error, Service, limits};
use nodesift_cache::{AllocationChange, AllocationEvent, Generation};
use nodesift_edge::places::{self, Activity, Place};
use nodesift_edge::unsent::Endless;

/// One line of the stream.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "UPPERCASE")]
enum Line<'a> {
    /// The stream starts after this generation.
    Start { generation: String },
    /// A pod has come to a node, bound or assumed.
    Add(Event<'a>),
    /// It is on the same node, and something about it has changed.
    Update(Event<'a>),
    /// It has left the node.
    Remove(Event<'a>),
    /// This many events were dropped because the reader is too slow.
    Lost { count: u64 },
    /// No event for [`limits::STREAM_IDLE`]: the stream is alive.
    Bookmark,
}

#[derive(Debug, Serialize)]
struct Event<'a> {
    generation: String,
    #[serde(flatten)]
    allocation: Allocation<'a>,
}

/// The state of one stream.
struct EventStream {
    events: Receiver<AllocationEvent>,
    /// Generation at which the stream starts, sent as the first line; `None` once that is sent.
    start: Option<Generation>,
    service: Service,
    idle: Duration,
    place: Place,
    _endless: places::Endless,
    peer: Activity,
}

/// Streams events until the reader leaves or the process drains.
pub(crate) async fn events(
    State(service): State<Service>,
    Extension(scope): Extension<RequestScope>,
) -> Result<Response, Error> {
    service.readiness().check()?;
    let place = service.enter_stream(&scope).await?;
    let (start, events) = service.read_locked(|service| Ok(service.writer().lock().follow_allocations())).await?;
    let state = EventStream {
        events,
        start: Some(start),
        service,
        idle: limits::STREAM_IDLE,
        place,
        _endless: scope.peer.endless(),
        peer: scope.peer,
    };
    let lines = stream::unfold(state, |mut state| async move {
        let bytes = state.next().await?;
        Some((Ok::<_, Infallible>(bytes), state))
    });
    let mut response = ([(header::CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(lines)).into_response();
    response.extensions_mut().insert(Endless);
    Ok(response)
}

impl EventStream {
    /// The next lines: all that are there, up to about [`limits::STREAM_CHUNK`] bytes; none once the process drains.
    async fn next(&mut self) -> Option<Bytes> {
        let mut lines = Vec::new();
        if let Some(Generation(generation)) = self.start.take() {
            push(&mut lines, &Line::Start { generation: generation.to_string() });
            return Some(lines.into());
        }
        let idle = sleep_until(Instant::now() + self.idle);
        let first = tokio::select! {
            () = self.service.readiness().drained() => return None,
            () = self.place.dismissed() => return None,
            () = self.peer.closing() => return None,
            () = idle => {
                self.place.activity().touch();
                push(&mut lines, &Line::Bookmark);
                return Some(lines.into());
            }
            first = self.events.recv() => first,
        };
        self.place.activity().touch();
        let mut received = Some(first);
        while let Some(event) = received {
            match event {
                Ok(event) => push(&mut lines, &line(&event)),
                Err(RecvError::Lagged(count)) => push(&mut lines, &Line::Lost { count }),
                Err(RecvError::Closed) => return (!lines.is_empty()).then(|| lines.into()),
            }
            received = None;
            if lines.len() < limits::STREAM_CHUNK {
                use tokio::sync::broadcast::error::TryRecvError;
                received = match self.events.try_recv() {
                    Ok(event) => Some(Ok(event)),
                    Err(TryRecvError::Lagged(count)) => Some(Err(RecvError::Lagged(count))),
                    Err(TryRecvError::Empty | TryRecvError::Closed) => None,
                };
            }
        }
        Some(lines.into())
    }
}

fn line(event: &AllocationEvent) -> Line<'_> {
    let allocation = Allocation::new(&event.pod, event.assumed);
    let line = Event { generation: event.generation.0.to_string(), allocation };
    match event.change {
        AllocationChange::Added => Line::Add(line),
        AllocationChange::Updated => Line::Update(line),
        AllocationChange::Removed => Line::Remove(line),
    }
}

fn push(lines: &mut Vec<u8>, line: &Line<'_>) {
    // A failure has been logged. The reader has to know that a line is missing.
    let text = codec::encode(line).unwrap_or_else(|_| br#"{"type":"LOST","count":1}"#.to_vec());
    lines.extend_from_slice(&text);
    lines.push(b'\n');
}
