//! Node selectors, prepared for matching many nodes: those of ResourceSlices, of their devices, and of allocated claims.
//!
//! Start at [`NodeSelectorTest`]. What is wrong with a selector is in `errors`. Source: `NewNodeSelector` in
//! k8s.io/component-helpers/scheduling/corev1/nodeaffinity.

mod errors;

use std::sync::Arc;

use super::labels::{Labels, value_of};
use super::selector::LabelRequirement;
pub(crate) use errors::quoted;
use nodesift_object::selector::{NodeSelector, NodeSelectorTerm, Operator, Requirement};

/// The only field of a node that a selector can name.
const NAME_FIELD: &str = "metadata.name";

/// A node selector, ready to be matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeSelectorTest {
    /// Terms, of which one must hold. Those that match nothing are left out.
    terms: Vec<Term>,
    error: Option<Arc<str>>,
}

/// A term of a node selector; all its parts must hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Term {
    labels: Vec<LabelRequirement>,
    integers: Vec<IntegerTest>,
    names: Vec<NameTest>,
}

/// A label that must be an integer beyond a bound.
#[derive(Debug, Clone, PartialEq, Eq)]
struct IntegerTest {
    key: Arc<str>,
    bound: i64,
    is_greater: bool,
}

/// A name that the node must have, or must not have.
#[derive(Debug, Clone, PartialEq, Eq)]
struct NameTest {
    name: Arc<str>,
    is_equal: bool,
}

impl NodeSelectorTest {
    /// Prepares a selector. A term without requirements, or with one that is invalid, matches nothing.
    pub fn compile(selector: &NodeSelector) -> Self {
        let error = errors::selector_errors(selector).map(Arc::from);
        Self { terms: selector.node_selector_terms.iter().filter_map(Term::compile).collect(), error }
    }

    /// Returns the errors of the selector with their places, in the words of Kubernetes; `None` where it is valid. Errors of `matchFields`
    /// are not named.
    pub fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// Whether a node of these labels and this name matches.
    pub fn matches(&self, labels: &Labels, node_name: &str) -> bool {
        self.terms.iter().any(|term| term.matches(labels, node_name))
    }
}

impl Term {
    /// `None` where the term matches nothing.
    fn compile(term: &NodeSelectorTerm) -> Option<Self> {
        if term.match_expressions.is_empty() && term.match_fields.is_empty() {
            return None;
        }
        let mut compiled = Self::default();
        term.match_expressions.iter().try_for_each(|requirement| compiled.add_label(requirement))?;
        term.match_fields.iter().try_for_each(|requirement| compiled.add_field(requirement))?;
        Some(compiled)
    }

    fn add_label(&mut self, requirement: &Requirement) -> Option<()> {
        if !errors::requirement_errors(requirement).is_empty() {
            return None;
        }
        match requirement.operator() {
            operator @ (Operator::Gt | Operator::Lt) => {
                let bound = requirement.values.first()?.parse().ok()?;
                let key = Arc::from(requirement.key.as_str());
                self.integers.push(IntegerTest { key, bound, is_greater: operator == Operator::Gt });
            }
            operator => {
                let values = requirement.values.iter().map(|value| Arc::from(value.as_str()));
                self.labels.push(LabelRequirement::new(&requirement.key, operator, values)?);
            }
        }
        Some(())
    }

    fn add_field(&mut self, requirement: &Requirement) -> Option<()> {
        let [value] = requirement.values.as_slice() else { return None };
        let is_equal = match requirement.operator() {
            Operator::In => true,
            Operator::NotIn => false,
            _ => return None,
        };
        if requirement.key != NAME_FIELD {
            // Every other field reads as the empty text.
            return (value.is_empty() == is_equal).then_some(());
        }
        self.names.push(NameTest { name: Arc::from(value.as_str()), is_equal });
        Some(())
    }

    fn matches(&self, labels: &Labels, node_name: &str) -> bool {
        self.names.iter().all(|test| (*test.name == *node_name) == test.is_equal)
            && self.labels.iter().all(|requirement| requirement.matches(labels))
            && self.integers.iter().all(|test| test.matches(labels))
    }
}

