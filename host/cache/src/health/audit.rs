//! The audit: columns are recounted from the pods and nodes behind them, and drift is repaired.
//!
//! Columns are kept up to date by every event, so that one wrong step would stay wrong for ever. Start at [`Writer::audit`],
//! which looks at some rows at a time, so that the writer is never locked for long. [`Writer::audit_pods`] finds pods that
//! in the index and on no node, and [`Writer::audit_devices`] devices that are in use otherwise than claims say. Comparing with a source is left to the caller: see [`Writer::holds_node`].

use std::ops::Range;
use std::sync::Arc;

use crate::columns::Row;
use crate::columns::drift::Drift;
use crate::metadata::PodRecord;
use crate::write::Writer;

impl Writer {
    /// How many rows there are to audit.
    pub fn audit_rows(&self) -> u32 {
        u32::try_from(self.node_count()).unwrap_or(u32::MAX)
    }

    /// Recounts some rows and repairs drift; rows past the last are left out. Nodes that are not known but named by pods
    /// come with the first row.
    pub fn audit(&mut self, rows: Range<u32>) -> Vec<Drift> {
        let mut found = Vec::new();
        if rows.start == 0 {
            found.extend(self.unknown_nodes().iter().flat_map(|node| self.drop_unindexed(node)));
        }
        let rows = rows.start..rows.end.min(self.audit_rows());
        found.extend(rows.flat_map(|row| self.repair_row(Row(row))));
        found
    }

    /// Places pods of the index that are not on their nodes, or not nominated for them. Pods that have changed since they
    /// were looked up are left out.
    pub fn audit_pods(&mut self, pods: &[Arc<PodRecord>]) -> Vec<Drift> {
        self.repair_pods(pods)
    }

    /// Recounts from claims and allocations in flight which devices are in use, and repairs drift. It looks at all claims at once: with
    /// 50,000 of them the writer is locked for some 50 ms.
    pub fn audit_devices(&mut self) -> Vec<Drift> {
        self.repair_devices()
    }
}
