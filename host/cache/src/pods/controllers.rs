//! Pods on nodes by their controller, so that the pods of one controller are found without looking at others. Empty where no
//! policy reads controllers: a pod then has none. Start at [`Controllers::get`].

use std::hash::BuildHasher as _;
use std::sync::Arc;

use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::columns::{Column, Delta, DriftReport, Row};
use crate::limits::CONTROLLER_SHARDS;
use crate::metadata::PodRecord;

/// Pods of one controller on one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControlledPods {
    /// Row of the pods' node.
    pub row: Row,
    /// Number of pods that are not being deleted.
    pub running: u32,
    /// Number of pods that are being deleted.
    pub terminating: u32,
}

impl ControlledPods {
    fn none(row: Row) -> Self {
        Self { row, running: 0, terminating: 0 }
    }

    fn total(self) -> u32 {
        self.running.saturating_add(self.terminating)
    }

    fn count_mut(&mut self, terminating: bool) -> &mut u32 {
        if terminating { &mut self.terminating } else { &mut self.running }
    }
}

/// Pods of one controller: rows in their order, each with at least one pod.
pub type ControllerRows = Arc<Vec<ControlledPods>>;

/// Namespace of the pods, and UID of their controller.
type Key = (Arc<str>, Arc<str>);

/// All controllers. A clone costs two reference counts, and a change after it copies the table of one shard.
#[derive(Debug, Clone, Default)]
pub(crate) struct Controllers {
    /// Rows by controller, in shards by hash; empty as long as there is no controller.
    shards: Arc<Vec<Arc<FxHashMap<Key, ControllerRows>>>>,
    /// Per row, how many pods of all controllers there are: whether a row holds pods of controllers that it must not hold shows
    /// without a look at every controller.
    totals: Column<u32>,
}

