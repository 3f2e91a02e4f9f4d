//! Values of the contract ↔ values of the language.

use std::slice::Iter;

use crate::{Attribute, Device, Devices, Dialect, Outcome, Path, QualifiedName};

impl From<nodesift_cel::Path> for Path {
    fn from(path: nodesift_cel::Path) -> Self {
        use nodesift_cel::Path as Read;
        match path {
            Read::Driver => Self::Driver,
            Read::AllowMultipleAllocations => Self::AllowMultipleAllocations,
            Read::Attribute { domain, name } => Self::Attribute(QualifiedName { domain, name }),
            Read::AttributeDomain { domain } => Self::AttributeDomain(domain),
            Read::Capacity { domain, name } => Self::Capacity(QualifiedName { domain, name }),
            Read::CapacityDomain { domain } => Self::CapacityDomain(domain),
        }
    }
}

/// Reads devices one after the other. Each takes the place of the one before it, whose texts need not be made again.
pub(crate) struct Reader<'d> {
    names: &'d [String],
    attributes: Iter<'d, (u32, Attribute)>,
    capacities: Iter<'d, (u32, u32)>,
    texts: Texts<'d>,
    has_lists: bool,
    device: nodesift_cel::Device,
}

/// Texts that are joined.
struct Texts<'d>(&'d str);

impl<'d> Reader<'d> {
    pub(crate) fn new(dialect: Dialect, devices: &'d Devices) -> Self {
        let Devices { devices: _, names, attributes, capacities, texts } = devices;
        Self {
            names,
            attributes: attributes.iter(),
            capacities: capacities.iter(),
            texts: Texts(texts),
            has_lists: dialect.lists,
            device: nodesift_cel::Device::default(),
        }
    }

    /// Reads the next device from the flat lists, in place of the one before it.
    pub(crate) fn read(&mut self, next: &Device) -> &nodesift_cel::Device {
        let Self { names, attributes, capacities, texts, has_lists, device } = self;
        let name = |place: u32| names.get(place as usize).map_or("", String::as_str);
        name(next.driver).clone_into(&mut device.driver);
        device.allow_multiple_allocations = next.allow_multiple_allocations;
        let count = attributes.len().min(next.attributes as usize);
        device.attributes.resize_with(count, || (String::new(), nodesift_cel::Attribute::Unsupported));
        for ((known, value), (place, attribute)) in device.attributes.iter_mut().zip(attributes) {
            name(*place).clone_into(known);
            texts.read(attribute, value);
            if !*has_lists && matches!(value, nodesift_cel::Attribute::List(_)) {
                *value = nodesift_cel::Attribute::Unsupported;
            }
        }
        let count = capacities.len().min(next.capacities as usize);
        device.capacity.resize_with(count, Default::default);
        for ((known, text), (place, bytes)) in device.capacity.iter_mut().zip(capacities) {
            name(*place).clone_into(known);
            texts.next(*bytes).clone_into(text);
        }
        device
    }
}

impl<'d> Texts<'d> {
    fn next(&mut self, bytes: u32) -> &'d str {
        let (text, rest) = self.0.split_at_checked(bytes as usize).unwrap_or((self.0, ""));
        self.0 = rest;
        text
    }

    fn read(&mut self, attribute: &Attribute, to: &mut nodesift_cel::Attribute) {
        use nodesift_cel::Attribute as Value;
        match (attribute, to) {
            (Attribute::Text(bytes), Value::String(to)) => self.next(*bytes).clone_into(to),
            (Attribute::Text(bytes), to) => *to = Value::String(self.next(*bytes).to_owned()),
            (Attribute::Version(bytes), to) => *to = Value::Version(self.next(*bytes).to_owned()),
            (Attribute::Int(value), to) => *to = Value::Int(*value),
            (Attribute::Boolean(value), to) => *to = Value::Bool(*value),
            (Attribute::Elements(bytes), to) => *to = Value::List(elements(self.next(*bytes))),
            (Attribute::Unsupported, to) => *to = Value::Unsupported,
        }
    }
}

/// The elements of a list. What cannot be read is a value that expressions cannot see.
fn elements(mut rest: &str) -> Vec<nodesift_cel::Attribute> {
    let mut elements = Vec::new();
    while !rest.is_empty() {
        let (element, after) = first_element(rest).unwrap_or((nodesift_cel::Attribute::Unsupported, ""));
        elements.push(element);
        rest = after;
    }
    elements
}

/// The first element, and what follows it.
fn first_element(text: &str) -> Option<(nodesift_cel::Attribute, &str)> {
    use nodesift_cel::Attribute as Value;
    let (head, rest) = text.split_once(':')?;
    let (letter, bytes) = head.split_at_checked(1)?;
    let (text, rest) = rest.split_at_checked(bytes.parse().ok()?)?;
    let element = match letter {
        "i" => Value::Int(text.parse().ok()?),
        "b" => Value::Bool(text.parse().ok()?),
        "s" => Value::String(text.to_owned()),
        "v" => Value::Version(text.to_owned()),
        _ => return None,
    };
    Some((element, rest))
}

impl From<Result<bool, String>> for Outcome {
    fn from(outcome: Result<bool, String>) -> Self {
        match outcome {
            Ok(false) => Self::No,
            Ok(true) => Self::Yes,
            Err(error) => Self::Error(error),
        }
    }
}
