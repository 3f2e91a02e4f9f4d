//! Finds a Rust toolchain that compiles for wasm32. Start at [`Toolchain::discover`].
//!
//! Two kinds are supported: a rustup toolchain with the target installed, and Debian's packages. Debian has the
//! standard library as source only: see `standard_library`.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The target of every guest. It has no operating system, so a guest cannot import WASI by accident.
pub const TARGET: &str = "wasm32-unknown-unknown";

/// Paths of Debian's packages `cargo-web`, `rustc-web` and `rust-web-src`, and of the packages without `web`.
const DEBIAN_CARGO: &str = "/usr/bin/cargo";
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";
const DEBIAN_LIBRARY: &str = "/usr/lib/rustlib/src/rust/library";

/// Linkers for wasm32 in order of preference: Debian's, then LLVM's under its two names.
const LINKERS: [&str; 3] = ["/usr/bin/rust-lld", "/usr/bin/wasm-ld", "/usr/bin/lld"];

/// Prefixes of environment variables that an outer cargo sets for build scripts and that would change a nested cargo.
const REMOVED: [&str; 3] = ["CARGO", "RUSTC", "RUSTDOC"];

/// Prefixes of variables that a nested cargo needs: they configure where crates come from.
const KEPT: [&str; 5] = ["CARGO_HOME", "CARGO_HTTP_", "CARGO_NET_", "CARGO_REGISTR", "CARGO_SOURCE_"];

/// No toolchain on this machine can build guests. The text says what to install.
#[derive(Debug, thiserror::Error)]
#[error(
    "no Rust toolchain on this machine compiles for {TARGET}\n\
     run `make toolchain`, or one of\n  \
     rustup target add {TARGET}\n  \
     apt-get install cargo-web rustc-web rust-web-src\n\
     (looked for: the target of `{rustc}`: {rustup}; Debian's packages: {debian})"
)]
pub struct ToolchainError {
    rustc: String,
    rustup: String,
    debian: String,
}

/// A toolchain that compiles guests.
#[derive(Debug, Clone)]
pub struct Toolchain {
    cargo: OsString,
    rustc: OsString,
    /// Set for Debian's packages, which need the standard library to be built.
    debian: Option<Debian>,
}

/// The source of the standard library, and the linker.
#[derive(Debug, Clone)]
struct Debian {
    library: PathBuf,
    linker: PathBuf,
}

impl Toolchain {
    /// Looks for the target of the rustup toolchain that is active in `folder`, then for Debian's packages.
    ///
    /// # Errors
    ///
    /// Where neither is installed. The error says what to run.
    pub fn discover(folder: &Path) -> Result<Self, ToolchainError> {
        // In a build script these variables name the outer cargo and rustc; the guest is built with the same.
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let rustup = match output_of(&rustc, &["--print", "target-libdir", "--target", TARGET], folder) {
            Ok(libraries) if Path::new(&libraries).is_dir() => {
                return Ok(Self { cargo, rustc, debian: None });
            }
            Ok(libraries) => format!("{libraries} does not exist"),
            Err(error) => error,
        };
        match Debian::discover(&rustc, folder) {
            Ok(debian) => Ok(Self { cargo: DEBIAN_CARGO.into(), rustc: DEBIAN_RUSTC.into(), debian: Some(debian) }),
            Err(debian) => Err(ToolchainError { rustc: rustc.to_string_lossy().into_owned(), rustup, debian }),
        }
    }

    /// A cargo command in `folder`, without the environment of an outer cargo. `subcommand` is the first argument.
    pub(crate) fn cargo(&self, subcommand: &str, folder: &Path) -> Command {
        let mut command = Command::new(&self.cargo);
        command.arg(subcommand).current_dir(folder);
        for (name, _) in std::env::vars_os() {
            if is_removed(&name) {
                command.env_remove(name);
            }
        }
        command.env("RUSTC", &self.rustc);
        command
    }

