//! A cached verdict, or the cached scores of a scorer: the facts that were read for it, and until when it is valid.
//!
//! Start with [`CachedVerdict::validity`], which decides whether it may be used for a pod and a snapshot, and
//! [`CachedVerdict::patched`], which replaces the rows that have changed.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use nodesift_cache::metadata::PodRecord;
use nodesift_cache::{Generation, NodeInterface, Row, Snapshot};
use nodesift_sandbox::{Codes, Failure, Interface, RowVerdict, Verdict};

use super::fact_read::{FactKey, FactRead, FactScope};
use super::kept_scores::KeptScores;
use super::lookups::RecordedLookups;
use super::recorder::{NodeInterfaces, Trace};
use super::size::{SHARED, Size as _};
use super::span::Span;
use crate::Context;
use crate::limits::{REUSE_KEY_BYTES, REUSE_READS, REUSE_STALE_FAILURES};

/// Identifies the verdicts that replace each other for the same reads about the pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Lineage(pub(crate) u64);

impl Lineage {
    /// Of a verdict that is not in the store.
    pub(crate) const NONE: Self = Self(0);
    /// Of a verdict that is not in the store, and whose reads were recorded.
    pub(crate) const UNSHARED: Self = Self(u64::MAX);
}

/// The value that a call has returned.
#[derive(Debug)]
pub(crate) enum Returned {
    Verdict(Verdict),
    Scores(KeptScores),
}

impl From<Verdict> for Returned {
    fn from(verdict: Verdict) -> Self {
        Self::Verdict(verdict)
    }
}

/// A verdict over every row of a snapshot. It never changes; a patched one is a new verdict of the same lineage. Of a scorer it has the
/// scores, and the verdict says nothing.
#[derive(Debug)]
pub(crate) struct CachedVerdict {
    lineage: Lineage,
    verdict: Arc<Verdict>,
    /// `None` of a predicate.
    scores: Option<KeptScores>,
    /// Rows of the snapshot.
    rows: usize,
    reads: Arc<[Arc<FactRead>]>,
    /// Of a pointwise predicate: what it has looked up about all nodes, whatever its batch was.
    lookups: RecordedLookups,
    /// Whether a fact about the cluster depends on the pod, so that it must be compared again for every pod.
    depends_on_both: bool,
    /// Of a pointwise predicate: interfaces of which it has read columns.
    columns: NodeInterfaces,
    /// The times at which what it has asked about moments has the same answers.
    span: Span,
    /// Failures of the verdict when every row was last evaluated.
    failures: usize,
    /// Bytes that the reads keep alive.
    read_bytes: usize,
    /// The generation of the newest snapshot for which the verdict is known to be valid.
    valid_at: AtomicU64,
}

/// Whether a cached verdict may be used for a snapshot and a pod whose facts about itself are the same.
#[derive(Debug)]
pub(crate) enum Validity {
    /// The verdict is valid for every row.
    Valid,
    /// The verdict is valid for every row but these, which are sorted.
    StaleRows(Vec<Row>),
    /// The verdict is not valid for this pod, this older snapshot or this earlier time, though perhaps for others.
    OtherPod,
    /// The verdict is not valid for any pod, later snapshot or later time.
    Invalid,
}

impl CachedVerdict {
    pub(super) fn new(
        lineage: Lineage,
        returned: impl Into<Returned>,
        rows: usize,
        trace: Trace,
        at: Generation,
    ) -> Self {
        let (verdict, scores) = match returned.into() {
            Returned::Verdict(verdict) => (verdict, None),
            Returned::Scores(scores) => (Verdict::FitsAll, Some(scores)),
        };
        let mut columns = trace.columns;
        let mut failures = 0;
        if rows == 0 {
            // Without nodes a predicate may answer without reading anything.
            columns.add(NodeInterface::Identity);
        }
        if let Verdict::ByRow(by_row) = &verdict {
            // The number of codes alone depends on which nodes there are.
            columns.add(NodeInterface::Identity);
            failures = by_row.failures().len();
        }
        if let Some(KeptScores::ByRow(_)) = &scores {
            // So does the number of scores.
            columns.add(NodeInterface::Identity);
        }
        let reads: Arc<[Arc<FactRead>]> = trace.reads.into();
        let lookups = RecordedLookups::from(trace.lookups);
        Self {
            lineage,
            verdict: Arc::new(verdict),
            scores,
            rows,
            depends_on_both: depends_on_both(&reads),
            read_bytes: read_bytes(&reads, &lookups),
            reads,
            lookups,
            columns,
            span: trace.span,
            failures,
            valid_at: AtomicU64::new(at.0),
        }
    }

