//! Description of an accounting module, as a table and as a document. Start at [`Document::inspect`].

use std::fmt::Write as _;
use std::path::Path;

use nodesift_policy::ModuleFile;
use nodesift_sandbox::accounting::{
    ACCOUNTING_PACKAGE, AccountingError, AccountingInspection, Needs, ObjectInterface, inspect_accounting,
};
use serde::Serialize;

use super::{args_of, load, unusable};
use nodesift::cluster;
use nodesift::terminal::{Paint, render, table};

/// Description of an accounting module.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Document {
    kind: &'static str,
    file: String,
    digest: String,
    size_bytes: usize,
    /// The version of the contract that it was built for.
    contract: String,
    /// The arguments with which it has these needs.
    args: String,
    /// Keys of annotations that it reads; absent where it refuses the arguments, as what follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<Vec<String>>,
    /// Names of the sums that it makes.
    #[serde(skip_serializing_if = "Option::is_none")]
    sums: Option<Vec<String>>,
    imports: Vec<Import>,
}

#[derive(Debug, Serialize)]
struct Import {
    interface: &'static str,
    /// Facts that can be read through the interface.
    gives: &'static str,
}

impl Document {
    /// Describes a module, with its needs for the arguments of the cases beside it; none for one that is no accounting module.
    ///
    /// # Errors
    ///
    /// [`Failure::Data`](nodesift::exit::Failure::Data) if it cannot be loaded.
    pub(in super::super) fn inspect(path: &Path, file: &ModuleFile) -> anyhow::Result<Option<Self>> {
        let Some(inspected) = inspect_accounting(&file.bytes) else { return Ok(None) };
        let inspected = inspected.map_err(|error| unusable(path, &error))?;
        // Cases that cannot be read are told by `module test`.
        let args = args_of(path, None).map_or_else(|_| "{}".to_owned(), |(args, _)| args);
        let needs = match load(&cluster::runtime()?, file, &args) {
            Ok(accounting) => Some(accounting.needs().clone()),
            Err(AccountingError::Refused(_)) => None,
            Err(error) => return Err(unusable(path, &error)),
        };
        Ok(Some(Self::new(path, file, &inspected, args, needs.as_ref())))
    }

    pub(super) fn new(
        path: &Path,
        file: &ModuleFile,
        inspected: &AccountingInspection,
        args: String,
        needs: Option<&Needs>,
    ) -> Self {
        let texts = |texts: &[std::sync::Arc<str>]| texts.iter().map(ToString::to_string).collect();
        let import = |interface: &ObjectInterface| Import { interface: interface.name(), gives: interface.meaning() };
        Self {
            kind: "accounting",
            file: path.display().to_string(),
            digest: file.digest(),
            size_bytes: file.bytes.len(),
            contract: inspected.contract.clone(),
            args,
            annotations: needs.map(|needs| texts(&needs.annotations)),
            sums: needs.map(|needs| texts(&needs.sums)),
            imports: inspected.imports.iter().map(import).collect(),
        }
    }

    pub(in super::super) fn table(&self, paint: Paint) -> String {
        let list = |items: Option<&[String]>| match items {
            None => "not known: it refuses the arguments".to_owned(),
            Some(items) => format!("[{}]", items.join(", ")),
        };
        let allow: Vec<&str> = self.imports.iter().map(|import| import.interface).collect();
        let mut out = String::new();
        for (name, value) in [
            ("kind", "accounting: what a pod takes of its node".to_owned()),
            ("file", self.file.clone()),
            ("size", format!("{} bytes", self.size_bytes)),
            ("digest", self.digest.clone()),
            ("contract", format!("{ACCOUNTING_PACKAGE} {}", self.contract)),
            ("args", self.args.clone()),
            ("annotations", list(self.annotations.as_deref())),
            ("sums", list(self.sums.as_deref())),
            ("allow", format!("[{}]", allow.join(", "))),
        ] {
            let _infallible = writeln!(out, "{name:<11} {value}");
        }
        let mut rows = table(paint, &["IMPORTS", "WHAT IT CAN READ THEREBY"], &[]);
        self.imports.iter().for_each(|import| {
            rows.add_row([import.interface, import.gives]);
        });
        match self.imports.is_empty() {
            true => out + "\nit imports nothing: it says the same of every object",
            false => format!("{out}\n{}", render(&rows)),
        }
    }
}
