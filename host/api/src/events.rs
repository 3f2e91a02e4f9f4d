//! GET /v1/events: allocations as they change, one JSON object a line.
//!
//! The first line names the generation at which the stream begins; a reader that takes a dump of the state afterwards
//! skips the events up to the dump's generation, and has missed nothing. A reader that is too slow is told how many
//! events it has lost, and should take a new dump.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Serialize;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::broadcast::{Receiver, error::RecvError};
use tokio::time::{Instant, sleep_until};

use super::Error;
use super::json;
use super::service::Service;
use super::state::Allocation;
use crate::limits;
use nodesift_cache::{AllocationChange, AllocationEvent, Generation};

/// One line of the stream.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "UPPERCASE")]
enum Line<'a> {
    /// The stream begins after this generation.
    Start { generation: String },
    /// A pod counts on a node from now on.
    Add(Event<'a>),
    /// It still counts on the same node, and something about it has changed.
    Update(Event<'a>),
    /// It counts there no longer.
    Remove(Event<'a>),
    /// This many events were dropped, because they were not read in time.
    Lost { count: u64 },
    /// Nothing has happened for a while; for whoever must know that the stream still lives.
    Bookmark,
}

#[derive(Debug, Serialize)]
struct Event<'a> {
    generation: String,
    #[serde(flatten)]
    allocation: Allocation<'a>,
}

struct Follower {
    events: Receiver<AllocationEvent>,
    /// Told first.
    start: Option<Generation>,
    service: Service,
    idle: Duration,
    _place: OwnedSemaphorePermit,
}

/// Follows allocations until the reader or the process ends.
pub(super) async fn events(State(service): State<Service>) -> Result<Response, Error> {
    service.readiness().check()?;
    let place = service.stream_permit()?;
    let (start, events) = service.write(|service| Ok(service.writer().lock().follow_allocations())).await?;
    let follower = Follower { events, start: Some(start), service, idle: limits::STREAM_IDLE, _place: place };
    let lines = stream::unfold(follower, |mut follower| async move {
        let bytes = follower.next().await?;
        Some((Ok::<_, Infallible>(bytes), follower))
    });
    Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(lines)).into_response())
}

impl Follower {
    /// The next lines: as many as are there, up to a buffer full. None once the process is about to end.
    async fn next(&mut self) -> Option<Bytes> {
        let mut lines = Vec::new();
        if let Some(Generation(generation)) = self.start.take() {
            push(&mut lines, &Line::Start { generation: generation.to_string() });
            return Some(lines.into());
        }
        let idle = sleep_until(Instant::now() + self.idle);
        let first = tokio::select! {
            () = self.service.readiness().drained() => return None,
            () = idle => {
                push(&mut lines, &Line::Bookmark);
                return Some(lines.into());
            }
            first = self.events.recv() => first,
        };
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
    let allocation = Allocation::of(&event.pod, event.assumed);
    let told = Event { generation: event.generation.0.to_string(), allocation };
    match event.change {
        AllocationChange::Added => Line::Add(told),
        AllocationChange::Updated => Line::Update(told),
        AllocationChange::Removed => Line::Remove(told),
    }
}

fn push(lines: &mut Vec<u8>, line: &Line<'_>) {
    // What does not encode was logged; a line that is left out would be taken for nothing happening.
    let text = json::encode(line).unwrap_or_else(|_| br#"{"type":"LOST","count":1}"#.to_vec());
    lines.extend_from_slice(&text);
    lines.push(b'\n');
}
