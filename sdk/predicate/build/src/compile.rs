//! Compiles predicate crates into core modules with one cargo. Start at [`compile`].
//!
//! This cargo can run inside a build script. It has its own target directory, and its environment overrides the release
//! profile, so that the profile of the workspace applies to everything else.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::standard_library;
use crate::toolchain::Toolchain;

/// The profile of guests: optimized code in one unit, without unwinding. Debug information would be larger than the
/// code.
pub(crate) const PROFILE: [(&str, &str); 7] = [
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "3"),
    ("CARGO_PROFILE_RELEASE_LTO", "fat"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1"),
    ("CARGO_PROFILE_RELEASE_PANIC", "abort"),
    ("CARGO_PROFILE_RELEASE_STRIP", "true"),
    ("CARGO_PROFILE_RELEASE_DEBUG", "false"),
    ("CARGO_PROFILE_RELEASE_INCREMENTAL", "false"),
];

/// The separator between flags in `CARGO_ENCODED_RUSTFLAGS`.
pub(crate) const FLAG_SEPARATOR: &str = "\u{1f}";

/// A compiled predicate crate.
#[derive(Debug)]
pub struct Compiled {
    /// The crate's package name.
    pub package: String,
    /// The predicate's name as `package.metadata.nodesift.predicate` gives it.
    pub predicate: Option<String>,
    /// The scorer's name as `package.metadata.nodesift.scorer` gives it.
    pub scorer: Option<String>,
    /// The accounting module's name as `package.metadata.nodesift.accounting` gives it.
    pub accounting: Option<String>,
    /// The directory of the crate.
    pub folder: PathBuf,
    /// Bytes of the core wasm module that cargo built.
    pub module: Vec<u8>,
}

/// Why crates did not compile.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// The directory of a crate does not exist.
    #[error("no crate at {folder}")]
    Folder {
        /// Directory that was requested as a crate.
        folder: PathBuf,
        /// The error of the file system.
        source: io::Error,
    },
    /// Cargo cannot be started.
    #[error("cargo cannot be started")]
    Start(#[source] io::Error),
    /// The compiler cannot be asked for its version.
    #[error("rustc does not say its version: {0}")]
    Compiler(String),
    /// There is no folder for the compiled standard library, which Debian's toolchain has as source only.
    #[error(
        "the standard library cannot be built in {folder}: set XDG_CACHE_HOME to a folder that you alone may write to"
    )]
    StandardLibrary {
        /// Directory in the user's cache, or in cargo's target directory.
        folder: PathBuf,
        /// The error of the file system.
        source: io::Error,
    },
    /// Cargo cannot load the workspace.
    #[error("cargo cannot load the workspace: {0}")]
    Workspace(String),
    /// Cargo's JSON output is invalid.
    #[error("cargo's JSON output cannot be parsed")]
    Messages(#[source] serde_json::Error),
    /// The directory is not a package of the workspace of the first directory.
    #[error("{0} is not a package of the workspace")]
    NotAPackage(PathBuf),
    /// A crate does not compile; cargo has printed the errors.
    #[error("the crates do not compile: see the output of cargo above")]
    Failed,
    /// The crate has no wasm module as output.
    #[error(
        "{0} has no wasm module as output: its Cargo.toml needs `[lib]` with `crate-type = [\"cdylib\", \"rlib\"]`"
    )]
    NoModule(String),
    /// A module cannot be read.
    #[error("the module {path} cannot be read")]
    Read {
        /// The path of the module.
        path: PathBuf,
        /// The error of the file system.
        source: io::Error,
    },
}

/// Whether cargo may change `Cargo.lock`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockFile {
    /// Builds exactly what it says; fails where it does not name every dependency.
    Fixed,
    /// Adds what is missing, as cargo does by default.
    Updated,
}

impl LockFile {
    /// The argument of cargo.
    fn argument(self) -> Option<&'static str> {
        match self {
            Self::Fixed => Some("--locked"),
            Self::Updated => None,
        }
    }
}

