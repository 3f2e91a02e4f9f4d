//! Go: a main package that the Go toolchain compiles for wasip1, as a library. Its runtime starts at build time, once. What the package
//! does not call is not in the module, so its component imports only what it uses.

mod overlay;

use std::path::Path;
use std::process::Command;

use crate::encode::{self, World};
use crate::error::BuildError;
use crate::pack::{Pack, pack};
use crate::pre_initialise::pre_initialise;
use crate::sdk::Sdk;
use crate::steps::Steps;
use crate::support::Support;
use crate::tool;

/// The path of the SDK's module.
const MODULE: &str = "github.com/nodesift/nodesift/sdk/predicate/go";

/// The function of a library that starts Go's runtime and the packages.
const INITIALISE: &str = "_initialize";

pub(super) struct Go;

impl Support for Go {
    fn recognises(&self, folder: &Path) -> bool {
        folder.join("go.mod").is_file()
    }

    fn template(&self) -> Pack {
        pack!("template-go")
    }

    fn scorer_template(&self) -> Pack {
        pack!("template-go-score")
    }

    fn sdk(&self) -> (Pack, &'static str) {
        (pack!("sdk-go"), "go")
    }

    fn sdk_reference(&self, sdk: &Sdk, version: &str) -> String {
        let required = format!("require {MODULE} v{version}\n");
        match sdk {
            Sdk::Carried => format!("{required}\nreplace {MODULE} => ./sdk/go\n"),
            Sdk::Registry => required,
            Sdk::Path(path) => format!("{required}\nreplace {MODULE} => {:?}\n", path.display().to_string()),
        }
    }

    fn title(&self) -> &'static str {
        "Go"
    }

    fn source(&self) -> &'static str {
        "predicate.go"
    }

    fn toolchain_commands(&self) -> &'static [&'static str] {
        &["go version"]
    }

    fn image(&self) -> &'static str {
        "golang:1.26-bookworm"
    }

    fn test_commands(&self) -> &'static [&'static str] {
        &["go test ./..."]
    }

    fn build(&self, folder: &Path, steps: &mut Steps<'_>) -> Result<Vec<u8>, BuildError> {
        let go = tool::find(&["go"], "https://go.dev/dl; version 1.24 or later")?;
        let scratch = tempfile::tempdir().map_err(|error| BuildError::File(std::env::temp_dir(), error))?;
        let output = scratch.path().join("module.wasm");
        let overlay = overlay::write(&go, folder, scratch.path())?;
        let mut command = Command::new(go);
        // Without paths of this machine, the state of its version control and debugging information, the same source gives the same
        // bytes everywhere. Names of functions stay: a deadline says in which it was.
        command.args(["build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-w", "-overlay"]);
        command.arg(&overlay).arg("-o").arg(&output).arg(".").current_dir(folder);
        command.env("GOOS", "wasip1").env("GOARCH", "wasm").env("CGO_ENABLED", "0").env_remove("GOWASM");
        steps.run("compile", || tool::run(&mut command))?;
        let module = std::fs::read(&output).map_err(|error| BuildError::File(output, error))?;
        let module = steps.run("initialise", || pre_initialise(&module, INITIALISE));
        let module = module.map_err(BuildError::Initialise)?;
        Ok(steps.run("encode", || encode::encode(&module, World::Whole))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_says_where_the_sdk_is() {
        let line = format!("require {MODULE} v1.2.3\n");
        let of = |sdk: &Sdk| Go.sdk_reference(sdk, "1.2.3");
        assert_eq!(of(&Sdk::Registry), line);
        assert_eq!(of(&Sdk::Carried), format!("{line}\nreplace {MODULE} => ./sdk/go\n"));
        let path = Sdk::Path("/with a blank/sdk".into());
        assert_eq!(of(&path), format!("{line}\nreplace {MODULE} => \"/with a blank/sdk\"\n"));
    }
}
