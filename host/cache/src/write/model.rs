//! The model of the cache: lists of nodes and pods, everything recounted at every look. Random histories (`histories`) compare the
//! cache with it after every event. A test prints its seed.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::cast_possible_truncation)]

mod decisions;
mod defects;
mod histories;
mod in_flight;
mod parties;
mod random;
mod recounts;
mod resources;
mod sums;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::metadata::requests::NonZero;
use crate::metadata::*;
use crate::*;
use nodesift_negotiation::Suitability;
use nodesift_object::Kind;
use nodesift_object::node::Taint;

pub(crate) use random::*;

#[derive(Default)]
struct Model {
    nodes: BTreeMap<String, NodeFacts>,
    /// Pods that count, by name.
    pods: BTreeMap<String, PodRecord>,
    /// Pods that the watch has shown, by name.
    shown: BTreeMap<String, PodRecord>,
    /// Assumptions of a core, by UID.
    decisions: BTreeMap<String, decisions::Decision>,
    /// Devices in flight for claims, by UID.
    in_flight: BTreeMap<String, in_flight::Held>,
    /// Claims that the watch has shown, by UID: whether they are allocated.
    claims: BTreeMap<String, bool>,
    /// UIDs of pods that were deleted, or replaced by another of their name.
    gone: BTreeSet<String>,
    /// Outcomes of assuming that were met.
    met: BTreeMap<String, u32>,
    namespaces: BTreeMap<String, Labels>,
    /// Names of sums that are declared.
    sum_names: BTreeSet<Arc<str>>,
    /// Answers of parties, by node.
    answers: BTreeMap<String, BTreeMap<parties::Key, Suitability>>,
}

/// Everything that a snapshot says of one node, by plain names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct NodeView {
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
    unschedulable: bool,
    taints: Vec<Taint>,
    /// Allocatable, requested and foreign amounts, by resource.
    resources: BTreeMap<String, (i64, i64, i64)>,
    pods: i64,
    foreign_pods: i64,
    pod_limit: i64,
    pod_room: i64,
    sums: BTreeMap<String, i64>,
    non_zero: NonZero,
    ports: BTreeMap<HostPort, u32>,
    capacity: Amounts,
    conditions: Conditions,
    info: BTreeMap<String, String>,
    /// Images with their sizes in bytes, as texts.
    images: BTreeMap<String, String>,
    moments: BTreeMap<Moment, i64>,
    /// Answers of parties, by party and subject.
    answers: BTreeMap<parties::Key, Suitability>,
}

impl Model {
    fn views(&self) -> BTreeMap<String, NodeView> {
        self.nodes.keys().map(|name| (name.clone(), self.view(name))).collect()
    }

    fn view(&self, name: &str) -> NodeView {
        let node = &self.nodes[name];
        let pods: Vec<&PodRecord> = self.pods.values().filter(|pod| pod.node_name.as_deref() == Some(name)).collect();
        let mut view = NodeView {
            labels: node.labels.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect(),
            annotations: node.annotations.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect(),
            unschedulable: node.unschedulable,
            taints: node.taints.clone(),
            pods: pods.len() as i64,
            foreign_pods: pods.iter().filter(|pod| pod.ownership.is_foreign()).count() as i64,
            pod_limit: node.pod_limit,
            pod_room: node.pod_limit - pods.len() as i64,
            capacity: node.capacity.clone(),
            conditions: node.conditions.clone(),
            moments: Moment::ALL.into_iter().map(|moment| (moment, node.moments.get(moment))).collect(),
            answers: self.answers.get(name).cloned().unwrap_or_default(),
            images: node.images.iter().map(|(image, size)| (image.to_string(), size.to_string())).collect(),
            info: node.info.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect(),
            ..NodeView::default()
        };
        for (resource, amount) in &node.allocatable {
            view.resources.entry(resource.to_string()).or_default().0 += amount;
        }
        view.sums =
            self.sum_names.iter().map(|name| (name.to_string(), amount_of(&node.sums.to_vec(), name))).collect();
        for pod in pods {
            let non_zero = non_zero_usage_of(pod);
            view.non_zero.cpu = view.non_zero.cpu.wrapping_add(non_zero.cpu);
            view.non_zero.memory = view.non_zero.memory.wrapping_add(non_zero.memory);
            if let Some(account) = &pod.account {
                for (name, sum) in &mut view.sums {
                    *sum = sum.wrapping_add(amount_of(&account.sums.to_vec(), name));
                }
            }
            for (resource, amount) in usage_of(pod) {
                let entry = view.resources.entry(resource.to_string()).or_default();
                entry.1 += amount;
                entry.2 += if pod.ownership.is_foreign() { *amount } else { 0 };
            }
            for port in &pod.facts.host_ports {
                *view.ports.entry(port.clone()).or_default() += 1;
            }
        }
        view.resources.retain(|_, amounts| *amounts != (0, 0, 0));
        view
    }
}