impl Controllers {
    /// The pods of a controller in a namespace.
    pub(crate) fn get(&self, namespace: &Arc<str>, uid: &Arc<str>) -> ControllerRows {
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

    /// Appends a row without pods.
    pub(crate) fn push(&mut self) {
        self.totals.push(0);
    }

    /// Takes the last row out, whose pods are in another row by now, or gone. What a defect has left of it goes as well: the next
    /// node gets a row without pods.
    pub(crate) fn pop(&mut self) {
        let Some(last) = self.totals.last_row() else { return };
        if self.totals.get(last).is_some_and(|pods| *pods > 0) {
            self.clear(last);
        }
        self.totals.swap_remove(last);
    }

    /// Forgets the pods of a row.
    fn clear(&mut self, row: Row) {
        for (key, ControlledPods { running, terminating, .. }) in self.pods_in_row(row) {
            (0..running).for_each(|_| self.change(Delta::Remove, row, &key, false));
            (0..terminating).for_each(|_| self.change(Delta::Remove, row, &key, true));
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
        let mut is_changed = false;
        match (rows.binary_search_by_key(&row, |pods| pods.row), delta) {
            (Ok(at), _) => {
                if let Some(pods) = rows.get_mut(at) {
                    let before = pods.total();
                    delta.apply_to(pods.count_mut(terminating));
                    is_changed = pods.total() != before;
                    if pods.running == 0 && pods.terminating == 0 {
                        rows.remove(at);
                    }
                }
            }
            (Err(at), Delta::Add) => {
                let mut pods = ControlledPods::none(row);
                delta.apply_to(pods.count_mut(terminating));
                rows.insert(at, pods);
                is_changed = true;
            }
            (Err(_), Delta::Remove) => {}
        }
        if rows.is_empty() {
            shard.remove(key);
        }
        if is_changed {
            self.totals.update(row, |total| delta.apply_to(total));
        }
    }

    /// Repairs a row by the pods on its node. Their controllers are looked up; all others are looked through only where the row
    /// holds more pods than those of them.
    pub(crate) fn repair(&mut self, row: Row, pods: &[Arc<PodRecord>], report: &mut DriftReport) {
        let mut counted: FxHashMap<Key, ControlledPods> = FxHashMap::default();
        for pod in pods {
            if let Some(key) = key_of(pod) {
                let pods = counted.entry(key).or_insert_with(|| ControlledPods::none(row));
                Delta::Add.apply_to(pods.count_mut(pod.terminating));
            }
        }
        let (total, mut found) = (self.totals.get(row).copied(), 0_u32);
        for (key, counted) in &counted {
            let held = self.held(row, key);
            found = found.saturating_add(held.total());
            self.repair_controller(key, held, *counted, report);
        }
        if total != Some(found) {
            for (key, held) in self.pods_in_row(row) {
                if !counted.contains_key(&key) {
                    self.repair_controller(&key, held, ControlledPods::none(row), report);
                }
            }
        }
        let total = counted.into_values().fold(0_u32, |total, pods| total.saturating_add(pods.total()));
        report.repair_cell("pods with a controller", &mut self.totals, row, total);
    }

    /// Repairs what is held of a controller in a row.
    fn repair_controller(
        &mut self,
        key: &Key,
        held: ControlledPods,
        counted: ControlledPods,
        report: &mut DriftReport,
    ) {
        let running = (false, held.running, counted.running);
        for (terminating, held_pods, counted) in [running, (true, held.terminating, counted.terminating)] {
            if report.differs(|| format!("pods of controller {}", key.1), &held_pods, &counted) {
                let delta = if held_pods < counted { Delta::Add } else { Delta::Remove };
                (0..held_pods.abs_diff(counted)).for_each(|_| self.change(delta, held.row, key, terminating));
            }
        }
    }

    /// Returns the pods recorded of a controller in a row.
    fn held(&self, row: Row, key: &Key) -> ControlledPods {
        let rows = self.shards.get(shard_of(key)).and_then(|shard| shard.get(key));
        rows.and_then(|rows| in_row(rows, row)).unwrap_or_else(|| ControlledPods::none(row))
    }

    /// Returns the pods recorded in a row by controller, by a look at every controller.
    fn pods_in_row(&self, row: Row) -> Vec<(Key, ControlledPods)> {
        let all = self.shards.iter().flat_map(|shard| shard.iter());
        all.filter_map(|(key, rows)| Some((key.clone(), in_row(rows, row)?))).collect()
    }

    /// Forgets the pods of a row, as a defect could.
    #[cfg(debug_assertions)]
    pub(crate) fn corrupt(&mut self, row: Row) {
        self.clear(row);
    }
}

/// The pods of a controller in a row; none where there are none.
fn in_row(rows: &ControllerRows, row: Row) -> Option<ControlledPods> {
    let at = rows.binary_search_by_key(&row, |pods| pods.row).ok()?;
    rows.get(at).copied()
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

    /// A random pod of one of 20 controllers in each of two namespaces, or of none.
    fn controlled(random: &mut fastrand::Rng) -> Arc<PodRecord> {
        let pod = random_pod(random, "p", None);
        let uid = text(&format!("c{}", random.u8(0..20)));
        let owner = (random.u8(0..4) > 0).then(|| Arc::new(OwnerFacts { uid, ..OwnerFacts::default() }));
        let facts = Arc::new(PodFacts { owner, ..(*pod.facts).clone() });
        let namespace = text(["ns", "other"][random.usize(0..2)]);
        Arc::new(PodRecord { facts, namespace, ..pod })
    }

    #[test]
    fn random_pods_leave_every_controller_with_its_rows_and_older_clones_as_they_were() {
        let seed = nodesift_seed::seed();
        let mut random = fastrand::Rng::with_seed(seed);
        let mut controllers = Controllers::default();
        (0..8).for_each(|_| controllers.push());
        type Pods = Vec<(Row, Arc<PodRecord>)>;
        let mut pods = Pods::new();
        let mut kept: Vec<(Controllers, Pods)> = Vec::new();
        for step in 0..5_000 {
            if random.u8(0..5) < 3 || pods.is_empty() {
                let pod = controlled(&mut random);
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
            for row in (0..8).map(Row) {
                let has_one = |(at, pod): &&(Row, Arc<PodRecord>)| *at == row && key_of(pod).is_some();
                assert_eq!(controllers.totals.get(row), Some(&(pods.iter().filter(has_one).count() as u32)));
            }
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
                    assert_eq!(*controllers.get(&text(namespace), &uid), expected);
                }
            }
        }
    }

    /// Pods recorded in a row: per controller those that run and those that terminate, and the total.
    type RowPods = (Vec<(Key, u32, u32)>, Option<u32>);

    /// All that is held of four rows.
    fn held(controllers: &Controllers) -> Vec<RowPods> {
        let of_row = |row: Row| {
            let pods = controllers.pods_in_row(row).into_iter();
            let mut pods: Vec<_> = pods.map(|(key, pods)| (key, pods.running, pods.terminating)).collect();
            pods.sort();
            (pods, controllers.totals.get(row).copied())
        };
        (0..4).map(|row| of_row(Row(row))).collect()
    }

    #[test]
    fn a_repair_finds_whatever_of_a_row_is_not_as_its_pods_have_it() {
        let seed = nodesift_seed::seed();
        let mut random = fastrand::Rng::with_seed(seed);
        let mut broken = 0;
        for _ in 0..2_000 {
            let mut controllers = Controllers::default();
            (0..4).for_each(|_| controllers.push());
            let pods = (0..random.u8(0..12)).map(|_| (Row(random.u32(0..4)), controlled(&mut random)));
            let pods: Vec<(Row, Arc<PodRecord>)> = pods.collect();
            pods.iter().for_each(|(row, pod)| controllers.apply(Delta::Add, *row, pod));
            let whole = held(&controllers);
            let row = Row(random.u32(0..4));
            match random.u8(0..4) {
                0 => controllers.totals.set(row, random.u32(0..5)),
                1 => controllers.clear(row),
                _ => {
                    for _ in 0..random.u8(0..4) {
                        let delta = if random.bool() { Delta::Add } else { Delta::Remove };
                        controllers.apply(delta, row, &controlled(&mut random));
                    }
                }
            }
            let is_broken = held(&controllers) != whole;
            broken += u32::from(is_broken);
            let of_row = pods.iter().filter(|(at, _)| *at == row).map(|(_, pod)| Arc::clone(pod));
            let mut report = DriftReport::new(text("n"), Vec::new());
            controllers.repair(row, &of_row.collect::<Vec<_>>(), &mut report);
            assert_eq!(held(&controllers), whole);
            assert_eq!(!report.into_found().is_empty(), is_broken);
        }
        assert!(broken > 500, "{broken}");
    }

    #[test]
    fn the_pods_of_the_last_row_move_and_what_a_defect_left_of_it_goes() {
        let mut random = fastrand::Rng::with_seed(3);
        let mut controllers = Controllers::default();
        (0..4).for_each(|_| controllers.push());
        let mut pod = || std::iter::repeat_with(|| controlled(&mut random)).find(|pod| key_of(pod).is_some()).unwrap();
        let (moved, left) = (pod(), pod());
        controllers.apply(Delta::Add, Row(3), &moved);
        controllers.apply(Delta::Add, Row(3), &left);
        controllers.move_row(Row(3), Row(1), std::slice::from_ref(&moved));
        controllers.pop();
        controllers.push();
        let key = key_of(&moved).unwrap();
        let pods = (key, u32::from(!moved.terminating), u32::from(moved.terminating));
        let none = || -> RowPods { (Vec::new(), Some(0)) };
        let one: RowPods = (vec![pods], Some(1));
        assert_eq!(held(&controllers), [none(), one, none(), none()]);
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
