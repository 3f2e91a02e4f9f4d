//! The table and the audit: rows are recounted and repaired, compared with their nodes, and measured.

use std::sync::Arc;

use super::{Dictionaries, NodeTable};
use crate::columns::labels::NodeLabels;
use crate::columns::{DriftReport, Row};
use crate::devices::Devices;
use crate::metadata::{Labels, NodeFacts, PodRecord};
use crate::nodes::moments::MomentColumns;
use crate::nodes::non_zero_sums::NonZeroSums;
use crate::nodes::ports;
use crate::pods::counts::Counts;

/// Repair of rows, comparison with nodes, and sizes.
impl NodeTable {
    /// Recounts a row from what its node advertises and from the pods on it, and repairs what differs. `advertisers` counts
    /// the nodes that advertise a resource.
    pub(crate) fn repair(
        &mut self,
        row: Row,
        allocatable: &[(Arc<str>, i64)],
        advertisers: impl Fn(&str) -> usize,
        pods: &[Arc<PodRecord>],
        (dictionaries, counts): (&mut Dictionaries, &mut Counts),
        report: &mut DriftReport,
    ) {
        self.index.repair(row, report);
        self.labels.repair(row, report);
        self.annotations.repair(row, report);
        self.info.repair(row, report);
        self.images.repair(row, report);
        self.slots.repair(row, pods, report);
        self.named_sums.repair(row, pods, report);
        self.non_zero_sums.repair(row, pods, report);
        self.resources.repair(row, allocatable, pods, advertisers, report);
        let counted = ports::counted(pods.iter().flat_map(|pod| &pod.facts.host_ports));
        let held = dictionaries.ports.value(self.ports.code(row)).map(|held| (**held).clone()).unwrap_or_default();
        if report.differs(|| "host ports".to_owned(), &held, &counted) {
            self.ports.set(row, counted, &mut dictionaries.ports);
        }
        counts.repair(row, pods, &mut self.population, report);
        self.anti_affinity.repair(row, pods, report);
        self.scoring_terms.repair(row, pods, report);
        self.controllers.repair(row, pods, report);
        self.volumes.repair(row, pods, report);
    }

    /// Whether a row shows this of a node; what it advertises is compared elsewhere.
    pub(crate) fn holds(&self, row: Row, node: &NodeFacts, dictionaries: &Dictionaries) -> bool {
        self.labels.rows().get(row) == Some(&node.labels)
            && self.annotations.rows().get(row) == Some(&node.annotations)
            && self.info.rows().get(row) == Some(&node.info)
            && self.images.rows().get(row) == Some(&node.images)
            && self.moments.holds(row, &node.moments)
            && self.unschedulable.get(row) == Some(&u8::from(node.unschedulable))
            && self.slots.limit().get(row) == Some(&node.pod_limit)
            && dictionaries.capacity.value(self.capacity.code(row)).is_some_and(|held| **held == node.capacity)
            && dictionaries.taints.value(self.taints.code(row)).is_some_and(|held| **held == node.taints)
            && dictionaries.features.value(self.features.code(row)).is_some_and(|held| **held == node.features)
            && dictionaries.conditions.value(self.conditions.code(row)).is_some_and(|held| **held == node.conditions)
    }

    /// Breaks a cell of a row, as a defect could; `pods` are those on the node.
    #[cfg(debug_assertions)]
    pub(crate) fn corrupt(&mut self, row: Row, which: u8, pods: Vec<Arc<PodRecord>>, dictionaries: &mut Dictionaries) {
        match which {
            0..3 => self.slots.corrupt(row, which),
            3 => self.population.corrupt(row),
            4 => self.resources.corrupt_free(row),
            5 => self.labels.corrupt(row),
            6 => self.resources.corrupt_unadvertised(row, pods),
            9 => self.info.corrupt(row),
            10 => self.images.corrupt(row),
            11 => self.controllers.corrupt(row),
            12 => self.named_sums.corrupt(row),
            13 => self.non_zero_sums.corrupt(row),
            _ => {
                self.capacity.set(row, vec![(Arc::from("odd"), 1)], &mut dictionaries.capacity);
            }
        }
    }

    /// Bytes of the columns, and of the label columns, by their lengths: a lower bound.
    pub(crate) fn bytes(&self) -> (usize, usize) {
        let rows = self.len();
        let resources = self.resources.names().len() * 3 * size_of::<i64>();
        // Names, labels, annotations, info and images refer to texts; classes, volumes and devices to lists; the rest are five codes, a
        // flag, moments and four numbers.
        let references =
            size_of::<Arc<str>>() + 4 * size_of::<Labels>() + 2 * size_of::<Arc<()>>() + Devices::ROW_BYTES;
        let row = references
            + resources
            + self.named_sums.row_bytes()
            + NonZeroSums::ROW_BYTES
            + 5 * size_of::<u32>()
            + size_of::<u8>()
            + MomentColumns::ROW_BYTES
            + 4 * size_of::<i64>();
        let texts = [&self.labels, &self.annotations, &self.info, &self.images];
        let built = texts.into_iter().map(NodeLabels::built_count).sum::<usize>();
        (rows * row, built * rows * size_of::<u32>())
    }
}
