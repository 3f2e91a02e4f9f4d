//! `nodesift-dev module`: what a module is, before a policy names it, and in its folder the other commands.
//!
//! ```text
//! project   new and build: projects of predicates, by `nodesift-module`
//! dev       all of it after every save
//! registry  push and pull, and inspection of what is in a registry
//! test      the cases of a module, run by the built module; and for unit tests of an SDK
//!   cases     their files
//! check     whether a module does what a sidecar needs of it
//! bench     what a call of a module costs
//!   subject   the module that these two are about, and their questions
//!   growth    the cluster of a case, grown to the size of a real one
//! compile   machine code, ahead
//! wit       the contract as a package for other tools
//! call      a module over a cluster, without an engine
//! scoring   the scores of one that scores: normalized, and as a table
//! accounting  the same commands for modules that are no predicates, but say what pods take
//! ```
//!
//! Start at [`inspect`].

mod accounting;
mod bench;
mod call;
mod cases;
mod check;
mod compile;
mod dev;
mod growth;
mod project;
mod registry;
mod scoring;
mod subject;
mod test;
mod wit;
mod world;

use std::fmt::Write as _;
use std::path::Path;

use anyhow::anyhow;
use serde::Serialize;

use crate::args::ModuleInspectArgs;
pub(crate) use bench::bench;
pub(crate) use check::check;
pub(crate) use compile::compile;
pub(crate) use dev::{beside, dev};
use nodesift::cluster;
use nodesift::exit::Failure;
use nodesift::progress::during;
use nodesift::report::written;
use nodesift::terminal::{self, Paint, escaped, render, table};
use nodesift_policy::ModuleFile;
use nodesift_policy::limits::GUEST_MEMORY_BYTES_MAX;
use nodesift_registry::{Pulled, digest_text};
use nodesift_sandbox::limits::GUEST_MEMORY_BYTES;
use nodesift_sandbox::{Inspection, Interface, PACKAGE};
pub(crate) use project::{build, new};
pub(crate) use registry::{pull, push};
pub(crate) use test::{cases as print_cases, first_difference, test};
pub(crate) use wit::wit;

/// `nodesift-dev module inspect`. Of the module, nothing runs but `describe`.
///
/// # Errors
///
/// [`Failure::Data`] if the file cannot be read, is no predicate, or exceeds a limit of
/// loading; [`Failure::Unavailable`] if a registry does not give it.
pub(crate) fn inspect(args: &ModuleInspectArgs) -> anyhow::Result<()> {
    let name = args.file.display().to_string();
    // What cannot be read is told below.
    let read = ModuleFile::read(&args.file).ok();
    if let Some(document) = read.map_or(Ok(None), |file| accounting::Document::inspect(&args.file, &file))? {
        let table = || format!("{}\n", document.table(Paint::for_stdout()));
        return terminal::print(&escaped(&written(args.output, &document, table)?));
    }
    let (file, inspection, artifact) = match registry::named(&args.file, args.registry)? {
        Some(Pulled { artifact, component, signatures }) => {
            let file = ModuleFile { bytes: component };
            let inspection = inspected(&name, &file)?;
            let artifact = Artifact { manifest: digest_text(&artifact.digest()), signatures: signatures.len() };
            (file, inspection, Some(artifact))
        }
        None => {
            let (file, inspection) = read_file(&args.file)?;
            (file, inspection, None)
        }
    };
    let document = Document { artifact, ..Document::new(&name, &file, &inspection) };
    let table = || format!("{}\n", document.table(Paint::for_stdout()));
    terminal::print(&escaped(&written(args.output, &document, table)?))
}

/// Reads a module, and asks it what it is.
fn read_file(path: &Path) -> anyhow::Result<(ModuleFile, Inspection)> {
    let name = path.display().to_string();
    let file = ModuleFile::read(path);
    let file = file.map_err(|error| Failure::Data(anyhow::Error::new(error).context(name.clone())))?;
    let inspection = inspected(&name, &file)?;
    Ok((file, inspection))
}

fn inspected(name: &str, file: &ModuleFile) -> anyhow::Result<Inspection> {
    let runtime = cluster::runtime()?;
    // As much memory as a policy can grant: how much it needs is what is asked.
    let inspection = during(call::COMPILING, || runtime.inspect(&file.bytes, GUEST_MEMORY_BYTES_MAX));
    Ok(inspection.map_err(|error| Failure::Data(anyhow!("{name}: {error}")))?)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    file: &'a str,
    digest: String,
    /// Where it is in a registry.
    #[serde(skip_serializing_if = "Option::is_none")]
    artifact: Option<Artifact>,
    size_bytes: usize,
    name: &'a str,
    version: &'a str,
    summary: &'a str,
    /// The version of the contract that it was built for.
    contract: &'a str,
    /// Linear memory of an instance that has described itself.
    memory_bytes: usize,
    cluster_wide: bool,
    /// Whether it can be named under `spec.scores`.
    scores: bool,
    features: &'a [&'static str],
    /// The languages, tools and SDKs that made it, as it says.
    producers: &'a [String],
    imports: Vec<Import>,
}

