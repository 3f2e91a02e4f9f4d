//! Readers: the newest snapshot, and the pod index. Start at [`Reader`].

use std::sync::Arc;

use arc_swap::ArcSwap;
use tokio::sync::watch;

use super::Snapshot;
use crate::columns::Generation;
use crate::pods::PodIndex;

/// Takes snapshots and finds pods; cheap to clone.
#[derive(Debug, Clone)]
pub struct Reader {
    latest: Arc<ArcSwap<Snapshot>>,
    pods: Arc<PodIndex>,
    published: watch::Receiver<Generation>,
}

impl Reader {
    /// A reader of what a writer stores in `latest`, and then sends the generation of.
    pub(crate) fn new(
        latest: Arc<ArcSwap<Snapshot>>,
        pods: Arc<PodIndex>,
        published: watch::Receiver<Generation>,
    ) -> Self {
        Self { latest, pods, published }
    }

    /// The newest published snapshot.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.latest.load_full()
    }

    /// The first snapshot for which `wanted` holds, the newest one included. Waiting blocks no thread; it has no end where no
    /// such snapshot is published.
    pub async fn snapshot_when(&self, wanted: impl Fn(&Snapshot) -> bool) -> Arc<Snapshot> {
        let mut published = self.published.clone();
        loop {
            // Marked as seen before the snapshot is taken, so that a publication in between wakes us.
            published.borrow_and_update();
            let snapshot = self.snapshot();
            if wanted(&snapshot) {
                return snapshot;
            }
            if published.changed().await.is_err() {
                // The writer was dropped: nothing more will be published.
                std::future::pending::<()>().await;
            }
        }
    }

    /// All pods that are not terminated.
    pub fn pods(&self) -> &PodIndex {
        &self.pods
    }
}
