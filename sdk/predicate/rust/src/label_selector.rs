//! Label selectors: those of topology spread constraints, pod affinity terms, default constraints and storage objects.
//!
//! [`Selector::read`] parses a selector and returns the error text of Kubernetes where it is invalid.
//! [`Selector::matches`] compares it with labels. [`Selector::pods_in`] makes a [`PodSelector`] of it for
//! [`cluster_pods`](crate::columns::cluster_pods), where the host counts the pods. `validation` holds the checks.

mod validation;

use crate::columns::cluster_pods::PodSelector;
use crate::columns::selectors::{LabelSelector, Operator, Requirement};

/// A valid label selector: no operator of it is unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selector {
    /// Selects nothing. This is the absent selector.
    Nothing,
    /// Selects what meets all of these requirements. An empty list selects everything.
    All(Vec<Requirement>),
}

impl Selector {
    /// Parses a selector: `LabelSelectorAsSelector` in apimachinery's pkg/apis/meta/v1. None is [`Selector::Nothing`].
    ///
    /// # Errors
    ///
    /// Where Kubernetes rejects the selector too: the error text of Kubernetes for the first invalid requirement.
    pub fn read(written: Option<LabelSelector>) -> Result<Self, String> {
        let Some(written) = written else { return Ok(Self::Nothing) };
        let LabelSelector { match_labels, match_expressions } = written;
        let equal = match_labels.into_iter().map(|(key, value)| equals(key, value));
        let requirements: Vec<Requirement> = equal.chain(match_expressions).collect();
        requirements.iter().try_for_each(validation::check)?;
        Ok(Self::All(requirements))
    }

    /// Parses the selector of a Service or a controller as kube-scheduler's `DefaultSelector` does: labels are not
    /// validated, and expressions are dropped unless all of them are valid.
    #[must_use]
    pub fn read_unchecked_labels(written: LabelSelector) -> Self {
        let LabelSelector { match_labels, match_expressions } = written;
        let mut requirements: Vec<Requirement> =
            match_labels.into_iter().map(|(key, value)| equals(key, value)).collect();
        if match_expressions.iter().all(|expression| validation::check(expression).is_ok()) {
            requirements.extend(match_expressions);
        }
        Self::All(requirements)
    }

    /// Whether it has no requirement and so selects everything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::All(requirements) if requirements.is_empty())
    }

    /// Adds the requirement that these labels are present. [`Selector::Nothing`] stays as it is.
    #[must_use]
    pub fn and_labels(self, labels: impl IntoIterator<Item = (String, String)>) -> Self {
        match self {
            Self::Nothing => Self::Nothing,
            Self::All(requirements) => {
                let labels = labels.into_iter().map(|(key, value)| equals(key, value));
                Self::All(labels.chain(requirements).collect())
            }
        }
    }

    /// Whether it selects labels; `label` returns the value of a key.
    pub fn matches<S: AsRef<str>>(&self, label: impl Fn(&str) -> Option<S>) -> bool {
        let Self::All(requirements) = self else { return false };
        requirements.iter().all(|requirement| {
            let value = label(&requirement.key);
            let listed = || {
                let value = value.as_ref().map(AsRef::as_ref);
                value.is_some_and(|value| requirement.values.iter().any(|one| one == value))
            };
            match requirement.operator {
                Operator::In => listed(),
                Operator::NotIn => !listed(),
                Operator::Exists => value.is_some(),
                Operator::DoesNotExist => value.is_none(),
                Operator::Unknown => false,
            }
        })
    }

    /// The selected pods of one namespace; none for [`Selector::Nothing`].
    #[must_use]
    pub fn pods_in(&self, namespace: &str) -> Option<PodSelector> {
        self.pods_of(vec![namespace.into()], &Self::Nothing)
    }

    /// The selected pods of `namespaces` and of the namespaces whose labels `by_labels` selects. None where no pod can
    /// be selected.
    #[must_use]
    pub fn pods_of(&self, namespaces: Vec<String>, by_labels: &Self) -> Option<PodSelector> {
        let Self::All(requirements) = self else { return None };
        let namespace_requirements = match by_labels {
            Self::Nothing if namespaces.is_empty() => return None,
            Self::Nothing => None,
            Self::All(requirements) => Some(requirements.clone()),
        };
        Some(PodSelector { namespaces, namespace_requirements, requirements: requirements.clone() })
    }
}

