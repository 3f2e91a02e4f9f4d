//! The cluster of a case, grown to as many nodes as a real one has: its nodes with their pods and namespaces, copied as often as it takes.
//!
//! Copies of a rack that all have the rack's name are one large rack, which a cap on racks rejects where the case fits. Copies with names
//! of their own are racks like that of the case. But a label whose value the pod asks for must keep it. Nobody knows which labels are which,
//! so the module is asked: a value gets other names in the copies where that changes no verdict and no score of the case. What the case rejects is then
//! rejected in the large cluster too, and there are as many racks and namespaces as nodes ask for. Start at [`Growth::chosen`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use nodesift_engine::Batch;
use nodesift_object::{Node, Object, Pod};
use nodesift_sandbox::Module;
use nodesift_sandbox::fault::Fault;
use nodesift_sandbox::wire::scoring::Scores;

use super::cases::NodeSums;
use super::scoring;
use super::subject::Question;
use super::world::World;
use crate::limits::{GROWTH_COPIES, GROWTH_LABELS, GROWTH_PODS};

/// Labels with few values in any cluster, however large.
const OF_FEW_VALUES: [&str; 6] = [
    "kubernetes.io/arch",
    "kubernetes.io/os",
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "node-role.kubernetes.io/control-plane",
];

/// Something of a case that is there once, or once in each copy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// The pods on nodes.
    Pods,
    /// The values of a label of nodes.
    Label(String),
    /// Namespaces of pods on nodes.
    Namespaces,
    /// Controllers of pods on nodes.
    Controllers,
}

impl Part {
    /// Its name in a sentence about a number.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Pods => "pods on nodes".to_owned(),
            Self::Label(key) => format!("values of the label {key}"),
            Self::Namespaces => "namespaces".to_owned(),
            Self::Controllers => "controllers of pods".to_owned(),
        }
    }
}

/// How the cluster of a case is grown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Growth {
    /// Parts that each copy has of its own.
    parts: BTreeSet<Part>,
    /// Nodes that fit in the case, and all of its nodes; none where the case ends in a fault.
    pub(super) of_case: Option<(usize, usize)>,
}

impl Growth {
    /// How the cluster of a question is grown so that as few verdicts as possible change.
    pub(super) fn chosen(question: &Question, module: &Arc<Module>) -> Self {
        let case = Case::new(&question.objects);
        let parts: BTreeSet<Part> = (!case.pods.is_empty()).then_some(Part::Pods).into_iter().collect();
        let Ok(of_case) = said(module, question, &question.objects, &question.sums) else {
            return Self { parts, of_case: None };
        };
        let fitting = of_case.values().filter(|said| said.fits).count();
        let mut growth = Self { parts, of_case: Some((fitting, of_case.len())) };
        let mut changes = growth.changes(question, module, &of_case);
        let is_of_few = |part: &Part| matches!(part, Part::Label(key) if OF_FEW_VALUES.contains(&key.as_str()));
        let (few, mut many): (Vec<Part>, Vec<Part>) = case.labels().map(Part::Label).partition(is_of_few);
        many.extend((!case.pods.is_empty()).then_some(Part::Namespaces));
        let has_owner = |pod: &&Pod| !pod.metadata.owner_references.is_empty();
        many.extend(case.pods.iter().any(has_owner).then_some(Part::Controllers));
        // What has few values anywhere gets more only where verdicts change else.
        for (part, is_usual) in
            many.into_iter().map(|part| (part, true)).chain(few.into_iter().map(|part| (part, false)))
        {
            let other = growth.with(part);
            let others = other.changes(question, module, &of_case);
            if others < changes || (is_usual && others == changes) {
                (growth, changes) = (other, others);
            }
        }
        growth
    }

    fn with(&self, part: Part) -> Self {
        let mut growth = self.clone();
        growth.parts.insert(part);
        growth
    }

    /// The growth without one of its parts.
    pub(super) fn without(&self, part: &Part) -> Self {
        let mut growth = self.clone();
        growth.parts.remove(part);
        growth
    }

