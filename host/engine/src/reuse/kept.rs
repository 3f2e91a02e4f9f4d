//! A verdict that is kept: what was judged, what was read for it, and how long it stands.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::carried::LabelTexts;
use super::question::{About, Read};
use super::recorder::{Touched, Trace};
use crate::Context;
use crate::judgement::{ByRow, Codes, Judgement, Reason};
use crate::limits::{REUSE_QUESTION_BYTES, REUSE_READS, REUSE_STALE_REASONS};
use crate::size::{SHARED, Size as _};
use nodesift_cache::{Generation, NodeInterface, Row, Snapshot};
use nodesift_sandbox::{Interface, Verdict};

/// A verdict over every row of a snapshot. It is never changed; a patched one is another one of the same line.
#[derive(Debug)]
pub(crate) struct Kept {
    /// Verdicts that follow each other for the same reads share it; 0 where the verdict is not kept at all.
    pub(crate) line: u64,
    pub(crate) judgement: Arc<Judgement>,
    /// How many rows there were.
    rows: usize,
    reads: Arc<[Arc<Read>]>,
    /// Of a pointwise predicate: what it asked about all nodes, whatever its batch was.
    label_texts: LabelTexts,
    /// Whether an answer about the cluster depends on which pod asks, so that it must be asked again for every pod.
    depends_on_both: bool,
    touched: Touched,
    /// How many reasons there were when every row was judged.
    reasons: usize,
    /// What the reads keep alive.
    read_bytes: usize,
    /// The verdict is that of the snapshot of this generation.
    stands_at: AtomicU64,
}

/// What a kept verdict is worth for a pod whose reads about itself are the same, and for a snapshot.
#[derive(Debug)]
pub(super) enum Standing {
    /// It is the verdict.
    Stands,
    /// It is, but for these rows, in order.
    StandsBut(Vec<Row>),
    /// It is another pod's, or of a snapshot that came later.
    Elsewhere,
    /// It is nobody's any more.
    Fallen,
}

impl Kept {
    pub(super) fn new(line: u64, verdict: Verdict, rows: usize, trace: Trace, at: Generation) -> Self {
        let judgement = Judgement::from(verdict);
        let mut touched = trace.touched;
        let mut reasons = 0;
        if rows == 0 {
            // Without a node every row fits, and nothing need be looked at to say so.
            touched.add(NodeInterface::Identity);
        }
        if let Judgement::ByRow(by_row) = &judgement {
            // Its length alone depends on which nodes there are.
            touched.add(NodeInterface::Identity);
            reasons = by_row.reasons.len();
        }
        let reads: Arc<[Arc<Read>]> = trace.reads.into();
        let label_texts = LabelTexts::from(trace.label_texts);
        Self {
            line,
            judgement: Arc::new(judgement),
            rows,
            depends_on_both: depends_on_both(&reads),
            read_bytes: read_bytes(&reads, &label_texts),
            reads,
            label_texts,
            touched,
            reasons,
            stands_at: AtomicU64::new(at.0),
        }
    }

    /// Whether anything was read for it that pods on nodes change by way of one of these interfaces. What was not written
    /// down may have been anything.
    pub(crate) fn has_read(&self, changed: &[Interface]) -> bool {
        let reads = self.reads.iter().filter_map(|read| match read.question.about() {
            About::PodsOnNodes(interface) => Some(interface),
            About::Pod | About::Cluster => None,
        });
        let columns = self.touched.iter().filter_map(|interface| match interface {
            NodeInterface::Resources => Some(Interface::NodeResources),
            NodeInterface::Ports => Some(Interface::NodePorts),
            NodeInterface::Identity | NodeInterface::Labels | NodeInterface::Taints | NodeInterface::Features => None,
        });
        self.line == 0 || reads.chain(columns).any(|read| changed.contains(&read))
    }

    /// Reads about the pod, by whose answers the verdict is found.
    pub(super) fn reads_about_pod(&self) -> impl Iterator<Item = &Arc<Read>> {
        self.reads.iter().filter(|read| read.question.is_about_pod())
    }

    fn reads_about_cluster(&self) -> impl Iterator<Item = &Arc<Read>> {
        self.reads.iter().filter(|read| !read.question.is_about_pod())
    }

