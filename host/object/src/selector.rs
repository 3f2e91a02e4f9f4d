//! Selectors as written: label selectors of affinity and spread terms, node selectors of node affinity, selectors of devices.
//!
//! Invalid selectors are kept as well: what an unknown operator or a requirement without values means (a term that matches
//! nothing, say) is for the reader of the selector to decide. [`LabelSelector::is_valid`] tells them apart.

use serde::{Deserialize, Serialize};

use crate::Labels;
use crate::field::{is_default, null_is_default};

/// Operator of a requirement. In label selectors only the first four are valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operator {
    /// The value is one of those listed.
    In,
    /// The key is absent or its value is none of those listed.
    NotIn,
    /// The key is present.
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

/// Requirement of a selector: a key, an operator and values.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize, Serialize)]
pub struct Requirement {
    /// The label key, or the path of a field in a node selector's `matchFields`.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub key: String,
    /// How to compare, as written; [`Requirement::operator`] reads it.
    #[serde(default, rename = "operator", deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub operator_text: String,
    /// Values that the operator compares with; empty for `Exists` and `DoesNotExist`.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub values: Vec<String>,
}

impl Requirement {
    /// Returns the operator that `operator_text` names, or [`Operator::Unknown`].
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
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LabelSelector {
    /// Labels that must be present with these values.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub match_labels: Labels,
    /// Requirements that must hold besides `match_labels`.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub match_expressions: Vec<Requirement>,
}

impl LabelSelector {
    /// Whether Kubernetes can parse the selector. Source: `LabelSelectorAsSelector` in apimachinery's pkg/apis/meta/v1 and
    /// `NewRequirement` in pkg/labels.
    pub fn is_valid(&self) -> bool {
        let is_requirement = |requirement: &Requirement| {
            let counts = match requirement.operator() {
                Operator::In | Operator::NotIn => !requirement.values.is_empty(),
                Operator::Exists | Operator::DoesNotExist => requirement.values.is_empty(),
                Operator::Gt | Operator::Lt | Operator::Unknown => false,
            };
            counts && is_label_key(&requirement.key) && requirement.values.iter().all(|value| is_label_value(value))
        };
        self.match_labels.iter().all(|(key, value)| is_label_key(key) && is_label_value(value))
            && self.match_expressions.iter().all(is_requirement)
    }
}

/// The greatest length of a label value, and of a label key without its prefix, in bytes.
const LABEL_BYTES: usize = 63;

/// The greatest length of the prefix of a label key, in bytes.
const PREFIX_BYTES: usize = 253;

/// Whether a text is `name` or `prefix/name`, as the key of a label is.
fn is_label_key(key: &str) -> bool {
    let (prefix, name) = key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    let part = |part: &str| is_framed(part, |byte| byte.is_ascii_lowercase() || byte.is_ascii_digit(), b"-");
    let is_prefix = |prefix: &str| prefix.len() <= PREFIX_BYTES && prefix.split('.').all(part);
    prefix.is_none_or(is_prefix) && !name.is_empty() && is_label_value(name)
}

/// Whether a text is empty, or of a label's characters.
fn is_label_value(value: &str) -> bool {
    value.is_empty() || value.len() <= LABEL_BYTES && is_framed(value, |byte| byte.is_ascii_alphanumeric(), b"-_.")
}

/// Whether a text begins and ends with an outer byte, with outer and inner ones in between.
fn is_framed(text: &str, is_outer: impl Fn(&u8) -> bool, inner: &[u8]) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(&is_outer)
        && bytes.last().is_some_and(&is_outer)
        && bytes.iter().all(|byte| is_outer(byte) || inner.contains(byte))
}

/// A v1 NodeSelector; one of its terms must hold. Without terms it matches nothing.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeSelector {
    /// Terms of the selector, of which one must hold.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub node_selector_terms: Vec<NodeSelectorTerm>,
}

/// One alternative of a [`NodeSelector`]; all requirements must hold. Without any it matches nothing.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeSelectorTerm {
    /// Requirements on the node's labels.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub match_expressions: Vec<Requirement>,
    /// Requirements on fields of the node; Kubernetes supports `metadata.name` only.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub match_fields: Vec<Requirement>,
}

/// A selector of devices.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct DeviceSelector {
    /// CEL expression, the only kind of device selector; none is an error.
    #[serde(default)]
    pub cel: Option<CelSelector>,
}

/// CEL expression over a device.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct CelSelector {
    /// Source text of the CEL expression.
    #[serde(default, deserialize_with = "null_is_default")]
    pub expression: String,
}
