//! Another accountant: everything is accounted for anew, node by node, so that the columns of a node change once and not for each
//! pod. Other rules: the few pods and the storage that they concern count anew. Start at [`Writer::recount_accounts`] and
//! [`Writer::recount_semantics`].

use std::sync::Arc;

use super::Writer;
use super::failpoint::step;
use crate::columns::Row;
use crate::metadata::{Accountant, PodRecord};
use crate::pods::amounts_change::AmountsChange;
use crate::semantics::Semantics;

impl Writer {
    /// Accounts for every pod and node anew, by the accountant of another policy. Returns how many pods have another account. All of it
    /// appears in the next publication. The writer should be asked once the accountant knows most: what it does not know runs here.
    pub fn recount_accounts(&mut self, accountant: Option<Arc<dyn Accountant>>) -> usize {
        // So that every pod that is bound is among those of its node.
        self.repair_interrupted();
        let names = accountant.as_ref().map(|accountant| accountant.sums().to_vec()).unwrap_or_default();
        let marks = accountant.as_ref().map(|accountant| accountant.watermarks().to_vec()).unwrap_or_default();
        self.watermarks.replace(&marks, self.nodes.len());
        self.accounts.replace(accountant);
        // A name that both have keeps its column, and the pods below change it.
        self.declare_sums(&names);
        let nodes: Vec<Arc<str>> = self.placement.nodes().cloned().collect();
        let mut changed: usize = nodes.iter().map(|node| self.recount_accounts_on(node)).sum();
        for pod in self.pods.pending() {
            let next = self.as_counted(&pod).into_owned();
            if next.account == pod.account {
                self.note_pod(&next);
            } else {
                changed += 1;
                self.put_pod(&next);
            }
        }
        self.account_for_shown(None);
        let rows = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        (0..rows).for_each(|row| self.account_for_row(Row(row)));
        changed
    }

    /// Sets the rules by which everything counts, before anything is applied.
    pub fn set_semantics(&mut self, semantics: Semantics) {
        self.semantics = semantics;
        self.objects.set_semantics(semantics);
        self.devices.set_rules(semantics.devices);
        self.claims.set_rules(semantics.claims);
    }

    /// Counts by the rules of another policy. Returns how many pods take something else. All of it appears in the next publication. A
    /// change of the accountant, if there is one, comes after it.
    pub fn recount_semantics(&mut self, semantics: Semantics) -> usize {
        if self.semantics == semantics {
            return 0;
        }
        self.repair_interrupted();
        self.advance_generation();
        let resizes = self.semantics.resize != semantics.resize;
        self.set_semantics(semantics);
        self.nodes.storage_changed();
        if !resizes {
            return 0;
        }
        let is_other = |pod: &Arc<PodRecord>| pod.facts.resized_by(semantics.resize).is_some();
        let others: Vec<Arc<PodRecord>> = self.pods.all().into_iter().filter(is_other).collect();
        for pod in &others {
            let next = self.as_counted(pod).into_owned();
            self.put_pod(&next);
        }
        self.account_for_shown(None);
        others.len()
    }

