//! Another accountant: everything is accounted for anew, node by node, so that the columns of a node change once and not for each
//! pod. Start at [`Writer::recount_accounts`].

use std::sync::Arc;

use super::Writer;
use super::failpoint::step;
use crate::columns::Row;
use crate::metadata::Accountant;
use crate::pods::amounts_change::AmountsChange;

impl Writer {
    /// Accounts for every pod and node anew, by the accountant of another policy. Returns how many pods have another account. All of it
    /// appears in the next publication. The writer should be asked once the accountant knows most: what it does not know runs here.
    pub fn recount_accounts(&mut self, accountant: Option<Arc<dyn Accountant>>) -> usize {
        // So that every pod that is bound is among those of its node.
        self.repair_interrupted();
        let names = accountant.as_ref().map(|accountant| accountant.sums().to_vec()).unwrap_or_default();
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
