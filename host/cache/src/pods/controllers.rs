//! Pods on nodes by their controller, so that the pods of one controller are found without looking at others. Empty where no
//! policy reads controllers: a pod then has none. Start at [`Controllers::of`].

use std::hash::BuildHasher as _;
use std::sync::Arc;

use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::columns::{Delta, DriftReport, Row};
use crate::limits::CONTROLLER_SHARDS;
use crate::metadata::PodRecord;

/// Pods of one controller on one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControlledPods {
    /// The row.
    pub row: Row,
    /// Those that are not being deleted.
    pub running: u32,
    /// Those that are.
    pub terminating: u32,
}

impl ControlledPods {
    fn of(&mut self, terminating: bool) -> &mut u32 {
        if terminating { &mut self.terminating } else { &mut self.running }
    }
}

/// Pods of one controller: rows in their order, each with at least one pod.
pub type ControllerRows = Arc<Vec<ControlledPods>>;

/// Namespace of the pods, and UID of their controller.
type Key = (Arc<str>, Arc<str>);

/// All controllers. A clone costs a reference count, and a change after it copies the table of one shard.
#[derive(Debug, Clone, Default)]
pub(crate) struct Controllers {
    /// By hash; empty as long as there is no controller.
    shards: Arc<Vec<Arc<FxHashMap<Key, ControllerRows>>>>,
}

impl Controllers {
    /// The pods of a controller in a namespace.
    pub(crate) fn of(&self, namespace: &Arc<str>, uid: &Arc<str>) -> ControllerRows {
        let key = (Arc::clone(namespace), Arc::clone(uid));
        self.shards.get(shard_of(&key)).and_then(|shard| shard.get(&key)).map(Arc::clone).unwrap_or_default()
    }

    /// Adds a pod to a row, or removes it.
    pub(crate) fn apply(&mut self, delta: Delta, row: Row, pod: &PodRecord) {
        if let Some(key) = key_of(pod) {
            self.change(delta, row, &key, pod.terminating);
        }
    }

    /// The pods of a row are in another row from now on.
    pub(crate) fn move_row(&mut self, from: Row, to: Row, pods: &[Arc<PodRecord>]) {
        for pod in pods {
            self.apply(Delta::Remove, from, pod);
            self.apply(Delta::Add, to, pod);
        }
    }

    fn change(&mut self, delta: Delta, row: Row, key: &Key, terminating: bool) {
        let shards = Arc::make_mut(&mut self.shards);
        if shards.is_empty() {
            shards.resize_with(CONTROLLER_SHARDS, Arc::default);
        }
        let Some(shard) = shards.get_mut(shard_of(key)) else { return };
        let shard = Arc::make_mut(shard);
        if delta == Delta::Remove && !shard.contains_key(key) {
            return;
        }
        let rows = Arc::make_mut(shard.entry(key.clone()).or_default());
        match (rows.binary_search_by_key(&row, |pods| pods.row), delta) {
            (Ok(at), _) => {
                if let Some(pods) = rows.get_mut(at) {
                    delta.apply_to(pods.of(terminating));
                    if pods.running == 0 && pods.terminating == 0 {
                        rows.remove(at);
                    }
                }
            }
            (Err(at), Delta::Add) => {
                let mut pods = ControlledPods { row, running: 0, terminating: 0 };
                delta.apply_to(pods.of(terminating));
                rows.insert(at, pods);
            }
            (Err(_), Delta::Remove) => {}
        }
        if rows.is_empty() {
            shard.remove(key);
        }
    }

    /// Repairs a row by the pods on its node.
    pub(crate) fn repair(&mut self, row: Row, pods: &[Arc<PodRecord>], report: &mut DriftReport) {
        let mut counted: FxHashMap<(Key, bool), u32> = FxHashMap::default();
        for pod in pods {
            if let Some(key) = key_of(pod) {
                *counted.entry((key, pod.terminating)).or_default() += 1;
            }
        }
        let what = |key: &Key| format!("pods of controller {}", key.1);
        for ((key, terminating), held) in self.of_row(row) {
            let counted = counted.remove(&(key.clone(), terminating)).unwrap_or(0);
            if report.differs(|| what(&key), &held, &counted) {
                let delta = if held < counted { Delta::Add } else { Delta::Remove };
                (0..held.abs_diff(counted)).for_each(|_| self.change(delta, row, &key, terminating));
            }
        }
        for ((key, terminating), counted) in counted {
            report.differs(|| what(&key), &0, &counted);
            (0..counted).for_each(|_| self.change(Delta::Add, row, &key, terminating));
        }
    }