    /// Accounts anew for the pods on a node, known or not. Its columns change once, whatever the number of pods: it comes to the same as
    /// [`Self::put_pod`] of each, since nothing but accounts is another.
    fn recount_accounts_on(&mut self, node: &Arc<str>) -> usize {
        let mut pods = self.placement.on(node).to_vec();
        let accounts = self.accounts.pod_accounts(&pods);
        let mut changes: Vec<AmountsChange> = Vec::new();
        for (pod, account) in pods.iter_mut().zip(accounts) {
            if account != pod.account {
                let next = Arc::new(pod.accounted(account));
                changes.push(AmountsChange { earlier: std::mem::replace(pod, Arc::clone(&next)), pod: next });
            }
            self.note_pod(pod);
        }
        if changes.is_empty() {
            return 0;
        }
        // As in `put_pod`.
        let since = self.generation.next();
        let begun = self.placement.begin([node]);
        step();
        for change in &changes {
            self.pods.insert(&change.pod, since);
        }
        step();
        self.placement.set(node, pods);
        step();
        match self.nodes.row(node) {
            Some(row) => self.change_amounts(row, &changes),
            None => self.advance_generation(),
        }
        self.placement.end(begun);
        changes.len()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::metadata::requests::{CPU, ResizeRules};
    use crate::metadata::{self, StorageRecord};
    use crate::{Snapshot, new};
    use serde_json::{Value, json};

    const DRIVER: &str = "pxd.portworx.com";

    fn rules(by_totals: bool, portworx_by_annotation: bool) -> Semantics {
        Semantics { resize: ResizeRules { pod_level: true, by_totals }, portworx_by_annotation, ..Semantics::default() }
    }

    fn all() -> [Semantics; 4] {
        [rules(false, false), rules(true, false), rules(true, true), rules(false, true)]
    }

    /// A pod whose two containers are resized in opposite directions, with a volume of Portworx.
    fn resized(random: &mut fastrand::Rng, number: usize, node: Option<&str>) -> PodRecord {
        let mut cpu = || random.u8(1..9).to_string();
        let container = |name: &str, cpu: String| json!({"name": name, "resources": {"requests": {"cpu": cpu}}});
        let status = |name: &str, cpu: String| json!({"name": name, "allocatedResources": {"cpu": cpu}, "resources": {"requests": {"cpu": cpu}}});
        let mut pod: Value = json!({
            "metadata": {"name": format!("p{number}"), "uid": format!("u{number}")},
            "spec": {"containers": [container("a", cpu()), container("b", cpu())],
                     "volumes": [{"name": "v", "portworxVolume": {"volumeID": format!("h{number}")}}]},
            "status": {"containerStatuses": [status("a", cpu()), status("b", cpu())]},
        });
        if let Some(node) = node {
            pod["spec"]["nodeName"] = json!(node);
        }
        metadata::pod_record(&serde_json::from_value(pod).unwrap(), &["default-scheduler".to_owned()])
    }

    /// Usage of `cpu` in millicores and the volumes of Portworx, by row.
    fn counted(snapshot: &Snapshot) -> (Vec<i64>, Vec<(Row, i64)>) {
        let cpu = snapshot.resource(CPU).unwrap();
        let used = cpu.allocatable.iter().zip(cpu.free.iter()).map(|(allocatable, free)| allocatable - free).collect();
        (used, snapshot.attachments().used(DRIVER).to_vec())
    }

    fn add_nodes(writer: &mut Writer) {
        for (node, migrated) in [("n0", ""), ("n1", "kubernetes.io/portworx-volume")] {
            let object = json!({"metadata": {"name": node}, "status": {"allocatable": {"cpu": "99"}}});
            writer.apply(metadata::node(&serde_json::from_value(object).unwrap()));
            let csi_node = metadata::CsiNode {
                name: Arc::from(node),
                limits: vec![(Arc::from(DRIVER), 9)],
                migrated: vec![Arc::from(migrated)],
                drivers: vec![Arc::from(DRIVER)],
            };
            writer.apply(StorageRecord::Node(csi_node));
        }
    }

    #[test]
    fn after_a_change_of_rules_everything_counts_as_if_it_had_been_applied_under_them() {
        let seed = nodesift_seed::seed();
        let mut random = fastrand::Rng::with_seed(seed);
        let mut different = 0;
        for round in 0..50 {
            let pods: Vec<PodRecord> = (0..8)
                .map(|number| {
                    let node = [None, Some("n0"), Some("n1")][random.usize(0..3)];
                    resized(&mut random, number, node)
                })
                .collect();
            let (mut writer, reader) = new();
            add_nodes(&mut writer);
            pods.iter().for_each(|pod| writer.apply(pod.clone()));
            writer.publish();
            let mut last = counted(&reader.snapshot());
            for _ in 0..4 {
                let semantics = all()[random.usize(0..4)];
                writer.recount_semantics(semantics);
                writer.publish();
                let (mut fresh, fresh_reader) = new();
                fresh.set_semantics(semantics);
                add_nodes(&mut fresh);
                pods.iter().for_each(|pod| fresh.apply(pod.clone()));
                fresh.publish();
                let found = counted(&reader.snapshot());
                assert_eq!(found, counted(&fresh_reader.snapshot()), "seed {seed}, round {round}, {semantics:?}");
                assert!(pods.iter().all(|pod| writer.holds(&pod.clone().into())), "seed {seed}, round {round}");
                different += usize::from(found != last);
                last = found;
            }
        }
        assert!(different > 50, "seed {seed}: only {different} changes of rules changed anything");
    }

    #[test]
    fn rules_that_stay_change_nothing() {
        let (mut writer, reader) = new();
        add_nodes(&mut writer);
        writer.publish();
        let before = reader.snapshot().generation();
        assert_eq!(writer.recount_semantics(Semantics::default()), 0);
        writer.publish();
        assert_eq!(reader.snapshot().generation(), before);
    }
}
