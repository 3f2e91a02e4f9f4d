//! Why a pod is pending, compared with a slow twin that goes over each node by what an explanation says of it: funnel, only obstacles,
//! groups, cells, nearest nodes, and the amounts, taints and expressions that are told. Every edit that is said to help is made in the
//! pod's object, which is then evaluated; an edit that is not said to help must not.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use nodesift_cache::{Row, Snapshot};
use nodesift_engine::limits::{CELL_FITS, WHY_NEAREST, WHY_REASONS};
use nodesift_engine::why::{Evidence, Group, ResourceFact, Step, WhyAnswer, WhyOptions};
use nodesift_engine::{Code, Cycle, Depth, Engine, Options, PodAnswer, PodRef, Query};
use nodesift_fixtures::Cluster;
use nodesift_fixtures::json::{flag, label, list, name, text};
use nodesift_fixtures::random::History;
use nodesift_reference::tolerations::tolerates_node;
use nodesift_sandbox::Interface;
use nodesift_tests::data;
use serde_json::{Value, json};

use crate::mirror::{self, Mirror};
use crate::seeds::Seeds;
use crate::{FIXED_PART, SHOWN, cases_from_environment, default_policy, engine};

/// Default number of clusters: with the rounds and pods below, a thousand pods.
const CLUSTERS: u64 = 60;

/// Rounds of events in each cluster's history, and pods that are asked about in each.
const ROUNDS: usize = 3;
const PODS: usize = 6;

/// The labels by which nodes are grouped; no node has the last one.
const LABELS: [&str; 3] = ["topology.kubernetes.io/zone", "kubernetes.io/hostname", "none"];

#[test]
fn why_a_pod_is_pending_is_what_a_walk_over_its_explanation_says() {
    let count = cases_from_environment("NODESIFT_WHY_CLUSTERS", CLUSTERS);
    let policy = default_policy();
    let (mut met, mut differences) = (BTreeMap::<&str, u64>::new(), Vec::new());
    for seed in Seeds::for_run(count / FIXED_PART).take(count) {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut history = History::new(seed);
        let mut mirror = Mirror::new(policy.scheduler_names.clone());
        mirror.load(history.cluster.objects());
        let engine = engine(&policy, &mirror);
        for round in 0..ROUNDS {
            mirror.follow(&history.advance());
            for _ in 0..PODS {
                let pod = history.asked_pod();
                let case = Case { engine: &engine, cluster: &history.cluster, pod: &pod };
                if let Err(difference) = case.compare(LABELS[random.usize(..LABELS.len())], &mut met) {
                    differences.push(format!("seed {seed}, round {round}: {difference}\n  pod {pod}"));
                }
            }
        }
        assert!(differences.len() < SHOWN, "{}", differences.join("\n"));
    }
    println!("{met:?}");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    for kind in ["resources", "taints", "expressions", "nearest", "helpful", "useless"] {
        assert!(count < CLUSTERS || met.contains_key(kind), "a case does not occur: {kind}");
    }
}

#[test]
fn why_a_pod_of_the_documents_is_pending_is_what_a_walk_says_and_adds_up_to_the_message() {
    let policy = default_policy();
    let (mut met, mut differences, mut pods) = (BTreeMap::<&str, u64>::new(), Vec::new(), 0);
    for document in data::documents() {
        let read = |path: &Path| serde_json::from_str::<Value>(&data::read_gzip(path)).expect("a list");
        let cluster = Cluster::from_list(&read(&document.cluster()));
        let mut mirror = Mirror::new(policy.scheduler_names.clone());
        mirror.load(cluster.objects());
        let engine = engine(&policy, &mirror);
        for pod in list(&read(&document.pods()), "items") {
            pods += 1;
            let case = Case { engine: &engine, cluster: &cluster, pod };
            if let Err(difference) = case.compare(LABELS[0], &mut met) {
                differences.push(format!("document {}: {difference}\n  pod {pod}", document.name));
            }
        }
        assert!(differences.len() < SHOWN, "{}", differences.join("\n"));
    }
    println!("{pods} pods, {met:?}");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(pods > 1_000 && met.contains_key("message"), "{pods} pods, {met:?}");
}

/// One pod in one cluster.
struct Case<'a> {
    engine: &'a Engine,
    cluster: &'a Cluster,
    pod: &'a Value,
}

