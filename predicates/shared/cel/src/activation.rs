//! A device as the value of the variable `device`.
//!
//! Devices that are asked about one after the other mostly have the same names, and differ in few values. So the value of the last
//! one is kept, and what differs is replaced in it. Start at [`Activation::device_value`]; the slow way is [`Last::new`].

use std::cell::RefCell;
use std::rc::Rc;

use crate::value::{Map, Value};
use crate::{Attribute, Device, key, limits, quantity};

/// Makes values of devices.
#[derive(Debug, Default)]
pub(crate) struct Activation(RefCell<State>);

#[derive(Debug, Default)]
struct State {
    texts: Texts,
    last: Option<Last>,
}

/// A copy starts anew.
impl Clone for Activation {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Activation {
    /// The value of a device. What is made of the next one is the quicker if it is dropped by then.
    ///
    /// # Errors
    /// The device has a value that selectors cannot see, or too many values.
    pub(crate) fn device_value(&self, device: &Device) -> Result<Value, String> {
        device.limited()?;
        let State { texts, last } = &mut *self.0.borrow_mut();
        // It is taken out, so that one that was replaced in part only is not kept.
        let known = last.take().filter(|last| last.has_names_of(device));
        let known = known.map(|known| known.replaced(device)).transpose()?.flatten();
        let made = known.map_or_else(|| Last::new(device, texts), Ok)?;
        Ok(last.insert(made).value.clone())
    }
}

/// The device that was asked about last.
#[derive(Debug)]
struct Last {
    device: Device,
    value: Value,
    /// Where the values of its attributes are, and those of its capacities.
    attributes: Vec<Place>,
    capacity: Vec<Place>,
}

/// The places of a domain and of a name in it.
type Place = (usize, usize);

/// Places of fields in the value of a device.
const ATTRIBUTES: usize = 2;
const CAPACITY: usize = 3;

impl Last {
    fn new(device: &Device, texts: &mut Texts) -> Result<Self, String> {
        let driver = texts.get(&device.driver);
        let (mut attributes, mut capacity) = (Domains::default(), Domains::default());
        for (name, attribute) in &device.attributes {
            attributes.add(name, attribute.value(name)?, &driver, texts);
        }
        for (name, text) in &device.capacity {
            capacity.add(name, Value::Quantity(quantity(name, text)?.into()), &driver, texts);
        }
        let (attributes, of_attributes) = attributes.into_value(texts);
        let (capacity, of_capacity) = capacity.into_value(texts);
        let mut text = |text| Value::String(texts.get(text));
        let entries = vec![
            (text("driver"), Value::String(driver)),
            (text("allowMultipleAllocations"), Value::Bool(device.allow_multiple_allocations)),
            (text("attributes"), attributes),
            (text("capacity"), capacity),
        ];
        let value = Value::Map(Rc::new(Map { entries, default: None, is_of_device: true }));
        Ok(Self { device: device.clone(), value, attributes: of_attributes, capacity: of_capacity })
    }

    /// Whether another device differs in values of attributes and capacities only.
    fn has_names_of(&self, device: &Device) -> bool {
        let Device { driver, allow_multiple_allocations, attributes, capacity } = &self.device;
        *driver == device.driver
            && *allow_multiple_allocations == device.allow_multiple_allocations
            && attributes.iter().map(|(name, _)| name).eq(device.attributes.iter().map(|(name, _)| name))
            && capacity.iter().map(|(name, _)| name).eq(device.capacity.iter().map(|(name, _)| name))
    }

    /// Changes the value to that of a device with equal names, replacing only what differs; `None` where the value is still in use.
    fn replaced(mut self, device: &Device) -> Result<Option<Self>, String> {
        let attributes = self.device.attributes.iter_mut().zip(&device.attributes).zip(&self.attributes);
        for (((_, known), (name, attribute)), place) in attributes.filter(|((known, new), _)| known.1 != new.1) {
            let Some(value) = place_in(&mut self.value, ATTRIBUTES, *place) else { return Ok(None) };
            *value = attribute.value(name)?;
            copy(attribute, known);
        }
        let capacity = self.device.capacity.iter_mut().zip(&device.capacity).zip(&self.capacity);
        for (((_, known), (name, text)), place) in capacity.filter(|((known, new), _)| known.1 != new.1) {
            let Some(value) = place_in(&mut self.value, CAPACITY, *place) else { return Ok(None) };
            *value = Value::Quantity(quantity(name, text)?.into());
            known.clone_from(text);
        }
        Ok(Some(self))
    }
}

/// A value in that of a device; `None` where somebody else has that as well.
fn place_in(device: &mut Value, field: usize, (domain, name): Place) -> Option<&mut Value> {
    [field, domain, name].into_iter().try_fold(device, |value, at| match value {
        Value::Map(map) => Rc::get_mut(map)?.entries.get_mut(at).map(|(_, value)| value),
        _ => None,
    })
}

/// A copy that makes no new text where there is one.
fn copy(attribute: &Attribute, to: &mut Attribute) {
    match (attribute, to) {
        (Attribute::String(text), Attribute::String(to)) => to.clone_from(text),
        (attribute, to) => *to = attribute.clone(),
    }
}

/// Entries of a map: names and their values.
type Entries = Vec<(Value, Value)>;

/// Values by domain and name; an unknown domain is an empty map.
#[derive(Default)]
struct Domains {
    domains: Vec<(Rc<str>, Entries)>,
    /// Of each value that was added.
    places: Vec<Place>,
}

impl Domains {
    fn add(&mut self, name: &str, value: Value, driver: &str, texts: &mut Texts) {
        let (domain, name) = key::split(name, driver);
        let entry = (Value::String(texts.get(name)), value);
        let known = self.domains.iter().position(|(known, _)| **known == *domain);
        let at = known.unwrap_or(self.domains.len());
        match self.domains.get_mut(at) {
            Some((_, entries)) => {
                self.places.push((at, entries.len()));
                entries.push(entry);
            }
            None => {
                self.places.push((at, 0));
                self.domains.push((texts.get(domain), vec![entry]));
            }
        }
    }

    /// Converts to the value of a map, and returns the place of each value that was added.
    fn into_value(self, texts: &Texts) -> (Value, Vec<Place>) {
        let map = |entries, default| Value::Map(Rc::new(Map { entries, default, is_of_device: true }));
        let domains = self.domains.into_iter();
        let entries = domains.map(|(domain, entries)| (Value::String(domain), map(entries, None))).collect();
        (map(entries, Some(texts.nothing.clone())), self.places)
    }
}

/// Texts that devices have in common, each made once for many devices.
#[derive(Debug)]
struct Texts {
    known: Vec<Rc<str>>,
    /// A domain without values.
    nothing: Value,
}

impl Default for Texts {
    fn default() -> Self {
        let nothing = Map { entries: Vec::new(), default: None, is_of_device: true };
        Self { known: Vec::new(), nothing: Value::Map(Rc::new(nothing)) }
    }
}

impl Texts {
    fn get(&mut self, text: &str) -> Rc<str> {
        if let Some(found) = self.known.iter().find(|known| ***known == *text) {
            return Rc::clone(found);
        }
        let text: Rc<str> = text.into();
        if self.known.len() < limits::KNOWN_TEXTS {
            self.known.push(Rc::clone(&text));
        }
        text
    }
}
