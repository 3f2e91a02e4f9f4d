//! [`Audit`]: when and what is checked, and how drift is reported and repaired.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use rustc_hash::{FxHashMap, FxHashSet};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use super::compare::{DriftKind, drift};
use super::metrics::{Metrics, OfPart, Part};
use crate::change::{Compiled, Identity, Record};
use crate::feed::{Feed, Held};
use crate::kube::Listed;
use crate::limits::{AUDIT_AFTER_OUTAGE, AUDIT_OBJECTS, AUDIT_PERIOD, AUDIT_ROWS, AUDIT_SETTLE};
use nodesift_cache::metadata::PodRecord;
use nodesift_cache::{Drift, Reader, SharedWriter, Writer};
use nodesift_object::Kind;
use nodesift_object::version::is_newer;

/// Lists all objects of a kind, at least as new as any state that was observed before.
pub type List = Box<dyn Fn(Kind) -> BoxFuture<'static, Result<Listed, Box<dyn Error + Send + Sync>>> + Send + Sync>;

/// The kinds that are followed at present, which may change.
pub type Kinds = Box<dyn Fn() -> Vec<Kind> + Send + Sync>;

/// Objects that differ from a list and may have drifted, by UID.
type Suspects = FxHashMap<Arc<str>, (DriftKind, Identity)>;

/// Result of one self-check: differences found, and kinds compared.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Differences that were found and repaired.
    pub differences: usize,
    /// Kinds that were compared with the server's list. Without an API server there are none.
    pub compared: usize,
    /// Kinds that could not be compared, and why: nothing is known of their objects.
    pub not_compared: Vec<(Kind, String)>,
}

/// Compares the cache with itself and with the server, and repairs drift.
pub struct Audit {
    writer: SharedWriter,
    reader: Reader,
    feed: Feed,
    kinds: Kinds,
    list: List,
    pub(super) metrics: Metrics,
    wanted: Arc<Notify>,
    /// Notified when an outage of the server is over.
    over: Arc<Notify>,
    /// Whether drift aborts the process, for tests.
    is_fatal: bool,
}

impl fmt::Debug for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Audit").field("kinds", &(self.kinds)()).finish_non_exhaustive()
    }
}

/// The environment variable that makes drift abort the process, for tests of the whole program.
const FATAL: &str = "NODESIFT_AUDIT_ABORTS";

impl Audit {
    /// An audit of the cache that `feed` writes, against lists of `kinds`. Without kinds, as with files, only the cells are
    /// checked.
    pub fn new(writer: SharedWriter, feed: Feed, kinds: Kinds, list: List, metrics: Metrics) -> Self {
        let is_fatal = std::env::var_os(FATAL).is_some_and(|value| !value.is_empty());
        let reader = writer.lock().reader();
        Self { writer, reader, feed, kinds, list, metrics, wanted: Arc::default(), over: Arc::default(), is_fatal }
    }

    /// Checks soon after each notification as well: that an outage of the server is over. A server that was restored from a backup and has
    /// written more than the watches had seen before they go on continues them, and nothing in them tells the two histories apart.
    #[must_use]
    pub fn after(self, over: Arc<Notify>) -> Self {
        Self { over, ..self }
    }

    /// Notifying it starts a self-check now.
    pub fn wanted(&self) -> Arc<Notify> {
        Arc::clone(&self.wanted)
    }

    /// Checks every [`AUDIT_PERIOD`], with up to half of it as jitter, within [`AUDIT_AFTER_OUTAGE`] of the end of an outage, and on
    /// request. Never returns.
    pub async fn run(self) {
        loop {
            let jitter = AUDIT_PERIOD.mul_f64(fastrand::f64() / 2.0);
            tokio::select! {
                () = sleep(AUDIT_PERIOD + jitter) => {}
                () = self.wanted.notified() => {}
                () = self.over.notified() => tokio::select! {
                    () = sleep(AUDIT_AFTER_OUTAGE.mul_f64(fastrand::f64())) => {}
                    () = self.wanted.notified() => {}
                },
            }
            let Checked { differences, compared, not_compared } = self.once().await;
            match not_compared.first() {
                None => tracing::info!(differences, kinds = compared, "self-check completed"),
                Some((kind, error)) => tracing::warn!(
                    differences, kinds = compared, kinds_not_compared = not_compared.len(), first = %kind, %error,
                    "self-check incomplete: kinds without a usable list were not compared"
                ),
            }
        }
    }

    /// Runs one self-check: the cells of the columns, then the objects of each kind.
    pub async fn once(&self) -> Checked {
        let began = Instant::now();
        let mut checked = Checked { differences: self.cells().await, ..Checked::default() };
        for kind in (self.kinds)() {
            match self.objects(kind).await {
                Ok(differences) => {
                    checked.differences += differences;
                    checked.compared += 1;
                }
                Err(error) => {
                    self.metrics.failures.inc();
                    tracing::debug!(%kind, %error, "kind not compared: no usable list");
                    checked.not_compared.push((kind, error.to_string()));
                }
            }
        }
        self.metrics.runs.inc();
        self.metrics.duration.set(began.elapsed().as_secs_f64());
        checked
    }

