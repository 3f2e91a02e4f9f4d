//! Values of the contract ↔ values of the language.

use crate::{Attribute, Device, Outcome, Path, QualifiedName};

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

impl From<Attribute> for nodesift_cel::Attribute {
    fn from(attribute: Attribute) -> Self {
        match attribute {
            Attribute::Int(value) => Self::Int(value),
            Attribute::Boolean(value) => Self::Bool(value),
            Attribute::Text(text) => Self::String(text),
            Attribute::Version(text) => Self::Version(text),
            Attribute::Unsupported => Self::Unsupported,
        }
    }
}

impl From<Device> for nodesift_cel::Device {
    fn from(device: Device) -> Self {
        Self {
            driver: device.driver,
            allow_multiple_allocations: device.allow_multiple_allocations,
            attributes: device.attributes.into_iter().map(|(name, value)| (name, value.into())).collect(),
            capacity: device.capacities,
        }
    }
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
