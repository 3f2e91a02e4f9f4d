//! Devices as they are passed to the component: few lists and one text for all of them, as the contract has it. Start at
//! [`Devices::new`].

use rustc_hash::FxHashMap;
use wasmtime::component::{ComponentType, Lower};

/// A device as selectors see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectedDevice<'a> {
    /// The driver's name: the domain of names without one.
    pub driver: &'a str,
    /// Whether several claims may share it.
    pub allow_multiple_allocations: bool,
    /// Attributes by name, with or without a domain.
    pub attributes: Vec<(&'a str, SelectedValue<'a>)>,
    /// Capacities by name, with or without a domain, as texts of quantities.
    pub capacities: Vec<(&'a str, &'a str)>,
}

/// The value of an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SelectedValue<'a> {
    /// An integer of 64 bits.
    Int(i64),
    /// A value of type boolean.
    Bool(bool),
    /// A value of type string.
    Text(&'a str),
    /// A semantic version, as it is written.
    Version(&'a str),
    /// A list, as the text that the contract describes.
    List(&'a str),
    /// A value of a type that is not known.
    Unsupported,
}

/// `device-selector.devices`: all devices of a call as few flat lists, which cross the boundary faster than lists for each device.
#[derive(Debug, Default, ComponentType, Lower)]
#[component(record)]
pub(super) struct Devices<'a> {
    devices: Vec<Device>,
    names: Vec<&'a str>,
    attributes: Vec<(u32, Attribute)>,
    capacities: Vec<(u32, u32)>,
    texts: String,
}

/// `device-selector.device`: the index of the driver's name, a flag, and the numbers of attributes and capacities.
#[derive(Debug, ComponentType, Lower)]
#[component(record)]
pub(super) struct Device {
    driver: u32,
    #[component(name = "allow-multiple-allocations")]
    allow_multiple_allocations: bool,
    attributes: u32,
    capacities: u32,
}

/// `device-selector.attribute`: the value of an attribute; a text is given by its length in the shared texts.
#[derive(Debug, ComponentType, Lower)]
#[component(variant)]
pub(super) enum Attribute {
    #[component(name = "int")]
    Int(i64),
    #[component(name = "boolean")]
    Bool(bool),
    #[component(name = "text")]
    Text(u32),
    #[component(name = "version")]
    Version(u32),
    #[component(name = "elements")]
    Elements(u32),
    #[component(name = "unsupported")]
    Unsupported,
}

impl<'a> Devices<'a> {
    /// Flattens a list of devices, in its order.
    pub(super) fn new(devices: &[SelectedDevice<'a>]) -> Self {
        let mut all = Self::default();
        let mut places = FxHashMap::default();
        for SelectedDevice { driver, allow_multiple_allocations, attributes, capacities } in devices {
            let driver = all.name(driver, &mut places);
            for (name, value) in attributes {
                let name = all.name(name, &mut places);
                let value = match *value {
                    SelectedValue::Int(value) => Attribute::Int(value),
                    SelectedValue::Bool(value) => Attribute::Bool(value),
                    SelectedValue::Text(text) => Attribute::Text(all.text(text)),
                    SelectedValue::Version(text) => Attribute::Version(all.text(text)),
                    SelectedValue::List(text) => Attribute::Elements(all.text(text)),
                    SelectedValue::Unsupported => Attribute::Unsupported,
                };
                all.attributes.push((name, value));
            }
            for (name, text) in capacities {
                let capacity = (all.name(name, &mut places), all.text(text));
                all.capacities.push(capacity);
            }
            let (attributes, capacities) = (count(attributes.len()), count(capacities.len()));
            let allow_multiple_allocations = *allow_multiple_allocations;
            all.devices.push(Device { driver, allow_multiple_allocations, attributes, capacities });
        }
        all
    }

    fn name(&mut self, name: &'a str, places: &mut FxHashMap<&'a str, u32>) -> u32 {
        *places.entry(name).or_insert_with(|| {
            self.names.push(name);
            count(self.names.len() - 1)
        })
    }

    fn text(&mut self, text: &str) -> u32 {
        self.texts.push_str(text);
        count(text.len())
    }
}

/// A count of what has to fit into the memory of a component, which has 32 bits.
fn count(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
