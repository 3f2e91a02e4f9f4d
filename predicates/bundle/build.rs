//! Builds the built-in predicates, the built-in scorers and the device selector into components, and generates the file that `lib.rs`
//! includes. A component can be predicate and scorer.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use nodesift_guest::Built;

#[path = "build/listing.rs"]
mod listing;
#[path = "build/scores.rs"]
mod scores;

fn main() -> anyhow::Result<()> {
    let here = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let predicates = here.parent().context("the bundle has no parent directory")?;
    let root = predicates.parent().context("the predicates have no parent directory")?;

    // A component that the host calls by a contract of its own.
    let selector = predicates.join("cel");
    let builtins = listing::crates(predicates, &[&here, &predicates.join("bundle_examples"), &selector])?;
    let watched = [
        "predicates/shared",
        "sdk/predicate/wit",
        "sdk/predicate/rust",
        "Cargo.lock",
        "Cargo.toml",
        "predicates/kubernetes.yaml",
    ];
    let folders = [std::slice::from_ref(&selector), &builtins].concat();
    for part in folders.iter().cloned().chain(watched.iter().map(|part| root.join(part))) {
        println!("cargo::rerun-if-changed={}", part.display());
    }
    let Some(built) = listing::build(&folders, &out)? else { return Ok(()) };

    let mut source = String::new();
    let (selector, builtins) = built.split_first().context("the device selector was not built")?;
    if let Some(nameless) = builtins.iter().find(|built| built.predicate.is_none() && built.scorer.is_none()) {
        anyhow::bail!(
            "{}'s Cargo.toml has no `predicate` or `scorer` in [package.metadata.nodesift]",
            nameless.package
        );
    }
    constant(&mut source, selector, &out)?;
    listing::list(
        &mut source,
        "BUILTINS",
        "The built-in predicates, in the order of their crates' names.",
        &builtins.iter().filter(|built| built.predicate.is_some()).collect::<Vec<_>>(),
        &out,
    )?;
    let scorers: Vec<_> = builtins.iter().filter(|built| built.scorer.is_some()).collect();
    listing::scorers(&mut source, &scorers, &out)?;
    let names: Vec<&str> = scorers.iter().filter_map(|built| built.scorer.as_deref()).collect();
    scores::check(&std::fs::read_to_string(predicates.join("kubernetes.yaml"))?, &names)?;
    std::fs::write(out.join("modules.rs"), source)?;
    Ok(())
}

/// Writes the device selector to `out`, and a constant that is it to `source`.
fn constant(source: &mut String, built: &Built, out: &Path) -> anyhow::Result<()> {
    let path = out.join("cel.wasm");
    std::fs::write(&path, &built.component)?;
    writeln!(source, "/// The CEL of device selectors: no predicate, but a component that the host calls.")?;
    writeln!(source, "pub const CEL: Module = Module {{ name: \"cel\", bytes: include_bytes!({path:?}) }};")?;
    Ok(())
}
