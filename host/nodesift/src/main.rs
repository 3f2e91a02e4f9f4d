//! The binary. All of it is in the library of the same name; here is only the choice of the allocator.

use std::process::ExitCode;

/// The sidecar allocates and frees millions of small objects of all ages. The system's allocator makes events take up to
/// half as long again.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    nodesift::main(std::env::args_os())
}
