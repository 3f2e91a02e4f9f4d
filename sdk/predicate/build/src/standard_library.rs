//! The standard library for wasm32, compiled once for all crates of a user. Start at [`sysroot`].
//!
//! Debian has the library as source only. `-Zbuild-std` compiles it in every target directory anew, which takes most of the time of an
//! author's first build. So cargo builds it as the dependency of an empty crate in a folder of the user's cache, and guests are compiled
//! with that folder as the compiler's sysroot. Cargo's own lock lets one process build it while others wait, and its fingerprints build it
//! again once Debian has updated the source.

use std::ffi::OsStr;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::compile::{CompileError, FLAG_SEPARATOR};
use crate::toolchain::TARGET;

/// The manifest of the empty crate. The profile comes from the environment of the command, as that of guests does.
const MANIFEST: &str = "\
[package]\nname = \"nodesift-standard-library\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[lib]\npath = \"lib.rs\"\n\n[workspace]\n";

/// The folder of the user's cache that has one sysroot for each compiler and set of flags. None where the environment names no absolute
/// path.
pub(crate) fn cache() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")))?;
    Some(cache.join("nodesift").join("wasm32-std")).filter(|folder| folder.is_absolute())
}

/// The folder in `cache` that belongs to a compiler (what `rustc -vV` prints) and to flags: with the libraries of two compilers in one
/// folder, rustc would not know which to take.
pub(crate) fn folder(cache: &Path, compiler: &str, flags: &[String]) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    (compiler, flags).hash(&mut hasher);
    let release = compiler.lines().find_map(|line| line.strip_prefix("release: ")).unwrap_or("unknown");
    cache.join(format!("{release}-{:016x}", hasher.finish()))
}

/// Builds the standard library in the first of `folders` that can be written to, unless it is there, and gives that folder, which is a
/// sysroot for [`TARGET`] then. `build` gives `cargo build` in
/// a folder, with the toolchain and the profile of guests.
///
/// # Errors
///
/// Where none of the folders can be written to, or the library does not compile; cargo has printed why.
pub(crate) fn sysroot(
    folders: &[PathBuf],
    flags: &[String],
    build: impl Fn(&Path) -> Command,
) -> Result<PathBuf, CompileError> {
    let mut refused = None;
    let prepared = folders.iter().find(|folder| match prepare(folder) {
        Ok(()) => true,
        Err(source) => {
            refused.get_or_insert_with(|| CompileError::StandardLibrary { folder: folder.to_path_buf(), source });
            false
        }
    });
    let Some(folder) = prepared else { return Err(refused.unwrap_or(CompileError::Failed)) };
    // Building the standard library needs an unstable flag. RUSTC_BOOTSTRAP permits it for this cargo only. Without features it has no
    // backtraces, which a component has no use for: they take a tenth of the time of the library.
    let mut command = build(folder);
    command
        .args([
            "--release",
            "--lib",
            "--quiet",
            "--target-dir",
            "target",
            "-Zbuild-std=std,panic_abort",
            "-Zbuild-std-features=",
        ])
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join(FLAG_SEPARATOR))
        .stdin(Stdio::null())
        // In a build script stdout is read by the outer cargo.
        .stdout(Stdio::null())
        .stderr(Stdio::inherit());
    if !command.status().map_err(CompileError::Start)?.success() {
        return Err(CompileError::Failed);
    }
    Ok(folder.clone())
}

/// Writes the empty crate to `folder`, and the link that makes cargo's output a sysroot. What is there already is left, so that nothing is
/// built anew.
fn prepare(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    for (name, text) in [("Cargo.toml", MANIFEST), ("lib.rs", "#![no_std]\n")] {
        write_if_other(&folder.join(name), text)?;
    }
    let rustlib = folder.join("lib/rustlib").join(TARGET);
    std::fs::create_dir_all(&rustlib)?;
    let built = Path::new("../../../target").join(TARGET).join("release/deps");
    match std::os::unix::fs::symlink(built, rustlib.join("lib")) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Writes a file where it does not have this text. It is renamed into place: another process may read it meanwhile.
fn write_if_other(path: &Path, text: &str) -> io::Result<()> {
    if std::fs::read(path).is_ok_and(|there| there == text.as_bytes()) {
        return Ok(());
    }
    let mut name = path.file_name().unwrap_or(OsStr::new("file")).to_owned();
    name.push(format!(".{}", std::process::id()));
    let written = path.with_file_name(name);
    std::fs::write(&written, text)?;
    std::fs::rename(&written, path)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn another_compiler_and_other_flags_have_another_folder() {
        let of = |compiler: &str, flag: &str| folder(Path::new("/cache"), compiler, &[flag.to_owned()]);
        let first = of("rustc 1.96.0\nrelease: 1.96.0\n", "-Ca");
        assert!(first.to_str().unwrap().starts_with("/cache/1.96.0-"), "{}", first.display());
        assert_ne!(first, of("rustc 1.96.0 (patched)\nrelease: 1.96.0\n", "-Ca"));
        assert_ne!(first, of("rustc 1.96.0\nrelease: 1.96.0\n", "-Cb"));
        assert_eq!(first, of("rustc 1.96.0\nrelease: 1.96.0\n", "-Ca"));
    }

    #[test]
    fn a_folder_that_is_prepared_again_is_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        prepare(folder.path()).unwrap();
        let manifest = folder.path().join("Cargo.toml");
        let written = std::fs::metadata(&manifest).unwrap().modified().unwrap();
        prepare(folder.path()).unwrap();
        assert_eq!(std::fs::metadata(&manifest).unwrap().modified().unwrap(), written);
        std::fs::write(&manifest, "torn").unwrap();
        prepare(folder.path()).unwrap();
        assert_eq!(std::fs::read_to_string(&manifest).unwrap(), MANIFEST);
    }
}