    /// The generation of the last snapshot for which it is known to stand.
    pub(super) fn stands_at(&self) -> Generation {
        Generation(self.stands_at.load(Ordering::Relaxed))
    }

    /// What it is worth for the pod and the snapshot of a context over every row.
    pub(super) fn standing(&self, context: &Context, is_cluster_wide: bool) -> Standing {
        let (snapshot, known) = (context.snapshot(), self.stands_at());
        let now = snapshot.generation();
        if known == now && !self.depends_on_both {
            return Standing::Stands;
        }
        if is_cluster_wide {
            return self.standing_of_reads(context);
        }
        if known > now {
            return Standing::Elsewhere;
        }
        if !self.stands_by_the_whole(context, known) {
            return Standing::Fallen;
        }
        let mut rows: Vec<Row> = Vec::new();
        for interface in self.touched.iter().filter(|interface| snapshot.last_change(*interface) > known) {
            match snapshot.rows_changed(interface, known) {
                Some(changed) => rows.extend(changed),
                None => return Standing::Fallen,
            }
        }
        if rows.is_empty() {
            self.stands_at.fetch_max(now.0, Ordering::Relaxed);
            return Standing::Stands;
        }
        rows.sort_unstable();
        rows.dedup();
        Standing::StandsBut(rows)
    }

    /// Whether what a pointwise predicate read of the cluster as a whole is as it was: any row may depend on it.
    fn stands_by_the_whole(&self, context: &Context, known: Generation) -> bool {
        let snapshot: &Snapshot = context.snapshot();
        self.reads_about_cluster().all(|read| read.holds(context))
            && (snapshot.last_change(NodeInterface::Labels) <= known || self.label_texts.hold(snapshot))
    }

    fn standing_of_reads(&self, context: &Context) -> Standing {
        let snapshot = context.snapshot();
        if self.rows != snapshot.node_count() {
            return Standing::Fallen;
        }
        // What does not depend on the pod goes first: where that has changed, the verdict is of use to nobody.
        for depends_on_both in [false, true] {
            let mut reads =
                self.reads_about_cluster().filter(|read| read.question.depends_on_both() == depends_on_both);
            if !reads.all(|read| read.holds(context)) {
                return if depends_on_both { Standing::Elsewhere } else { Standing::Fallen };
            }
        }
        if !self.depends_on_both {
            self.stands_at.fetch_max(snapshot.generation().0, Ordering::Relaxed);
        }
        Standing::Stands
    }

    /// The verdict with some rows judged again: `verdict` is about `rows`, in their order, and `trace` is what was read for
    /// it; none of both where all of these rows are gone. None where the two do not fit together, so that every row has
    /// to be judged again. What it read before of the cluster as a whole still holds.
    pub(super) fn patched(
        &self,
        again: Option<(Verdict, Trace)>,
        rows: &[Row],
        node_count: usize,
        at: Generation,
    ) -> Option<Self> {
        let (verdict, trace) = again.unwrap_or((Verdict::FitsAll, Trace::default()));
        if trace.is_cut {
            return None;
        }
        let reads = self.reads_with(&trace.reads)?;
        let label_texts = self.label_texts.with(&LabelTexts::from(trace.label_texts));
        let asks_more = !Arc::ptr_eq(&reads, &self.reads) || !label_texts.is_one_with(&self.label_texts);
        if asks_more && label_texts.bytes() > REUSE_QUESTION_BYTES {
            return None;
        }
        let read_bytes = if asks_more { read_bytes(&reads, &label_texts) } else { self.read_bytes };
        let judgement = match (&*self.judgement, Judgement::from(verdict)) {
            (Judgement::ByRow(known), Judgement::FitsAll) if known.named.is_none() || rows.is_empty() => {
                self.with(known, None, rows, node_count)?
            }
            (Judgement::ByRow(known), Judgement::ByRow(again)) if known.named.is_some() == again.named.is_some() => {
                self.with(known, Some(&again), rows, node_count)?
            }
            (Judgement::FitsAll, Judgement::ByRow(again)) if again.named.is_none() => {
                let fits = ByRow::new(Codes::zeros(node_count), Arc::default(), None);
                self.with(&fits, Some(&again), rows, node_count)?
            }
            (Judgement::FitsAll, Judgement::FitsAll) => Arc::clone(&self.judgement),
            (Judgement::FitsNone(_), Judgement::FitsAll) if rows.is_empty() => Arc::clone(&self.judgement),
            (Judgement::FitsNone(known), Judgement::FitsNone(again)) if *known == again => Arc::clone(&self.judgement),
            _ => return None,
        };
        let mut touched = self.touched.with(trace.touched);
        if matches!(&*judgement, Judgement::ByRow(_)) {
            touched.add(NodeInterface::Identity);
        }
        Some(Self {
            line: self.line,
            judgement,
            rows: node_count,
            depends_on_both: depends_on_both(&reads),
            read_bytes,
            reads,
            label_texts,
            touched,
            reasons: self.reasons,
            stands_at: AtomicU64::new(at.0),
        })
    }

