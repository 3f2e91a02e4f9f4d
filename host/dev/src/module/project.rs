//! `nodesift-dev module new` and `nodesift-dev module build`: arguments → `nodesift-module` → what is printed.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use nodesift_module::{BuildError, Built, Kind, NewError};
use nodesift_policy::ModuleFile;
use nodesift_sandbox::Interface;
use nodesift_sandbox::accounting::inspect_accounting;
use serde::Serialize;

use super::{Import, accounting, allow, table_of, written};
use crate::args::{Format, ModuleBuildArgs, ModuleNewArgs};
use nodesift::exit::Failure;
use nodesift::terminal::{self, Paint, escaped};

/// `nodesift-dev module new`.
///
/// # Errors
///
/// [`Failure::Usage`] if the name is none for a project, [`Failure::Files`] if a file cannot be written.
pub(crate) fn new(args: &ModuleNewArgs) -> anyhow::Result<()> {
    let created =
        nodesift_module::new(&args.folder, args.kind(), args.lang, &args.sdk).map_err(|error| match error {
            NewError::Name(_) | NewError::Exists(_) | NewError::Language { .. } => Failure::Usage(error.to_string()),
            NewError::Sdk(..) | NewError::Write(..) => Failure::Files(anyhow::Error::new(error)),
        })?;
    let folder = created.folder.display();
    let mut text = format!("{folder}: {} in {}\n", what(args.kind()), args.lang);
    for file in &created.files {
        let _infallible = writeln!(text, "  {file}");
    }
    let _infallible = writeln!(text, "\nnext\n  cd {folder}");
    for command in created.test_commands.iter().chain(&["nodesift-dev module build", "nodesift-dev module test"]) {
        let _infallible = writeln!(text, "  {command}");
    }
    if args.kind() != Kind::Accounting {
        text += "  nodesift serve --sample --policy policy.yaml\n";
    }
    terminal::print(&escaped(&text))
}

/// A kind, in words.
fn what(kind: Kind) -> &'static str {
    match kind {
        Kind::Predicate => "a predicate",
        Kind::Scorer => "a scorer",
        Kind::Accounting => "an accounting module",
    }
}

/// `nodesift-dev module build`.
///
/// # Errors
///
/// [`Failure::Data`] if the project cannot be built, [`Failure::Files`] if the module cannot be written.
pub(crate) fn build(args: &ModuleBuildArgs) -> anyhow::Result<()> {
    let mut tell = |step: &str| terminal::note(&format!("{step} …"));
    let built = nodesift_module::build(&args.folder, args.lang, &mut tell).map_err(|error| match error {
        BuildError::Folder(..) | BuildError::File(..) => Failure::Files(anyhow::Error::new(error)),
        other => Failure::Data(anyhow::Error::new(other)),
    })?;
    let path = args.output.clone().unwrap_or_else(|| module_file(&args.folder, &built.component));
    write_whole(&path, &built.component).map_err(|error| Failure::Files(error.context(path.display().to_string())))?;
    if let Some(document) = accounting::Document::inspect(&path, &ModuleFile { bytes: built.component.clone() })? {
        let table = || format!("{}\n", document.table(Paint::for_stdout()));
        return terminal::print(&escaped(&written(args.format, &document, table)?));
    }
    let document = Document::new(&path, &built)?;
    let text = match args.format {
        Format::Table => document.table(Paint::for_stdout()),
        Format::Json => format!("{}\n", serde_json::to_string_pretty(&document)?),
        Format::Jsonl => format!("{}\n", serde_json::to_string(&document)?),
        Format::Yaml => serde_saphyr::to_string(&document)?,
    };
    terminal::print(&escaped(&text))
}

/// The file of a project's module, by the kind of the module.
pub(super) fn module_file(folder: &Path, component: &[u8]) -> PathBuf {
    let kind = if inspect_accounting(component).is_some() { Kind::Accounting } else { Kind::Predicate };
    folder.join(kind.module()).with_extension("wasm")
}

/// Replaces the file as a whole: a sidecar that follows it never reads half a module.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let beside = PathBuf::from(beside);
    std::fs::write(&beside, bytes)?;
    Ok(std::fs::rename(&beside, path)?)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    file: String,
    language: &'static str,
    size_bytes: usize,
    digest: &'a str,
    imports: Vec<Import>,
    steps: Vec<Step>,
}

#[derive(Serialize)]
struct Step {
    name: &'static str,
    seconds: f64,
}

impl<'a> Document<'a> {
    fn new(path: &Path, built: &'a Built) -> anyhow::Result<Self> {
        let mut imports = Vec::new();
        // Interfaces without functions have only types.
        for import in built.imports.iter().filter(|import| !import.functions.is_empty()) {
            let interface = Interface::from_name(import.short_name());
            let unknown =
                || Failure::Data(anyhow!("the module imports {}, which this host does not have", import.interface));
            imports.push(Import::new(interface.ok_or_else(unknown)?));
        }
        let steps = built.steps.iter().map(|step| Step { name: step.name, seconds: step.took.as_secs_f64() }).collect();
        Ok(Self {
            file: path.display().to_string(),
            language: built.language.name(),
            size_bytes: built.component.len(),
            digest: &built.digest,
            imports,
            steps,
        })
    }

    fn table(&self, paint: Paint) -> String {
        let took: Vec<String> = self.steps.iter().map(|step| format!("{} {:.1} s", step.name, step.seconds)).collect();
        let mut out = String::new();
        for (name, value) in [
            ("module", self.file.clone()),
            ("language", self.language.to_owned()),
            ("size", format!("{} bytes", self.size_bytes)),
            ("digest", self.digest.to_owned()),
            ("took", took.join(", ")),
            ("allow", allow(&self.imports)),
        ] {
            let _infallible = writeln!(out, "{name:<10} {value}");
        }
        format!("{out}\n{}\n", table_of(&self.imports, paint))
    }
}