/// Per row the predicates that reject it by themselves, and the first one in the conjunction; by index.
struct Walk {
    alone: Vec<Vec<usize>>,
    first: Vec<Option<usize>>,
}

/// Compares two values, or says what differs.
#[allow(clippy::needless_pass_by_value, reason = "both are made for the call")]
fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: T, expected: T) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{what}: {found:?}, expected {expected:?}")) }
}

fn row(at: usize) -> Row {
    Row(u32::try_from(at).expect("few rows"))
}

fn query(pod: &Value, depth: Depth) -> Query {
    Query::new([PodRef::Whole(Box::new(mirror::pod(pod)))]).with_depth(depth)
}

impl Walk {
    fn new(explained: &PodAnswer, rows: usize) -> Self {
        let predicates = || explained.predicates.iter().enumerate();
        let alone = |at: usize| {
            let rejects = |(_, alone): &(usize, &nodesift_engine::PredicateAnswer)| {
                alone.failures.iter().any(|group| group.rows.contains(row(at)))
            };
            predicates().filter(rejects).map(|(index, _)| index).collect()
        };
        let first = |at: usize| {
            let group = explained.failures.iter().find(|group| group.rows.contains(row(at)))?;
            explained.predicates.iter().position(|alone| alone.predicate == group.predicate)
        };
        Self { alone: (0..rows).map(alone).collect(), first: (0..rows).map(first).collect() }
    }
}

