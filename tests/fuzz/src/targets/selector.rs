//! Label selectors: parsed with the errors of the reference implementation, and matching what it matches. An input is an
//! object with a `selector` and `labels`.

use nodesift_fixtures::json::{entries, lookup};
use nodesift_object::selector::{LabelSelector, Operator as Written};
use nodesift_reference::selector::Selector as Reference;
use nodesift_sdk::columns::selectors::{LabelSelector as Contract, Operator, Requirement};
use nodesift_sdk::label_selector::Selector;
use serde_json::{Value, json};

use crate::{Behaviour, mutate};

/// The selector and the labels of the document.
pub fn run(input: &[u8]) -> Behaviour {
    let Some(document) = mutate::document(input) else { return Behaviour::new("not a document") };
    let (selector, labels) = (&document["selector"], &document["labels"]);
    let decoded = match serde_json::from_value::<Option<LabelSelector>>(selector.clone()) {
        Ok(decoded) => decoded,
        Err(error) => return Behaviour::error(&error.to_string()),
    };
    // The reference reads plain objects, in which nothing is null.
    let written = decoded.as_ref().map_or(Value::Null, spelled);
    let expected = Reference::parse(&written);
    let found = Selector::read(decoded.map(contract));
    assert_eq!(found.as_ref().err(), expected.as_ref().err(), "errors of {written}");
    let (Ok(found), Ok(expected)) = (found, expected) else {
        return Behaviour::new(("invalid", written.to_string().len() / 64));
    };
    let labels = if labels.is_object() { labels.clone() } else { json!({}) };
    let known = |key: &str| lookup(&labels, key);
    assert_eq!(found.matches(known), expected.matches(&labels), "{written} of {labels}");
    assert_eq!(found.is_empty(), expected.is_everything(), "{written}");
    let own: Vec<(String, String)> = entries(&document, "labels")
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value.as_str()?.to_owned())))
        .collect();
    let (found, expected) = (found.and_labels(own.clone()), expected.and_labels(&own));
    assert_eq!(found.matches(known), expected.matches(&labels), "{written} and {labels}");
    Behaviour::new((found.matches(known), crate::shape(&written.to_string())))
}

fn spelled(selector: &LabelSelector) -> Value {
    let labels: serde_json::Map<String, Value> =
        selector.match_labels.iter().map(|(key, value)| (key.to_string(), json!(value))).collect();
    let expressions = selector.match_expressions.iter().map(
        |requirement| json!({"key": requirement.key, "operator": requirement.operator_text, "values": requirement.values}),
    );
    json!({"matchLabels": labels, "matchExpressions": expressions.collect::<Vec<_>>()})
}

fn contract(selector: LabelSelector) -> Contract {
    let match_labels = selector.match_labels.iter().map(|(key, value)| (key.to_string(), value.clone())).collect();
    let operator = |written: Written| match written {
        Written::In => Operator::In,
        Written::NotIn => Operator::NotIn,
        Written::Exists => Operator::Exists,
        Written::DoesNotExist => Operator::DoesNotExist,
        // Label selectors do not have the operators of node selectors.
        Written::Gt | Written::Lt | Written::Unknown => Operator::Unknown,
    };
    let expressions = selector.match_expressions.into_iter().map(|requirement| Requirement {
        operator: operator(requirement.operator()),
        key: requirement.key,
        values: requirement.values,
        operator_text: requirement.operator_text,
    });
    Contract { match_labels, match_expressions: expressions.collect() }
}