/// The workspace around a crate.
#[derive(Debug)]
struct Workspace {
    root: PathBuf,
    /// The target directory of the workspace.
    target_dir: PathBuf,
    /// Packages of the workspace by the directory of their manifest.
    packages: BTreeMap<PathBuf, Package>,
}

/// A package of the workspace.
#[derive(Debug)]
struct Package {
    name: String,
    predicate: Option<String>,
    scorer: Option<String>,
    accounting: Option<String>,
}

/// Compiles the crates in `folders` into core modules, in the order of `folders`. `target` is cargo's target directory;
/// none is the directory `guest` in the workspace's target directory.
///
/// # Errors
///
/// Where a directory is not a crate of the workspace, or a crate does not compile or has no module as output.
pub fn compile(
    toolchain: &Toolchain,
    folders: &[PathBuf],
    target: Option<&Path>,
    lock: LockFile,
) -> Result<Vec<Compiled>, CompileError> {
    let folders = folders
        .iter()
        .map(|folder| folder.canonicalize().map_err(|source| CompileError::Folder { folder: folder.clone(), source }))
        .collect::<Result<Vec<_>, _>>()?;
    let Some(first) = folders.first() else { return Ok(Vec::new()) };
    let Workspace { root, target_dir, mut packages } = workspace(toolchain, first)?;
    let mut wanted = Vec::with_capacity(folders.len());
    for folder in folders {
        let package = packages.remove(&folder).ok_or_else(|| CompileError::NotAPackage(folder.clone()))?;
        wanted.push((folder, package));
    }

    let target = target.map_or_else(|| target_dir.join("guest"), Path::to_owned);
    let flags = flags(toolchain, &root, &target)?;
    let mut command = cargo_build(toolchain, &root);
    command.args(["--release", "--lib", "--message-format=json-render-diagnostics", "--target-dir"]);
    command.arg(target);
    command.args(lock.argument());
    for (_, package) in &wanted {
        command.args(["--package", &package.name]);
    }
    command.env("CARGO_ENCODED_RUSTFLAGS", flags.join(FLAG_SEPARATOR)).stderr(Stdio::inherit());
    let modules = modules(&run(&mut command)?)?;

    wanted
        .into_iter()
        .map(|(folder, package)| {
            let path = modules.get(&folder).ok_or_else(|| CompileError::NoModule(package.name.clone()))?;
            let module = std::fs::read(path).map_err(|source| CompileError::Read { path: path.clone(), source })?;
            let Package { name, predicate, scorer, accounting } = package;
            Ok(Compiled { package: name, predicate, scorer, accounting, folder, module })
        })
        .collect()
}

