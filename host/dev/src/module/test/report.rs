//! The results of cases as text and JSON. Start at [`Report::text`].

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::super::scoring::{Scoring, ranked, table_of};
use super::compare::{Difference, line_text};
use super::{Missed, Result};
use crate::args::Format;
use nodesift::terminal::{Paint, counted};
use nodesift_sandbox::Line;

/// Results of the cases of a file.
#[derive(Debug)]
pub(in super::super) struct Report {
    pub(in super::super) file: String,
    pub(in super::super) results: Vec<Result>,
    pub(in super::super) missed: Missed,
}

impl Report {
    /// How many cases failed.
    pub(super) fn failed(&self) -> usize {
        self.results.iter().filter(|result| !result.differences.is_empty()).count()
    }

    /// All of it in one format.
    ///
    /// # Errors
    ///
    /// If it does not encode.
    pub(super) fn text(&self, format: Format) -> anyhow::Result<String> {
        Ok(match format {
            Format::Table => self.table(Paint::for_stdout()),
            Format::Json => serde_json::to_string_pretty(&self.document())? + "\n",
            Format::Yaml => serde_saphyr::to_string(&self.document())?,
            Format::Jsonl => {
                let lines = self.results.iter().map(|result| format!("{}\n", self.case(result)));
                lines.collect()
            }
        })
    }

    fn document(&self) -> Value {
        let cases: Vec<Value> = self.results.iter().map(|result| self.case(result)).collect();
        let mut document = json!({"file": self.file, "cases": cases, "failed": self.failed()});
        if !self.missed.is_empty() {
            document["missed"] = json!(self.missed);
        }
        document
    }

    fn case(&self, result: &Result) -> Value {
        let lines: Vec<String> = result.lines.iter().map(line_text).collect();
        let mut case = json!({
            "file": self.file,
            "line": result.line,
            "name": result.name,
            "module": result.module,
            "digest": result.digest,
            "passed": result.differences.is_empty(),
            "differences": result.differences,
            "log": lines,
        });
        if let (Some(case), Some(fault)) = (case.as_object_mut(), &result.fault) {
            case.insert("fault".to_owned(), json!({"kind": fault.kind.name(), "detail": fault.detail}));
        }
        if let (Some(case), Some((scoring, nodes))) = (case.as_object_mut(), &result.scoring) {
            let (field, value) = match scoring {
                Scoring::Skipped => ("skipped", json!(true)),
                Scoring::Failed(text) => ("error", json!(text)),
                Scoring::Scored(scores) => ("scores", json!(ranked(nodes.iter().map(String::as_str), scores))),
            };
            case.insert(field.to_owned(), value);
        }
        case
    }

    fn table(&self, paint: Paint) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail.
        for result in &self.results {
            if result.differences.is_empty() {
                let _infallible = writeln!(out, "{}  {}", paint.good("ok    "), result.name);
                continue;
            }
            let place = format!("{}:{}", self.file, result.line);
            out += &failed_text(paint, &result.name, &place, &result.differences, &result.lines);
            if result.dropped > 0 {
                let dropped = counted(usize::try_from(result.dropped).unwrap_or(usize::MAX), "more line");
                let _infallible = writeln!(out, "  log {dropped} dropped: raise limits.logLines");
            }
        }
        let (failed, all) = (self.failed(), self.results.len());
        let summary = match failed {
            0 => format!("{} passed", counted(all, "case")),
            failed => format!("{failed} of {} failed", counted(all, "case")),
        };
        let _infallible = writeln!(out, "{}", paint.bold(&summary));
        for result in &self.results {
            if let Some((scoring, nodes)) = &result.scoring {
                let _infallible = write!(out, "\n{}", scores_text(paint, &result.name, scoring, nodes));
            }
        }
        if !self.missed.is_empty() {
            let _infallible = write!(out, "\n{}", self.missed.text());
        }
        out
    }
}

/// The scores of a case: the best nodes, or why there are none.
fn scores_text(paint: Paint, name: &str, scoring: &Scoring, nodes: &[String]) -> String {
    let name = paint.bold(name);
    match scoring {
        Scoring::Skipped => format!("{name}: skipped, it has nothing to say about the pod\n"),
        Scoring::Failed(text) => format!("{name}: the pod cannot be scored: {text}\n"),
        Scoring::Scored(scores) => {
            format!("{name}\n{}", table_of(&ranked(nodes.iter().map(String::as_str), scores), paint))
        }
    }
}

/// Lines about a case that fails: its place, every difference, and what was written. `place` is file and line.
pub(super) fn failed_text(paint: Paint, name: &str, place: &str, differences: &[Difference], lines: &[Line]) -> String {
    // Writing to a String cannot fail.
    let mut out = format!("{}  {name}{}\n", paint.bad("FAILED"), paint.dim(&format!("  {place}")));
    for difference in differences {
        if let Some(node) = &difference.node {
            let _infallible = writeln!(out, "  node {node}");
        }
        let _infallible = writeln!(out, "  - {}\n  + {}", difference.expected, difference.actual);
    }
    for line in lines {
        let _infallible = writeln!(out, "  log {}", line_text(line));
    }
    out
}
