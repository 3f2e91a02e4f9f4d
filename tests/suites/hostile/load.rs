//! Components that are refused before any of their code runs: invalid bytes, imports that the contract does not have, imports
//! that the policy does not allow.

use std::time::Duration;

use nodesift_sandbox::{Grants, Interface, LoadError, Minor};
use nodesift_tests::guest::{Guest, HostFunction};
use nodesift_tests::machine::beside_others;
use nodesift_tests::timing;

use crate::arena::{
    ROWS, RUNTIME, call, default_grants, grants, healthy_answers_are_right, load, odd_rows_rejected, refused, sections,
    timed,
};

/// Truncations of a component, spread over its length.
const CUTS: usize = 1_000;

/// Components with one bit flipped.
const FLIPS: usize = 1_500;

/// Limit on the time to refuse a small invalid component.
const REFUSAL: Duration = Duration::from_secs(2);

const LABELS: &str = r#"(import "nodesift:predicate/pod-labels@0.2.0" "namespace" (func $namespace (param i32)))"#;

/// A component that exports nothing and imports the given instances.
fn importing(imports: &str) -> Vec<u8> {
    wat::parse_str(format!("(component {imports})")).unwrap()
}

/// A component with an export `predicate` of this version with these functions.
fn exporting(version: &str, functions: &str) -> Vec<u8> {
    let text = format!(
        r#"(component
          (core module $m (func (export "f") (result i32) (i32.const 0)))
          (core instance $i (instantiate $m))
          (func $f (result u32) (canon lift (core func $i "f")))
          (instance $predicate {functions})
          (export "nodesift:predicate/predicate@{version}" (instance $predicate)))"#
    );
    wat::parse_str(text).unwrap()
}

#[test]
fn h14_imports_that_are_not_of_the_contract_are_refused_and_all_named() {
    let _beside = beside_others();
    let nothing = r#"(instance (export "f" (func)))"#;
    let names = [
        "wasi:filesystem/types@0.2.0",
        "wasi:sockets/tcp@0.2.0",
        "wasi:clocks/wall-clock@0.2.0",
        "wasi:random/random@0.2.0",
        "wasi:cli/environment@0.2.0",
        "wasi:http/outgoing-handler@0.2.0",
        "nodesift:predicate/pod-secrets@0.2.0",
        "nodesift:predicate/predicate@0.2.0",
        "acme:own/thing",
    ];
    let imports: String = names.iter().map(|name| format!("(import {name:?} {nothing}) ")).collect();
    let error = refused(&importing(&imports), grants()).to_string();
    for name in names {
        assert!(error.contains(name), "{name} is not in: {error}");
    }
    for name in names {
        let error = refused(&importing(&format!("(import {name:?} {nothing})")), grants());
        assert!(matches!(error, LoadError::UnknownImports(_)), "{error}");
    }
}

#[test]
fn h14_a_function_that_a_known_interface_does_not_have_is_refused() {
    let _beside = beside_others();
    let import = r#"(import "nodesift:predicate/pod-labels@0.2.0" (instance (export "all" (func (result string)))))"#;
    let error = refused(&importing(import), grants());
    assert!(matches!(error, LoadError::Contract(_)), "{error}");
    assert!(error.to_string().contains("all"), "{error}");
}

#[test]
fn h14_a_known_function_of_another_type_is_refused() {
    let _beside = beside_others();
    let import =
        r#"(import "nodesift:predicate/pod-labels@0.2.0" (instance (export "namespace" (func (result u32)))))"#;
    let error = refused(&importing(import), grants());
    assert!(matches!(error, LoadError::Contract(_)), "{error}");
}

