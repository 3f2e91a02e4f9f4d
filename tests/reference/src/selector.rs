//! Label selectors and node selectors, with Kubernetes' error texts for invalid ones.
//!
//! Sources: apimachinery `labels.NewRequirement`, `metav1.LabelSelectorAsSelector`, `content.IsLabelKey`;
//! component-helpers `scheduling/corev1/nodeaffinity`.

use crate::go_text::{json_list, quoted};
use nodesift_fixtures::json::{at, entries, is_set, list, lookup, name, text, texts};
use serde_json::Value;

/// One requirement about a label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    key: String,
    operator: Operator,
    values: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
    Gt,
    Lt,
}

/// A selector over labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selector {
    /// Matches nothing: the meaning of an absent selector.
    Nothing,
    /// Matches if every requirement holds; an empty list matches everything.
    All(Vec<Requirement>),
}

impl Selector {
    /// The selector of an object's `LabelSelector`, or its validation error.
    pub fn parse(selector: &Value) -> Result<Self, String> {
        if selector.is_null() {
            return Ok(Self::Nothing);
        }
        let mut requirements = Vec::new();
        for (key, value) in entries(selector, "matchLabels") {
            let values = vec![value.as_str().unwrap_or("").to_owned()];
            requirements.push(requirement(key, Operator::In, values).map_err(|errors| aggregate(&errors))?);
        }
        for expression in list(selector, "matchExpressions") {
            let operator = match text(expression, "operator") {
                "In" => Operator::In,
                "NotIn" => Operator::NotIn,
                "Exists" => Operator::Exists,
                "DoesNotExist" => Operator::DoesNotExist,
                other => return Err(format!("{} is not a valid label selector operator", quoted(other))),
            };
            let parsed = requirement(text(expression, "key"), operator, texts(expression, "values"));
            requirements.push(parsed.map_err(|errors| aggregate(&errors))?);
        }
        Ok(Self::All(requirements))
    }

    /// Whether it has no requirements and matches everything.
    pub fn is_everything(&self) -> bool {
        matches!(self, Self::All(requirements) if requirements.is_empty())
    }

    /// Adds required labels to the selector.
    pub fn and_labels(self, labels: &[(String, String)]) -> Self {
        let Self::All(mut requirements) = self else { return self };
        requirements.extend(labels.iter().map(|(key, value)| Requirement {
            key: key.clone(),
            operator: Operator::In,
            values: vec![value.clone()],
        }));
        Self::All(requirements)
    }

    /// Whether it matches labels, which are a map or `Null`.
    pub fn matches(&self, labels: &Value) -> bool {
        match self {
            Self::Nothing => false,
            Self::All(requirements) => requirements.iter().all(|requirement| requirement.matches(labels)),
        }
    }
}

impl Requirement {
    fn matches(&self, labels: &Value) -> bool {
        let value = lookup(labels, &self.key);
        let listed = |value: &str| self.values.iter().any(|known| known == value);
        let integers = || Some((value?.parse::<i64>().ok()?, self.values.first()?.parse::<i64>().ok()?));
        match self.operator {
            Operator::In => value.is_some_and(listed),
            Operator::NotIn => !value.is_some_and(listed),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::Gt => integers().is_some_and(|(value, bound)| value > bound),
            Operator::Lt => integers().is_some_and(|(value, bound)| value < bound),
        }
    }
}

/// Whether a pod's `spec.nodeSelector` and required node affinity match a node.
pub fn pod_selects_node(pod: &Value, node: &Value) -> bool {
    let labels = at(node, "metadata.labels");
    let selector = entries(pod, "spec.nodeSelector");
    if !selector.iter().all(|(key, value)| lookup(labels, key) == Some(value.as_str().unwrap_or(""))) {
        return false;
    }
    let required = at(pod, "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution");
    required.is_null() || node_selector_matches(required, labels, name(node))
}

/// Whether one term of a `NodeSelector` matches. Without a node name, requirements about fields always hold.
pub fn node_selector_matches(selector: &Value, labels: &Value, node_name: &str) -> bool {
    list(selector, "nodeSelectorTerms").iter().any(|term| term_matches(term, labels, node_name))
}

