//! Declarations of a component, read before any of it is compiled: the interfaces that it imports, and the contract that it was built for.
//! Compiling a language runtime takes seconds; its types are read in milliseconds. Start at [`Manifest::read`]. A contract of another kind
//! begins at [`Surface::read`].

use wasmparser::component_types::ComponentEntityType;
use wasmparser::types::TypesRef;
use wasmparser::{Parser, Payload, ValidPayload, Validator, WasmFeatures};

use super::contract::{self, Minor, PACKAGE, VERSION};
use super::interface::Interface;
use super::limits::{COMPONENT_DECLARATION_BYTES, COMPONENT_DECLARATIONS};
use super::load_error::LoadError;
use super::text::shorten;

/// Imports and exports of a component.
#[derive(Debug)]
pub(super) struct Manifest {
    /// The fact interfaces of which it imports at least one function, sorted. An interface imported only for its types is not
    /// listed.
    pub(super) imports: Vec<Interface>,
    /// None where it exports no predicate; then [`Self::exports`] say what it does export.
    predicate: Option<Predicate>,
    exports: Vec<String>,
}

/// The interface `predicate` that a component exports.
#[derive(Debug)]
pub(super) struct Predicate {
    /// The full name of the export.
    pub(super) export: String,
    /// The version of the contract in it.
    pub(super) contract: String,
    /// The full name of the export `allocator`, where there is one of that version.
    pub(super) allocator: Option<String>,
    /// The full name of the export `scorer`, where there is one of that version.
    pub(super) scorer: Option<String>,
}

/// The names of what a component imports and exports, whatever contract it was built for.
#[derive(Debug)]
pub(super) struct Surface {
    /// Imports of which it imports at least one function. An interface imported only for its types is not listed.
    pub(super) imports: Vec<String>,
    pub(super) exports: Vec<String>,
}

impl Surface {
    /// Reads it from the bytes of a component. Bodies of functions are neither looked at nor checked.
    ///
    /// # Errors
    ///
    /// [`LoadError::Declarations`], and [`LoadError::Compile`] where its types are not valid.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, LoadError> {
        let invalid = |error: wasmparser::Error| LoadError::Compile(shorten(&error.to_string()));
        // Which extensions it may use is the compiler's to say.
        let mut validator = Validator::new_with_features(WasmFeatures::all());
        let (mut imports, mut exports, mut depth) = (Vec::new(), Vec::new(), 0_usize);
        let mut declared = Declared::default();
        for payload in Parser::new(0).parse_all(bytes) {
            let payload = payload.map_err(invalid)?;
            declared.add(&payload)?;
            match &payload {
                Payload::ComponentImportSection(section) if depth == 0 => {
                    for import in section.clone() {
                        imports.push(import.map_err(invalid)?.name.name);
                    }
                }
                Payload::ComponentExportSection(section) if depth == 0 => {
                    for export in section.clone() {
                        exports.push(export.map_err(invalid)?.name.name);
                    }
                }
                _ => {}
            }
            match validator.payload(&payload).map_err(invalid)? {
                ValidPayload::Parser(_) => depth += 1,
                ValidPayload::End(types) if depth == 0 => {
                    return Ok(Self::from_types(types.as_ref(), &imports, &exports));
                }
                ValidPayload::End(_) => depth -= 1,
                ValidPayload::Ok | ValidPayload::Func(..) => {}
            }
        }
        Err(LoadError::Compile("the component has no end".to_owned()))
    }

    fn from_types(types: TypesRef<'_>, imports: &[&str], exports: &[&str]) -> Self {
        let has_functions = |name: &&&str| match types.component_item_for_import(name).map(|item| item.ty) {
            Some(ComponentEntityType::Instance(instance)) => {
                types[instance].exports.values().any(|item| matches!(item.ty, ComponentEntityType::Func(_)))
            }
            Some(ComponentEntityType::Type { .. }) => false,
            _ => true,
        };
        let owned = |name: &&str| (*name).to_owned();
        Self {
            imports: imports.iter().filter(has_functions).map(owned).collect(),
            exports: exports.iter().map(owned).collect(),
        }
    }
}

impl Manifest {
    /// Reads it from the bytes of a component.
    ///
    /// # Errors
    ///
    /// As [`Surface::read`], and [`LoadError::ContractVersion`] and [`LoadError::UnknownImports`].
    pub(super) fn read(bytes: &[u8]) -> Result<Self, LoadError> {
        let Surface { imports, exports } = Surface::read(bytes)?;
        // First, because imports of another version are none that this host has.
        let predicate = predicate_of(&exports)?;
        Ok(Self { imports: imports_of(imports)?, predicate, exports })
    }

    /// Checks that it imports no other facts than these.
    ///
    /// # Errors
    ///
    /// [`LoadError::ForbiddenImports`] with all others.
    pub(super) fn check(&self, allow: Option<&[Interface]>) -> Result<(), LoadError> {
        let Some(allow) = allow else { return Ok(()) };
        let is_forbidden = |import: &&Interface| import.is_fact() && !allow.contains(import);
        let forbidden: Vec<&str> = self.imports.iter().filter(is_forbidden).map(|import| import.name()).collect();
        if forbidden.is_empty() { Ok(()) } else { Err(LoadError::ForbiddenImports(forbidden)) }
    }

