//! Broken cells, for tests that want to see them found.

use std::sync::Arc;

use crate::metadata::Labels;
use crate::{Row, Writer};

impl Writer {
    /// Breaks a cell, as a defect would, so that a test can see it found.
    pub fn break_cell(&mut self, row: Row, which: u8) {
        let node = self.nodes.names.get(row).map(Arc::clone).unwrap_or_default();
        match which % Self::CELLS {
            0 => self.nodes.pods.update(row, |pods| *pods += 1),
            1 => self.nodes.foreign_pods.update(row, |pods| *pods += 1),
            2 => self.nodes.pod_room.update(row, |room| *room -= 7),
            3 => self.nodes.pod_classes.set(row, Arc::default()),
            4 => {
                let resources = Arc::make_mut(&mut self.nodes.resources).values_mut().take(1);
                resources.for_each(|resource| resource.free.update(row, |free| *free += 1));
            }
            5 => Arc::make_mut(&mut self.nodes.label_columns).heal(row, &Labels::default()),
            6 => {
                let is_empty = self.nodes.unlisted.of_row(row).is_empty();
                let pods = if is_empty { self.pods_on(&node) } else { Vec::new() };
                self.nodes.unlisted.set(row, pods.into());
            }
            7 => {
                let pods = self.pods_by_node.get_mut(&node);
                pods.into_iter().for_each(|pods| pods.truncate(pods.len() - 1));
            }
            8 => {
                let pod = self.pods_on(&node).first().map(|pod| Arc::new((**pod).clone()));
                self.pods_by_node.entry(node).or_default().extend(pod);
            }
            _ => {
                let odd = self.capacities.acquire(vec![(Arc::from("odd"), 1)]);
                self.nodes.capacity_codes.set(row, odd);
            }
        }
    }

    /// How many cells can be broken.
    pub const CELLS: u8 = 10;

    /// The first of them are counted from pods and labels; what the others hold only a source can say.
    pub const RECOUNTED_CELLS: u8 = 9;
}
