//! Checks as a table and as JSON. Start at [`Report::text`].

use std::fmt::Write as _;
use std::time::Duration;

use nodesift_sandbox::{Inspection, PACKAGE};
use serde::Serialize;

use super::super::subject::{Subject, grants};
use super::super::{Import, allow, table_of as table_of_imports};
use crate::args::Format;
use nodesift::cluster::compile_time;
use nodesift::terminal::{Paint, render, table};

/// When a module was compiled whose code is in the cache: by another command, or by a sidecar.
pub(in super::super) const BEFORE: &str = "before: its code was in the cache";

/// Result of one check of a module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(in super::super) struct Check {
    name: &'static str,
    passed: bool,
    detail: String,
    /// Advice for the author where the check has failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<&'static str>,
}

impl Check {
    pub(in super::super) fn passed(name: &'static str, detail: String) -> Self {
        Self { name, passed: true, detail, advice: None }
    }

    pub(in super::super) fn failed(name: &'static str, detail: String, advice: &'static str) -> Self {
        Self { name, passed: false, detail, advice: Some(advice) }
    }
}

impl Check {
    pub(in super::super) fn is_passed(&self) -> bool {
        self.passed
    }
}

/// Results of all checks, with a description of the module.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    file: String,
    digest: String,
    size_bytes: usize,
    /// The version of the contract that it was built for; absent where it does not load, as what follows.
    contract: Option<String>,
    /// Processor time, of all threads together. Absent too where its code was in the cache.
    compile_seconds: Option<f64>,
    cluster_wide: Option<bool>,
    /// How its scores are normalized; absent where it does not score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) normalization: Option<&'static str>,
    /// Whether two nodes had different scores in any question; absent where that was not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) distinguishes_nodes: Option<bool>,
    imports: Vec<Import>,
    limits: Limits,
    pub(super) checks: Vec<Check>,
}

/// Limits and arguments that the policy grants the module.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Limits {
    memory_bytes: usize,
    output_bytes: usize,
    log_lines: u32,
    /// Absent where it follows from the number of rows.
    time_per_call_ms: Option<f64>,
    args: String,
}

impl Report {
    pub(super) fn new(subject: &Subject) -> Self {
        let granted = grants(&subject.policy);
        Self {
            file: subject.path.display().to_string(),
            digest: subject.file.digest(),
            size_bytes: subject.file.bytes.len(),
            contract: None,
            compile_seconds: None,
            cluster_wide: None,
            normalization: None,
            distinguishes_nodes: None,
            imports: Vec::new(),
            limits: Limits {
                memory_bytes: granted.memory_bytes,
                output_bytes: granted.output_bytes,
                log_lines: granted.log_lines,
                time_per_call_ms: granted.time_per_call.map(|time| time.as_secs_f64() * 1e3),
                args: granted.args,
            },
            checks: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, check: Check) {
        self.checks.push(check);
    }

    pub(super) fn inspected(&mut self, inspection: &Inspection, compiled_in: Option<Duration>) {
        self.contract = Some(inspection.contract.clone());
        self.compile_seconds = compiled_in.map(|took| took.as_secs_f64());
        self.cluster_wide = Some(inspection.imports.iter().any(|interface| interface.is_cluster_wide()));
        self.imports = inspection.imports.iter().copied().map(Import::new).collect();
    }

    /// How many checks failed.
    pub(super) fn failed(&self) -> usize {
        self.checks.iter().filter(|check| !check.passed).count()
    }

    /// All of it in one format.
    ///
    /// # Errors
    ///
    /// If it does not encode.
    pub(super) fn text(&self, format: Format) -> anyhow::Result<String> {
        Ok(match format {
            Format::Table => self.table(Paint::for_stdout()),
            Format::Json => serde_json::to_string_pretty(self)? + "\n",
            Format::Jsonl => serde_json::to_string(self)? + "\n",
            Format::Yaml => serde_saphyr::to_string(self)?,
        })
    }

    fn table(&self, paint: Paint) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail.
        let _infallible = writeln!(out, "{:<10} {}\n{:<10} {}", "file", self.file, "digest", self.digest);
        if let Some(contract) = &self.contract {
            let _infallible = writeln!(out, "{:<10} {PACKAGE} {contract}", "contract");
            let _infallible = writeln!(out, "{:<10} {}", "allow", allow(&self.imports));
            let evaluated = match self.cluster_wide {
                Some(true) => "over all nodes at once",
                _ => "node by node",
            };
            let _infallible = writeln!(out, "{:<10} {evaluated}", "evaluated");
        }
        if let Some(normalization) = self.normalization {
            let _infallible = writeln!(out, "{:<10} nodes, normalization {normalization}", "scores");
        }
        let _infallible = writeln!(out, "{:<10} {}", "args", self.limits.args);
        if self.contract.is_some() {
            let _infallible = writeln!(out, "\n{}", table_of_imports(&self.imports, paint));
        }
        format!("{out}\n{}", table_of(&self.checks, paint))
    }
}

/// Checks, and what to do about those that have failed.
pub(in super::super) fn table_of(checks: &[Check], paint: Paint) -> String {
    let mut rows = table(paint, &["CHECK", "RESULT", "WHAT WAS FOUND"], &[]);
    for check in checks {
        rows.add_row([check.name, if check.passed { "ok" } else { "FAILED" }, &check.detail]);
    }
    let mut out = format!("{}\n", render(&rows));
    for check in checks.iter().filter(|check| !check.passed) {
        // Writing to a String cannot fail.
        let _infallible = writeln!(out, "\n{}: {}", paint.bad(check.name), check.advice.unwrap_or_default());
    }
    out
}

/// How long a module was compiled, as the limit counts it.
pub(in super::super) fn compiled(taken: Option<Duration>) -> String {
    let Some(taken) = taken else { return BEFORE.to_owned() };
    let build = if cfg!(debug_assertions) { ", which is that of a development build" } else { "" };
    format!("with {:.1} s of processor time, of at most {} s{build}", taken.as_secs_f64(), compile_time().as_secs())
}
