//! Functions of the host, called by a guest with random arguments: an answer, or a trap, never a panic.
//!
//! An input is a list of calls: a byte for the function, eight per argument. What follows the calls is the guest's memory, to
//! which arguments may point. A guest is made of it that makes the calls in this order.

use std::fmt::Write as _;
use std::sync::LazyLock;

use nodesift_tests::guest::{Guest, SCRATCH};
use wit_parser::abi::{AbiVariant, WasmSignature, WasmType};
use wit_parser::{Resolve, WorldItem};

use super::component_bytes::called;
use crate::Behaviour;

/// Calls of one guest.
const CALLS: usize = 8;

/// Bytes of the guest's memory that the input fills, from [`SCRATCH`].
const MEMORY: usize = 4096;

/// A function of a fact interface.
struct Function {
    /// As core modules import it.
    interface: String,
    name: String,
    signature: WasmSignature,
}

/// All functions that a guest can import.
static FUNCTIONS: LazyLock<Vec<Function>> = LazyLock::new(|| {
    let mut resolve = Resolve::default();
    let text = include_str!("../../../../sdk/predicate/wit/predicate.wit");
    let package = resolve.push_source("predicate.wit", text).expect("the contract parses");
    let world = resolve.select_world(&[package], Some("guest")).expect("the contract has a world `guest`");
    let imports = &resolve.worlds[world].imports;
    let interfaces = imports.values().filter_map(|item| match item {
        WorldItem::Interface { id, .. } => Some(*id),
        _ => None,
    });
    let functions = interfaces.flat_map(|id| {
        let interface = resolve.id_of(id).expect("interfaces have names");
        let resolve = &resolve;
        resolve.interfaces[id].functions.values().map(move |function| Function {
            interface: interface.clone(),
            name: function.name.clone(),
            signature: resolve.wasm_signature(AbiVariant::GuestImport, function),
        })
    });
    functions.collect()
});

/// The guest of the input.
pub fn run(input: &[u8]) -> Behaviour {
    let mut left = input;
    let (mut imports, mut body, mut made) = (String::new(), String::new(), Vec::new());
    while made.len() < CALLS {
        let Some((choice, rest)) = left.split_first() else { break };
        let at = usize::from(*choice);
        let Some(function) = FUNCTIONS.get(at) else {
            left = rest;
            break;
        };
        let Some((arguments, rest)) = rest.split_at_checked(8 * function.signature.params.len()) else { break };
        left = rest;
        if !made.contains(&at) {
            import(&mut imports, at, function);
        }
        made.push(at);
        call(&mut body, at, function, arguments);
    }
    let memory: String = left.iter().take(MEMORY).fold(String::new(), |mut text, byte| {
        let _infallible = write!(text, "\\{byte:02x}");
        text
    });
    let guest = Guest::healthy()
        .imports(imports)
        .definitions(format!(r#"(data (i32.const {SCRATCH}) "{memory}")"#))
        .filter(format!("{body} (call $fits_all)"));
    let behaviour = called(&guest.component());
    Behaviour::of((made, behaviour))
}

fn import(imports: &mut String, at: usize, function: &Function) {
    let types = |types: &[WasmType]| types.iter().map(|kind| format!(" {}", name(*kind))).collect::<String>();
    let Function { interface, name, signature } = function;
    let results =
        if signature.results.is_empty() { String::new() } else { format!("(result{})", types(&signature.results)) };
    let _infallible = writeln!(
        imports,
        r#"(import "{interface}" "{name}" (func $f{at} (param{}) {results}))"#,
        types(&signature.params)
    );
}

fn call(body: &mut String, at: usize, function: &Function, arguments: &[u8]) {
    let mut text = format!("(call $f{at}");
    for (kind, bytes) in function.signature.params.iter().zip(arguments.chunks(8)) {
        let value = i64::from_le_bytes(bytes.try_into().unwrap_or_default());
        let _infallible = match name(*kind) {
            "i32" => write!(text, " (i32.const {})", i32::from_le_bytes(bytes[..4].try_into().unwrap_or_default())),
            "i64" => write!(text, " (i64.const {value})"),
            "f32" => write!(
                text,
                " (f32.reinterpret_i32 (i32.const {}))",
                i32::from_le_bytes(bytes[..4].try_into().unwrap_or_default())
            ),
            _ => write!(text, " (f64.reinterpret_i64 (i64.const {value}))"),
        };
    }
    text.push(')');
    for _ in &function.signature.results {
        text = format!("(drop {text})");
    }
    body.push_str(&text);
}

fn name(kind: WasmType) -> &'static str {
    match kind {
        WasmType::I32 | WasmType::Pointer | WasmType::Length => "i32",
        WasmType::I64 | WasmType::PointerOrI64 => "i64",
        WasmType::F32 => "f32",
        WasmType::F64 => "f64",
    }
}

/// Calls whose arguments mostly point into the memory.
pub fn generate(random: &mut fastrand::Rng) -> Vec<u8> {
    let mut input = Vec::new();
    for _ in 0..random.usize(1..=CALLS) {
        let at = random.usize(..FUNCTIONS.len());
        input.push(u8::try_from(at).unwrap_or_default());
        for _ in &FUNCTIONS[at].signature.params {
            let value = match random.u8(..8) {
                0 => random.i64(..),
                1 => -1,
                2 => i64::from(random.i32(..)),
                3 | 4 => random.i64(0..64),
                _ => i64::from(SCRATCH) + 4 * random.i64(0..MEMORY as i64 / 4),
            };
            input.extend(value.to_le_bytes());
        }
    }
    input.push(u8::MAX);
    for _ in 0..random.usize(..MEMORY / 4) {
        let word = match random.u8(..4) {
            0 => random.u32(..8),
            1 => SCRATCH + 4 * random.u32(..1024),
            2 => u32::from_le_bytes(*b"zone"),
            _ => random.u32(..),
        };
        input.extend(word.to_le_bytes());
    }
    input
}