/// A module's entry in a registry, beside the component.
#[derive(Serialize)]
struct Artifact {
    /// The digest of the manifest.
    manifest: String,
    /// Number of its signatures in the registry.
    signatures: usize,
}

#[derive(Serialize)]
struct Import {
    interface: &'static str,
    /// Facts that can be read through the interface.
    gives: String,
}

impl Import {
    fn new(interface: Interface) -> Self {
        let gives = interface.meaning().trim().trim_end_matches('.').to_owned();
        Self { interface: interface.name(), gives }
    }
}

/// The interfaces that a policy has to allow: those of facts.
fn allow(imports: &[Import]) -> String {
    let is_fact = |name: &&str| Interface::from_name(name).is_some_and(Interface::is_fact);
    let names: Vec<&str> = imports.iter().map(|import| import.interface).filter(is_fact).collect();
    format!("[{}]", names.join(", "))
}

/// Table of the imports, with the facts that can be read through each.
fn table_of(imports: &[Import], paint: Paint) -> String {
    if imports.is_empty() {
        return "it imports nothing: it can read no fact, and its verdict is always the same".into();
    }
    let mut rows = table(paint, &["IMPORTS", "WHAT IT CAN READ THEREBY"], &[]);
    imports.iter().for_each(|import| {
        rows.add_row([import.interface, import.gives.as_str()]);
    });
    render(&rows)
}

impl<'a> Document<'a> {
    fn new(file: &'a str, module: &ModuleFile, inspection: &'a Inspection) -> Self {
        Self {
            file,
            digest: module.digest(),
            artifact: None,
            size_bytes: module.bytes.len(),
            name: &inspection.descriptor.name,
            version: &inspection.descriptor.version,
            summary: &inspection.descriptor.summary,
            contract: &inspection.contract,
            memory_bytes: inspection.memory_bytes,
            cluster_wide: inspection.imports.iter().any(|interface| interface.is_cluster_wide()),
            scores: inspection.scores,
            features: &inspection.features,
            producers: &inspection.producers,
            imports: inspection.imports.iter().copied().map(Import::new).collect(),
        }
    }

    fn table(&self, paint: Paint) -> String {
        let list = |items: &[&str]| if items.is_empty() { "none".to_owned() } else { items.join(", ") };
        let kib = self.memory_bytes >> 10;
        let memory = match self.memory_bytes > GUEST_MEMORY_BYTES {
            true => format!("{kib} KiB: more than the {} MiB without limits.memory", GUEST_MEMORY_BYTES >> 20),
            false => format!("{kib} KiB"),
        };
        let evaluated = match self.cluster_wide {
            true => "over all nodes at once: what it reads of the cluster decides every node",
            false if self.scores => "node by node: a verdict or a score depends on its node alone",
            false => "node by node: a verdict depends on its node alone",
        };
        let mut out = String::new();
        for (name, value) in [
            ("name", self.name.to_owned()),
            ("version", self.version.to_owned()),
            ("summary", self.summary.to_owned()),
            ("file", self.file.to_owned()),
            ("size", format!("{} bytes", self.size_bytes)),
            ("digest", self.digest.clone()),
            ("contract", format!("{PACKAGE} {}", self.contract)),
            ("memory", memory),
            ("features", list(self.features)),
            ("made with", list(&self.producers.iter().map(String::as_str).collect::<Vec<_>>())),
            ("evaluated", evaluated.to_owned()),
        ] {
            // Writing to a String cannot fail.
            let _infallible = writeln!(out, "{name:<10} {value}");
        }
        if self.scores {
            let _infallible = writeln!(out, "{:<10} nodes: a policy names it under spec.scores", "scores");
        }
        if let Some(Artifact { manifest, signatures }) = &self.artifact {
            let _infallible = writeln!(out, "{:<10} {manifest}\n{:<10} {signatures}", "manifest", "signatures");
        }
        let _infallible = writeln!(out, "{:<10} {}", "allow", allow(&self.imports));
        out + "\n" + &table_of(&self.imports, paint)
    }
}
