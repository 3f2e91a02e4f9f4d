//! Changes of answers where another policy decides: of one pod, and summed up over many.
//!
//! A node is lost under the first predicate of the other policy that rejects it, and gained under the first of the one policy that
//! rejected it, as in a scheduling cycle. How scores change is in `ranks`. Start at [`PodDifference::between`].

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use nodesift_cache::Row;

use super::ranks::{ScoreDifference, ScoreDifferences, Scored};
use crate::answer::{FailureGroup, PodAnswer};
use crate::evaluate::row_set::RowSet;

/// The nodes of an answer: those that fit, with their scores, and the others by what rejects them.
#[derive(Debug, Clone)]
pub(crate) struct Answered {
    feasible: Arc<RowSet>,
    failures: Arc<[FailureGroup]>,
    scored: Scored,
}

impl Answered {
    pub(crate) fn new(answer: &PodAnswer) -> Self {
        let (feasible, failures) = (Arc::clone(&answer.feasible), Arc::clone(&answer.failures));
        Self { feasible, failures, scored: Scored::new(answer) }
    }

    /// Whether it has totals.
    pub(crate) fn is_scored(&self) -> bool {
        matches!(self.scored, Scored::Totals(_))
    }

    /// How many totals it has.
    pub(super) fn totals(&self) -> usize {
        if let Scored::Totals(totals) = &self.scored { totals.count() } else { 0 }
    }
}

/// How the answer about one pod changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodDifference {
    /// The pod as `namespace/name`.
    pub pod: String,
    /// How many nodes fit by the one policy.
    pub before: usize,
    /// How many of the same nodes fit by the other policy.
    pub after: usize,
    /// Nodes that do not fit any more.
    pub lost: Vec<Change>,
    /// Nodes that fit now.
    pub gained: Vec<Change>,
    /// How their order changes; `None` unless both policies score the pod.
    pub scores: Option<ScoreDifference>,
    /// Why the pod has no scores by the other policy, where it has some by the one.
    pub score_error: Option<String>,
}

/// Nodes whose verdict changes, under the predicate that rejects them by one of the policies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Name of the predicate.
    pub predicate: Arc<str>,
    /// Reasons of the rejection, sorted.
    pub reasons: Arc<[String]>,
    /// The nodes, in ascending order.
    pub rows: Vec<Row>,
}

impl PodDifference {
    /// The difference between answers about the same pod and nodes by one policy and by another. Scores are compared where both answers
    /// have totals.
    pub fn between(before: &PodAnswer, after: &PodAnswer) -> Self {
        Self::new(before.pod.clone(), &Answered::new(before), &Answered::new(after))
    }

    /// Of the nodes in `before`; there may be others in `after`, unless scores are compared.
    pub(crate) fn new(pod: String, before: &Answered, after: &Answered) -> Self {
        let (scores, score_error) = match (&before.scored, &after.scored) {
            (Scored::Totals(before), Scored::Totals(after)) => (Some(ScoreDifference::between(before, after)), None),
            (Scored::Totals(_), Scored::Error(error)) => (None, Some(error.clone())),
            _ => (None, None),
        };
        let lost = changes(&after.failures, &before.feasible);
        let gained = changes(&before.failures, &after.feasible);
        let count = |changes: &[Change]| changes.iter().map(|change| change.rows.len()).sum::<usize>();
        let before = before.feasible.len();
        let after = before + count(&gained) - count(&lost);
        Self { pod, before, after, lost, gained, scores, score_error }
    }

    /// Whether no node's verdict changes.
    pub fn is_empty(&self) -> bool {
        self.lost.is_empty() && self.gained.is_empty()
    }

    /// Whether its best nodes change, or it has no scores any more.
    pub fn changes_best(&self) -> bool {
        self.score_error.is_some() || self.scores.as_ref().is_some_and(|scores| scores.best.is_some())
    }
}

