//! Expressions of the pod about nodes, each with the nodes that match it. Start at [`collect`].
//!
//! An expression is compared with each distinct value of its label once, by the same test as the node selectors of devices and volumes.

use std::sync::Arc;

use nodesift_cache::metadata::{Labels, NodeSelectorTest};
use nodesift_object::selector::{NodeSelector, NodeSelectorTerm, Operator, Requirement};
use nodesift_sandbox::Facts as _;

use super::Draft;
use crate::Error;
use crate::limits::WHY_FACTS;
use crate::why::answer::{ExpressionFact, NamedFact};
use crate::why::rejections::cut;
use crate::why::view::View;
use crate::why::words::Words;

/// Adds one fact for the node that the pod names, one for each label of the node selector, and one for each expression of the required node
/// affinity.
///
/// # Errors
///
/// [`Error::DeadlineExceeded`].
pub(super) fn collect(view: &View<'_>, draft: &mut Draft<'_>) -> Result<(), Error> {
    collect_name(view, draft);
    let pod = view.context.pod();
    let terms = pod.required_affinity.as_ref().map(|selector| selector.node_selector_terms.as_slice());
    let of_term = |term: &NodeSelectorTerm| term.match_expressions.len() + term.match_fields.len();
    let all = pod.node_selector.len() + terms.into_iter().flatten().map(of_term).sum::<usize>();
    if all == 0 {
        return Ok(());
    }
    // What a part of a selector leaves open is no obstacle: a large one is not told at all.
    if all > WHY_FACTS {
        draft.evidence.omitted = all;
        return Ok(());
    }
    let batch = &view.rejections.batch;
    let mut matched = batch.clone();
    let mut facts = Vec::with_capacity(all);
    for (key, value) in pod.node_selector.iter() {
        view.check()?;
        let rows = rows_with_label(view, key, value);
        let expression = cut(&format!("{key}={value}")).to_owned();
        facts.push(ExpressionFact { field: "nodeSelector".to_owned(), expression, nodes: rows.count() });
        matched = matched.and(&rows);
    }
    if let Some(terms) = terms {
        let mut some_term = Words::none(view.rejections.rows);
        for (at, term) in terms.iter().enumerate() {
            let mut of_term = if of_term(term) == 0 { Words::none(view.rejections.rows) } else { batch.clone() };
            let mut add = |list: &str, place: usize, requirement: &Requirement, rows: Words| {
                let field = format!("affinity.nodeAffinity.required[{at}].{list}[{place}]");
                facts.push(ExpressionFact { field, expression: text(requirement), nodes: rows.count() });
                of_term = of_term.and(&rows);
            };
            for (place, requirement) in term.match_expressions.iter().enumerate() {
                add("matchExpressions", place, requirement, rows_by_value(view, requirement)?);
            }
            for (place, requirement) in term.match_fields.iter().enumerate() {
                add("matchFields", place, requirement, rows_by_name(view, requirement)?);
            }
            some_term.add(&of_term);
        }
        matched = matched.and(&some_term);
    }
    if draft.admits(&batch.less(&matched)) {
        draft.evidence.expressions = facts;
    }
    Ok(())
}

/// Adds the node that the pod names; every other node is out.
fn collect_name(view: &View<'_>, draft: &mut Draft<'_>) {
    let Some(name) = view.context.node_name() else { return };
    let mut named = Words::none(view.rejections.rows);
    if let Some(row) = view.context.snapshot().node_row(&name) {
        named.insert(row);
    }
    let others = view.rejections.batch.less(&named);
    if draft.admits(&others) {
        let fact = NamedFact { name: "nodeName", value: cut(&name).to_owned(), nodes: Some(others.count()) };
        draft.evidence.facts.push(fact);
    }
}

/// Evaluated rows with a label of this value. Nothing is validated: a node selector is compared as it is written.
fn rows_with_label(view: &View<'_>, key: &str, value: &str) -> Words {
    let rows = view.rejections.rows;
    let Some(column) = view.context.snapshot().label_column(key) else { return Words::none(rows) };
    let Some(wanted) = column.dictionary().code(value) else { return Words::none(rows) };
    let codes = column.codes.flat();
    Words::from_test(rows, |row| codes.get(row).is_some_and(|code| *code == wanted)).and(&view.rejections.batch)
}

/// Evaluated rows whose label meets a requirement.
fn rows_by_value(view: &View<'_>, requirement: &Requirement) -> Result<Words, Error> {
    view.check()?;
    let term = NodeSelectorTerm { match_expressions: vec![requirement.clone()], match_fields: Vec::new() };
    let test = NodeSelectorTest::compile(&NodeSelector { node_selector_terms: vec![term] });
    let without = test.matches(&Labels::default(), "");
    let rows = view.rejections.rows;
    let Some(column) = view.context.snapshot().label_column(&requirement.key) else {
        return Ok(if without { view.rejections.batch.clone() } else { Words::none(rows) });
    };
    let key: Arc<str> = Arc::from(requirement.key.as_str());
    let texts = column.dictionary().listed();
    let with = |text: &Arc<str>| test.matches(&[(Arc::clone(&key), Arc::clone(text))].into(), "");
    let by_code: Vec<bool> =
        texts.iter().enumerate().map(|(code, text)| if code == 0 { without } else { with(text) }).collect();
    let codes = column.codes.flat();
    let matches = |row: usize| codes.get(row).and_then(|code| by_code.get(*code as usize)).copied().unwrap_or(without);
    Ok(Words::from_test(rows, matches).and(&view.rejections.batch))
}

/// Evaluated rows whose name meets a requirement on a field.
fn rows_by_name(view: &View<'_>, requirement: &Requirement) -> Result<Words, Error> {
    let term = NodeSelectorTerm { match_expressions: Vec::new(), match_fields: vec![requirement.clone()] };
    let test = NodeSelectorTest::compile(&NodeSelector { node_selector_terms: vec![term] });
    let (labels, snapshot) = (Labels::default(), view.context.snapshot());
    view.rows_with(|row| test.matches(&labels, snapshot.node_name(row)))
}

/// A requirement as text, as kubectl writes selectors.
pub(super) fn text(requirement: &Requirement) -> String {
    let Requirement { key, operator_text, values } = requirement;
    let listed = || values.join(",");
    let text = match requirement.operator() {
        Operator::In => format!("{key} in ({})", listed()),
        Operator::NotIn => format!("{key} notin ({})", listed()),
        Operator::Exists => key.clone(),
        Operator::DoesNotExist => format!("!{key}"),
        Operator::Gt => format!("{key} > {}", listed()),
        Operator::Lt => format!("{key} < {}", listed()),
        Operator::Unknown => format!("{key} {operator_text} ({})", listed()),
    };
    cut(&text).to_owned()
}
