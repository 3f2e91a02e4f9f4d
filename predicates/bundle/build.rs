//! Builds the built-in predicates, the examples and the device selector into components, and generates the file that `lib.rs`
//! includes.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use nodesift_guest::{BuildError, Built, LockFile};

/// The depth of `OUT_DIR` below cargo's target directory: `<target>/<profile>/build/<crate>/out`.
const OUT_DEPTH: usize = 4;

fn main() -> anyhow::Result<()> {
    let here = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let predicates = here.parent().context("the bundle has no parent directory")?;
    let root = predicates.parent().context("the predicates have no parent directory")?;
    for part in ["predicates", "sdk/predicate/wit", "sdk/predicate/rust", "Cargo.lock", "Cargo.toml"] {
        println!("cargo::rerun-if-changed={}", root.join(part).display());
    }

    // A component that the host calls by a contract of its own.
    let selector = predicates.join("cel");
    let builtins = crates(predicates, &[&here, &selector])?;
    let examples = crates(&predicates.join("examples"), &[])?;
    let folders = [std::slice::from_ref(&selector), &builtins, &examples].concat();
    // A target directory of its own: the one of the outer cargo is locked while that runs.
    let target = out.ancestors().nth(OUT_DEPTH).unwrap_or(&out).join("guest");
    // The modules are shipped, so they consist of what the repository says.
    let built = match nodesift_guest::build(&folders, Some(&target), LockFile::Fixed) {
        Err(BuildError::Toolchain(error)) => {
            // Printed by cargo as an error, so that the instructions are the last lines of the output.
            error.to_string().lines().for_each(|line| println!("cargo::error={line}"));
            return Ok(());
        }
        built => built?,
    };

    let mut source = String::new();
    let (selector, predicates) = built.split_first().context("the device selector was not built")?;
    constant(&mut source, selector, &out)?;
    let parts = predicates.split_at(builtins.len());
    list(
        &mut source,
        "BUILTINS",
        "The built-in predicates, in the order of their crates' names.",
        &parts.0.iter().collect::<Vec<_>>(),
        &out,
    )?;
    let (accounting, examples): (Vec<&Built>, Vec<&Built>) =
        parts.1.iter().partition(|built| built.accounting.is_some());
    list(&mut source, "EXAMPLES", "The example predicates, in the order of their crates' names.", &examples, &out)?;
    list(
        &mut source,
        "ACCOUNTING",
        "The examples of accounting, in the order of their crates' names.",
        &accounting,
        &out,
    )?;
    std::fs::write(out.join("modules.rs"), source)?;
    Ok(())
}

/// The directories of the crates in `folder` except `others`, sorted.
fn crates(folder: &Path, others: &[&PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut crates = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| format!("{} cannot be listed", folder.display()))? {
        let path = entry?.path();
        if !others.contains(&&path) && path.join("Cargo.toml").is_file() {
            crates.push(path);
        }
    }
    crates.sort();
    Ok(crates)
}

/// Writes the device selector to `out`, and a constant that is it to `source`.
fn constant(source: &mut String, built: &Built, out: &Path) -> anyhow::Result<()> {
    let path = out.join("cel.wasm");
    std::fs::write(&path, &built.component)?;
    writeln!(source, "/// The CEL of device selectors: no predicate, but a component that the host calls.")?;
    writeln!(source, "pub const CEL: Module = Module {{ name: \"cel\", bytes: include_bytes!({path:?}) }};")?;
    Ok(())
}

/// Writes the components to `out`, and a constant that lists them to `source`.
fn list(source: &mut String, constant: &str, doc: &str, built: &[&Built], out: &Path) -> anyhow::Result<()> {
    writeln!(source, "/// {doc}\npub const {constant}: &[Module] = &[")?;
    for built in built {
        let name = built.predicate.as_deref().or(built.accounting.as_deref()).with_context(|| {
            format!("{}'s Cargo.toml has no `predicate` or `accounting` in [package.metadata.nodesift]", built.package)
        })?;
        let path = out.join(format!("{name}.wasm"));
        std::fs::write(&path, &built.component)?;
        writeln!(source, "    Module {{ name: {name:?}, bytes: include_bytes!({path:?}) }},")?;
    }
    writeln!(source, "];")?;
    Ok(())
}
