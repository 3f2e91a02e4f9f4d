//! Node selector terms, parsed and validated once, so that comparing them with columns cannot fail.
//!
//! Terms are valid where k8s.io/component-helpers/scheduling/corev1/nodeaffinity accepts them. It checks label
//! requirements with `labels.NewRequirement` of apimachinery.

use crate::columns::pod_placement::{Operator, Requirement, Term};
use crate::syntax;

/// The only field that Kubernetes supports in `matchFields`.
pub const NAME_FIELD: &str = "metadata.name";

/// Parsed terms, at least one of which must hold. Without terms it matches no node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeSelector {
    pub(crate) terms: Vec<ParsedTerm>,
}

/// A valid term: all of its tests must hold, and it has at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParsedTerm {
    pub(crate) labels: Vec<LabelTest>,
    pub(crate) fields: Vec<FieldTest>,
}

/// A test of a label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LabelTest {
    pub(crate) key: String,
    pub(crate) test: Test,
}

/// The condition on a label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Test {
    /// The label is present with one of these values.
    OneOf(Vec<String>),
    /// The label is absent or has none of these values.
    NoneOf(Vec<String>),
    Present,
    Absent,
    /// The label is a decimal integer greater than this.
    Above(i64),
    /// The label is a decimal integer less than this.
    Below(i64),
}

/// A test of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FieldTest {
    /// Whether the node has this name.
    Name { name: String, wanted: bool },
    /// Has a result that does not depend on the node: Kubernetes treats an unsupported field as empty.
    Constant(bool),
}

/// Why a term is invalid: the path within the term, and the reason.
#[derive(Debug, PartialEq, Eq)]
struct InvalidTerm {
    path: String,
    reason: String,
}

impl NodeSelector {
    /// Parses the terms of an object: a pod or a volume. Invalid terms match nothing and are dropped without an error,
    /// as in Kubernetes.
    #[must_use]
    pub fn lenient(terms: Vec<Term>) -> Self {
        Self { terms: terms.into_iter().filter(|term| !is_empty(term)).filter_map(|term| read(term).ok()).collect() }
    }

    /// Parses the terms of a policy. `path` returns the path of the term with this index, for errors.
    ///
    /// # Errors
    ///
    /// The first invalid term: its path and the reason.
    pub fn strict(terms: Vec<Term>, path: impl Fn(usize) -> String) -> Result<Self, String> {
        let written = terms.into_iter().enumerate().filter(|(_, term)| !is_empty(term));
        let read = |(index, term)| {
            read(term).map_err(|error: InvalidTerm| format!("{}.{}: {}", path(index), error.path, error.reason))
        };
        Ok(Self { terms: written.map(read).collect::<Result<_, _>>()? })
    }
}

/// Whether a term has no requirements; such a term matches nothing.
fn is_empty(term: &Term) -> bool {
    term.expressions.is_empty() && term.fields.is_empty()
}

fn read(term: Term) -> Result<ParsedTerm, InvalidTerm> {
    Ok(ParsedTerm {
        labels: read_all("matchExpressions", term.expressions, label_test)?,
        fields: read_all("matchFields", term.fields, field_test)?,
    })
}

fn read_all<T>(
    list: &str,
    requirements: Vec<Requirement>,
    read: impl Fn(Requirement) -> Result<T, InvalidTerm>,
) -> Result<Vec<T>, InvalidTerm> {
    let place = |index, error: InvalidTerm| InvalidTerm { path: format!("{list}[{index}].{}", error.path), ..error };
    let requirements = requirements.into_iter().enumerate();
    requirements.map(|(index, requirement)| read(requirement).map_err(|error| place(index, error))).collect()
}

fn label_test(requirement: Requirement) -> Result<LabelTest, InvalidTerm> {
    let Requirement { key, operator, values } = requirement;
    if !syntax::is_label_key(&key) {
        return Err(invalid("key", format!("`{key}` is not a label key")));
    }
    // Every value must be a valid label value. So integers cannot have a sign.
    if let Some((index, value)) = values.iter().enumerate().find(|(_, value)| !syntax::is_label_value(value)) {
        return Err(invalid(&format!("values[{index}]"), format!("`{value}` is not a label value")));
    }
    let test = match operator {
        Operator::In | Operator::NotIn if values.is_empty() => {
            return Err(invalid("values", "In and NotIn need a value"));
        }
        Operator::In => Test::OneOf(values),
        Operator::NotIn => Test::NoneOf(values),
        Operator::Exists | Operator::DoesNotExist if !values.is_empty() => {
            return Err(invalid("values", "Exists and DoesNotExist take no value"));
        }
        Operator::Exists => Test::Present,
        Operator::DoesNotExist => Test::Absent,
        Operator::Gt => Test::Above(integer(&values)?),
        Operator::Lt => Test::Below(integer(&values)?),
        Operator::Unknown => return Err(invalid("operator", "not an operator of label requirements")),
    };
    Ok(LabelTest { key, test })
}

