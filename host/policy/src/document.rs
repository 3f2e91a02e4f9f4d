//! The policy document as written: every field where it may be, none that may not, nothing interpreted yet.
//!
//! Texts with a closed set of values and amounts are kept as written, with their place, so that [`super::spec`] can
//! report everything that is wrong with them at once. What no reading could use (broken YAML, an unknown field, a
//! field twice, a wrong type) ends here at the first [`Problem`]. Start at [`read`].

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
    /// Who it is.
    #[serde(default)]
    pub metadata: Option<Metadata>,
    /// What it says.
    pub spec: Spanned<Spec>,
}

/// `metadata`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metadata {
    /// The policy's name, for people.
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
    /// Pods of any other scheduler are foreign.
    #[serde(default)]
    pub scheduler_names: Option<Spanned<Vec<Spanned<String>>>>,
    /// The white-list, in evaluation order.
    #[serde(default)]
    pub predicates: Option<Spanned<Vec<Spanned<Predicate>>>>,
    /// What predicates may read beyond the facts that they always have.
    #[serde(default)]
    pub facts: Option<Facts>,
}

/// `spec.facts`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// Annotation keys.
    #[serde(default)]
    pub annotations: Option<Spanned<Vec<Spanned<String>>>>,
}

/// One entry of `spec.predicates`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Predicate {
    /// The name of a built-in, or a name for a module of one's own.
    pub name: Spanned<String>,
    /// When it runs.
    #[serde(default)]
    pub phases: Option<Spanned<Vec<Spanned<String>>>>,
    /// A map that the predicate takes as JSON.
    #[serde(default)]
    pub args: Option<Spanned<Value>>,
    /// Where its module is; absent for a built-in.
    #[serde(default)]
    pub module: Option<Spanned<Module>>,
    /// The most it may import.
    #[serde(default)]
    pub allow: Option<Vec<Spanned<String>>>,
    /// What stands in for its verdict when it fails.
    #[serde(default)]
    pub on_error: Option<Spanned<String>>,
    /// What it may use.
    #[serde(default)]
    pub limits: Option<Limits>,
    /// Whether its verdict counts.
    #[serde(default)]
    pub mode: Option<Spanned<String>>,
}

/// `module` of a predicate.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Module {
    /// A file.
    #[serde(default)]
    pub path: Option<Spanned<String>>,
    /// An image in a registry.
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

/// Something wrong in a document, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// From 1; 0 where no place is known.
    pub line: u64,
    /// From 1.
    pub column: u64,
    /// Path of the field; empty for the document as a whole.
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

/// Reads a document, in YAML or JSON.
pub fn read(text: &str) -> Result<Document, Problem> {
    if text.trim().is_empty() {
        let reason = "empty; expected a PredicatePolicy".to_owned();
        return Err(Problem { line: 0, column: 0, field: String::new(), reason });
    }
    // A text must look like one: `name: yes` or `name: 5` is a mistake, which the reader would turn into a text.
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

/// The path of a field as one would write it, without what the reader's own wrappers put between.
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

/// The field of [`Spanned`] that holds what it wraps; no field of the document is called so.
const SPANNED_VALUE: &str = "value";
