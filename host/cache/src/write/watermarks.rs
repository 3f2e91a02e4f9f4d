//! Watermarks of named sums: which nodes are above them, and an event whenever one crosses.
//!
//! A node is above once the sum is more than `above` percent of the whole, and is below again once it is at most `below` percent, so
//! that one that lies between does not cross with every pod. One that does not advertise the whole is below. Only rows that have changed
//! are looked at, when they are published. Start at [`Writer::cross_watermarks`].

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::SystemTime;

use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use rustc_hash::FxHashSet;

use super::Writer;
use super::events::{Event, WatermarkEvent, WeighingPod};
use super::metrics::AboveWatermark;
use crate::columns::{Generation, Row};
use crate::limits::{EVENTS, WEIGHING_PODS};
use crate::metadata::Watermark;
use crate::metadata::requests::PODS;

/// Watermarks of the accountant, and where nodes are.
#[derive(Debug, Default)]
pub(super) struct Watermarks {
    marks: Vec<MarkedNodes>,
    /// Rows whose amounts may have changed since the last look.
    touched: FxHashSet<Row>,
    gauges: Family<AboveWatermark, Gauge>,
}

/// A watermark, with the names of the nodes that are above it.
#[derive(Debug)]
struct MarkedNodes {
    mark: Watermark,
    above: FxHashSet<Arc<str>>,
}

impl Watermarks {
    /// Counts nodes in these gauges.
    pub(super) fn count_in(&mut self, gauges: Family<AboveWatermark, Gauge>) {
        self.gauges = gauges;
    }

    /// Replaces all watermarks; no node is known to be above any. `rows` is the number of rows, all of which are looked at next.
    pub(super) fn replace(&mut self, marks: &[Watermark], rows: usize) {
        let marked = |mark: &Watermark| MarkedNodes { mark: mark.clone(), above: FxHashSet::default() };
        self.marks = marks.iter().map(marked).collect();
        self.touched = (0..rows).filter_map(|row| u32::try_from(row).ok()).map(Row).collect();
        self.gauges.clear();
        self.marks.iter().for_each(|marked| marked.count(&self.gauges));
    }

    /// Notes that amounts of a row may have changed.
    pub(super) fn touch(&mut self, row: Row) {
        if !self.marks.is_empty() {
            self.touched.insert(row);
        }
    }

    /// Whether rows have changed since the last look.
    pub(super) fn has_touched(&self) -> bool {
        !self.touched.is_empty()
    }

    /// Forgets a node that is no more. Returns the watermarks that it was above.
    fn forget(&mut self, node: &str) -> Vec<Watermark> {
        let mut left = Vec::new();
        for marked in &mut self.marks {
            if marked.above.remove(node) {
                marked.count(&self.gauges);
                left.push(marked.mark.clone());
            }
        }
        left
    }
}

impl MarkedNodes {
    fn count(&self, gauges: &Family<AboveWatermark, Gauge>) {
        let Watermark { sum, whole, above, .. } = &self.mark;
        let label = AboveWatermark { sum: sum.to_string(), of: whole.to_string(), above: above.to_string() };
        gauges.get_or_create(&label).set(i64::try_from(self.above.len()).unwrap_or(i64::MAX));
    }
}

/// Whether a node is above a watermark that it was above, or was not.
fn is_above(was: bool, sum: i64, whole: i64, mark: &Watermark) -> bool {
    let percent = if was { mark.below } else { mark.above };
    i128::from(sum) * 100 > i128::from(percent) * i128::from(whole)
}

impl Writer {
    /// Records that a node which is removed is below each watermark that it was above: nothing is left on it.
    pub(super) fn leave_watermarks(&mut self, node: &Arc<str>) {
        for mark in self.watermarks.forget(node) {
            let (generation, at) = (Generation(0), SystemTime::UNIX_EPOCH);
            let (node, is_above, sum, whole, pods) = (Arc::clone(node), false, 0, 0, Vec::new());
            self.allocations.record(Event::Watermark(WatermarkEvent {
                generation,
                at,
                node,
                mark,
                is_above,
                sum,
                whole,
                pods,
            }));
        }
    }

