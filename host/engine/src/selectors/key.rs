//! Values of one device that an expression reads: as bytes, and as a device without the rest. Devices with the same key have the
//! same outcome. Keys of one expression are compared, and only those.

use nodesift_object::device::AttributeRef;
use nodesift_sandbox::device_selector::{Path, QualifiedName, SelectedDevice};

use super::device::{SelectorDevice, selected_value};

/// Type of the value that follows in a key.
#[repr(u8)]
#[derive(Clone, Copy)]
enum Tag {
    Missing,
    Flag,
    Text,
    Int,
    Bool,
    String,
    Version,
    List,
    Unsupported,
}

/// Writes what these paths name of a device, which has no fault. Values are compared as they are written: `1Gi` and `1024Mi` make
/// two keys with one outcome. Of several values of one domain and name the first counts.
pub(super) fn write_paths(paths: &[Path], device: &impl SelectorDevice, key: &mut Vec<u8>) {
    let driver = device.driver();
    for path in paths {
        match path {
            Path::Driver => text(key, Tag::Text, driver),
            Path::AllowMultipleAllocations => flag(key, Tag::Flag, device.allows_multiple_allocations()),
            Path::Attribute(name) => match first(device.attributes(), driver, name) {
                Some(value) => attribute(key, value),
                None => key.push(Tag::Missing as u8),
            },
            Path::Capacity(name) => match first(device.capacities(), driver, name) {
                Some(amount) => text(key, Tag::Text, amount),
                None => key.push(Tag::Missing as u8),
            },
            Path::AttributeDomain(domain) => flag(key, Tag::Flag, has_domain(device.attributes(), driver, domain)),
            Path::CapacityDomain(domain) => flag(key, Tag::Flag, has_domain(device.capacities(), driver, domain)),
        }
    }
}

/// The device with what these paths name and nothing else: its key is the same, so that an expression which reads these says the
/// same of it. Less crosses to the component.
pub(super) fn read<'d>(paths: &[Path], device: &'d impl SelectorDevice) -> SelectedDevice<'d> {
    let driver = device.driver();
    let (mut attributes, mut capacities) = (Vec::new(), Vec::new());
    let is_named = |known: &str, wanted: &QualifiedName| split(known, driver) == (&*wanted.domain, &*wanted.name);
    for path in paths {
        match path {
            Path::Driver | Path::AllowMultipleAllocations => {}
            Path::Attribute(name) => attributes.extend(device.attributes().find(|(known, _)| is_named(known, name))),
            Path::Capacity(name) => capacities.extend(device.capacities().find(|(known, _)| is_named(known, name))),
            Path::AttributeDomain(domain) => {
                attributes.extend(device.attributes().find(|(known, _)| split(known, driver).0 == domain));
            }
            Path::CapacityDomain(domain) => {
                capacities.extend(device.capacities().find(|(known, _)| split(known, driver).0 == domain));
            }
        }
    }
    SelectedDevice {
        driver,
        allow_multiple_allocations: device.allows_multiple_allocations(),
        attributes: attributes.into_iter().map(|(name, value)| (name, selected_value(value))).collect(),
        capacities,
    }
}

/// Writes everything of a device that can make every expression fail, as the contract lists it: versions, lists, values of unknown
/// types and capacities with their names, in order, and how many values there are.
pub(super) fn write_faults(device: &impl SelectorDevice, key: &mut Vec<u8>) {
    let mut values = 0_u64;
    for (name, value) in device.attributes() {
        values += 1;
        if matches!(value, AttributeRef::Version(_) | AttributeRef::List(_) | AttributeRef::Unsupported) {
            text(key, Tag::Text, name);
            attribute(key, value);
        }
    }
    for (name, amount) in device.capacities() {
        values += 1;
        text(key, Tag::Text, name);
        text(key, Tag::Text, amount);
    }
    key.extend(values.to_le_bytes());
}

fn attribute(key: &mut Vec<u8>, value: AttributeRef<'_>) {
    match value {
        AttributeRef::Int(value) => {
            key.push(Tag::Int as u8);
            key.extend(value.to_le_bytes());
        }
        AttributeRef::Bool(value) => flag(key, Tag::Bool, value),
        AttributeRef::String(value) => text(key, Tag::String, value),
        AttributeRef::Version(value) => text(key, Tag::Version, value),
        AttributeRef::List(elements) => text(key, Tag::List, elements),
        AttributeRef::Unsupported => key.push(Tag::Unsupported as u8),
    }
}

fn flag(key: &mut Vec<u8>, tag: Tag, value: bool) {
    key.extend([tag as u8, u8::from(value)]);
}

/// With its length, so that what follows cannot be taken for a part of it.
fn text(key: &mut Vec<u8>, tag: Tag, value: &str) {
    key.push(tag as u8);
    key.extend((value.len() as u64).to_le_bytes());
    key.extend(value.as_bytes());
}

/// The domain and the rest of a name; without a domain it is in the driver's.
fn split<'a>(name: &'a str, driver: &'a str) -> (&'a str, &'a str) {
    name.split_once('/').unwrap_or((driver, name))
}

fn first<'d, T>(mut values: impl Iterator<Item = (&'d str, T)>, driver: &str, wanted: &QualifiedName) -> Option<T> {
    let QualifiedName { domain, name } = wanted;
    // Most have another name, which is seen at its end.
    let is_wanted =
        |known: &str| known.ends_with(name.as_str()) && split(known, driver) == (domain.as_str(), name.as_str());
    values.find(|(known, _)| is_wanted(known)).map(|(_, value)| value)
}

fn has_domain<'d, T>(mut values: impl Iterator<Item = (&'d str, T)>, driver: &str, domain: &str) -> bool {
    values.any(|(known, _)| split(known, driver).0 == domain)
}