    /// Whatever each copy has of its own.
    pub(super) fn parts(&self) -> impl Iterator<Item = &Part> {
        self.parts.iter()
    }

    /// How many nodes of a few copies are answered otherwise than in the case; all where the call ends in a fault.
    fn changes(&self, question: &Question, module: &Arc<Module>, of_case: &BTreeMap<String, Said>) -> usize {
        let count = of_case.len().saturating_mul(GROWTH_COPIES);
        let nodes = u32::try_from(count).unwrap_or(u32::MAX);
        let objects: Vec<Object> = self.objects(&question.objects, nodes).collect();
        let Ok(grown) = said(module, question, &objects, &self.sums(question, nodes)) else { return count };
        let changed = |name: &str, said: &Said| {
            (0..GROWTH_COPIES).filter(|copy| grown.get(&copied(name, *copy)) != Some(said)).count()
        };
        of_case.iter().map(|(name, said)| changed(name, said)).sum()
    }

    /// Objects of a cluster with so many nodes. The first ones are those of the case.
    pub(super) fn objects<'a>(&'a self, objects: &'a [Object], nodes: u32) -> impl Iterator<Item = Object> + 'a {
        let case = Case::new(objects);
        let (nodes, length) = (nodes as usize, case.nodes.len().max(1));
        let copies = if case.nodes.is_empty() { 1 } else { nodes.div_ceil(length).max(1) };
        // Others have no pods: a cluster has a limit of memory.
        let with_pods = GROWTH_PODS.checked_div(case.pods.len()).unwrap_or(copies).max(1);
        (0..copies).flat_map(move |copy| {
            let left = nodes.saturating_sub(copy * length);
            self.copy(&case, copy, left, copy < with_pods && self.parts.contains(&Part::Pods))
        })
    }

    /// The objects of one copy, with at most so many nodes.
    fn copy(&self, case: &Case<'_>, copy: usize, nodes: usize, has_pods: bool) -> Vec<Object> {
        let taken = case.nodes.get(..nodes.min(case.nodes.len())).unwrap_or_default();
        let mut objects: Vec<Object> = taken.iter().map(|node| Object::Node(Box::new(self.node(node, copy)))).collect();
        if copy == 0 {
            objects.extend(case.others.iter().map(|object| (*object).clone()));
        }
        if has_pods || copy == 0 {
            let names: BTreeSet<&str> = taken.iter().map(|node| node.metadata.name.as_str()).collect();
            let bound = case.pods.iter().filter(|pod| names.contains(pod.spec.node_name.as_str()));
            objects.extend(bound.map(|pod| Object::Pod(Box::new(self.pod(pod, copy)))));
        }
        if self.parts.contains(&Part::Namespaces) && copy > 0 {
            let namespaces = case.others.iter().filter_map(|object| match object {
                Object::Namespace(namespace) => Some(namespace),
                _ => None,
            });
            objects.extend(namespaces.map(|namespace| {
                let mut namespace = namespace.clone();
                namespace.metadata.name = copied(&namespace.metadata.name, copy);
                namespace.metadata.uid = copied_uid(&namespace.metadata.uid, copy);
                Object::Namespace(namespace)
            }));
        }
        objects
    }

    fn node(&self, node: &Node, copy: usize) -> Node {
        let mut node = node.clone();
        node.metadata.name = copied(&node.metadata.name, copy);
        node.metadata.uid = copied_uid(&node.metadata.uid, copy);
        for part in &self.parts {
            if let Part::Label(key) = part
                && let Some(value) = node.metadata.labels.get(key).cloned()
            {
                node.metadata.labels.update(key, |_| copied(&value, copy));
            }
        }
        node
    }

    fn pod(&self, pod: &Pod, copy: usize) -> Pod {
        let mut pod = pod.clone();
        pod.metadata.name = copied(&pod.metadata.name, copy);
        pod.metadata.uid = copied_uid(&pod.metadata.uid, copy);
        pod.spec.node_name = copied(&pod.spec.node_name, copy);
        if self.parts.contains(&Part::Namespaces) {
            pod.metadata.namespace = copied(&pod.metadata.namespace, copy);
        }
        if self.parts.contains(&Part::Controllers) {
            for owner in &mut pod.metadata.owner_references {
                owner.name = copied(&owner.name, copy);
                owner.uid = copied_uid(&owner.uid, copy);
            }
        }
        pod
    }