    /// What is held of a row: controllers, whether the pods are being deleted, and how many there are.
    fn of_row(&self, row: Row) -> Vec<((Key, bool), u32)> {
        let mut held = Vec::new();
        for (key, rows) in self.shards.iter().flat_map(|shard| shard.iter()) {
            let Ok(at) = rows.binary_search_by_key(&row, |pods| pods.row) else { continue };
            let Some(ControlledPods { running, terminating, .. }) = rows.get(at) else { continue };
            let both = [((key.clone(), false), *running), ((key.clone(), true), *terminating)];
            held.extend(both.into_iter().filter(|(_, pods)| *pods > 0));
        }
        held
    }

    /// Forgets the pods of a row, as a defect could.
    #[cfg(debug_assertions)]
    pub(crate) fn corrupt(&mut self, row: Row) {
        for ((key, terminating), pods) in self.of_row(row) {
            (0..pods).for_each(|_| self.change(Delta::Remove, row, &key, terminating));
        }
    }
}

/// The controller of a pod; none where it has none, or no policy reads it.
fn key_of(pod: &PodRecord) -> Option<Key> {
    Some((Arc::clone(&pod.namespace), Arc::clone(pod.facts.controller_uid()?)))
}

fn shard_of(key: &Key) -> usize {
    // The upper bits, since a table inside a shard takes the lower ones.
    let hash = FxBuildHasher.hash_one(key) >> 32;
    usize::try_from(hash).unwrap_or(0) % CONTROLLER_SHARDS
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::cast_possible_truncation, reason = "tests")]
mod tests {
    use super::*;
    use crate::metadata::{OwnerFacts, PodFacts};
    use crate::write::model::random_pod;

    fn text(text: &str) -> Arc<str> {
        Arc::from(text)
    }

    #[test]
    fn random_pods_leave_every_controller_with_its_rows_and_older_clones_as_they_were() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        let mut controllers = Controllers::default();
        type Pods = Vec<(Row, Arc<PodRecord>)>;
        let mut pods = Pods::new();
        let mut kept: Vec<(Controllers, Pods)> = Vec::new();
        for step in 0..5_000 {
            if random.u8(0..5) < 3 || pods.is_empty() {
                let pod = random_pod(&mut random, "p", None);
                let uid = text(&format!("c{}", random.u8(0..20)));
                let owner = (random.u8(0..4) > 0).then(|| Arc::new(OwnerFacts { uid, ..OwnerFacts::default() }));
                let facts = Arc::new(PodFacts { owner, ..(*pod.facts).clone() });
                let namespace = text(["ns", "other"][random.usize(0..2)]);
                let pod = Arc::new(PodRecord { facts, namespace, ..pod });
                let row = Row(random.u32(0..8));
                controllers.apply(Delta::Add, row, &pod);
                pods.push((row, pod));
            } else {
                let (row, pod) = pods.swap_remove(random.usize(0..pods.len()));
                controllers.apply(Delta::Remove, row, &pod);
            }
            if step % 500 == 7 {
                kept.push((controllers.clone(), pods.clone()));
            }
        }
        kept.push((controllers, pods));
        for (controllers, pods) in kept {
            for namespace in ["ns", "other"] {
                for number in 0..21 {
                    let uid = text(&format!("c{number}"));
                    let is_its =
                        |pod: &PodRecord| *pod.namespace == *namespace && pod.facts.controller_uid() == Some(&uid);
                    let count = |row: Row, terminating: bool| {
                        let counts = |(at, pod): &&(Row, Arc<PodRecord>)| {
                            *at == row && is_its(pod) && pod.terminating == terminating
                        };
                        pods.iter().filter(counts).count() as u32
                    };
                    let expected: Vec<ControlledPods> = (0..8)
                        .map(|row| ControlledPods {
                            row: Row(row),
                            running: count(Row(row), false),
                            terminating: count(Row(row), true),
                        })
                        .filter(|pods| pods.running + pods.terminating > 0)
                        .collect();
                    assert_eq!(*controllers.of(&text(namespace), &uid), expected);
                }
            }
        }
    }

    #[test]
    fn without_controllers_nothing_is_kept() {
        let mut random = fastrand::Rng::with_seed(1);
        let mut controllers = Controllers::default();
        for _ in 0..100 {
            let pod = random_pod(&mut random, "p", None);
            let facts = Arc::new(PodFacts { owner: None, ..(*pod.facts).clone() });
            controllers.apply(Delta::Add, Row(0), &PodRecord { facts, ..pod });
        }
        assert!(controllers.shards.is_empty());
    }
}