impl Case<'_> {
    /// Compares an answer with the walk, and counts what it has.
    fn compare(&self, by: &str, met: &mut BTreeMap<&'static str, u64>) -> Result<(), String> {
        let snapshot = self.engine.snapshot();
        let wanted = WhyOptions { by: Some(by.to_owned()), help: true, ..WhyOptions::default() };
        let found = self.engine.why(&query(self.pod, Depth::FirstFailure), &snapshot, &wanted);
        let found = found.map_err(|error| error.to_string())?;
        let explained = self.explain(self.pod, Depth::Each);
        let walk = Walk::new(&explained, snapshot.node_count());
        self.compare_counts(&found, &explained, &walk)?;
        *met.entry("message").or_default() += u64::from(compare_message(&found)?);
        self.compare_groups(&found, &walk, by, &snapshot)?;
        if !explained.faults.is_empty() {
            // Nothing is told of a predicate that had a fault.
            return Ok(());
        }
        same("facts that verdicts contradict", found.contradicted, 0)?;
        for evidence in &found.evidence {
            self.compare_evidence(evidence, &found, &walk, &snapshot)?;
            for (kind, has) in [
                ("resources", !evidence.resources.is_empty()),
                ("taints", !evidence.taints.is_empty()),
                ("expressions", !evidence.expressions.is_empty()),
            ] {
                *met.entry(kind).or_default() += u64::from(has);
            }
        }
        self.compare_nearest(&found, &walk, &snapshot)?;
        *met.entry("nearest").or_default() += u64::from(!found.nearest.is_empty());
        self.compare_help(&found, &explained, met)?;
        met.retain(|_, times| *times > 0);
        Ok(())
    }

    fn explain(&self, pod: &Value, depth: Depth) -> PodAnswer {
        self.engine.answer(&query(pod, depth), Options::default()).expect("an answer").pods.remove(0)
    }

    /// Funnel, only obstacles and cells.
    fn compare_counts(&self, found: &WhyAnswer, explained: &PodAnswer, walk: &Walk) -> Result<(), String> {
        same("message", &found.pod.message, &explained.message)?;
        let mut left = walk.alone.len();
        for (at, predicate) in explained.predicates.iter().enumerate() {
            let (Some(step), Some(alone)) = (found.funnel.get(at), found.alone.get(at)) else {
                return Err(format!("no step for {}", predicate.predicate));
            };
            let rejected = walk.first.iter().filter(|first| **first == Some(at)).count();
            let unresolvable = explained.failures.iter().filter(|group| {
                group.predicate == predicate.predicate && group.code == Code::UnschedulableAndUnresolvable
            });
            let unresolvable: usize = unresolvable.map(|group| group.rows.len()).sum();
            let counts = (Arc::clone(&step.predicate), step.before, step.rejected, step.after(), step.unresolvable);
            let expected = (Arc::clone(&predicate.predicate), left, rejected, left - rejected, unresolvable);
            same("step", counts, expected)?;
            left -= rejected;
            let rejects = walk.alone.iter().filter(|alone| alone.contains(&at)).count();
            let only = walk.alone.iter().filter(|alone| **alone == [at]).count();
            same("alone", (alone.rejects, alone.only_reason), (rejects, only))?;
        }
        same("nodes that are left", left, explained.feasible.len())?;
        let cell =
            |first: &Option<usize>| first.map_or(CELL_FITS, |first| u8::try_from(first).expect("few predicates"));
        same("cells", found.cells.clone(), walk.first.iter().map(cell).collect())
    }

    fn compare_groups(&self, found: &WhyAnswer, walk: &Walk, by: &str, snapshot: &Snapshot) -> Result<(), String> {
        let mut expected: BTreeMap<Option<String>, Group> = BTreeMap::new();
        for node in self.cluster.nodes() {
            let Some(at) = snapshot.node_row(name(node)).map(Row::index) else { continue };
            let value = label(node, by).map(str::to_owned);
            let group = expected.entry(value.clone()).or_insert_with(|| Group {
                value: value.as_deref().map(Arc::from),
                rejected: vec![0; found.funnel.len()],
                ..Group::default()
            });
            group.nodes += 1;
            match walk.first[at] {
                Some(first) => group.rejected[first] += 1,
                None => group.feasible += 1,
            }
        }
        let groups = found.groups.as_ref().ok_or("no groups")?;
        let by_value: BTreeMap<Option<String>, Group> =
            groups.groups.iter().map(|group| (group.value.as_deref().map(str::to_owned), group.clone())).collect();
        same("groups", by_value, expected)?;
        let sizes: Vec<usize> = groups.groups.iter().map(|group| group.nodes).collect();
        same("order of groups", sizes.is_sorted_by(|a, b| a >= b), true)?;
        same("further groups", groups.rest.is_none(), true)
    }

    /// Names of the predicates that import an interface, as the policy has them.
    fn imports(&self, predicate: &str, interface: Interface) -> bool {
        let policy = self.engine.policy();
        let found = policy.predicates.iter().find(|known| *known.name == *predicate);
        found.is_some_and(|found| found.module.imports().contains(&interface))
    }

    fn compare_evidence(
        &self,
        evidence: &Evidence,
        found: &WhyAnswer,
        walk: &Walk,
        snapshot: &Snapshot,
    ) -> Result<(), String> {
        let importing = |at: &usize| self.imports(&found.funnel[*at].predicate, evidence.interface);
        let rejected = walk.alone.iter().filter(|alone| alone.iter().any(importing)).count();
        same("rejected", evidence.rejected, rejected)?;
        if evidence.explained.is_some_and(|explained| explained > rejected) {
            return Err(format!("more is explained than is rejected: {evidence:?}"));
        }
        for fact in &evidence.resources {
            self.compare_resource(fact, walk, found, snapshot)?;
        }
        self.compare_taints(evidence)?;
        for fact in evidence.expressions.iter().filter(|fact| fact.field == "nodeSelector") {
            let (key, value) = fact.expression.split_once('=').ok_or("no label")?;
            let nodes = self.cluster.nodes().filter(|node| label(node, key) == Some(value)).count();
            same(&fact.expression, fact.nodes, nodes)?;
        }
        let cordoned = self.cluster.nodes().filter(|node| flag(node, "spec.unschedulable")).count();
        for fact in evidence.facts.iter().filter(|fact| fact.name == "unschedulable") {
            same("cordoned nodes", fact.nodes, Some(cordoned))?;
        }
        Ok(())
    }

    fn compare_resource(
        &self,
        fact: &ResourceFact,
        walk: &Walk,
        found: &WhyAnswer,
        snapshot: &Snapshot,
    ) -> Result<(), String> {
        let of = |at: usize| amounts(snapshot, &fact.resource, row(at));
        let rows = 0..walk.alone.len();
        let enough = rows.clone().filter(|at| of(*at).0 >= fact.requested).count();
        let too_small = rows.clone().filter(|at| of(*at).1 < fact.requested).count();
        let largest = rows.clone().map(|at| of(at).0).max().unwrap_or(0);
        let largest_allocatable = rows.clone().map(|at| of(at).1).max().unwrap_or(0).max(0);
        let counts = (fact.nodes_enough, fact.nodes_too_small, fact.largest_free, fact.largest_allocatable);
        same(&fact.resource, counts, (enough, too_small, largest, largest_allocatable))?;
        let of_largest = rows.clone().filter(|at| of(*at).0 == largest).map(|at| snapshot.node_name(row(at)));
        same("node with most", fact.largest_free_row.map(|row| snapshot.node_name(row)), of_largest.min())?;
        // Rows from which nothing keeps the pod but this resource.
        let others = || found.evidence.iter().flat_map(|evidence| &evidence.resources);
        let others = || others().filter(|other| other.resource != fact.resource);
        let is_open = |at: &usize| {
            let reads = |index: &usize| self.imports(&found.funnel[*index].predicate, Interface::NodeResources);
            walk.alone[*at].iter().all(reads)
                && others().all(|other| amounts(snapshot, &other.resource, row(*at)).0 >= other.requested)
        };
        same("nearest amount", fact.nearest_free, rows.filter(is_open).map(|at| of(at).0).max())
    }

    /// Each taint has its nodes, and all taints together are those of the nodes that the pod does not tolerate.
    fn compare_taints(&self, evidence: &Evidence) -> Result<(), String> {
        if evidence.interface != Interface::NodeTaints {
            return Ok(());
        }
        let is_fact = |taint: &Value| {
            evidence.taints.iter().any(|fact| {
                fact.taint.key == text(taint, "key")
                    && fact.taint.value == text(taint, "value")
                    && format!("{:?}", fact.taint.effect) == text(taint, "effect")
            })
        };
        for fact in &evidence.taints {
            let has = |node: &&Value| {
                list(node, "spec.taints").iter().any(|taint| {
                    text(taint, "key") == fact.taint.key
                        && text(taint, "value") == fact.taint.value
                        && text(taint, "effect") == format!("{:?}", fact.taint.effect)
                })
            };
            same(&fact.taint.key, fact.nodes, self.cluster.nodes().filter(has).count())?;
        }
        for node in self.cluster.nodes().filter(|node| !tolerates_node(self.pod, node)) {
            if !list(node, "spec.taints").iter().any(is_fact) {
                return Err(format!("no taint of {} is told", name(node)));
            }
        }
        Ok(())
    }

    fn compare_nearest(&self, found: &WhyAnswer, walk: &Walk, snapshot: &Snapshot) -> Result<(), String> {
        let requested: Vec<&ResourceFact> = found.evidence.iter().flat_map(|evidence| &evidence.resources).collect();
        let lacks = |at: usize, predicate: usize| {
            let reads = self.imports(&found.funnel[predicate].predicate, Interface::NodeResources);
            let missing = |fact: &&&ResourceFact| amounts(snapshot, &fact.resource, row(at)).0 < fact.requested;
            let part = |fact: &&ResourceFact| {
                let missing = i128::from(fact.requested) - i128::from(amounts(snapshot, &fact.resource, row(at)).0);
                u64::try_from(missing * 1_000_000 / i128::from(fact.requested)).unwrap_or(u64::MAX)
            };
            requested.iter().filter(|_| reads).filter(missing).map(part).max()
        };
        let mut expected: Vec<(bool, Option<u64>, usize, usize)> = Vec::new();
        for (at, alone) in walk.alone.iter().enumerate() {
            if let [predicate] = alone.as_slice() {
                let lacks = lacks(at, *predicate);
                expected.push((lacks.is_none(), lacks, *predicate, at));
            }
        }
        expected.sort_unstable();
        expected.truncate(WHY_NEAREST);
        let nearest: Vec<(usize, usize)> =
            found.nearest.iter().map(|near| (near.predicate, near.row.index())).collect();
        same("nearest", nearest, expected.into_iter().map(|(_, _, predicate, at)| (predicate, at)).collect())?;
        for near in &found.nearest {
            for (resource, missing) in &near.missing {
                let fact = requested.iter().find(|fact| fact.resource == *resource).ok_or("an amount of nothing")?;
                same(resource, fact.requested - missing, amounts(snapshot, resource, near.row).0)?;
            }
        }
        Ok(())
    }

    /// Edits that are said to help do, and those that are not do not.
    fn compare_help(
        &self,
        found: &WhyAnswer,
        explained: &PodAnswer,
        met: &mut BTreeMap<&'static str, u64>,
    ) -> Result<(), String> {
        let before: BTreeSet<Row> = explained.feasible.iter().collect();
        let told: BTreeSet<&str> = found.help.iter().map(|edit| edit.edit.as_str()).collect();
        let spread = list(self.pod, "spec.topologySpreadConstraints").len();
        let drops = (0..spread).map(|at| format!("drop=spread[{at}]"));
        let drops = drops.chain(["drop=nodeSelector".to_owned(), "drop=affinity".to_owned()]);
        for edit in drops.filter(|edit| !told.contains(edit.as_str())) {
            let Some(pod) = edited(self.pod, &edit) else { continue };
            let after = self.explain(&pod, Depth::FirstFailure);
            let gained = after.feasible.iter().filter(|row| !before.contains(row)).count();
            if gained > 0 && after.faults.is_empty() {
                return Err(format!("{edit} gains {gained} nodes, and is not told"));
            }
            *met.entry("useless").or_default() += 1;
        }
        for edit in &found.help {
            let Some(pod) = edited(self.pod, &edit.edit) else { continue };
            let after = self.explain(&pod, Depth::FirstFailure);
            let gained = after.feasible.iter().filter(|row| !before.contains(row)).count();
            same(&edit.edit, (edit.gained, edit.feasible), (gained, after.feasible.len()))?;
            *met.entry("helpful").or_default() += 1;
        }
        Ok(())
    }
}

