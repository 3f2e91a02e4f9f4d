//! Build scripts of bundles: crates of a folder, built into components, as a constant in a generated file.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use nodesift_guest::{BuildError, Built, LockFile};

/// The depth of `OUT_DIR` below cargo's target directory: `<target>/<profile>/build/<crate>/out`.
const OUT_DEPTH: usize = 4;

/// Builds crates into components, in their order. Without a toolchain, prints what to install as errors of cargo and gives nothing.
pub(crate) fn build(folders: &[PathBuf], out: &Path) -> anyhow::Result<Option<Vec<Built>>> {
    // A target directory of its own: the one of the outer cargo is locked while that runs.
    let target = out.ancestors().nth(OUT_DEPTH).unwrap_or(out).join("guest");
    // The modules are shipped, so they consist of what the repository says.
    match nodesift_guest::build(folders, Some(&target), LockFile::Fixed) {
        Err(BuildError::Toolchain(error)) => {
            // Printed by cargo as an error, so that the instructions are the last lines of the output.
            error.to_string().lines().for_each(|line| println!("cargo::error={line}"));
            Ok(None)
        }
        built => Ok(Some(built?)),
    }
}

/// The directories of the crates in `folder` except `others`, sorted.
pub(crate) fn crates(folder: &Path, others: &[&PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
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

/// Writes the components to `out`, and a constant that lists them to `source`.
pub(crate) fn list(source: &mut String, constant: &str, doc: &str, built: &[&Built], out: &Path) -> anyhow::Result<()> {
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

/// Writes components to `out`, and the constant that lists them as scorers to `source`. The file of a component that is a predicate too is
/// that of the predicate.
#[allow(dead_code, reason = "only one of the bundles has scorers")]
pub(crate) fn scorers(source: &mut String, built: &[&Built], out: &Path) -> anyhow::Result<()> {
    writeln!(
        source,
        "/// The built-in scorers, in the order of their crates' names.\npub const SCORERS: &[Module] = &["
    )?;
    for built in built {
        let name = built.scorer.as_deref().with_context(|| format!("{} is no scorer", built.package))?;
        let path = match &built.predicate {
            Some(predicate) => out.join(format!("{predicate}.wasm")),
            None => out.join(format!("{name}.score.wasm")),
        };
        std::fs::write(&path, &built.component)?;
        writeln!(source, "    Module {{ name: {name:?}, bytes: include_bytes!({path:?}) }},")?;
    }
    writeln!(source, "];")?;
    Ok(())
}
