//! Go: a main package that the Go toolchain compiles for wasip1.

use std::path::Path;

use super::Support;
use crate::build::{BuildError, Steps};
use crate::pack::{Pack, pack};
use crate::project::Sdk;

pub(super) struct Go;

impl Support for Go {
    fn recognises(&self, folder: &Path) -> bool {
        folder.join("go.mod").is_file()
    }

    fn template(&self) -> Pack {
        pack!("template-go")
    }

    fn sdk(&self) -> (Pack, &'static str) {
        (pack!("sdk-go"), "go")
    }

    fn sdk_reference(&self, _sdk: &Sdk, _version: &str) -> String {
        String::new()
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

    fn test_commands(&self) -> &'static [&'static str] {
        &["go test ./..."]
    }

    fn build(&self, _folder: &Path, _steps: &mut Steps<'_>) -> Result<Vec<u8>, BuildError> {
        Err(BuildError::Unsupported("go"))
    }
}
