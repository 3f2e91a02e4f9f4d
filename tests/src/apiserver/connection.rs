//! One connection: requests are read one after the other, recorded, and answered from the store, with the script's faults.

use std::io::{self, BufReader};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Shared;
use super::body::{self, Body};
use super::request::{self, Request, Token};
use super::resource::{self, RESOURCES};
use super::script::{Fault, Verb, status};
use super::store::{Entry, Event, Stored, Version};

/// How often an idle watch checks whether its client is still connected.
const LOOK: Duration = Duration::from_millis(50);

/// Duration of a watch for which the client sets no timeout.
const WATCH_TIME: Duration = Duration::from_secs(300);

/// Entries of the history that are sent at once.
const TOLD_AT_ONCE: usize = 1_000;

/// The state of a list when its first page was requested.
#[derive(Debug)]
pub(super) struct Listed {
    version: Version,
    objects: Vec<Arc<Stored>>,
}

/// Serves a connection to its end.
pub(super) fn serve(shared: &Shared, number: u64, stream: &TcpStream) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    while let Some(request) = request::read(&mut reader)? {
        // Not recorded: it is asked for from time to time, and is nothing of a cluster.
        if request.path == "/version" && !shared.is_frozen() {
            match shared.release() {
                Some(version) => body::answer(stream, 200, None, &version)?,
                None => refuse(stream, &Fault::not_found())?,
            }
            continue;
        }
        // Before the request is counted, so that a test that waits for the watch can end or cut it.
        let watched = request.is_watch().then_some(request.kind).filter(|kind| !kind.is_empty());
        let endings = watched.map_or(0, |kind| shared.store().endings(resource::place(kind)));
        let faults = {
            // Under the same lock: a test that sees this watch can script the fault of the next one.
            let mut script = shared.script();
            shared.watched(number, watched);
            shared.record(request.clone());
            script.meet(request.kind, request.verb)
        };
        if shared.is_frozen() {
            return hang(shared, stream);
        }
        if !shared.admits(&request) {
            body::answer(stream, 401, None, &status(401, "Unauthorized", "Unauthorized"))?;
            continue;
        }
        for fault in &faults {
            match fault {
                Fault::Hang => return hang(shared, stream),
                Fault::Late(time) => pause(*time),
                _ => {}
            }
        }
        let refused = faults.iter().find_map(|fault| match fault {
            Fault::Status { code, status, retry_after } => Some((*code, *retry_after, status)),
            _ => None,
        });
        if let Some((code, retry_after, status)) = refused {
            body::answer(stream, code, retry_after, status)?;
        } else if request.kind.is_empty() {
            let status = status(404, "NotFound", "the server could not find the requested resource");
            body::answer(stream, 404, None, &status)?;
        } else if request.verb == Verb::Apply {
            apply(shared, stream, &request)?;
        } else if request.verb == Verb::Watch {
            watch(shared, stream, &request, &faults, Place { connection: number, endings })?;
        } else {
            list(shared, stream, &request, &faults)?;
        }
    }
    Ok(())
}

/// Answers a server-side apply of a status: 200, 409 for another UID, or 404.
fn apply(shared: &Shared, stream: &TcpStream, request: &Request) -> io::Result<()> {
    let Some((resource, name)) = resource::at_status(&request.path) else { return refuse(stream, &Fault::not_found()) };
    let applied: Value = serde_json::from_str(&request.body).map_err(io::Error::other)?;
    let outcome = shared.store().apply_status(resource.kind, name, request.parameter("fieldManager"), &applied);
    shared.wake(resource::place(resource.kind));
    match outcome {
        Some(true) => body::answer(stream, 200, None, &applied),
        Some(false) => body::answer(stream, 409, None, &status(409, "Conflict", "Precondition failed: UID")),
        None => refuse(stream, &Fault::not_found()),
    }
}