    /// Looks at the rows that have changed, and records an event for each watermark that a node has crossed.
    pub(super) fn cross_watermarks(&mut self) {
        // A part of the state at the start says nothing about what a node has.
        if self.watermarks.touched.is_empty() || self.allocations.is_starting() {
            return;
        }
        let mut touched: Vec<Row> = std::mem::take(&mut self.watermarks.touched).into_iter().collect();
        touched.sort_unstable();
        // No more than are kept: another component lets each node cross each watermark.
        let (mut crossed, mut dropped) = (VecDeque::<WatermarkEvent>::new(), 0);
        for row in touched {
            // A row past the last one has moved, which has touched the row that it is in now.
            let Some(node) = self.nodes.index().name(row) else { continue };
            for marked in &mut self.watermarks.marks {
                let sums = self.nodes.named_sums();
                let of_sum = |name: &str| Some(sums.get(name)?.get(row).copied().unwrap_or(0));
                let allocatable = |name: &str| match name {
                    PODS => self.nodes.slots().limit().get(row).copied(),
                    _ => self.nodes.resources().allocatable_in(row, name),
                };
                let sum = of_sum(&marked.mark.sum).unwrap_or(0);
                let whole = of_sum(&marked.mark.whole).or_else(|| allocatable(&marked.mark.whole));
                let was = marked.above.contains(node);
                let is_above = whole.is_some_and(|whole| is_above(was, sum, whole, &marked.mark));
                let whole = whole.unwrap_or(0);
                if was == is_above {
                    continue;
                }
                if is_above {
                    marked.above.insert(Arc::clone(node));
                } else {
                    marked.above.remove(node);
                }
                marked.count(&self.watermarks.gauges);
                let (generation, at) = (Generation(0), SystemTime::UNIX_EPOCH);
                let (node, mark, pods) = (Arc::clone(node), marked.mark.clone(), Vec::new());
                crossed.push_back(WatermarkEvent { generation, at, node, mark, is_above, sum, whole, pods });
                if crossed.len() > EVENTS {
                    crossed.pop_front();
                    dropped += 1;
                }
            }
        }
        for event in &mut crossed {
            event.pods = self.weighing_pods(&event.node, &event.mark.sum);
        }
        self.allocations.keep_all(dropped, crossed.into_iter().map(Event::Watermark));
    }