    /// Sums that each node of a cluster with so many nodes shows.
    pub(super) fn sums(&self, question: &Question, nodes: u32) -> NodeSums {
        if question.sums.is_empty() {
            return NodeSums::new();
        }
        let case = Case::new(&question.objects);
        let copies = (nodes as usize).div_ceil(case.nodes.len().max(1));
        let of_copy = |copy| question.sums.iter().map(move |(node, sums)| (copied(node, copy), sums.clone()));
        (0..copies).flat_map(of_copy).collect()
    }
}

/// Objects of a case by what becomes of them.
struct Case<'o> {
    nodes: Vec<&'o Node>,
    /// Pods on these nodes.
    pods: Vec<&'o Pod>,
    /// Everything else, which is there once; namespaces too.
    others: Vec<&'o Object>,
}

impl<'o> Case<'o> {
    fn new(objects: &'o [Object]) -> Self {
        let mut case = Self { nodes: Vec::new(), pods: Vec::new(), others: Vec::new() };
        let mut names: BTreeSet<&str> = BTreeSet::new();
        for object in objects {
            if let Object::Node(node) = object {
                names.insert(&node.metadata.name);
                case.nodes.push(node);
            }
        }
        for object in objects {
            match object {
                Object::Node(_) => {}
                Object::Pod(pod) if names.contains(pod.spec.node_name.as_str()) => case.pods.push(pod),
                other => case.others.push(other),
            }
        }
        case
    }

    /// The keys of labels of nodes in their order, at most [`GROWTH_LABELS`].
    fn labels(&self) -> impl Iterator<Item = String> {
        let labels = self.nodes.iter().flat_map(|node| node.metadata.labels.iter());
        let keys: BTreeSet<String> = labels.map(|(key, _)| key.to_owned()).collect();
        keys.into_iter().take(GROWTH_LABELS)
    }
}

/// A name in a copy. The first copy is the case itself.
fn copied(name: &str, copy: usize) -> String {
    if copy == 0 { name.to_owned() } else { format!("{name}.copy-{copy}") }
}

/// A UID in a copy; objects that have none get none.
fn copied_uid(uid: &str, copy: usize) -> String {
    if uid.is_empty() { String::new() } else { copied(uid, copy) }
}

/// Answer of a module about a node.
#[derive(Debug, PartialEq, Eq)]
struct Said {
    fits: bool,
    /// Its raw score; `None` where the module does not score the pod.
    raw: Option<i64>,
}

