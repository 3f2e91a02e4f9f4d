//! Answers → stdout: JSON lines as they come, or a table, JSON or YAML at the end.
//!
//! ```text
//! document  the shapes of JSON, JSON lines and YAML
//! shape     pods with the same answer, taken together
//! table     what people read
//! paint     colour, where there is a terminal that wants it
//! ```
//!
//! Start at [`Report`].

mod document;
mod paint;
mod shape;
mod table;

use std::io::{self, BufWriter, Stdout, Write};

use anyhow::Context as _;
use nodesift_proto::v1;
use serde::Serialize;

use super::args::Format;
use super::ask::Batch;
use super::exit::Failure;
pub(super) use paint::Paint;
pub(super) use table::{drawn, table};

/// An answer about one pod that can be printed.
pub(super) trait Reported: Clone {
    /// One element of `-o json` and `-o yaml`.
    fn document(&self) -> impl Serialize + '_;
    /// Its lines of `-o jsonl`.
    fn write_lines(&self, out: &mut dyn Write) -> io::Result<()>;
    /// `namespace/name`.
    fn pod(&self) -> &str;
    /// The same answer about no pod in particular: what pods must share to share a place in a table.
    fn without_pod(&self) -> Self;
    /// How many nodes were asked about.
    fn nodes(&self) -> u32;
    /// The answers as a table for people.
    fn table(shapes: &[shape::Shape<Self>], paint: Paint) -> String;
}

/// Answers on their way to stdout.
pub(super) struct Report<A> {
    format: Format,
    out: BufWriter<Stdout>,
    answers: Vec<A>,
    version: Option<v1::Version>,
    /// Whether answers came from more than one snapshot or policy.
    mixed: bool,
}

impl<A: Reported> Report<A> {
    pub(super) fn new(format: Format) -> Self {
        Self { format, out: BufWriter::new(io::stdout()), answers: Vec::new(), version: None, mixed: false }
    }

    /// Takes answers in; as JSON lines they are printed at once.
    pub(super) fn add(&mut self, batch: Batch<A>) -> anyhow::Result<()> {
        self.mixed |= self.version.as_ref().is_some_and(|version| *version != batch.version);
        self.version = Some(batch.version);
        if self.format == Format::Jsonl {
            for answer in &batch.answers {
                answer.write_lines(&mut self.out).map_err(unwritable)?;
            }
            self.out.flush().map_err(unwritable)
        } else {
            self.answers.extend(batch.answers);
            Ok(())
        }
    }

    /// Prints what is printed as a whole.
    pub(super) fn finish(mut self) -> anyhow::Result<()> {
        let text = match self.format {
            Format::Jsonl => String::new(),
            Format::Json => {
                let documents: Vec<_> = self.answers.iter().map(Reported::document).collect();
                serde_json::to_string_pretty(&documents).context("the answer does not encode")? + "\n"
            }
            Format::Yaml => {
                let documents: Vec<_> = self.answers.iter().map(Reported::document).collect();
                serde_saphyr::to_string(&documents).context("the answer does not encode")?
            }
            Format::Table => self.tables(Paint::for_stdout()),
        };
        self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()).map_err(unwritable)
    }

    fn tables(&self, paint: Paint) -> String {
        let shapes = shape::shapes(&self.answers);
        let nodes = self.answers.first().map_or(0, Reported::nodes);
        let mut text = paint.bold(&format!(
            "{} in {}, {}",
            counted(self.answers.len(), "pod"),
            counted(shapes.len(), "shape"),
            counted(nodes as usize, "node"),
        ));
        if let Some(version) = &self.version {
            let several = if self.mixed { "the last of several: " } else { "" };
            let named = format!("  {several}snapshot {}, policy {}", version.generation, version.policy_generation);
            text.push_str(&paint.dim(&named));
        }
        text.push('\n');
        text.push_str(&A::table(&shapes, paint));
        text
    }
}

/// Prints an answer that is text already.
pub(super) fn print(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(unwritable)
}

/// `1 pod`, `2 pods`.
fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// A failed write; a reader that has stopped reading is told apart, since that is no error.
fn unwritable(error: io::Error) -> anyhow::Error {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Failure::ReaderGone.into();
    }
    anyhow::Error::new(error).context("cannot write to stdout")
}

/// Text from elsewhere as a terminal may see it: control characters are shown, not obeyed. Line breaks stay.
pub(super) fn plain(text: &str) -> String {
    let hidden =
        |c: char| c.is_control() && c != '\n' || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if hidden(c) { shown.extend(c.escape_unicode()) } else { shown.push(c) }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_and_not_obeyed() {
        assert_eq!(plain("a\u{1b}[31mb\rc\nd\u{9b}é\u{202e}"), "a\\u{1b}[31mb\\u{d}c\nd\\u{9b}é\\u{202e}");
    }
}
