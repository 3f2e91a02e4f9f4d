//! Every built-in predicate that a document can name. Start at [`bundled`].

use std::path::Path;

use super::kubernetes::default_predicates;
use super::policy::{Place, Policy};
use super::predicate::PredicateSpec;
use crate::kubernetes::Table;

/// The built-in predicates, each once and without switches: the default ones of the newest version in its order, those that only earlier
/// versions have by default, then the optional ones.
pub fn bundled() -> Vec<PredicateSpec> {
    let table = Table::built_in();
    let mut all: Vec<PredicateSpec> = Vec::new();
    let defaults = table.versions.iter().rev().flat_map(|version| default_predicates(*version, &Place::default()));
    let builtins: Vec<&str> = nodesift_bundle::BUILTINS.iter().map(|builtin| builtin.name).collect();
    let optional = Policy::read(nodesift_bundle::OPTIONAL_POLICY, "the optional predicates", Path::new(""), &builtins);
    for predicate in defaults.chain(optional.into_iter().flat_map(|policy| policy.predicates)) {
        if all.iter().all(|known| known.name != predicate.name) {
            all.push(predicate);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_is_bundled_once() {
        let mut names: Vec<String> = bundled().into_iter().map(|predicate| predicate.name).collect();
        let mut builtins: Vec<&str> = nodesift_bundle::BUILTINS.iter().map(|builtin| builtin.name).collect();
        names.sort();
        builtins.sort_unstable();
        assert_eq!(names, builtins);
    }
}
