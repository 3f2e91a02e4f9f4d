//! Accounting modules for their authors: what `module test`, `check`, `bench` and `inspect` do with one.
//!
//! ```text
//! object    pods and nodes as an accounting module reads them
//! cases     files of cases that begin with `kind: accounting`
//! test      a case and what the module says → differences
//! check     whether a module does what a sidecar needs of it
//! bench     what a call costs
//! inspect   what it is
//! ```
//!
//! The module is granted the annotations that it needs: which of them a policy grants is the policy's affair. Start at [`load`].

mod bench;
mod cases;
mod check;
mod inspect;
mod object;
mod test;

use std::path::Path;

use anyhow::anyhow;
use nodesift_policy::ModuleFile;
use nodesift_sandbox::Runtime;
use nodesift_sandbox::accounting::{Accounting, AccountingError, AccountingGrants};

pub(super) use bench::bench;
pub(super) use cases::Cases;
pub(super) use check::check;
pub(super) use inspect::Document;
use nodesift::exit::Failure;
pub(super) use test::run;

/// Loads a module with the annotations that it needs.
fn load(runtime: &Runtime, file: &ModuleFile, args: &str) -> Result<Accounting, AccountingError> {
    let grants = AccountingGrants { args: args.to_owned(), ..AccountingGrants::default() };
    match runtime.load_accounting(&file.bytes, grants.clone()) {
        Err(AccountingError::NotGranted(annotations)) => {
            runtime.load_accounting(&file.bytes, AccountingGrants { annotations, ..grants })
        }
        loaded => loaded,
    }
}

/// The arguments of a check or benchmark: those that are given, else those of the first case beside the module with arguments that
/// are not to be refused, else none.
fn args_of(path: &Path, given: Option<&str>) -> anyhow::Result<(String, Option<Cases>)> {
    let beside = path.with_file_name(super::cases::CASES_FILE);
    let cases = if beside.is_file() { Cases::read(&beside, Some(path))? } else { None };
    let of_case = || cases.as_ref().and_then(Cases::usual_args).map(str::to_owned);
    Ok((given.map(str::to_owned).or_else(of_case).unwrap_or_else(|| "{}".to_owned()), cases))
}

/// An error of a module that cannot be used.
fn unusable(path: &Path, error: &AccountingError) -> anyhow::Error {
    Failure::Data(anyhow!("{}: {error}", path.display())).into()
}
