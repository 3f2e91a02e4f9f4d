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

#[rustfmt::skip]
pub mod bindings;

mod convert;
mod programs;

use std::cell::RefCell;

pub use bindings::exports::nodesift::device_selector::device_selector::{
    Attribute, Device, Devices, Dialect, Outcome, Path, QualifiedName,
};

use convert::Reader;
use programs::Programs;

thread_local! {
    static PROGRAMS: RefCell<Programs> = const { RefCell::new(Programs::new()) };
}

/// Returns the paths of a device that outcomes of an expression can depend on; `None` where it may be any.
///
/// # Errors
/// Why the text is no expression.
pub fn paths(expression: &str, dialect: Dialect) -> Result<Option<Vec<Path>>, String> {
    PROGRAMS.with_borrow_mut(|programs| {
        let paths = programs.get(expression, dialect)?.paths();
        Ok(paths.map(|paths| paths.into_iter().map(Path::from).collect()))
    })
}

/// One outcome per device, in the order of the devices.
pub fn matches(expression: &str, dialect: Dialect, devices: &Devices) -> Vec<Outcome> {
    PROGRAMS.with_borrow_mut(|programs| match programs.get(expression, dialect) {
        Ok(program) => {
            let mut reader = Reader::new(dialect, devices);
            devices.devices.iter().map(|device| program.matches(reader.read(device)).into()).collect()
        }
        Err(error) => devices.devices.iter().map(|_| Outcome::Error(error.clone())).collect(),
    })
}

#[cfg(target_arch = "wasm32")]
#[allow(unsafe_code, unreachable_pub, reason = "the component boundary")]
mod component {
    use crate::bindings::exports::nodesift::device_selector::device_selector::Guest;
    use crate::{Devices, Dialect, Outcome, Path};

    struct Component;

    impl Guest for Component {
        fn paths(expression: String, dialect: Dialect) -> Result<Option<Vec<Path>>, String> {
            crate::paths(&expression, dialect)
        }

        fn matches(expression: String, dialect: Dialect, devices: Devices) -> Vec<Outcome> {
            crate::matches(&expression, dialect, &devices)
        }
    }

    crate::bindings::__export_component!(Component with_types_in crate::bindings);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    /// The dialect of Kubernetes 1.36.
    const DIALECT: Dialect = Dialect { lists: false, includes: true };

    /// Devices with these names of attributes and with these values, each with a capacity.
    fn devices(all: &[&[(&str, Attribute)]], texts: &str) -> Devices {
        let mut names = vec!["d".to_owned(), "memory".to_owned()];
        let (mut devices, mut attributes) = (Vec::new(), Vec::new());
        for (name, value) in all.iter().flat_map(|device| device.iter()) {
            attributes.push((u32::try_from(names.len()).unwrap(), *value));
            names.push((*name).to_owned());
        }
        for device in all {
            let attributes = u32::try_from(device.len()).unwrap();
            devices.push(Device { driver: 0, allow_multiple_allocations: false, attributes, capacities: 1 });
        }
        Devices { devices, names, attributes, capacities: vec![(1, 3); all.len()], texts: texts.to_owned() }
    }

    #[test]
    fn values_of_every_kind_are_what_an_expression_reads() {
        let all = &[
            ("int", Attribute::Int(-1)),
            ("e/flag", Attribute::Boolean(true)),
            ("text", Attribute::Text(1)),
            ("version", Attribute::Version(5)),
        ];
        for expression in [
            "device.driver == 'd' && !device.allowMultipleAllocations",
            "device.attributes['d'].int == -1 && device.attributes['e'].flag",
            "device.attributes['d'].text == 'a' && device.attributes['d'].version.isGreaterThan(semver('1.2.2'))",
            "device.capacity['d'].memory.compareTo(quantity('8192Mi')) == 0",
        ] {
            assert_eq!(matches(expression, DIALECT, &devices(&[all], "a1.2.38Gi")), [Outcome::Yes], "{expression}");
        }
        let unseen = &[("a", Attribute::Unsupported)][..];
        let error = Outcome::Error("attribute a: unsupported attribute value".to_owned());
        assert_eq!(matches("true", DIALECT, &devices(&[unseen, all], "8Gia1.2.38Gi")), [error, Outcome::Yes]);
        assert_eq!(matches("false", DIALECT, &devices(&[&[], &[]], "8Gi8Gi")), [Outcome::No, Outcome::No]);
    }

