//! The audit: what columns hold is counted once more from the pods and nodes behind them, compared, and put right.
//!
//! Columns are kept up to date by every event, so one wrong step would stay wrong for ever; and no code is without defects.
//! Start at [`Writer::audit`], which looks at some rows, so that nobody waits long for the writer. [`Writer::audit_pods`]
//! finds pods that are known and counted nowhere; [`held`] compares what is held with what a source says.

mod held;

#[cfg(debug_assertions)]
mod defect;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::counts::PodClass;
use super::ports::PortUse;
use super::writer::Writer;
use super::{Column, Row};
use crate::metadata::{Amounts, PodRecord, value_of};

/// Something of a node that was not what its pods and labels make it; it has been put right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The node.
    pub node: Arc<str>,
    /// What of it, for example `requested cpu`.
    pub what: String,
    /// What the column held.
    pub held: String,
    /// What it had to hold.
    pub counted: String,
}

impl Difference {
    fn of_pod(node: &Arc<str>, pod: &PodRecord, held: &str, counted: &str) -> Self {
        let what = format!("pod {}/{}", pod.namespace, pod.name);
        Self { node: Arc::clone(node), what, held: held.to_owned(), counted: counted.to_owned() }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {}: {} was {}, counted {}", self.node, self.what, self.held, self.counted)
    }
}

/// Differences of one row, as they are found.
struct Findings {
    node: Arc<str>,
    found: Vec<Difference>,
}

impl Findings {
    fn differs<T: PartialEq + fmt::Debug>(&mut self, what: impl FnOnce() -> String, held: &T, counted: &T) -> bool {
        if held == counted {
            return false;
        }
        let (held, counted) = (format!("{held:?}"), format!("{counted:?}"));
        self.found.push(Difference { node: Arc::clone(&self.node), what: what(), held, counted });
        true
    }

    /// Compares one cell with what was counted, and puts it right.
    fn cell<T: Clone + PartialEq + fmt::Debug>(&mut self, what: &str, column: &mut Column<T>, row: Row, counted: T) {
        if let Some(held) = column.get(row).cloned()
            && self.differs(|| what.to_owned(), &held, &counted)
        {
            column.set(row, counted);
        }
    }
}

impl Writer {
    /// The row of a node.
    pub fn row(&self, node: &str) -> Option<Row> {
        self.nodes.row(node)
    }

    /// How many rows there are to audit.
    pub fn audit_rows(&self) -> u32 {
        u32::try_from(self.nodes.len()).unwrap_or(u32::MAX)
    }

    /// Counts some rows once more and puts right what differs; rows past the last are left out. With the first row come the
    /// nodes that are not known.
    pub fn audit(&mut self, rows: Range<u32>) -> Vec<Difference> {
        let mut found = Vec::new();
        if rows.start == 0 {
            let is_unknown = |node: &&Arc<str>| self.nodes.row(node).is_none();
            let named = self.nominated.by_node().map(|(node, _)| node).chain(self.pods_by_node.keys());
            let unknown: Vec<Arc<str>> = named.filter(is_unknown).cloned().collect();
            found.extend(unknown.iter().flat_map(|node| self.drop_strangers(node)));
        }
        let rows = rows.start..rows.end.min(self.audit_rows());
        found.extend(rows.flat_map(|row| self.audit_row(Row(row))));
        found
    }

    fn audit_row(&mut self, row: Row) -> Vec<Difference> {
        let Some(node) = self.nodes.names.get(row).map(Arc::clone) else { return Vec::new() };
        let found = self.drop_strangers(&node);
        let pods = self.pods_on(&node);
        let mut findings = Findings { node, found };
        self.audit_place(row, &mut findings);
        self.audit_labels(row, &mut findings);
        self.audit_tallies(row, &pods, &mut findings);
        self.audit_resources(row, &pods, &mut findings);
        self.audit_unlisted(row, &pods, &mut findings);
        self.audit_ports(row, &pods, &mut findings);
        self.audit_classes(row, &pods, &mut findings);
        self.audit_terms(row, &pods, &mut findings);
        self.audit_volumes(row, &pods, &mut findings);
        if !findings.found.is_empty() {
            self.record_all(row);
        }
        findings.found
    }

    /// Looks whether pods of the index are on their nodes, or nominated for them, and puts there those that are not. Pods
    /// that have changed since they were looked up are left out.
    pub fn audit_pods(&mut self, pods: &[Arc<PodRecord>]) -> Vec<Difference> {
        let mut found = Vec::new();
        for pod in pods {
            let Some(home) = pod.home().filter(|_| self.pods.holds(pod) && !self.is_in_place(pod)) else { continue };
            found.push(Difference::of_pod(home, pod, "not counted", "known"));
            self.generation.0 += 1;
            self.pods.count_from(&pod.uid, self.generation);
            self.enter_node(pod);
            // Some of it may have been counted already.
            if let Some(row) = pod.node_name.as_ref().and_then(|node| self.nodes.row(node)) {
                found.extend(self.audit_row(row));
            }
        }
        found
    }

