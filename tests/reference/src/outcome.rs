//! Results of filters, and their lines in `explain -o jsonl`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// kube-scheduler's status codes of a rejection, in the order of their names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Code {
    /// A malformed object makes a verdict impossible.
    Error,
    /// Preempting pods may help.
    Unschedulable,
    /// Preempting pods cannot help.
    UnschedulableAndUnresolvable,
}

impl Code {
    /// Returns kube-scheduler's name of the code.
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "Error",
            Self::Unschedulable => "Unschedulable",
            Self::UnschedulableAndUnresolvable => "UnschedulableAndUnresolvable",
        }
    }
}

/// A rejection of one node: a code, and every reason, sorted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Failure {
    /// Status code of kube-scheduler's framework.
    pub code: Code,
    /// Every reason that applies, sorted.
    pub reasons: Vec<String>,
}

impl Failure {
    /// A rejection for one reason.
    pub fn new(code: Code, reason: impl Into<String>) -> Self {
        Self { code, reasons: vec![reason.into()] }
    }
}

/// The effect of a filter on the scheduling cycle of a pod, besides rejecting single nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cycle {
    /// It filters every node.
    EachNode,
    /// It names nodes: all others are not filtered.
    NamedNodes,
    /// Its PreFilter rejects the pod: no node is filtered.
    Rejected,
    /// It returns an error: the cycle is aborted.
    Aborted,
}

/// The result of one filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Rejected nodes by name.
    pub failures: BTreeMap<String, Failure>,
    /// Its effect on the cycle.
    pub cycle: Cycle,
    /// The nodes of the cluster that its PreFilter names; none where it names none.
    pub named: Option<BTreeSet<String>>,
    /// The failure with which its PreFilter rejects the pod.
    pub rejection: Option<Failure>,
}

impl Outcome {
    /// Outcome of a filter whose PreFilter names these nodes of the cluster.
    #[must_use]
    pub fn naming(self, named: BTreeSet<String>) -> Self {
        Self { cycle: self.cycle.max(Cycle::NamedNodes), named: Some(named), ..self }
    }

    /// The result of evaluating every node by itself.
    pub fn each_node<'a>(nodes: impl Iterator<Item = &'a Value>, judge: impl Fn(&Value) -> Option<Failure>) -> Self {
        let failures: BTreeMap<String, Failure> =
            nodes.filter_map(|node| Some((nodesift_fixtures::json::name(node).to_owned(), judge(node)?))).collect();
        let aborted = failures.values().any(|failure| failure.code == Code::Error);
        let cycle = if aborted { Cycle::Aborted } else { Cycle::EachNode };
        Self { failures, cycle, named: None, rejection: None }
    }

    /// Result of a filter that rejects no node.
    pub fn fits_all() -> Self {
        Self { failures: BTreeMap::new(), cycle: Cycle::EachNode, named: None, rejection: None }
    }

    /// PreFilter rejects the pod, and thereby every node.
    pub fn rejected<'a>(nodes: impl Iterator<Item = &'a Value>, failure: &Failure) -> Self {
        let cycle = if failure.code == Code::Error { Cycle::Aborted } else { Cycle::Rejected };
        let rejection = Some(failure.clone());
        Self { cycle, rejection, ..Self::each_node(nodes, |_| Some(failure.clone())) }
    }
}

/// The conjunction of all filters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conjunction {
    /// Nodes that no filter rejects.
    pub feasible: Vec<String>,
    /// Every other node, with the first filter that rejects it.
    pub first: BTreeMap<String, (&'static str, Failure)>,
    /// kube-scheduler's message; only where no node is feasible. Where PreFilter rejects the pod, its reasons. Otherwise the number of
    /// nodes per reason, each node counted under all reasons of the first filter that rejects it, and nodes that PreFilter does not
    /// name under one of their own.
    pub message: Option<String>,
    /// How kube-scheduler's cycle ends.
    pub cycle: Cycle,
}

