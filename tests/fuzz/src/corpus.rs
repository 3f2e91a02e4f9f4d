//! The committed inputs: `corpus/<target>` has small valid and nearly valid ones, from which mutation starts, and
//! `regressions/<target>` every input that once found something. Start at [`inputs`].

use std::fs;
use std::path::{Path, PathBuf};

use crate::Target;

/// The folders with a folder per target.
const FOLDERS: [&str; 2] = ["corpus", "regressions"];

/// The committed inputs of a target, sorted by path.
pub fn inputs(target: &Target) -> Vec<(PathBuf, Vec<u8>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = FOLDERS.iter().map(|folder| root.join(folder).join(target.name));
    let mut files: Vec<PathBuf> = folders
        .flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten())
        .map(|entry| entry.path())
        .collect();
    files.sort();
    let read = |path: PathBuf| {
        let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        (path, bytes)
    };
    files.into_iter().map(read).collect()
}
