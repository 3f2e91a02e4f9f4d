//! Where a guest was when its call ended: the names of the innermost functions, from the names section of its modules. Start at
//! [`frames`].
//!
//! Names are the guest's, so what is made of them is bounded before it is put together.

use std::fmt::{self, Write as _};

use wasmtime::WasmBacktrace;

use crate::limits::{BACKTRACE_BYTES, FAULT_FRAMES};

/// Functions through which a language runtime ends a call, and those that this contract's bindings add: not where it went wrong.
const MACHINERY: [&str; 19] = [
    "__rust",
    "rust_panic",
    "rust_begin_unwind",
    "abort",
    "core::option::",
    "core::panicking",
    "core::result::",
    "core::slice::index::",
    "github.com_nodesift_nodesift_sdk_predicate_go",
    "nodesift:predicate/",
    "nodesift_predicate_",
    "nodesift_sdk::",
    "runtime.",
    "std::",
    "stderr_get_",
    "stdio_get_",
    "wasi_",
    "wasm_pc_f_loop",
    "wit_dylib_",
];

/// Functions of a C library through which a runtime writes its last words. Authors' names begin like them.
const LIBRARY: [&str; 2] = ["write", "writev"];

/// The innermost functions with a name, innermost first; none where the error has no backtrace, or the modules no names. Where only machinery
/// has names it is told too, unless the guest has said by itself where it was.
pub(super) fn frames(error: &wasmtime::Error, has_said: bool) -> Option<String> {
    let backtrace = error.downcast_ref::<WasmBacktrace>()?;
    if backtrace.frames().iter().all(|frame| frame.func_name().is_none()) {
        return None;
    }
    let mut text = Bounded(String::new());
    // An error says that the rest did not fit.
    let _ = write!(text, "{backtrace}");
    let mut names: Vec<&str> = text.0.lines().filter_map(name_of).collect();
    if has_said || !names.iter().all(|name| is_machinery(name)) {
        names.retain(|name| !is_machinery(name));
    }
    names.dedup();
    names.truncate(FAULT_FRAMES);
    (!names.is_empty()).then(|| names.join(" < "))
}

/// Whether a function is no author's.
fn is_machinery(name: &str) -> bool {
    let name = name.trim_start_matches('<');
    LIBRARY.contains(&name) || MACHINERY.iter().any(|known| name.starts_with(known))
}

/// The name of a function from a line of a backtrace: `    0:   0x12 - module!function`.
fn name_of(line: &str) -> Option<&str> {
    let (number, rest) = line.trim_start().split_once(':')?;
    let (_, name) = rest.split_once('!').filter(|_| number.parse::<usize>().is_ok())?;
    let is_named = !name.is_empty() && !name.starts_with("<wasm function");
    is_named.then(|| without_hash(name))
}

/// The name without the hash that Rust's compiler adds.
fn without_hash(name: &str) -> &str {
    match name.rsplit_once("::h") {
        Some((path, hash)) if hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => path,
        _ => name,
    }
}

/// A text of at most [`BACKTRACE_BYTES`] bytes.
struct Bounded(String);

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = BACKTRACE_BYTES - self.0.len();
        self.0.push_str(text.get(..text.floor_char_boundary(room)).unwrap_or_default());
        if text.len() > room { Err(fmt::Error) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_from_lines_and_nothing_else_is() {
        for (line, name) in [
            ("    0:   0x1c8 - guest.wasm!team::filter::h0123456789abcdef", Some("team::filter")),
            ("   12:   0x1c8 - <unknown>!spin", Some("spin")),
            ("    3: <unknown>!a!b", Some("a!b")),
            ("    1:   0x1c8 - <unknown>!<wasm function 7>", None),
            ("error while executing at wasm backtrace:", None),
            ("  x: a!b", None),
            ("", None),
        ] {
            assert_eq!(name_of(line), name, "{line}");
        }
    }

    #[test]
    fn machinery_is_known_by_the_beginnings_of_names() {
        for name in [
            "core::panicking::panic_fmt",
            "<std::io::Stderr as X>::write",
            "write",
            "stdio_get_write_stream",
            "wasi_end",
        ] {
            assert!(is_machinery(name), "{name}");
        }
        for name in ["team::filter", "main.filter", "filter", "write_verdict", "_PyEval_EvalFrameDefault"] {
            assert!(!is_machinery(name), "{name}");
        }
    }

    #[test]
    fn a_text_ends_at_its_limit_between_characters() {
        let mut text = Bounded(String::new());
        assert!(write!(text, "{}", "x".repeat(BACKTRACE_BYTES - 1)).is_ok());
        assert!(write!(text, "é").is_err());
        assert_eq!(text.0.len(), BACKTRACE_BYTES - 1);
    }
}
