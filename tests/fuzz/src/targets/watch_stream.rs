//! The bytes of a watch, and of a page of a list: decoded the same way however they are cut into chunks, and applied to a
//! cache that a recount agrees with. An input is one event per line; the kind is the first that it names.

use std::collections::BTreeSet;
use std::hash::{Hash as _, Hasher as _};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::Stream;
use nodesift_cache as cache;
use nodesift_fixtures::json;
use nodesift_fixtures::random::{Event, History};
use nodesift_object::Kind;
use nodesift_source::change::{Change, Compiler};
use nodesift_source::feed::{self, Feed};
use nodesift_source::freshness::Freshness;
use nodesift_source::kube::{self, Deliver, Failure, Server, decode};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::sync::Notify;

use crate::{Behaviour, shape};

/// The empty list that comes before the watch.
const EMPTY: &[u8] = br#"{"metadata":{"resourceVersion":"1"},"items":[]}"#;

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime"));

/// The bytes, whole and cut.
pub fn run(input: &[u8]) -> Behaviour {
    let kind = kind(input);
    let compiler = Compiler::new(&["default-scheduler".to_owned()]);
    let page = decode::page(kind, input, &compiler);
    let seen_of_page = match &page {
        Ok(page) => format!("{} {}", page.objects.len(), page.unreadable.len()),
        Err(error) => shape(&error.to_string()),
    };

    let whole = watched(kind, vec![Bytes::copy_from_slice(input)], &compiler);
    let cut = watched(kind, cut(input), &compiler);
    let shown = |changes: &[Change]| changes.iter().map(|change| format!("{change:?}")).collect::<Vec<_>>();
    assert_eq!(shown(&whole), shown(&cut), "in one chunk, and in several");
    let seen: Vec<String> = whole.iter().map(|change| shape(&format!("{change:?}"))).collect();
    apply(whole);
    Behaviour::new((kind, seen, seen_of_page))
}

/// Feeds changes to a cache, and recounts it.
fn apply(changes: Vec<Change>) {
    let (writer, _reader) = cache::new();
    let writer = Arc::new(parking_lot::Mutex::new(writer));
    let feed = Feed::start(Arc::clone(&writer), feed::Metrics::default()).expect("a thread");
    let uid = "the-last-object";
    let last = RUNTIME.block_on(async {
        let applied = feed.changed(Kind::Namespace, uid);
        feed.deliver(changes);
        let marker = format!(r#"{{"metadata":{{"name":"{uid}","uid":"{uid}","resourceVersion":"1"}}}}"#);
        let object = nodesift_object::decode::decode(Kind::Namespace, &marker).expect("a namespace");
        let compiled = Compiler::new(&[]).compile(&object);
        feed.deliver(vec![nodesift_source::change::ObjectChange::Applied(compiled).into()]);
        applied.await
    });
    assert!(last.is_ok(), "the feed has ended: {last:?}");
    let mut writer = writer.lock();
    let rows = writer.audit_rows();
    let drift = writer.audit(0..rows);
    assert!(drift.is_empty(), "a recount differs: {drift:?}");
}

/// The changes that a reflector delivers of a watch with these chunks.
fn watched(kind: Kind, chunks: Vec<Bytes>, compiler: &Compiler) -> Vec<Change> {
    let ended = Arc::new(Notify::new());
    let server = Script { listed: AtomicBool::new(false), chunks: Mutex::new(Some(chunks)), ended: Arc::clone(&ended) };
    let server = Arc::new(server);
    let delivered = Arc::new(Mutex::new(Vec::new()));
    let taken = Arc::clone(&delivered);
    let deliver: Deliver =
        Arc::new(move |changes| taken.lock().unwrap_or_else(PoisonError::into_inner).extend(changes));
    RUNTIME.block_on(async {
        let kinds = BTreeSet::from([kind]);
        let (freshness, health, metrics) = (Freshness::default(), kube::Health::default(), kube::Metrics::default());
        let following = kube::Following::new(&server, compiler, &deliver, (&freshness, &health), &metrics);
        let _lease = following.lease(kinds, compiler.selection());
        ended.notified().await;
    });
    std::mem::take(&mut *delivered.lock().unwrap_or_else(PoisonError::into_inner))
}

/// A server with one list and one watch.
struct Script {
    listed: AtomicBool,
    chunks: Mutex<Option<Vec<Bytes>>>,
    /// Notified when the watch has been read, to its end or to what cannot be read.
    ended: Arc<Notify>,
}

impl Server for Script {
    type Chunks = Chunks;

    async fn list_page(&self, _uri: &str) -> Result<Bytes, Failure> {
        if self.listed.swap(true, Ordering::Relaxed) {
            return std::future::pending().await;
        }
        Ok(Bytes::from_static(EMPTY))
    }

    async fn watch(&self, _uri: &str) -> Result<Chunks, Failure> {
        let chunks = self.chunks.lock().unwrap_or_else(PoisonError::into_inner).take();
        match chunks {
            Some(chunks) => Ok(Chunks { left: chunks.into_iter(), ended: Arc::clone(&self.ended) }),
            None => std::future::pending().await,
        }
    }
}

/// The body of the watch, which stays open.
struct Chunks {
    left: std::vec::IntoIter<Bytes>,
    ended: Arc<Notify>,
}

impl Stream for Chunks {
    type Item = Result<Bytes, Failure>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.left.next() {
            Some(chunk) => Poll::Ready(Some(Ok(chunk))),
            None => {
                // Everything before was delivered.
                self.ended.notify_one();
                Poll::Pending
            }
        }
    }
}

