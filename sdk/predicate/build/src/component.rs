//! Encodes core modules as components, and reads the imports of a component, which are its manifest.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};
use wit_component::{ComponentEncoder, DecodedWasm};

/// Why a module cannot be encoded, or a component cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ComponentError {
    /// The module is not built against the contract.
    #[error("the module does not conform to the contract: {0:#}")]
    Encode(anyhow::Error),
    /// The contract has no such world.
    #[error("the contract has no such world: {0:#}")]
    World(anyhow::Error),
    /// The bytes are not a component.
    #[error("not a component: {0:#}")]
    Decode(anyhow::Error),
    /// The bytes are a WIT package, without code.
    #[error("not a component but a WIT package")]
    WitPackage,
}

/// An imported interface, and the functions that the component uses.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Import {
    /// The full name of the interface, for example `nodesift:predicate/pod-labels@0.2.0`.
    pub interface: String,
    /// The imported functions, sorted; empty where only types are used.
    pub functions: Vec<String>,
}

impl Import {
    /// The name without package and version, as in a policy's `allow`.
    #[must_use]
    pub fn short_name(&self) -> &str {
        let name = self.interface.rsplit_once('/').map_or(self.interface.as_str(), |(_, name)| name);
        name.split_once('@').map_or(name, |(name, _)| name)
    }
}

/// Encodes a core module as a component. There is no WASI adapter, so a module that imports WASI is refused.
///
/// # Errors
///
/// Where the module has no component type, or an import that is not in the contract.
pub fn encode(module: &[u8]) -> Result<Vec<u8>, ComponentError> {
    let mut encoder = ComponentEncoder::default().validate(true).module(module).map_err(ComponentError::Encode)?;
    encoder.encode().map_err(ComponentError::Encode)
}

/// The interfaces that a component imports, sorted by name.
///
/// # Errors
///
/// Where the bytes are not a component.
pub fn imports(component: &[u8]) -> Result<Vec<Import>, ComponentError> {
    let DecodedWasm::Component(resolve, world) = wit_component::decode(component).map_err(ComponentError::Decode)?
    else {
        return Err(ComponentError::WitPackage);
    };
    let mut imports = Vec::new();
    for (key, _) in &resolve.worlds[world].imports {
        let interface = resolve.name_world_key(key);
        let mut functions: Vec<String> = resolve
            .interfaces
            .iter()
            .find(|(id, _)| resolve.id_of(*id).as_deref() == Some(interface.as_str()))
            .map(|(_, interface)| interface.functions.keys().cloned().collect())
            .unwrap_or_default();
        functions.sort();
        imports.push(Import { interface, functions });
    }
    imports.sort();
    Ok(imports)
}

/// The digest of a component in the form that policies use: `sha256:` and 64 hexadecimal digits.
#[must_use]
pub fn digest(component: &[u8]) -> String {
    Sha256::digest(component).iter().fold(String::from("sha256:"), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