    /// Verdicts that replace each other have the same.
    pub(crate) fn lineage(&self) -> Lineage {
        self.lineage
    }

    /// The verdict over every row.
    pub(crate) fn verdict(&self) -> &Arc<Verdict> {
        &self.verdict
    }

    /// The scores over every row; `None` of a predicate.
    pub(crate) fn scores(&self) -> Option<&KeptScores> {
        self.scores.as_ref()
    }

    /// A verdict of which nobody knows what was read for it.
    pub(crate) fn unread(verdict: Verdict, context: &Context) -> Self {
        let (rows, at) = (context.rows() as usize, context.snapshot().generation());
        Self::new(Lineage::NONE, verdict, rows, Trace::default(), at)
    }

    /// Whether it has read anything that pods on nodes change through one of these interfaces. True for a verdict whose reads
    /// were not recorded.
    pub(crate) fn has_read(&self, changed: &[Interface]) -> bool {
        let reads = self.reads.iter().filter_map(|read| match read.key.scope() {
            FactScope::PodsOnNodes(interface, _) => Some(interface),
            FactScope::Pod | FactScope::Cluster(_) => None,
        });
        self.lineage == Lineage::NONE || reads.chain(self.columns_of_pods()).any(|read| changed.contains(&read))
    }

    /// Whether it has read anything that a pod changes which comes to a node or leaves it; `changed` are the interfaces that this
    /// pod changes. True for a verdict whose reads were not recorded.
    pub(crate) fn is_changed_by(&self, pod: &PodRecord, changed: &[Interface], snapshot: &Snapshot) -> bool {
        let is_changed = |read: &Arc<FactRead>| match (&read.key, read.key.scope()) {
            // Of all counts only those that include the pod.
            (FactKey::PodCount(key), _) => snapshot.counts(key, pod),
            (FactKey::PodSum(key), _) => snapshot.counts(&key.pods, pod),
            (_, FactScope::PodsOnNodes(interface, _)) => changed.contains(&interface),
            (_, FactScope::Pod | FactScope::Cluster(_)) => false,
        };
        self.lineage == Lineage::NONE
            || self.columns_of_pods().any(|read| changed.contains(&read))
            || self.reads.iter().any(is_changed)
    }

    /// Interfaces of which a pointwise predicate has read columns that pods on nodes change.
    fn columns_of_pods(&self) -> impl Iterator<Item = Interface> {
        self.columns.iter().filter_map(|interface| match interface {
            // contract: logs of pods, made by `make contract`
            NodeInterface::Resources => Some(Interface::NodeResources),
            NodeInterface::Ports => Some(Interface::NodePorts),
            NodeInterface::Identity
            | NodeInterface::Labels
            | NodeInterface::Annotations
            | NodeInterface::Taints
            | NodeInterface::Features
            | NodeInterface::Conditions
            | NodeInterface::Info
            | NodeInterface::Images
            | NodeInterface::Age
            | NodeInterface::NodeDevices
            | NodeInterface::Parties => None,
            // contract: end
        })
    }

    /// Reads about the pod, by whose values the store finds the verdict.
    pub(super) fn reads_about_pod(&self) -> impl Iterator<Item = &Arc<FactRead>> {
        self.reads.iter().filter(|read| read.key.is_about_pod())
    }

    fn reads_about_cluster(&self) -> impl Iterator<Item = &Arc<FactRead>> {
        self.reads.iter().filter(|read| !read.key.is_about_pod())
    }

    /// The generation of the newest snapshot for which it is known to be valid.
    pub(super) fn valid_at(&self) -> Generation {
        Generation(self.valid_at.load(Relaxed))
    }