/// The answer about each node for the pod of a question, by name.
fn said(
    module: &Arc<Module>,
    question: &Question,
    objects: &[Object],
    sums: &NodeSums,
) -> Result<BTreeMap<String, Said>, Fault> {
    let world = World::new(&question.policy, module, objects, sums);
    let context = world.context(&question.pod, Batch::All);
    let rows = context.rows();
    let verdict = module.filter(Arc::new(context), rows, None)?;
    let feasible: Vec<bool> = (0..rows as usize).map(|row| verdict.failure_at(row).is_none()).collect();
    let mut scores = Vec::new();
    if module.normalization().is_some() && rows > 0 {
        let context = scoring::facts(module, &world, &question.pod, Batch::All, &feasible);
        if let Scores::ByRow(by_row) = module.score(Arc::new(context), rows, None)? {
            scores = by_row;
        }
    }
    let said = |(row, name): (usize, &str)| {
        let fits = feasible.get(row).copied().unwrap_or_default();
        (name.to_owned(), Said { fits, raw: scores.get(row).copied() })
    };
    Ok(world.nodes().enumerate().map(said).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use nodesift_object::{Kind, decode};
    use serde_json::{Value, json};

    use super::*;

    fn object(kind: Kind, json: &Value) -> Object {
        decode::decode(kind, &json.to_string()).unwrap()
    }

    /// Two nodes of a rack, a pod on each, one that waits, and a namespace.
    fn case() -> Vec<Object> {
        let node = |name: &str| json!({"metadata": {"name": name, "labels": {"rack": "r", "team": "red"}}});
        let pod = |name: &str, node: &str| {
            let metadata = json!({"name": name, "namespace": "ns", "uid": name});
            json!({"metadata": metadata, "spec": {"nodeName": node, "containers": []}})
        };
        vec![
            object(Kind::Node, &node("a")),
            object(Kind::Pod, &pod("on-a", "a")),
            object(Kind::Node, &node("b")),
            object(Kind::Pod, &pod("on-b", "b")),
            object(Kind::Pod, &pod("waits", "")),
            object(Kind::Namespace, &json!({"metadata": {"name": "ns"}})),
        ]
    }

    fn keys(objects: &[Object], kind: Kind) -> Vec<String> {
        objects.iter().filter(|object| object.kind() == kind).map(Object::key).collect()
    }

    #[test]
    fn nodes_are_copied_with_their_pods_and_with_what_each_copy_has_of_its_own() {
        let case = case();
        let parts = BTreeSet::from([Part::Pods, Part::Label("rack".to_owned())]);
        let growth = Growth { parts, of_case: None };
        let grown: Vec<Object> = growth.objects(&case, 5).collect();
        assert_eq!(keys(&grown, Kind::Node), ["a", "b", "a.copy-1", "b.copy-1", "a.copy-2"]);
        assert_eq!(
            keys(&grown, Kind::Pod),
            ["ns/waits", "ns/on-a", "ns/on-b", "ns/on-a.copy-1", "ns/on-b.copy-1", "ns/on-a.copy-2"]
        );
        assert_eq!(keys(&grown, Kind::Namespace), ["ns"]);
        for object in &grown {
            if let Object::Node(node) = object {
                let name = &node.metadata.name;
                let of_copy = name.split_once('.').map_or(String::new(), |(_, copy)| format!(".{copy}"));
                assert_eq!(node.metadata.labels.get("rack").unwrap(), &format!("r{of_copy}"), "{name}");
                assert_eq!(node.metadata.labels.get("team").unwrap(), "red", "{name}");
            }
        }
        let with_namespaces: Vec<Object> = growth.with(Part::Namespaces).objects(&case, 4).collect();
        assert_eq!(keys(&with_namespaces, Kind::Namespace), ["ns", "ns.copy-1"]);
        assert!(keys(&with_namespaces, Kind::Pod).contains(&"ns.copy-1/on-b.copy-1".to_owned()));
        let without_pods: Vec<Object> = growth.without(&Part::Pods).objects(&case, 4).collect();
        assert_eq!(keys(&without_pods, Kind::Pod), ["ns/waits", "ns/on-a", "ns/on-b"], "those of the case stay");
    }

    #[test]
    fn a_case_of_any_shape_is_grown_within_the_limit_of_pods() {
        let growth = Growth { parts: BTreeSet::from([Part::Pods]), of_case: None };
        assert_eq!(growth.objects(&[], 1_000).count(), 0);
        let waiting: Vec<Object> = case().into_iter().skip(4).collect();
        assert_eq!(growth.objects(&waiting, 1_000).count(), 2, "what is on no node is there once");
        let case = case();
        assert_eq!(keys(&growth.objects(&case, 1).collect::<Vec<_>>(), Kind::Node), ["a"]);
        let more = 10;
        let nodes = u32::try_from(GROWTH_PODS + more).unwrap();
        let kinds = growth.objects(&case, nodes).fold([0, 0], |[nodes, pods], object| match object {
            Object::Node(_) => [nodes + 1, pods],
            Object::Pod(_) => [nodes, pods + 1],
            _ => [nodes, pods],
        });
        assert_eq!(kinds, [GROWTH_PODS + more, GROWTH_PODS + 1]);
    }
}
