//! Builds the predicates beside this crate, and the examples, into components, and writes what `lib.rs` includes.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use nodesift_guest::{BuildError, Built};

/// How far above `OUT_DIR` cargo's own folder for build products lies: `<products>/<profile>/build/<crate>/out`.
const PRODUCTS_ABOVE_OUT: usize = 4;

fn main() -> anyhow::Result<()> {
    let here = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let predicates = here.parent().context("the bundle lies beside the predicates")?;
    let root = predicates.parent().context("the predicates lie in the workspace")?;
    for part in ["predicates", "sdk/predicate/wit", "sdk/predicate/rust", "Cargo.lock", "Cargo.toml"] {
        println!("cargo::rerun-if-changed={}", root.join(part).display());
    }

    let builtins = crates(predicates, &here)?;
    let examples = crates(&predicates.join("examples"), &here)?;
    let folders = [builtins.as_slice(), &examples].concat();
    // Beside the products of the surrounding cargo, not among them: that folder is locked while it runs.
    let target = out.ancestors().nth(PRODUCTS_ABOVE_OUT).unwrap_or(&out).join("guest");
    let built = match nodesift_guest::build(&folders, Some(&target)) {
        Err(BuildError::Toolchain(error)) => {
            // What to do must be the last thing on the screen, so cargo says it, and nothing around it.
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

/// The folders of the crates in `folder`, sorted; the bundle is not one of them.
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

/// Writes the components, and a constant that lists them.
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
