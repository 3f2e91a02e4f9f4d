//! Predicates in WebAssembly text, including code that no compiler emits. Start with [`Guest::healthy`], replace the part
//! that misbehaves, and build the [`Guest::component`].
//!
//! The parts follow the canonical ABI of the contract's world `guest`: `filter` gets the number of rows and returns the
//! address of a verdict. The template's functions write verdicts, so that a test contains only the part it replaces:
//!
//! | function | writes |
//! |---|---|
//! | `$fits_all` | `fits-all` |
//! | `$fits_none (status reasons count)` | `fits-none` with the list of reasons at that address |
//! | `$by_row (codes count failures count)` | `by-row` with these two lists |
//! | `$named (codes count failures count rows count)` | `named` with these three lists |
//! | `$failure (at status reasons count)` | a failure, 12 bytes, for a list |
//! | `$text (at text bytes)` | a text, 8 bytes, for a list |
//! | `$scores (at rows)` | `by-row` with the scores at that address, 8 bytes each |
//! | `$reject_odd (rows codes)` | the healthy guest's verdict, with its codes at the given address |

use std::sync::LazyLock;

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::abi::{AbiVariant, WasmType};
use wit_parser::{Resolve, WorldId, WorldItem, WorldKey};

/// The only reason of the healthy guest.
pub const ODD_ROW: &str = "the row is odd";

/// The address where the healthy guest writes its codes. [`Guest::filter`] bodies may use the memory from here to the end of
/// the first page.
pub const SCRATCH: u32 = 4096;

/// The address where `cabi_realloc` starts to allocate.
const HEAP: u32 = 65_536;

/// The contract, parsed once.
static CONTRACT: LazyLock<(Resolve, WorldId)> =
    LazyLock::new(|| parsed(include_str!("../../sdk/predicate/wit/predicate.wit")));

/// The last version of the contract 0.1.
static CONTRACT_0_1: LazyLock<(Resolve, WorldId)> =
    LazyLock::new(|| parsed(include_str!("../../sdk/predicate/build/tests/golden/contract-0.1.wit")));

fn parsed(text: &str) -> (Resolve, WorldId) {
    let mut resolve = Resolve::default();
    let package = resolve.push_source("predicate.wit", text).expect("the contract parses");
    let world = resolve.select_world(&[package], Some("guest")).expect("the contract has a world `guest`");
    (resolve, world)
}

/// The contract, and an interface of the guest's own with a resource.
static WITH_RESOURCE: LazyLock<(Resolve, WorldId)> = LazyLock::new(|| {
    let mut resolve = CONTRACT.0.clone();
    let text = "package test:leaky;
        interface things { resource thing; }
        world leaky { include nodesift:predicate/guest@0.2.0; export things; }";
    let package = resolve.push_source("leaky.wit", text).expect("the world parses");
    let world = resolve.select_world(&[package], Some("leaky")).expect("the world is there");
    (resolve, world)
});

/// The contract, with the export of scorers.
static WITH_SCORER: LazyLock<(Resolve, WorldId)> = LazyLock::new(|| {
    let mut resolve = CONTRACT.0.clone();
    let text = "package test:scoring;
        world scored { include nodesift:predicate/guest@0.2.0; include nodesift:predicate/scoring@0.2.0; }";
    let package = resolve.push_source("scored.wit", text).expect("the world parses");
    let world = resolve.select_world(&[package], Some("scored")).expect("the world is there");
    (resolve, world)
});

/// A function that the host offers to guests, as core WebAssembly imports it.
#[derive(Debug, Clone)]
pub struct HostFunction {
    /// The interface with its package and version.
    pub interface: String,
    /// Name of the function.
    pub name: String,
    /// The type of each parameter, `i32` or `i64`: values, and addresses in the guest's memory.
    pub params: Vec<&'static str>,
    /// The type of its value, `i32` or `i64`; `None` where the last parameter is the address for the result, or there is none.
    pub returns: Option<&'static str>,
}

/// Every function that the contract offers to guests.
///
/// # Panics
///
/// If a function has a parameter or a result that is neither an `i32` nor an `i64`.
pub fn host_functions() -> Vec<HostFunction> {
    functions_of(&CONTRACT)
}

