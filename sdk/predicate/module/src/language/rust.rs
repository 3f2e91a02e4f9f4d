//! Rust: a library crate that cargo compiles for wasm32. What it does not call is not in the module, so its component imports only
//! what it uses. The toolchain is found by `nodesift-guest`.

use std::path::Path;

use nodesift_guest::{BuildError as GuestError, LockFile};

use crate::error::BuildError;
use crate::pack::{Pack, pack};
use crate::sdk::Sdk;
use crate::steps::Steps;
use crate::support::Support;

pub(super) struct Rust;

impl Support for Rust {
    fn recognises(&self, folder: &Path) -> bool {
        folder.join("Cargo.toml").is_file()
    }

    fn template(&self) -> Pack {
        pack!("template-rust")
    }

    fn scorer_template(&self) -> Pack {
        pack!("template-rust-score")
    }

    fn sdk(&self) -> (Pack, &'static str) {
        (pack!("sdk-rust"), "rust")
    }

    fn sdk_reference(&self, sdk: &Sdk, version: &str) -> String {
        match sdk {
            Sdk::Carried => r#"{ path = "sdk/rust" }"#.into(),
            Sdk::Registry => format!("{version:?}"),
            Sdk::Path(path) => format!("{{ path = {:?} }}", path.display().to_string()),
        }
    }

    fn title(&self) -> &'static str {
        "Rust"
    }

    fn source(&self) -> &'static str {
        "src/lib.rs"
    }

    fn toolchain_commands(&self) -> &'static [&'static str] {
        &["rustup target add wasm32-unknown-unknown"]
    }

    fn image(&self) -> &'static str {
        "rust:1.95-bookworm"
    }

    fn test_commands(&self) -> &'static [&'static str] {
        &["cargo test"]
    }

    fn build(&self, folder: &Path, steps: &mut Steps<'_>) -> Result<Vec<u8>, BuildError> {
        let built = steps.run("compile", || nodesift_guest::build(&[folder.to_owned()], None, LockFile::Updated));
        let built = built.map_err(|error| match error {
            GuestError::Toolchain(error) => BuildError::Tool(error.to_string()),
            GuestError::Compile(error) => BuildError::Compile(anyhow::Error::new(error)),
            GuestError::Component { source, .. } => BuildError::Encode(source),
        })?;
        let first = built.into_iter().next().map(|built| built.component);
        first.ok_or_else(|| BuildError::Compile(anyhow::anyhow!("cargo has built nothing")))
    }
}
