//! One object that is followed by its name: what is known of it, as the server has written it. Start at [`Named`].
//!
//! The object is not interpreted beyond its metadata: whoever follows it says what it means. So one that is broken never ends the
//! watch.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, pending};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::task::{Restored, Sink, Turn};
use super::watch_lag::Said;
use crate::kube::decode::{self, Head, Line, check_kind};
use crate::kube::failure::{Failure, plain};
use crate::kube::health::Health;
use crate::kube::kinds::Resource;
use crate::kube::metrics::Metrics;
use crate::limits::NAMED_LIST_BYTES;

/// Last known state of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// The server does not serve its kind.
    NotServed,
    /// There is no object of this name.
    Absent,
    /// The object exists, as the server has written it.
    Present(NamedObject),
}

/// An object as the server has written it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedObject {
    /// UID of the object, `metadata.uid`.
    pub uid: Arc<str>,
    /// `metadata.generation`: it rises with each change that is not one of the status.
    pub generation: i64,
    /// The whole object, as JSON text.
    pub json: Arc<str>,
}

/// Delivers what is known of one object.
pub(in crate::kube) struct Named<D> {
    resource: Resource,
    name: Arc<str>,
    deliver: Arc<D>,
    health: Health,
    metrics: Metrics,
    /// The object, if a page of the list in progress has it.
    listed: Option<NamedObject>,
}

impl<D> Named<D> {
    /// Nothing has been read.
    pub(in crate::kube) fn new(
        resource: Resource,
        name: Arc<str>,
        deliver: Arc<D>,
        health: Health,
        metrics: Metrics,
    ) -> Self {
        Self { resource, name, deliver, health, metrics, listed: None }
    }
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Metadata<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    uid: Cow<'a, str>,
    #[serde(borrow)]
    resource_version: Cow<'a, str>,
    generation: i64,
    #[serde(borrow)]
    r#continue: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    metadata: Metadata<'a>,
}

/// An object and its metadata.
fn read(json: &RawValue) -> Result<(NamedObject, Metadata<'_>), Failure> {
    let Envelope { metadata } = serde_json::from_str(json.get()).map_err(|error| malformed(&error))?;
    let object =
        NamedObject { uid: Arc::from(&*metadata.uid), generation: metadata.generation, json: Arc::from(json.get()) };
    Ok((object, metadata))
}

impl<D: Fn(Seen) + Send + Sync> Named<D> {
    /// Decodes one line of a watch; returns what it says, and the state of the object that it shows, if any.
    fn event(&self, line: &[u8]) -> Result<(Said, Option<Seen>), Failure> {
        let line = Line::read(line)?;
        let (found, metadata) = read(line.object)?;
        let (label, seen) = match &*line.kind {
            "BOOKMARK" => ("bookmark", None),
            // A server that does not know the selector sends others too.
            _ if metadata.name != *self.name => ("other", None),
            "ADDED" | "MODIFIED" => ("applied", Some(Seen::Present(found))),
            "DELETED" => ("gone", Some(Seen::Absent)),
            _ => return Err(line.unknown()),
        };
        self.metrics.event(self.resource, label);
        let version = Arc::from(&*metadata.resource_version);
        Ok((if label == "bookmark" { Said::Bookmark(version) } else { Said::Event(version) }, seen))
    }
}

impl<D: Fn(Seen) + Send + Sync> Sink for Named<D> {
    fn changed(&self) -> BoxFuture<'static, ()> {
        pending().boxed()
    }

    fn turn(&mut self, _is_listing: bool) -> Option<Turn> {
        None
    }

    fn begin(&mut self) {
        self.listed = None;
    }

    async fn page(&mut self, body: Bytes) -> Result<Head, Failure> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct List<'a> {
            #[serde(borrow, default)]
            kind: Option<Cow<'a, str>>,
            #[serde(borrow, default)]
            api_version: Option<Cow<'a, str>>,
            #[serde(borrow, default)]
            metadata: Metadata<'a>,
            #[serde(borrow)]
            items: Option<Vec<&'a RawValue>>,
        }
        if body.len() > NAMED_LIST_BYTES {
            return Err(Failure::Malformed(format!("a list of more than {} MiB", NAMED_LIST_BYTES >> 20)));
        }
        let List { kind, api_version, metadata, items } =
            serde_json::from_slice(&body).map_err(|error| malformed(&error))?;
        check_kind(&self.resource, kind.as_deref(), api_version.as_deref()).map_err(|error| malformed(&error))?;
        if metadata.resource_version.is_empty() {
            return Err(malformed(&decode::Error::NoVersion));
        }
        for item in items.unwrap_or_default() {
            let (found, metadata) = read(item)?;
            if metadata.name == *self.name {
                self.listed = Some(found);
            }
        }
        let next = Some(metadata.r#continue.into_owned()).filter(|next| !next.is_empty());
        Ok(Head { version: Arc::from(&*metadata.resource_version), next })
    }

    async fn whole(&mut self, _version: Arc<str>, _restored: Restored) -> Result<(), Failure> {
        (self.deliver)(self.listed.take().map_or(Seen::Absent, Seen::Present));
        Ok(())
    }

    fn clear(&mut self) {
        self.listed = None;
    }

    fn absent(&mut self) {
        (self.deliver)(Seen::NotServed);
    }

    async fn lines(&mut self, lines: Vec<u8>) -> (Vec<Said>, Option<Failure>) {
        let (mut all, mut newest, mut failure) = (Vec::new(), None, None);
        for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
            match self.event(line) {
                Ok((said, seen)) => {
                    all.push(said);
                    newest = seen.or(newest);
                }
                Err(found) => {
                    failure = Some(found);
                    break;
                }
            }
        }
        // Of states that arrive together only the last matters.
        if let Some(seen) = newest {
            (self.deliver)(seen);
        }
        (all, failure)
    }

    fn confirm(&self, _at: Instant) {
        self.health.recovered(self.resource);
    }

    fn confirm_past(&self, _at: Instant) {}

    fn restored(&self, version: &str, seen: &str) {
        self.health.restored(self.resource, version, seen);
    }

    fn failed(&self, failure: &Failure) {
        self.health.failed(self.resource, failure);
    }
}

fn malformed(error: &impl std::fmt::Display) -> Failure {
    Failure::Malformed(plain(&error.to_string()))
}

#[cfg(test)]
mod tests;