    /// Checks that every pod is counted on its node and that every device is in use as claims say, and recounts every row.
    async fn cells(&self) -> usize {
        let mut found = 0;
        let pods = self.reader.pods().all();
        for pods in pods.chunks(AUDIT_OBJECTS) {
            found += self.check(found == 0, |writer| writer.audit_pods(pods));
            tokio::task::yield_now().await;
        }
        found += self.check(found == 0, Writer::audit_devices);
        tokio::task::yield_now().await;
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

    /// Has the writer check and repair a part; returns how many differences it found.
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

    /// Compares what is held of a kind with the server's list, and repairs what has drifted.
    ///
    /// # Errors
    ///
    /// Where there is no list to compare with.
    async fn objects(&self, kind: Kind) -> Result<usize, Box<dyn Error + Send + Sync>> {
        let Some(listed) = self.list(kind).await? else { return Ok(0) };
        let suspects = self.compare(kind, &listed).await;
        if suspects.is_empty() {
            return Ok(0);
        }
        sleep(AUDIT_SETTLE).await;
        let Some(listed) = self.list(kind).await? else { return Ok(0) };
        let mut still = self.compare(kind, &listed).await;
        if !(self.kinds)().contains(&kind) {
            // Not followed any more: nothing of it is to be held.
            return Ok(0);
        }
        still.retain(|uid, (drift, _)| suspects.get(uid).is_some_and(|(before, _)| before == drift));
        if let Some((drift, identity)) = still.values().min_by(|a, b| a.1.key.cmp(&b.1.key)) {
            let version = &identity.version;
            let first = format!("{kind} {} (version {version}): {drift}", identity.key);
            self.report(Part::Objects, true, still.len(), &first);
        }
        let deleted = still
            .values()
            .filter(|(drift, _)| *drift == DriftKind::Extra)
            .map(|(_, identity)| identity.clone())
            .collect();
        let has_drifted = |object: &Compiled| still.contains_key(&object.identity.uid);
        let drifted: Vec<Compiled> = listed.objects.into_iter().filter(has_drifted).collect();
        self.void_contradicted(&drifted, &listed.version);
        self.feed.repair(drifted, deleted);
        Ok(still.len())
    }

    /// Forgets versions that contradict the list: a repair does not replace what is newer.
    fn void_contradicted(&self, drifted: &[Compiled], listed: &str) {
        let mut ledger = self.feed.ledger().lock();
        let writer = self.writer.lock();
        for Compiled { identity, .. } in drifted {
            let named =
                || identity.key.split_once('/').and_then(|(namespace, name)| writer.pods().by_name(namespace, name));
            let pod = match identity.kind {
                Kind::Pod => writer.pods().by_uid(&identity.uid).or_else(named).filter(|pod| writer.was_shown(pod)),
                _ => None,
            };
            ledger.void_where_contradicted(identity, pod.as_deref(), listed);
        }
    }

    /// The server's list; `None` where it does not serve the kind: objects that it served before stay.
    ///
    /// # Errors
    ///
    /// Where the list fails, or is older than what had been seen before it was requested: nothing is repaired by such a list.
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

    /// Returns the objects that differ between the cache and a list, each with how it differs.
    async fn compare(&self, kind: Kind, listed: &Listed) -> Suspects {
        let mut suspects = Suspects::default();
        for chunk in listed.objects.chunks(AUDIT_OBJECTS) {
            {
                let ledger = self.feed.ledger().lock();
                let writer = self.writer.lock();
                for object in chunk {
                    if let Some(drift) = drift(object, &listed.version, &ledger, &writer) {
                        suspects.insert(Arc::clone(&object.identity.uid), (drift, object.identity.clone()));
                    }
                }
            }
            tokio::task::yield_now().await;
        }
        let uids: FxHashSet<&str> = listed.objects.iter().map(|object| &*object.identity.uid).collect();
        // A listed object without a readable UID may be any object that is held under its key.
        let unknown = listed.objects.iter().filter(|object| matches!(object.record, Record::Unreadable));
        let unknown = unknown.filter(|object| object.is_without_uid());
        let unknown: FxHashSet<&str> = unknown.map(|object| &*object.identity.key).collect();
        for held in self.held(kind) {
            let is_listed = uids.contains(&*held.uid) || unknown.contains(&*held.key);
            if !is_listed && !is_newer(&held.version, &listed.version) {
                // Deleted at the version of the list at the latest.
                let deleted = Identity { version: Arc::clone(&listed.version), ..held };
                suspects.insert(Arc::clone(&deleted.uid), (DriftKind::Extra, deleted));
            }
        }
        suspects
    }

    /// All objects of a kind that are held. The version of one that is held of a history that is no more is empty: it is not newer than
    /// any list.
    fn held(&self, kind: Kind) -> Vec<Identity> {
        if kind == Kind::Pod {
            // Not held for the time of all pods: every turn of the feed begins with this lock.
            let void = self.feed.ledger().lock().void_pods();
            let writer = self.writer.lock();
            let mut pods = writer.pods().all();
            pods.retain(|pod| writer.was_shown(pod));
            drop(writer);
            let identity = |pod: &Arc<PodRecord>| Identity {
                kind,
                key: Arc::from(format!("{}/{}", pod.namespace, pod.name)),
                uid: Arc::clone(&pod.uid),
                version: if void.contains(&pod.uid) { Arc::default() } else { Arc::clone(&pod.resource_version) },
            };
            return pods.iter().map(identity).collect();
        }
        let ledger = self.feed.ledger().lock();
        let identity = |(key, held): (&Arc<str>, &Held)| Identity {
            kind,
            key: Arc::clone(key),
            uid: Arc::clone(&held.uid),
            version: Arc::clone(&held.version),
        };
        ledger.all(kind).map(identity).collect()
    }

    /// Counts and logs drift.
    fn report(&self, part: Part, is_first: bool, differences: usize, first: &dyn fmt::Display) {
        self.metrics.differences.get_or_create(&OfPart { part }).inc_by(differences as u64);
        if is_first {
            tracing::error!(differences, %first, "cache drift repaired");
        }
        if self.is_fatal {
            std::process::abort();
        }
    }
}
