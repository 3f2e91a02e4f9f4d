//! `nodesift-dev module wit`: the contract as a WIT package, in text and in its binary form. Start at [`wit`](fn@wit).

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context as _;
use nodesift_module::contract;

use crate::args::ModuleWitArgs;
use nodesift::exit::Failure;
use nodesift::terminal::{self, escaped};

/// `nodesift-dev module wit`. Files of these names are replaced.
///
/// # Errors
///
/// [`Failure::Files`] if a file cannot be written.
pub(crate) fn wit(args: &ModuleWitArgs) -> anyhow::Result<()> {
    let package = contract::package()?;
    let stem = format!("{}-{}", contract::PACKAGE.replace(':', "-"), contract::version());
    let mut text = format!("{}@{}\n", contract::PACKAGE, contract::version());
    for (ending, bytes) in [("wit", contract::WIT.as_bytes()), ("wasm", package.as_slice())] {
        let path = args.folder.join(format!("{stem}.{ending}"));
        write(&path, bytes)?;
        let _infallible = writeln!(text, "  {}", path.display());
    }
    terminal::print(&escaped(&text))
}

fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let written = std::fs::write(path, bytes).with_context(|| path.display().to_string());
    written.map_err(|error| Failure::Files(error).into())
}
