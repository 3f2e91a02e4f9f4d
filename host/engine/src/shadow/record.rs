//! The differences of one alternative: counted, and the last ones kept. Start at [`Comparison`].

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::SystemTime;

use nodesift_cache::{Row, Snapshot};
use parking_lot::Mutex;

use super::alternative::Alternative;
use super::difference::{Change, Differences, PodDifference};
use super::ranks::BestChange;
use crate::limits::{SHADOW_CHANGES, SHADOW_DIFFERENCE_BYTES, SHADOW_DIFFERENCES, SHADOW_NODES, SHADOW_REASON_BYTES};

/// An alternative and what it would change.
#[derive(Debug)]
pub struct Comparison {
    /// Name of the alternative: the path of its document, or its name in messages.
    pub source: String,
    pub(super) alternative: Alternative,
    record: Mutex<Record>,
}

/// Differences that an alternative would make, counted, and the last ones.
#[derive(Debug, Clone, Default)]
pub struct Record {
    /// Of all pods that were compared.
    pub differences: Differences,
    /// The last ones, oldest first, at most [`SHADOW_DIFFERENCES`] of at most [`SHADOW_DIFFERENCE_BYTES`].
    pub last: VecDeque<Arc<RecordedDifference>>,
    last_bytes: usize,
    /// Calls of its predicates and scorers that failed; the failure policy decided in their place.
    pub faults: u64,
    /// Answers that could not be compared, because they took too long or the alternative has none.
    pub failed: u64,
}

/// A difference that is kept.
#[derive(Debug)]
pub struct RecordedDifference {
    /// When it was found.
    pub at: SystemTime,
    /// The pod as `namespace/name`.
    pub pod: String,
    /// How many nodes fit.
    pub before: usize,
    /// How many nodes would fit.
    pub after: usize,
    /// Nodes that would not fit any more.
    pub lost: Vec<RecordedChange>,
    /// Nodes that would fit.
    pub gained: Vec<RecordedChange>,
    /// Entries of both lists beyond those that are kept.
    pub unlisted: usize,
    /// The best nodes, where none is among the best by both policies.
    pub best: Option<RecordedBest>,
    /// Why the pod would have no scores, where it has some.
    pub score_error: Option<String>,
}

/// The nodes with the highest total by both policies.
#[derive(Debug)]
pub struct RecordedBest {
    /// Number of them now, and their names, of which the last may be missing.
    pub before: (usize, Vec<String>),
    /// Names of the nodes that would be best.
    pub after: (usize, Vec<String>),
}

/// Nodes with one reason.
#[derive(Debug)]
pub struct RecordedChange {
    /// The predicate that rejects them by one of the policies.
    pub predicate: Arc<str>,
    /// Its reasons in one text.
    pub reasons: String,
    /// Number of the nodes, including those not listed.
    pub count: usize,
    /// The names of some of them, in the order of rows.
    pub nodes: Vec<String>,
}

impl Comparison {
    /// An alternative that has been compared with nothing yet.
    pub fn new(source: String, alternative: Alternative) -> Self {
        Self { source, alternative, record: Mutex::default() }
    }

    /// Returns a copy of the differences recorded so far.
    pub fn record(&self) -> Record {
        self.record.lock().clone()
    }

    /// Counts a pod. `snapshot` has the names of the rows.
    pub(super) fn add(&self, difference: &PodDifference, faults: usize, snapshot: &Snapshot) {
        let differs = !difference.is_empty() || difference.changes_best();
        let recorded = differs.then(|| Arc::new(recorded(difference, snapshot)));
        let mut record = self.record.lock();
        record.differences.add(difference);
        record.faults += faults as u64;
        if let Some(recorded) = recorded {
            record.keep(recorded);
        }
    }

    /// Counts a pod without an answer.
    pub(super) fn fail(&self) {
        self.record.lock().failed += 1;
    }
}

