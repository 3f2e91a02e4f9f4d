//! Attributes of devices as numbers: equal numbers in one situation are equal values. Start at [`Values::of_situation`].

use nodesift_cache::{Device, SeenPool};
use nodesift_object::device::AttributeRef;
use nodesift_sandbox::wire::devices::UNKNOWN_TYPE;
use rustc_hash::FxHashMap;

/// Distinct values among which one is found faster by looking at all than by hashing.
const FEW: usize = 16;

/// Values of the attributes of a query.
pub(super) struct Values<'a> {
    attributes: &'a [String],
    /// Each list once: per attribute its place in a device.
    places: Vec<Box<[Option<usize>]>>,
    /// By layout of a device, and for the last one, which list.
    by_layout: FxHashMap<(usize, usize), usize>,
    last: Option<((usize, usize), usize)>,
    /// Numbers of the values, one entry per attribute.
    numbers: Vec<Numbers<'a>>,
}

/// The numbers of the values of one attribute in one situation.
#[derive(Default)]
struct Numbers<'a> {
    next: u32,
    /// By value: those that are met first, and the others.
    few: Vec<(AttributeRef<'a>, u32)>,
    more: FxHashMap<AttributeRef<'a>, u32>,
}

impl<'a> Values<'a> {
    pub(super) fn new(attributes: &'a [String]) -> Self {
        let numbers = attributes.iter().map(|_| Numbers::default()).collect();
        Self { attributes, places: Vec::new(), by_layout: FxHashMap::default(), last: None, numbers }
    }

    /// Adds, per device of a situation's pools and attribute: 0 where it has none, else the number of its value, by first appearance.
    pub(super) fn push_situation(&mut self, pools: impl Iterator<Item = &'a SeenPool>, values: &mut Vec<u32>) {
        if self.attributes.is_empty() {
            return;
        }
        self.numbers.iter_mut().for_each(Numbers::clear);
        for seen in pools.flat_map(|pool| &pool.devices) {
            let list = self.list_of(&seen.device);
            let places = self.places.get(list).into_iter().flatten();
            for (place, numbers) in places.zip(&mut self.numbers) {
                let value = place.and_then(|place| seen.device.attribute_at(place));
                values.push(value.map_or(0, |value| numbers.number(value.compared())));
            }
        }
    }

    /// Which list says where the attributes are in a device.
    fn list_of(&mut self, device: &Device) -> usize {
        let layout = device.attribute_layout();
        if let Some((last, list)) = self.last
            && last == layout
        {
            return list;
        }
        let list = *self.by_layout.entry(layout).or_insert_with(|| {
            self.places.push(self.attributes.iter().map(|name| device.attribute_place(name)).collect());
            self.places.len() - 1
        });
        self.last = Some((layout, list));
        list
    }
}

impl<'a> Numbers<'a> {
    fn clear(&mut self) {
        self.next = 1;
        self.few.clear();
        self.more.clear();
    }

    /// The number of a value.
    fn number(&mut self, value: AttributeRef<'a>) -> u32 {
        if let Some((_, known)) = self.few.iter().find(|(known, _)| *known == value) {
            return *known;
        }
        if let Some(known) = self.more.get(&value) {
            return *known;
        }
        let number = if value == AttributeRef::Unsupported {
            UNKNOWN_TYPE
        } else {
            self.next = self.next.saturating_add(1);
            self.next - 1
        };
        if self.few.len() < FEW {
            self.few.push((value, number));
        } else {
            self.more.insert(value, number);
        }
        number
    }
}
