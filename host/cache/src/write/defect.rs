//! Broken cells and uses of devices, for tests of the audit. Not part of release builds.

use super::Writer;
use crate::columns::{Delta, Row};
use crate::metadata::Hold;
use nodesift_object::claim::AllocatedDevice;

impl Writer {
    /// How many cells can be broken.
    pub const CELLS: u8 = 15;

    /// The audit recounts the first of them from pods and labels; drift of the others shows only against a source.
    pub const RECOUNTED_CELLS: u8 = 14;

    /// Breaks a cell, as a defect would.
    pub fn break_cell(&mut self, row: Row, which: u8) {
        let node = self.nodes.index().name(row).cloned().unwrap_or_default();
        match which % Self::CELLS {
            7 => self.placement.corrupt(&node, Delta::Remove),
            8 => self.placement.corrupt(&node, Delta::Add),
            which => {
                let pods = self.placement.on(&node).to_vec();
                self.nodes.corrupt(row, which, pods, &mut self.dictionaries);
            }
        }
    }

    /// Has a device in use that no claim holds, as a defect would.
    pub fn break_use(&mut self) {
        self.hold_devices(&Hold::compile(&AllocatedDevice::default()));
    }
}
