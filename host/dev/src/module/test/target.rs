//! The argument of `module test` → a file of cases, and the module that they are about. Start at [`Target::resolve`].

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::anyhow;

use super::super::cases::CASES_FILE;
use crate::limits::SOURCE_FILES;
use nodesift::exit::Failure;
use nodesift::terminal;

/// Cases to run, and the module that they are about.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// The file of cases.
    pub(super) cases: PathBuf,
    /// The module, where it was named; else the cases name it.
    pub(super) module: Option<PathBuf>,
    /// The policy, where it was named; else that beside the cases.
    pub(super) policy: Option<PathBuf>,
}

/// Endings of files that a module is built of.
const SOURCES: [&str; 10] = ["c", "cjs", "go", "h", "js", "mjs", "py", "rs", "toml", "ts"];

/// Folders that hold no sources of the author's.
const OTHERS: [&str; 6] = ["build", "dist", "node_modules", "sdk", "target", "tests"];

impl Target {
    /// Resolves a path: a folder with cases, a file of cases, or a module beside its cases.
    ///
    /// # Errors
    ///
    /// [`Failure::Data`] where there are no cases.
    pub(super) fn resolve(path: &Path) -> anyhow::Result<Self> {
        let is_cases = path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
        let target = if path == Path::new(".") {
            // As an editor and a person name it.
            Self { cases: PathBuf::from(CASES_FILE), module: None, policy: None }
        } else if path.is_dir() {
            Self { cases: path.join(CASES_FILE), module: None, policy: None }
        } else if is_cases {
            Self { cases: path.to_owned(), module: None, policy: None }
        } else {
            Self { cases: path.with_file_name(CASES_FILE), module: Some(path.to_owned()), policy: None }
        };
        if target.cases.is_file() {
            return Ok(target);
        }
        let text = format!(
            "{}: write it, or take that of a project that `nodesift-dev module new` starts",
            target.cases.display()
        );
        let missing = anyhow!(std::io::Error::from(std::io::ErrorKind::NotFound));
        Err(Failure::Data(missing.context(text)).into())
    }

    /// Says where a module is older than the sources beside the cases.
    pub(super) fn note_age(&self, module: &Path) {
        let folder = self.cases.parent().unwrap_or(Path::new(""));
        let Ok(built) = module.metadata().and_then(|metadata| metadata.modified()) else { return };
        if let Some(newer) = newer_source(folder, built) {
            let (module, newer) = (module.display(), newer.display());
            terminal::note(&format!("{module} is older than {newer}: run `nodesift-dev module build`"));
        }
    }
}

/// A source below a folder that was written after a moment.
fn newer_source(folder: &Path, since: SystemTime) -> Option<PathBuf> {
    let mut folders = vec![if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder.to_owned() }];
    let mut left = SOURCE_FILES;
    while let Some(folder) = folders.pop() {
        // A folder that cannot be read holds nothing that could be told.
        for entry in folder.read_dir().into_iter().flatten().flatten() {
            left = left.checked_sub(1)?;
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && !name.starts_with(['.', '_']) && !OTHERS.contains(&&*name) {
                folders.push(path);
            } else if kind.is_file() && is_source(&path) {
                let written = entry.metadata().and_then(|metadata| metadata.modified());
                if written.is_ok_and(|written| written > since) {
                    return Some(path.strip_prefix("./").map(Path::to_owned).unwrap_or(path));
                }
            }
        }
    }
    None
}

/// Whether a module is built of it: unit tests are not in it.
fn is_source(path: &Path) -> bool {
    let ending = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    let stem = path.file_stem().map(OsStr::to_string_lossy).unwrap_or_default();
    let is_test = stem.starts_with("test_") || stem.ends_with("_test") || stem.ends_with(".test");
    SOURCES.contains(&ending) && !is_test
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_path_is_a_folder_a_file_of_cases_or_a_module() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        assert!(Target::resolve(folder.path()).unwrap_err().to_string().contains("cases.yaml"));
        std::fs::write(path(CASES_FILE), "").unwrap();
        std::fs::write(path("other.yml"), "").unwrap();
        let target = |path: &Path| Target::resolve(path).unwrap();
        let cases = path(CASES_FILE);
        assert_eq!(target(folder.path()), Target { cases: cases.clone(), module: None, policy: None });
        assert_eq!(target(&path("other.yml")), Target { cases: path("other.yml"), module: None, policy: None });
        let module = path("predicate.wasm");
        assert_eq!(target(&module), Target { cases, module: Some(module.clone()), policy: None });
    }

    #[test]
    fn sources_and_nothing_else_make_a_module_old() {
        let folder = tempfile::tempdir().unwrap();
        let now = folder.path().metadata().unwrap().modified().unwrap();
        let before = now - Duration::from_secs(10);
        for (file, is_source) in [
            ("src/predicate.ts", true),
            ("predicate.py", true),
            ("Cargo.toml", true),
            ("src/predicate.test.ts", false),
            ("test_predicate.py", false),
            ("cases.yaml", false),
            ("README.md", false),
            ("node_modules/a/index.js", false),
            (".venv/lib/a.py", false),
            ("sdk/rust/src/lib.rs", false),
        ] {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "").unwrap();
            assert_eq!(newer_source(folder.path(), before).is_some(), is_source, "{file}");
            assert_eq!(newer_source(folder.path(), now + Duration::from_secs(10)), None, "{file}");
            std::fs::remove_file(&path).unwrap();
        }
    }
}