impl Record {
    /// Keeps a difference, and the last ones before it for which there is room.
    fn keep(&mut self, difference: Arc<RecordedDifference>) {
        self.last_bytes += difference.bytes();
        self.last.push_back(difference);
        while self.last.len() > SHADOW_DIFFERENCES || self.last_bytes > SHADOW_DIFFERENCE_BYTES {
            let Some(oldest) = self.last.pop_front() else { return };
            self.last_bytes -= oldest.bytes();
        }
    }
}

impl RecordedDifference {
    /// Size in bytes, texts included.
    fn bytes(&self) -> usize {
        let names = |names: &[String]| names.iter().map(|node| size_of::<String>() + node.len()).sum::<usize>();
        let change =
            |change: &RecordedChange| size_of::<RecordedChange>() + change.reasons.len() + names(&change.nodes);
        let best = |best: &RecordedBest| names(&best.before.1) + names(&best.after.1);
        size_of::<Self>()
            + self.pod.len()
            + self.lost.iter().chain(&self.gained).map(change).sum::<usize>()
            + self.best.as_ref().map_or(0, best)
            + self.score_error.as_ref().map_or(0, String::len)
    }
}

/// A text, as far as it is kept.
fn cut(mut text: String) -> String {
    if text.len() > SHADOW_REASON_BYTES {
        text.truncate(text.floor_char_boundary(SHADOW_REASON_BYTES));
        text.push('…');
    }
    text
}

fn recorded(difference: &PodDifference, snapshot: &Snapshot) -> RecordedDifference {
    let names = |rows: &[Row]| {
        let named = rows.iter().take(SHADOW_NODES).map(|row| snapshot.node_name(*row).to_owned());
        (rows.len(), named.collect::<Vec<_>>())
    };
    let best = |BestChange { before, after }: &BestChange| RecordedBest { before: names(before), after: names(after) };
    let change = |change: &Change| {
        let reasons = cut(change.reasons.join(", "));
        let (count, nodes) = names(&change.rows);
        RecordedChange { predicate: Arc::clone(&change.predicate), reasons, count, nodes }
    };
    let changes = |changes: &[Change]| changes.iter().take(SHADOW_CHANGES).map(change).collect();
    let PodDifference { pod, before, after, lost, gained, scores, score_error } = difference;
    RecordedDifference {
        at: crate::clock::now(),
        pod: pod.clone(),
        before: *before,
        after: *after,
        lost: changes(lost),
        gained: changes(gained),
        unlisted: [lost, gained].iter().map(|changes| changes.len().saturating_sub(SHADOW_CHANGES)).sum(),
        best: scores.as_ref().and_then(|scores| scores.best.as_ref()).map(best),
        score_error: score_error.clone().map(cut),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(pod: usize, reasons: usize) -> Arc<RecordedDifference> {
        let change = RecordedChange {
            predicate: "P".into(),
            reasons: "r".repeat(reasons),
            count: 1,
            nodes: vec!["n".to_owned()],
        };
        Arc::new(RecordedDifference {
            at: SystemTime::UNIX_EPOCH,
            pod: format!("default/{pod}"),
            before: 1,
            after: 0,
            lost: vec![change],
            gained: Vec::new(),
            unlisted: 0,
            best: None,
            score_error: None,
        })
    }

    #[test]
    fn the_last_differences_are_kept_as_far_as_their_number_and_their_bytes_allow() {
        for (reasons, bytes) in [(0, 0), (64 << 10, 64 << 10)] {
            let mut record = Record::default();
            for pod in 0..2 * SHADOW_DIFFERENCES {
                record.keep(difference(pod, reasons));
            }
            let kept = record.last.len();
            let most = SHADOW_DIFFERENCE_BYTES.checked_div(bytes).unwrap_or(SHADOW_DIFFERENCES);
            assert!(kept <= most && kept + 1 >= most.min(SHADOW_DIFFERENCES), "{kept} of {most}");
            let first = 2 * SHADOW_DIFFERENCES - kept;
            let expected: Vec<String> = (first..2 * SHADOW_DIFFERENCES).map(|pod| format!("default/{pod}")).collect();
            assert!(record.last.iter().map(|kept| &kept.pod).eq(&expected));
            assert_eq!(record.last_bytes, record.last.iter().map(|kept| kept.bytes()).sum::<usize>());
        }
    }
}