    /// The predicate that it exports.
    ///
    /// # Errors
    ///
    /// [`LoadError::Contract`] where there is none.
    pub(super) fn predicate(&self) -> Result<&Predicate, LoadError> {
        self.predicate.as_ref().ok_or_else(|| {
            let found = match self.exports.as_slice() {
                [] => "it exports nothing".to_owned(),
                names => format!("it exports {}", names.join(", ")),
            };
            LoadError::Contract(format!("no export {PACKAGE}/predicate@{VERSION}; {found}"))
        })
    }
}

/// Declarations of a component and of everything nested in it, counted against [`COMPONENT_DECLARATIONS`] and
/// [`COMPONENT_DECLARATION_BYTES`].
#[derive(Default)]
struct Declared {
    declarations: usize,
    bytes: usize,
}

impl Declared {
    /// Adds a section, before anything of it is read.
    fn add(&mut self, payload: &Payload<'_>) -> Result<(), LoadError> {
        let (count, range) = match payload {
            Payload::TypeSection(section) => (section.count(), section.range()),
            Payload::ImportSection(section) => (section.count(), section.range()),
            Payload::ExportSection(section) => (section.count(), section.range()),
            Payload::InstanceSection(section) => (section.count(), section.range()),
            Payload::CoreTypeSection(section) => (section.count(), section.range()),
            Payload::ComponentInstanceSection(section) => (section.count(), section.range()),
            Payload::ComponentAliasSection(section) => (section.count(), section.range()),
            Payload::ComponentTypeSection(section) => (section.count(), section.range()),
            Payload::ComponentCanonicalSection(section) => (section.count(), section.range()),
            Payload::ComponentImportSection(section) => (section.count(), section.range()),
            Payload::ComponentExportSection(section) => (section.count(), section.range()),
            _ => return Ok(()),
        };
        self.declarations = self.declarations.saturating_add(usize::try_from(count).unwrap_or(usize::MAX));
        self.bytes = self.bytes.saturating_add(range.len());
        let refused = |found, unit, limit| LoadError::Declarations { found, unit, limit };
        if self.declarations > COMPONENT_DECLARATIONS {
            return Err(refused(self.declarations, "declarations", COMPONENT_DECLARATIONS));
        }
        if self.bytes > COMPONENT_DECLARATION_BYTES {
            return Err(refused(self.bytes, "bytes", COMPONENT_DECLARATION_BYTES));
        }
        Ok(())
    }
}

/// The exported predicate of a component, of several the one of the newest version; none where there is none.
fn predicate_of(exports: &[String]) -> Result<Option<Predicate>, LoadError> {
    let predicate = |export: &String| match contract::split(export) {
        Some(("predicate", version)) => {
            let minor = Minor::from_version(version);
            // 0.1 has none of these interfaces.
            let second = |interface: &str| {
                let name = (minor >= Some(Minor::V0_2)).then(|| format!("{PACKAGE}/{interface}@{version}"));
                name.filter(|name| exports.contains(name))
            };
            let (allocator, scorer) = (second("allocator"), second("scorer"));
            Some((minor, Predicate { export: export.clone(), contract: version.to_owned(), allocator, scorer }))
        }
        _ => None,
    };
    match exports.iter().filter_map(predicate).max_by_key(|(minor, _)| *minor) {
        Some((None, predicate)) => Err(LoadError::ContractVersion { built_for: shorten(&predicate.contract) }),
        found => Ok(found.map(|(_, predicate)| predicate)),
    }
}