    /// Counts nodes once more whose change broke off: nothing that is published shows a part of it.
    pub(super) fn heal(&mut self, mut nodes: Vec<Arc<str>>) {
        nodes.sort_unstable();
        nodes.dedup();
        for node in nodes {
            let mut found = self.audit_pods(&self.pods.about(&node));
            found.extend(match self.nodes.row(&node) {
                Some(row) => self.audit_row(row),
                None => self.drop_strangers(&node),
            });
            found.iter().for_each(|difference| tracing::error!(%difference, "a change broke off, and is put right"));
        }
    }

    /// Takes away the pods that are on a node, or nominated for it, and are not those that are known.
    pub(super) fn drop_strangers(&mut self, node: &Arc<str>) -> Vec<Difference> {
        let resident = self.pods_by_node.get(node).into_iter().flatten();
        let all = resident.chain(self.nominated.of(node));
        let strangers: Vec<Arc<PodRecord>> = all.filter(|pod| !self.pods.holds(pod)).map(Arc::clone).collect();
        let mut found = Vec::new();
        for pod in strangers {
            found.push(Difference::of_pod(node, &pod, "counted", "unknown"));
            self.generation.0 += 1;
            self.leave_node(&pod);
        }
        found
    }

    /// The row under the node's name.
    fn audit_place(&mut self, row: Row, findings: &mut Findings) {
        let held = self.nodes.row(&findings.node);
        if findings.differs(|| "row".to_owned(), &held, &Some(row)) {
            Arc::make_mut(&mut self.nodes.rows).insert(Arc::clone(&findings.node), row);
            self.nodes.rows_by_name = Arc::default();
        }
    }

    fn audit_labels(&mut self, row: Row, findings: &mut Findings) {
        let labels = self.nodes.labels.get(row).cloned().unwrap_or_default();
        let wrong = self.nodes.label_columns.differing(row, &labels);
        for (key, held) in &wrong {
            findings.differs(|| format!("label {key}"), held, &value_of(&labels, key).cloned());
        }
        if !wrong.is_empty() {
            Arc::make_mut(&mut self.nodes.label_columns).heal(row, &labels);
        }
    }

    fn audit_tallies(&mut self, row: Row, pods: &[Arc<PodRecord>], findings: &mut Findings) {
        let count = |pods: usize| i64::try_from(pods).unwrap_or(i64::MAX);
        let foreign = pods.iter().filter(|pod| pod.ownership.is_foreign()).count();
        let limit = self.nodes.pod_limit.get(row).copied().unwrap_or(0);
        findings.cell("pods", &mut self.nodes.pods, row, count(pods.len()));
        findings.cell("foreign pods", &mut self.nodes.foreign_pods, row, count(foreign));
        findings.cell("room for pods", &mut self.nodes.pod_room, row, limit.wrapping_sub(count(pods.len())));
    }

    fn audit_resources(&mut self, row: Row, pods: &[Arc<PodRecord>], findings: &mut Findings) {
        // By resource what the node has, what is left of it, and what foreign pods take.
        let mut counted: BTreeMap<Arc<str>, (i64, i64, i64)> = BTreeMap::new();
        for (name, amount) in self.listed_allocatable(&findings.node) {
            let entry = counted.entry(Arc::clone(name)).or_default();
            *entry = (entry.0.wrapping_add(*amount), entry.1.wrapping_add(*amount), 0);
        }
        let missing: Vec<Arc<str>> =
            counted.keys().filter(|name| !self.nodes.resources.contains_key(*name)).map(Arc::clone).collect();
        self.make_lost_columns(&missing);
        // What no node lists has no columns.
        let listed = |name: &str| self.nodes.resources.contains_key(name);
        for pod in pods {
            for (name, amount) in pod.facts.usage.iter().filter(|(name, _)| listed(name)) {
                let entry = counted.entry(Arc::clone(name)).or_default();
                entry.1 = entry.1.wrapping_sub(*amount);
                entry.2 = entry.2.wrapping_add(if pod.ownership.is_foreign() { *amount } else { 0 });
            }
        }
        let known = Arc::clone(&self.nodes.resources);
        for (name, resource) in known.iter() {
            let (allocatable, free, foreign) = counted.get(name).copied().unwrap_or_default();
            let is_right = resource.allocatable.get(row) == Some(&allocatable)
                && resource.free.get(row) == Some(&free)
                && resource.foreign.get(row) == Some(&foreign);
            if is_right {
                continue;
            }
            if let Some(resource) = Arc::make_mut(&mut self.nodes.resources).get_mut(name) {
                findings.cell(&format!("allocatable {name}"), &mut resource.allocatable, row, allocatable);
                findings.cell(&format!("free {name}"), &mut resource.free, row, free);
                findings.cell(&format!("foreign {name}"), &mut resource.foreign, row, foreign);
            }
        }
    }

    /// Makes columns that nodes list and that are not there; their rows are put right as they are audited.
    fn make_lost_columns(&mut self, names: &[Arc<str>]) {
        self.nodes.make_columns(names);
        for name in names {
            let lists = |code: &&u32| self.amounts.value(**code).is_some_and(|amounts| names_it(amounts, name));
            let listers = self.allocatable.values().filter(lists).count();
            if let Some(resource) = Arc::make_mut(&mut self.nodes.resources).get_mut(name) {
                resource.listers = listers;
            }
        }
    }

