//! C: a source file that clang compiles for wasm32.

use std::path::Path;

use super::Support;
use crate::build::{BuildError, Steps};
use crate::pack::{Pack, pack};
use crate::project::Sdk;

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

    fn sdk(&self) -> (Pack, &'static str) {
        (pack!("sdk-c"), "c")
    }

    fn sdk_reference(&self, _sdk: &Sdk, _version: &str) -> String {
        String::new()
    }

    fn title(&self) -> &'static str {
        "C"
    }

    fn source(&self) -> &'static str {
        "predicate.c"
    }

    fn toolchain_commands(&self) -> &'static [&'static str] {
        &["sudo apt-get install -y clang lld"]
    }

    fn test_commands(&self) -> &'static [&'static str] {
        &["make test"]
    }

    fn build(&self, _folder: &Path, _steps: &mut Steps<'_>) -> Result<Vec<u8>, BuildError> {
        Err(BuildError::Unsupported("c"))
    }
}