/// PreFilter of all filters in their order.
struct PreFilter {
    /// The reasons with which it rejects the pod.
    rejection: Option<Failure>,
    /// Filters that name nodes, and the nodes that all of them name.
    naming: Option<(BTreeSet<&'static str>, BTreeSet<String>)>,
}

impl PreFilter {
    /// Runs PreFilter over some nodes: a filter that rejects none of them names none.
    fn run(alone: &[(&'static str, Outcome)], nodes: &BTreeSet<&str>) -> Self {
        let mut found = Self { rejection: None, naming: None };
        for (filter, outcome) in alone {
            if let Some(failure) = &outcome.rejection {
                found.rejection = Some(failure.clone());
                if failure.code != Code::Unschedulable {
                    return found;
                }
            }
            let rejects = nodes.iter().any(|node| outcome.failures.contains_key(*node));
            let Some(named) = outcome.named.as_ref().filter(|_| rejects) else { continue };
            let Some((filters, common)) = &mut found.naming else {
                found.naming = Some((BTreeSet::from([*filter]), named.clone()));
                continue;
            };
            filters.insert(filter);
            // Nodes that do not exist are not told apart.
            let nothing_exists = common.is_empty() && named.is_empty();
            common.retain(|node| named.contains(node));
            if common.is_empty() && !nothing_exists {
                let filters = filters.iter().copied().collect::<Vec<_>>().join(" ");
                let reason = format!("node(s) didn't satisfy plugin(s) [{filters}] simultaneously");
                found.rejection = Some(Failure::new(Code::UnschedulableAndUnresolvable, reason));
                return found;
            }
        }
        found
    }

    /// Whether filters run on a node.
    fn names(&self, node: &str) -> bool {
        self.naming.as_ref().is_none_or(|(_, named)| named.contains(node))
    }

    /// How the cycle ends; `first` are the nodes that some filter rejects, each with the first failure.
    fn cycle<'a>(&self, mut first: impl Iterator<Item = (&'a String, Code)>) -> Cycle {
        match &self.rejection {
            Some(failure) if failure.code == Code::Error => Cycle::Aborted,
            Some(_) => Cycle::Rejected,
            None if first.any(|(node, code)| code == Code::Error && self.names(node)) => Cycle::Aborted,
            None if self.naming.is_some() => Cycle::NamedNodes,
            None => Cycle::EachNode,
        }
    }
}

/// The evaluation of a pod.
#[derive(Debug, Clone)]
pub struct Explanation {
    /// Key of the pod, `namespace/name`.
    pub pod: String,
    /// Each filter alone, in order.
    pub alone: Vec<(&'static str, Outcome)>,
    /// Conjunction of all filters.
    pub together: Conjunction,
}

/// By node with nominated pods: per filter, the failure with these pods on the node.
pub type WithNominated = BTreeMap<String, Vec<Option<Failure>>>;

impl Explanation {
    /// Combines the results of the filters. A node with nominated pods must fit with and without them, and the failure with
    /// them comes first; this holds for each filter alone and for the conjunction, in the order of the filters.
    pub fn new<'a>(
        pod: String,
        nodes: impl Iterator<Item = &'a str>,
        mut alone: Vec<(&'static str, Outcome)>,
        with_nominated: &WithNominated,
    ) -> Self {
        let nodes: BTreeSet<&str> = nodes.collect();
        let pre_filter = PreFilter::run(&alone, &nodes);
        let mut first: BTreeMap<String, (&'static str, Failure)> = BTreeMap::new();
        for node in &nodes {
            let without = alone.iter().map(|(filter, outcome)| (*filter, outcome.failures.get(*node)));
            let names = alone.iter().map(|(filter, _)| *filter);
            let with = with_nominated.get(*node).into_iter().flatten().map(Option::as_ref);
            let found = names.zip(with).chain(without).find_map(|(filter, failure)| Some((filter, failure?.clone())));
            if let Some((filter, failure)) = found {
                first.insert((*node).to_owned(), (filter, failure));
            }
        }
        let feasible = nodes.iter().filter(|node| !first.contains_key(**node)).map(|node| (*node).to_owned()).collect();
        for (node, failures) in with_nominated {
            for ((_, outcome), failure) in alone.iter_mut().zip(failures) {
                if let Some(failure) = failure {
                    outcome.failures.insert(node.clone(), failure.clone());
                }
            }
        }

        let cycle = pre_filter.cycle(first.iter().map(|(node, (_, failure))| (node, failure.code)));
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for (node, (_, failure)) in &first {
            let unnamed = pre_filter.naming.as_ref().filter(|_| !pre_filter.names(node)).map(|(filters, _)| {
                let filters = filters.iter().copied().collect::<Vec<_>>().join(" ");
                vec![format!("node(s) didn't satisfy plugin(s) [{filters}]")]
            });
            for reason in unnamed.as_ref().unwrap_or(&failure.reasons) {
                *counts.entry(reason.clone()).or_default() += 1;
            }
        }
        let mut parts: Vec<String> = counts.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
        parts.sort();
        let parts = pre_filter.rejection.as_ref().map_or_else(|| parts.join(", "), |it| it.reasons.join(", "));
        let message = match nodes.len() {
            0 => "no nodes available to schedule pods".to_owned(),
            count => format!("0/{count} nodes are available: {parts}."),
        };
        let message = first.len().eq(&nodes.len()).then_some(message);
        let together = Conjunction { feasible, first, message, cycle };
        Self { pod, alone, together }
    }

    /// How the cycle ends where only some nodes are asked about: an error on another node does not end it.
    pub fn cycle_over(&self, nodes: &BTreeSet<&str>) -> Cycle {
        let first = self.together.first.iter().filter(|(node, _)| nodes.contains(node.as_str()));
        PreFilter::run(&self.alone, nodes).cycle(first.map(|(node, (_, failure))| (node, failure.code)))
    }

    /// The lines of `explain -o jsonl`. The message is omitted where an error ends the cycle.
    pub fn lines(&self) -> Vec<String> {
        let alone = self.alone.iter().map(|(filter, outcome)| self.line(filter, outcome));
        let message = self.together.message.as_deref().filter(|_| self.together.cycle != Cycle::Aborted);
        let message = message.map_or_else(String::new, |message| format!(r#","message":{}"#, quoted(message)));
        let feasible = Value::from(self.together.feasible.clone());
        let together = format!(r#"{{"pod":{},"predicate":"*","feasible":{feasible}{message}}}"#, quoted(&self.pod));
        alone.chain([together]).collect()
    }

    fn line(&self, filter: &str, outcome: &Outcome) -> String {
        let mut groups: BTreeMap<(&str, &[String]), Vec<&str>> = BTreeMap::new();
        for (node, failure) in &outcome.failures {
            groups.entry((failure.code.name(), &failure.reasons)).or_default().push(node);
        }
        let groups = groups.iter().map(|((code, reasons), nodes)| {
            let (reasons, nodes) = (Value::from(reasons.to_vec()), Value::from(nodes.clone()));
            format!(r#"{{"code":{},"reasons":{reasons},"nodes":{nodes}}}"#, quoted(code))
        });
        let failures = groups.collect::<Vec<_>>().join(",");
        format!(r#"{{"pod":{},"predicate":{},"failures":[{failures}]}}"#, quoted(&self.pod), quoted(filter))
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
