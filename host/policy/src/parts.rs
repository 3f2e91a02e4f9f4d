//! Several files as one document: those of a folder, in the order of their names. Start at [`merge`].
//!
//! Maps are joined, and predicates and scorers listed one after the other. Anything else that two files give is there twice in the result, so
//! that whoever reads it reports that with both places, as within one file.

use std::sync::Arc;

use crate::problem::Problem;
use crate::tree::{self, At, Reader, Tree, below};

/// A file of several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    /// Name of the file in error messages.
    pub(crate) file: Arc<str>,
    /// Content of the file.
    pub(crate) text: String,
}

/// The fields that say what a file is. Every one may have them.
const HEADER: [&str; 2] = ["apiVersion", "kind"];

/// The lists to which every file may add.
const LISTS: [&str; 2] = ["spec.predicates", "spec.scores"];

/// Merges the files; returns the document, `None` where they hold none, and the problems of the files that are left out.
pub(crate) fn merge(parts: &[Part]) -> (Option<At<Tree>>, Vec<Problem>) {
    let (mut merged, mut problems): (Option<At<Tree>>, _) = (None, Vec::new());
    for Part { file, text } in parts.iter().filter(|part| !part.text.trim().is_empty()) {
        let mut tree = match tree::parse(text) {
            Ok(tree) => tree,
            Err(problem) => {
                problems.push(Problem { file: Some(Arc::clone(file)), ..problem });
                continue;
            }
        };
        tree.set_file(file);
        match (&mut merged, tree) {
            // Comments alone.
            (_, At { value: Tree::Null, .. }) => {}
            (None, tree @ At { value: Tree::Map(_), .. }) => merged = Some(tree),
            (Some(At { value: Tree::Map(known), .. }), At { value: Tree::Map(given), .. }) => join(known, given, ""),
            (_, tree) => {
                let reason = format!("expected a map, found {}", tree.value.kind());
                let At { file, line, column, .. } = tree;
                problems.push(Problem { file, line, column, field: String::new(), reason });
            }
        }
    }
    (merged, problems)
}

/// Adds the fields of one map to those of another.
fn join(known: &mut Vec<(At<String>, At<Tree>)>, given: Vec<(At<String>, At<Tree>)>, path: &str) {
    let mut seen: Vec<String> = Vec::new();
    for (key, mut value) in given {
        let field = below(path, &key.value);
        let is_repeated = seen.contains(&key.value);
        seen.push(key.value.clone());
        let at = known.iter().position(|(known, _)| known.value == key.value);
        let is_joined = match at.and_then(|at| known.get_mut(at)) {
            Some((_, before)) if !is_repeated => match (&mut before.value, &mut value.value) {
                (_, Tree::Null) => true,
                (Tree::Map(known), Tree::Map(given)) => {
                    join(known, std::mem::take(given), &field);
                    true
                }
                (Tree::List(known), Tree::List(given)) if LISTS.contains(&field.as_str()) => {
                    known.append(given);
                    true
                }
                (Tree::Text(known), Tree::Text(given)) => HEADER.contains(&field.as_str()) && known == given,
                (Tree::Null, _) => {
                    *before = value.clone();
                    true
                }
                _ => false,
            },
            _ => false,
        };
        if !is_joined {
            known.push((key, value));
        }
    }
}

/// The document of all files as one text; `None` where they are none.
pub(crate) fn text(parts: &[Part]) -> Option<String> {
    let (Some(merged), problems) = merge(parts) else { return None };
    let document = Reader::default().value((Some(&merged), String::new()))?.value;
    // JSON is YAML.
    problems.is_empty().then(|| format!("{document:#}\n"))
}