    /// The reads with those that are new. None where one of these is about the pod: by its answer the verdict would have to
    /// be found.
    fn reads_with(&self, again: &[Arc<Read>]) -> Option<Arc<[Arc<Read>]>> {
        let is_new = |read: &&Arc<Read>| !self.reads.iter().any(|known| known.question == read.question);
        let new: Vec<&Arc<Read>> = again.iter().filter(is_new).collect();
        if new.is_empty() {
            return Some(Arc::clone(&self.reads));
        }
        let fits = self.reads.len() + new.len() <= REUSE_READS && !new.iter().any(|read| read.question.is_about_pod());
        fits.then(|| self.reads.iter().chain(new).map(Arc::clone).collect())
    }

    /// Codes and named rows of `known`, with those of `rows` replaced; without `again` these rows fit. The same judgement
    /// where that changes nothing.
    fn with(&self, known: &ByRow, again: Option<&ByRow>, rows: &[Row], node_count: usize) -> Option<Arc<Judgement>> {
        let mut reasons: Vec<Reason> = known.reasons.to_vec();
        let mut changes = Vec::with_capacity(rows.len());
        for (place, row) in rows.iter().enumerate() {
            let code = match again.and_then(|again| again.reason(again.codes.get(place))) {
                None => 0,
                Some(reason) => {
                    let at = reasons.iter().position(|known| known == reason).unwrap_or(reasons.len());
                    if at == reasons.len() {
                        reasons.push(reason.clone());
                    }
                    u16::try_from(at + 1).ok()?
                }
            };
            changes.push((*row, code));
        }
        // Reasons that no row has any more pile up.
        if reasons.len() > self.reasons + REUSE_STALE_REASONS {
            return None;
        }
        let reasons = if reasons.len() == known.reasons.len() { Arc::clone(&known.reasons) } else { reasons.into() };
        let named: Option<Vec<u32>> = known.named.as_ref().map(|named| {
            let is_again = |row: &u32| rows.binary_search(&Row(*row)).is_ok();
            let others = named.iter().copied().filter(|row| !is_again(row) && (*row as usize) < node_count);
            let places = again.and_then(|again| again.named.as_deref()).unwrap_or_default();
            let rows = places.iter().filter_map(|place| rows.get(*place as usize)).map(|row| row.0);
            let mut named: Vec<u32> = others.chain(rows).collect();
            named.sort_unstable();
            named
        });
        let same = node_count == known.codes.len()
            && named.as_deref() == known.named.as_deref()
            && changes.iter().all(|(row, code)| known.codes.get(row.index()) == *code);
        if same {
            return Some(Arc::clone(&self.judgement));
        }
        let codes = known.codes.with(node_count, &changes);
        Some(Arc::new(Judgement::ByRow(ByRow::new(codes, reasons, named.map(Arc::from)))))
    }

    /// Bytes that the verdict keeps alive, at most.
    pub(super) fn bytes(&self) -> usize {
        SHARED + size_of::<Self>() + self.judgement.bytes() + self.read_bytes
    }
}

fn depends_on_both(reads: &[Arc<Read>]) -> bool {
    reads.iter().any(|read| read.question.depends_on_both())
}

/// Bytes that reads keep alive; the facts of the pod that made them once.
fn read_bytes(reads: &[Arc<Read>], label_texts: &LabelTexts) -> usize {
    let facts = reads.iter().find_map(|read| read.facts()).map_or(0, |facts| facts.heap());
    let reads = reads.iter().map(|read| size_of::<Arc<Read>>() + read.bytes()).sum::<usize>();
    SHARED + reads + facts + label_texts.bytes()
}