    /// Whether it may be used for the pod and the snapshot of a context over every row.
    pub(super) fn validity(&self, context: &Context, is_cluster_wide: bool) -> Validity {
        match self.span.place(context.now()) {
            Ordering::Less => return Validity::OtherPod,
            Ordering::Equal => {}
            Ordering::Greater => return Validity::Invalid,
        }
        let (snapshot, known) = (context.snapshot(), self.valid_at());
        let now = snapshot.generation();
        if known == now && !self.depends_on_both {
            return Validity::Valid;
        }
        if is_cluster_wide {
            return self.validity_of_reads(context);
        }
        if known > now {
            return Validity::OtherPod;
        }
        // A row that is gone has changed in no remaining row, yet a predicate may have decided by what it said.
        if snapshot.node_count() < self.rows && self.columns != NodeInterfaces::default() {
            return Validity::Invalid;
        }
        if !self.cluster_reads_hold(context, known) {
            return Validity::Invalid;
        }
        let mut rows: Vec<Row> = Vec::new();
        for interface in self.columns.iter().filter(|interface| snapshot.last_change(*interface) > known) {
            match snapshot.rows_changed(interface, known) {
                Some(changed) => rows.extend(changed),
                None => return Validity::Invalid,
            }
        }
        if rows.is_empty() {
            self.valid_at.fetch_max(now.0, Relaxed);
            return Validity::Valid;
        }
        rows.sort_unstable();
        rows.dedup();
        Validity::StaleRows(rows)
    }

    /// Whether what a pointwise predicate has read of the cluster as a whole is unchanged. Every row may depend on it.
    fn cluster_reads_hold(&self, context: &Context, known: Generation) -> bool {
        self.reads_about_cluster().all(|read| read.holds(context)) && self.lookups.hold(context, known)
    }

    fn validity_of_reads(&self, context: &Context) -> Validity {
        let snapshot = context.snapshot();
        if self.rows != snapshot.node_count() {
            return Validity::Invalid;
        }
        // Facts that do not depend on the pod go first: where one has changed, the verdict is of no use for any pod.
        for depends_on_both in [false, true] {
            let mut reads = self.reads_about_cluster().filter(|read| read.key.depends_on_both() == depends_on_both);
            if !reads.all(|read| read.holds(context)) {
                return if depends_on_both { Validity::OtherPod } else { Validity::Invalid };
            }
        }
        if !self.depends_on_both {
            self.valid_at.fetch_max(snapshot.generation().0, Relaxed);
        }
        Validity::Valid
    }

    /// The verdict with some rows replaced. `again` is the verdict over `rows`, in their order, and what was read for it; none
    /// where all of these rows are gone. None where the two do not combine, so that every row has to be evaluated. What
    /// the old verdict has read of the cluster as a whole is still the same.
    pub(super) fn patched(
        &self,
        again: Option<(impl Into<Returned>, Trace)>,
        rows: &[Row],
        node_count: usize,
        at: Generation,
    ) -> Option<Self> {
        let (verdict, again, trace) = match again.map(|(returned, trace)| (returned.into(), trace)) {
            None => (Verdict::FitsAll, None, Trace::default()),
            Some((Returned::Verdict(verdict), trace)) => (verdict, None, trace),
            Some((Returned::Scores(scores), trace)) => (Verdict::FitsAll, Some(scores), trace),
        };
        if trace.is_cut {
            return None;
        }
        let span = self.span.with(trace.span);
        let reads = self.reads_with(&trace.reads)?;
        let lookups = self.lookups.with(&RecordedLookups::from(trace.lookups));
        let has_new_reads = !Arc::ptr_eq(&reads, &self.reads) || !lookups.is_same_list(&self.lookups);
        if has_new_reads && lookups.bytes() > REUSE_KEY_BYTES {
            return None;
        }
        let read_bytes = if has_new_reads { read_bytes(&reads, &lookups) } else { self.read_bytes };
        let scores = match &self.scores {
            Some(known) => Some(known.with(again.as_ref(), rows, node_count)?),
            None => None,
        };
        let verdict = match (&*self.verdict, verdict) {
            (Verdict::ByRow(known), Verdict::FitsAll) if known.named().is_none() || rows.is_empty() => {
                self.replace_rows(known, None, rows, node_count)?
            }
            (Verdict::ByRow(known), Verdict::ByRow(again)) if known.named().is_some() == again.named().is_some() => {
                self.replace_rows(known, Some(&again), rows, node_count)?
            }
            (Verdict::FitsAll, Verdict::ByRow(again)) if again.named().is_none() => {
                let fits = RowVerdict::new(Codes::zeros(node_count), Arc::default(), None);
                self.replace_rows(&fits, Some(&again), rows, node_count)?
            }
            (Verdict::FitsAll, Verdict::FitsAll) => Arc::clone(&self.verdict),
            (Verdict::FitsNone(_), Verdict::FitsAll) if rows.is_empty() => Arc::clone(&self.verdict),
            (Verdict::FitsNone(known), Verdict::FitsNone(again)) if *known == again => Arc::clone(&self.verdict),
            _ => return None,
        };
        let mut columns = self.columns.with(trace.columns);
        if matches!(&*verdict, Verdict::ByRow(_)) || matches!(&scores, Some(KeptScores::ByRow(_))) {
            columns.add(NodeInterface::Identity);
        }
        Some(Self {
            lineage: self.lineage,
            verdict,
            scores,
            rows: node_count,
            depends_on_both: depends_on_both(&reads),
            read_bytes,
            reads,
            lookups,
            columns,
            span,
            failures: self.failures,
            valid_at: AtomicU64::new(at.0),
        })
    }