/// The errors of a `NodeSelector`, with their places; `None` where it is good or absent.
pub fn node_selector_errors(selector: &Value) -> Option<String> {
    let mut errors = Vec::new();
    for (term_number, term) in list(selector, "nodeSelectorTerms").iter().enumerate() {
        for (number, expression) in list(term, "matchExpressions").iter().enumerate() {
            let place = format!("nodeSelectorTerms[{term_number}].matchExpressions[{number}]");
            let Some(operator) = node_operator(expression) else {
                let operator = quoted(text(expression, "operator"));
                errors.push(format!("{place}.operator: Invalid value: {operator}: not a valid selector operator"));
                continue;
            };
            let parsed = requirement(text(expression, "key"), operator, texts(expression, "values"));
            errors.extend(parsed.err().into_iter().flatten().map(|error| format!("{place}.{error}")));
        }
    }
    (!errors.is_empty()).then(|| aggregate(&errors))
}

fn node_operator(expression: &Value) -> Option<Operator> {
    Some(match text(expression, "operator") {
        "In" => Operator::In,
        "NotIn" => Operator::NotIn,
        "Exists" => Operator::Exists,
        "DoesNotExist" => Operator::DoesNotExist,
        "Gt" => Operator::Gt,
        "Lt" => Operator::Lt,
        _ => return None,
    })
}

/// An empty term, or one with an invalid requirement, matches nothing.
fn term_matches(term: &Value, labels: &Value, node_name: &str) -> bool {
    let (expressions, fields) = (list(term, "matchExpressions"), list(term, "matchFields"));
    if expressions.is_empty() && fields.is_empty() {
        return false;
    }
    let mut matches = true;
    for expression in expressions {
        let Some(operator) = node_operator(expression) else { return false };
        match requirement(text(expression, "key"), operator, texts(expression, "values")) {
            Ok(requirement) => matches &= requirement.matches(labels),
            Err(_) => return false,
        }
    }
    for field in fields {
        let [value] = &texts(field, "values")[..] else { return false };
        let found = if text(field, "key") == "metadata.name" { node_name } else { "" };
        match text(field, "operator") {
            "In" => matches &= node_name.is_empty() || found == value,
            "NotIn" => matches &= node_name.is_empty() || found != value,
            _ => return false,
        }
    }
    matches
}

/// The error of the first invalid requirement of a term; `None` where it is good.
pub fn term_error(term: &Value) -> Option<String> {
    let invalid_expression = |expression: &Value| match node_operator(expression) {
        None => Some(format!("{} is not a valid selector operator", quoted(text(expression, "operator")))),
        Some(operator) => requirement(text(expression, "key"), operator, texts(expression, "values"))
            .err()
            .map(|errors| aggregate(&errors)),
    };
    let invalid_field = |field: &Value| {
        let is_valid = matches!(text(field, "operator"), "In" | "NotIn") && list(field, "values").len() == 1;
        (!is_valid).then(|| "a requirement about a field needs In or NotIn and one value".to_owned())
    };
    let expressions = list(term, "matchExpressions").iter().find_map(invalid_expression);
    expressions.or_else(|| list(term, "matchFields").iter().find_map(invalid_field))
}

/// Whether a term of `allowedTopologies` matches labels; an empty list matches everything.
pub fn topology_terms_match(terms: &[Value], labels: &Value) -> bool {
    terms.is_empty() || terms.iter().any(|term| topology_term_matches(term, labels))
}

fn topology_term_matches(term: &Value, labels: &Value) -> bool {
    let expressions = list(term, "matchLabelExpressions");
    !expressions.is_empty()
        && expressions.iter().all(|expression| {
            let parsed = requirement(text(expression, "key"), Operator::In, texts(expression, "values"));
            parsed.is_ok_and(|requirement| requirement.matches(labels))
        })
}

/// The nodes to which required node affinity restricts filtering.
#[derive(Debug, PartialEq, Eq)]
pub enum NamedNodes {
    /// Affinity does not restrict filtering to named nodes.
    Unrestricted,
    /// Every term names nodes; these are they.
    Only(Vec<String>),
    /// Every term names nodes, and no node satisfies any term.
    None,
}

/// The nodes that the pod's required node affinity names by `matchFields`.
pub fn nodes_named_by(pod: &Value) -> NamedNodes {
    let path = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
    let terms = list(pod, path);
    let mut all: Vec<String> = Vec::new();
    for term in terms {
        let mut named: Option<Vec<String>> = None;
        for field in list(term, "matchFields") {
            if text(field, "key") == "metadata.name" && text(field, "operator") == "In" {
                let values = texts(field, "values");
                named = Some(match named {
                    None => values,
                    Some(named) => named.into_iter().filter(|name| values.contains(name)).collect(),
                });
            }
        }
        match named {
            None => return NamedNodes::Unrestricted,
            Some(named) => all.extend(named),
        }
    }
    match (terms.is_empty() || !is_set(pod, path), all.is_empty()) {
        (true, _) => NamedNodes::Unrestricted,
        (false, true) => NamedNodes::None,
        (false, false) => NamedNodes::Only(all),
    }
}

