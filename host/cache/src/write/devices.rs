//! Devices that claims hold. Rows follow at the next publication.

use super::Writer;
use crate::columns::Delta;
use crate::columns::change_log::NodeInterface;
use crate::columns::drift::Drift;
use crate::devices::Miscounted;
use crate::metadata::Hold;

impl Writer {
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