    /// The reads with those that are new. None where a new one is about the pod: the verdict would have to be found by it.
    fn reads_with(&self, again: &[Arc<FactRead>]) -> Option<Arc<[Arc<FactRead>]>> {
        let is_new = |read: &&Arc<FactRead>| !self.reads.iter().any(|known| known.key == read.key);
        let new: Vec<&Arc<FactRead>> = again.iter().filter(is_new).collect();
        if new.is_empty() {
            return Some(Arc::clone(&self.reads));
        }
        let fits = self.reads.len() + new.len() <= REUSE_READS && !new.iter().any(|read| read.key.is_about_pod());
        fits.then(|| self.reads.iter().chain(new).map(Arc::clone).collect())
    }

    /// Codes and named rows of `known`, with those of `rows` replaced; without `again` these rows fit. The same verdict
    /// where nothing changes. None where too many failures have accumulated.
    fn replace_rows(
        &self,
        known: &RowVerdict,
        again: Option<&RowVerdict>,
        rows: &[Row],
        node_count: usize,
    ) -> Option<Arc<Verdict>> {
        let mut failures: Vec<Failure> = known.failures().to_vec();
        // A verdict may have thousands of failures, and as many rows may change.
        let mut places: HashMap<&Failure, usize> = HashMap::new();
        for (at, failure) in known.failures().iter().enumerate() {
            places.entry(failure).or_insert(at);
        }
        let mut changes = Vec::with_capacity(rows.len());
        for (place, row) in rows.iter().enumerate() {
            let code = match again.and_then(|again| again.failure(again.codes().get(place))) {
                None => 0,
                Some(failure) => {
                    let at = *places.entry(failure).or_insert_with(|| {
                        failures.push(failure.clone());
                        failures.len() - 1
                    });
                    u16::try_from(at + 1).ok()?
                }
            };
            changes.push((row.index(), code));
        }
        // Failures that no row has any more accumulate.
        if failures.len() > self.failures + REUSE_STALE_FAILURES {
            return None;
        }
        let failures =
            if failures.len() == known.failures().len() { Arc::clone(known.failures()) } else { failures.into() };
        let named: Option<Vec<u32>> = known.named().map(|named| {
            let is_replaced = |row: &u32| rows.binary_search(&Row(*row)).is_ok();
            let others = named.iter().copied().filter(|row| !is_replaced(row) && (*row as usize) < node_count);
            let places = again.and_then(RowVerdict::named).map(|places| &**places).unwrap_or_default();
            let rows = places.iter().filter_map(|place| rows.get(*place as usize)).map(|row| row.0);
            let mut named: Vec<u32> = others.chain(rows).collect();
            named.sort_unstable();
            named
        });
        let same = node_count == known.codes().len()
            && named.as_deref() == known.named().map(|named| &**named)
            && changes.iter().all(|(row, code)| known.codes().get(*row) == *code);
        if same {
            return Some(Arc::clone(&self.verdict));
        }
        let codes = known.codes().with(node_count, &changes);
        Some(Arc::new(Verdict::ByRow(RowVerdict::new(codes, failures, named.map(Arc::from)))))
    }

    /// Bytes that the verdict and its reads keep alive, at most.
    pub(super) fn bytes(&self) -> usize {
        let scores = self.scores.as_ref().map_or(0, KeptScores::bytes);
        SHARED + size_of::<Self>() + self.verdict.heap() + scores + self.read_bytes
    }
}

fn depends_on_both(reads: &[Arc<FactRead>]) -> bool {
    reads.iter().any(|read| read.key.depends_on_both())
}

/// Bytes that reads keep alive; the facts of the pod are counted once.
fn read_bytes(reads: &[Arc<FactRead>], lookups: &RecordedLookups) -> usize {
    let facts = reads.iter().find_map(|read| read.facts()).map_or(0, |facts| facts.heap());
    let reads = reads.iter().map(|read| size_of::<Arc<FactRead>>() + read.bytes()).sum::<usize>();
    SHARED + reads + facts + lookups.bytes()
}