    /// Adds the arguments and the environment to compile for [`TARGET`] with this toolchain.
    pub(crate) fn target(&self, command: &mut Command) {
        command.args(["--target", TARGET]);
        if let Some(debian) = &self.debian {
            command.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", &debian.linker);
        }
    }

    /// The compiler's description of itself, as `rustc -vV` prints it. An error says what went wrong.
    pub(crate) fn compiler(&self, folder: &Path) -> Result<String, String> {
        output_of(&self.rustc, &["-vV"], folder)
    }

    /// The source of the standard library, where guests are built with it.
    pub(crate) fn library(&self) -> Option<&Path> {
        self.debian.as_ref().map(|debian| debian.library.as_path())
    }
}

impl Debian {
    /// Finds Debian's cargo, rustc, source of the standard library, and a linker. An error says what is missing.
    fn discover(rustup_rustc: &OsStr, folder: &Path) -> Result<Self, String> {
        let library = PathBuf::from(DEBIAN_LIBRARY);
        for needed in [Path::new(DEBIAN_CARGO), Path::new(DEBIAN_RUSTC), &library.join("std")] {
            if !needed.exists() {
                return Err(format!("{} does not exist", needed.display()));
            }
        }
        let linker = LINKERS
            .iter()
            .map(PathBuf::from)
            .chain(rustup_linker(rustup_rustc, folder))
            .find(|linker| linker.is_file())
            .ok_or_else(|| String::from("no linker: neither rust-lld nor wasm-ld"))?;
        Ok(Self { library, linker })
    }
}

/// The linker of the rustup toolchain.
fn rustup_linker(rustc: &OsStr, folder: &Path) -> Option<PathBuf> {
    let sysroot = output_of(rustc, &["--print", "sysroot"], folder).ok()?;
    let host = output_of(rustc, &["--print", "host-tuple"], folder).ok()?;
    Some(Path::new(&sysroot).join("lib/rustlib").join(host).join("bin/rust-lld"))
}

/// The trimmed output of a command, or its error.
fn output_of(program: &OsStr, arguments: &[&str], folder: &Path) -> Result<String, String> {
    let output =
        Command::new(program).args(arguments).current_dir(folder).output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Whether a variable is removed from the environment of a nested cargo.
fn is_removed(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    REMOVED.iter().any(|stem| name.starts_with(stem)) && !KEPT.iter().any(|kept| name.starts_with(kept))
        || name == "RUSTFLAGS"
        || name == "RUSTDOCFLAGS"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_an_outer_cargo_do_not_reach_the_nested_one() {
        for name in [
            "CARGO",
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO_MANIFEST_DIR",
            "CARGO_PROFILE_RELEASE_LTO",
            "CARGO_TARGET_DIR",
            "CARGO_BUILD_TARGET",
            "RUSTC",
            "RUSTC_WRAPPER",
            "RUSTC_WORKSPACE_WRAPPER",
            "RUSTC_BOOTSTRAP",
            "RUSTFLAGS",
            "RUSTDOCFLAGS",
        ] {
            assert!(is_removed(OsStr::new(name)), "{name} is not removed");
        }
    }

    #[test]
    fn variables_for_sources_of_crates_are_kept() {
        for name in ["CARGO_HOME", "CARGO_NET_OFFLINE", "CARGO_HTTP_PROXY", "CARGO_REGISTRIES_OWN_INDEX", "PATH"] {
            assert!(!is_removed(OsStr::new(name)), "{name} is removed");
        }
    }

    #[test]
    fn the_error_without_a_toolchain_says_what_to_run() {
        let error = ToolchainError { rustc: "rustc".into(), rustup: "not there".into(), debian: "no cargo".into() };
        let text = error.to_string();
        assert!(text.contains("make toolchain"), "{text}");
        assert!(text.contains("rustup target add wasm32-unknown-unknown"), "{text}");
        assert!(text.contains("apt-get install"), "{text}");
    }
}