impl Model {
    fn labels_of(&self, namespace: &str) -> Labels {
        self.namespaces.get(namespace).cloned().unwrap_or_default()
    }

    fn pods_on<'a>(&'a self, node: &'a str) -> impl Iterator<Item = &'a PodRecord> {
        self.pods.values().filter(move |pod| pod.node_name.as_deref() == Some(node))
    }

    /// Counts pod by pod and compares.
    fn check_count(&self, snapshot: &Snapshot, key: &CountKey) {
        let counts = |pod: &&PodRecord| {
            (key.terminating || !pod.terminating)
                && key.selectors.iter().all(|selector| {
                    selector
                        .matches(&pod.namespace, &pod.facts.labels, |namespace| self.namespaces.get(namespace).cloned())
                })
        };
        let recount: BTreeMap<String, u32> =
            self.nodes.keys().map(|node| (node.clone(), self.pods_on(node).filter(counts).count() as u32)).collect();
        assert_eq!(counts_of(snapshot, key), recount, "{key:?}");
    }

    /// Adds up pod by pod and compares.
    fn check_sum(&self, snapshot: &Snapshot, key: &SumKey) {
        let counts = |pod: &&PodRecord| snapshot.counts(&key.pods, pod);
        let used = |pod: &PodRecord| amount_of(usage_of(pod), &key.resource);
        let recount: BTreeMap<String, i64> =
            self.nodes.keys().map(|node| (node.clone(), self.pods_on(node).filter(counts).map(used).sum())).collect();
        assert_eq!(sums_of(snapshot, key), recount, "{key:?}");
    }

    /// Finds the first row that holds each image and compares its size.
    fn check_images(&self, snapshot: &Snapshot) {
        for image in IMAGES {
            let mut held = snapshot.names().iter().flat_map(|name| self.nodes[&**name].images.iter());
            let first = held.find(|(name, _)| **name == *image).map(|(_, size)| size.parse::<i64>().unwrap());
            assert_eq!(snapshot.image_size(image), first, "{image}");
        }
    }

    /// Finds the pods of each controller one by one and compares.
    fn check_controllers(&self, snapshot: &Snapshot) {
        for uid in ["", "c0", "c1", "c2", "c3"].map(text) {
            let count = |node: &str, terminating: bool| {
                let is_its = |pod: &&PodRecord| {
                    !uid.is_empty()
                        && pod.facts.owner.as_ref().is_some_and(|owner| owner.uid == uid)
                        && pod.terminating == terminating
                };
                self.pods_on(node).filter(is_its).count() as u32
            };
            let recount: BTreeMap<String, (u32, u32)> = self
                .nodes
                .keys()
                .map(|node| (node.clone(), (count(node, false), count(node, true))))
                .filter(|(_, pods)| *pods != (0, 0))
                .collect();
            let rows = snapshot.controlled(&text("ns"), &uid);
            assert!(rows.is_sorted_by_key(|pods| pods.row));
            let named =
                |pods: &ControlledPods| (snapshot.node_name(pods.row).to_owned(), (pods.running, pods.terminating));
            assert_eq!(rows.iter().map(named).collect::<BTreeMap<_, _>>(), recount, "{uid}");
        }
    }

