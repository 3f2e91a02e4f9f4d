//! Builds the built-in predicates and the examples into components, and generates the file that `lib.rs` includes.

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

    let builtins = crates(predicates, &here)?;
    let examples = crates(&predicates.join("examples"), &here)?;
    let folders = [builtins.as_slice(), &examples].concat();
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
    let parts = built.split_at(builtins.len());
    list(&mut source, "BUILTINS", "The built-in predicates, in the order of their crates' names.", parts.0, &out)?;
    list(&mut source, "EXAMPLES", "The example predicates, in the order of their crates' names.", parts.1, &out)?;
    std::fs::write(out.join("modules.rs"), source)?;
    Ok(())
}

/// The directories of the crates in `folder` except the bundle, sorted.
fn crates(folder: &Path, bundle: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut crates = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| format!("{} cannot be listed", folder.display()))? {
        let path = entry?.path();
        if path != bundle && path.join("Cargo.toml").is_file() {
            crates.push(path);
        }
    }
    crates.sort();
    Ok(crates)
}

/// Writes the components to `out`, and a constant that lists them to `source`.
fn list(source: &mut String, constant: &str, doc: &str, built: &[Built], out: &Path) -> anyhow::Result<()> {
    writeln!(source, "/// {doc}\npub const {constant}: &[Module] = &[")?;
    for built in built {
        let name = built.predicate.as_deref().with_context(|| {
            format!("{}'s Cargo.toml has no `predicate` in [package.metadata.nodesift]", built.package)
        })?;
        let path = out.join(format!("{name}.wasm"));
        std::fs::write(&path, &built.component)?;
        writeln!(source, "    Module {{ name: {name:?}, bytes: include_bytes!({path:?}) }},")?;
    }
    writeln!(source, "];")?;
    Ok(())
}
