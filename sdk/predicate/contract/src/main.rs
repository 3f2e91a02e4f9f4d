//! Writes the generated files, or says which of them are not those of the contract. `make contract` runs the first.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, bail};

fn main() -> anyhow::Result<ExitCode> {
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).context("this crate is not in its repository")?;
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outputs = nodesift_contract::outputs(root)?;
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["write"] => {
            for output in &outputs {
                output.write(root).with_context(|| output.path().to_owned())?;
            }
            Ok(ExitCode::SUCCESS)
        }
        ["check"] => {
            for output in &outputs {
                output.check(root).with_context(|| output.path().to_owned())?;
            }
            Ok(ExitCode::SUCCESS)
        }
        _ => bail!("expected `write` or `check`"),
    }
}
