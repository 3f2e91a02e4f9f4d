//! The files of a project that its author writes, and when they were written. Start at [`Sources::read`].
//!
//! Files are looked at instead of waiting for notifications: those of editors and mounted folders differ, and a project has few files.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::limits::SOURCE_FILES;

/// Endings of files that authors write.
const ENDINGS: [&str; 15] =
    ["c", "cjs", "go", "h", "js", "json", "mjs", "mod", "py", "rs", "toml", "ts", "txt", "yaml", "yml"];

/// Files from which tools are set up.
const MANIFESTS: [&str; 6] = ["Cargo.toml", "Makefile", "go.mod", "package.json", "pyproject.toml", "requirements.txt"];

/// Files with such an ending that tools write.
const WRITTEN_BY_TOOLS: [&str; 1] = ["package-lock.json"];

/// Folders that hold nothing of the author's.
const OTHERS: [&str; 5] = ["build", "dist", "node_modules", "sdk", "target"];

/// A file that Python's virtual environments have at their root, whatever their name.
const VIRTUAL_ENVIRONMENT: &str = "pyvenv.cfg";

/// Files by their paths, with the time of the last change and the size in bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Sources {
    files: BTreeMap<PathBuf, (SystemTime, u64)>,
    /// Whether there are more than [`SOURCE_FILES`]: a save of one of the others is not seen.
    pub(super) is_cut: bool,
}

impl Sources {
    /// The files of a project as they are now, at most [`SOURCE_FILES`]. What cannot be read now may be read the next time.
    pub(super) fn read(folder: &Path) -> Self {
        let (mut files, mut folders, mut is_cut) = (BTreeMap::new(), vec![folder.to_owned()], false);
        while let Some(folder) = folders.pop() {
            for entry in folder.read_dir().into_iter().flatten().flatten() {
                let (path, name) = (entry.path(), entry.file_name());
                let name = name.to_string_lossy();
                let Ok(metadata) = entry.metadata() else { continue };
                if metadata.is_dir() {
                    let is_other = name.starts_with(['.', '_'])
                        || name.ends_with(".egg-info")
                        || OTHERS.contains(&&*name)
                        || path.join(VIRTUAL_ENVIRONMENT).is_file();
                    if !is_other {
                        folders.push(path);
                    }
                } else if is_source(&path) && files.len() < SOURCE_FILES {
                    let written = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                    files.insert(path, (written, metadata.len()));
                } else if is_source(&path) {
                    is_cut = true;
                }
            }
        }
        Self { files, is_cut }
    }

    /// The files from which tools are set up.
    pub(super) fn manifests(&self) -> Self {
        let is_manifest = |path: &Path| name(path).is_some_and(|name| MANIFESTS.contains(&name));
        let manifests = self.files.iter().filter(|(path, _)| is_manifest(path));
        Self { files: manifests.map(|(path, stamp)| (path.clone(), *stamp)).collect(), is_cut: false }
    }
}

fn name(path: &Path) -> Option<&str> {
    path.file_name().and_then(OsStr::to_str)
}

fn is_source(path: &Path) -> bool {
    let ending = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    let is_written_by_tool = name(path).is_some_and(|name| WRITTEN_BY_TOOLS.contains(&name));
    (ENDINGS.contains(&ending) || name(path) == Some("Makefile")) && !is_written_by_tool
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_save_is_a_change_and_a_file_of_a_tool_is_none() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("venv")).unwrap();
        std::fs::write(folder.path().join("venv/pyvenv.cfg"), "").unwrap();
        let mut before = Sources::read(folder.path());
        for (file, is_change) in [
            ("src/lib.rs", true),
            ("cases.yaml", true),
            ("test_predicate.py", true),
            ("Makefile", true),
            ("Cargo.lock", false),
            ("package-lock.json", false),
            ("predicate.wasm", false),
            ("target/debug/build.rs", false),
            ("node_modules/a/index.js", false),
            (".venv/lib/a.py", false),
            ("venv/lib/a.py", false),
            ("__pycache__/a.py", false),
            ("sdk/rust/src/lib.rs", false),
            ("predicate.egg-info/requires.txt", false),
        ] {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "").unwrap();
            let after = Sources::read(folder.path());
            assert_eq!(after != before, is_change, "{file}");
            before = after;
        }
        let manifests = before.manifests();
        assert_eq!(manifests.files.keys().collect::<Vec<_>>(), [&folder.path().join("Makefile")]);
        std::fs::write(folder.path().join("cases.yaml"), "a").unwrap();
        let after = Sources::read(folder.path());
        assert!(after != before && after.manifests() == manifests);
        std::fs::remove_file(folder.path().join("cases.yaml")).unwrap();
        assert!(Sources::read(folder.path()) != after);
    }

    #[test]
    fn more_files_than_are_looked_at_are_told() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..SOURCE_FILES {
            std::fs::write(folder.path().join(format!("{number}.py")), "").unwrap();
        }
        assert!(!Sources::read(folder.path()).is_cut);
        std::fs::write(folder.path().join("one_more.py"), "").unwrap();
        assert!(Sources::read(folder.path()).is_cut);
    }
}
