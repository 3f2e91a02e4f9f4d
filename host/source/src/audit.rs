//! The self-check: now and then, and when asked, the cache is compared with itself and with a fresh list of the server's.
//!
//! First the cells: every pod must be on its node, and what columns hold is counted once more from the pods behind it. Then
//! the objects: what the server lists must be held, at the same version with the same content, and what is held must be
//! listed. A watch is always a little behind, so only what still differs from a second list a while later counts. The first
//! difference is logged with its object, all are counted and put right. Start at [`Audit::once`].

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use futures_util::future::BoxFuture;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use rustc_hash::{FxHashMap, FxHashSet};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use super::change::{Compiled, Identity, Record};
use super::feed::{Feed, Ledger};
use super::kube::Listed;
use crate::limits::{AUDIT_OBJECTS, AUDIT_PERIOD, AUDIT_ROWS, AUDIT_SETTLE};
use nodesift_cache::{Drift, Reader, SharedWriter, Writer};
use nodesift_object::Kind;
use nodesift_object::version::{compare, is_newer};

/// Lists all objects of a kind, as new as the server has them.
pub type List = Box<dyn Fn(Kind) -> BoxFuture<'static, Result<Listed, Box<dyn Error + Send + Sync>>> + Send + Sync>;

/// What was compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelValue)]
enum Part {
    Cells,
    Objects,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfPart {
    part: Part,
}

/// Counters of the audit; clones share them.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    runs: Counter,
    failures: Counter,
    differences: Family<OfPart, Counter>,
    duration: Gauge<f64, AtomicU64>,
}

impl Metrics {
    /// Metrics that show up in a registry.
    pub fn register(registry: &mut Registry) -> Self {
        let all = Self::default();
        registry.register("nodesift_audit_runs", "Self-checks that came to their end", all.runs.clone());
        registry.register(
            "nodesift_audit_failures",
            "Kinds that could not be listed for a self-check",
            all.failures.clone(),
        );
        let help = "What self-checks found different and put right";
        registry.register("nodesift_audit_differences", help, all.differences.clone());
        let help = "Time that the last self-check took, waits included";
        registry.register("nodesift_audit_last_duration_seconds", help, all.duration.clone());
        all
    }
}

/// Why an object differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Why {
    /// It is listed and not held.
    Missing,
    /// It is held and not listed.
    Extra,
    /// It is held at an older version.
    Outdated,
    /// It is held at this version with another content.
    Different,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "listed and not held",
            Self::Extra => "held and not listed",
            Self::Outdated => "held at an older version",
            Self::Different => "held with another content",
        })
    }
}

/// What differs between the cache and a list, by UID.
type Suspects = FxHashMap<Arc<str>, (Why, Identity)>;

/// Compares the cache with itself and with the server.
pub struct Audit {
    writer: SharedWriter,
    reader: Reader,
    feed: Feed,
    kinds: Vec<Kind>,
    list: List,
    metrics: Metrics,
    wanted: Arc<Notify>,
    /// Whether a difference ends the process: tests want that.
    is_fatal: bool,
}

impl fmt::Debug for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Audit").field("kinds", &self.kinds).finish_non_exhaustive()
    }
}

/// Set in tests of the whole: a difference then ends the process.
const FATAL: &str = "NODESIFT_AUDIT_ABORTS";

impl Audit {
    /// An audit of what a feed writes, against lists of `kinds`; without kinds, as with files, of the cells alone.
    pub fn new(writer: SharedWriter, feed: Feed, kinds: Vec<Kind>, list: List, metrics: Metrics) -> Self {
        let is_fatal = std::env::var_os(FATAL).is_some_and(|value| !value.is_empty());
        let reader = writer.lock().reader();
        Self { writer, reader, feed, kinds, list, metrics, wanted: Arc::default(), is_fatal }
    }

    /// Notify it to have a self-check begin now.
    pub fn wanted(&self) -> Arc<Notify> {
        Arc::clone(&self.wanted)
    }

    /// Checks for ever: after each [`AUDIT_PERIOD`] and up to half as long again, and when asked.
    pub async fn run(self) {
        loop {
            let jitter = AUDIT_PERIOD.mul_f64(fastrand::f64() / 2.0);
            tokio::select! {
                () = sleep(AUDIT_PERIOD + jitter) => {}
                () = self.wanted.notified() => {}
            }
            let differences = self.once().await;
            tracing::info!(differences, "self-check done");
        }
    }

