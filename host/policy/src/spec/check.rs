//! Parts that all checks of a document share: problems, closed sets of texts, lists without repeats.
//!
//! A value that is wrong is reported and replaced by a default, so that the rest is checked too. Each map of a document is declared and
//! checked in a file of its own beside this one; [`policy`](super::policy) has the whole. Start at [`check`].

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::annotation_key;
use super::module::Key;
use super::name;
use super::policy::Policy;
use crate::declare::Texts;
use crate::document::Document;
use crate::kubernetes::Auto;
use crate::problem::Problem;
use crate::reach::Reach;
use crate::tree::At;

/// Checks a whole document. `unreadable` are the problems of fields that are absent from it because they could not be read.
/// `folder` is what relative paths of modules are joined to; without one, they are refused. `reach` is what the document may name, and `auto` decides
/// the version of Kubernetes of one that names none.
/// Returns the policy and all problems of the document in the order of lines. The policy is valid if there are none.
pub(super) fn check(
    document: &Document,
    unreadable: Vec<Problem>,
    folder: Option<&Path>,
    reach: &Reach,
    auto: &Auto,
    builtins: &[&str],
) -> (Policy, Vec<Problem>) {
    let mut checker = Checker { folder, reach, auto, builtins, keys: Arc::new([]), unreadable, problems: Vec::new() };
    let policy = checker.policy(document);
    let mut problems = [checker.unreadable, checker.problems].concat();
    problems.sort_by(Problem::compare);
    (policy, problems)
}

/// Collects the problems of a document while its maps are checked.
pub(super) struct Checker<'a> {
    pub(super) folder: Option<&'a Path>,
    pub(super) reach: &'a Reach,
    pub(super) auto: &'a Auto,
    pub(super) builtins: &'a [&'a str],
    /// Keys that may sign OCI artifacts.
    pub(super) keys: Arc<[Key]>,
    unreadable: Vec<Problem>,
    problems: Vec<Problem>,
}

impl Checker<'_> {
    pub(super) fn refuse<T>(&mut self, at: &At<T>, field: &str, reason: impl Into<String>) {
        // A field that could not be read is not missing as well.
        if self.unreadable.iter().all(|problem| problem.field != field) {
            let (file, field, reason) = (at.file.clone(), field.to_owned(), reason.into());
            let problem = Problem { file, line: at.line, column: at.column, field, reason };
            self.problems.push(problem);
        }
    }

    /// The value that belongs to one of a closed set of texts. Any other text is a problem, and gives the default.
    pub(super) fn choice<T: Copy + Default>(&mut self, text: &At<String>, field: &str, choices: &[(&str, T)]) -> T {
        if let Some((_, value)) = choices.iter().find(|(name, _)| *name == text.value) {
            return *value;
        }
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        self.refuse(text, field, format!("{:?} is not {}", text.value, names.join(" or ")));
        T::default()
    }

    /// Refuses a name that cannot be shown to people as it is.
    pub(super) fn name(&mut self, name: &At<String>, field: &str) {
        if let Err(reason) = name::check(&name.value) {
            self.refuse(name, field, reason);
        }
    }

    pub(super) fn annotation_keys(&mut self, keys: &Texts, field: &str, most: usize) -> Vec<String> {
        if keys.value.len() > most {
            let reason = format!("{} annotation keys; at most {most} are allowed", keys.value.len());
            self.refuse(keys, field, reason);
        }
        let field = |index| format!("{field}[{index}]");
        for (index, key) in readable(&keys.value) {
            if let Err(reason) = annotation_key::check(&key.value) {
                self.refuse(key, &field(index), format!("{:?} is not an annotation key: {reason}", key.value));
            }
        }
        self.refuse_repeats(readable(&keys.value), field);
        let mut read = values(keys);
        read.sort_unstable();
        read
    }

    /// Reports every text that is in the list before, with the line of the first.
    pub(super) fn refuse_repeats<'t>(
        &mut self,
        texts: impl Iterator<Item = (usize, &'t At<String>)>,
        field: impl Fn(usize) -> String,
    ) {
        let mut seen = HashMap::new();
        for (index, text) in texts {
            match seen.entry(text.value.as_str()) {
                Entry::Vacant(new) => {
                    new.insert(text);
                }
                Entry::Occupied(first) => {
                    let reason = format!("{:?} is there twice{}", text.value, first.get().first_place());
                    self.refuse(text, &field(index), reason);
                }
            }
        }
    }

    pub(super) fn args(&mut self, args: &At<Value>, field: &str) -> Value {
        if !args.value.is_object() {
            self.refuse(args, &format!("{field}.args"), format!("expected a map, found {}", kind_of(&args.value)));
        }
        args.value.clone()
    }
}

/// Iterates over the items of a list that could be read, each with its index.
pub(super) fn readable<T>(list: &[Option<T>]) -> impl Iterator<Item = (usize, &T)> {
    list.iter().enumerate().filter_map(|(index, item)| Some((index, item.as_ref()?)))
}

pub(super) fn values(texts: &Texts) -> Vec<String> {
    readable(&texts.value).map(|(_, text)| text.value.clone()).collect()
}

/// The names of a closed set of texts, for its schema.
pub(super) fn names<T>(choices: &[(&'static str, T)]) -> Vec<&'static str> {
    choices.iter().map(|(name, _)| *name).collect()
}

/// A value as messages show it.
pub(super) fn written(value: &Value) -> String {
    match value {
        Value::Array(_) | Value::Object(_) => kind_of(value).to_owned(),
        _ => value.to_string(),
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}
