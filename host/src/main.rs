//! The binary: all of it lives in the library's [`nodesift::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    nodesift::cli::main(std::env::args_os())
}