    /// Checks once; returns how much differed and was put right.
    pub async fn once(&self) -> usize {
        let began = Instant::now();
        let mut differences = self.cells().await;
        for kind in &self.kinds {
            differences += match self.objects(*kind).await {
                Ok(differences) => differences,
                Err(error) => {
                    self.metrics.failures.inc();
                    tracing::warn!(%kind, %error, "no list to compare with");
                    0
                }
            };
        }
        self.metrics.runs.inc();
        self.metrics.duration.set(began.elapsed().as_secs_f64());
        differences
    }

    /// Looks whether every pod is where it has to be, and counts every row once more.
    async fn cells(&self) -> usize {
        let mut found = 0;
        let pods = self.reader.pods().all();
        for pods in pods.chunks(AUDIT_OBJECTS) {
            found += self.check(found == 0, |writer| writer.audit_pods(pods));
            tokio::task::yield_now().await;
        }
        let mut from = 0;
        loop {
            if from >= self.writer.lock().audit_rows() {
                return found;
            }
            found += self.check(found == 0, |writer| writer.audit(from..from.saturating_add(AUDIT_ROWS)));
            from = from.saturating_add(AUDIT_ROWS);
            tokio::task::yield_now().await;
        }
    }

    /// Has the writer check something; returns how much differed and was put right.
    fn check(&self, is_first: bool, check: impl FnOnce(&mut Writer) -> Vec<Drift>) -> usize {
        let differences = {
            let mut writer = self.writer.lock();
            let differences = check(&mut writer);
            if !differences.is_empty() {
                writer.publish();
            }
            differences
        };
        if let Some(first) = differences.first() {
            self.report(Part::Cells, is_first, differences.len(), first);
        }
        differences.len()
    }

    /// Compares what is held of a kind with what the server lists.
    async fn objects(&self, kind: Kind) -> Result<usize, Box<dyn Error + Send + Sync>> {
        let Some(listed) = self.list(kind).await? else { return Ok(0) };
        let suspects = self.compare(kind, &listed).await;
        if suspects.is_empty() {
            return Ok(0);
        }
        sleep(AUDIT_SETTLE).await;
        let Some(listed) = self.list(kind).await? else { return Ok(0) };
        let mut still = self.compare(kind, &listed).await;
        still.retain(|uid, (why, _)| suspects.get(uid).is_some_and(|(before, _)| before == why));
        if let Some((why, identity)) = still.values().min_by(|a, b| a.1.key.cmp(&b.1.key)) {
            let version = &identity.version;
            let first = format!("{kind} {} (version {version}): {why}", identity.key);
            self.report(Part::Objects, true, still.len(), &first);
        }
        let gone = still.values().filter(|(why, _)| *why == Why::Extra).map(|(_, identity)| identity.clone()).collect();
        let is_wrong = |object: &Compiled| still.contains_key(&object.identity.uid);
        self.feed.heal(listed.objects.into_iter().filter(is_wrong).collect(), gone);
        Ok(still.len())
    }

    /// What the server lists; none where it does not serve the kind, which says nothing about what it has served before.
    /// A list that is older than what was known before it was asked for is no truth to heal by.
    async fn list(&self, kind: Kind) -> Result<Option<Listed>, Box<dyn Error + Send + Sync>> {
        let known = {
            let ledger = self.feed.ledger().lock();
            let observed = self.writer.lock().observed_version(kind);
            [ledger.listed(kind), observed]
        };
        let listed = (self.list)(kind).await?;
        if listed.version.is_empty() && listed.objects.is_empty() {
            return Ok(None);
        }
        match known.into_iter().flatten().find(|known| is_newer(known, &listed.version)) {
            Some(known) => Err(format!("the server's list, at version {}, lags behind {known}", listed.version).into()),
            None => Ok(Some(listed)),
        }
    }