    #[test]
    fn devices_with_more_or_fewer_values_follow_each_other() {
        let text = |bytes| ("text", Attribute::Text(bytes));
        let all: &[&[_]] = &[
            &[text(1)],
            &[],
            &[("other", Attribute::Int(1)), text(2)],
            &[("text", Attribute::Int(1))],
            &[text(1)],
            &[text(2)],
        ];
        let missing = Outcome::Error("no such key: text".to_owned());
        assert_eq!(
            matches("device.attributes['d'].text == 'é'", DIALECT, &devices(all, "a8Gi8Gié8Gi8Gib8Gié8Gi")),
            [Outcome::No, missing, Outcome::Yes, Outcome::No, Outcome::No, Outcome::Yes]
        );
        assert_eq!(
            matches("device.capacity['d'].memory.isInteger()", DIALECT, &devices(all, "a8Gi8Gié8Gi8Gib8Gié8Gi")),
            vec![Outcome::Yes; 6]
        );
    }

    #[test]
    fn lists_are_read_where_the_dialect_has_them() {
        let lists = Dialect { lists: true, includes: true };
        let all = &[("a", Attribute::Elements(0)), ("b", Attribute::Elements(18)), ("c", Attribute::Text(1))][..];
        let devices = devices(&[all], "i2:-1b4:trues3:é:x8Gi");
        for expression in [
            "device.attributes['d'].a.size() == 0 && device.attributes['d'].c == 'x'",
            "device.attributes['d'].b[0] == -1 && device.attributes['d'].b[1]",
            "device.attributes['d'].b.includes('é:') && device.attributes['d'].b.size() == 3",
        ] {
            assert_eq!(matches(expression, lists, &devices), [Outcome::Yes], "{expression}");
        }
        let error = Outcome::Error("attribute a: unsupported attribute value".to_owned());
        assert_eq!(matches("true", DIALECT, &devices), [error]);
    }

    #[test]
    fn a_list_that_cannot_be_read_is_a_value_that_expressions_cannot_see() {
        let lists = Dialect { lists: true, includes: true };
        for text in ["i1:x", "b1:x", "x1:x", "s2:x", "s:x", "s", "v1:1"] {
            let count = u32::try_from(text.len()).unwrap();
            let devices = devices(&[&[("a", Attribute::Elements(count))]], &format!("{text}8Gi"));
            let found = matches("true", lists, &devices);
            assert!(
                matches!(&*found, [Outcome::Error(error)] if error.starts_with("attribute a: ")),
                "{text}: {found:?}"
            );
        }
        let version = devices(&[&[("a", Attribute::Elements(8))]], "v5:1.2.38Gi");
        assert_eq!(matches("device.attributes['d'].a.includes(semver('1.2.3'))", lists, &version), [Outcome::Yes]);
    }

    #[test]
    fn paths_of_every_kind_cross() {
        let name = |name: &str| QualifiedName { domain: "d".to_owned(), name: name.to_owned() };
        let read = |expression| paths(expression, DIALECT).unwrap().unwrap();
        assert_eq!(read("device.driver == 'd'"), [Path::Driver]);
        assert_eq!(read("device.allowMultipleAllocations"), [Path::AllowMultipleAllocations]);
        assert_eq!(read("device.attributes['d'].a == 1"), [Path::Attribute(name("a"))]);
        assert_eq!(read("'d' in device.attributes"), [Path::AttributeDomain("d".to_owned())]);
        assert_eq!(read("device.capacity['d'].c.isInteger()"), [Path::Capacity(name("c"))]);
        assert_eq!(read("'d' in device.capacity"), [Path::CapacityDomain("d".to_owned())]);
        assert_eq!(paths("device.attributes['d'].exists(k, v, k == 'a')", DIALECT), Ok(None));
    }

    #[test]
    fn a_text_that_is_no_expression_has_no_paths_and_matches_nothing() {
        let error = paths("device.", DIALECT).unwrap_err();
        assert_eq!(matches("device.", DIALECT, &devices(&[&[]], "8Gi")), [Outcome::Error(error.clone())]);
        // The second time it is not compiled.
        assert_eq!(paths("device.", DIALECT), Err(error));
    }
}
