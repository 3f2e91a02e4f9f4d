//! The arguments of NodeAffinity: kube-scheduler's `NodeAffinityArgs`, node affinity that is added to that of every
//! pod.

use nodesift_sdk::args::{check_kind, null_as_default};
use nodesift_sdk::columns::pod_placement::{self, Operator, Requirement, Term};
use nodesift_sdk::node_selector::NodeSelector as Selector;
use serde::Deserialize;

use crate::preference::Preference;

/// `NodeAffinityArgs` of kube-scheduler's configuration.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Args {
    api_version: Option<String>,
    kind: Option<String>,
    added_affinity: Option<AddedAffinity>,
}

/// `NodeAffinity` of core/v1, as the policy adds it to every pod.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct AddedAffinity {
    required_during_scheduling_ignored_during_execution: Option<NodeSelector>,
    /// Only affects scores, but invalid terms are refused for filtering too, as in kube-scheduler.
    #[serde(deserialize_with = "null_as_default")]
    preferred_during_scheduling_ignored_during_execution: Vec<PreferredTerm>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct NodeSelector {
    #[serde(deserialize_with = "null_as_default")]
    node_selector_terms: Vec<NodeSelectorTerm>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct PreferredTerm {
    weight: i32,
    preference: NodeSelectorTerm,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct NodeSelectorTerm {
    #[serde(deserialize_with = "null_as_default")]
    match_expressions: Vec<NodeSelectorRequirement>,
    #[serde(deserialize_with = "null_as_default")]
    match_fields: Vec<NodeSelectorRequirement>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct NodeSelectorRequirement {
    key: String,
    operator: String,
    #[serde(deserialize_with = "null_as_default")]
    values: Vec<String>,
}

/// The affinity that a policy adds to that of every pod.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Added {
    /// Selector of nodes that the pod may run on; none where it may run on all.
    pub(crate) required: Option<Selector>,
    /// Preferences that are added to those of the pod; none where the policy lists none.
    pub(crate) preferred: Option<Vec<Preference>>,
}

impl Args {
    /// The affinity that is added.
    ///
    /// # Errors
    ///
    /// The first invalid argument, with its path.
    pub(crate) fn added(self) -> Result<Added, String> {
        check_kind(self.api_version.as_deref(), self.kind.as_deref(), "NodeAffinityArgs")?;
        let Some(added) = self.added_affinity else { return Ok(Added::default()) };
        let preferred = added.preferred_during_scheduling_ignored_during_execution;
        // A list whose terms all have the weight 0 is a list all the same.
        let is_listed = !preferred.is_empty();
        let terms = preferred.into_iter().map(pod_placement::PreferredTerm::from).collect();
        let path = "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution";
        let preferred = Preference::read(terms, path)?;
        let path =
            |index| format!("addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[{index}]");
        let required = added.required_during_scheduling_ignored_during_execution.map(|required| {
            let terms = required.node_selector_terms.into_iter().map(Term::from).collect();
            Selector::strict(terms, path)
        });
        Ok(Added { required: required.transpose()?, preferred: is_listed.then_some(preferred) })
    }
}

impl From<PreferredTerm> for pod_placement::PreferredTerm {
    fn from(PreferredTerm { weight, preference }: PreferredTerm) -> Self {
        Self { weight, preference: preference.into() }
    }
}

impl From<NodeSelectorTerm> for Term {
    fn from(term: NodeSelectorTerm) -> Self {
        let convert = |list: Vec<NodeSelectorRequirement>| list.into_iter().map(Requirement::from).collect();
        Self { expressions: convert(term.match_expressions), fields: convert(term.match_fields) }
    }
}

impl From<NodeSelectorRequirement> for Requirement {
    fn from(requirement: NodeSelectorRequirement) -> Self {
        let operator = match requirement.operator.as_str() {
            "In" => Operator::In,
            "NotIn" => Operator::NotIn,
            "Exists" => Operator::Exists,
            "DoesNotExist" => Operator::DoesNotExist,
            "Gt" => Operator::Gt,
            "Lt" => Operator::Lt,
            _ => Operator::Unknown,
        };
        Self { key: requirement.key, operator, values: requirement.values }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use nodesift_sdk::args::parse;

    use super::*;

    fn selector(text: &str) -> Result<Option<Selector>, String> {
        added(text).map(|added| added.required)
    }

    fn added(text: &str) -> Result<Added, String> {
        parse::<Args>(text).and_then(Args::added)
    }

    fn required(requirement: &str) -> String {
        format!(
            r#"{{"addedAffinity":{{"requiredDuringSchedulingIgnoredDuringExecution":{{"nodeSelectorTerms":
               [{{}},{{"matchExpressions":[{requirement}]}}]}}}}}}"#
        )
    }

    #[test]
    fn arguments_in_the_form_of_kube_scheduler_are_accepted() {
        let version = r#""apiVersion":"kubescheduler.config.k8s.io/v1","kind":"NodeAffinityArgs""#;
        assert!(selector("{}").unwrap().is_none());
        assert!(selector(&format!("{{{version}}}")).unwrap().is_none());
        assert!(selector(&format!("{{{version},\"addedAffinity\":null}}")).unwrap().is_none());
        assert!(selector(&required(r#"{"key":"a","operator":"Exists","values":null}"#)).unwrap().is_some());
    }

    #[test]
    fn an_invalid_term_is_refused_with_its_path() {
        let error = selector(&required(r#"{"key":"a","operator":"Gt","values":["-1"]}"#)).unwrap_err();
        let path = "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[1]\
                    .matchExpressions[0].values[0]: ";
        assert!(error.starts_with(path), "{error}");
        assert!(selector(&required(r#"{"key":"a","operator":"Near"}"#)).is_err());
    }

    #[test]
    fn an_unknown_field_is_refused_with_its_path() {
        let error = selector(&required(r#"{"key":"a","operator":"In","value":["b"]}"#)).unwrap_err();
        let path = "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[1]\
                    .matchExpressions[0].value: unknown field `value`";
        assert!(error.starts_with(path), "{error}");
    }

    #[test]
    fn preferred_terms_are_validated_unless_their_weight_is_0() {
        let preferred = |weight: i32| {
            format!(
                r#"{{"addedAffinity":{{"preferredDuringSchedulingIgnoredDuringExecution":[{{"weight":{weight},
                   "preference":{{"matchFields":[{{"key":"metadata.name","operator":"Exists"}}]}}}}]}}}}"#
            )
        };
        assert_eq!(added(&preferred(0)).unwrap(), Added { required: None, preferred: Some(Vec::new()) });
        assert_eq!(added("{}").unwrap(), Added::default());
        let error = selector(&preferred(1)).unwrap_err();
        let path =
            "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchFields[0].operator";
        assert!(error.starts_with(path), "{error}");
    }
}
