//! The policy document as written: parsed, but not interpreted.
//!
//! Enumerated texts, quantities and durations are kept as written, with line and column, so that [`spec`](crate::spec) can
//! report everything that is wrong with them at once. Broken YAML, an unknown field, a field twice and a value of the wrong
//! type end parsing at the first [`Problem`]. Start at [`read`].

use std::fmt;

use serde::Deserialize;
use serde_json::Value;
use serde_saphyr::{MessageFormatter, Spanned, UserMessageFormatter};

/// A policy document.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Document {
    /// `nodesift.dev/v1alpha1`.
    pub api_version: Spanned<String>,
    /// `PredicatePolicy`.
    pub kind: Spanned<String>,
    /// The policy's metadata.
    #[serde(default)]
    pub metadata: Option<Metadata>,
    /// The policy itself.
    pub spec: Spanned<Spec>,
}

/// `metadata`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metadata {
    /// The policy's name, shown to operators.
    #[serde(default)]
    pub name: Option<String>,
    /// Not read.
    #[serde(default)]
    pub labels: Option<Value>,
    /// Not read.
    #[serde(default)]
    pub annotations: Option<Value>,
}

/// `spec`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Spec {
    /// The schedulers whose pods are evaluated. Required, checked later.
    #[serde(default)]
    pub scheduler_names: Option<Spanned<Vec<Spanned<String>>>>,
    /// The predicates that run, in evaluation order. Required, checked later.
    #[serde(default)]
    pub predicates: Option<Spanned<Vec<Spanned<Predicate>>>>,
    /// Facts that predicates can read only where the policy lists them.
    #[serde(default)]
    pub facts: Option<Facts>,
}

/// `spec.facts`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// Keys of the annotations that predicates may read.
    #[serde(default)]
    pub annotations: Option<Spanned<Vec<Spanned<String>>>>,
}

/// One entry of `spec.predicates`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Predicate {
    /// The name of a built-in, or a name for a custom module.
    pub name: Spanned<String>,
    /// The phases in which it runs: `allocate`, `reserve`.
    #[serde(default)]
    pub phases: Option<Spanned<Vec<Spanned<String>>>>,
    /// Its arguments: a map, which the module receives as JSON.
    #[serde(default)]
    pub args: Option<Spanned<Value>>,
    /// Where its module is; absent for a built-in.
    #[serde(default)]
    pub module: Option<Spanned<Module>>,
    /// Names of the only interfaces that it may import.
    #[serde(default)]
    pub allow: Option<Vec<Spanned<String>>>,
    /// What replaces its verdict when it fails: `Reject` or `Ignore`.
    #[serde(default)]
    pub on_error: Option<Spanned<String>>,
    /// The resources that one call may use.
    #[serde(default)]
    pub limits: Option<Limits>,
    /// `Enforce`; `Shadow` is reserved.
    #[serde(default)]
    pub mode: Option<Spanned<String>>,
}

/// `module` of a predicate.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Module {
    /// The path of a component file.
    #[serde(default)]
    pub path: Option<Spanned<String>>,
    /// An image in a registry; not supported yet.
    #[serde(default)]
    pub oci: Option<Spanned<String>>,
    /// `sha256:` and 64 hexadecimal digits.
    #[serde(default)]
    pub digest: Option<Spanned<String>>,
}

/// `limits` of a predicate.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Limits {
    /// A quantity of bytes.
    #[serde(default)]
    pub memory: Option<Spanned<Value>>,
    /// A duration such as `5ms`.
    #[serde(default)]
    pub time_per_call: Option<Spanned<Value>>,
}

/// Something wrong in a document, with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Line, from 1; 0 where the place is unknown.
    pub line: u64,
    /// Column, from 1; 0 where the place is unknown.
    pub column: u64,
    /// Path of the field, such as `spec.predicates[0].name`; empty for the whole document.
    pub field: String,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "{}:{}: ", self.line, self.column)?;
        }
        if !self.field.is_empty() {
            write!(f, "{}: ", self.field)?;
        }
        f.write_str(&self.reason)
    }
}

/// Parses a document in YAML or JSON.
///
/// # Errors
///
/// The first problem that keeps the text from being a document.
pub fn read(text: &str) -> Result<Document, Problem> {
    if text.trim().is_empty() {
        let reason = "empty; expected a PredicatePolicy".to_owned();
        return Err(Problem { line: 0, column: 0, field: String::new(), reason });
    }
    // Without these options the parser would accept `name: yes` and `name: 5` as texts.
    let options = serde_saphyr::options! { no_schema: true, strict_booleans: true, with_snippet: false };
    let mut field = String::new();
    serde_saphyr::with_deserializer_from_str_with_options(text, options, |deserializer| {
        serde_path_to_error::deserialize(deserializer).map_err(|error| {
            field = path(error.path());
            error.into_inner()
        })
    })
    .map_err(|error| {
        let at = error.location();
        let reason = UserMessageFormatter.format_message(&error).into_owned();
        Problem { line: at.map_or(0, |at| at.line()), column: at.map_or(0, |at| at.column()), field, reason }
    })
}

/// The path of a field as operators write it, without the segments of [`Spanned`].
fn path(path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    let mut text = String::new();
    for segment in path {
        match segment {
            Segment::Map { key } if key == SPANNED_VALUE => {}
            Segment::Map { key } if text.is_empty() => text.push_str(key),
            Segment::Map { key } => text.extend([".", key]),
            Segment::Seq { index } => text.push_str(&format!("[{index}]")),
            Segment::Enum { .. } | Segment::Unknown => {}
        }
    }
    text
}

/// The field of [`Spanned`] that holds the wrapped value; no field of the document has this name.
const SPANNED_VALUE: &str = "value";
