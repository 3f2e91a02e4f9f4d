//! A device as selectors see it.

use nodesift_cache::Device;
use nodesift_object::device::AttributeRef;
use nodesift_sandbox::device_selector::{SelectedDevice, SelectedValue};

/// A device as selectors see it.
pub trait SelectorDevice {
    /// Its number. Devices with other values have other numbers, and none is ever given again; [`u32::MAX`] is that of all
    /// devices for which none was left.
    fn id(&self) -> u32;

    /// The driver's name: the domain of names without one.
    fn driver(&self) -> &str;

    /// Whether several claims may share it.
    fn allows_multiple_allocations(&self) -> bool;

    /// Attributes by name as the device writes it.
    fn attributes(&self) -> impl Iterator<Item = (&str, AttributeRef<'_>)>;

    /// Capacities by name as the device writes it, as texts of quantities.
    fn capacities(&self) -> impl Iterator<Item = (&str, &str)>;
}

impl SelectorDevice for Device {
    fn id(&self) -> u32 {
        self.id
    }

    fn driver(&self) -> &str {
        self.driver()
    }

    fn allows_multiple_allocations(&self) -> bool {
        self.traits().content.multiple_allocations
    }

    fn attributes(&self) -> impl Iterator<Item = (&str, AttributeRef<'_>)> {
        Self::attributes(self).map(|(name, attribute)| (&**name, attribute))
    }

    fn capacities(&self) -> impl Iterator<Item = (&str, &str)> {
        self.traits().content.capacities.iter().map(|capacity| (&*capacity.name, &*capacity.text))
    }
}

/// The device for the component.
pub(super) fn selected(device: &impl SelectorDevice) -> SelectedDevice<'_> {
    SelectedDevice {
        driver: device.driver(),
        allow_multiple_allocations: device.allows_multiple_allocations(),
        attributes: device.attributes().map(|(name, attribute)| (name, selected_value(attribute))).collect(),
        capacities: device.capacities().collect(),
    }
}

/// The value of an attribute for the component.
pub(super) fn selected_value(attribute: AttributeRef<'_>) -> SelectedValue<'_> {
    match attribute {
        AttributeRef::Int(value) => SelectedValue::Int(value),
        AttributeRef::Bool(value) => SelectedValue::Bool(value),
        AttributeRef::String(text) => SelectedValue::Text(text),
        AttributeRef::Version(text) => SelectedValue::Version(text),
        AttributeRef::List(elements) => SelectedValue::List(elements),
        AttributeRef::Unsupported => SelectedValue::Unsupported,
    }
}

/// Bytes that the device takes in the component, about.
pub(super) fn selected_bytes(device: &SelectedDevice<'_>) -> usize {
    /// Of a record or an entry of a list, without its texts.
    const ENTRY: usize = 32;
    let attribute = |(name, value): &(&str, SelectedValue<'_>)| match value {
        SelectedValue::Text(text) | SelectedValue::Version(text) => name.len() + text.len(),
        // In the component each element takes as much as an entry, and has three bytes or more.
        SelectedValue::List(text) => name.len() + text.len() * (1 + ENTRY / 3),
        SelectedValue::Int(_) | SelectedValue::Bool(_) | SelectedValue::Unsupported => name.len(),
    };
    let attributes: usize = device.attributes.iter().map(|entry| ENTRY + attribute(entry)).sum();
    let capacities: usize = device.capacities.iter().map(|(name, text)| ENTRY + name.len() + text.len()).sum();
    ENTRY + device.driver.len() + attributes + capacities
}
