//! Finds a Rust toolchain that compiles for wasm32. Start at [`Toolchain::discover`].
//!
//! Two kinds will do: a rustup toolchain with the target installed, and Debian's packages, which bring the standard
//! library as source only, so that cargo builds it along with the guest.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The target of every guest: no operating system, so a guest cannot import one.
pub const TARGET: &str = "wasm32-unknown-unknown";

/// Where Debian's packages (`cargo-web`, `rustc-web`, `rust-web-src`, or their namesakes without `web`) put things.
const DEBIAN_CARGO: &str = "/usr/bin/cargo";
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";
const DEBIAN_LIBRARY: &str = "/usr/lib/rustlib/src/rust/library";

/// What runs when cargo links for wasm32, best first: Debian's own, then LLVM's under its two names.
const LINKERS: [&str; 3] = ["/usr/bin/rust-lld", "/usr/bin/wasm-ld", "/usr/bin/lld"];

/// Environment that a running cargo hands to build scripts and that would change what a cargo inside one does.
const LEAKING: [&str; 3] = ["CARGO", "RUSTC", "RUSTDOC"];

/// What keeps its meaning in a nested cargo: where crates come from.
const KEPT: [&str; 5] = ["CARGO_HOME", "CARGO_HTTP_", "CARGO_NET_", "CARGO_REGISTR", "CARGO_SOURCE_"];

/// Why no guest can be built on this machine.
#[derive(Debug, thiserror::Error)]
#[error(
    "no Rust toolchain here compiles for {TARGET}\n\
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
    /// Where the standard library comes as source only: that source, and the linker.
    debian: Option<Debian>,
}

/// What building the standard library takes.
#[derive(Debug, Clone)]
struct Debian {
    library: PathBuf,
    linker: PathBuf,
}

impl Toolchain {
    /// Looks for the active rustup toolchain's target first, as seen from `folder`, and for Debian's packages then.
    ///
    /// # Errors
    ///
    /// Where neither is there, with what to run.
    pub fn discover(folder: &Path) -> Result<Self, ToolchainError> {
        // Inside a build script cargo says which cargo and rustc are at work; the guest is built by the same.
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let rustup = match printed(&rustc, &["--print", "target-libdir", "--target", TARGET], folder) {
            Ok(libraries) if Path::new(&libraries).is_dir() => {
                return Ok(Self { cargo, rustc, debian: None });
            }
            Ok(libraries) => format!("{libraries} is not there"),
            Err(error) => error,
        };
        match Debian::discover(&rustc, folder) {
            Ok(debian) => Ok(Self { cargo: DEBIAN_CARGO.into(), rustc: DEBIAN_RUSTC.into(), debian: Some(debian) }),
            Err(debian) => Err(ToolchainError { rustc: rustc.to_string_lossy().into_owned(), rustup, debian }),
        }
    }

    /// A cargo that compiles for [`TARGET`] in `folder`, with nothing of a surrounding cargo in its environment;
    /// `subcommand` is the first argument.
    pub(crate) fn cargo(&self, subcommand: &str, folder: &Path) -> Command {
        let mut command = Command::new(&self.cargo);
        command.arg(subcommand).current_dir(folder);
        for (name, _) in std::env::vars_os() {
            if leaks(&name) {
                command.env_remove(name);
            }
        }
        command.env("RUSTC", &self.rustc);
        command
    }

    /// Adds what makes cargo compile for [`TARGET`] with this toolchain.
    pub(crate) fn target(&self, command: &mut Command) {
        command.args(["--target", TARGET]);
        if let Some(debian) = &self.debian {
            // The standard library is built from Debian's source; that needs the unstable flag, hence the bootstrap
            // switch, which reaches this cargo alone.
            command
                .arg("-Zbuild-std=std,panic_abort")
                .env("RUSTC_BOOTSTRAP", "1")
                .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", &debian.linker);
        }
    }

    /// Where the source of the standard library lies, if guests are built with it.
    pub(crate) fn library(&self) -> Option<&Path> {
        self.debian.as_ref().map(|debian| debian.library.as_path())
    }
}

impl Debian {
    /// Finds Debian's cargo, rustc, source of the standard library, and a linker; else says what is missing.
    fn discover(rustup_rustc: &OsStr, folder: &Path) -> Result<Self, String> {
        let library = PathBuf::from(DEBIAN_LIBRARY);
        for needed in [Path::new(DEBIAN_CARGO), Path::new(DEBIAN_RUSTC), &library.join("std")] {
            if !needed.exists() {
                return Err(format!("{} is not there", needed.display()));
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

/// The linker that every rustup toolchain brings.
fn rustup_linker(rustc: &OsStr, folder: &Path) -> Option<PathBuf> {
    let sysroot = printed(rustc, &["--print", "sysroot"], folder).ok()?;
    let host = printed(rustc, &["--print", "host-tuple"], folder).ok()?;
    Some(Path::new(&sysroot).join("lib/rustlib").join(host).join("bin/rust-lld"))
}

/// What a program prints on one line, or why it does not.
fn printed(program: &OsStr, arguments: &[&str], folder: &Path) -> Result<String, String> {
    let output =
        Command::new(program).args(arguments).current_dir(folder).output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Whether a variable of a surrounding cargo would change what a nested one does.
fn leaks(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    LEAKING.iter().any(|stem| name.starts_with(stem)) && !KEPT.iter().any(|kept| name.starts_with(kept))
        || name == "RUSTFLAGS"
        || name == "RUSTDOCFLAGS"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_surrounding_cargo_sets_does_not_reach_the_nested_one() {
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
            assert!(leaks(OsStr::new(name)), "{name} would leak");
        }
    }

    #[test]
    fn where_crates_come_from_stays() {
        for name in ["CARGO_HOME", "CARGO_NET_OFFLINE", "CARGO_HTTP_PROXY", "CARGO_REGISTRIES_OWN_INDEX", "PATH"] {
            assert!(!leaks(OsStr::new(name)), "{name} would be lost");
        }
    }

    #[test]
    fn without_a_toolchain_the_error_says_what_to_run() {
        let error = ToolchainError { rustc: "rustc".into(), rustup: "not there".into(), debian: "no cargo".into() };
        let text = error.to_string();
        assert!(text.contains("make toolchain"), "{text}");
        assert!(text.contains("rustup target add wasm32-unknown-unknown"), "{text}");
        assert!(text.contains("apt-get install"), "{text}");
    }
}
