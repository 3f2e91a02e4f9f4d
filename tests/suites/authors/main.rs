//! `nodesift-dev` on files, as authors of predicates and developers of nodesift run it: modules inspected, tested, checked and measured,
//! questions recorded, benchmarks. It needs no other program beside it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]
#![allow(missing_docs, reason = "tests are named as sentences")]

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Once;

use nodesift_tests::workshop::Workshop;
use nodesift_tests::{compiled, sidecar};

mod accounting;
mod bench;
mod cases;
mod checks;
mod contract;
mod dev;
mod inspect;
mod mistakes;
mod sandbox;
mod scorers;

/// Path of the program `nodesift-dev`.
const PROGRAM: &str = env!("CARGO_BIN_EXE_nodesift-dev");

/// A folder in which the program is run.
fn new_workshop() -> Workshop {
    Workshop::new(command)
}

/// A command for the program, for which the built-in predicates are compiled already.
fn command() -> Command {
    let (program, cache) = (Path::new(PROGRAM), Path::new(env!("CARGO_TARGET_TMPDIR")));
    compiled::ahead(program, cache, nodesift_bundle::BUILTINS.iter().map(|builtin| (builtin.name, builtin.bytes)));
    share_standard_library(cache);
    sidecar::plain(program, cache)
}

/// Lets what is built with `cache` as its `XDG_CACHE_HOME` find the standard library that build scripts of this workspace have compiled for
/// wasm, as they do with Debian's toolchain. To compile it once more would take a minute, and the folder has tests of its own.
fn share_standard_library(cache: &Path) {
    static SHARED: Once = Once::new();
    SHARED.call_once(|| {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let users = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")));
        let Some(compiled) = users.map(|users| users.join("nodesift/wasm32-std")) else { return };
        let shared = cache.join("nodesift/wasm32-std");
        if compiled.is_dir() && shared.symlink_metadata().is_err() {
            symlink(compiled, shared).expect("a link to the standard library");
        }
    });
}
