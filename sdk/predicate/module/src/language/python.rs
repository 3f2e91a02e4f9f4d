//! Python: a module that componentize-py puts beside its interpreter.

use std::path::Path;

use super::Support;
use crate::build::{BuildError, Steps};
use crate::pack::{Pack, pack};
use crate::project::Sdk;

pub(super) struct Python;

impl Support for Python {
    fn recognises(&self, folder: &Path) -> bool {
        folder.join("pyproject.toml").is_file()
    }

    fn template(&self) -> Pack {
        pack!("template-python")
    }

    fn sdk(&self) -> (Pack, &'static str) {
        (pack!("sdk-python"), "python")
    }

    fn sdk_reference(&self, _sdk: &Sdk, _version: &str) -> String {
        String::new()
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

    fn test_commands(&self) -> &'static [&'static str] {
        &["python3 -m unittest"]
    }

    fn build(&self, _folder: &Path, _steps: &mut Steps<'_>) -> Result<Vec<u8>, BuildError> {
        Err(BuildError::Unsupported("python"))
    }
}
