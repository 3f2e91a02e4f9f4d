//! The time to evaluate one pod over all nodes: cold, warm, and after one pod was bound.
//!
//! The pod is named by UID, as a scheduler core names it. Start at [`measure`].

use std::hint::black_box;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::rounds::{Times, timed};
use super::testbed::{Template, Testbed};
use nodesift_engine::{Engine, Error, Options, PodRef, Query, ScoreRequest};

/// Number of rounds of each kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rounds {
    /// Cold: no cached verdicts.
    pub(crate) cold: usize,
    /// Warm: every verdict is cached.
    pub(crate) warm: usize,
    /// After one pod was bound.
    pub(crate) changed: usize,
}

impl Rounds {
    /// Enough for medians that repeat.
    pub(crate) const FULL: Self = Self { cold: 400, warm: 4_000, changed: 400 };
    /// Enough for a smoke test and rough figures.
    pub(crate) const QUICK: Self = Self { cold: 30, warm: 300, changed: 30 };
    /// Rounds for pods with claims, which take longer: fewer cold ones than in [`Self::FULL`].
    pub(crate) const FULL_CLAIMS: Self = Self { cold: 200, ..Self::FULL };
}

/// Medians for one pod.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PodTimes {
    /// Number of nodes that fit.
    pub(crate) feasible: usize,
    /// Every predicate is evaluated over every node. Label columns and counts are built already.
    pub(crate) cold: Duration,
    /// Nothing has changed since the last evaluation: every verdict is cached.
    pub(crate) warm: Duration,
    /// A replica of the pod was bound since the last evaluation.
    pub(crate) row_changed: Duration,
    /// A pod that none of the pod's constraints matches was bound since the last evaluation.
    pub(crate) other_row_changed: Duration,
    /// Time of `cold` where the nodes that fit are scored.
    pub(crate) scored_cold: Duration,
    /// Time of `warm` where every score is cached.
    pub(crate) scored_warm: Duration,
}

/// Nodes that are wanted of a query with scores: a core takes the first, and has others for a pod that is lost to another core.
const BEST_NODES: usize = 10;

/// One line of `nodesift-native`: medians for one pod, rounds of each kind in turns.
#[derive(Debug, Serialize, Deserialize)]
pub struct NativeTimes {
    /// Name of the pod, as in [`Template::name`].
    pub pod: String,
    /// Number of nodes that fit, the same for both.
    pub feasible: usize,
    /// Cold, in the sandbox, in nanoseconds.
    pub sandboxed_ns: u64,
    /// Cold, by the same predicates as native code, in nanoseconds.
    pub native_ns: u64,
    /// A plain native loop over the same columns, in nanoseconds; `None` for pods that ask for more than it knows.
    pub streamed_ns: Option<u64>,
}

/// Measures one pod. `uncached` reuses no verdicts, `caching` does; both read the testbed's cache.
///
/// # Errors
///
/// If an evaluation fails.
pub(crate) fn measure(
    testbed: &Testbed,
    uncached: &Engine,
    caching: &Engine,
    template: &Template,
    rounds: Rounds,
) -> Result<PodTimes, Error> {
    let question = question(template);
    let feasible = settle(testbed, uncached, &question)?;
    let cold = time(uncached, &question, rounds.cold)?;
    evaluate(caching, &question)?;
    let warm = time(caching, &question, rounds.warm)?;
    let changed = |bound: Option<&Template>| -> Result<Times, Error> {
        let times = timed(
            rounds.changed,
            |round| {
                // Before each round the cluster is as at the start, and the engine has verdicts about it.
                testbed.unbind();
                evaluate(caching, &question)?;
                testbed.bind(bound, round);
                Ok(())
            },
            |()| evaluate(caching, &question),
        );
        testbed.unbind();
        times
    };
    let scored = self::question(template).with_scores(ScoreRequest { top: BEST_NODES, seed: None, each: false });
    settle(testbed, uncached, &scored)?;
    let scored_cold = time(uncached, &scored, rounds.cold)?;
    evaluate(caching, &scored)?;
    let scored_warm = time(caching, &scored, rounds.warm)?;
    let row_changed = changed(Some(template))?;
    let other_row_changed = changed(None)?;
    Ok(PodTimes {
        feasible,
        cold: cold.median(),
        warm: warm.median(),
        row_changed: row_changed.median(),
        other_row_changed: other_row_changed.median(),
        scored_cold: scored_cold.median(),
        scored_warm: scored_warm.median(),
    })
}