fn list(shared: &Shared, stream: &TcpStream, request: &Request, faults: &[Fault]) -> io::Result<()> {
    let place = resource::place(request.kind);
    let token = match Token::read(request.parameter("continue")) {
        Some(token) => token,
        None => {
            let store = shared.store();
            let stale = faults.iter().find_map(|fault| match fault {
                Fault::Stale(version) => Some(*version),
                _ => None,
            });
            let asked = store.read(request.parameter("resourceVersion")).unwrap_or_default();
            if asked > store.version() {
                drop(store);
                return refuse(stream, &Fault::too_large_version());
            }
            let objects = match stale {
                Some(version) => store.at(place, version).into_values().collect(),
                None => store.at_place(place).values().cloned().collect(),
            };
            let listed = Listed { version: stale.unwrap_or(store.version()), objects };
            drop(store);
            Token { list: shared.keep(listed), offset: 0, page: 1 }
        }
    };
    let Some(listed) = shared.listed(token.list) else { return refuse(stream, &Fault::expired()) };
    let mut body = body_of(stream, faults)?;
    body.send(page(shared, request, &listed, token).as_bytes())?;
    body.end()
}

/// One page as text.
fn page(shared: &Shared, request: &Request, listed: &Listed, token: Token) -> String {
    let limit = request.parameter("limit").parse().ok().filter(|limit| *limit > 0).unwrap_or(usize::MAX);
    let rest = listed.objects.get(token.offset..).unwrap_or_default();
    let (now, later) = rest.split_at(limit.min(rest.len()));
    let mut metadata = json!({"resourceVersion": shared.store().written(listed.version)});
    if !later.is_empty() {
        let next = Token { offset: token.offset + now.len(), page: token.page + 1, ..token };
        metadata["continue"] = json!(next.written());
        metadata["remainingItemCount"] = json!(later.len());
    }
    let resource = RESOURCES.iter().find(|resource| resource.kind == request.kind);
    let api_version = resource.map_or("", |resource| resource.api_version);
    let items = now.iter().map(|stored| stored.text.as_str()).collect::<Vec<_>>().join(",");
    format!(r#"{{"kind":"{}List","apiVersion":"{api_version}","metadata":{metadata},"items":[{items}]}}"#, request.kind)
}

fn refuse(stream: &TcpStream, fault: &Fault) -> io::Result<()> {
    let Fault::Status { code, status, retry_after } = fault else { return Ok(()) };
    body::answer(stream, *code, *retry_after, status)
}

fn body_of<'a>(stream: &'a TcpStream, faults: &[Fault]) -> io::Result<Body<'a>> {
    let find = |of: fn(&Fault) -> Option<usize>| faults.iter().find_map(of);
    let cut = find(|fault| if let Fault::Cut(bytes) = fault { Some(*bytes) } else { None });
    let chunk = find(|fault| if let Fault::Chunks(bytes) = fault { Some(*bytes) } else { None });
    Body::begin(stream, cut, chunk)
}

/// The state of a watch.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// Number of its connection.
    connection: u64,
    /// How often watches of its kind had been ended when it was requested.
    endings: usize,
}

