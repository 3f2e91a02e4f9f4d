//! The text of the contract, and worlds with some of its interfaces. Start at [`narrow`].

use wit_parser::{Resolve, WorldId};

use nodesift_guest::component::ComponentError;

/// The contract, as SDKs carry it.
pub const WIT: &str = include_str!("../../wit/predicate.wit");

/// The package of the contract, without its version.
pub const PACKAGE: &str = "nodesift:predicate";

/// The version of the contract.
#[must_use]
pub fn version() -> &'static str {
    let line = WIT.lines().find_map(|line| line.strip_prefix("package nodesift:predicate@"));
    line.map_or("", |version| version.trim_end_matches(';'))
}

/// The text of a package with the world `narrow`: a predicate that imports these interfaces and no others. A generator of bindings
/// needs [`WIT`] beside it.
#[must_use]
pub fn narrow_text(interfaces: &[&str]) -> String {
    let version = version();
    let line = |interface: &&str| format!("    import {PACKAGE}/{interface}@{version};\n");
    let imports: String = interfaces.iter().map(line).collect();
    format!("package nodesift:module;\n\nworld narrow {{\n{imports}    export {PACKAGE}/predicate@{version};\n}}\n")
}

/// Parses the contract together with [`narrow_text`], and returns the world `narrow`.
///
/// # Errors
///
/// Where the contract has no interface of such a name.
pub fn narrow(interfaces: &[&str]) -> Result<(Resolve, WorldId), ComponentError> {
    let parse = || {
        let mut resolve = Resolve::default();
        resolve.push_str("predicate.wit", WIT)?;
        let package = resolve.push_str("narrow.wit", &narrow_text(interfaces))?;
        let world = resolve.select_world(&[package], Some("narrow"))?;
        Ok((resolve, world))
    };
    parse().map_err(ComponentError::World)
}

/// The world of the adapter for WASI: it imports the log, and exports nothing of the contract.
///
/// # Errors
///
/// Never for the contract that this crate carries.
pub fn output() -> Result<(Resolve, WorldId), ComponentError> {
    let parse = || {
        let mut resolve = Resolve::default();
        resolve.push_str("predicate.wit", WIT)?;
        let version = version();
        let text = format!("package nodesift:output;\n\nworld output {{\n    import {PACKAGE}/log@{version};\n}}\n");
        let package = resolve.push_str("output.wit", &text)?;
        let world = resolve.select_world(&[package], Some("output"))?;
        Ok((resolve, world))
    };
    parse().map_err(ComponentError::World)
}

/// The world with every interface of the contract, parsed.
///
/// # Errors
///
/// Never for the contract that this crate carries.
pub fn whole() -> Result<(Resolve, WorldId), ComponentError> {
    world("guest")
}

/// The world `scoring`, parsed: what a scorer exports beside a predicate.
///
/// # Errors
///
/// Never for the contract that this crate carries.
pub fn scoring() -> Result<(Resolve, WorldId), ComponentError> {
    world("scoring")
}

/// A world of the contract, parsed.
fn world(name: &str) -> Result<(Resolve, WorldId), ComponentError> {
    let parse = || {
        let mut resolve = Resolve::default();
        let package = resolve.push_str("predicate.wit", WIT)?;
        let world = resolve.select_world(&[package], Some(name))?;
        Ok((resolve, world))
    };
    parse().map_err(ComponentError::World)
}

/// The contract as a WIT package in its binary form, a component that `wkg` and generators of bindings read in place of the text.
///
/// # Errors
///
/// Never for the contract that this crate carries.
pub fn package() -> Result<Vec<u8>, ComponentError> {
    let mut resolve = Resolve::default();
    let package = resolve.push_str("predicate.wit", WIT).map_err(ComponentError::World)?;
    wit_component::encode(&resolve, package).map_err(ComponentError::Encode)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_binary_package_says_what_the_text_says() {
        let decoded = wit_component::decode(&package().unwrap()).unwrap();
        let decoded_package = &decoded.resolve().packages[decoded.package()];
        assert_eq!(decoded_package.name.to_string(), format!("{PACKAGE}@{}", version()));
        let mut resolve = Resolve::default();
        let id = resolve.push_str("predicate.wit", WIT).unwrap();
        let package = &resolve.packages[id];
        assert_eq!(names(decoded_package.worlds.keys()), names(package.worlds.keys()));
        assert_eq!(names(decoded_package.interfaces.keys()), names(package.interfaces.keys()));
        for (name, interface) in &package.interfaces {
            let read = &decoded.resolve().interfaces[decoded_package.interfaces[name]];
            let written = &resolve.interfaces[*interface];
            assert_eq!(names(read.functions.keys()), names(written.functions.keys()), "{name}");
            assert!(read.docs.contents.is_some(), "{name} has lost its documentation");
        }
    }

    fn names<'a>(names: impl Iterator<Item = &'a String>) -> BTreeSet<&'a String> {
        names.collect()
    }

    #[test]
    fn a_narrow_world_has_the_interfaces_that_are_named() {
        assert!(version().starts_with("0."), "{}", version());
        let (resolve, world) = narrow(&["pod-labels", "node-labels"]).unwrap();
        let world = &resolve.worlds[world];
        let names: Vec<String> = world.imports.keys().map(|key| resolve.name_world_key(key)).collect();
        let full = |name: &str| format!("{PACKAGE}/{name}@{}", version());
        assert_eq!(names, [full("pod-labels"), full("node-labels")]);
        assert_eq!(world.exports.len(), 1);
        assert!(narrow(&["pod-label"]).is_err());
        let (resolve, world) = whole().unwrap();
        assert!(resolve.worlds[world].imports.len() > 20);
    }
}
