//! What else a core waits for: a preemption question, and what one pod event costs the cache.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use nodesift_fixtures::synthetic::NAMESPACES;

use super::ground::{Ground, Template};
use super::rounds::timed;
use crate::cache::{CountKey, Row};
use crate::engine::{Candidate, Engine, Error, PodRef, Preemption};
use crate::metadata::{LabelRequirement, PodRecord, PodSelector};
use crate::object::selector::Operator;

/// Pods that could go, as many as a node of the synthetic cluster has.
pub const VICTIMS: usize = 30;

/// Counts of pods that are alive while one pod event is measured: a busy cluster's pending pods use a few hundred
/// selectors.
pub const COUNTS: usize = 200;

/// A full node, and the question how many of its pods must go.
#[derive(Debug)]
pub struct FullNode {
    node: String,
    /// UIDs of [`VICTIMS`] pods; only without the last of them there is room.
    victims: Vec<String>,
}

impl FullNode {
    /// Fills the node in the middle of the table.
    pub fn of(ground: &Ground) -> Self {
        let row = Row(u32::try_from(ground.nodes / 2).unwrap_or(0));
        let victims = ground.fill(row, VICTIMS);
        Self { node: ground.reader.snapshot().node_name(row).to_owned(), victims }
    }

    /// Its name.
    pub fn node(&self) -> &str {
        &self.node
    }

    /// UIDs of the pods that could go, in order.
    pub fn victims(&self) -> &[String] {
        &self.victims
    }

    /// How many of the pods must go for one of the template, beginning with the first `start`.
    pub fn question(&self, template: &Template, start: usize) -> Preemption {
        let pod = PodRef::Uid(template.uids.first().cloned().unwrap_or_default());
        let candidate = Candidate { node: self.node.clone(), victims: self.victims.clone(), start };
        Preemption { pod, candidates: vec![candidate] }
    }

    /// The median of asking, and the answer.
    ///
    /// # Errors
    ///
    /// What the engine fails with.
    pub fn measure(
        &self,
        engine: &Engine,
        template: &Template,
        start: usize,
        rounds: usize,
    ) -> Result<(Duration, Option<usize>), Error> {
        let question = self.question(template, start);
        let index = engine.preempt(&question)?.outcomes.first().and_then(|outcome| outcome.index);
        let times = timed(rounds, |_| Ok(()), |()| engine.preempt(&question).map(|answer| drop(black_box(answer))))?;
        Ok((times.median(), index))
    }
}

/// What one pod event costs, publishing included, while readers hold snapshots and [`COUNTS`] counts are alive: the median.
pub fn pod_event(ground: &Ground, rounds: usize) -> Duration {
    for app in 0..COUNTS {
        let values = [Arc::from(format!("app-{app}"))];
        let Some(requirement) = LabelRequirement::new("app", Operator::In, values) else { continue };
        let namespaces = (0..NAMESPACES).map(|namespace| Arc::from(format!("ns-{namespace}"))).collect();
        let selector = PodSelector { namespaces, namespace_requirements: None, requirements: vec![requirement] };
        ground.reader.snapshot().count(&CountKey { selectors: vec![selector], terminating: false });
    }
    // Each publication begins to maintain a few of those that are wanted.
    (0..COUNTS).for_each(|_| ground.writer.lock().publish());
    let mut bound = ground.reader.pods().all();
    bound.retain(|pod| pod.node_name.is_some());
    bound.sort_unstable_by(|a, b| a.uid.cmp(&b.uid));
    let step = bound.len().div_ceil(rounds.max(1)).max(1);
    let pods: Vec<PodRecord> = bound.iter().step_by(step).map(|pod| (**pod).clone()).collect();
    drop(bound);
    let mut next = pods.iter().cycle().cloned();
    let mut held = ground.reader.snapshot();
    let mut writer = ground.writer.lock();
    let times = timed::<_, std::convert::Infallible>(
        rounds,
        |_| Ok(next.next()),
        |pod| {
            let Some(pod) = pod else { return Ok(()) };
            writer.remove_pod(&pod.uid);
            writer.apply_pod(pod);
            writer.publish();
            held = ground.reader.snapshot();
            Ok(())
        },
    );
    drop(held);
    let Ok(times) = times;
    // A removal and an addition are two events.
    times.median() / 2
}
