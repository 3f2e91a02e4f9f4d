//! Python. The SDK's own program builds the module: componentize-py puts the author's files beside CPython, in a world that imports
//! only what the predicate reads.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::BuildError;
use crate::pack::{Pack, pack};
use crate::sdk::Sdk;
use crate::steps::Steps;
use crate::support::Support;
use crate::tool;

/// The interpreter of the environment that belongs to a project.
const VENV: &str = ".venv/bin/python";

/// The one command that installs what a build needs.
const INSTALL: &str = "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt";

pub(super) struct Python;

impl Support for Python {
    fn recognises(&self, folder: &Path) -> bool {
        folder.join("pyproject.toml").is_file()
    }

    fn template(&self) -> Pack {
        pack!("template-python")
    }

    fn scorer_template(&self) -> Pack {
        pack!("template-python-score")
    }

    fn sdk(&self) -> (Pack, &'static str) {
        (pack!("sdk-python"), "python")
    }

    fn sdk_reference(&self, sdk: &Sdk, version: &str) -> String {
        match sdk {
            Sdk::Carried => "./sdk/python[build]".into(),
            Sdk::Registry => format!("nodesift-predicate[build]=={version}"),
            Sdk::Path(path) => format!("{}[build]", path.display()),
        }
    }

    fn title(&self) -> &'static str {
        "Python"
    }

    fn source(&self) -> &'static str {
        "predicate.py"
    }

    fn toolchain_commands(&self) -> &'static [&'static str] {
        &["python3 --version"]
    }

    fn image(&self) -> &'static str {
        "python:3.12-bookworm"
    }

    fn test_commands(&self) -> &'static [&'static str] {
        &["python3 -m venv .venv", ".venv/bin/pip install -r requirements.txt", ".venv/bin/python -m pytest"]
    }

    fn build(&self, folder: &Path, steps: &mut Steps<'_>) -> Result<Vec<u8>, BuildError> {
        let python = interpreter(folder)?;
        let has_sdk = Command::new(&python)
            .args(["-c", "import nodesift.build"])
            .current_dir(folder)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .status();
        if !has_sdk.is_ok_and(|status| status.success()) {
            return Err(BuildError::Tool(format!(
                "{} has no package nodesift-predicate; in {}: {INSTALL}",
                python.display(),
                folder.display()
            )));
        }
        let scratch = tempfile::tempdir().map_err(|error| BuildError::File(std::env::temp_dir(), error))?;
        let output = scratch.path().join("predicate.wasm");
        let mut command = Command::new(python);
        command.args(["-m", "nodesift", "build"]).arg(folder).arg("--output").arg(&output).current_dir(folder);
        steps.run("put beside CPython", || tool::run(&mut command))?;
        std::fs::read(&output).map_err(|error| BuildError::File(output, error))
    }
}

/// The Python of the project's environment, or else of the environment that is active, or the machine's.
fn interpreter(folder: &Path) -> Result<PathBuf, BuildError> {
    let own = folder.join(VENV);
    if own.is_file() { Ok(own) } else { tool::find(&["python3"], "apt-get install python3 python3-venv") }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn the_environment_of_the_project_comes_first() {
        let project = tempfile::tempdir().unwrap();
        let own = project.path().join(VENV);
        assert_ne!(interpreter(project.path()).ok(), Some(own.clone()));
        std::fs::create_dir_all(own.parent().unwrap()).unwrap();
        std::fs::write(&own, "").unwrap();
        assert_eq!(interpreter(project.path()).unwrap(), own);
    }
}
