//! Answers → stdout: JSON lines as they come; a table, JSON or YAML at the end. Documents of other commands are in the same formats:
//! see [`written`].
//!
//! ```text
//! document  the structure of JSON, JSON lines and YAML
//! group     pods with the same answer
//! faults    calls that failed, in both
//! table     the tables of filter and explain
//!   parties of these, what external parties have said
//! scores    scores of nodes, in tables and documents
//! why       the screens of why
//! ```
//!
//! How tables are drawn is in [`terminal`](crate::terminal). Start at [`Report`].

mod document;
mod faults;
mod group;
mod parties;
mod scores;
mod table;
pub(crate) mod why;

use std::io::{self, BufWriter, Stdout, Write as _};

use anyhow::Context as _;
use nodesift_proto::v1;
use serde::Serialize;

use crate::args::Format;
use crate::terminal::{self, Paint, write_error};
use document::Document;
use nodesift_engine::KubernetesVersion;
use table::Tabular;

/// A document in a format, with its line break. `table` is called only where a table is wanted.
///
/// # Errors
///
/// If the document does not encode.
pub fn written(format: Format, document: &impl Serialize, table: impl FnOnce() -> String) -> anyhow::Result<String> {
    Ok(match format {
        Format::Table => table(),
        Format::Json => format!("{}\n", serde_json::to_string_pretty(document)?),
        Format::Jsonl => format!("{}\n", serde_json::to_string(document)?),
        Format::Yaml => serde_saphyr::to_string(document)?,
    })
}

/// An answer about one pod that can be printed in every format.
pub(crate) trait Reported: Document + Tabular {}

impl Reported for v1::PodAnswer {}
impl Reported for v1::PodExplanation {}

/// Answers from one snapshot and one policy.
pub(crate) struct Answers<A> {
    version: v1::Version,
    pods: Vec<A>,
}

impl<A> Answers<A> {
    /// The answers about `pods`, and the version that they were computed from.
    pub(crate) fn new(version: Option<v1::Version>, pods: Vec<A>) -> Self {
        Self { version: version.unwrap_or_default(), pods }
    }
}

/// Prints answers in one format. JSON lines are printed as answers are added, other formats by [`Report::finish`].
pub(crate) struct Report<A> {
    format: Format,
    out: BufWriter<Stdout>,
    pods: Vec<A>,
    version: Option<v1::Version>,
    /// Whose verdicts they are, for people; none where that is not known.
    verdicts: Option<String>,
    /// Whether the answers have different versions.
    mixed: bool,
}

impl<A: Reported> Report<A> {
    pub(crate) fn new(format: Format) -> Self {
        Self {
            format,
            out: BufWriter::new(io::stdout()),
            pods: Vec::new(),
            version: None,
            verdicts: None,
            mixed: false,
        }
    }

    /// Says in the first line of tables which version's verdicts the answers are, and without which predicates; on stderr beside other
    /// formats.
    pub(crate) fn under(self, kubernetes: &KubernetesVersion, skip: &[String]) -> Self {
        let without = if skip.is_empty() { String::new() } else { format!(", without {}", skip.join(", ")) };
        let text = format!("verdicts of {}{without}", kubernetes.describe());
        if self.format != Format::Table {
            terminal::note(&text);
        }
        Self { verdicts: Some(text), ..self }
    }

    /// Adds answers.
    ///
    /// # Errors
    ///
    /// If stdout cannot be written to.
    pub(crate) fn add(&mut self, answers: Answers<A>) -> anyhow::Result<()> {
        self.mixed |= self.version.as_ref().is_some_and(|version| *version != answers.version);
        self.version = Some(answers.version);
        if self.format == Format::Jsonl {
            for pod in &answers.pods {
                pod.write_lines(&mut self.out).map_err(write_error)?;
            }
            self.out.flush().map_err(write_error)
        } else {
            self.pods.extend(answers.pods);
            Ok(())
        }
    }

    /// Prints the formats that need all answers.
    ///
    /// # Errors
    ///
    /// If an answer does not encode, or stdout cannot be written to.
    pub(crate) fn finish(mut self) -> anyhow::Result<()> {
        let text = match self.format {
            Format::Jsonl => String::new(),
            Format::Json => {
                let documents: Vec<_> = self.pods.iter().map(Document::document).collect();
                serde_json::to_string_pretty(&documents).context("cannot encode the answer as JSON")? + "\n"
            }
            Format::Yaml => {
                let documents: Vec<_> = self.pods.iter().map(Document::document).collect();
                serde_saphyr::to_string(&documents).context("cannot encode the answer as YAML")?
            }
            Format::Table => self.table(Paint::for_stdout()),
        };
        self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()).map_err(write_error)
    }

    fn table(&self, paint: Paint) -> String {
        let groups = group::groups(&self.pods);
        let mut text = table::headline(&self.pods, groups.len(), paint);
        if let Some(version) = &self.version {
            let mixed = if self.mixed { "several versions; the last: " } else { "" };
            let verdicts = self.verdicts.as_ref().map(|text| format!("{}; ", terminal::escaped(text)));
            let label = format!(
                "  {}{mixed}snapshot generation {}, policy generation {}",
                verdicts.unwrap_or_default(),
                version.generation,
                version.policy_generation
            );
            text.push_str(&paint.dim(&label));
        }
        text.push('\n');
        text.push_str(&A::table(&groups, paint));
        text
    }
}