/// Sends events until its timeout, or until watches of the kind are ended.
fn watch(shared: &Shared, stream: &TcpStream, request: &Request, faults: &[Fault], here: Place) -> io::Result<()> {
    let place = resource::place(request.kind);
    let mut telling = Telling {
        shared,
        place,
        body: body_of(stream, faults)?,
        told: 0,
        silent_after: faults.iter().find_map(|fault| match fault {
            Fault::SilentAfter(events) => Some(*events),
            _ => None,
        }),
        expired_after: faults.iter().find_map(|fault| match fault {
            Fault::ExpiredAfter(events) => Some(*events),
            _ => None,
        }),
        twice: faults.iter().any(|fault| matches!(fault, Fault::Twice)),
        bookmarks: request.flag("allowWatchBookmarks"),
    };
    let together = faults.iter().any(|fault| matches!(fault, Fault::Together));
    let asked = request.parameter("timeoutSeconds").parse().map_or(WATCH_TIME, Duration::from_secs);
    let end = Instant::now() + shared.watch_time().map_or(asked, |most| most.min(asked));

    // Unregistered before its end is sent: a client that has seen the end must not find it open.
    let end_of = |telling: Telling<'_>| {
        shared.watched(here.connection, None);
        telling.body.end()
    };

    let mut position = match shared.store().read(request.parameter("resourceVersion")) {
        Some(version) if version > 0 => version,
        _ => 0,
    };
    if position == 0 || request.flag("sendInitialEvents") {
        let (version, objects) = {
            let store = shared.store();
            (store.version(), store.at_place(place).values().cloned().collect::<Vec<_>>())
        };
        for stored in objects {
            if telling.tell(&Event::Added(stored), version)? == Told::Silent {
                return hang(shared, stream);
            }
        }
        if request.flag("sendInitialEvents") {
            telling.bookmark(version, true)?;
        }
        position = version;
    } else if position < shared.store().compacted() {
        telling.expire()?;
        return end_of(telling);
    }

    let begun = position;
    let mut spoke = Instant::now();
    loop {
        if telling.expired_after == Some(telling.told) {
            telling.expire()?;
            return end_of(telling);
        }
        if telling.silent_after == Some(telling.told) || shared.is_frozen() {
            return hang(shared, stream);
        }
        let wait = end.saturating_duration_since(Instant::now());
        let (entries, version) = shared.after(place, position, TOLD_AT_ONCE, wait.min(LOOK));
        if together {
            telling.body.hold();
        }
        for Entry { event, version, .. } in &entries {
            match telling.tell(event, *version)? {
                Told::Silent => return hang(shared, stream),
                Told::Expired => {
                    telling.expire()?;
                    return end_of(telling);
                }
                Told::On => position = *version,
            }
        }
        telling.body.release()?;
        if entries.len() < TOLD_AT_ONCE {
            position = version;
        }
        if !entries.is_empty() {
            spoke = Instant::now();
            continue;
        }
        if shared.bookmark_period().is_some_and(|period| spoke.elapsed() >= period) {
            telling.bookmark(position, false)?;
            spoke = Instant::now();
        }
        let is_ended = shared.store().endings(place) > here.endings;
        if is_ended || Instant::now() >= end {
            // As a real server does: the last bookmark of a watch names the version from which to resume, unless it began there.
            if position > begun {
                telling.bookmark(position, false)?;
            }
            return end_of(telling);
        }
        if shared.is_over() || body::is_closed(stream) {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
    }
}

/// A watch that sends events.
struct Telling<'a> {
    shared: &'a Shared,
    place: usize,
    body: Body<'a>,
    /// Number of events sent.
    told: usize,
    silent_after: Option<usize>,
    expired_after: Option<usize>,
    twice: bool,
    bookmarks: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Told {
    On,
    Silent,
    Expired,
}

impl Telling<'_> {
    fn tell(&mut self, event: &Event, version: Version) -> io::Result<Told> {
        if self.silent_after == Some(self.told) {
            return Ok(Told::Silent);
        }
        if self.expired_after == Some(self.told) {
            return Ok(Told::Expired);
        }
        let line = match event {
            Event::Added(stored) => line("ADDED", &stored.whole(self.place)),
            Event::Modified(stored) => line("MODIFIED", &stored.whole(self.place)),
            Event::Deleted(stored) => line("DELETED", &stored.whole(self.place)),
            Event::Line(line) => format!("{line}\n"),
            Event::Bookmark => {
                self.bookmark(version, false)?;
                return Ok(Told::On);
            }
        };
        self.told += 1;
        self.body.send(line.as_bytes())?;
        if self.twice {
            self.body.send(line.as_bytes())?;
        }
        Ok(Told::On)
    }

    fn bookmark(&mut self, version: Version, after_initial_events: bool) -> io::Result<()> {
        if !self.bookmarks {
            return Ok(());
        }
        let Some(resource) = RESOURCES.get(self.place) else { return Ok(()) };
        let mut metadata = json!({"resourceVersion": self.shared.store().written(version)});
        if after_initial_events {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let object = json!({"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata});
        self.body.send(line("BOOKMARK", &object.to_string()).as_bytes())
    }

    fn expire(&mut self) -> io::Result<()> {
        let status: Value = status(410, "Expired", "too old resource version");
        self.body.send(line("ERROR", &status.to_string()).as_bytes())
    }
}

fn line(kind: &str, object: &str) -> String {
    format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n")
}

/// Sends nothing more and does not close, until the client or the server does.
fn hang(shared: &Shared, stream: &TcpStream) -> io::Result<()> {
    while !shared.is_over() && !body::is_closed(stream) {
        std::thread::park_timeout(LOOK);
    }
    Err(io::ErrorKind::ConnectionAborted.into())
}

/// Waits: the fault is a late answer.
fn pause(time: Duration) {
    let end = Instant::now() + time;
    while let Some(left) = end.checked_duration_since(Instant::now()) {
        std::thread::park_timeout(left);
    }
}