#[test]
fn h14_a_function_imported_by_itself_is_refused() {
    let _beside = beside_others();
    let error = refused(&importing(r#"(import "namespace" (func (result string)))"#), grants());
    assert!(matches!(error, LoadError::UnknownImports(_)), "{error}");
}

#[test]
fn h15_other_versions_of_the_contract_are_refused_with_both_named() {
    let _beside = beside_others();
    for version in ["0.3.0", "1.0.0", "0.0.1"] {
        let error = refused(&exporting(version, r#"(export "filter" (func $f))"#), grants());
        assert!(matches!(error, LoadError::ContractVersion { .. }), "{error}");
        let error = error.to_string();
        for named in [version, "0.1.1", "0.2.0"] {
            assert!(error.contains(named), "{named}: {error}");
        }

        let import = format!(r#"(import "nodesift:predicate/pod-labels@{version}" (instance (export "f" (func))))"#);
        let error = refused(&importing(&import), grants()).to_string();
        assert!(error.contains(version) && error.contains(nodesift_sandbox::VERSION), "{error}");
    }
}

/// Functions that 0.2 has added do not matter to a component of 0.1, and all others have the types that they had.
#[test]
fn a_component_that_imports_every_function_of_the_contract_0_1_loads() {
    let _beside = beside_others();
    let guest = Guest::healthy().built_for_0_1();
    let functions = guest.host_functions();
    let imports: String = functions
        .iter()
        .map(|function| {
            let HostFunction { interface, name, .. } = function;
            format!("(import {interface:?} {name:?} (func {}))", function.signature())
        })
        .collect();
    let component = guest.imports(imports).component();
    let module = load(&component, grants());
    let of_0_1: Vec<Interface> = Interface::ALL.into_iter().filter(|fact| fact.since() == Minor::V0_1).collect();
    assert_eq!(module.imports(), of_0_1, "of {} functions", functions.len());
    assert_eq!(call(&module), Ok(odd_rows_rejected(ROWS)));
    let inspection = RUNTIME.inspect(&component, grants().memory_bytes).unwrap();
    assert_eq!(inspection.contract, "0.1.1");
}

#[test]
fn an_interface_that_a_version_does_not_have_is_refused_under_that_version() {
    let _beside = beside_others();
    let added = Interface::ALL.into_iter().filter(|interface| interface.since() > Minor::V0_1);
    for interface in added {
        let import =
            format!(r#"(import "nodesift:predicate/{}@0.1.1" (instance (export "f" (func))))"#, interface.name());
        let error = refused(&importing(&import), grants());
        assert!(matches!(error, LoadError::UnknownImports(_)), "{error}");
    }
}

#[test]
fn h15_exports_that_are_missing_or_of_another_type_are_refused() {
    let _beside = beside_others();
    let functions = ["describe", "configure", "filter"];
    for missing in functions {
        let exports: String = functions
            .iter()
            .filter(|name| **name != missing)
            .map(|name| format!("(export {name:?} (func $f)) "))
            .collect();
        let error = refused(&exporting("0.2.0", &exports), grants());
        assert!(matches!(error, LoadError::Contract(_)), "{error}");
        assert!(error.to_string().contains(missing), "{error}");
    }
    let exports: String = functions.iter().map(|name| format!("(export {name:?} (func $f)) ")).collect();
    let error = refused(&exporting("0.2.0", &exports), grants());
    assert!(matches!(error, LoadError::Contract(_)), "wrong types: {error}");
    let error = refused(&importing(""), grants());
    assert!(matches!(error, LoadError::Contract(_)), "no export: {error}");
}

#[test]
fn what_the_policy_does_not_allow_is_refused_by_name() {
    let _beside = beside_others();
    let component = Guest::healthy().imports(LABELS).filter("(call $namespace (i32.const 4096)) (call $fits_all)");
    let component = component.component();
    let allowing = |allow: &[Interface]| Grants { allow: Some(allow.to_vec()), ..grants() };
    for forbidding in [allowing(&[]), allowing(&[Interface::NodeLabels, Interface::PodPlacement])] {
        match refused(&component, forbidding) {
            LoadError::ForbiddenImports(names) => assert_eq!(names, ["pod-labels"]),
            other => panic!("{other}"),
        }
    }
    for granting in [grants(), allowing(&[Interface::PodLabels]), allowing(&Interface::ALL)] {
        let module = load(&component, granting);
        assert_eq!(module.imports(), [Interface::PodLabels]);
        assert!(call(&module).is_ok());
    }
}

#[test]
fn h16_what_is_no_component_is_refused_in_words() {
    let _beside = beside_others();
    let core = wat::parse_str("(module)").unwrap();
    for (bytes, named) in [
        (b"".as_slice(), "empty"),
        (core.as_slice(), "core"),
        (b"\0asm", "not a WebAssembly"),
        (b"(component)", "not a WebAssembly"),
        (b"apiVersion: v1", "not a WebAssembly"),
        (&[0xff; 4096], "not a WebAssembly"),
    ] {
        let error = refused(bytes, grants());
        assert!(matches!(error, LoadError::NotAComponent(_)), "{error}");
        assert!(error.to_string().contains(named), "{named}: {error}");
    }
}

#[test]
fn h18_precompiled_code_is_refused_by_its_magic() {
    let _beside = beside_others();
    // Machine code compiled by wasmtime is an ELF file, like the executable of this test.
    let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let error = refused(own.get(..65_536).unwrap(), grants());
    assert!(error.to_string().contains("machine code"), "{error}");
}

#[test]
fn h16_a_component_that_is_cut_anywhere_is_refused() {
    let _beside = beside_others();
    let component = Guest::healthy().imports(LABELS).filter("(call $namespace (i32.const 4096)) (call $fits_all)");
    let component = component.component();
    let sections = sections(&component);
    let ends: Vec<usize> = sections.iter().map(|(_, end)| *end).collect();
    let needed = sections.iter().rev().find(|(id, _)| *id != 0).unwrap().1;
    assert!(needed > component.len() / 2, "{needed} of {} bytes are no custom sections", component.len());
    let step = component.len().div_ceil(CUTS);
    let mut slowest = Duration::ZERO;
    for cut in (0..component.len()).step_by(step) {
        let (outcome, time) = timed(|| RUNTIME.load(component.get(..cut).unwrap(), grants()).map(drop));
        // Without custom sections at its end it is as good as before.
        let is_whole = cut >= needed && ends.contains(&cut);
        assert_eq!(outcome.is_err(), !is_whole, "cut at {cut} of {}", component.len());
        slowest = slowest.max(time);
    }
    timing::at_most("the refusal of a component that is cut", slowest, REFUSAL);
    healthy_answers_are_right();
}

#[test]
fn h16_a_component_with_a_flipped_bit_is_refused_or_contained() {
    let _beside = beside_others();
    let seed = nodesift_seed::seed();
    let mut random = fastrand::Rng::with_seed(seed);
    let component = Guest::healthy().component();
    let (mut refused, mut loaded) = (0, 0);
    for _ in 0..FLIPS {
        let mut flipped = component.clone();
        let (at, bit) = (random.usize(..flipped.len()), random.u32(..8));
        *flipped.get_mut(at).unwrap() ^= 1 << bit;
        match RUNTIME.load(&flipped, default_grants()) {
            Err(_) => refused += 1,
            Ok(module) => {
                loaded += 1;
                // Any verdict or fault is valid: the call must only end.
                let _ = call(&module);
            }
        }
    }
    println!("{refused} refused, {loaded} loaded");
    assert!(refused > 0 && loaded > 0, "some flips are refused and some load");
    healthy_answers_are_right();
}

#[test]
fn h26_proposals_that_are_not_needed_are_off() {
    let _beside = beside_others();
    for module in [
        "(module (memory 1 1 shared))",
        "(module (memory 1) (func (drop (i32.atomic.load (i32.const 0)))))",
        "(module (memory i64 1))",
        "(module (tag) (func (throw 0)))",
        "(module (type (struct)) (func (drop (struct.new 0))))",
        "(module (func (param v128) (result v128)
           (i8x16.relaxed_swizzle (local.get 0) (local.get 0))))",
    ] {
        let text = format!("(component (core {}", module.strip_prefix('(').unwrap()) + ")";
        let error = refused(&wat::parse_str(&text).unwrap(), grants());
        assert!(matches!(error, LoadError::Compile(_)), "{module}: {error}");
    }
}

#[test]
fn an_oversized_module_is_refused_unread() {
    let _beside = beside_others();
    let bytes = vec![0; nodesift_sandbox::limits::COMPONENT_BYTES + 1];
    assert!(matches!(refused(&bytes, grants()), LoadError::Size { .. }));
}
