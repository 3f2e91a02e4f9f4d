//! GET /v1/events: changes of allocations, and watermarks that nodes cross, one JSON object a line.
//!
//! The first line names the generation at which the stream starts: a reader that takes a dump of the state afterwards skips
//! the events up to the dump's generation, and misses none. With `since=GENERATION` it starts there, with events that are still kept. A
//! reader that is too slow gets the number of events it has lost, and should take a new dump. With `format=yunikorn` the lines are those of
//! YuniKorn's event stream, of which a reader that is too slow gets no more. There the generation is in the header [`GENERATION`] alone.
//! Start at [`events`].

use std::convert::Infallible;
use std::time::Duration;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::{RawQuery, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Serialize;
use tokio::time::{Instant, sleep_until};

use super::event_lines::EventLine;
use super::query::{Format, parameters, unescaped};
use super::yunikorn_events::{EventRecord, Instance};
use crate::admission::scope::RequestScope;
use crate::protocols::json::codec;
use crate::{Error, Service, limits};
use nodesift_cache::{EventReader, Following, Generation, LostEvents};
use nodesift_edge::places::{self, Activity, Place};
use nodesift_edge::unsent::Endless;

/// Header of the generation at which a stream starts. It is more than `since` where events after that are not kept any more.
const GENERATION: &str = "nodesift-generation";

/// One line of the stream that is no event.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "UPPERCASE")]
enum Line {
    /// The stream starts after this generation.
    Start {
        generation: String,
        /// Identifies the cache: generations of another one cannot be compared with these.
        epoch: String,
    },
    /// This many events were dropped because the reader is too slow.
    Lost { count: u64 },
    /// No event for [`limits::STREAM_IDLE`]: the stream is alive.
    Bookmark,
}

/// The state of one stream.
struct EventStream {
    events: EventReader,
    /// The first line; `None` once that is sent.
    start: Option<Vec<u8>>,
    format: Format,
    service: Service,
    idle: Duration,
    place: Place,
    _endless: places::Endless,
    peer: Activity,
}

/// Streams events until the reader leaves or the process drains, with the parameters `since=GENERATION` and
/// `format=yunikorn`.
pub(crate) async fn events(
    State(service): State<Service>,
    Extension(scope): Extension<RequestScope>,
    RawQuery(query): RawQuery,
) -> Result<Response, Error> {
    service.readiness().check()?;
    let query = unescaped(query)?;
    let [since, format] = parameters(query.as_deref(), ["since", "format"])?;
    let format = Format::try_new(format)?;
    let since = since.map(str::parse::<u64>).transpose().map(|since| since.map(Generation));
    let since =
        since.map_err(|_| Error::invalid("query", "since is a generation: a whole number, from an earlier line"))?;
    let place = service.enter_stream(&scope).await?;
    let follow = move |service: &Service| Ok(service.writer().lock().follow_allocations(since));
    let Following { epoch, start: Generation(generation), events } = service.read_locked(scope.class, follow).await?;
    let (mut start, epoch) = (Vec::new(), epoch.0.to_string());
    match format {
        Format::Native => push(&mut start, &Line::Start { generation: generation.to_string(), epoch }),
        Format::YuniKorn => push(&mut start, &Instance { uuid: epoch }),
    }
    let state = EventStream {
        events,
        start: Some(start),
        format,
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
    response.headers_mut().insert(GENERATION, HeaderValue::from(generation));
    response.extensions_mut().insert(Endless);
    Ok(response)
}

impl EventStream {
    /// The next lines: all that are there, up to [`EVENTS_READ`](nodesift_cache::limits::EVENTS_READ); none once the process drains.
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(start) = self.start.take() {
            return Some(start.into());
        }
        let (mut lines, idle) = (Vec::new(), Instant::now() + self.idle);
        // The first look needs no wait: there may be more than were read last time.
        let mut is_there = true;
        while lines.is_empty() {
            tokio::select! {
                biased;
                () = self.service.readiness().drained() => return None,
                () = self.place.dismissed() => return None,
                () = self.peer.closing() => return None,
                () = std::future::ready(()), if is_there => {}
                is_open = self.events.wait() => if !is_open { return None },
                () = sleep_until(idle) => match self.format {
                    Format::Native => push(&mut lines, &Line::Bookmark),
                    // White space between documents.
                    Format::YuniKorn => lines.push(b'\n'),
                },
            }
            let events = self.events.read();
            is_there = events.as_ref().is_ok_and(|events| !events.is_empty());
            match (self.format, events) {
                (Format::Native, Ok(events)) => {
                    events.iter().for_each(|event| push(&mut lines, &EventLine::new(event)));
                }
                (Format::YuniKorn, Ok(events)) => {
                    let records = events.iter().filter_map(|event| EventRecord::try_new(event));
                    records.for_each(|record| push(&mut lines, &record));
                }
                (Format::Native, Err(LostEvents(count))) => push(&mut lines, &Line::Lost { count }),
                (Format::YuniKorn, Err(LostEvents(_))) => return None,
            }
        }
        self.place.activity().touch();
        Some(lines.into())
    }
}

fn push(lines: &mut Vec<u8>, line: &impl Serialize) {
    // A failure has been logged. The reader has to know that a line is missing.
    let text = codec::encode(line).unwrap_or_else(|_| br#"{"type":"LOST","count":1}"#.to_vec());
    lines.extend_from_slice(&text);
    lines.push(b'\n');
}
