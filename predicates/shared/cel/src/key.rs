//! Keys of devices: the values that a program reads of a device. Devices with equal keys have equal outcomes.

use crate::paths::Path;
use crate::{Attribute, Device};

/// Values that a program reads of a device, made by [`key_of`]. Only keys of one list of paths are comparable.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key<'d>(Content<'d>);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Content<'d> {
    /// Every program fails with this text.
    Fault(&'d str),
    /// Values that were read, one per path.
    Parts(Vec<Part<'d>>),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Part<'d> {
    Missing,
    Flag(bool),
    Text(&'d str),
    Attribute(&'d Attribute),
}

/// The key of a device for the programs that read these paths. `fault` is what [`Device::fault`] says of it: that reads all values
/// and depends on no program, so it is asked once per device and not once per key.
///
/// Values are compared as they are written: `1Gi` and `1024Mi` are two keys with one outcome.
pub fn key_of<'d>(paths: &[Path], device: &'d Device, fault: Option<&'d str>) -> Key<'d> {
    if let Some(fault) = fault {
        return Key(Content::Fault(fault));
    }
    let attribute = |(_, value): &'d (String, Attribute)| Part::Attribute(value);
    let capacity = |(_, text): &'d (String, String)| Part::Text(text);
    let driver = device.driver.as_str();
    let part = |path: &Path| match path {
        Path::Driver => Part::Text(driver),
        Path::AllowMultipleAllocations => Part::Flag(device.allow_multiple_allocations),
        Path::Attribute { domain, name } => {
            first(&device.attributes, driver, domain, name).map_or(Part::Missing, attribute)
        }
        Path::Capacity { domain, name } => {
            first(&device.capacity, driver, domain, name).map_or(Part::Missing, capacity)
        }
        Path::AttributeDomain { domain } => Part::Flag(has_domain(&device.attributes, driver, domain)),
        Path::CapacityDomain { domain } => Part::Flag(has_domain(&device.capacity, driver, domain)),
    };
    Key(Content::Parts(paths.iter().map(part).collect()))
}

/// The domain and the rest of a name; without a domain it is in the driver's.
pub(crate) fn split<'a>(name: &'a str, driver: &'a str) -> (&'a str, &'a str) {
    name.split_once('/').unwrap_or((driver, name))
}

fn first<'d, T>(values: &'d [(String, T)], driver: &str, domain: &str, name: &str) -> Option<&'d (String, T)> {
    // Most have another name, which is seen at its end.
    values.iter().find(|(known, _)| known.ends_with(name) && split(known, driver) == (domain, name))
}

fn has_domain<T>(values: &[(String, T)], driver: &str, domain: &str) -> bool {
    values.iter().any(|(known, _)| split(known, driver).0 == domain)
}
