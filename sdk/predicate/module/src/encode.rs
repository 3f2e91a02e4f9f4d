//! Encodes core modules as components. Start at [`encode`].

use nodesift_guest::component::ComponentError;
use wasmparser::{Parser, Payload};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};

use crate::contract;
use crate::wasi;

/// The world of a core module. One that exports the functions of `scorer` is of the world `scoring` as well.
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
        let scores = exports_scorer(&module)?;
        embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).map_err(ComponentError::Encode)?;
        if scores {
            // The encoder joins the worlds of a module.
            let (resolve, world) = contract::scoring()?;
            embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)
                .map_err(ComponentError::Encode)?;
        }
    }
    let mut adapter = wasi::adapter(wasi::Stage::Call).map_err(ComponentError::Encode)?;
    let (resolve, output) = contract::output()?;
    embed_component_metadata(&mut adapter, &resolve, output, StringEncoding::UTF8).map_err(ComponentError::Encode)?;
    let encoder = ComponentEncoder::default().validate(true).module(&module).map_err(ComponentError::Encode)?;
    let mut encoder = encoder.adapter(wasi::MODULE, &adapter).map_err(ComponentError::Encode)?;
    encoder.encode().map_err(ComponentError::Encode)
}

/// Whether a core module exports the function that scores. An SDK exports it from modules that score, and from no others.
fn exports_scorer(module: &[u8]) -> Result<bool, ComponentError> {
    let name = format!("{}/scorer@{}#score", contract::PACKAGE, contract::version());
    for payload in Parser::new(0).parse_all(module) {
        if let Payload::ExportSection(exports) = payload.map_err(broken)? {
            for export in exports {
                if export.map_err(broken)?.name == name {
                    return Ok(true);
                }
            }
        }
    }
    Ok(false)
}

fn broken(error: wasmparser::BinaryReaderError) -> ComponentError {
    ComponentError::Encode(error.into())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use nodesift_guest::component::{self, Import};

    use super::*;

    /// A module that exports the contract, and imports a fact and what a language's runtime takes from WASI.
    fn module() -> Vec<u8> {
        module_with("")
    }

    /// Returns that module with more functions in its text.
    fn module_with(more: &str) -> Vec<u8> {
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
  (func (export "nodesift:predicate/predicate@{version}#filter") (param i32) (result i32) i32.const 0)
  {more})"#
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
    fn a_component_exports_a_scorer_where_its_module_does() {
        let exported = |component: &[u8]| {
            let decoded = wit_component::decode(component).unwrap();
            let (resolve, world) = match decoded {
                wit_component::DecodedWasm::Component(resolve, world) => (resolve, world),
                wit_component::DecodedWasm::WitPackage(..) => unreachable!("it has code"),
            };
            let exports = resolve.worlds[world].exports.keys().map(|key| resolve.name_world_key(key));
            exports.collect::<Vec<String>>()
        };
        let full = |name: &str| format!("{}/{name}@{}", contract::PACKAGE, contract::version());
        let function = |name: &str, kind: &str| {
            format!("(func (export {:?}) {kind} i32.const 0)", format!("{}#{name}", full("scorer")))
        };
        let normalize_by = function("normalize-by", "(result i32)");
        let score = function("score", "(param i32) (result i32)");
        for world in [World::Whole, World::Narrow(&["node-labels"])] {
            assert_eq!(exported(&encode(&module(), world).unwrap()), [full("predicate")], "{world:?}");
            let scorer = module_with(&format!("{normalize_by}{score}"));
            let mut exports = exported(&encode(&scorer, world).unwrap());
            exports.sort_unstable();
            assert_eq!(exports, [full("predicate"), full("scorer")], "{world:?}");
            let error = encode(&module_with(&score), world).unwrap_err();
            assert!(format!("{error:#}").contains("normalize-by"), "{error:#}");
        }
    }

    #[test]
    fn a_fact_outside_the_world_is_refused() {
        let error = encode(&module(), World::Narrow(&["pod-labels"])).unwrap_err();
        assert!(format!("{error:#}").contains("node-labels"), "{error:#}");
        assert!(encode(&module(), World::Embedded).is_err(), "it has no section that describes it");
    }
}
