//! Encodes core modules as components. Start at [`encode`].

use nodesift_guest::component::ComponentError;
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};

use crate::contract;
use crate::wasi;

/// The world of a core module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum World<'a> {
    /// The module has a custom section that describes it, as generated bindings write one.
    Embedded,
    /// Every interface of the contract; imports that the module does not have are left out.
    Whole,
    /// The interfaces of these names, and no others.
    Narrow(&'a [&'a str]),
}

/// Encodes a core module as a component. What it imports from WASI preview 1 is given by [`wasi::adapter`], so that the component
/// imports nothing but the contract.
///
/// # Errors
///
/// Where the module does not conform to its world, or imports what is neither of the contract nor of WASI.
pub fn encode(module: &[u8], world: World<'_>) -> Result<Vec<u8>, ComponentError> {
    let mut module = module.to_vec();
    let embedded = match world {
        World::Embedded => None,
        World::Whole => Some(contract::whole()?),
        World::Narrow(interfaces) => Some(contract::narrow(interfaces)?),
    };
    if let Some((resolve, world)) = embedded {
        embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).map_err(ComponentError::Encode)?;
    }
    let mut adapter = wasi::adapter(wasi::Stage::Call).map_err(ComponentError::Encode)?;
    let (resolve, output) = contract::output()?;
    embed_component_metadata(&mut adapter, &resolve, output, StringEncoding::UTF8).map_err(ComponentError::Encode)?;
    let encoder = ComponentEncoder::default().validate(true).module(&module).map_err(ComponentError::Encode)?;
    let mut encoder = encoder.adapter(wasi::MODULE, &adapter).map_err(ComponentError::Encode)?;
    encoder.encode().map_err(ComponentError::Encode)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use nodesift_guest::component::{self, Import};

    use super::*;

    /// A module that exports the contract, and imports a fact and what a language's runtime takes from WASI.
    fn module() -> Vec<u8> {
        let version = contract::version();
        let text = format!(
            r#"(module
  (import "nodesift:predicate/node-labels@{version}" "column" (func (param i32 i32 i32)))
  (import "wasi_snapshot_preview1" "clock_time_get" (func (param i32 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func (param i32)))
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) i32.const 1024)
  (func (export "nodesift:predicate/predicate@{version}#describe") (result i32) i32.const 0)
  (func (export "nodesift:predicate/predicate@{version}#configure") (param i32 i32) (result i32) i32.const 0)
  (func (export "nodesift:predicate/predicate@{version}#filter") (param i32) (result i32) i32.const 0))"#
        );
        wat::parse_str(text).unwrap()
    }

    #[test]
    fn a_module_that_imports_wasi_becomes_a_component_that_imports_the_contract_alone() {
        for world in [World::Whole, World::Narrow(&["node-labels"]), World::Narrow(&["node-labels", "pod-labels"])] {
            let component = encode(&module(), world).unwrap();
            let imports = component::imports(&component).unwrap();
            let names: Vec<&str> =
                imports.iter().filter(|import| !import.functions.is_empty()).map(Import::short_name).collect();
            // The log is where output goes.
            assert_eq!(names, ["log", "node-labels"], "{world:?}");
        }
    }

    #[test]
    fn a_fact_outside_the_world_is_refused() {
        let error = encode(&module(), World::Narrow(&["pod-labels"])).unwrap_err();
        assert!(format!("{error:#}").contains("node-labels"), "{error:#}");
        assert!(encode(&module(), World::Embedded).is_err(), "it has no section that describes it");
    }
}