    /// The pods on a node that add most to a sum, the heaviest first.
    fn weighing_pods(&self, node: &str, sum: &str) -> Vec<WeighingPod> {
        let amount = |sums: &[(Arc<str>, i64)]| sums.iter().find(|(name, _)| **name == *sum).map(|(_, amount)| *amount);
        let pods = self.placement.on(node).iter();
        let mut pods: Vec<WeighingPod> = pods
            .filter_map(|pod| {
                let amount = amount(pod.sums()).filter(|amount| *amount > 0)?;
                let (uid, namespace, name) = (Arc::clone(&pod.uid), Arc::clone(&pod.namespace), Arc::clone(&pod.name));
                Some(WeighingPod { uid, namespace, name, amount })
            })
            .collect();
        pods.sort_unstable_by(|a, b| (Reverse(a.amount), &a.uid).cmp(&(Reverse(b.amount), &b.uid)));
        pods.truncate(WEIGHING_PODS);
        pods
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::metadata::{Account, Accountant, Accounted, AccountedNode, NodeFacts, PodFacts, PodRecord, Sums};
    use crate::write::model::{random_node, random_pod, text};
    use crate::{Following, Identity, new};

    /// Gives each pod what its facts use as sums.
    #[derive(Debug)]
    struct Summing {
        sums: Vec<Arc<str>>,
        marks: Vec<Watermark>,
    }

    impl Accountant for Summing {
        fn sums(&self) -> &[Arc<str>] {
            &self.sums
        }

        fn keeps_last(&self) -> bool {
            true
        }

        fn watermarks(&self) -> &[Watermark] {
            &self.marks
        }

        fn pods(&self, pods: &[&Arc<PodFacts>]) -> Vec<Accounted> {
            let account = |facts: &&Arc<PodFacts>| {
                let amount = |(name, amount): &(Arc<str>, i64)| (text(&format!("sum.{name}")), *amount);
                let sums = facts.usage.iter().map(amount).collect();
                Ok(Some(Arc::new(Account::new(facts.requests.clone(), facts.usage.clone(), sums, Vec::new()))))
            };
            pods.iter().map(account).collect()
        }

        fn nodes(&self, nodes: &[AccountedNode]) -> Vec<Result<Sums, Arc<str>>> {
            vec![Ok(Sums::default()); nodes.len()]
        }

        fn forget_pod(&self, _: &Arc<PodFacts>) {}

        fn forget_node(&self, _: &AccountedNode) {}
    }

    #[test]
    fn two_marks_of_one_share_count_nodes_in_a_gauge_each() {
        let mark = |above| Watermark { sum: text("s"), whole: text("cpu"), above, below: 1 };
        let mut watermarks = Watermarks::default();
        watermarks.replace(&[mark(50), mark(90)], 0);
        watermarks.marks[0].above.insert(text("n"));
        watermarks.marks.iter().for_each(|marked| marked.count(&watermarks.gauges));
        let count = |above: &str| {
            let label = AboveWatermark { sum: "s".to_owned(), of: "cpu".to_owned(), above: above.to_owned() };
            watermarks.gauges.get_or_create(&label).get()
        };
        assert_eq!((count("50"), count("90")), (1, 0));
    }

    #[test]
    fn a_node_that_is_above_at_the_start_crosses_once_after_the_state_is_whole() {
        let (sum, mut random) = (text("sum.cpu"), fastrand::Rng::with_seed(3));
        let mark = Watermark { sum: Arc::clone(&sum), whole: text("cpu"), above: 50, below: 40 };
        let (mut writer, _) = new();
        writer.set_accountant(Some(Arc::new(Summing { sums: vec![sum], marks: vec![mark] })));
        writer.begin_start();
        let cpu = vec![(text("cpu"), 100)];
        writer.apply(NodeFacts { allocatable: cpu, ..random_node(&mut random, "n") });
        for name in ["a", "b", "c"] {
            let pod = random_pod(&mut random, name, Some(text("n")));
            let facts = PodFacts { usage: vec![(text("cpu"), 30)], usages: None, ..(*pod.facts).clone() };
            writer.apply(PodRecord { uid: text(name), facts: Arc::new(facts), account: None, ..pod });
            writer.publish();
        }
        assert_eq!(writer.history_on("n").len(), 0, "not for a part of the state");
        let state = writer.generation;
        writer.complete_start();
        let Following { start, mut events, .. } = writer.follow_allocations(Some(Generation(0)));
        assert_eq!(start, state);
        let told = events.read().unwrap();
        let crossings = told.iter().map(|event| match &**event {
            Event::Watermark(event) => Some((event.generation > state, event.is_above, event.sum)),
            Event::Allocation(_) => None,
        });
        assert_eq!(crossings.collect::<Vec<_>>(), [Some((true, true, 90))]);
    }

    #[test]
    fn of_crossings_of_one_publication_as_many_are_kept_as_readers_can_have_and_the_others_are_counted() {
        let sum = text("sum.cpu");
        let mark = |above| Watermark { sum: Arc::clone(&sum), whole: text("cpu"), above, below: 0 };
        let marks: Vec<Watermark> = (1..=32).map(mark).collect();
        let (mut writer, _) = new();
        let mut random = fastrand::Rng::with_seed(1);
        let nodes = EVENTS / marks.len() + 10;
        for number in 0..nodes {
            let name = format!("n{number}");
            let cpu = vec![(text("cpu"), 1)];
            writer.apply(NodeFacts { allocatable: cpu, ..random_node(&mut random, &name) });
            let pod = random_pod(&mut random, &format!("p{number}"), Some(text(&name)));
            let facts = PodFacts { usage: vec![(text("cpu"), 5)], usages: None, ..(*pod.facts).clone() };
            writer.apply(PodRecord { uid: text(&format!("u{number}")), facts: Arc::new(facts), account: None, ..pod });
        }
        let mut events = writer.follow_allocations(None).events;
        let crossings = nodes * marks.len();
        writer.recount_accounts(Some(Arc::new(Summing { sums: vec![sum], marks })));
        writer.publish();
        let lost = events.read().unwrap_err().0;
        let mut kept = 0;
        loop {
            let read = events.read().unwrap();
            if read.is_empty() {
                break;
            }
            kept += read.iter().filter(|event| matches!(&***event, Event::Watermark(_))).count();
        }
        assert!(kept <= EVENTS && kept > 0, "{kept}");
        assert!(u64::try_from(crossings - kept).unwrap() <= lost, "{lost} lost of {crossings}, {kept} kept");
    }

    #[test]
    fn nodes_cross_where_a_look_at_everything_says_so_and_between_the_two_marks_stay_where_they_are() {
        let seed = nodesift_seed::seed();
        let mut random = fastrand::Rng::with_seed(seed);
        let (mut ups, mut downs, mut between) = (0, 0, 0);
        for _ in 0..80 {
            let (below, above) = (random.u32(5..60), random.u32(60..120));
            let wholes = ["cpu", "cpu", "sum.memory", "sum.memory", "pods", "no.such/resource"];
            let whole = text(wholes[random.usize(..wholes.len())]);
            let mark = Watermark { sum: text("sum.cpu"), whole, above, below };
            let (mut writer, _) = new();
            let sums = vec![text("sum.cpu"), text("sum.memory")];
            writer.set_accountant(Some(Arc::new(Summing { sums, marks: vec![mark.clone()] })));
            let mut events = writer.follow_allocations(None).events;
            let (mut nodes, mut pods) = (BTreeMap::<String, NodeFacts>::new(), BTreeMap::<String, PodRecord>::new());
            let mut is_above: BTreeMap<String, bool> = BTreeMap::new();
            for _ in 0..60 {
                let mut expected = Vec::new();
                for _ in 0..random.u8(1..5) {
                    let (name, node) = (format!("p{}", random.u8(0..12)), format!("n{}", random.u8(0..4)));
                    match random.u8(0..8) {
                        0 => {
                            let cpu = vec![(text("cpu"), random.i64(0..120))];
                            let facts = NodeFacts { allocatable: cpu, ..random_node(&mut random, &node) };
                            writer.apply(facts.clone());
                            nodes.insert(node, facts);
                        }
                        1 => {
                            writer.remove(&Identity::node(&node));
                            nodes.remove(&node);
                            // Nothing is left on it.
                            if is_above.remove(&node) == Some(true) {
                                expected.push((node, false, 0));
                            }
                        }
                        2 => {
                            writer.remove(&Identity::pod(&name));
                            pods.remove(&name);
                        }
                        _ => {
                            let pod = random_pod(&mut random, &name, Some(text(&node)));
                            let pod = PodRecord { uid: text(&name), account: None, ..pod };
                            writer.apply(pod.clone());
                            pods.insert(name, pod);
                        }
                    }
                }
                writer.publish();
                let mut told: Vec<(String, bool, i64)> = Vec::new();
                loop {
                    let read = events.read().unwrap();
                    if read.is_empty() {
                        break;
                    }
                    told.extend(read.iter().filter_map(|event| match &**event {
                        Event::Watermark(event) => Some((event.node.to_string(), event.is_above, event.sum)),
                        Event::Allocation(_) => None,
                    }));
                }
                for (node, facts) in &nodes {
                    let on_node = || pods.values().filter(|pod| pod.node_name.as_deref() == Some(node.as_str()));
                    let takes = |resource: &str| -> i64 {
                        let usage = on_node().flat_map(|pod| pod.facts.usage.iter());
                        usage.filter(|(name, _)| **name == *resource).map(|(_, amount)| *amount).sum()
                    };
                    let whole: Option<i64> = match &*mark.whole {
                        "cpu" => Some(facts.allocatable.iter().map(|(_, amount)| *amount).sum()),
                        "pods" => Some(facts.pod_limit),
                        "sum.memory" => Some(takes("memory")),
                        _ => None,
                    };
                    let was = is_above.get(node).copied().unwrap_or(false);
                    let share = takes("cpu") * 100;
                    let is_over = |percent: u32| whole.is_some_and(|whole| share > i64::from(percent) * whole);
                    let now = if was { is_over(below) } else { is_over(above) };
                    between += usize::from(is_over(below) && !is_over(above));
                    if was != now {
                        expected.push((node.clone(), now, takes("cpu")));
                        *(if now { &mut ups } else { &mut downs }) += 1;
                    }
                    is_above.insert(node.clone(), now);
                }
                told.sort_unstable();
                expected.sort_unstable();
                assert_eq!(told, expected, "seed {seed}");
            }
        }
        assert!(ups > 100 && downs > 50 && between > 100, "seed {seed}: {ups} {downs} {between}");
    }
}
