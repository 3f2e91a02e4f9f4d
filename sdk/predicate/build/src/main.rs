//! `nodesift-guest`: builds a predicate crate into a component and prints its entry for a policy.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Parser, Subcommand};
use nodesift_guest::{Built, LockFile, component};

/// Builds predicate crates into components.
#[derive(Debug, Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Build one predicate crate; prints the component's path, size, digest and imports.
    Build {
        /// The directory of the crate.
        crate_dir: PathBuf,
        /// Where to write the component [default: <package>.wasm in the working directory].
        #[arg(short, long)]
        output: Option<PathBuf>,
        /// Cargo's target directory [default: guest in the workspace's target directory].
        #[arg(long)]
        target_dir: Option<PathBuf>,
        /// Fail where Cargo.lock does not name every dependency, instead of adding what is missing.
        #[arg(long)]
        locked: bool,
    },
}

fn main() -> anyhow::Result<()> {
    let Command::Build { crate_dir, output, target_dir, locked } = Cli::parse().command;
    let lock = if locked { LockFile::Fixed } else { LockFile::Updated };
    let target = target_dir.map(std::path::absolute).transpose()?;
    for built in nodesift_guest::build(&[crate_dir], target.as_deref(), lock)? {
        let path = output.clone().unwrap_or_else(|| PathBuf::from(format!("{}.wasm", built.package)));
        std::fs::write(&path, &built.component).with_context(|| format!("{} cannot be written", path.display()))?;
        std::io::stdout().write_all(describe(&built, &path)?.as_bytes())?;
    }
    Ok(())
}

/// Size, digest and imports of a component, and an entry for a policy.
fn describe(built: &Built, path: &Path) -> anyhow::Result<String> {
    let imports = component::imports(&built.component)?;
    let digest = component::digest(&built.component);
    // Interfaces without functions need no permission, and neither does what gives no facts.
    let facts = imports.iter().filter(|import| !import.functions.is_empty() && import.short_name() != "log");
    let allow: Vec<&str> = facts.map(component::Import::short_name).collect();
    let mut lines = vec![
        format!("path    {}", path.display()),
        format!("size    {} bytes", built.component.len()),
        format!("digest  {digest}"),
        String::from("imports"),
    ];
    for import in &imports {
        let functions = if import.functions.is_empty() { "types only".into() } else { import.functions.join(", ") };
        lines.push(format!("  {}: {functions}", import.interface));
    }
    let name = built.predicate.as_deref().unwrap_or(&built.package);
    lines.extend([
        String::new(),
        String::from("# in a policy, under spec.predicates:"),
        format!("- name: {name}"),
        String::from("  module:"),
        format!("    path: {}", std::path::absolute(path)?.display()),
        format!("    digest: {digest}"),
        format!("  allow: [{}]", allow.join(", ")),
    ]);
    Ok(lines.join("\n") + "\n")
}
