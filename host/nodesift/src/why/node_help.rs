//! Edits of nodes that may help a pod which no node fits, each evaluated: a cordoned node is uncordoned, and there is one more node like a
//! near one. Start at [`add`].
//!
//! Edits of the pod come with the answer. Those of nodes need whole nodes, which the engine does not keep and the source of objects has.

use nodesift_proto::v1;

use super::edit::{Edit, WhatIf};
use super::source::Source;
use crate::args::PodKey;

/// Cordoned nodes that are uncordoned together to find one that would fit: each is read as a whole.
const CORDONED: usize = 16;

/// Near nodes of which a copy is tried, the nearest first: each is one more question.
const COPIED: usize = 2;

/// Nodes of the largest cluster for which edits of nodes are tried: a cluster in files is read once more for each whole node.
const NODES: u32 = 5_000;

/// Place of these edits among those that help: behind the one that gains most.
const PLACE: usize = 1;

/// Name of the fact that nodes are cordoned.
const UNSCHEDULABLE: &str = "unschedulable";

/// Code of a node that would fit if pods left it.
const RESOLVABLE: &str = "Unschedulable";

/// Condition under which a copy may not help.
const NEW_NODE: &str = "a new node has no pods, and no limits of volumes";

/// Condition under which an uncordoned node may not help.
const UNCORDONED: &str = "it may be cordoned for a reason";

/// Question about a pod, and what it takes to ask again.
struct Asking<'a> {
    key: &'a PodKey,
    question: &'a v1::WhyRequest,
    source: &'a mut Source,
}

/// Adds the edits of nodes that help to the answer to this question about a pod, and how many were not tried.
pub(super) fn add(answer: &mut v1::WhyResponse, key: &PodKey, question: &v1::WhyRequest, source: &mut Source) {
    let may_help = answer.feasible_count == 0 && answer.faults.is_empty() && question.nodes.is_none();
    if !may_help {
        return;
    }
    let (copies, is_cordoned) = (copies(answer), has_cordoned(answer));
    if answer.nodes > NODES {
        answer.help_unevaluated += u32::from(is_cordoned) + u32::try_from(copies.len()).unwrap_or(u32::MAX);
        return;
    }
    let mut asking = Asking { key, question, source };
    let mut tried: Vec<anyhow::Result<Option<v1::HelpfulEdit>>> =
        copies.iter().map(|edit| asking.helpful(edit, NEW_NODE)).collect();
    if is_cordoned {
        tried.push(asking.uncordoned());
    }
    let mut found = Vec::new();
    for edit in tried {
        match edit {
            Ok(edit) => found.extend(edit),
            // A sidecar need not give whole nodes to whoever may ask why.
            Err(_) => answer.help_unevaluated += 1,
        }
    }
    let place = PLACE.min(answer.help.len());
    drop(answer.help.splice(place..place, found));
}

/// Edits that add a node like a near one whose pods keep the pod away: what else keeps it away from a node would from a copy.
fn copies(answer: &v1::WhyResponse) -> Vec<Edit> {
    let near = answer.nearest.iter().filter(|near| near.code == RESOLVABLE);
    near.take(COPIED).map(|near| Edit::Copies { node: near.node.clone(), count: 1 }).collect()
}

/// Whether some node is cordoned, and the pod kept away by that.
fn has_cordoned(answer: &v1::WhyResponse) -> bool {
    answer.evidence.iter().flat_map(|evidence| &evidence.facts).any(|fact| fact.name == UNSCHEDULABLE)
}

/// Whether it is a node that the edit has made or changed.
fn is_of(edit: &Edit, name: &str) -> bool {
    match edit {
        Edit::Copies { node, .. } => name.strip_prefix(node.as_str()).is_some_and(|rest| rest.starts_with("-copy-")),
        Edit::Uncordon(node) => name == node,
        _ => false,
    }
}

impl Asking<'_> {
    /// Evaluates edits of nodes together.
    fn ask(&mut self, edits: &[Edit]) -> anyhow::Result<v1::WhyResponse> {
        let made = WhatIf::new(edits, self.key, self.source.objects())?;
        let (overlay, by) = (made.overlay(), String::new());
        self.source.why(v1::WhyRequest { overlay, by, nearest: Some(0), help: false, ..self.question.clone() })
    }

    /// The edit, where some node fits with it.
    fn helpful(&mut self, edit: &Edit, caveat: &str) -> anyhow::Result<Option<v1::HelpfulEdit>> {
        let after = self.ask(std::slice::from_ref(edit))?;
        // Others may fit because the cluster has changed. A fault that is ignored lets nodes fit, and must not look like help either.
        let gained = after.feasible.iter().filter(|node| is_of(edit, node)).count();
        let gained = if after.faults.is_empty() { u32::try_from(gained).unwrap_or(u32::MAX) } else { 0 };
        let feasible_count = after.feasible_count;
        let edit = || v1::HelpfulEdit { edit: edit.to_string(), gained, feasible_count, caveat: caveat.to_owned() };
        Ok((gained > 0).then(edit))
    }

    /// An edit that uncordons one node, found by uncordoning several.
    fn uncordoned(&mut self) -> anyhow::Result<Option<v1::HelpfulEdit>> {
        let cordoned = self.source.cordoned(CORDONED)?;
        let edits: Vec<Edit> = cordoned.iter().cloned().map(Edit::Uncordon).collect();
        match self.ask(&edits)?.feasible.into_iter().find(|node| cordoned.contains(node)) {
            Some(node) => self.helpful(&Edit::Uncordon(node), UNCORDONED),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_whose_pods_are_in_the_way_are_copied_the_nearest_first() {
        let near = |node: &str, code: &str| v1::NearNode { node: node.into(), code: code.into(), ..Default::default() };
        let nearest = vec![
            near("cordoned", "UnschedulableAndUnresolvable"),
            near("a", RESOLVABLE),
            near("b", RESOLVABLE),
            near("c", RESOLVABLE),
        ];
        let answer = v1::WhyResponse { nearest, ..Default::default() };
        let edits: Vec<String> = copies(&answer).iter().map(ToString::to_string).collect();
        assert_eq!(edits, ["node+=a*1", "node+=b*1"]);
        assert!(!has_cordoned(&answer));
        let copied = |name| is_of(&Edit::Copies { node: "a".to_owned(), count: 1 }, name);
        assert!(copied("a-copy-1") && !copied("a") && !copied("b-copy-1"));
        assert!(is_of(&Edit::Uncordon("a".to_owned()), "a"));
    }
}
