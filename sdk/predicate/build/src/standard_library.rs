//! The standard library for wasm32, compiled once for all crates of a user. Start at [`sysroot`].
//!
//! Debian has the library as source only. `-Zbuild-std` compiles it in every target directory anew, which takes most of the time of an
//! author's first build. So cargo builds it as the dependency of an empty crate in a folder of the user's cache, and guests are compiled
//! with that folder as the compiler's sysroot. Cargo's own lock lets one process build it while others wait.

use std::ffi::OsStr;
use std::fs::DirBuilder;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::compile::{CompileError, FLAG_SEPARATOR, PROFILE};
use crate::toolchain::TARGET;

/// The manifest of the empty crate. It has the crate types of guests, for which cargo compiles libraries to code and to what LTO needs: a
/// linker that is older than the compiler cannot read the latter. The profile comes from the environment of the command.
const MANIFEST: &str = "\
[package]\nname = \"nodesift-standard-library\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[lib]\npath = \"lib.rs\"\n\
crate-type = [\"cdylib\", \"rlib\"]\n\n[workspace]\n";

/// Keys of the profile that guests may choose for themselves, and that the library has one value of: with those of cargo's configuration
/// there would be two libraries in the folder.
const FIXED: [(&str, &str); 3] = [
    ("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "false"),
    ("CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS", "false"),
    ("CARGO_PROFILE_RELEASE_RPATH", "false"),
];

/// Permissions by which others than the owner may write.
const OTHERS_WRITE: u32 = 0o022;

/// The folder of the user's cache that has one sysroot for each compiler and set of flags. None where the environment names no absolute
/// path.
pub(crate) fn cache() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")))?;
    Some(cache.join("nodesift").join("wasm32-std")).filter(|folder| folder.is_absolute())
}

/// The folder in `cache` that belongs to a compiler (what `rustc -vV` prints), to flags, to the profile, and to the time at which the
/// library's source was installed: with two libraries in one folder, rustc would not know which to take, and it takes no crate that was
/// compiled against another. `library` is the folder of the source; dpkg keeps the times at which files were written elsewhere.
pub(crate) fn folder(cache: &Path, compiler: &str, flags: &[String], library: &Path) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    let installed = std::fs::metadata(library.join("std/Cargo.toml")).map_or(0, |found| found.ctime());
    (compiler, flags, PROFILE, FIXED, MANIFEST, installed).hash(&mut hasher);
    let release = compiler.lines().find_map(|line| line.strip_prefix("release: ")).unwrap_or("unknown");
    cache.join(format!("{release}-{:016x}", hasher.finish()))
}

/// Builds the standard library in the first of `folders` that this user alone can write to, unless it is there, and gives that folder, which
/// is a sysroot for [`TARGET`] then. `build` gives `cargo build` in a folder, with the toolchain and the profile of guests.
///
/// # Errors
///
/// Where none of the folders is this user's, or the library does not compile; cargo has printed why.
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
    if !folder.join(built()).is_dir() {
        let text =
            format!("compiling the standard library for {TARGET}, once for this user, in {}\n", folder.display());
        // The build goes on where nobody reads it.
        let _written = io::stderr().write_all(text.as_bytes());
    }
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
        // Cargo's configuration may name another place for what is built.
        .env("CARGO_BUILD_BUILD_DIR", "target")
        .envs(FIXED)
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

/// Where cargo puts the libraries, from the folder.
fn built() -> PathBuf {
    Path::new("target").join(TARGET).join("release/deps")
}

/// Writes the empty crate to `folder`, and the link that makes cargo's output a sysroot. What is there already is left, so that nothing is
/// built anew; but it must be this user's, since it becomes a part of every guest.
fn prepare(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    // This user can write here, and files get its number.
    let probe = folder.join(format!(".write.{}", std::process::id()));
    std::fs::write(&probe, "")?;
    let own = std::fs::metadata(&probe)?.uid();
    std::fs::remove_file(&probe)?;
    let found = std::fs::metadata(folder)?;
    if found.uid() != own || found.mode() & OTHERS_WRITE != 0 {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "others can write to it"));
    }
    for (name, text) in [("Cargo.toml", MANIFEST), ("lib.rs", "")] {
        write_if_other(&folder.join(name), text)?;
    }
    let rustlib = folder.join("lib/rustlib").join(TARGET);
    std::fs::create_dir_all(&rustlib)?;
    let (link, libraries) = (rustlib.join("lib"), Path::new("../../..").join(built()));
    match std::os::unix::fs::symlink(&libraries, &link) {
        Err(_) if std::fs::read_link(&link).is_ok_and(|there| there == libraries) => Ok(()),
        linked => linked,
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
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn another_compiler_and_other_flags_have_another_folder() {
        let library = tempfile::tempdir().unwrap();
        let of = |compiler: &str, flag: &str| folder(Path::new("/cache"), compiler, &[flag.to_owned()], library.path());
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
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3, "nothing else is left there");
        std::fs::write(&manifest, "torn").unwrap();
        prepare(folder.path()).unwrap();
        assert_eq!(std::fs::read_to_string(&manifest).unwrap(), MANIFEST);
    }

    #[test]
    fn a_folder_that_others_can_write_to_or_whose_link_leads_elsewhere_is_not_used() {
        let open = tempfile::tempdir().unwrap();
        std::fs::set_permissions(open.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(prepare(open.path()).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        let linked = tempfile::tempdir().unwrap();
        let rustlib = linked.path().join("lib/rustlib").join(TARGET);
        std::fs::create_dir_all(&rustlib).unwrap();
        std::os::unix::fs::symlink("/elsewhere", rustlib.join("lib")).unwrap();
        assert_eq!(prepare(linked.path()).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        // The next one is taken.
        let (good, folders) = (tempfile::tempdir().unwrap(), [open.path().to_owned(), linked.path().to_owned()]);
        let folders = [&folders[..], &[good.path().to_owned()]].concat();
        let taken = sysroot(&folders, &[], |_| Command::new("true")).unwrap();
        assert_eq!(taken, good.path());
    }
}
