//! Nodes without a driver that must be there: its CSIDriver sets `spec.preventPodSchedulingIfMissing`, and the CSINode does not list it
//! (the gate `VolumeLimitScaling`). Start at [`first_missing`].

use std::collections::BTreeMap;

use nodesift_sdk::Failure;
use nodesift_sdk::columns::cluster_attachments;

use crate::volumes::Wanted;

/// The rows without a driver of a volume that counts there, each with the first such driver by name. kube-scheduler names any of them.
pub(crate) fn first_missing(wanted: &Wanted, rows: usize) -> BTreeMap<usize, &str> {
    let mut found = BTreeMap::new();
    for (driver, volumes) in wanted.by_driver() {
        let flags = cluster_attachments::driver_missing(driver);
        for (row, _) in flags.iter().take(rows).enumerate().filter(|(_, flag)| **flag != 0) {
            if volumes.iter().any(|volume| wanted.counts(volume, row)) {
                found.entry(row).or_insert(driver);
            }
        }
    }
    found
}

/// The failure of a node without a driver.
pub(crate) fn failure(driver: &str) -> Failure {
    Failure::unschedulable(format!("{driver} CSI driver is not installed on the node"))
}
