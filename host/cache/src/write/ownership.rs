//! Ownership of pods: those of schedulers that the policy does not name are foreign. Another policy may name others.
//!
//! A [compiler](crate::metadata::Pool) decides by the policy that was active when it was made. From the first [`Writer::recount_ownership`]
//! on the writer decides, so that a pod that was compiled before counts as the others do. Start there.

use std::borrow::Cow;
use std::sync::Arc;

use super::Writer;
use crate::metadata::PodRecord;

/// The schedulers whose pods are not foreign.
#[derive(Debug, Default)]
pub(super) struct OwnSchedulers {
    /// `None`: pods are as they were compiled.
    names: Option<Arc<[String]>>,
    /// How often they were replaced.
    count: u64,
}

impl OwnSchedulers {
    /// How often they were replaced.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// A pod as it counts.
    pub(super) fn classify<'a>(&self, pod: &'a Arc<PodRecord>) -> Cow<'a, Arc<PodRecord>> {
        let Some(names) = &self.names else { return Cow::Borrowed(pod) };
        let ownership = pod.ownership_by(names);
        if ownership == pod.ownership { Cow::Borrowed(pod) } else { Cow::Owned(Arc::new(pod.owned(ownership))) }
    }
}

impl Writer {
    /// Decides about every pod anew, by the schedulers of another policy. Returns how many pods changed sides. All of it appears
    /// in one publication, the next one, whose snapshots have the next higher [`ownership`](crate::Snapshot::ownership).
    pub fn recount_ownership(&mut self, own_schedulers: &[String]) -> usize {
        self.ownership = OwnSchedulers { names: Some(own_schedulers.into()), count: self.ownership.count + 1 };
        self.advance_generation();
        let is_other = |pod: &Arc<PodRecord>| pod.ownership != pod.ownership_by(own_schedulers);
        let others: Vec<Arc<PodRecord>> = self.pods.all().into_iter().filter(is_other).collect();
        others.iter().for_each(|pod| self.put_pod(pod));
        self.assumed.recount(own_schedulers);
        others.len()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::metadata::{Ownership, PodFacts};
    use crate::write::model::{random_node, random_pod, text};
    use crate::{Identity, Snapshot, new};

    const SCHEDULERS: [&str; 3] = ["a", "b", "c"];

    /// A pod of some scheduler, compiled under a policy with the first one.
    fn pod(random: &mut fastrand::Rng, name: &str) -> PodRecord {
        let node = random.bool().then(|| text(&format!("n{}", random.u8(0..6))));
        let pod = random_pod(random, name, node);
        let scheduler_name = text(SCHEDULERS[random.usize(0..3)]);
        let ownership = match pod.ownership {
            Ownership::ForeignStatic => Ownership::ForeignStatic,
            _ => Ownership::for_scheduler(&scheduler_name, &["a".to_owned()]),
        };
        let facts = Arc::new(PodFacts { scheduler_name, ..(*pod.facts).clone() });
        PodRecord { uid: text(name), ownership, facts, ..pod }
    }

    /// By node: the number of foreign pods, and what they use of each resource.
    fn foreign(snapshot: &Snapshot) -> BTreeMap<String, (i64, BTreeMap<String, i64>)> {
        let of = |row: usize| {
            let amounts = snapshot.resource_names().filter_map(|name| {
                let resource = snapshot.resource(name)?;
                let amount = resource.foreign.iter().nth(row).copied()?;
                (amount != 0).then(|| (name.to_string(), amount))
            });
            let name = snapshot.names().iter().nth(row).unwrap().to_string();
            (name, (snapshot.foreign_pods().iter().nth(row).copied().unwrap(), amounts.collect()))
        };
        (0..snapshot.node_count()).map(of).collect()
    }

    #[test]
    fn another_policy_leaves_the_cache_as_if_it_had_been_the_first() {
        let seed = nodesift_seed::seed();
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..100 {
            let (mut writer, reader) = new();
            let (mut pods, mut nodes) = (BTreeMap::new(), BTreeMap::new());
            let mut own = vec!["a".to_owned()];
            let (mut recounts, until) = (0, Instant::now() + Duration::from_secs(3600));
            for _ in 0..120 {
                let name = format!("p{}", random.u8(0..20));
                let node = format!("n{}", random.u8(0..6));
                match random.u8(0..12) {
                    0..5 => {
                        // A pod keeps its scheduler, and whether it is static.
                        let mut next = pod(&mut random, &name);
                        if let Some(known) = pods.get(&name) {
                            let PodRecord { ownership, facts, .. } = known;
                            let scheduler_name = Arc::clone(&facts.scheduler_name);
                            next.facts = Arc::new(PodFacts { scheduler_name, ..(*next.facts).clone() });
                            next.ownership = *ownership;
                        }
                        writer.apply(next.clone());
                        pods.insert(name, next);
                    }
                    5 => {
                        writer.remove(&Identity::pod(&name));
                        pods.remove(&name);
                    }
                    6 => {
                        let facts = random_node(&mut random, &node);
                        writer.apply(facts.clone());
                        nodes.insert(node, facts);
                    }
                    7 => drop(writer.assume(&name, &node, until)),
                    8 => {
                        writer.forget(&name);
                    }
                    9 => writer.publish(),
                    _ => {
                        let before = foreign(&reader.snapshot());
                        own = SCHEDULERS.iter().filter(|_| random.bool()).map(|name| (*name).to_owned()).collect();
                        writer.recount_ownership(&own);
                        recounts += 1;
                        assert_eq!(foreign(&reader.snapshot()), before, "something appears before it is published");
                        writer.publish();
                        assert_eq!(reader.snapshot().ownership(), recounts);
                    }
                }
            }
            // What is compiled by the first policy counts by the last.
            for pod in pods.values().filter(|_| recounts > 0) {
                assert!(writer.holds_pod(pod), "{pod:?}");
            }
            for number in 0..20 {
                writer.forget(&format!("p{number}"));
            }
            writer.publish();
            let (mut fresh, fresh_reader) = new();
            nodes.values().for_each(|node| fresh.apply(node.clone()));
            for pod in pods.values() {
                let ownership = if recounts == 0 { pod.ownership } else { pod.ownership_by(&own) };
                fresh.apply(pod.owned(ownership));
                assert_eq!(writer.pods().by_uid(&pod.uid).unwrap().ownership, ownership, "{pod:?}");
            }
            fresh.publish();
            assert_eq!(foreign(&reader.snapshot()), foreign(&fresh_reader.snapshot()));
            let rows = writer.audit_rows();
            assert!(writer.audit(0..rows).is_empty());
        }
    }
}