    /// Matches term by term and compares, for a pod with these labels.
    fn check_terms(&self, snapshot: &Snapshot, labels: &Labels) {
        let mut found: BTreeMap<String, u32> = BTreeMap::new();
        for (_, rows) in snapshot.anti_affinity("ns", labels) {
            for (row, terms) in rows.iter() {
                *found.entry(snapshot.node_name(*row).to_owned()).or_default() += terms;
            }
        }
        let mut recount: BTreeMap<String, u32> = BTreeMap::new();
        for node in self.nodes.keys() {
            let terms = self.pods_on(node).flat_map(|pod| &pod.facts.anti_affinity_terms);
            // A term whose topology key no node carries keeps no pod away.
            let has_domains = |term: &&AntiAffinityTerm| {
                let key = |(key, _): &(Arc<str>, Arc<str>)| *key == term.topology_key;
                self.nodes.values().any(|node| node.labels.iter().any(key))
            };
            let matches = |term: &&AntiAffinityTerm| {
                term.selector.matches("ns", labels, |namespace| Some(self.labels_of(namespace)))
            };
            let count = terms.filter(has_domains).filter(matches).count() as u32;
            if count > 0 {
                recount.insert(node.clone(), count);
            }
        }
        assert_eq!(found, recount);
    }

    /// Matches scoring terms one by one and compares, for a pod with these labels: per topology key, weight and node, how many match.
    fn check_scoring_terms(&self, snapshot: &Snapshot, labels: &Labels) {
        let mut found = ScoringCounts::new();
        for (term, rows) in snapshot.scoring_terms("ns", labels) {
            for (row, terms) in rows.iter() {
                let node = snapshot.node_name(*row).to_owned();
                *found.entry((term.topology_key.to_string(), term.weight, node)).or_default() += terms;
            }
        }
        let mut recount = ScoringCounts::new();
        for node in self.nodes.keys() {
            let preferences = self.pods_on(node).filter_map(|pod| pod.facts.preferences.as_ref());
            for term in preferences.flat_map(|preferences| &preferences.terms) {
                let has_key = |node: &NodeFacts| node.labels.iter().any(|(key, _)| *key == term.topology_key);
                let matches = term.selector.matches("ns", labels, |namespace| Some(self.labels_of(namespace)));
                if matches && self.nodes.values().any(has_key) {
                    *recount.entry((term.topology_key.to_string(), term.weight, node.clone())).or_default() += 1;
                }
            }
        }
        assert_eq!(found, recount);
    }
}

/// By topology key, weight and node, how many scoring terms match.
type ScoringCounts = BTreeMap<(String, Option<i32>, String), u32>;

/// Returns the usage of a pod: that of its account, or else of its facts.
pub(crate) fn usage_of(pod: &PodRecord) -> &Amounts {
    match &pod.account {
        Some(account) => &account.usage,
        None => &pod.facts.usage,
    }
}

/// Returns the usage of a pod with that of containers that name none; that of its account where it has one that was given.
fn non_zero_usage_of(pod: &PodRecord) -> NonZero {
    let Some(usage) = &pod.facts.non_zero_usage else { return NonZero::default() };
    let of_account = |account: &Arc<Account>| {
        let [cpu, memory] = ["cpu", "memory"].map(|resource| amount_of(&account.usage, resource));
        NonZero { cpu, memory }
    };
    pod.account.as_ref().filter(|account| account.is_given()).map_or(usage.counted, of_account)
}

pub(crate) fn counts_of(snapshot: &Snapshot, key: &CountKey) -> BTreeMap<String, u32> {
    let counts = snapshot.count(key);
    assert_eq!(counts.len(), snapshot.node_count());
    let named = counts.iter().enumerate();
    named.map(|(row, count)| (snapshot.node_name(Row(row as u32)).to_owned(), *count)).collect()
}

