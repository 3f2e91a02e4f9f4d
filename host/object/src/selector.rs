//! Selectors as written: label selectors of affinity and spread terms, node selectors of node affinity.
//!
//! Selectors are not validated here: an unknown operator or a requirement without values is kept, since what it means (a term
//! that matches nothing, say) is for the reader of the selector to decide.

use serde::Deserialize;

use crate::Labels;
use crate::field::null_is_default;

/// How a requirement compares. Label selectors know the first four only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operator {
    /// The value is one of those listed.
    In,
    /// The key is absent or its value is none of those listed.
    NotIn,
    /// The key is there.
    Exists,
    /// The key is absent.
    DoesNotExist,
    /// The value, read as an integer, is greater than the one listed.
    Gt,
    /// The value, read as an integer, is less than the one listed.
    Lt,
    /// Any other text, or none.
    Unknown,
}

/// `key operator values`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
pub struct Requirement {
    /// The label key, or the path of a field in a node selector's `matchFields`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub key: String,
    /// How to compare, as written; [`Requirement::operator`] reads it.
    #[serde(default, rename = "operator", deserialize_with = "null_is_default")]
    pub operator_text: String,
    /// What to compare with.
    #[serde(default, deserialize_with = "null_is_default")]
    pub values: Vec<String>,
}

impl Requirement {
    /// How to compare.
    pub fn operator(&self) -> Operator {
        match self.operator_text.as_str() {
            "In" => Operator::In,
            "NotIn" => Operator::NotIn,
            "Exists" => Operator::Exists,
            "DoesNotExist" => Operator::DoesNotExist,
            "Gt" => Operator::Gt,
            "Lt" => Operator::Lt,
            _ => Operator::Unknown,
        }
    }
}

/// A meta/v1 LabelSelector; all of its parts must hold. Empty, it matches everything.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LabelSelector {
    /// Labels that must be there with these values.
    #[serde(default, deserialize_with = "null_is_default")]
    pub match_labels: Labels,
    /// Further requirements.
    #[serde(default, deserialize_with = "null_is_default")]
    pub match_expressions: Vec<Requirement>,
}

/// A v1 NodeSelector; one of its terms must hold. Without terms it matches nothing.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeSelector {
    /// The alternatives.
    #[serde(default, deserialize_with = "null_is_default")]
    pub node_selector_terms: Vec<NodeSelectorTerm>,
}

/// One alternative of a [`NodeSelector`]; all requirements must hold. Without any it matches nothing.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeSelectorTerm {
    /// About the node's labels.
    #[serde(default, deserialize_with = "null_is_default")]
    pub match_expressions: Vec<Requirement>,
    /// About fields of the node; Kubernetes knows `metadata.name` only.
    #[serde(default, deserialize_with = "null_is_default")]
    pub match_fields: Vec<Requirement>,
}