/// The single value of `Gt` and `Lt`.
fn integer(values: &[String]) -> Result<i64, InvalidTerm> {
    let [value] = values else { return Err(invalid("values", "Gt and Lt need exactly one value")) };
    value.parse().map_err(|_| invalid("values[0]", format!("`{value}` is not an integer")))
}

fn field_test(requirement: Requirement) -> Result<FieldTest, InvalidTerm> {
    let wanted = match requirement.operator {
        Operator::In => true,
        Operator::NotIn => false,
        _ => return Err(invalid("operator", "fields take In and NotIn only")),
    };
    let [value] =
        <[String; 1]>::try_from(requirement.values).map_err(|_| invalid("values", "fields take exactly one value"))?;
    Ok(if requirement.key == NAME_FIELD {
        FieldTest::Name { name: value, wanted }
    } else {
        FieldTest::Constant(value.is_empty() == wanted)
    })
}

fn invalid(path: &str, reason: impl Into<String>) -> InvalidTerm {
    InvalidTerm { path: path.into(), reason: reason.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requirement(key: &str, operator: Operator, values: &[&str]) -> Requirement {
        Requirement { key: key.into(), operator, values: values.iter().map(|value| (*value).into()).collect() }
    }

    #[test]
    fn requirements_that_kubernetes_accepts_are_valid() {
        let long = "9223372036854775807";
        for (operator, values, test) in [
            (Operator::In, &["a", ""][..], Test::OneOf(vec!["a".into(), String::new()])),
            (Operator::NotIn, &["a"], Test::NoneOf(vec!["a".into()])),
            (Operator::Exists, &[], Test::Present),
            (Operator::DoesNotExist, &[], Test::Absent),
            (Operator::Gt, &["007"], Test::Above(7)),
            (Operator::Lt, &[long], Test::Below(i64::MAX)),
        ] {
            let read = label_test(requirement("example.com/key", operator, values));
            assert_eq!(read, Ok(LabelTest { key: "example.com/key".into(), test }), "{operator:?} {values:?}");
        }
    }

    #[test]
    fn requirements_that_kubernetes_rejects_are_invalid() {
        for (key, operator, values, path) in [
            ("a/b/c", Operator::Exists, &[][..], "key"),
            ("", Operator::Exists, &[], "key"),
            ("a", Operator::In, &[], "values"),
            ("a", Operator::NotIn, &[], "values"),
            ("a", Operator::In, &["ok", "not ok"], "values[1]"),
            ("a", Operator::Exists, &["b"], "values"),
            ("a", Operator::DoesNotExist, &["b"], "values"),
            ("a", Operator::Gt, &[], "values"),
            ("a", Operator::Gt, &["1", "2"], "values"),
            ("a", Operator::Gt, &["-1"], "values[0]"),
            ("a", Operator::Gt, &["+1"], "values[0]"),
            ("a", Operator::Lt, &["1.5"], "values[0]"),
            ("a", Operator::Lt, &["1_000"], "values[0]"),
            ("a", Operator::Lt, &["9223372036854775808"], "values[0]"),
            ("a", Operator::Lt, &[""], "values[0]"),
            ("a", Operator::Unknown, &["1"], "operator"),
        ] {
            let read = label_test(requirement(key, operator, values));
            assert_eq!(read.map_err(|error| error.path), Err(path.into()), "{key:?} {operator:?} {values:?}");
        }
    }

    #[test]
    fn fields_take_in_and_not_in_with_one_value() {
        let read = |operator, values: &[&str]| field_test(requirement(NAME_FIELD, operator, values));
        assert_eq!(read(Operator::In, &["a"]), Ok(FieldTest::Name { name: "a".into(), wanted: true }));
        assert_eq!(read(Operator::NotIn, &["a"]), Ok(FieldTest::Name { name: "a".into(), wanted: false }));
        assert!(read(Operator::In, &["a", "b"]).is_err());
        assert!(read(Operator::In, &[]).is_err());
        assert!(read(Operator::Exists, &[]).is_err());
    }

    #[test]
    fn an_unsupported_field_is_empty() {
        let read = |operator, value| field_test(requirement("metadata.uid", operator, &[value]));
        assert_eq!(read(Operator::In, "a"), Ok(FieldTest::Constant(false)));
        assert_eq!(read(Operator::In, ""), Ok(FieldTest::Constant(true)));
        assert_eq!(read(Operator::NotIn, "a"), Ok(FieldTest::Constant(true)));
        assert_eq!(read(Operator::NotIn, ""), Ok(FieldTest::Constant(false)));
    }
}