pub(crate) fn sums_of(snapshot: &Snapshot, key: &SumKey) -> BTreeMap<String, i64> {
    let sums = snapshot.sum(key);
    assert_eq!(sums.len(), snapshot.node_count());
    let named = sums.iter().enumerate();
    named.map(|(row, sum)| (snapshot.node_name(Row(row as u32)).to_owned(), *sum)).collect()
}

pub(crate) fn views_of(snapshot: &Snapshot) -> BTreeMap<String, NodeView> {
    (0..snapshot.node_count())
        .map(|row| (snapshot.names().flat()[row].to_string(), view_of(snapshot, Row(row as u32))))
        .collect()
}

pub(crate) fn view_of(snapshot: &Snapshot, row: Row) -> NodeView {
    let at = |column: &Column<i64>| *column.get(row).unwrap();
    let keys: BTreeSet<&str> = KEYS.into_iter().collect();
    let by_columns: BTreeMap<String, String> = keys
        .iter()
        .filter_map(|key| {
            let column = snapshot.label_column(key)?;
            let text = column.dictionary().text(*column.codes.get(row).unwrap())?;
            assert_eq!(column.dictionary().code(text), column.codes.get(row).copied());
            Some(((*key).to_owned(), text.to_string()))
        })
        .collect();
    let annotation = |key: &&str| {
        let column = snapshot.annotation_column(key)?;
        let text = column.dictionary().text(*column.codes.get(row).unwrap())?;
        Some(((*key).to_owned(), text.to_string()))
    };
    let annotations = ["app", "tier"].iter().filter_map(annotation).collect();
    let image = |image: &&str| {
        let column = snapshot.image_column(image)?;
        let size = column.dictionary().text(*column.codes.get(row).unwrap())?;
        Some(((*image).to_owned(), size.to_string()))
    };
    let info = |key: &&str| {
        let column = snapshot.info_column(key)?;
        let text = column.dictionary().text(*column.codes.get(row).unwrap())?;
        Some(((*key).to_owned(), text.to_string()))
    };
    let by_sets: BTreeMap<String, String> =
        snapshot.labels().get(row).unwrap().iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    assert_eq!(by_columns, by_sets, "label columns and label sets of one row");
    let resources = RESOURCES.into_iter().filter_map(|name| {
        let resource = snapshot.resource(name)?;
        let (allocatable, free) = (at(&resource.allocatable), at(&resource.free));
        Some((name.to_owned(), (allocatable, allocatable - free, at(&resource.foreign))))
    });
    NodeView {
        labels: by_columns,
        annotations,
        unschedulable: *snapshot.unschedulable().get(row).unwrap() == 1,
        taints: (**snapshot.taint_sets().get(Row(*snapshot.taint_codes().get(row).unwrap())).unwrap()).clone(),
        resources: resources.filter(|(_, amounts)| *amounts != (0, 0, 0)).collect(),
        pods: at(snapshot.pods()),
        foreign_pods: at(snapshot.foreign_pods()),
        pod_limit: at(snapshot.pod_limit()),
        pod_room: at(snapshot.pod_room()),
        answers: parties::answers_of(snapshot, snapshot.node_name(row)),
        sums: snapshot.sum_names().map(|name| (name.to_string(), at(snapshot.named_sum(name).unwrap()))).collect(),
        ports: snapshot
            .port_sets()
            .get(Row(*snapshot.port_codes().get(row).unwrap()))
            .unwrap()
            .iter()
            .cloned()
            .collect(),
        capacity: snapshot.capacity(row).unwrap().to_vec(),
        conditions: (**snapshot.condition_sets().get(Row(*snapshot.condition_codes().get(row).unwrap())).unwrap())
            .clone(),
        info: ["app", "tier"].iter().filter_map(info).collect(),
        moments: Moment::ALL.into_iter().map(|moment| (moment, at(snapshot.moments(moment)))).collect(),
        images: IMAGES.iter().filter_map(image).collect(),
        non_zero: NonZero {
            cpu: at(snapshot.non_zero_sum("cpu").unwrap()),
            memory: at(snapshot.non_zero_sum("memory").unwrap()),
        },
    }
}
