//! Inspection of a component without a policy: `describe` is the only function of it that runs, within the limits of loading.
//!
//! Start at [`Runtime::inspect`](crate::Runtime::inspect).

use wasmparser::{KnownCustom, Parser, Payload, ProducersSectionReader, Validator, WasmFeatures};

use crate::interface::Interface;
use crate::limits::PRODUCERS;
use crate::text::shorten;
use crate::wire::Descriptor;

/// Properties of a component: descriptor, contract, imports, memory, and the tools that built it.
#[derive(Debug, Clone)]
pub struct Inspection {
    /// Name, version and summary, each as one line of bounded length.
    pub descriptor: Descriptor,
    /// The version of the contract that it was built for.
    pub contract: String,
    /// The interfaces of which it imports at least one function.
    pub imports: Vec<Interface>,
    /// Whether it exports `scorer` beside `predicate`.
    pub scores: bool,
    /// Linear memory of an instance after `describe`, in bytes: it needs at least this.
    pub memory_bytes: usize,
    /// Extensions of WebAssembly 1.0 that its code uses, by their names.
    pub features: Vec<&'static str>,
    /// The languages, tools and SDKs that made it, each with its version, as its producers sections say; nothing checks them.
    pub producers: Vec<String>,
}

/// Extensions of WebAssembly 1.0, each with the flags without which it is not there.
const FEATURES: [(&str, WasmFeatures); 10] = [
    ("bulk memory", WasmFeatures::BULK_MEMORY.union(WasmFeatures::BULK_MEMORY_OPT)),
    ("exceptions", WasmFeatures::EXCEPTIONS),
    ("extended constants", WasmFeatures::EXTENDED_CONST),
    ("multiple memories", WasmFeatures::MULTI_MEMORY),
    ("multiple values", WasmFeatures::MULTI_VALUE),
    (
        "reference types",
        WasmFeatures::REFERENCE_TYPES
            .union(WasmFeatures::CALL_INDIRECT_OVERLONG)
            .union(WasmFeatures::FUNCTION_REFERENCES)
            .union(WasmFeatures::GC),
    ),
    ("saturating conversions", WasmFeatures::SATURATING_FLOAT_TO_INT),
    ("sign extension", WasmFeatures::SIGN_EXTENSION),
    ("SIMD", WasmFeatures::SIMD.union(WasmFeatures::RELAXED_SIMD)),
    ("tail calls", WasmFeatures::TAIL_CALL),
];

/// The extensions without which the code of a component is not valid. The component must have compiled.
pub(super) fn features(bytes: &[u8]) -> Vec<&'static str> {
    let is_valid = |features| Validator::new_with_features(features).validate_all(bytes).is_ok();
    let all = WasmFeatures::default();
    let none = FEATURES.iter().fold(all, |features, (_, flags)| features.difference(*flags));
    if is_valid(none) || !is_valid(all) {
        return Vec::new();
    }
    let is_used = |flags: WasmFeatures| !is_valid(all.difference(flags));
    FEATURES.iter().filter(|(_, flags)| is_used(*flags)).map(|(name, _)| *name).collect()
}

/// Reads the producers sections of a component and of everything nested in it: each name with its version, once and in order, at most
/// [`PRODUCERS`]. A section that cannot be parsed is skipped.
pub(super) fn producers(bytes: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    for payload in Parser::new(0).parse_all(bytes) {
        let Ok(Payload::CustomSection(section)) = payload else { continue };
        if let KnownCustom::Producers(fields) = section.as_known() {
            note_producers(fields, &mut found);
        }
    }
    found
}

fn note_producers(fields: ProducersSectionReader<'_>, found: &mut Vec<String>) {
    for value in fields.into_iter().flatten().flat_map(|field| field.values.into_iter().flatten()) {
        let text = shorten(format!("{} {}", value.name, value.version).trim());
        if found.len() < PRODUCERS && !found.contains(&text) {
            found.push(text);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn producers_are_told_once_whoever_says_so() {
        let section = r#"(@producers (language "Rust" "2024") (processed-by "rustc" "1.95") (sdk "nodesift" ""))"#;
        let text = format!("(component (core module {section}) (core module {section}))");
        let component = wat::parse_str(text).unwrap();
        assert_eq!(producers(&component), ["Rust 2024", "nodesift", "rustc 1.95"]);
        assert!(producers(&wat::parse_str("(component)").unwrap()).is_empty());
        // Damage is no panic.
        for cut in 0..component.len() {
            producers(&component[..cut]);
        }
        let many: String = (0..3 * PRODUCERS).map(|tool| format!(r#"(processed-by "t{tool}" "1")"#)).collect();
        let component = wat::parse_str(format!("(component (core module (@producers {many})))")).unwrap();
        assert_eq!(producers(&component).len(), PRODUCERS);
    }

    #[test]
    fn the_extensions_that_code_uses_are_named() {
        for (body, expected) in [
            ("(func)", &[][..]),
            ("(memory 1) (func (memory.fill (i32.const 0) (i32.const 0) (i32.const 1)))", &["bulk memory"]),
            ("(func (result v128) (v128.const i64x2 0 0))", &["SIMD"]),
            ("(memory 1) (memory 1)", &["multiple memories"]),
            ("(func (result i32 i32) (i32.const 0) (i32.const 0))", &["multiple values"]),
            ("(func (drop (i32.extend8_s (i32.const 0))))", &["sign extension"]),
            ("(func $f (return_call $f))", &["tail calls"]),
            ("(func (drop (i32.trunc_sat_f32_s (f32.const 0))))", &["saturating conversions"]),
            ("(func (drop (ref.null func)))", &["reference types"]),
            (
                "(memory 1) (func (memory.copy (i32.const 0) (i32.const 0) (i32.const 1)) (drop (v128.const i64x2 0 0)))",
                &["bulk memory", "SIMD"],
            ),
        ] {
            let component = wat::parse_str(format!("(component (core module {body}))")).unwrap();
            assert_eq!(features(&component), expected, "{body}");
        }
    }
}
