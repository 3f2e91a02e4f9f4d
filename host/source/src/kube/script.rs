//! For tests: a scripted API server at the trait's edge, and what a follower tells about it.
//!
//! Questions are answered in the order of the script; a server that is out of answers is silent.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use tokio::time::{Instant, Sleep, sleep};

use super::failure::Failure;
use super::follower::{Deliver, Follower};
use super::metrics::Metrics;
use super::server::Server;
use crate::change::{Change, Compiler, Record};
use crate::freshness::Freshness;
use nodesift_object::Kind;

/// One answer to a list.
#[derive(Debug, Clone)]
pub(super) enum Answer {
    Page(String),
    No(Failure),
    Hang,
}

/// One thing that a watch does.
#[derive(Debug, Clone)]
pub(super) enum Do {
    Send(Vec<u8>),
    Pause(Duration),
    Cut,
    /// No byte more, and no end.
    Silence,
}

/// An API server that answers as it was told.
#[derive(Default)]
pub(super) struct Script {
    lists: Mutex<VecDeque<Answer>>,
    watches: Mutex<VecDeque<Result<Vec<Do>, Failure>>>,
    asked: Mutex<Vec<(Instant, String)>>,
}

impl Script {
    pub(super) fn list(self, answer: Answer) -> Self {
        self.lists.lock().unwrap().push_back(answer);
        self
    }

    /// A list of one page.
    pub(super) fn page(self, version: &str, items: &[String]) -> Self {
        self.list(Answer::Page(page(version, None, items)))
    }

    pub(super) fn watch(self, steps: impl IntoIterator<Item = Do>) -> Self {
        self.watches.lock().unwrap().push_back(Ok(steps.into_iter().collect()));
        self
    }

    pub(super) fn refuse_watch(self, failure: Failure) -> Self {
        self.watches.lock().unwrap().push_back(Err(failure));
        self
    }

    /// Every question so far.
    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().iter().map(|(_, uri)| uri.clone()).collect()
    }

    fn note(&self, uri: &str) {
        self.asked.lock().unwrap().push((Instant::now(), uri.to_owned()));
    }
}

impl Server for Script {
    type Chunks = Chunks;

    async fn list_page(&self, uri: &str) -> Result<Bytes, Failure> {
        self.note(uri);
        let answer = self.lists.lock().unwrap().pop_front().unwrap_or(Answer::Hang);
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
pub(super) struct Chunks {
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

/// What became of a run.
pub(super) struct Seen {
    /// Every question, with the time since the beginning.
    pub(super) asked: Vec<(Duration, String)>,
    /// Every change, in words, with the time since the beginning.
    pub(super) changes: Vec<(Duration, String)>,
    /// How many changes were handed over at once, each time.
    pub(super) handed_over: Vec<usize>,
    /// The objects that are there in the end: key and version.
    pub(super) objects: BTreeMap<String, String>,
    pub(super) metrics: Metrics,
    /// For how long nothing was known to be current, in the end; none where nothing ever was.
    pub(super) staleness: Option<Duration>,
}

impl Seen {
    pub(super) fn watches(&self) -> Vec<(Duration, &str)> {
        let watches = self.asked.iter().filter(|(_, uri)| uri.contains("watch=1"));
        watches.map(|(at, uri)| (*at, uri.rsplit('=').next().unwrap())).collect()
    }

    pub(super) fn lists(&self) -> Vec<Duration> {
        self.asked.iter().filter(|(_, uri)| !uri.contains("watch=1")).map(|(at, _)| *at).collect()
    }

    pub(super) fn told(&self) -> Vec<&str> {
        self.changes.iter().map(|(_, change)| change.as_str()).collect()
    }
}

/// Follows pods of a scripted server for a time.
pub(super) async fn follow(script: Script, time: Duration) -> Seen {
    follow_kind(Kind::Pod, script, time).await
}

pub(super) async fn follow_kind(kind: Kind, script: Script, time: Duration) -> Seen {
    follow_server(kind, script, |script| script, time).await
}

/// Follows a server that keeps its questions in a script.
pub(super) async fn follow_server<S: Server>(
    kind: Kind,
    server: S,
    script: impl Fn(&S) -> &Script,
    time: Duration,
) -> Seen {
    let began = Instant::now();
    let server = Arc::new(server);
    let changes: Arc<Mutex<Vec<(Instant, Change)>>> = Arc::default();
    let into = Arc::clone(&changes);
    let handed_over: Arc<Mutex<Vec<usize>>> = Arc::default();
    let counts = Arc::clone(&handed_over);
    let deliver: Deliver = Arc::new(move |changes| {
        counts.lock().unwrap().push(changes.len());
        into.lock().unwrap().extend(changes.into_iter().map(|change| (Instant::now(), change)));
    });
    let metrics = Metrics::default();
    let compiler = Compiler::new(&["default-scheduler".to_owned()]);
    let freshness = Freshness::default();
    let follower = Follower::new(kind, compiler, Arc::clone(&server), deliver, freshness.clone(), metrics.clone());
    let _time_is_up = tokio::time::timeout(time, follower.run()).await;
    let asked = script(&server).asked.lock().unwrap().iter().map(|(at, uri)| (*at - began, uri.clone())).collect();
    let mut objects = BTreeMap::new();
    let mut told = Vec::new();
    for (at, change) in changes.lock().unwrap().drain(..) {
        told.push((at - began, tell(change, &mut objects)));
    }
    let handed_over = std::mem::take(&mut *handed_over.lock().unwrap());
    Seen { asked, changes: told, handed_over, objects, metrics, staleness: freshness.staleness() }
}

/// A change in words; what is there is kept as an applier would keep it.
fn tell(change: Change, objects: &mut BTreeMap<String, String>) -> String {
    match change {
        Change::Applied(object) => {
            let (key, version) = (object.identity.key.to_string(), object.identity.version.to_string());
            let told = format!("applied {key} {version}");
            objects.insert(key, version);
            told
        }
        Change::Gone(identity) => {
            objects.remove(&*identity.key);
            format!("gone {}", identity.key)
        }
        Change::Replaced { objects: listed, version, .. } => {
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
        Change::Seen { version, .. } => format!("seen {version}"),
    }
}

pub(super) fn page(version: &str, next: Option<&str>, items: &[String]) -> String {
    let next = next.map(|next| format!(r#","continue":"{next}""#)).unwrap_or_default();
    format!(r#"{{"metadata":{{"resourceVersion":"{version}"{next}}},"items":[{}]}}"#, items.join(","))
}

pub(super) fn pod(name: &str, version: u32) -> String {
    format!(r#"{{"metadata":{{"name":"{name}","namespace":"ns","uid":"u-{name}","resourceVersion":"{version}"}}}}"#)
}

pub(super) fn broken(name: &str, version: u32) -> String {
    pod(name, version).replace("}}", r#"},"spec":{"overhead":{"cpu":"4x"}}}"#)
}

/// An event as a chunk of its own.
pub(super) fn event(kind: &str, object: &str) -> Do {
    Do::Send(format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n").into_bytes())
}

pub(super) fn bookmark(version: u32) -> Do {
    event("BOOKMARK", &format!(r#"{{"metadata":{{"resourceVersion":"{version}"}}}}"#))
}

pub(super) fn gone() -> Failure {
    Failure::Expired { message: "too old resource version".to_owned() }
}

pub(super) fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}