/// The reasons of the funnel add up to the message, where filters run on every node. Returns whether they do.
fn compare_message(found: &WhyAnswer) -> Result<bool, String> {
    let is_cut = |step: &Step| step.reasons.len() == WHY_REASONS;
    let Some(message) = found.pod.message.as_deref() else { return Ok(false) };
    if found.pod.cycle != Cycle::EachNode || found.pod.nodes == 0 || found.funnel.iter().any(is_cut) {
        return Ok(false);
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for reason in found.funnel.iter().flat_map(|step| &step.reasons) {
        *counts.entry(&reason.reason).or_default() += reason.nodes;
    }
    let mut parts: Vec<String> = counts.iter().map(|(reason, nodes)| format!("{nodes} {reason}")).collect();
    parts.sort_unstable();
    let expected = format!("0/{} nodes are available: {}.", found.pod.nodes, parts.join(", "));
    same("message", message, expected.as_str())?;
    Ok(true)
}

/// The amounts of a resource that are free and allocatable on a node.
fn amounts(snapshot: &Snapshot, resource: &str, row: Row) -> (i64, i64) {
    if resource == "pods" {
        let of = |column: &nodesift_cache::Column<i64>| column.get(row).copied().unwrap_or(0);
        return (of(snapshot.pod_room()), of(snapshot.pod_limit()));
    }
    let Some(columns) = snapshot.resource(resource) else { return (0, 0) };
    (columns.free.get(row).copied().unwrap_or(0), columns.allocatable.get(row).copied().unwrap_or(0))
}

/// The pod with an edit as command lines write it; none where its object does not say which part the edit is about.
fn edited(pod: &Value, edit: &str) -> Option<Value> {
    let mut pod = pod.clone();
    let spec = pod["spec"].as_object_mut()?;
    match edit.split_once('=')? {
        ("drop", "nodeSelector") => _ = spec.remove("nodeSelector"),
        ("drop", "affinity") => _ = spec.remove("affinity"),
        ("drop", constraint) => {
            let at: usize = constraint.strip_prefix("spread[")?.strip_suffix(']')?.parse().ok()?;
            spec.get_mut("topologySpreadConstraints")?.as_array_mut()?.remove(at);
        }
        ("tolerate", taint) => {
            let (taint, effect) = taint.rsplit_once(':')?;
            let toleration = match taint.split_once('=') {
                Some((key, value)) => json!({"key": key, "value": value, "effect": effect}),
                None => json!({"key": taint, "operator": "Exists", "effect": effect}),
            };
            let tolerations = spec.entry("tolerations").or_insert_with(|| json!([]));
            if tolerations.is_null() {
                *tolerations = json!([]);
            }
            tolerations.as_array_mut()?.push(toleration);
        }
        (resource, amount) => {
            // Of one container alone it is known whose request it is.
            let is_whole = ["initContainers", "overhead", "resources"].iter().all(|field| !spec.contains_key(*field));
            let [container] = spec.get_mut("containers")?.as_array_mut()?.as_mut_slice() else { return None };
            let request = container.get_mut("resources")?.get_mut("requests")?.get_mut(resource)?;
            *request = is_whole.then(|| json!(amount))?;
        }
    }
    Some(pod)
}