/// Reads the metadata of the workspace that contains `folder`.
fn workspace(toolchain: &Toolchain, folder: &Path) -> Result<Workspace, CompileError> {
    let mut command = toolchain.cargo("metadata", folder);
    command.args(["--no-deps", "--format-version", "1"]);
    let output = command.output().map_err(CompileError::Start)?;
    if !output.status.success() {
        return Err(CompileError::Workspace(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    let metadata: Value = serde_json::from_slice(&output.stdout).map_err(CompileError::Messages)?;
    let mut packages = BTreeMap::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        if let (Some(name), Some(folder)) = (package["name"].as_str(), folder_of(package)) {
            let named = |what: &str| package["metadata"]["nodesift"][what].as_str().map(str::to_owned);
            let (predicate, scorer, accounting) = (named("predicate"), named("scorer"), named("accounting"));
            packages.insert(folder, Package { name: name.to_owned(), predicate, scorer, accounting });
        }
    }
    let path = |field: &str| metadata[field].as_str().map(PathBuf::from);
    let root = path("workspace_root").unwrap_or_else(|| folder.to_owned());
    let target_dir = path("target_directory").unwrap_or_else(|| root.join("target"));
    Ok(Workspace { root, target_dir, packages })
}

/// `cargo build` in a folder, with the target and the profile of guests.
fn cargo_build(toolchain: &Toolchain, folder: &Path) -> Command {
    let mut command = toolchain.cargo("build", folder);
    toolchain.target(&mut command);
    command.envs(PROFILE);
    command
}

/// The flags of the compiler. Vector instructions make loops over columns fast. Paths of this machine are remapped, so
/// that the digest of a module does not depend on where it was built. `target` is cargo's target directory.
fn flags(toolchain: &Toolchain, root: &Path, target: &Path) -> Result<Vec<String>, CompileError> {
    let remap = |path: &Path, name: &str| format!("--remap-path-prefix={}={name}", path.display());
    let mut flags = vec![String::from("-Ctarget-feature=+simd128")];
    // The standard library has dependencies from there, too.
    if let Some(home) = std::env::home_dir() {
        let home = std::env::var_os("CARGO_HOME").map_or_else(|| home.join(".cargo"), PathBuf::from);
        flags.push(remap(&home, "/cargo"));
    }
    if let Some(library) = toolchain.library() {
        flags.push(remap(library, "/library"));
        let compiler = toolchain.compiler(root).map_err(CompileError::Compiler)?;
        // Without a cache that can be written to, beside the guest, as cargo itself does it.
        let caches = standard_library::cache().into_iter().chain([target.join("std")]);
        let folders: Vec<_> =
            caches.map(|cache| standard_library::folder(&cache, &compiler, &flags, library)).collect();
        let built = standard_library::sysroot(&folders, &flags, |folder| cargo_build(toolchain, folder))?;
        flags.push(format!("--sysroot={}", built.display()));
    }
    flags.push(remap(root, "/src"));
    Ok(flags)
}

/// Runs cargo and returns its messages.
fn run(command: &mut Command) -> Result<Vec<Value>, CompileError> {
    let output = command.stdout(Stdio::piped()).output().map_err(CompileError::Start)?;
    if !output.status.success() {
        return Err(CompileError::Failed);
    }
    // Build scripts of dependencies can print lines that are not JSON.
    let lines = output.stdout.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"{"));
    lines.map(|line| serde_json::from_slice(line).map_err(CompileError::Messages)).collect()
}

/// The modules in cargo's messages, by the directory of their crate.
fn modules(messages: &[Value]) -> Result<BTreeMap<PathBuf, PathBuf>, CompileError> {
    let mut modules = BTreeMap::new();
    for message in messages.iter().filter(|message| message["reason"] == "compiler-artifact") {
        let files = message["filenames"].as_array().into_iter().flatten().filter_map(Value::as_str).map(PathBuf::from);
        for file in files.filter(|file| file.extension().is_some_and(|extension| extension == "wasm")) {
            if let Some(folder) = folder_of(message) {
                modules.insert(folder, file);
            }
        }
    }
    Ok(modules)
}

/// The directory of the `manifest_path` in cargo's messages and metadata.
fn folder_of(message: &Value) -> Option<PathBuf> {
    Path::new(message["manifest_path"].as_str()?).parent()?.canonicalize().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_fixed_lock_file_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let manifest = "[package]\nname = \"p\"\nversion = \"0.1.0\"\n[lib]\ncrate-type = [\"cdylib\"]\n[workspace]\n";
        std::fs::write(folder.path().join("Cargo.toml"), manifest).unwrap();
        std::fs::create_dir(folder.path().join("src")).unwrap();
        std::fs::write(folder.path().join("src/lib.rs"), "").unwrap();
        let toolchain = Toolchain::discover(folder.path()).unwrap();
        let target = folder.path().join("target");
        let built = compile(&toolchain, &[folder.path().to_owned()], Some(&target), LockFile::Fixed);
        assert!(matches!(built, Err(CompileError::Failed)), "{built:?}");
        assert!(!folder.path().join("Cargo.lock").exists());
    }
}
