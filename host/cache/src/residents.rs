//! Pods on their nodes: how one comes to count there, and ceases to.
//!
//! Which pods are on a node is noted first and what they come to afterwards: columns can be counted again from the pods,
//! and are where a change breaks off between the two. Pods of a node that is not known wait as orphans and count from
//! the moment the node appears. Start at [`Writer::put_pod`].

use std::sync::Arc;

use super::allocations::AllocationChange;
use super::assumed::End;
use super::changes::NodeInterface;
use super::counts::PodClass;
use super::failpoint::step;
use super::nominated;
use super::pods::Displaced;
use super::ports::with_ports;
use super::table::UserChange;
use super::{Generation, Row, Writer};
use crate::metadata::{HostPort, PodRecord};

impl Writer {
    /// Adds a pod as it is to count, or replaces what counts of it.
    pub(super) fn put_pod(&mut self, pod: &Arc<PodRecord>) {
        // Whatever it changes, the next snapshot is of this generation or a later one.
        let since = Generation(self.generation.0 + 1);
        let Displaced { earlier, unchanged, namesake } = self.pods.insert(pod, since);
        // The usual update: a status that nobody here reads.
        let is_known = unchanged && earlier.as_ref().is_some_and(|earlier| self.replace_on_node(earlier, pod));
        if is_known && namesake.is_none() {
            return;
        }
        let begun = self.begin([pod].into_iter().chain(&earlier).chain(&namesake).filter_map(|pod| pod.home()));
        step();
        if let Some(namesake) = namesake {
            self.assumed.end(&namesake.uid, End::Conflict);
            self.generation.0 += 1;
            self.leave_node(&namesake);
        }
        if !is_known {
            self.generation.0 += 1;
            if let Some(earlier) = earlier {
                self.leave_node(&earlier);
            }
            step();
            if unchanged {
                // It was known and counted nowhere: an earlier try broke off.
                self.pods.count_from(&pod.uid, since);
            }
            self.enter_node(pod);
        }
        self.end(begun);
    }

    /// Takes a pod out of everything that counts it.
    pub(super) fn take_pod(&mut self, uid: &str) {
        let Some(pod) = self.pods.by_uid(uid) else { return };
        // As in `put_pod`.
        let since = Generation(self.generation.0 + 1);
        let begun = self.begin(pod.home());
        self.generation.0 += 1;
        self.leave_node(&pod);
        step();
        // Last of all, so that it is still found where that has to be tried once more.
        self.pods.remove(uid, since);
        self.end(begun);
    }