impl Drop for Chunks {
    fn drop(&mut self) {
        self.ended.notify_one();
    }
}

/// The kind that the input names first.
fn kind(input: &[u8]) -> Kind {
    const FIELD: &[u8] = br#""kind":""#;
    let named = input.windows(FIELD.len()).position(|window| window == FIELD).map(|at| &input[at + FIELD.len()..]);
    let named = named.and_then(|rest| rest.split(|byte| *byte == b'"').next());
    Kind::ALL.into_iter().find(|kind| named == Some(kind.name().as_bytes())).unwrap_or(Kind::Pod)
}

/// The input in chunks, cut where its content says.
fn cut(input: &[u8]) -> Vec<Bytes> {
    const CHUNK_BYTES: usize = 40;
    let mut hasher = std::hash::DefaultHasher::new();
    input.hash(&mut hasher);
    let mut random = fastrand::Rng::with_seed(hasher.finish());
    let (mut chunks, mut left) = (Vec::new(), input);
    while !left.is_empty() {
        let (chunk, rest) = left.split_at(random.usize(1..=CHUNK_BYTES.min(left.len())));
        chunks.push(Bytes::copy_from_slice(chunk));
        left = rest;
    }
    chunks
}

/// Events of objects of one kind in a random history.
pub fn generate(random: &mut fastrand::Rng) -> Vec<u8> {
    let mut history = History::new(random.u64(..));
    let kind = *random.choice(&["Pod", "Pod", "Node", "PersistentVolumeClaim"]).unwrap_or(&"Pod");
    let events: Vec<Event> = (0..8).flat_map(|_| history.advance()).collect();
    let mut version = 1_u64;
    let mut line = |object: &Value, event: &str| {
        version += 1;
        let mut object = object.clone();
        object["metadata"]["resourceVersion"] = json!(version.to_string());
        json!({"type": event, "object": object}).to_string()
    };
    let lines = events.iter().filter_map(|event| match event {
        Event::Apply(object) if json::text(object, "kind") == kind => Some(line(object, "MODIFIED")),
        Event::Remove(object) if json::text(object, "kind") == kind => Some(line(object, "DELETED")),
        _ => None,
    });
    lines.take(6).map(|line| line + "\n").collect::<String>().into_bytes()
}
