//! Equal devices, models, traits, values and texts kept once: devices of one model differ in little.
//!
//! Start at [`KnownDevices::devices`].

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::model::{Device, Model, Traits, Value};
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
    models: Shared<Model>,
    devices: Shared<Device>,
    next_device: u32,
    next_traits: u32,
}

impl KnownDevices {
    /// The devices of a slice; a new one gets the next number.
    pub(super) fn devices(&mut self, pool: &PoolName, records: Vec<DeviceRecord>) -> Box<[Arc<Device>]> {
        let same = common(&records);
        records.into_iter().map(|record| self.device(pool, record, &same)).collect()
    }

    /// The device of a record. Values are the model's where all devices of the slice have them.
    fn device(&mut self, pool: &PoolName, record: DeviceRecord, same: &Common) -> Arc<Device> {
        let traits = Traits { number: self.next_traits, content: record.traits };
        let traits = self.traits.get(&traits).unwrap_or_else(|| {
            self.next_traits = self.next_traits.saturating_add(1);
            self.traits.keep(Arc::new(traits))
        });
        let mut own = Vec::new();
        let (mut names, mut values) = (Vec::new(), Vec::new());
        for (name, value) in record.attributes {
            let (value, is_new) = self.value(value);
            values.push(match same {
                Common::Names(same) if same.contains(&name) => Value::Common(value),
                Common::Known if !is_new => Value::Common(value),
                _ => {
                    own.push(value);
                    Value::Own(own.len() - 1)
                }
            });
            names.push(self.texts.keep(name));
        }
        let driver = self.texts.keep(Arc::clone(&pool.driver));
        let model = Model { driver, traits, names: self.names.keep(names.into()), values: values.into() };
        let model = self.models.get(&model).unwrap_or_else(|| self.models.keep(Arc::new(model)));
        let device = Device { id: self.next_device, name: self.texts.keep(record.name), model, own: own.into() };
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

    /// The known one of equal values, and whether nobody had it before.
    fn value(&mut self, value: Attribute) -> (Arc<Attribute>, bool) {
        match self.values.get(&value) {
            Some(known) => (known, false),
            None => (self.values.keep(Arc::new(value)), true),
        }
    }

    /// Drops what is no longer in use, where there may be much of it.
    pub(super) fn sweep_if_due(&mut self) {
        let parts_due = self.texts.is_sweep_due() || self.names.is_sweep_due() || self.values.is_sweep_due();
        if parts_due || self.traits.is_sweep_due() || self.models.is_sweep_due() || self.devices.is_sweep_due() {
            // Devices first, then models: they hold all the others.
            self.devices.sweep();
            self.models.sweep();
            self.traits.sweep();
            self.values.sweep();
            self.names.sweep();
            self.texts.sweep();
        }
    }
}

/// Which values the devices of a slice have in common.
enum Common {
    /// Those of these attributes.
    Names(FxHashSet<Arc<str>>),
    /// There is one device: perhaps those that others have too.
    Known,
}

fn common(records: &[DeviceRecord]) -> Common {
    let Some((first, others @ [_, ..])) = records.split_first() else { return Common::Known };
    let of_all = |(name, value): &&(Arc<str>, Attribute)| {
        let has = |record: &DeviceRecord| {
            let place = record.attributes.binary_search_by(|(known, _)| known.cmp(name));
            place.ok().and_then(|place| record.attributes.get(place)).is_some_and(|(_, known)| known == value)
        };
        others.iter().all(has)
    };
    Common::Names(first.attributes.iter().filter(of_all).map(|(name, _)| Arc::clone(name)).collect())
}