/// The rejected rows that fit by the other answer.
fn changes(failures: &[FailureGroup], feasible: &RowSet) -> Vec<Change> {
    if feasible.is_empty() {
        return Vec::new();
    }
    let change = |group: &FailureGroup| {
        let rows: Vec<Row> = group.rows.iter().filter(|row| feasible.contains(*row)).collect();
        let (predicate, reasons) = (Arc::clone(&group.predicate), Arc::clone(&group.reasons));
        (!rows.is_empty()).then_some(Change { predicate, reasons, rows })
    };
    failures.iter().filter_map(change).collect()
}

/// Differences summed up over pods.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Differences {
    /// Pods that were compared.
    pub pods: u64,
    /// Pods of which at least one node has another verdict.
    pub differing: u64,
    /// Pods that no node fits any more.
    pub rejected_everywhere: u64,
    /// Pods that some node fits, where none did before.
    pub newly_placeable: u64,
    /// Pods that lose some nodes and keep others.
    pub losing: u64,
    /// Pods that gain nodes beside those that they had.
    pub gaining: u64,
    /// Changes by the name of the predicate that rejects the nodes.
    pub predicates: BTreeMap<Arc<str>, Effect>,
    /// How the second policy's scores change the order of the nodes that fit.
    pub scores: ScoreDifferences,
}

/// Changes of verdicts under one predicate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Effect {
    /// Nodes that fit now and that the predicate would reject.
    pub rejects: Extent,
    /// Nodes that the predicate rejects now and that would fit.
    pub allows: Extent,
}

/// Number of pods and nodes whose verdict changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extent {
    /// Pods with at least one such node.
    pub pods: u64,
    /// Nodes, summed up over these pods.
    pub nodes: u64,
}

impl Differences {
    /// Adds the difference of one pod to the sums.
    pub fn add(&mut self, difference: &PodDifference) {
        let PodDifference { before, after, lost, gained, .. } = difference;
        let (had, has) = (*before > 0, *after > 0);
        self.pods += 1;
        self.differing += u64::from(!difference.is_empty());
        self.rejected_everywhere += u64::from(had && !has);
        self.newly_placeable += u64::from(!had && has);
        self.losing += u64::from(has && !lost.is_empty());
        self.gaining += u64::from(had && !gained.is_empty());
        self.scores.unscored += u64::from(difference.score_error.is_some());
        if let Some(scores) = &difference.scores {
            self.scores.add(scores);
        }
        self.add_changes(lost, |effect| &mut effect.rejects);
        self.add_changes(gained, |effect| &mut effect.allows);
    }

    fn add_changes(&mut self, changes: &[Change], of: fn(&mut Effect) -> &mut Extent) {
        for (at, change) in changes.iter().enumerate() {
            let effect = self.predicates.entry(Arc::clone(&change.predicate)).or_default();
            let extent = of(effect);
            extent.nodes += change.rows.len() as u64;
            // A predicate rejects for several reasons.
            let is_first = changes.iter().take(at).all(|before| before.predicate != change.predicate);
            extent.pods += u64::from(is_first);
        }
    }
}

impl fmt::Display for Differences {
    /// Writes a summary in one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pods = |count: u64| if count == 1 { "1 pod".to_owned() } else { format!("{} pods", grouped(count)) };
        write!(f, "{}: ", pods(self.pods))?;
        let parts: Vec<String> = [
            (self.rejected_everywhere, "would have been rejected everywhere"),
            (self.losing, "lose nodes"),
            (self.newly_placeable, "would fit somewhere for the first time"),
            (self.gaining, "gain nodes"),
            (self.scores.best_changed, "have other best nodes"),
            (self.scores.unscored, "would have no scores"),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{} {what}", grouped(count)))
        .collect();
        f.write_str(&if parts.is_empty() { "no difference".to_owned() } else { parts.join(", ") })
    }
}