/// The evaluation that is measured: which nodes fit a pod, and which predicate rejects each of the others.
pub fn question(template: &Template) -> Query {
    Query::new(template.uids().first().map(|uid| PodRef::Uid(uid.clone())))
}

/// Evaluates until the cache maintains the counts that the pod needs. Returns the number of nodes that fit.
///
/// # Errors
///
/// If an evaluation fails.
pub fn settle(testbed: &Testbed, engine: &Engine, question: &Query) -> Result<usize, Error> {
    evaluate(engine, question)?;
    // Counts built on demand become maintained with the next change.
    testbed.bind(None, 0);
    testbed.unbind();
    let answer = engine.answer(question, Options::default())?;
    Ok(answer.pods.first().map_or(0, |pod| pod.feasible.len()))
}

pub(super) fn time(engine: &Engine, question: &Query, rounds: usize) -> Result<Times, Error> {
    timed(rounds, |_| Ok(()), |()| evaluate(engine, question))
}

pub(super) fn evaluate(engine: &Engine, question: &Query) -> Result<(), Error> {
    engine.answer(question, Options::default()).map(|answer| drop(black_box(answer)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use nodesift::cluster;
    use nodesift_cache as cache;
    use nodesift_fixtures::synthetic::Shape;

    #[test]
    fn an_answer_is_cached_from_its_first_evaluation_until_a_row_changes() {
        let (writer, reader) = cache::new();
        let engine = cluster::engine(reader, &cluster::PolicyArgs::default()).unwrap();
        let shape = Shape { nodes: 40, pods_per_node: 2, seed: 1 };
        let testbed =
            Testbed::synthetic(writer, &engine.policy().scheduler_names, &engine.policy().selection(), shape, || ())
                .unwrap();
        for template in testbed.templates() {
            let question = question(template);
            let cached = || engine.answer_cached(&question, &engine.snapshot());
            assert!(cached().is_none(), "pod {}: not evaluated yet", template.name());
            for round in 0..3 {
                let answer = engine.answer(&question, Options::default()).unwrap();
                let again = cached().unwrap();
                let content = |answer: &nodesift_engine::Answer| {
                    let pod = answer.pods.first().unwrap();
                    (pod.pod.clone(), pod.feasible.clone(), pod.failures.clone(), pod.message.clone(), pod.cycle)
                };
                assert_eq!(content(&again), content(&answer), "pod {}", template.name());
                // The node has less free: its row must be evaluated again, which a cached answer does not do.
                testbed.bind(Some(template), round);
                assert!(cached().is_none(), "pod {}: a node has changed", template.name());
            }
            testbed.unbind();
        }
    }

    #[test]
    fn every_figure_is_measured_for_every_pod() {
        let (writer, reader) = cache::new();
        let policy = cluster::PolicyArgs::default().with_scorers();
        let uncached = cluster::engine(reader.clone(), &policy).unwrap().with_reuse(nodesift_engine::Reuse::Off);
        let caching = cluster::engine(reader, &policy).unwrap();
        let shape = Shape { nodes: 40, pods_per_node: 2, seed: 1 };
        let testbed = Testbed::synthetic(
            writer,
            &uncached.policy().scheduler_names,
            &uncached.policy().selection(),
            shape,
            || (),
        )
        .unwrap();
        let rounds = Rounds { cold: 2, warm: 2, changed: 2 };
        for template in testbed.templates() {
            let times = measure(&testbed, &uncached, &caching, template, rounds).unwrap();
            let all = [
                times.cold,
                times.warm,
                times.row_changed,
                times.other_row_changed,
                times.scored_cold,
                times.scored_warm,
            ];
            assert!(all.iter().all(|time| !time.is_zero()) && times.feasible > 0, "{times:?}");
        }
        assert_eq!(
            testbed.reader().pods().len(),
            testbed.pods() + 4 * crate::measure::REPLICAS,
            "the cluster is unchanged"
        );
    }
}