fn imports_of(imports: Vec<String>) -> Result<Vec<Interface>, LoadError> {
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    for name in imports {
        match Interface::from_import(&name) {
            Some(interface) => known.push(interface),
            None => unknown.push(name),
        }
    }
    known.sort_unstable();
    known.dedup();
    if unknown.is_empty() { Ok(known) } else { Err(LoadError::UnknownImports(unknown)) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Manifest, LoadError> {
        Manifest::read(&wat::parse_str(text).unwrap())
    }

    #[test]
    fn functions_are_imports_and_types_alone_are_none() {
        let manifest = read(
            r#"(component
                 (import "nodesift:predicate/node-labels@0.2.0" (instance (export "f" (func))))
                 (import "nodesift:predicate/pod-labels@0.1.0" (instance (export "f" (func))))
                 (import "nodesift:predicate/selectors@0.2.0" (instance (type (enum "a")) (export "e" (type (eq 0)))))
                 (component (import "inner" (func))))"#,
        );
        let manifest = manifest.unwrap();
        assert_eq!(manifest.imports, [Interface::PodLabels, Interface::NodeLabels]);
        assert!(manifest.check(None).is_ok() && manifest.check(Some(&Interface::ALL)).is_ok());
        match manifest.check(Some(&[Interface::PodLabels])) {
            Err(LoadError::ForbiddenImports(names)) => assert_eq!(names, ["node-labels"]),
            other => panic!("{other:?}"),
        }
        assert!(manifest.predicate().unwrap_err().to_string().contains("exports nothing"));
    }

    #[test]
    fn what_the_host_does_not_have_is_named() {
        let wasi = r#"(component (import "wasi:clocks/wall-clock@0.2.0" (instance (export "now" (func)))))"#;
        match read(wasi) {
            Err(LoadError::UnknownImports(names)) => assert_eq!(names, ["wasi:clocks/wall-clock@0.2.0"]),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn of_several_predicates_the_newest_counts_and_one_must_be_served() {
        let exporting = |versions: &[&str]| {
            let export = |version: &&str| format!(r#"(export "nodesift:predicate/predicate@{version}" (instance $i))"#);
            let exports: String = versions.iter().map(export).collect();
            read(&format!("(component (instance $i) {exports})"))
        };
        for versions in [&["0.1.0", "0.2.0"], &["0.2.0", "0.1.0"], &["0.3.0", "0.2.0"]] {
            let manifest = exporting(versions).unwrap();
            assert_eq!(manifest.predicate().unwrap().contract, "0.2.0");
        }
        assert!(matches!(exporting(&["0.3.0"]), Err(LoadError::ContractVersion { built_for }) if built_for == "0.3.0"));
    }

    #[test]
    fn an_allocator_and_a_scorer_count_beside_a_predicate_of_their_version() {
        let others = |exports: &[&str]| {
            let export = |name: &&str| format!(r#"(export "nodesift:predicate/{name}" (instance $i))"#);
            let exports: String = exports.iter().map(export).collect();
            let manifest = read(&format!("(component (instance $i) {exports})")).unwrap();
            let predicate = manifest.predicate().unwrap();
            (predicate.allocator.clone(), predicate.scorer.clone())
        };
        let full = |name: &str| Some(format!("nodesift:predicate/{name}"));
        assert_eq!(others(&["predicate@0.2.0"]), (None, None));
        assert_eq!(others(&["allocator@0.2.0", "predicate@0.2.0"]), (full("allocator@0.2.0"), None));
        assert_eq!(others(&["predicate@0.2.3", "scorer@0.2.3"]), (None, full("scorer@0.2.3")));
        let both = &["scorer@0.2.0", "predicate@0.2.0", "allocator@0.2.0"];
        assert_eq!(others(both), (full("allocator@0.2.0"), full("scorer@0.2.0")));
        assert_eq!(others(&["predicate@0.2.0", "allocator@0.3.0", "scorer@0.2.1"]), (None, None));
        assert_eq!(others(&["predicate@0.1.1", "allocator@0.1.1", "scorer@0.1.1"]), (None, None));
    }

    /// A component with one section of types, which has this many and this content.
    fn with_types(count: usize, types: &[u8]) -> Vec<u8> {
        let leb128 = |mut value: usize| {
            let mut bytes = Vec::new();
            while value >= 128 {
                bytes.push(u8::try_from(value % 128).unwrap() | 128);
                value /= 128;
            }
            bytes.push(u8::try_from(value).unwrap());
            bytes
        };
        let content = [leb128(count), types.to_vec()].concat();
        let header = b"\0asm\x0d\0\x01\0";
        [header.to_vec(), vec![7], leb128(content.len()), content].concat()
    }

    #[test]
    fn a_component_that_declares_too_much_is_refused_before_its_types_are_read() {
        let bools = |count: usize| with_types(count, &vec![0x7f; count]);
        assert!(Manifest::read(&bools(COMPONENT_DECLARATIONS)).is_ok());
        let error = Manifest::read(&bools(COMPONENT_DECLARATIONS + 1)).unwrap_err();
        assert!(matches!(error, LoadError::Declarations { found: 200_001, unit: "declarations", limit: 200_000 }));
        assert!(error.to_string().contains("has 200001 declarations of types"), "{error}");
        let error = Manifest::read(&with_types(1, &vec![0; COMPONENT_DECLARATION_BYTES])).unwrap_err();
        assert!(matches!(error, LoadError::Declarations { unit: "bytes", .. }), "{error}");
        // Those of all sections count.
        let half = with_types(COMPONENT_DECLARATIONS / 2, &vec![0x7f; COMPONENT_DECLARATIONS / 2]);
        let types = &half[8..];
        let twice = [&half[..], types].concat();
        assert!(Manifest::read(&twice).is_ok());
        assert!(matches!(
            Manifest::read(&[&twice[..], types].concat()),
            Err(LoadError::Declarations { unit: "declarations", .. })
        ));
    }

    #[test]
    fn a_body_that_is_not_valid_is_left_to_the_compiler() {
        let module = wat::parse_str("(component (core module (func (result i32) (i64.const 1))))").unwrap();
        assert!(Manifest::read(&module).unwrap().imports.is_empty());
        assert!(matches!(Manifest::read(&module[..module.len() - 2]), Err(LoadError::Compile(_))));
    }
}
