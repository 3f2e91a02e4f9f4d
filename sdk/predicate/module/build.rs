//! Packs what new projects are made of: the templates, and the SDK of each language. Every pack is a JSON object of paths and texts,
//! compressed; `src/pack.rs` reads them.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use flate2::Compression;
use flate2::write::GzEncoder;
use toml::{Table, Value};

/// The folders of SDKs beside this crate, under the names of their packs. One that does not exist is an empty pack.
const SDKS: [&str; 5] = ["rust", "go", "js", "python", "c"];

/// Languages of templates, each of which can have a second template for scorers. Where there is none, its pack is empty.
const LANGUAGES: [&str; 6] = ["rust", "go", "js", "ts", "python", "c"];

/// Names of files and folders that tools leave in an SDK's folder.
const SKIPPED: [&str; 8] =
    ["target", "node_modules", "__pycache__", "dist", "Cargo.lock", "build", "tests", ".pytest_cache"];

/// The tables of a manifest in which `workspace = true` can stand for what the workspace says.
const INHERITING: [&str; 4] = ["dependencies", "dev-dependencies", "build-dependencies", "package"];

fn main() -> anyhow::Result<()> {
    let here = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let sdks = here.parent().context("the crate has no parent directory")?;
    let root = sdks.ancestors().nth(2).context("the crate is not in the workspace")?;
    for part in [&here.join("templates"), &sdks.join("wit"), &root.join("Cargo.toml"), &root.join("LICENSE")] {
        println!("cargo::rerun-if-changed={}", part.display());
    }
    for template in std::fs::read_dir(here.join("templates"))? {
        let template = template?;
        let name = template.file_name().into_string().ok().context("a template's name is not text")?;
        let mut files = BTreeMap::new();
        collect(&template.path(), "", &mut files)?;
        write(&out.join(format!("template-{name}.gz")), &files)?;
    }
    for language in LANGUAGES {
        let name = format!("{language}-score");
        if !here.join("templates").join(&name).is_dir() {
            write(&out.join(format!("template-{name}.gz")), &BTreeMap::new())?;
        }
    }
    for name in SDKS {
        let (folder, mut files) = (sdks.join(name), BTreeMap::new());
        // A folder that does not exist is named as well: the build runs again once it does.
        println!("cargo::rerun-if-changed={}", folder.display());
        if folder.is_dir() {
            collect(&folder, "", &mut files)?;
            files.entry("LICENSE".into()).or_insert(std::fs::read_to_string(root.join("LICENSE"))?);
        }
        if let Some(manifest) = files.get_mut("Cargo.toml") {
            *manifest = standalone(manifest, &std::fs::read_to_string(root.join("Cargo.toml"))?)?;
        }
        write(&out.join(format!("sdk-{name}.gz")), &files)?;
    }
    Ok(())
}

/// Adds the files below `folder`, by their paths there. Symbolic links are followed.
fn collect(folder: &Path, prefix: &str, files: &mut BTreeMap<String, String>) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(folder).with_context(|| format!("{} cannot be listed", folder.display()))? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).context("a file's name is not text")?;
        if SKIPPED.contains(&name) {
            continue;
        }
        let inside = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}/{name}") };
        if path.is_dir() {
            collect(&path, &inside, files)?;
        } else {
            let text =
                std::fs::read_to_string(&path).with_context(|| format!("{} is not readable text", path.display()))?;
            files.insert(inside, text);
        }
    }
    Ok(())
}

fn write(path: &Path, files: &BTreeMap<String, String>) -> anyhow::Result<()> {
    let mut gzip = GzEncoder::new(File::create(path)?, Compression::best());
    serde_json::to_writer(&mut gzip, files)?;
    gzip.finish()?;
    Ok(())
}

/// A manifest of the workspace that stands alone: what it inherits is filled in. Lints are the workspace's own affair.
fn standalone(manifest: &str, workspace: &str) -> anyhow::Result<String> {
    let mut manifest: Table = manifest.parse()?;
    let workspace: Table = workspace.parse()?;
    let shared = workspace.get("workspace").and_then(Value::as_table).context("the root manifest has no workspace")?;
    for name in INHERITING {
        let from = if name == "package" { "package" } else { "dependencies" };
        let Some(from) = shared.get(from).and_then(Value::as_table) else { continue };
        let Some(table) = manifest.get_mut(name).and_then(Value::as_table_mut) else { continue };
        for (key, value) in table.iter_mut() {
            let Some(own) = value.as_table_mut() else { continue };
            if own.remove("workspace").is_none() {
                continue;
            }
            let inherited = from.get(key).with_context(|| format!("the workspace has no {key}"))?;
            *value = merged(inherited, own);
        }
    }
    manifest.remove("lints");
    // Its tests read files of the workspace.
    manifest.remove("dev-dependencies");
    Ok(toml::to_string(&manifest)?)
}

/// Merges the workspace's entry for a dependency with the keys of the crate. Arrays, such as `features`, are concatenated; any other key of
/// the crate replaces the workspace's.
fn merged(inherited: &Value, own: &Table) -> Value {
    if own.is_empty() {
        return inherited.clone();
    }
    let mut merged = match inherited {
        Value::Table(table) => table.clone(),
        version => Table::from_iter([("version".to_owned(), version.clone())]),
    };
    for (key, value) in own {
        match (merged.get_mut(key), value) {
            (Some(Value::Array(features)), Value::Array(more)) => features.extend(more.iter().cloned()),
            _ => drop(merged.insert(key.clone(), value.clone())),
        }
    }
    Value::Table(merged)
}
