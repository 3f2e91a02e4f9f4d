//! The volumes that the pod would attach, and the rows on which each of them counts. Start at [`Wanted::new`].

use std::collections::BTreeMap;

use nodesift_sdk::columns::cluster_attachments::{self, Attachment};
use nodesift_sdk::columns::cluster_storage;

/// In-tree plugin of Portworx.
const PORTWORX_PLUGIN: &str = "kubernetes.io/portworx-volume";

/// CSI driver that replaces it.
const PORTWORX_DRIVER: &str = "pxd.portworx.com";

/// Volumes that the pod would attach, without duplicates.
#[derive(Debug)]
pub(crate) struct Wanted {
    volumes: Vec<Volume>,
    /// Flag per row: a CSI driver replaces in-tree plugins there. None where that is not asked for.
    registered: Option<Vec<u8>>,
    /// Flag per row: the driver of Portworx replaces its plugin there. None where it does so on all registered rows.
    portworx: Option<Vec<u8>>,
}

/// A volume with where it counts.
#[derive(Debug)]
pub(crate) struct Volume {
    pub(crate) attachment: Attachment,
    place: Place,
}

/// Rows on which a volume counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Everywhere,
    Registered,
    Portworx,
}

impl Wanted {
    /// The volumes that the pod attaches to a node with a CSINode. `beyond_limits`: rows without a CSINode matter too, which have no
    /// limits. `portworx_by_annotation`: volumes of Portworx count as those of its driver only where the CSINode says so.
    pub(crate) fn new(attachments: Vec<Attachment>, beyond_limits: bool, portworx_by_annotation: bool) -> Self {
        if !beyond_limits && !portworx_by_annotation {
            let everywhere = |attachment| Volume { attachment, place: Place::Everywhere };
            return Self {
                volumes: attachments.into_iter().map(everywhere).collect(),
                registered: None,
                portworx: None,
            };
        }
        // Volumes that need no CSINode are not of an in-tree kind. They can be counted wherever all can.
        let of_csi = cluster_attachments::wanted(false).unwrap_or_default();
        let volume = |attachment: Attachment| {
            let place = if of_csi.contains(&attachment) {
                Place::Everywhere
            } else if portworx_by_annotation && attachment.driver == PORTWORX_DRIVER {
                Place::Portworx
            } else {
                Place::Registered
            };
            Volume { attachment, place }
        };
        let volumes: Vec<Volume> = attachments.into_iter().map(volume).collect();
        let has = |place| volumes.iter().any(|volume: &Volume| volume.place == place);
        let registered = (has(Place::Registered) || has(Place::Portworx)).then(cluster_attachments::registered);
        let portworx = has(Place::Portworx).then(|| cluster_storage::migrated(PORTWORX_PLUGIN));
        Self { volumes, registered, portworx }
    }

    /// Whether a volume counts on a row.
    pub(crate) fn counts(&self, volume: &Volume, row: usize) -> bool {
        let is_set =
            |flags: &Option<Vec<u8>>| flags.as_ref().is_none_or(|flags| flags.get(row).is_some_and(|flag| *flag != 0));
        match volume.place {
            Place::Everywhere => true,
            Place::Registered => is_set(&self.registered),
            Place::Portworx => is_set(&self.registered) && is_set(&self.portworx),
        }
    }

    /// Whether any volume counts on a row.
    pub(crate) fn has_any(&self, row: usize) -> bool {
        self.volumes.iter().any(|volume| self.counts(volume, row))
    }

    /// The volumes by driver, in the order of their names.
    pub(crate) fn by_driver(&self) -> BTreeMap<&str, Vec<&Volume>> {
        let mut by_driver: BTreeMap<&str, Vec<&Volume>> = BTreeMap::new();
        for volume in &self.volumes {
            by_driver.entry(&volume.attachment.driver).or_default().push(volume);
        }
        by_driver
    }

    /// How many of these volumes count on each of the rows.
    pub(crate) fn numbers(&self, volumes: &[&Volume], rows: usize) -> Vec<i64> {
        let everywhere = volumes.iter().filter(|volume| volume.place == Place::Everywhere).count();
        let mut numbers = vec![i64::try_from(everywhere).unwrap_or(i64::MAX); rows];
        for volume in volumes.iter().filter(|volume| volume.place != Place::Everywhere) {
            for (row, number) in numbers.iter_mut().enumerate() {
                *number += i64::from(self.counts(volume, row));
            }
        }
        numbers
    }
}