/// Parses one requirement, and reports all of its errors.
fn requirement(key: &str, operator: Operator, values: Vec<String>) -> Result<Requirement, Vec<String>> {
    let mut errors = Vec::new();
    let key_errors = label_key_errors(key);
    if !key_errors.is_empty() {
        errors.push(format!("key: Invalid value: {}: {}", quoted(key), key_errors.join("; ")));
    }
    let shown = || if values.is_empty() { "null".to_owned() } else { json_list(&values) };
    let mut about_values = |detail: &str| errors.push(format!("values: Invalid value: {}: {detail}", shown()));
    match operator {
        Operator::In | Operator::NotIn if values.is_empty() => {
            about_values("for 'in', 'notin' operators, values set can't be empty");
        }
        Operator::Exists | Operator::DoesNotExist if !values.is_empty() => {
            about_values("values set must be empty for exists and does not exist");
        }
        Operator::Gt | Operator::Lt if values.len() != 1 => {
            about_values("for 'Gt', 'Lt' operators, exactly one value is required");
        }
        _ => {}
    }
    if matches!(operator, Operator::Gt | Operator::Lt) {
        for (at, value) in values.iter().enumerate().filter(|(_, value)| value.parse::<i64>().is_err()) {
            let detail = "for 'Gt', 'Lt' operators, the value must be an integer";
            errors.push(format!("values[{at}]: Invalid value: {}: {detail}", quoted(value)));
        }
    }
    for (at, value) in values.iter().enumerate() {
        let value_errors = label_value_errors(value);
        if !value_errors.is_empty() {
            let reasons = value_errors.join("; ");
            errors.push(format!("values[{at}][{key}]: Invalid value: {}: {reasons}", quoted(value)));
        }
    }
    match errors.is_empty() {
        true => Ok(Requirement { key: key.to_owned(), operator, values }),
        false => Err(errors),
    }
}

/// Several errors as one text, without duplicates.
pub fn aggregate(errors: &[String]) -> String {
    let mut distinct: Vec<&str> = Vec::new();
    for error in errors {
        if !distinct.contains(&error.as_str()) {
            distinct.push(error);
        }
    }
    match distinct[..] {
        [error] => error.to_owned(),
        _ => format!("[{}]", distinct.join(", ")),
    }
}

/// The maximum length of a label value, and of the name part of a label key, in bytes.
const LONGEST_NAME: usize = 63;

/// The maximum length of the prefix of a label key, in bytes.
const LONGEST_PREFIX: usize = 253;

const NAME_RULE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
    alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

const VALUE_RULE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or \
    '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex \
    used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

const PREFIX_RULE: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or \
    '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/// The validation errors of a label key.
pub fn label_key_errors(key: &str) -> Vec<String> {
    let mut errors = Vec::new();
    let name = match &key.split('/').collect::<Vec<_>>()[..] {
        [name] => *name,
        [prefix, name] => {
            if prefix.is_empty() {
                errors.push("prefix part must be non-empty".to_owned());
            } else {
                if prefix.len() > LONGEST_PREFIX {
                    errors.push(format!("prefix part must be no more than {LONGEST_PREFIX} bytes"));
                }
                if !prefix.split('.').all(is_dns_label) {
                    errors.push(format!("prefix part {PREFIX_RULE}"));
                }
            }
            *name
        }
        _ => {
            return vec![format!(
                "a valid label key {NAME_RULE} with an optional DNS subdomain prefix and '/' (e.g. \
                 'example.com/MyName')"
            )];
        }
    };
    if name.is_empty() {
        errors.push("name part must be non-empty".to_owned());
    } else if name.len() > LONGEST_NAME {
        errors.push(format!("name part must be no more than {LONGEST_NAME} bytes"));
    }
    if !is_name(name) {
        errors.push(format!("name part {NAME_RULE}"));
    }
    errors
}

/// The validation errors of a label value.
fn label_value_errors(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if value.len() > LONGEST_NAME {
        errors.push(format!("must be no more than {LONGEST_NAME} bytes"));
    }
    if !value.is_empty() && !is_name(value) {
        errors.push(VALUE_RULE.to_owned());
    }
    errors
}

fn is_name(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.ends_with(|c: char| c.is_ascii_alphanumeric())
}

fn is_dns_label(text: &str) -> bool {
    let alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.chars().all(|c| alphanumeric(c) || c == '-') && text.starts_with(alphanumeric) && text.ends_with(alphanumeric)
}