    async fn compare(&self, kind: Kind, listed: &Listed) -> Suspects {
        let mut suspects = Suspects::default();
        for chunk in listed.objects.chunks(AUDIT_OBJECTS) {
            {
                let ledger = self.feed.ledger().lock();
                let writer = self.writer.lock();
                for object in chunk {
                    if let Some(why) = differs(object, &ledger, &writer) {
                        suspects.insert(Arc::clone(&object.identity.uid), (why, object.identity.clone()));
                    }
                }
            }
            tokio::task::yield_now().await;
        }
        let uids: FxHashSet<&str> = listed.objects.iter().map(|object| &*object.identity.uid).collect();
        // Where not even the UID of what is listed can be read, it may be what is held under its name.
        let unknown = listed.objects.iter().filter(|object| matches!(object.record, Record::Unreadable));
        let unknown = unknown.filter(|object| object.is_without_uid());
        let unknown: FxHashSet<&str> = unknown.map(|object| &*object.identity.key).collect();
        for held in self.held(kind) {
            let is_listed = uids.contains(&*held.uid) || unknown.contains(&*held.key);
            if !is_listed && !is_newer(&held.version, &listed.version) {
                // Gone at the latest when the list was made.
                let gone = Identity { version: Arc::clone(&listed.version), ..held };
                suspects.insert(Arc::clone(&gone.uid), (Why::Extra, gone));
            }
        }
        suspects
    }

    /// All that is held of a kind.
    fn held(&self, kind: Kind) -> Vec<Identity> {
        if kind == Kind::Pod {
            let writer = self.writer.lock();
            let mut pods = writer.pods().all();
            pods.retain(|pod| writer.was_shown(pod));
            drop(writer);
            let identity = |pod: &Arc<nodesift_cache::metadata::PodRecord>| Identity {
                kind,
                key: Arc::from(format!("{}/{}", pod.namespace, pod.name)),
                uid: Arc::clone(&pod.uid),
                version: Arc::clone(&pod.resource_version),
            };
            return pods.iter().map(identity).collect();
        }
        let ledger = self.feed.ledger().lock();
        let identity = |(key, held): (&Arc<str>, &super::feed::Held)| Identity {
            kind,
            key: Arc::clone(key),
            uid: Arc::clone(&held.uid),
            version: Arc::clone(&held.version),
        };
        ledger.all(kind).map(identity).collect()
    }

    fn report(&self, part: Part, is_first: bool, differences: usize, first: &dyn fmt::Display) {
        self.metrics.differences.get_or_create(&OfPart { part }).inc_by(differences as u64);
        if is_first {
            tracing::error!(differences, %first, "the cache was wrong, and is put right");
        }
        if self.is_fatal {
            std::process::abort();
        }
    }
}

/// Whether an object is held as it is listed.
fn differs(object: &Compiled, ledger: &Ledger, writer: &Writer) -> Option<Why> {
    if matches!(object.record, Record::Unreadable) {
        return None;
    }
    let Identity { kind, key, uid, version } = &object.identity;
    let held: Option<Arc<str>> = match kind {
        Kind::Pod => {
            let pod = writer.pods().by_uid(uid).filter(|pod| writer.was_shown(pod));
            pod.map(|pod| Arc::clone(&pod.resource_version))
        }
        _ => ledger.held(*kind, key).filter(|held| held.uid == *uid).map(|held| Arc::clone(&held.version)),
    };
    let ended = matches!(object.record, Record::EndedPod);
    let Some(held) = held else {
        return (!ended && !ledger.is_gone(&object.identity)).then_some(Why::Missing);
    };
    match compare(&held, version) {
        Some(std::cmp::Ordering::Less) => Some(Why::Outdated),
        Some(std::cmp::Ordering::Equal) if ended || !holds(object, writer) => Some(Why::Different),
        _ => None,
    }
}

fn holds(object: &Compiled, writer: &Writer) -> bool {
    let key = &object.identity.key;
    match &object.record {
        Record::Node(node) => writer.holds_node(node),
        Record::Pod(pod) => writer.holds_pod(pod),
        Record::EndedPod => false,
        Record::Namespace(labels) => writer.holds_namespace(key, labels),
        Record::DeviceClass(serves) => writer.holds_device_class(key, serves),
        Record::Workload(workload) => writer.holds_workload(workload),
        Record::Storage(record) => writer.holds_storage(record),
        Record::Unreadable => true,
    }
}

/// How long a self-check may keep something wrong alive at most: the figure that tests hold it to.
#[cfg(test)]
const FOUND_WITHIN: std::time::Duration = AUDIT_PERIOD.saturating_add(AUDIT_PERIOD);

#[cfg(test)]
mod tests;
