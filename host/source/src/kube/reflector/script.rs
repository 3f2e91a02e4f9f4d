//! For tests: a scripted API server, and what a reflector delivers from it.
//!
//! Requests are answered in the order of the script. A server that is out of answers never answers.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use tokio::time::{Instant, Sleep, sleep};

use super::keys::Keys;
use super::objects::Objects;
use super::outlet::{Deliver, Outlet};
use super::task::ReflectorTask;
use crate::change::{Change, Compiler, ObjectChange, Record};
use crate::freshness::Freshness;
use crate::kube::failure::Failure;
use crate::kube::health::Health;
use crate::kube::metrics::Metrics;
use crate::kube::server::Server;
use nodesift_object::Kind;

/// One answer to a list.
#[derive(Debug, Clone)]
pub(in crate::kube) enum Answer {
    Page(String),
    No(Failure),
    Hang,
}

/// One step of a scripted watch.
#[derive(Debug, Clone)]
pub(in crate::kube) enum Do {
    Send(Vec<u8>),
    Pause(Duration),
    Cut,
    /// Sends nothing more, and does not end.
    Silence,
}

/// An API server that answers by a script.
#[derive(Default)]
pub(in crate::kube) struct Script {
    lists: Mutex<VecDeque<Answer>>,
    probes: Mutex<VecDeque<Answer>>,
    watches: Mutex<VecDeque<Result<Vec<Do>, Failure>>>,
    asked: Mutex<Vec<(Instant, String)>>,
}

impl Script {
    pub(in crate::kube) fn list(self, answer: Answer) -> Self {
        self.lists.lock().unwrap().push_back(answer);
        self
    }

    /// A list of one page.
    pub(in crate::kube) fn page(self, version: &str, items: &[String]) -> Self {
        self.list(Answer::Page(page(version, None, items)))
    }

    pub(in crate::kube) fn watch(self, steps: impl IntoIterator<Item = Do>) -> Self {
        self.watches.lock().unwrap().push_back(Ok(steps.into_iter().collect()));
        self
    }

    pub(in crate::kube) fn refuse_watch(self, failure: Failure) -> Self {
        self.watches.lock().unwrap().push_back(Err(failure));
        self
    }

    /// The answer to a probe. Without one the server knows every version.
    pub(in crate::kube) fn probe(self, answer: Answer) -> Self {
        self.probes.lock().unwrap().push_back(answer);
        self
    }

    /// The URI of every request so far.
    pub(in crate::kube) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().iter().map(|(_, uri)| uri.clone()).collect()
    }

    fn note(&self, uri: &str) {
        self.asked.lock().unwrap().push((Instant::now(), uri.to_owned()));
    }
}

impl Server for Script {
    type Chunks = Chunks;

    async fn list_page(&self, uri: &str) -> Result<Bytes, Failure> {
        let answer = if is_probe(uri) {
            let known = Answer::Page(page("18446744073709551615", None, &[]));
            self.probes.lock().unwrap().pop_front().unwrap_or(known)
        } else {
            self.lists.lock().unwrap().pop_front().unwrap_or(Answer::Hang)
        };
        self.note(uri);
        match answer {
            Answer::Page(text) => Ok(Bytes::from(text)),
            Answer::No(failure) => Err(failure),
            Answer::Hang => std::future::pending().await,
        }
    }

    async fn watch(&self, uri: &str) -> Result<Chunks, Failure> {
        self.note(uri);
        let answer = self.watches.lock().unwrap().pop_front().unwrap_or_else(|| Ok(vec![Do::Silence]));
        answer.map(|steps| Chunks { steps: steps.into(), pause: None })
    }
}

/// The body of a scripted watch.
pub(in crate::kube) struct Chunks {
    steps: VecDeque<Do>,
    pause: Option<Pin<Box<Sleep>>>,
}

