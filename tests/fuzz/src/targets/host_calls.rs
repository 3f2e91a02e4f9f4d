//! Functions of the host, called by a guest with random arguments: an answer, or a trap, never a panic.
//!
//! An input is a list of calls: a byte for the function, four per argument. What follows the calls is the guest's memory, to
//! which arguments may point. A guest is made of it that makes the calls in this order.

use std::fmt::Write as _;
use std::sync::LazyLock;

use nodesift_sandbox::Interface;
use nodesift_tests::guest::{Guest, HostFunction, SCRATCH, host_functions};

use super::component_bytes::called;
use crate::Behaviour;

/// Calls of one guest.
const CALLS: usize = 8;

/// Words of the guest's memory that the input fills, from [`SCRATCH`].
const MEMORY_WORDS: u32 = 1024;

/// Bytes of an argument.
const WORD: usize = 4;

/// All functions that a guest can import.
static FUNCTIONS: LazyLock<Vec<HostFunction>> = LazyLock::new(|| {
    let is_served = |function: &HostFunction| {
        let interface = function.interface.split(['/', '@']).nth(1).and_then(Interface::from_name);
        interface.is_some_and(|interface| interface.functions().contains(&&*function.name))
    };
    host_functions().into_iter().filter(is_served).collect()
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
        let Some((arguments, rest)) = rest.split_at_checked(WORD * function.params.len()) else { break };
        left = rest;
        if !made.contains(&at) {
            import(&mut imports, at, function);
        }
        made.push(at);
        call(&mut body, at, function, arguments);
    }
    let memory: String = left.iter().take(WORD * MEMORY_WORDS as usize).fold(String::new(), |mut text, byte| {
        let _infallible = write!(text, "\\{byte:02x}");
        text
    });
    let guest = Guest::healthy()
        .imports(imports)
        .definitions(format!(r#"(data (i32.const {SCRATCH}) "{memory}")"#))
        .filter(format!("{body} (call $fits_all)"));
    let behaviour = called(&guest.component());
    Behaviour::new((made, behaviour))
}

fn import(imports: &mut String, at: usize, function: &HostFunction) {
    let HostFunction { interface, name, .. } = function;
    let _infallible = writeln!(imports, r#"(import "{interface}" "{name}" (func $f{at} {}))"#, function.signature());
}

fn call(body: &mut String, at: usize, function: &HostFunction, arguments: &[u8]) {
    let mut text = format!("(call $f{at}");
    for (kind, bytes) in function.params.iter().zip(arguments.chunks_exact(WORD)) {
        let _infallible = write!(text, " ({kind}.const {})", i32::from_le_bytes(bytes.try_into().unwrap_or_default()));
    }
    text.push(')');
    body.push_str(&if function.returns.is_some() { format!("(drop {text})") } else { text });
}

/// Calls whose arguments mostly point into the memory.
pub fn generate(random: &mut fastrand::Rng) -> Vec<u8> {
    let mut input = Vec::new();
    for _ in 0..random.usize(1..=CALLS) {
        let at = random.usize(..FUNCTIONS.len());
        input.push(u8::try_from(at).unwrap_or_default());
        for _ in &FUNCTIONS[at].params {
            let value = match random.u8(..8) {
                0 => random.u32(..),
                1 => u32::MAX,
                2 => 65_536 * random.u32(0..4),
                3 | 4 => random.u32(0..64),
                _ => SCRATCH + 4 * random.u32(0..MEMORY_WORDS),
            };
            input.extend(value.to_le_bytes());
        }
    }
    input.push(u8::MAX);
    for _ in 0..random.u32(..MEMORY_WORDS) {
        let word = match random.u8(..4) {
            0 => random.u32(..8),
            1 => SCRATCH + 4 * random.u32(..MEMORY_WORDS),
            2 => u32::from_le_bytes(*b"zone"),
            _ => random.u32(..),
        };
        input.extend(word.to_le_bytes());
    }
    input
}