fn functions_of((resolve, world): &(Resolve, WorldId)) -> Vec<HostFunction> {
    let mut functions = Vec::new();
    for (key, item) in &resolve.worlds[*world].imports {
        let (WorldKey::Interface(_), WorldItem::Interface { id, .. }) = (key, item) else { continue };
        let interface = resolve.id_of(*id).expect("a named interface");
        for (name, function) in &resolve.interfaces[*id].functions {
            let signature = resolve.wasm_signature(AbiVariant::GuestImport, function);
            let integer = |kind: &WasmType| match kind {
                WasmType::I32 | WasmType::Pointer | WasmType::Length => "i32",
                WasmType::I64 => "i64",
                other => panic!("{interface} {name} has a {other:?}"),
            };
            functions.push(HostFunction {
                interface: interface.clone(),
                name: name.clone(),
                params: signature.params.iter().map(integer).collect(),
                returns: signature.results.first().map(integer),
            });
        }
    }
    functions
}

/// A predicate, part by part, each as WebAssembly text.
#[derive(Debug, Clone)]
pub struct Guest {
    is_of_0_1: bool,
    has_resource: bool,
    imports: String,
    memory: String,
    definitions: String,
    realloc: String,
    describe: String,
    configure: String,
    filter: String,
    /// Its normalization, by the number of its name in the contract, and the body of `score`.
    scorer: Option<(u32, String)>,
}

impl HostFunction {
    /// Its type as core WebAssembly writes it.
    pub fn signature(&self) -> String {
        let result = self.returns.map(|returns| format!(" (result {returns})")).unwrap_or_default();
        format!("(param {}){result}", self.params.join(" "))
    }
}

impl Guest {
    /// A predicate that rejects the odd rows of a batch for the reason [`ODD_ROW`].
    pub fn healthy() -> Self {
        Self {
            is_of_0_1: false,
            has_resource: false,
            imports: String::new(),
            memory: r#"(memory (export "memory") 2)"#.to_owned(),
            definitions: String::new(),
            realloc: "(call $allocate (local.get $bytes) (local.get $align))".to_owned(),
            describe: "(i32.const 16)".to_owned(),
            configure: "(i32.const 48)".to_owned(),
            filter: format!("(call $reject_odd (local.get $rows) (i32.const {SCRATCH}))"),
            scorer: None,
        }
    }