    /// Notes that nodes are about to change, until [`Self::end`] is given what this returns.
    pub(super) fn begin<'a>(&mut self, nodes: impl IntoIterator<Item = &'a Arc<str>>) -> usize {
        let begun = self.unfinished.len();
        self.unfinished.extend(nodes.into_iter().map(Arc::clone));
        begun
    }

    /// The change is whole.
    pub(super) fn end(&mut self, begun: usize) {
        self.unfinished.truncate(begun);
    }

    pub(super) fn enter_node(&mut self, pod: &Arc<PodRecord>) {
        nominated::change(&mut self.nominated, pod, true);
        let Some(node) = &pod.node_name else { return };
        match self.pods_by_node.get_mut(node) {
            Some(pods) => pods.push(Arc::clone(pod)),
            None => {
                self.pods_by_node.insert(Arc::clone(node), vec![Arc::clone(pod)]);
            }
        }
        step();
        if let Some(row) = self.nodes.row(node) {
            self.change_usage(row, pod, UserChange::More);
        }
    }

    pub(super) fn leave_node(&mut self, pod: &Arc<PodRecord>) {
        nominated::change(&mut self.nominated, pod, false);
        let Some(node) = &pod.node_name else { return };
        let Some(pods) = self.pods_by_node.get_mut(node) else { return };
        // Where it is not, an earlier try broke off after it had been taken away.
        let Some(at) = pods.iter().position(|known| Arc::ptr_eq(known, pod)) else { return };
        pods.swap_remove(at);
        if pods.is_empty() {
            self.pods_by_node.remove(node);
        }
        step();
        if let Some(row) = self.nodes.row(node) {
            self.change_usage(row, pod, UserChange::Fewer);
        }
    }

    /// Puts a pod in the place of an earlier state of it that takes the same; false where that is not in its place.
    fn replace_on_node(&mut self, earlier: &Arc<PodRecord>, pod: &Arc<PodRecord>) -> bool {
        let Some(node) = &pod.node_name else { return nominated::replace(&mut self.nominated, earlier, pod) };
        let mut pods = self.pods_by_node.get_mut(node).into_iter().flatten();
        let Some(known) = pods.find(|known| Arc::ptr_eq(known, earlier)) else { return false };
        *known = Arc::clone(pod);
        true
    }

    /// Whether a pod of the index is where it has to be.
    pub(super) fn is_in_place(&self, pod: &Arc<PodRecord>) -> bool {
        let Some(node) = &pod.node_name else { return nominated::holds(&self.nominated, pod) };
        self.pods_by_node.get(node).is_some_and(|pods| pods.iter().any(|known| Arc::ptr_eq(known, pod)))
    }

    pub(super) fn adopt_orphans(&mut self, row: Row, node: &str) {
        for pod in self.pods_on(node) {
            self.change_usage(row, &pod, UserChange::More);
        }
    }

    pub(super) fn pods_on(&self, node: &str) -> Vec<Arc<PodRecord>> {
        self.pods_by_node.get(node).cloned().unwrap_or_default()
    }

    /// Adds what a pod takes to the row of its node, or takes it away.
    pub(super) fn change_usage(&mut self, row: Row, pod: &Arc<PodRecord>, change: UserChange) {
        let event = match change {
            UserChange::More => AllocationChange::Added,
            UserChange::Fewer => AllocationChange::Removed,
        };
        self.allocations.record(event, pod, self.assumed.contains(&pod.uid));
        self.nodes.change_usage(row, pod, change);
        step();
        self.record(NodeInterface::Resources, row);
        if !pod.facts.host_ports.is_empty() {
            self.change_ports(row, &pod.facts.host_ports, change);
        }
        if !pod.facts.anti_affinity_terms.is_empty() {
            self.nodes.terms_changed = self.generation;
        }
        step();
        self.change_class(row, pod, change == UserChange::More);
    }

    /// Counts a pod where its class is counted, or no longer.
    fn change_class(&mut self, row: Row, pod: &PodRecord, more: bool) {
        let class = PodClass::of(pod);
        if more {
            let (code, is_new) = self.classes.acquire_new(class);
            if is_new && let Some(class) = self.classes.value(code) {
                self.counts.set_class(code, class, &self.nodes.namespaces);
            }
            self.nodes.pod_classes.update(row, |pods| Arc::make_mut(pods).push(code));
            self.counts.change(code, row, true);
            return;
        }
        // A pod that is on a row was counted when it came there; one that was not gives nothing back.
        let Some(code) = self.classes.code(&class) else { return };
        let pods = self.nodes.pod_classes.get(row);
        let Some(at) = pods.and_then(|pods| pods.iter().position(|known| *known == code)) else { return };
        self.nodes.pod_classes.update(row, |pods| {
            Arc::make_mut(pods).swap_remove(at);
        });
        self.counts.change(code, row, false);
        self.classes.release(code);
    }

    fn change_ports(&mut self, row: Row, ports: &[HostPort], change: UserChange) {
        let old = self.nodes.port_codes.get(row).copied().unwrap_or(0);
        let in_use = self.ports.value(old).map(|in_use| with_ports(in_use, ports, change)).unwrap_or_default();
        let new = self.ports.acquire(in_use);
        self.ports.release(old);
        self.nodes.port_codes.set(row, new);
        self.record(NodeInterface::Ports, row);
    }
}
