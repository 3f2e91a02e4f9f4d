//! Attributes of devices, as constraints look them up and compare them.

use nodesift_fixtures::json::at;
use serde_json::Value;

/// A device's attribute by its full name, or by its name alone where the domain is the driver's.
pub(super) fn lookup<'a>(device: &'a Value, driver: &str, full_name: &str) -> Option<&'a Value> {
    let attributes = at(device, "attributes");
    let (domain, name) = full_name.split_once('/').unwrap_or(("", ""));
    let by_name = || if domain == driver && !name.is_empty() { attributes.get(name) } else { None };
    attributes.get(full_name).or_else(by_name)
}

/// The types of attributes, in the order in which they are looked at.
const TYPES: [&str; 4] = ["string", "int", "bool", "version"];

/// Whether two attributes have the same value of the same type; `None` where the type of the first is not known.
pub(super) fn are_equal(attribute: &Value, other: &Value) -> Option<bool> {
    let of_type = TYPES.into_iter().find(|name| attribute.get(name).is_some_and(|value| !value.is_null()))?;
    Some(attribute.get(of_type) == other.get(of_type))
}
