//! The CEL of device selectors as a component. It is no predicate: the host calls it, and keeps what it says of devices.
//!
//! The language is in `nodesift_cel`. Here is what makes a component of it:
//!
//! ```text
//! bindings   code that is generated from the contract
//! convert    values of the contract ↔ values of the language
//! programs   compiled expressions of one instance
//! ```
//!
//! Start at [`paths`] and [`matches`]. The component imports nothing.

pub mod bindings;

mod convert;
mod programs;

use std::cell::RefCell;

pub use bindings::exports::nodesift::device_selector::device_selector::{
    Attribute, Device, Outcome, Path, QualifiedName,
};

use programs::Programs;

thread_local! {
    static PROGRAMS: RefCell<Programs> = const { RefCell::new(Programs::new()) };
}

/// What of a device the outcomes of an expression can depend on; `None` where it may be anything.
///
/// # Errors
/// Why the text is no expression.
pub fn paths(expression: &str) -> Result<Option<Vec<Path>>, String> {
    PROGRAMS.with_borrow_mut(|programs| {
        let paths = programs.get(expression)?.paths();
        Ok(paths.map(|paths| paths.into_iter().map(Path::from).collect()))
    })
}

/// One outcome per device, in the order of the devices.
pub fn matches(expression: &str, devices: Vec<Device>) -> Vec<Outcome> {
    PROGRAMS.with_borrow_mut(|programs| match programs.get(expression) {
        Ok(program) => devices.into_iter().map(|device| program.matches(&device.into()).into()).collect(),
        Err(error) => devices.iter().map(|_| Outcome::Error(error.clone())).collect(),
    })
}

#[cfg(target_arch = "wasm32")]
#[allow(unsafe_code, unreachable_pub, reason = "the component boundary")]
mod component {
    use crate::bindings::exports::nodesift::device_selector::device_selector::Guest;
    use crate::{Device, Outcome, Path};

    struct Component;

    impl Guest for Component {
        fn paths(expression: String) -> Result<Option<Vec<Path>>, String> {
            crate::paths(&expression)
        }

        fn matches(expression: String, devices: Vec<Device>) -> Vec<Outcome> {
            crate::matches(&expression, devices)
        }
    }

    crate::bindings::__export_component!(Component with_types_in crate::bindings);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn device(attributes: Vec<(String, Attribute)>) -> Device {
        Device {
            driver: "d".to_owned(),
            allow_multiple_allocations: false,
            attributes,
            capacities: vec![("memory".to_owned(), "8Gi".to_owned())],
        }
    }

    #[test]
    fn values_of_every_kind_are_what_an_expression_reads() {
        let all = vec![
            ("int".to_owned(), Attribute::Int(-1)),
            ("e/flag".to_owned(), Attribute::Boolean(true)),
            ("text".to_owned(), Attribute::Text("a".to_owned())),
            ("version".to_owned(), Attribute::Version("1.2.3".to_owned())),
        ];
        for expression in [
            "device.driver == 'd' && !device.allowMultipleAllocations",
            "device.attributes['d'].int == -1 && device.attributes['e'].flag",
            "device.attributes['d'].text == 'a' && device.attributes['d'].version.isGreaterThan(semver('1.2.2'))",
            "device.capacity['d'].memory.compareTo(quantity('8192Mi')) == 0",
        ] {
            assert_eq!(matches(expression, vec![device(all.clone())]), [Outcome::Yes], "{expression}");
        }
        let unseen = device(vec![("a".to_owned(), Attribute::Unsupported)]);
        let error = Outcome::Error("attribute a: unsupported attribute value".to_owned());
        assert_eq!(matches("true", vec![unseen, device(all)]), [error, Outcome::Yes]);
        assert_eq!(matches("false", vec![device(Vec::new()); 2]), [Outcome::No, Outcome::No]);
    }

    #[test]
    fn paths_of_every_kind_cross() {
        let name = |name: &str| QualifiedName { domain: "d".to_owned(), name: name.to_owned() };
        let read = |expression| paths(expression).unwrap().unwrap();
        assert_eq!(read("device.driver == 'd'"), [Path::Driver]);
        assert_eq!(read("device.allowMultipleAllocations"), [Path::AllowMultipleAllocations]);
        assert_eq!(read("device.attributes['d'].a == 1"), [Path::Attribute(name("a"))]);
        assert_eq!(read("'d' in device.attributes"), [Path::AttributeDomain("d".to_owned())]);
        assert_eq!(read("device.capacity['d'].c.isInteger()"), [Path::Capacity(name("c"))]);
        assert_eq!(read("'d' in device.capacity"), [Path::CapacityDomain("d".to_owned())]);
        assert_eq!(paths("device.attributes['d'].exists(k, v, k == 'a')"), Ok(None));
    }

    #[test]
    fn a_text_that_is_no_expression_has_no_paths_and_matches_nothing() {
        let error = paths("device.").unwrap_err();
        assert_eq!(matches("device.", vec![device(Vec::new())]), [Outcome::Error(error.clone())]);
        // The second time it is not compiled.
        assert_eq!(paths("device."), Err(error));
    }
}
