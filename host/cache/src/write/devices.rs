//! ResourceSlices that come, change and go, and devices that claims hold. Rows follow at the next publication.

use super::Writer;
use crate::columns::Delta;
use crate::columns::change_log::NodeInterface;
use crate::columns::drift::Drift;
use crate::devices::Miscounted;
use crate::metadata::{Hold, SliceRecord};

impl Writer {
    /// Adds a ResourceSlice, or replaces what is known of the one of its name.
    pub fn apply_resource_slice(&mut self, record: SliceRecord) {
        self.devices.apply_slice(record);
    }

    /// Removes the ResourceSlice of this name.
    pub fn remove_resource_slice(&mut self, name: &str) {
        self.devices.remove_slice(name);
    }

    /// Whether this is what is held of a ResourceSlice.
    pub fn holds_resource_slice(&self, record: &SliceRecord) -> bool {
        self.devices.holds_slice(record)
    }

    /// An allocated claim comes to hold devices. Devices that are not known are held all the same.
    pub(crate) fn hold_devices<'a>(&mut self, holds: impl IntoIterator<Item = &'a Hold>) {
        holds.into_iter().for_each(|hold| self.devices.apply_hold(Delta::Add, hold));
    }

    /// A claim releases what [`Self::hold_devices`] was called with.
    pub(crate) fn release_devices<'a>(&mut self, holds: impl IntoIterator<Item = &'a Hold>) {
        holds.into_iter().for_each(|hold| self.devices.apply_hold(Delta::Remove, hold));
    }

    /// Recounts the devices in use, and repairs what differs.
    pub(crate) fn repair_devices(&mut self) -> Vec<Drift> {
        let miscounted = self.devices.recount(self.claims.shown().held());
        let drift = |Miscounted { pool, device, held, counted }| {
            let what = format!("device {}/{}/{device}", pool.driver, pool.name);
            Drift { node: None, what, held, counted }
        };
        miscounted.into_iter().map(drift).collect()
    }

    /// Brings up to date what rows see of devices.
    pub(super) fn settle_devices(&mut self) {
        for row in self.nodes.settle_devices(&mut self.devices) {
            self.record(NodeInterface::NodeDevices, row);
        }
    }
}
