//! What a question about one pod over all nodes takes: evaluated afresh, kept, and with one pod bound since.
//!
//! A pod is asked for by UID, as a core asks. Start at [`measure`].

use std::hint::black_box;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ground::{Ground, Template};
use super::rounds::{Times, timed};
use crate::engine::{Depth, Engine, Error, Nodes, Phase, PodRef, Question};

/// How often each is measured.
#[derive(Debug, Clone, Copy)]
pub struct Rounds {
    /// Evaluated afresh.
    pub cold: usize,
    /// Kept.
    pub warm: usize,
    /// With something changed since.
    pub changed: usize,
}

impl Rounds {
    /// Enough for medians that come out the same again.
    pub const FULL: Self = Self { cold: 400, warm: 4_000, changed: 400 };
    /// Enough to see that it works, and about what comes out.
    pub const QUICK: Self = Self { cold: 30, warm: 300, changed: 30 };
}

/// Medians for one pod.
#[derive(Debug, Clone, Copy)]
pub struct PodTimes {
    /// How many nodes fit.
    pub feasible: usize,
    /// Every predicate evaluated over every node; what the cache counts on demand is there already.
    pub cold: Duration,
    /// Nothing has changed since the question before.
    pub warm: Duration,
    /// A replica of the pod was bound since.
    pub row_changed: Duration,
    /// A pod was bound since that none of the pod's constraints looks at.
    pub other_row_changed: Duration,
}

/// What the program that evaluates natively prints about one pod, a line each: medians of rounds that took turns.
#[derive(Debug, Serialize, Deserialize)]
pub struct NativeTimes {
    /// [`Template::name`].
    pub pod: String,
    /// How many nodes fit, by either.
    pub feasible: usize,
    /// Evaluated afresh in the sandbox.
    pub sandboxed_ns: u64,
    /// Evaluated afresh by the same predicates compiled natively.
    pub native_ns: u64,
}

/// Measures one pod. `fresh` keeps no verdicts, `keeping` does; both read the ground's cache.
///
/// # Errors
///
/// What the engine fails with.
pub fn measure(
    ground: &Ground,
    fresh: &Engine,
    keeping: &Engine,
    template: &Template,
    rounds: Rounds,
) -> Result<PodTimes, Error> {
    let question = question(template);
    let feasible = settle(ground, fresh, &question)?;
    let cold = asked(fresh, &question, rounds.cold)?;
    ask(keeping, &question)?;
    let warm = asked(keeping, &question, rounds.warm)?;
    let changed = |bound: Option<&Template>| -> Result<Times, Error> {
        let times = timed(
            rounds.changed,
            |round| {
                // The cluster is the same again before each round, and the engine has seen it.
                ground.unbind();
                ask(keeping, &question)?;
                ground.bind(bound, round);
                Ok(())
            },
            |()| ask(keeping, &question),
        );
        ground.unbind();
        times
    };
    let row_changed = changed(Some(template))?;
    let other_row_changed = changed(None)?;
    Ok(PodTimes {
        feasible,
        cold: cold.median(),
        warm: warm.median(),
        row_changed: row_changed.median(),
        other_row_changed: other_row_changed.median(),
    })
}

/// Which nodes fit a pod, and by whom the others are rejected.
pub fn question(template: &Template) -> Question {
    let pods = template.uids.first().map(|uid| PodRef::Uid(uid.clone())).into_iter().collect();
    Question { pods, nodes: Nodes::All, phase: Phase::Allocate, depth: Depth::FirstFailure }
}

/// Asks until the cache keeps up to date what the question makes it count; how many nodes fit.
///
/// # Errors
///
/// What the engine fails with.
pub fn settle(ground: &Ground, engine: &Engine, question: &Question) -> Result<usize, Error> {
    ask(engine, question)?;
    // What is counted on demand is taken over with the next change.
    ground.bind(None, 0);
    ground.unbind();
    let answer = engine.answer(question)?;
    Ok(answer.pods.first().map_or(0, |pod| pod.feasible.len()))
}

fn asked(engine: &Engine, question: &Question, rounds: usize) -> Result<Times, Error> {
    timed(rounds, |_| Ok(()), |()| ask(engine, question))
}

fn ask(engine: &Engine, question: &Question) -> Result<(), Error> {
    engine.answer(question).map(|answer| drop(black_box(answer)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use nodesift_fixtures::synthetic::Shape;

    use super::*;
    use crate::cache;
    use crate::cli::cluster;

    #[test]
    fn a_kept_answer_is_there_once_it_was_given_and_until_it_may_be_another() {
        let (writer, reader) = cache::new();
        let engine = cluster::engine(reader, &cluster::PolicyArgs::default()).unwrap();
        let shape = Shape { nodes: 40, pods_per_node: 2, seed: 1 };
        let ground = Ground::synthetic(writer, &engine.policy().scheduler_names, shape, || ()).unwrap();
        for template in &ground.templates {
            let question = question(template);
            let kept = || engine.answer_kept(&engine.snapshot(), &question);
            assert!(kept().is_none(), "pod {}: nobody has asked yet", template.name);
            for time in 0..3 {
                let answer = engine.answer(&question).unwrap();
                let again = kept().unwrap();
                let says = |answer: &crate::engine::Answer| {
                    let pod = answer.pods.first().unwrap();
                    (pod.pod.clone(), pod.feasible.clone(), pod.failures.clone(), pod.message.clone(), pod.cycle)
                };
                assert_eq!(says(&again), says(&answer), "pod {}", template.name);
                // Its node has less room now: a row must be judged again, which is not done at once.
                ground.bind(Some(template), time);
                assert!(kept().is_none(), "pod {}: a node has changed", template.name);
            }
            ground.unbind();
        }
    }

    #[test]
    fn every_figure_is_measured_for_every_pod() {
        let (writer, reader) = cache::new();
        let policy = cluster::PolicyArgs::default();
        let fresh = cluster::engine(reader.clone(), &policy).unwrap().reusing(crate::engine::Reuse::Off);
        let keeping = cluster::engine(reader, &policy).unwrap();
        let shape = Shape { nodes: 40, pods_per_node: 2, seed: 1 };
        let ground = Ground::synthetic(writer, &fresh.policy().scheduler_names, shape, || ()).unwrap();
        let rounds = Rounds { cold: 2, warm: 2, changed: 2 };
        for template in &ground.templates {
            let times = measure(&ground, &fresh, &keeping, template, rounds).unwrap();
            let all = [times.cold, times.warm, times.row_changed, times.other_row_changed];
            assert!(all.iter().all(|time| !time.is_zero()) && times.feasible > 0, "{times:?}");
        }
        assert_eq!(ground.reader.pods().len(), ground.pods + 4 * super::super::PODS_EACH, "all is as it was");
    }
}