impl IntegerTest {
    fn matches(&self, labels: &Labels) -> bool {
        let value = value_of(labels, &self.key).and_then(|value| value.parse::<i64>().ok());
        value.is_some_and(|value| if self.is_greater { value > self.bound } else { value < self.bound })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::metadata::labels::labels;

    fn selector(json: &str) -> NodeSelectorTest {
        NodeSelectorTest::compile(&serde_json::from_str(json).unwrap())
    }

    fn expressions(json: &str) -> NodeSelectorTest {
        selector(&format!(r#"{{"nodeSelectorTerms":[{{"matchExpressions":[{json}]}}]}}"#))
    }

    fn fields(json: &str) -> NodeSelectorTest {
        selector(&format!(r#"{{"nodeSelectorTerms":[{{"matchFields":[{json}]}}]}}"#))
    }

    fn on_node(test: &NodeSelectorTest) -> bool {
        let written = serde_json::from_str(r#"{"zone":"a","size":"7","word":"x"}"#).unwrap();
        test.matches(&labels(&written), "n1")
    }

    #[test]
    fn each_operator_matches_as_kubernetes_does() {
        for (json, expected) in [
            (r#"{"key":"zone","operator":"In","values":["b","a"]}"#, true),
            (r#"{"key":"zone","operator":"In","values":["b"]}"#, false),
            (r#"{"key":"rack","operator":"In","values":["a"]}"#, false),
            (r#"{"key":"zone","operator":"NotIn","values":["b"]}"#, true),
            (r#"{"key":"zone","operator":"NotIn","values":["a"]}"#, false),
            (r#"{"key":"rack","operator":"NotIn","values":["a"]}"#, true),
            (r#"{"key":"zone","operator":"Exists"}"#, true),
            (r#"{"key":"rack","operator":"Exists"}"#, false),
            (r#"{"key":"zone","operator":"DoesNotExist"}"#, false),
            (r#"{"key":"rack","operator":"DoesNotExist"}"#, true),
            (r#"{"key":"size","operator":"Gt","values":["6"]}"#, true),
            (r#"{"key":"size","operator":"Gt","values":["7"]}"#, false),
            (r#"{"key":"size","operator":"Lt","values":["+8"]}"#, true),
            (r#"{"key":"size","operator":"Lt","values":["-8"]}"#, false),
            (r#"{"key":"word","operator":"Gt","values":["1"]}"#, false),
            (r#"{"key":"rack","operator":"Lt","values":["1"]}"#, false),
            (r#"{"key":"zone","operator":"Exists"},{"key":"rack","operator":"Exists"}"#, false),
        ] {
            // A plus is no part of a label's value.
            let test = expressions(json);
            let is_valid = !json.contains("\"+8\"") && !json.contains("\"-8\"");
            assert_eq!(test.error().is_none(), is_valid, "{json}: {test:?}");
            assert_eq!(on_node(&test), expected && is_valid, "{json}");
        }
    }

    #[test]
    fn fields_match_by_the_name_of_the_node_alone() {
        for (json, expected) in [
            (r#"{"key":"metadata.name","operator":"In","values":["n1"]}"#, true),
            (r#"{"key":"metadata.name","operator":"In","values":["n2"]}"#, false),
            (r#"{"key":"metadata.name","operator":"NotIn","values":["n2"]}"#, true),
            (r#"{"key":"metadata.name","operator":"NotIn","values":["n1"]}"#, false),
            (r#"{"key":"metadata.name","operator":"In","values":["n1","n2"]}"#, false),
            (r#"{"key":"metadata.name","operator":"Exists"}"#, false),
            (r#"{"key":"metadata.uid","operator":"In","values":["n1"]}"#, false),
            (r#"{"key":"metadata.uid","operator":"NotIn","values":["n1"]}"#, true),
            (r#"{"key":"metadata.uid","operator":"In","values":[""]}"#, true),
        ] {
            let test = fields(json);
            assert_eq!((on_node(&test), test.error()), (expected, None), "{json}");
        }
    }

    #[test]
    fn one_good_term_is_enough_and_an_empty_one_matches_nothing() {
        let exists = r#"{"matchExpressions":[{"key":"zone","operator":"Exists"}]}"#;
        for (terms, expected) in [
            (String::new(), false),
            ("{}".to_owned(), false),
            (format!("{{}},{exists}"), true),
            (format!(r#"{{"matchExpressions":[{{"key":"zone","operator":"In"}}]}},{exists}"#), true),
        ] {
            let test = selector(&format!(r#"{{"nodeSelectorTerms":[{terms}]}}"#));
            assert_eq!(on_node(&test), expected, "{terms}");
        }
    }

    #[test]
    fn errors_name_their_places() {
        let empty = "for 'in', 'notin' operators, values set can't be empty";
        let place = "nodeSelectorTerms[0].matchExpressions";
        let error = |json: &str| expressions(json).error().map(str::to_owned);
        assert_eq!(error(r#"{"key":"zone","operator":"Exists"}"#), None);
        assert_eq!(
            error(r#"{"key":"zone","operator":"In"}"#),
            Some(format!("{place}[0].values: Invalid value: null: {empty}"))
        );
        assert_eq!(
            error(r#"{"key":"zone","operator":"Exists"},{"key":"zone","operator":"Like\n"}"#),
            Some(format!(r#"{place}[1].operator: Invalid value: "Like\n": not a valid selector operator"#))
        );
        assert_eq!(
            error(r#"{"key":"zone","operator":"Exists","values":["<"]}"#).map(|error| error.replace('"', "'")),
            Some(format!(
                "[{place}[0].values: Invalid value: ['\\u003c']: values set must be empty for exists and does not \
                 exist, {place}[0].values[0][zone]: Invalid value: '<': {}]",
                errors::VALUE_RULE
            ))
        );
        assert_eq!(
            error(r#"{"key":"size","operator":"Gt","values":["x","1"]}"#),
            Some(format!(
                "[{place}[0].values: Invalid value: [\"x\",\"1\"]: for 'Gt', 'Lt' operators, exactly one value is \
                 required, {place}[0].values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an \
                 integer]"
            ))
        );
        for (key, expected) in [
            ("", format!("name part must be non-empty; name part {}", errors::NAME_RULE)),
            ("/a", "prefix part must be non-empty".to_owned()),
            ("A/a", format!("prefix part {}", errors::PREFIX_RULE)),
            ("a b", format!("name part {}", errors::NAME_RULE)),
            (
                "a/b/c",
                format!(
                    "a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                    errors::NAME_RULE
                ),
            ),
        ] {
            assert_eq!(
                error(&format!(r#"{{"key":"{key}","operator":"Exists"}}"#)),
                Some(format!("{place}[0].key: Invalid value: \"{key}\": {expected}"))
            );
        }
        let long = "a".repeat(64);
        assert_eq!(
            error(&format!(r#"{{"key":"{long}","operator":"In","values":["{long}"]}}"#)),
            Some(format!(
                "[{place}[0].key: Invalid value: \"{long}\": name part must be no more than 63 bytes, \
                 {place}[0].values[0][{long}]: Invalid value: \"{long}\": must be no more than 63 bytes]"
            ))
        );
    }
}