/// The requirement that a label has a value.
fn equals(key: String, value: String) -> Requirement {
    Requirement { key, operator: Operator::In, values: vec![value], operator_text: "In".into() }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn requirement(key: &str, operator: Operator, values: &[&str]) -> Requirement {
        let values = values.iter().map(|value| (*value).into()).collect();
        Requirement { key: key.into(), operator, values, operator_text: format!("{operator:?}") }
    }

    fn selector(labels: &[(&str, &str)], match_expressions: Vec<Requirement>) -> LabelSelector {
        let match_labels = labels.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        LabelSelector { match_labels, match_expressions }
    }

    fn matches(selector: &Selector, labels: &[(&str, &str)]) -> bool {
        selector.matches(|key| labels.iter().find(|(known, _)| *known == key).map(|(_, value)| *value))
    }

    #[test]
    fn an_absent_selector_selects_nothing_and_an_empty_one_everything() {
        let nothing = Selector::read(None).unwrap();
        assert!(!nothing.is_empty());
        assert!(!matches(&nothing, &[]));
        assert_eq!(nothing.pods_in("default"), None);
        let everything = Selector::read(Some(selector(&[], Vec::new()))).unwrap();
        assert!(everything.is_empty());
        assert!(matches(&everything, &[("a", "1")]));
        assert!(everything.pods_in("default").is_some());
    }

    #[test]
    fn all_parts_must_hold() {
        let written = selector(
            &[("a", "1")],
            vec![requirement("b", Operator::NotIn, &["2"]), requirement("c", Operator::Exists, &[])],
        );
        let read = Selector::read(Some(written)).unwrap();
        assert!(matches(&read, &[("a", "1"), ("c", "")]));
        assert!(matches(&read, &[("a", "1"), ("b", "3"), ("c", "")]));
        assert!(!matches(&read, &[("a", "1"), ("b", "2"), ("c", "")]));
        assert!(!matches(&read, &[("a", "2"), ("c", "")]));
        assert!(!matches(&read, &[("a", "1")]));
        assert!(matches(&Selector::All(vec![requirement("d", Operator::DoesNotExist, &[])]), &[]));
    }

    #[test]
    fn added_labels_are_required() {
        let narrow = |selector: Selector| selector.and_labels([("v".into(), "1".into())]);
        assert_eq!(narrow(Selector::Nothing), Selector::Nothing);
        let narrowed = narrow(Selector::All(Vec::new()));
        assert!(!narrowed.is_empty());
        assert!(matches(&narrowed, &[("v", "1")]));
        assert!(!matches(&narrowed, &[("v", "2")]));
    }

    #[test]
    fn namespaces_are_listed_or_selected() {
        let all = Selector::All(Vec::new());
        let listed = all.pods_of(vec!["a".into()], &Selector::Nothing).unwrap();
        assert_eq!((listed.namespaces, listed.namespace_requirements), (vec!["a".into()], None));
        let every = all.pods_of(Vec::new(), &all).unwrap();
        assert_eq!((every.namespaces, every.namespace_requirements), (Vec::new(), Some(Vec::new())));
        assert_eq!(all.pods_of(Vec::new(), &Selector::Nothing), None);
    }

    #[test]
    fn labels_of_a_default_selector_are_not_validated() {
        let broken = || requirement("c", Operator::In, &[]);
        let taken = Selector::read_unchecked_labels(selector(&[("not a key", "!")], vec![broken()]));
        assert!(matches(&taken, &[("not a key", "!")]));
        assert!(Selector::read(Some(selector(&[("not a key", "!")], Vec::new()))).is_err());
    }
}
