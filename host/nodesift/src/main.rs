//! The binary: all of it lives in the library of the same name.

use std::process::ExitCode;

/// Objects come and go by the million, small and of all ages: the system's allocator makes
/// events take up to half as long again.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    nodesift::main(std::env::args_os())
}
