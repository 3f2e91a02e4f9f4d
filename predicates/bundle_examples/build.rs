//! Builds the examples into components, and generates the file that `lib.rs` includes.

use std::path::PathBuf;

use anyhow::Context as _;
use nodesift_guest::Built;

#[path = "../bundle/build/listing.rs"]
mod listing;

fn main() -> anyhow::Result<()> {
    let here = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let predicates = here.parent().context("the examples have no parent directory")?;
    let root = predicates.parent().context("the predicates have no parent directory")?;
    for part in ["predicates/examples", "sdk/predicate/wit", "sdk/predicate/rust", "Cargo.lock", "Cargo.toml"] {
        println!("cargo::rerun-if-changed={}", root.join(part).display());
    }
    let examples = listing::crates(&predicates.join("examples"), &[])?;
    let Some(built) = listing::build(&examples, &out)? else { return Ok(()) };

    let mut source = String::new();
    let (accounting, examples): (Vec<&Built>, Vec<&Built>) = built.iter().partition(|built| built.accounting.is_some());
    listing::list(
        &mut source,
        "EXAMPLES",
        "The example predicates, in the order of their crates' names.",
        &examples,
        &out,
    )?;
    listing::list(
        &mut source,
        "ACCOUNTING",
        "The examples of accounting, in the order of their crates' names.",
        &accounting,
        &out,
    )?;
    std::fs::write(out.join("modules.rs"), source)?;
    Ok(())
}
