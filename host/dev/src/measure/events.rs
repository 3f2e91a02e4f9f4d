//! The time of a preemption dry run, and of one pod event in the cache. Start at [`FullNode`] and [`pod_event`].

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use super::rounds::timed;
use super::testbed::{Template, Testbed};
use nodesift_cache::metadata::{LabelRequirement, PodRecord, PodSelector};
use nodesift_cache::{CountKey, Identity, Row};
use nodesift_engine::{Candidate, Engine, Error, PodRef, Preemption};
use nodesift_fixtures::synthetic::NAMESPACES;
use nodesift_object::selector::Operator;

/// Candidate victims on the full node: as many pods as a node of the synthetic cluster has.
pub const VICTIMS: usize = 30;

/// Pod counts that the cache maintains while pod events are measured: pending pods of a busy cluster use a few hundred
/// selectors.
const COUNTS: usize = 200;

/// A full node, and the preemption dry run on it: how many victims make room for a pod.
#[derive(Debug)]
pub struct FullNode {
    node: String,
    /// UIDs of [`VICTIMS`] pods. There is room only once the last of them is removed.
    victims: Vec<String>,
}

impl FullNode {
    /// Fills the node in the middle of the table.
    pub fn fill(testbed: &Testbed) -> Self {
        let row = Row(u32::try_from(testbed.nodes() / 2).unwrap_or(0));
        let victims = testbed.fill(row, VICTIMS);
        Self { node: testbed.reader().snapshot().node_name(row).to_owned(), victims }
    }

    /// The name of the node.
    pub fn node(&self) -> &str {
        &self.node
    }

    /// UIDs of the candidate victims, in preemption order.
    pub fn victims(&self) -> &[String] {
        &self.victims
    }

    /// The dry run for one pod of the template. It starts with the first `start` victims removed.
    fn question(&self, template: &Template, start: usize) -> Preemption {
        let pod = PodRef::Uid(template.uids().first().cloned().unwrap_or_default());
        let candidate = Candidate { node: self.node.clone(), victims: self.victims.clone(), start };
        Preemption { pod, candidates: vec![candidate], deadline: None }
    }

    /// The median time of the dry run, and its answer.
    ///
    /// # Errors
    ///
    /// If an evaluation fails.
    pub fn measure(
        &self,
        engine: &Engine,
        template: &Template,
        start: usize,
        rounds: usize,
    ) -> Result<(Duration, Option<usize>), Error> {
        let question = self.question(template, start);
        let index = engine.preempt(&question, &engine.snapshot())?.outcomes.first().and_then(|outcome| outcome.index);
        let times = timed(
            rounds,
            |_| Ok(()),
            |()| engine.preempt(&question, &engine.snapshot()).map(|answer| drop(black_box(answer))),
        )?;
        Ok((times.median(), index))
    }
}

/// The median time of one pod event, publication included, while a reader holds a snapshot and the cache maintains
/// [`COUNTS`] counts.
pub(crate) fn pod_event(testbed: &Testbed, rounds: usize) -> Duration {
    for app in 0..COUNTS {
        let values = [Arc::from(format!("app-{app}"))];
        let Some(requirement) = LabelRequirement::new("app", Operator::In, values) else { continue };
        let mut namespaces: Vec<Arc<str>> =
            (0..NAMESPACES).map(|namespace| Arc::from(format!("ns-{namespace}"))).collect();
        namespaces.sort_unstable();
        let selector = PodSelector { namespaces, namespace_requirements: None, requirements: vec![requirement] };
        testbed.reader().snapshot().count(&CountKey { selectors: vec![selector], terminating: false });
    }
    // Each publication starts to maintain only a few of the requested counts.
    (0..COUNTS).for_each(|_| testbed.writer().lock().publish());
    let mut bound = testbed.reader().pods().all();
    bound.retain(|pod| pod.node_name.is_some());
    bound.sort_unstable_by(|a, b| a.uid.cmp(&b.uid));
    let step = bound.len().div_ceil(rounds.max(1)).max(1);
    let pods: Vec<PodRecord> = bound.iter().step_by(step).map(|pod| (**pod).clone()).collect();
    drop(bound);
    let mut next = pods.iter().cycle().cloned();
    let mut held = testbed.reader().snapshot();
    let mut writer = testbed.writer().lock();
    let times = timed::<_, std::convert::Infallible>(
        rounds,
        |_| Ok(next.next()),
        |pod| {
            let Some(pod) = pod else { return Ok(()) };
            writer.remove(&Identity::pod(&pod.uid));
            writer.apply(pod);
            writer.publish();
            held = testbed.reader().snapshot();
            Ok(())
        },
    );
    drop(held);
    let Ok(times) = times;
    // A round is two events: a removal and an addition.
    times.median() / 2
}