impl Stream for Chunks {
    type Item = Result<Bytes, Failure>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(pause) = &mut self.pause {
                std::task::ready!(pause.as_mut().poll(context));
                self.pause = None;
            }
            match self.steps.pop_front() {
                None => return Poll::Ready(None),
                Some(Do::Send(bytes)) => return Poll::Ready(Some(Ok(Bytes::from(bytes)))),
                Some(Do::Cut) => return Poll::Ready(Some(Err(Failure::Transport("connection reset".to_owned())))),
                Some(Do::Pause(duration)) => self.pause = Some(Box::pin(sleep(duration))),
                Some(Do::Silence) => {
                    self.steps.push_front(Do::Silence);
                    return Poll::Pending;
                }
            }
        }
    }
}

/// Record of what a reflector did in a run.
pub(in crate::kube) struct Seen {
    /// Every request, with the time since the beginning.
    pub(in crate::kube) asked: Vec<(Duration, String)>,
    /// Every change, in words, with the time since the beginning.
    pub(in crate::kube) changes: Vec<(Duration, String)>,
    /// How many changes each delivery had.
    pub(in crate::kube) deliveries: Vec<usize>,
    /// The objects that exist in the end: key and version.
    pub(in crate::kube) objects: BTreeMap<String, String>,
    pub(in crate::kube) metrics: Metrics,
    /// The staleness in the end; `None` where nothing was ever confirmed.
    pub(in crate::kube) staleness: Option<Duration>,
    /// The report of health in the end.
    pub(in crate::kube) report: Option<String>,
}

impl Seen {
    pub(in crate::kube) fn watches(&self) -> Vec<(Duration, &str)> {
        let watches = self.asked.iter().filter(|(_, uri)| uri.contains("watch=1"));
        watches.map(|(at, uri)| (*at, uri.rsplit('=').next().unwrap())).collect()
    }

    pub(in crate::kube) fn lists(&self) -> Vec<Duration> {
        let lists = self.asked.iter().filter(|(_, uri)| !uri.contains("watch=1") && !is_probe(uri));
        lists.map(|(at, _)| *at).collect()
    }

    /// When probes were sent.
    pub(in crate::kube) fn probes(&self) -> Vec<Duration> {
        self.asked.iter().filter(|(_, uri)| is_probe(uri)).map(|(at, _)| *at).collect()
    }

    pub(in crate::kube) fn told(&self) -> Vec<&str> {
        self.changes.iter().map(|(_, change)| change.as_str()).collect()
    }
}

/// Reflects the pods of a scripted server for a time.
pub(in crate::kube) async fn reflect(script: Script, time: Duration) -> Seen {
    reflect_kind(Kind::Pod, script, time).await
}

pub(in crate::kube) async fn reflect_kind(kind: Kind, script: Script, time: Duration) -> Seen {
    reflect_server(kind, script, |script| script, time).await
}

/// Reflects a server that records its requests in a script.
pub(in crate::kube) async fn reflect_server<S: Server>(
    kind: Kind,
    server: S,
    script: impl Fn(&S) -> &Script,
    time: Duration,
) -> Seen {
    let began = Instant::now();
    let server = Arc::new(server);
    let changes: Arc<Mutex<Vec<(Instant, Change)>>> = Arc::default();
    let into = Arc::clone(&changes);
    let deliveries: Arc<Mutex<Vec<usize>>> = Arc::default();
    let counts = Arc::clone(&deliveries);
    let deliver: Deliver = Arc::new(move |changes| {
        counts.lock().unwrap().push(changes.len());
        into.lock().unwrap().extend(changes.into_iter().map(|change| (Instant::now(), change)));
    });
    let metrics = Metrics::default();
    let compiler = Compiler::new(&["default-scheduler".to_owned()]);
    let freshness = Freshness::default();
    let (_wanted, no_keys) = tokio::sync::watch::channel(Arc::default());
    let keys = Arc::new(Keys::new(kind, compiler, &no_keys));
    let health = Health::default();
    let outlet = Arc::new(Outlet::new(kind, deliver, freshness.clone(), health.clone()));
    outlet.count();
    let objects = Objects::new(kind, keys, outlet, metrics.clone());
    let task = ReflectorTask::new(kind.into(), Arc::clone(&server), objects, metrics.clone());
    let _time_is_up = tokio::time::timeout(time, task.run()).await;
    let asked = script(&server).asked.lock().unwrap().iter().map(|(at, uri)| (*at - began, uri.clone())).collect();
    let mut objects = BTreeMap::new();
    let mut told = Vec::new();
    for (at, change) in changes.lock().unwrap().drain(..) {
        told.push((at - began, tell(change, &mut objects)));
    }
    let deliveries = std::mem::take(&mut *deliveries.lock().unwrap());
    let (staleness, report) = (freshness.staleness(), health.report());
    Seen { asked, changes: told, deliveries, objects, metrics, staleness, report }
}

