//! The policy document as written: parsed, but not interpreted.
//!
//! Enumerated texts, quantities and durations are kept as written, with line and column. A field that is unknown, there twice,
//! or of the wrong type is a [`Problem`] and is left out, so that [`spec`](crate::spec) can report it together with everything
//! else that is wrong. Only text that is not YAML ends at its first problem. The maps of a document are declared by
//! [`declare`](crate::declare): its head here, each map of `spec` where it is checked. Start at [`read`].

use serde_json::json;

use crate::declare::{DocumentMap, MISSING, Unread, declare_map};
use crate::parts::{self, Part};
use crate::problem::Problem;
use crate::spec::{API_VERSION, KIND, SpecFields};
use crate::tree::{self, At, Reader, Tree};

declare_map! {
    /// A policy document. What is absent or cannot be read is `None`.
    pub(crate) struct Document: json!({});
    /// API version, which must be `nodesift.dev/v1alpha1`.
    api_version: At<String> = "apiVersion" (Required), json!({"const": API_VERSION});
    /// Kind of the object, which must be `PredicatePolicy`.
    kind: At<String> = "kind" (Required), json!({"const": KIND});
    /// Metadata of the object, of which the name alone is read.
    metadata: At<Metadata> = "metadata", Metadata::schema();
    /// Fields of `spec`: the predicates of the policy, and what they may read.
    spec: At<SpecFields> = "spec" (Required), SpecFields::schema();
}

declare_map! {
    /// Fields of `metadata`, as written.
    pub(crate) struct Metadata: json!({});
    /// The policy's name, shown to operators.
    name: At<String> = "name", json!({"type": "string", "description": "The policy's name, shown to operators"});
    #[allow(dead_code, reason = "known, and not read")]
    labels: Unread = "labels", json!({"description": "Not read"});
    #[allow(dead_code, reason = "known, and not read")]
    annotations: Unread = "annotations", json!({"description": "Not read"});
}

/// Parses a document in YAML or JSON. Returns it with the problems of its fields; what has one is absent.
///
/// # Errors
///
/// The problem that keeps the text from being a document.
pub(crate) fn read(text: &str) -> Result<(Document, Vec<Problem>), Problem> {
    if text.trim().is_empty() {
        return Err(empty());
    }
    read_tree(&tree::parse(text)?)
}

fn empty() -> Problem {
    let reason = "empty; expected a PredicatePolicy".to_owned();
    Problem { file: None, line: 0, column: 0, field: String::new(), reason }
}

/// Parses several files as one document, as [`read`] does with one. Where a file cannot be read, only problems that do not follow from that
/// are reported.
///
/// # Errors
///
/// The problems that keep the files from being a document.
pub(crate) fn read_parts(parts: &[Part]) -> Result<(Document, Vec<Problem>), Vec<Problem>> {
    let (merged, mut problems) = parts::merge(parts);
    let outcome = merged.map(|tree| read_tree(&tree));
    let found = match outcome {
        Some(Ok(read)) if problems.is_empty() => return Ok(read),
        Some(Ok((_, found))) => found,
        Some(Err(problem)) => vec![problem],
        None if problems.is_empty() => vec![empty()],
        None => Vec::new(),
    };
    // What is missing may be in a file that cannot be read.
    let is_elsewhere = |problem: &Problem| Document::FIELDS.contains(&&*problem.field) && problem.reason == MISSING;
    problems.extend(found.into_iter().filter(|problem| !is_elsewhere(problem)));
    problems.sort_by(Problem::compare);
    Err(problems)
}

/// Parses a document as [`read`] does, from a text that nobody has written as such: problems have a field, and neither line nor column.
///
/// # Errors
///
/// The errors of [`read`].
pub(crate) fn read_without_places(text: &str) -> Result<(Document, Vec<Problem>), Problem> {
    let mut tree = tree::parse(text).map_err(|problem| Problem { line: 0, column: 0, ..problem })?;
    tree.forget_places();
    read_tree(&tree)
}

fn read_tree(tree: &At<Tree>) -> Result<(Document, Vec<Problem>), Problem> {
    let mut reader = Reader::default();
    match Document::read(&mut reader, tree, "") {
        Some(document) => Ok((document, reader.problems)),
        None => Err(reader.problems.remove(0)),
    }
}
