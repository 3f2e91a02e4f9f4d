//! JavaScript and TypeScript: a module that is put beside an interpreter.

use std::path::Path;

use super::Support;
use crate::build::{BuildError, Steps};
use crate::pack::{Pack, pack};
use crate::project::Sdk;

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

    fn sdk(&self) -> (Pack, &'static str) {
        (pack!("sdk-js"), "js")
    }

    fn sdk_reference(&self, _sdk: &Sdk, _version: &str) -> String {
        String::new()
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

    fn test_commands(&self) -> &'static [&'static str] {
        &["npm install", "npm test"]
    }

    fn build(&self, _folder: &Path, _steps: &mut Steps<'_>) -> Result<Vec<u8>, BuildError> {
        Err(BuildError::Unsupported(if self.typed { "ts" } else { "js" }))
    }
}
