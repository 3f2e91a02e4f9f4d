//! Policies that are evaluated beside the active one and decide nothing: what they would change is counted.
//!
//! ```text
//! alternative    another policy over the same cluster, with cached verdicts of its own
//! difference   how answers change where it decides
//! metrics      what is counted, for scrapers
//! ranks        how the order of nodes changes where it scores
//! record       differences of an alternative: counted, and the last ones kept
//! ```
//!
//! Answers about live requests are offered to [`Shadow`], which takes one where there is room and drops it otherwise: a request
//! never waits. A thread of the policy crate takes them out and calls [`Engine::compare`](crate::Engine::compare).

mod alternative;
mod difference;
pub mod metrics;
mod ranks;
mod record;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::SystemTime;

use nodesift_cache::Snapshot;

use crate::answer::PodAnswer;
use crate::facts::Batch;
use crate::limits::{SHADOW_TOTALS, SHADOW_WAITING};
use crate::policy::Phase;
use crate::query::{Nodes, Query};
use crate::subject::Subject;
pub use alternative::Alternative;
pub use difference::{Change, Differences, Effect, Extent, PodDifference};
pub use ranks::{BestChange, ScoreDifference, ScoreDifferences};
pub use record::{Comparison, Record, RecordedBest, RecordedChange, RecordedDifference};

/// Alternatives that are evaluated beside the active policy, and the queue of answers to compare.
#[derive(Debug)]
pub struct Shadow {
    /// The generation of the active policy that the alternatives are compared with.
    pub generation: u64,
    /// Wall-clock time since which answers are compared.
    pub since: SystemTime,
    /// The alternatives, at least one.
    pub comparisons: Vec<Comparison>,
    sender: SyncSender<Asked>,
    waiting: AtomicUsize,
    dropped: AtomicU64,
}

/// An answer about one pod, with what it was computed from.
#[derive(Debug)]
pub struct Asked {
    pub(crate) subject: Subject,
    pub(crate) phase: Phase,
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) before: difference::Answered,
    /// The rows that were scored; `None` where scores are not compared.
    pub(crate) scored: Option<Batch>,
}

impl Asked {
    /// The answer about a pod, from a snapshot and about these rows of it.
    pub(crate) fn new(
        subject: Subject,
        query: &Query,
        (snapshot, batch): (&Arc<Snapshot>, &Batch),
        answer: &PodAnswer,
    ) -> Self {
        let before = difference::Answered::new(answer);
        // Scores are those among nodes that fit. With a limit these are as many as one policy finds first.
        let is_scored = before.is_scored() && !matches!(query.nodes, Nodes::Enough(_));
        let scored = is_scored.then(|| batch.clone());
        Self { subject, phase: query.phase, snapshot: Arc::clone(snapshot), before, scored }
    }
}

impl Shadow {
    /// Alternatives for the active policy of this generation, and where its answers come out.
    pub fn new(generation: u64, comparisons: Vec<Comparison>) -> (Self, Receiver<Asked>) {
        let (sender, receiver) = sync_channel(SHADOW_WAITING);
        let (waiting, dropped, since) = (AtomicUsize::new(0), AtomicU64::new(0), crate::clock::now());
        (Self { generation, since, comparisons, sender, waiting, dropped }, receiver)
    }

    /// Whether answers by the policy of this generation from this snapshot are compared. Those about an overlay are not: what it
    /// supposes is not the cluster.
    pub(crate) fn compares(&self, generation: u64, snapshot: &Snapshot) -> bool {
        self.generation == generation && snapshot.overlaid_rows().is_none()
    }

    /// Answers that were not compared, because too many waited.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Notes that an answer was taken out.
    pub fn taken(&self) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }

    /// The pod, if there is room for its answer. It takes a nanosecond where there is none.
    pub(crate) fn wants(&self, subject: &Subject) -> Option<Subject> {
        if self.waiting.load(Ordering::Relaxed) < SHADOW_WAITING {
            return Some(subject.clone());
        }
        self.dropped.fetch_add(1, Ordering::Relaxed);
        None
    }

    /// Offers the answer about a pod.
    pub(crate) fn offer(&self, asked: Asked) {
        let waiting = self.waiting.fetch_add(1, Ordering::Relaxed);
        if waiting >= room(asked.before.totals()) || self.sender.try_send(asked).is_err() {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// How many answers may wait that have so many totals each.
fn room(totals: usize) -> usize {
    (SHADOW_TOTALS / totals.max(1)).clamp(1, SHADOW_WAITING)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_answers_wait_the_more_totals_they_have() {
        let rooms = [0, 5_000, 100_000, SHADOW_TOTALS, usize::MAX].map(room);
        assert_eq!(rooms, [SHADOW_WAITING, SHADOW_WAITING, 20, 1, 1]);
    }
}
