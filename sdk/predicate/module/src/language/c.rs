//! C: sources that clang compiles for wasm32, without a C library. The rules of the SDK's makefile say how; what a predicate does not
//! call is not in the module, so its component imports only what it uses.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::encode::{self, World};
use crate::error::BuildError;
use crate::pack::{Pack, pack};
use crate::sdk::Sdk;
use crate::steps::Steps;
use crate::support::Support;
use crate::tool;

/// Names of clang: the one for all, then those of Debian's packages, the newest first.
const CLANGS: [&str; 10] = [
    "clang", "clang-22", "clang-21", "clang-20", "clang-19", "clang-18", "clang-17", "clang-16", "clang-15", "clang-14",
];

/// Command that installs the tools on Debian or Ubuntu, for error messages.
const INSTALL: &str = "apt-get install clang lld make";

pub(super) struct C;

impl Support for C {
    fn recognises(&self, folder: &Path) -> bool {
        folder.join("Makefile").is_file()
            && !["Cargo.toml", "go.mod", "package.json", "pyproject.toml"]
                .iter()
                .any(|other| folder.join(other).is_file())
    }

    fn template(&self) -> Pack {
        pack!("template-c")
    }

    fn scorer_template(&self) -> Pack {
        pack!("template-c-score")
    }

    fn sdk(&self) -> (Pack, &'static str) {
        (pack!("sdk-c"), "c")
    }

    fn sdk_reference(&self, sdk: &Sdk, _version: &str) -> String {
        match sdk {
            Sdk::Carried | Sdk::Registry => "sdk/c".into(),
            Sdk::Path(path) => path.display().to_string(),
        }
    }

    fn title(&self) -> &'static str {
        "C"
    }

    fn source(&self) -> &'static str {
        "predicate.c"
    }

    fn toolchain_commands(&self) -> &'static [&'static str] {
        &["sudo apt-get install -y clang lld make"]
    }

    fn image(&self) -> &'static str {
        "gcc:14-bookworm"
    }

    fn test_commands(&self) -> &'static [&'static str] {
        &["make test"]
    }

    fn build(&self, folder: &Path, steps: &mut Steps<'_>) -> Result<Vec<u8>, BuildError> {
        let make = tool::find(&["make"], INSTALL)?;
        let clang = compiler()?;
        let scratch = tempfile::tempdir().map_err(|error| BuildError::File(std::env::temp_dir(), error))?;
        let output = scratch.path().join("module.wasm");
        let mut command = Command::new(make);
        let assigned = |name: &str, path: &Path| format!("{name}={}", path.display());
        command
            .args(["--silent", "module", &assigned("CLANG", &clang), &assigned("MODULE", &output)])
            .current_dir(folder);
        // Variables of a `make` that runs this program are not for this one.
        command.env_remove("MAKEFLAGS").env_remove("MAKELEVEL");
        steps.run("compile", || tool::run(&mut command))?;
        let module = std::fs::read(&output).map_err(|error| BuildError::File(output, error))?;
        Ok(steps.run("encode", || encode::encode(&module, World::Whole))?)
    }
}

/// The first clang that compiles and links for wasm32: not every one has that target, and the linker is a package of its own.
fn compiler() -> Result<PathBuf, BuildError> {
    let scratch = tempfile::tempdir().map_err(|error| BuildError::File(std::env::temp_dir(), error))?;
    let source = scratch.path().join("empty.c");
    std::fs::write(&source, "").map_err(|error| BuildError::File(source.clone(), error))?;
    let links = |clang: &PathBuf| {
        let mut command = Command::new(clang);
        command
            .args(["--target=wasm32", "-nostdlib", "-Wl,--no-entry"])
            .arg(&source)
            .arg("-o")
            .arg(scratch.path().join("empty.wasm"));
        let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    // The error names what to install where there is no clang at all.
    let first = tool::find(&CLANGS, INSTALL)?;
    let found = CLANGS.iter().filter_map(|name| tool::find(&[name], INSTALL).ok()).find(links);
    found.ok_or_else(|| {
        let first = first.display();
        BuildError::Tool(format!("{first} does not compile and link for wasm32; to install one that does: {INSTALL}"))
    })
}
