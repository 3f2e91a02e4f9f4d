//! The binary `nodesift-dev`. All of it is in the library of the same name; here is only the choice of the allocator.

use std::process::ExitCode;

/// That of `nodesift`, for which benchmarks speak.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    nodesift_dev::main(std::env::args_os())
}