/// A number with a comma between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use nodesift_sandbox::Code;

    use super::*;

    const ROWS: usize = 100;

    /// An answer by which each row fits, or is rejected by one of some predicates for one of some reasons.
    fn answer(verdicts: &[Option<(usize, usize)>]) -> PodAnswer {
        let set = |is_in: &dyn Fn(Option<(usize, usize)>) -> bool| {
            let rows = verdicts.iter().zip(0..).filter(|(verdict, _)| is_in(**verdict)).map(|(_, row)| Row(row));
            Arc::new(RowSet::new(rows.collect(), verdicts.len()))
        };
        let group = |predicate: usize, reason: usize| FailureGroup {
            predicate: format!("P{predicate}").into(),
            code: Code::Unschedulable,
            reasons: [format!("reason {reason}")].into(),
            rows: set(&|verdict| verdict == Some((predicate, reason))),
        };
        let groups = (0..3).flat_map(|predicate| (0..2).map(move |reason| group(predicate, reason)));
        PodAnswer {
            pod: "a/b".to_owned(),
            feasible: set(&|verdict| verdict.is_none()),
            failures: groups.filter(|group| !group.rows.is_empty()).collect(),
            ..PodAnswer::default()
        }
    }

    #[test]
    fn differences_equal_those_that_are_found_row_by_row() {
        let seed = nodesift_seed::seed();
        let mut random = fastrand::Rng::with_seed(seed);
        let (mut sum, mut model) = (Differences::default(), Differences::default());
        for _ in 0..500 {
            // Few rows, so that some pods fit nowhere.
            let most = ROWS >> random.u8(..6);
            let rows = random.usize(1..most);
            let mut verdicts = || -> Vec<Option<(usize, usize)>> {
                let fits = random.u8(..4);
                let mut verdict = || (random.u8(..3) >= fits).then(|| (random.usize(..3), random.usize(..2)));
                (0..rows).map(|_| verdict()).collect()
            };
            let (before, after) = (verdicts(), verdicts());
            let found = PodDifference::between(&answer(&before), &answer(&after));
            sum.add(&found);
            let mut changed: BTreeMap<(bool, String), u64> = BTreeMap::new();
            let (mut lost, mut gained) = (0, 0);
            for (before, after) in before.iter().zip(&after) {
                match (before, after) {
                    (None, Some((predicate, _))) => {
                        lost += 1;
                        *changed.entry((true, format!("P{predicate}"))).or_default() += 1;
                    }
                    (Some((predicate, _)), None) => {
                        gained += 1;
                        *changed.entry((false, format!("P{predicate}"))).or_default() += 1;
                    }
                    _ => {}
                }
            }
            let fits =
                |verdicts: &[Option<(usize, usize)>]| verdicts.iter().filter(|verdict| verdict.is_none()).count();
            let (had, has) = (fits(&before), fits(&after));
            assert_eq!((found.before, found.after), (had, has), "seed {seed}");
            model.pods += 1;
            model.differing += u64::from(lost + gained > 0);
            model.rejected_everywhere += u64::from(had > 0 && has == 0);
            model.newly_placeable += u64::from(had == 0 && has > 0);
            model.losing += u64::from(lost > 0 && has > 0);
            model.gaining += u64::from(gained > 0 && had > 0);
            for ((rejects, predicate), nodes) in changed {
                let effect = model.predicates.entry(predicate.into()).or_default();
                let extent = if rejects { &mut effect.rejects } else { &mut effect.allows };
                extent.pods += 1;
                extent.nodes += nodes;
            }
        }
        assert_eq!(sum, model, "seed {seed}");
        assert!(sum.rejected_everywhere > 0 && sum.newly_placeable > 0, "seed {seed}: {sum:?}");
    }

    #[test]
    fn a_sum_is_told_in_one_line() {
        let sum = Differences { pods: 12_031, rejected_everywhere: 14, losing: 212, ..Differences::default() };
        assert_eq!(sum.to_string(), "12,031 pods: 14 would have been rejected everywhere, 212 lose nodes");
        let scores = ScoreDifferences { pods: 40, best_changed: 3, unscored: 1, ..ScoreDifferences::default() };
        let sum = Differences { pods: 50, scores, ..Differences::default() };
        assert_eq!(sum.to_string(), "50 pods: 3 have other best nodes, 1 would have no scores");
        let sum = Differences { pods: 1, ..Differences::default() };
        assert_eq!(sum.to_string(), "1 pod: no difference");
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
