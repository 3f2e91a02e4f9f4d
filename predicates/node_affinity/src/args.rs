//! The arguments of NodeAffinity: kube-scheduler's `NodeAffinityArgs`, node affinity that is added to that of every
//! pod.

use nodesift_sdk::args::{check_kind, null_as_default};
use nodesift_sdk::columns::pod_placement::{Operator, Requirement, Term};
use nodesift_sdk::node_selector::NodeSelector as Selector;
use serde::Deserialize;

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
    /// Only affects scoring, but invalid terms are refused, as in kube-scheduler.
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

impl Args {
    /// The selector of the added required affinity; none where there is none.
    ///
    /// # Errors
    ///
    /// The first invalid argument, with its path.
    pub(crate) fn selector(self) -> Result<Option<Selector>, String> {
        check_kind(self.api_version.as_deref(), self.kind.as_deref(), "NodeAffinityArgs")?;
        let Some(added) = self.added_affinity else { return Ok(None) };
        for (index, preferred) in added.preferred_during_scheduling_ignored_during_execution.into_iter().enumerate() {
            if preferred.weight != 0 {
                let path = format!("addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[{index}].preference");
                Selector::strict(vec![preferred.preference.into()], |_| path.clone())?;
            }
        }
        let Some(required) = added.required_during_scheduling_ignored_during_execution else { return Ok(None) };
        let terms = required.node_selector_terms.into_iter().map(Term::from).collect();
        let path =
            |index| format!("addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[{index}]");
        Selector::strict(terms, path).map(Some)
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
        parse::<Args>(text).and_then(Args::selector)
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
        assert!(selector(&preferred(0)).unwrap().is_none());
        let error = selector(&preferred(1)).unwrap_err();
        let path =
            "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchFields[0].operator";
        assert!(error.starts_with(path), "{error}");
    }
}