    fn audit_unlisted(&mut self, row: Row, pods: &[Arc<PodRecord>], findings: &mut Findings) {
        let counted: Vec<&Arc<PodRecord>> = pods.iter().filter(|pod| self.nodes.takes_unlisted(pod)).collect();
        let held = uids_of(self.nodes.unlisted.of_row(row));
        if findings.differs(|| "pods that take what no node lists".to_owned(), &held, &uids_of(counted.iter().copied()))
        {
            let counted = counted.into_iter().cloned().collect();
            self.nodes.unlisted.set(row, counted);
        }
    }

    fn audit_ports(&mut self, row: Row, pods: &[Arc<PodRecord>], findings: &mut Findings) {
        let mut counted: BTreeMap<_, u32> = BTreeMap::new();
        for port in pods.iter().flat_map(|pod| &pod.facts.host_ports) {
            *counted.entry(port.clone()).or_default() += 1;
        }
        let counted: PortUse = counted.into_iter().collect();
        let old = self.nodes.port_codes.get(row).copied().unwrap_or(0);
        let held = self.ports.value(old).map(|ports| (**ports).clone()).unwrap_or_default();
        if findings.differs(|| "host ports".to_owned(), &held, &counted) {
            let new = self.ports.acquire(counted);
            self.ports.release(old);
            self.nodes.port_codes.set(row, new);
        }
    }

    fn audit_classes(&mut self, row: Row, pods: &[Arc<PodRecord>], findings: &mut Findings) {
        let classes: Vec<PodClass> = pods.iter().map(|pod| PodClass::of(pod)).collect();
        let sorted = |mut classes: Vec<u32>| {
            classes.sort_unstable();
            classes
        };
        let counted = sorted(classes.iter().map(|class| self.classes.code(class).unwrap_or(u32::MAX)).collect());
        let held = self.nodes.pod_classes.get(row).map(|held| (**held).clone()).unwrap_or_default();
        if findings.differs(|| "classes of pods".to_owned(), &sorted(held.clone()), &counted) {
            let mut codes = Vec::with_capacity(classes.len());
            for class in classes {
                let (code, is_new) = self.classes.acquire_new(class);
                if is_new && let Some(class) = self.classes.value(code) {
                    self.counts.set_class(code, class, &self.nodes.namespaces);
                }
                codes.push(code);
            }
            held.iter().for_each(|code| self.classes.release(*code));
            self.nodes.pod_classes.set(row, Arc::new(codes));
            self.counts.pods_changed();
        }
        let codes = self.nodes.pod_classes.get(row).map(Arc::clone).unwrap_or_default();
        for (held, counted) in self.counts.heal(row, &codes) {
            findings.differs(|| "pods that match a selector".to_owned(), &held, &counted);
        }
    }

    fn audit_terms(&mut self, row: Row, pods: &[Arc<PodRecord>], findings: &mut Findings) {
        let mut counted: FxHashMap<_, u32> = FxHashMap::default();
        for term in pods.iter().flat_map(|pod| &pod.facts.anti_affinity_terms) {
            *counted.entry(term.clone()).or_default() += 1;
        }
        for (term, terms) in self.nodes.terms.of_row(row) {
            let wanted = counted.remove(&*term).unwrap_or(0);
            if findings.differs(|| format!("anti-affinity terms by {}", term.topology_key), &terms, &wanted) {
                (0..terms.abs_diff(wanted)).for_each(|_| self.nodes.terms.change(&term, row, terms < wanted));
            }
        }
        for (term, wanted) in counted {
            findings.differs(|| format!("anti-affinity terms by {}", term.topology_key), &0, &wanted);
            (0..wanted).for_each(|_| self.nodes.terms.change(&term, row, true));
        }
    }

    fn audit_volumes(&mut self, row: Row, pods: &[Arc<PodRecord>], findings: &mut Findings) {
        let with_volumes = || pods.iter().filter(|pod| !pod.facts.volumes.is_empty());
        let counted = uids_of(with_volumes());
        let held = uids_of(self.nodes.volume_pods.get(row).into_iter().flat_map(|pods| pods.iter()));
        if findings.differs(|| "pods with volumes".to_owned(), &held, &counted) {
            self.nodes.volume_pods.set(row, with_volumes().map(Arc::clone).collect());
            self.nodes.forget_volume_use();
        }
    }
}

/// The UIDs of pods, sorted.
fn uids_of<'a>(pods: impl IntoIterator<Item = &'a Arc<PodRecord>>) -> Vec<Arc<str>> {
    let mut uids: Vec<Arc<str>> = pods.into_iter().map(|pod| Arc::clone(&pod.uid)).collect();
    uids.sort_unstable();
    uids
}

fn names_it(amounts: &Amounts, resource: &str) -> bool {
    amounts.iter().any(|(known, _)| **known == *resource)
}
