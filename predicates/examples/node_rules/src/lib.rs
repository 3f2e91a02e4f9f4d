//! NodeRules: an example of a custom predicate over row sets. Nodes have to follow the rules that a policy gives: a label or an
//! annotation with one of some values, no cordon, no taint that the pod does not tolerate, so much of a resource free.
//!
//! The same rules are there over columns, for comparison: `columns: true` in the arguments. Start at [`NodeRules`].

use nodesift_sdk::columns::{node_annotations, node_labels, node_resources, node_taints};
use nodesift_sdk::rows::{self, Rows};
use nodesift_sdk::{Failure, Predicate, Verdict, VerdictBuilder, taints};
use serde::Deserialize;

/// Reason: the node is cordoned.
pub const CORDONED: &str = "node(s) were cordoned";
/// Reason: the node has a taint that the pod does not tolerate.
pub const TAINTED: &str = "node(s) had a taint that the pod doesn't tolerate";

/// The arguments that a policy gives. What is left out is no rule.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Args {
    /// Labels that a node has to have.
    pub labels: Vec<Texts>,
    /// Annotations that a node must not have. The policy lists their keys in `spec.facts.annotations`.
    pub no_annotations: Vec<Texts>,
    /// Whether cordoned nodes are rejected.
    pub cordons: bool,
    /// Whether nodes with a taint that the pod does not tolerate are rejected.
    pub taints: bool,
    /// Amounts of resources that must be free on a node.
    pub free: Vec<Amount>,
    /// Whether columns are read instead of row sets.
    pub columns: bool,
}

/// Values of a label or an annotation.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Texts {
    /// Key of the label or annotation.
    pub key: String,
    /// Its values; none for any.
    #[serde(default)]
    pub values: Vec<String>,
}

/// An amount of a resource.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Amount {
    /// The name of the resource.
    pub resource: String,
    /// `cpu` in millicores, memory in bytes, others as a count.
    pub amount: i64,
}

/// Rejects nodes that break one of the rules in its arguments.
#[derive(Debug)]
pub struct NodeRules(Args);

impl Predicate for NodeRules {
    const NAME: &'static str = "NodeRules";
    const SUMMARY: &'static str = "rejects nodes that break one of the rules in its arguments";
    type Args = Args;

    fn new(args: Args) -> Result<Self, String> {
        Ok(Self(args))
    }

    fn filter(&self, rows: usize) -> Verdict {
        if self.0.columns { self.by_columns(rows) } else { self.by_sets() }
    }
}

impl NodeRules {
    fn by_sets(&self) -> Verdict {
        let Args { labels, no_annotations, cordons, taints, free, .. } = &self.0;
        for label in labels {
            labelled(label).not().reject(&missing(label));
        }
        for annotation in no_annotations {
            annotated(annotation).reject(&found(annotation));
        }
        if *cordons {
            rows::unschedulable().reject(&Failure::unresolvable(CORDONED));
        }
        if *taints {
            rows::untolerated().reject(&Failure::unresolvable(TAINTED));
        }
        for Amount { resource, amount } in free {
            rows::with_free(resource, *amount).not().reject(&too_little(resource));
        }
        Verdict::FitsAll
    }

    fn by_columns(&self, rows: usize) -> Verdict {
        let Args { labels, no_annotations, cordons, taints, free, .. } = &self.0;
        let mut rules: Vec<(Vec<bool>, Failure)> = Vec::new();
        for label in labels {
            let (codes, dictionary) = (node_labels::column(&label.key), node_labels::dictionary(&label.key));
            let is_broken = codes.iter().map(|code| !label.has(*code, &dictionary)).collect();
            rules.push((is_broken, missing(label)));
        }
        for annotation in no_annotations {
            let key = &annotation.key;
            let (codes, dictionary) = (node_annotations::column(key), node_annotations::dictionary(key));
            let is_broken = codes.iter().map(|code| annotation.has(*code, &dictionary)).collect();
            rules.push((is_broken, found(annotation)));
        }
        if *cordons {
            let is_broken = node_taints::unschedulable().iter().map(|flag| *flag != 0).collect();
            rules.push((is_broken, Failure::unresolvable(CORDONED)));
        }
        if *taints {
            let mut marks = vec![0; rows];
            taints::mark_untolerated(&mut marks, 1);
            let is_broken = marks.into_iter().map(|mark| mark != 0).collect();
            rules.push((is_broken, Failure::unresolvable(TAINTED)));
        }
        for Amount { resource, amount } in free {
            let is_broken = node_resources::free(resource).iter().map(|free| free < amount).collect();
            rules.push((is_broken, too_little(resource)));
        }
        let mut verdict = VerdictBuilder::new(rows);
        let codes: Vec<_> = rules.iter().map(|(_, failure)| verdict.code(failure.clone())).collect();
        for row in 0..rows {
            let broken = rules.iter().zip(&codes).find(|((is_broken, _), _)| is_broken.get(row) == Some(&true));
            if let Some((_, code)) = broken {
                verdict.reject_as(row, *code);
            }
        }
        verdict.finish()
    }
}

impl Texts {
    fn has(&self, code: u32, dictionary: &[String]) -> bool {
        let text = dictionary.get(code as usize).filter(|_| code != 0);
        text.is_some_and(|text| self.values.is_empty() || self.values.contains(text))
    }

    fn values(&self) -> Vec<&str> {
        self.values.iter().map(String::as_str).collect()
    }
}

fn labelled(label: &Texts) -> Rows {
    match label.values.is_empty() {
        true => rows::label_exists(&label.key),
        false => rows::label_in(&label.key, &label.values()),
    }
}

fn annotated(annotation: &Texts) -> Rows {
    match annotation.values.is_empty() {
        true => rows::annotation_exists(&annotation.key),
        false => rows::annotation_in(&annotation.key, &annotation.values()),
    }
}

fn missing(label: &Texts) -> Failure {
    Failure::unresolvable(format!("node(s) didn't have the label {} that is asked for", label.key))
}

fn found(annotation: &Texts) -> Failure {
    Failure::unresolvable(format!("node(s) had the annotation {}", annotation.key))
}

fn too_little(resource: &str) -> Failure {
    Failure::unschedulable(format!("node(s) had too little {resource}"))
}

nodesift_sdk::export!(NodeRules);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use nodesift_sdk::configure;
    use nodesift_sdk::native::{Cluster, Node, Pod};

    use super::*;

    #[test]
    fn sets_and_columns_reject_the_same_nodes() {
        let cluster = Cluster::new(Pod::new("default"))
            .node(Node::new("a").label("disk", "ssd"))
            .node(Node::new("b").label("disk", "hdd"))
            .node(Node::new("c"));
        for columns in [false, true] {
            let args = format!(r#"{{"labels": [{{"key": "disk", "values": ["ssd", "nvme"]}}], "columns": {columns}}}"#);
            let rejected = cluster.rejected(&configure::<NodeRules>(&args).unwrap());
            let reason = "node(s) didn't have the label disk that is asked for";
            assert_eq!(rejected, [format!("b: {reason}"), format!("c: {reason}")]);
            let any = format!(r#"{{"labels": [{{"key": "disk"}}], "columns": {columns}}}"#);
            assert_eq!(cluster.rejected(&configure::<NodeRules>(&any).unwrap()), [format!("c: {reason}")]);
        }
    }
}