/// A change in words; `objects` are kept as an applier would keep them.
fn tell(change: Change, objects: &mut BTreeMap<String, String>) -> String {
    match change {
        Change::Object(ObjectChange::Applied(object)) => {
            let (key, version) = (object.identity.key.to_string(), object.identity.version.to_string());
            let told = format!("applied {key} {version}");
            objects.insert(key, version);
            told
        }
        Change::Object(ObjectChange::Deleted(identity)) => {
            objects.remove(&*identity.key);
            format!("deleted {}", identity.key)
        }
        Change::Object(other) => format!("unexpected: {other:?}"),
        Change::Dropped { .. } => {
            objects.clear();
            "dropped".to_owned()
        }
        Change::Replaced { objects: listed, version, .. } | Change::Recompiled { objects: listed, version, .. } => {
            let known = std::mem::take(objects);
            for object in &listed {
                let key = object.identity.key.to_string();
                let kept = match object.record {
                    Record::Unreadable => known.get(&key).cloned(),
                    _ => Some(object.identity.version.to_string()),
                };
                objects.extend(kept.map(|version| (key, version)));
            }
            format!("replaced by {} at {version}", listed.len())
        }
        Change::Restored { objects: listed, version, .. } => {
            objects.clear();
            objects.extend(
                listed.iter().map(|object| (object.identity.key.to_string(), object.identity.version.to_string())),
            );
            format!("restored to {} at {version}", listed.len())
        }
        Change::Bookmark { version, .. } => format!("bookmark {version}"),
    }
}

fn is_probe(uri: &str) -> bool {
    uri.split_once("?limit=1").is_some_and(|(_, rest)| rest.is_empty() || rest.starts_with('&'))
}

pub(in crate::kube) fn page(version: &str, next: Option<&str>, items: &[String]) -> String {
    let next = next.map(|next| format!(r#","continue":"{next}""#)).unwrap_or_default();
    format!(r#"{{"metadata":{{"resourceVersion":"{version}"{next}}},"items":[{}]}}"#, items.join(","))
}

pub(in crate::kube) fn pod(name: &str, version: u32) -> String {
    format!(r#"{{"metadata":{{"name":"{name}","namespace":"ns","uid":"u-{name}","resourceVersion":"{version}"}}}}"#)
}

pub(in crate::kube) fn broken(name: &str, version: u32) -> String {
    pod(name, version).replace("}}", r#"},"spec":{"overhead":{"cpu":"4x"}}}"#)
}

/// An event as a chunk of its own.
pub(in crate::kube) fn event(kind: &str, object: &str) -> Do {
    Do::Send(format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n").into_bytes())
}

pub(in crate::kube) fn bookmark(version: u32) -> Do {
    event("BOOKMARK", &format!(r#"{{"metadata":{{"resourceVersion":"{version}"}}}}"#))
}

pub(in crate::kube) fn expired() -> Failure {
    Failure::Expired { message: "too old resource version".to_owned() }
}

pub(in crate::kube) fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}
