//! Attributes of devices as numbers: equal numbers in one situation are equal values. Start at [`Values::of_situation`].

use std::sync::Arc;

use nodesift_cache::{Device, SeenPool};
use nodesift_object::device::Attribute;
use nodesift_sandbox::wire::devices::UNKNOWN_TYPE;
use rustc_hash::FxHashMap;

/// Values of the attributes of a query.
pub(super) struct Values<'a> {
    attributes: &'a [String],
    /// Per attribute each distinct value with a number from 1 on.
    numbers: Vec<FxHashMap<&'a Attribute, u32>>,
    /// Per attribute and number: in which situation it was met last, and its number there.
    met: Vec<Vec<(u32, u32)>>,
    situation: u32,
}

impl<'a> Values<'a> {
    pub(super) fn new(attributes: &'a [String]) -> Self {
        let numbers = vec![FxHashMap::default(); attributes.len()];
        Self { attributes, numbers, met: vec![Vec::new(); attributes.len()], situation: 0 }
    }

    /// Per device of a situation's pools and attribute: 0 where it has none, else the number of its value, by first appearance.
    pub(super) fn of_situation(&mut self, pools: &'a [Arc<SeenPool>]) -> Vec<u32> {
        self.situation = self.situation.saturating_add(1);
        if self.attributes.is_empty() {
            return Vec::new();
        }
        let mut next = vec![1; self.attributes.len()];
        let devices = pools.iter().flat_map(|pool| &pool.devices);
        let mut values = Vec::with_capacity(self.attributes.len().saturating_mul(devices.clone().count()));
        for seen in devices {
            for (place, next) in next.iter_mut().enumerate() {
                values.push(self.value(place, &seen.device, next));
            }
        }
        values
    }

    fn value(&mut self, place: usize, device: &'a Device, next: &mut u32) -> u32 {
        let found = self.attributes.get(place).and_then(|attribute| device.attribute(attribute));
        let (Some(value), Some(numbers), Some(met)) = (found, self.numbers.get_mut(place), self.met.get_mut(place))
        else {
            return 0;
        };
        if **value == Attribute::Unsupported {
            return UNKNOWN_TYPE;
        }
        let fresh = u32::try_from(met.len()).unwrap_or(u32::MAX);
        let number = *numbers.entry(&**value).or_insert(fresh);
        if number == fresh {
            met.push((0, 0));
        }
        let Some((situation, here)) = met.get_mut(number as usize) else { return UNKNOWN_TYPE };
        if *situation != self.situation {
            (*situation, *here) = (self.situation, *next);
            *next = next.saturating_add(1);
        }
        *here
    }
}
