//! Equal devices, models, traits, values and texts kept once: devices of one model differ in little.
//!
//! Start at [`KnownDevices::devices`].

use std::hash::BuildHasher as _;
use std::sync::Arc;

use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use super::model::{Device, Model, Traits, Value};
use super::own::OwnValues;
use crate::limits::{DEVICES_PER_MODEL, MET_VALUES, MODELS_MIN};
use crate::metadata::devices::DeviceRecord;
use crate::metadata::{PoolName, Shared};
use nodesift_object::device::Attribute;

/// Texts, values, traits, models and devices in use, each kept once, and the next numbers of traits and devices.
#[derive(Debug, Default)]
pub(super) struct KnownDevices {
    texts: Shared<str>,
    names: Shared<[Arc<str>]>,
    values: Shared<Attribute>,
    /// Hashes of values that one device had lately, each with that of the device, so that only what another has too is kept in
    /// `values`.
    met: FxHashMap<u64, u64>,
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
        if self.met.len() >= MET_VALUES {
            self.met.clear();
        }
        records.into_iter().map(|record| self.device(pool, record, &same)).collect()
    }

    /// The device of a record. Values are the model's where all devices of the slice have them, and where other devices do, as long
    /// as there are few models.
    fn device(&mut self, pool: &PoolName, record: DeviceRecord, same: &FxHashSet<Arc<str>>) -> Arc<Device> {
        let traits = Traits { number: self.next_traits, content: record.traits };
        let traits = self.traits.get(&traits).unwrap_or_else(|| {
            self.next_traits = self.next_traits.saturating_add(1).min(Traits::LAST);
            self.traits.keep(Arc::new(traits))
        });
        let mut own = Vec::new();
        let (mut names, mut values) = (Vec::new(), Vec::new());
        let device = FxBuildHasher.hash_one((pool, &record.name));
        let are_models_few = self.models.len() <= MODELS_MIN + self.devices.len() / DEVICES_PER_MODEL;
        for (name, value) in record.attributes {
            values.push(if same.contains(&name) || (are_models_few && self.is_of_another(device, &value)) {
                Value::Common(self.value(value))
            } else {
                own.push(value);
                Value::Own(own.len() - 1)
            });
            names.push(self.texts.keep(name));
        }
        let driver = self.texts.keep(Arc::clone(&pool.driver));
        let model = Model { driver, traits, names: self.names.keep(names.into()), values: values.into() };
        let model = self.models.get(&model).unwrap_or_else(|| self.models.keep(Arc::new(model)));
        let device =
            Device { id: self.next_device, name: self.texts.keep(record.name), model, own: OwnValues::encode(&own) };
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

    /// The known one of equal values.
    fn value(&mut self, value: Attribute) -> Arc<Attribute> {
        self.values.get(&value).unwrap_or_else(|| self.values.keep(Arc::new(value)))
    }

    /// Whether another device than the one of this hash has the value, as far as that is known.
    fn is_of_another(&mut self, device: u64, value: &Attribute) -> bool {
        let mut met = || *self.met.entry(FxBuildHasher.hash_one(value)).or_insert(device);
        self.values.get(value).is_some() || met() != device
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

/// The attributes whose values the devices of a slice have in common; none where there is one device.
fn common(records: &[DeviceRecord]) -> FxHashSet<Arc<str>> {
    let Some((first, others @ [_, ..])) = records.split_first() else { return FxHashSet::default() };
    let of_all = |(name, value): &&(Arc<str>, Attribute)| {
        let has = |record: &DeviceRecord| {
            let place = record.attributes.binary_search_by(|(known, _)| known.cmp(name));
            place.ok().and_then(|place| record.attributes.get(place)).is_some_and(|(_, known)| known == value)
        };
        others.iter().all(has)
    };
    first.attributes.iter().filter(of_all).map(|(name, _)| Arc::clone(name)).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::metadata::SliceRecord;

    /// The devices of the slice of a pool: each has its attributes as numbers, and one as a text.
    fn apply(known: &mut KnownDevices, pool: usize, devices: &[(&str, Vec<(&str, usize)>)]) -> Box<[Arc<Device>]> {
        let devices: Vec<String> = devices
            .iter()
            .enumerate()
            .map(|(place, (uuid, numbers))| {
                let numbers = numbers.iter().map(|(name, value)| format!(r#","{name}":{{"int":{value}}}"#));
                let numbers: String = numbers.collect();
                format!(r#"{{"name":"g{place}","attributes":{{"uuid":{{"string":"{uuid}"}}{numbers}}}}}"#)
            })
            .collect();
        let json = format!(
            r#"{{"metadata":{{"name":"s"}},"spec":{{"driver":"d","pool":{{"name":"p{pool}"}},"devices":[{}]}}}}"#,
            devices.join(",")
        );
        let record = SliceRecord::compile(&serde_json::from_str(&json).unwrap());
        known.devices(&record.pool, record.devices)
    }

    #[test]
    fn what_other_devices_have_too_is_kept_once_and_what_they_have_not_in_the_device() {
        let mut known = KnownDevices::default();
        let slice = |slice: usize| {
            let uuids: Vec<String> = (0..8).map(|place| format!("u{slice}-{place}")).collect();
            let numbers = |place| vec![("index", place), ("model", 100 + slice % 3)];
            let devices: Vec<_> = uuids.iter().zip(0..).map(|(uuid, place)| (&**uuid, numbers(place))).collect();
            apply(&mut known, slice, &devices)
        };
        let slices: Vec<_> = (0..500).map(slice).collect();
        assert_eq!((known.len(), known.values.len()), (4_000, 8 + 3));
        // Those of the first slice met the places first.
        assert!(known.models.len() <= 1 + 3 * 8, "{} models", known.models.len());
        let own =
            |slice: &[Arc<Device>]| -> Vec<usize> { slice.iter().map(|device| device.own.iter().count()).collect() };
        assert_eq!(own(&slices[0]), [2; 8]);
        assert!(slices[1..].iter().all(|slice| own(slice) == [1; 8]));
        // A device that changes stays the only one.
        for version in 0..10 {
            let changed = apply(&mut known, 0, &[("u0", vec![("version", 1_000 + version)])]);
            assert_eq!(own(&changed), [2]);
        }
    }

    #[test]
    fn models_are_few_however_the_values_of_devices_are_combined() {
        let mut known = KnownDevices::default();
        let slice = |number: usize| {
            let uuid = format!("u{number}");
            let numbers = vec![("a", number % 60), ("b", number / 60 % 60), ("c", number % 7)];
            (apply(&mut known, number, &[(&uuid, numbers)]), known.models.len(), known.len())
        };
        for (number, (_, models, devices)) in (0..3_600).map(slice).enumerate() {
            // The last one that there was room for, and that of devices with nothing in common.
            assert!(models <= MODELS_MIN + devices / DEVICES_PER_MODEL + 2, "{models} models of {devices} devices");
            assert_eq!(devices, number + 1);
        }
        assert!(known.models.len() > MODELS_MIN, "{} models", known.models.len());
    }
}
