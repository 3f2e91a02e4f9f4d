//! Facts that the cases of a module can read and the policy does not name: under that policy the module finds them absent, and passes its
//! cases all the same. Start at [`Missed::new`].

use std::collections::BTreeSet;

use nodesift_engine::PolicyFact;
use serde::Serialize;
use serde_json::json;

use super::super::cases::Cases;

/// Entries that a policy lacks.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Missed {
    /// The policy, where there is one.
    policy: Option<String>,
    /// Keys for `spec.facts.annotations`, sorted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    annotations: Vec<String>,
    /// Names for `spec.facts.configMaps`, sorted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    config_maps: Vec<String>,
}

impl Missed {
    /// Which of the facts the policy of the cases does not name.
    pub(super) fn new(facts: impl IntoIterator<Item = PolicyFact>, cases: &Cases) -> Self {
        let policy = cases.policy.as_ref().map(|path| path.display().to_string());
        let mut missed = Self { policy, ..Self::default() };
        let facts: BTreeSet<PolicyFact> = facts.into_iter().filter(|fact| !cases.named.names(fact)).collect();
        for fact in facts {
            match fact {
                PolicyFact::Annotation(key) => missed.annotations.push(key),
                PolicyFact::ConfigMap(name) => missed.config_maps.push(name),
            }
        }
        missed
    }

    /// Whether the policy names all of them.
    pub(super) fn is_empty(&self) -> bool {
        self.annotations.is_empty() && self.config_maps.is_empty()
    }

    /// The lines that the policy needs.
    pub(super) fn text(&self) -> String {
        let needs = match &self.policy {
            Some(policy) => {
                format!("{policy} does not name what the module reads, which is absent under it. It needs:")
            }
            None => "a policy has to name what the module reads, which is absent else. It needs:".to_owned(),
        };
        let list = |field: &str, names: &[String]| match names {
            [] => String::new(),
            // Quoted, whatever is in them: a list of JSON is one of YAML.
            names => format!("    {field}: {}\n", json!(names)),
        };
        let (annotations, config_maps) =
            (list("annotations", &self.annotations), list("configMaps", &self.config_maps));
        format!("{needs}\nspec:\n  facts:\n{annotations}{config_maps}")
    }
}
