//! Equal devices, traits, values and texts kept once: devices of one model differ in little.
//!
//! Start at [`KnownDevices::device`].

use std::sync::Arc;

use super::model::{Device, Traits};
use crate::metadata::devices::DeviceRecord;
use crate::metadata::{PoolName, Shared};
use nodesift_object::device::Attribute;

/// What is kept of devices in use, and the next numbers.
#[derive(Debug, Default)]
pub(super) struct KnownDevices {
    texts: Shared<str>,
    names: Shared<[Arc<str>]>,
    values: Shared<Attribute>,
    traits: Shared<Traits>,
    devices: Shared<Device>,
    next_device: u32,
    next_traits: u32,
}

impl KnownDevices {
    /// The device of a record; a new one gets the next number.
    pub(super) fn device(&mut self, pool: &PoolName, record: DeviceRecord) -> Arc<Device> {
        let traits = Traits { number: self.next_traits, content: record.traits };
        let traits = self.traits.get(&traits).unwrap_or_else(|| {
            self.next_traits = self.next_traits.saturating_add(1);
            self.traits.keep(Arc::new(traits))
        });
        let (names, values): (Vec<_>, Vec<_>) = record.attributes.into_iter().unzip();
        let names = names.into_iter().map(|name| self.texts.keep(name)).collect();
        let device = Device {
            id: self.next_device,
            name: self.texts.keep(record.name),
            driver: self.texts.keep(Arc::clone(&pool.driver)),
            traits,
            attribute_names: self.names.keep(names),
            attribute_values: values.into_iter().map(|value| self.value(value)).collect(),
        };
        self.devices.get(&device).unwrap_or_else(|| {
            self.next_device = self.next_device.saturating_add(1);
            self.devices.keep(Arc::new(device))
        })
    }

    /// How many different devices are kept.
    pub(super) fn len(&self) -> usize {
        self.devices.len()
    }

    /// The known one of equal texts.
    pub(super) fn text(&mut self, text: &Arc<str>) -> Arc<str> {
        self.texts.keep(Arc::clone(text))
    }

    fn value(&mut self, value: Attribute) -> Arc<Attribute> {
        self.values.get(&value).unwrap_or_else(|| self.values.keep(Arc::new(value)))
    }

    /// Drops what is no longer in use, where there may be much of it.
    pub(super) fn sweep_if_due(&mut self) {
        let parts_due = self.texts.is_sweep_due() || self.names.is_sweep_due() || self.values.is_sweep_due();
        if parts_due || self.traits.is_sweep_due() || self.devices.is_sweep_due() {
            // Devices first: they hold all the others.
            self.devices.sweep();
            self.traits.sweep();
            self.values.sweep();
            self.names.sweep();
            self.texts.sweep();
        }
    }
}