    /// A predicate that reads `labels` labels of the pod, with keys of `bytes` bytes each.
    pub fn asking(bytes: u32, labels: u32) -> Self {
        Self::healthy()
            .imports(r#"(import "nodesift:predicate/pod-labels@0.2.0" "label" (func $label (param i32 i32 i32)))"#)
            .filter(format!(
                "(drop (memory.grow (i32.const 30)))
                 (loop $next
                   (i32.store (i32.const 131072) (local.get $i))
                   (call $label (i32.const 131072) (i32.const {bytes}) (i32.const 2064))
                   (local.set $i (i32.add (local.get $i) (i32.const 1)))
                   (br_if $next (i32.lt_u (local.get $i) (i32.const {labels}))))
                 (call $fits_all)"
            ))
    }

    /// Builds it for the last version of the contract 0.1. Its imports are those of that version.
    pub fn built_for_0_1(mut self) -> Self {
        self.is_of_0_1 = true;
        self
    }

    /// Every function that its contract offers.
    ///
    /// # Panics
    ///
    /// As [`host_functions`].
    pub fn host_functions(&self) -> Vec<HostFunction> {
        functions_of(if self.is_of_0_1 { &CONTRACT_0_1 } else { &CONTRACT })
    }

    /// Gives the guest a resource of its own, with `$new`, `$drop` and `$rep` for its handles, and this destructor, with `$value`.
    pub fn resource(mut self, destructor: &str) -> Self {
        self.has_resource = true;
        self.imports.push_str(
            r#"(import "[export]test:leaky/things" "[resource-new]thing" (func $new (param i32) (result i32)))
               (import "[export]test:leaky/things" "[resource-drop]thing" (func $drop (param i32)))
               (import "[export]test:leaky/things" "[resource-rep]thing" (func $rep (param i32) (result i32)))"#,
        );
        self.definitions
            .push_str(&format!(r#"(func (export "test:leaky/things#[dtor]thing") (param $value i32) {destructor})"#));
        self
    }

    /// Core imports: `(import "nodesift:predicate/pod-labels@0.2.0" "namespace" (func …))`.
    pub fn imports(mut self, imports: impl Into<String>) -> Self {
        self.imports = imports.into();
        self
    }

    /// The memories. The first one must be exported as `memory` and have at least two pages.
    pub fn memory(mut self, memory: impl Into<String>) -> Self {
        self.memory = memory.into();
        self
    }

    /// More functions, globals, tables, data, or a start function.
    pub fn definitions(mut self, definitions: impl Into<String>) -> Self {
        self.definitions = definitions.into();
        self
    }

    /// The body of `cabi_realloc`, with `$bytes` and `$align`; the host calls it for every list that it passes.
    pub fn realloc(mut self, body: impl Into<String>) -> Self {
        self.realloc = body.into();
        self
    }

    /// The body of `describe`, which returns the address of a descriptor.
    pub fn describe(mut self, body: impl Into<String>) -> Self {
        self.describe = body.into();
        self
    }

    /// The body of `configure`, with `$args` and `$args_bytes`, which returns the address of a `result`. That of the healthy
    /// guest is at 48; [`Self::refusal`] makes one that returns an error.
    pub fn configure(mut self, body: impl Into<String>) -> Self {
        self.configure = body.into();
        self
    }

    /// The body of `filter`, with `$rows` and the locals `$i` and `$j`, which returns the address of a verdict.
    pub fn filter(mut self, body: impl Into<String>) -> Self {
        self.filter = body.into();
        self
    }

    /// Exports `scorer`: the number of its normalization, 0 for none, and the body of `score`, with `$rows` and the local `$i`, which
    /// returns the address of scores.
    pub fn scorer(mut self, normalization: u32, score: impl Into<String>) -> Self {
        self.scorer = Some((normalization, score.into()));
        self
    }

    /// A `configure` that returns this error text.
    pub fn refusal(self, text: &str) -> Self {
        let configure = format!(
            "(i32.store8 (i32.const 48) (i32.const 1))
             (call $text (i32.const 52) (i32.const {SCRATCH}) (i32.const {}))
             (i32.const 48)",
            text.len()
        );
        self.definitions(format!("(data (i32.const {SCRATCH}) {text:?})")).configure(configure)
    }

    /// Text of the core module.
    pub fn wat(&self) -> String {
        let Self {
            is_of_0_1,
            has_resource: _,
            imports,
            memory,
            definitions,
            realloc,
            describe,
            configure,
            filter,
            scorer,
        } = self;
        let scorer = scorer.as_ref().map_or_else(String::new, |(normalization, score)| {
            format!(
                r#"(func $scores (param $scores i32) (param $rows i32) (result i32)
    (i32.store (i32.const 224) (i32.const 1))
    (call $text (i32.const 228) (local.get $scores) (local.get $rows))
    (i32.const 224))
  (func (export "nodesift:predicate/scorer@0.2.0#normalize-by") (result i32) (i32.const {normalization}))
  (func (export "nodesift:predicate/scorer@0.2.0#score") (param $rows i32) (result i32) (local $i i32)
    {score})"#
            )
        });
        let version = if *is_of_0_1 { "0.1.1" } else { "0.2.0" };
        format!(
            r#"(module
  {imports}
  {memory}
  (global $heap (mut i32) (i32.const {HEAP}))
  (data (i32.const 16) "\80\00\00\00\05\00\00\00\90\00\00\00\05\00\00\00\a0\00\00\00\0c\00\00\00")
  (data (i32.const 112) "\b0\00\00\00\0e\00\00\00")
  (data (i32.const 128) "guest")
  (data (i32.const 144) "0.0.1")
  (data (i32.const 160) "a test guest")
  (data (i32.const 176) "{ODD_ROW}")

  (func $fits_all (result i32)
    (i32.store8 (i32.const 64) (i32.const 0))
    (i32.const 64))
  (func $fits_none (param $status i32) (param $reasons i32) (param $count i32) (result i32)
    (i32.store8 (i32.const 64) (i32.const 1))
    (call $failure (i32.const 68) (local.get $status) (local.get $reasons) (local.get $count))
    (i32.const 64))
  (func $by_row (param $codes i32) (param $rows i32) (param $failures i32) (param $count i32) (result i32)
    (i32.store8 (i32.const 64) (i32.const 2))
    (call $text (i32.const 68) (local.get $codes) (local.get $rows))
    (call $text (i32.const 76) (local.get $failures) (local.get $count))
    (i32.const 64))
  (func $named (param $codes i32) (param $rows i32) (param $failures i32) (param $count i32)
    (param $named i32) (param $named_count i32) (result i32)
    (drop (call $by_row (local.get $codes) (local.get $rows) (local.get $failures) (local.get $count)))
    (i32.store8 (i32.const 64) (i32.const 3))
    (call $text (i32.const 84) (local.get $named) (local.get $named_count))
    (i32.const 64))
  (func $failure (param $at i32) (param $status i32) (param $reasons i32) (param $count i32)
    (i32.store8 (local.get $at) (local.get $status))
    (call $text (i32.add (local.get $at) (i32.const 4)) (local.get $reasons) (local.get $count)))
  (func $text (param $at i32) (param $text i32) (param $bytes i32)
    (i32.store (local.get $at) (local.get $text))
    (i32.store offset=4 (local.get $at) (local.get $bytes)))
  (func $reject_odd (param $rows i32) (param $codes i32) (result i32) (local $i i32)
    (call $failure (i32.const 96) (i32.const 0) (i32.const 112) (i32.const 1))
    (block $done (loop $row
      (br_if $done (i32.ge_u (local.get $i) (local.get $rows)))
      (i32.store16
        (i32.add (local.get $codes) (i32.shl (local.get $i) (i32.const 1)))
        (i32.and (local.get $i) (i32.const 1)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br $row)))
    (call $by_row (local.get $codes) (local.get $rows) (i32.const 96) (i32.const 1)))
  (func $allocate (param $bytes i32) (param $align i32) (result i32) (local $at i32)
    (local.set $at (i32.and
      (i32.add (global.get $heap) (i32.sub (local.get $align) (i32.const 1)))
      (i32.sub (i32.const 0) (local.get $align))))
    (global.set $heap (i32.add (local.get $at) (local.get $bytes)))
    (block $enough (loop $grow
      (br_if $enough (i32.le_u (global.get $heap) (i32.shl (memory.size) (i32.const 16))))
      (br_if $grow (i32.ne (memory.grow (i32.const 1)) (i32.const -1)))
      (unreachable)))
    (local.get $at))

  {definitions}

  (func (export "cabi_realloc") (param i32 i32) (param $align i32) (param $bytes i32) (result i32)
    {realloc})
  (func (export "nodesift:predicate/predicate@{version}#describe") (result i32)
    {describe})
  (func (export "nodesift:predicate/predicate@{version}#configure") (param $args i32) (param $args_bytes i32) (result i32)
    {configure})
  (func (export "nodesift:predicate/predicate@{version}#filter") (param $rows i32) (result i32) (local $i i32) (local $j i32)
    {filter})
  {scorer}
)"#
        )
    }

    /// Encodes the core module as a component.
    pub fn component(&self) -> Vec<u8> {
        let text = self.wat();
        let mut module = wat::parse_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let (resolve, world) = match (self.is_of_0_1, self.has_resource, &self.scorer) {
            (true, ..) => &*CONTRACT_0_1,
            (false, true, _) => &*WITH_RESOURCE,
            (false, false, Some(_)) => &*WITH_SCORER,
            (false, false, None) => &*CONTRACT,
        };
        embed_component_metadata(&mut module, resolve, *world, StringEncoding::UTF8)
            .expect("the contract can be embedded");
        // Invalid parts must be refused by the host, not by the encoder.
        let encoder = ComponentEncoder::default().validate(false);
        let encoded = encoder.module(&module).and_then(|mut encoder| encoder.encode());
        encoded.unwrap_or_else(|error| panic!("{error:?}\n{text}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_healthy_guest_is_a_component_that_imports_nothing() {
        let component = Guest::healthy().component();
        assert!(component.starts_with(b"\0asm\x0d\0\x01\0"));
        let imports = [b"pod-labels".as_slice(), b"node-labels"];
        for import in imports {
            assert!(!component.windows(import.len()).any(|window| window == import));
        }
    }
}
