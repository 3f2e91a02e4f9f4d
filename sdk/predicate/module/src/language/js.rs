//! JavaScript and TypeScript. The SDK's own program builds the module: esbuild makes one file of the sources, and componentize-qjs puts
//! it beside QuickJS, in a world that imports only what the predicate reads.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::BuildError;
use crate::pack::{Pack, pack};
use crate::sdk::Sdk;
use crate::steps::Steps;
use crate::support::Support;
use crate::tool;

/// The program of the SDK that builds a module, in a folder of npm packages.
const BUILDER: &str = "node_modules/@nodesift/predicate/src/build.js";

/// Packages that a build needs, and the one command that installs them.
const INSTALL: &str = "npm install --save-dev esbuild@0.28.2 componentize-qjs@0.4.5";

pub(super) struct Js {
    /// Whether it is TypeScript.
    pub(super) typed: bool,
}

impl Support for Js {
    fn recognises(&self, folder: &Path) -> bool {
        folder.join("package.json").is_file() && folder.join("tsconfig.json").is_file() == self.typed
    }

    fn template(&self) -> Pack {
        if self.typed { pack!("template-ts") } else { pack!("template-js") }
    }

    fn scorer_template(&self) -> Pack {
        if self.typed { pack!("template-ts-score") } else { pack!("template-js-score") }
    }

    fn sdk(&self) -> (Pack, &'static str) {
        (pack!("sdk-js"), "js")
    }

    fn sdk_reference(&self, sdk: &Sdk, version: &str) -> String {
        match sdk {
            Sdk::Carried => format!("{:?}", "file:./sdk/js"),
            Sdk::Registry => format!("{version:?}"),
            Sdk::Path(path) => format!("{:?}", format!("file:{}", path.display())),
        }
    }

    fn title(&self) -> &'static str {
        if self.typed { "TypeScript" } else { "JavaScript" }
    }

    fn source(&self) -> &'static str {
        if self.typed { "src/predicate.ts" } else { "src/predicate.js" }
    }

    fn toolchain_commands(&self) -> &'static [&'static str] {
        &["node --version"]
    }

    fn image(&self) -> &'static str {
        "node:22-bookworm"
    }

    fn test_commands(&self) -> &'static [&'static str] {
        &["npm install", "npm test"]
    }

    fn build(&self, folder: &Path, steps: &mut Steps<'_>) -> Result<Vec<u8>, BuildError> {
        let node = tool::find(&["node"], "apt-get install nodejs npm, or https://nodejs.org; version 20 or later")?;
        let builder = builder_of(folder).ok_or_else(|| {
            BuildError::Tool(format!(
                "the packages of {} are not installed: run `npm install` there; a project that was not made with \
                 `nodesift-dev module new` needs `{INSTALL} @nodesift/predicate`",
                folder.display()
            ))
        })?;
        let scratch = tempfile::tempdir().map_err(|error| BuildError::File(std::env::temp_dir(), error))?;
        let output = scratch.path().join("predicate.wasm");
        let mut command = Command::new(node);
        command.arg(builder).arg("build").arg(folder).arg("--output").arg(&output);
        steps.run("bundle and put beside QuickJS", || tool::run(&mut command))?;
        std::fs::read(&output).map_err(|error| BuildError::File(output, error))
    }
}

/// The builder of the SDK that is installed for the project: in its folder, or in one above, as in a workspace of npm.
fn builder_of(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().map(|folder| folder.join(BUILDER)).find(|builder| builder.is_file())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn the_sdk_is_found_in_the_project_or_above_it() {
        let root = tempfile::tempdir().unwrap();
        let project = root.path().join("packages/a");
        std::fs::create_dir_all(&project).unwrap();
        assert_eq!(builder_of(&project), None);
        for folder in [root.path(), project.as_path()] {
            let builder = folder.join(BUILDER);
            std::fs::create_dir_all(builder.parent().unwrap()).unwrap();
            std::fs::write(&builder, "").unwrap();
            assert_eq!(builder_of(&project), Some(builder));
        }
    }
}
