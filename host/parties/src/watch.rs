//! Pods and claims that change while they are negotiated. Start at [`Watch`].

use std::collections::BTreeMap;
use std::sync::Arc;

use nodesift_api::Service;
use nodesift_cache::{Generation, PodIndex, Snapshot, Writer};
use nodesift_negotiation::{ClaimState, ClaimUid, NegotiationId};

use crate::rules::{self, ClaimName};

/// End of a pod's wait for a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is bound to a node.
    Bound,
    /// It is deleted, or its assumption has ended.
    Gone,
}

/// A pod that is watched.
#[derive(Debug, Clone)]
pub(super) struct Watched {
    pub(super) negotiation: NegotiationId,
    pub(super) pod: Arc<str>,
    /// Whether it is assumed for the negotiation.
    pub(super) is_assumed: bool,
    /// Whether it was in the cache when the negotiation began.
    pub(super) is_known: bool,
}

/// Facts about a claim: its state, and whether others use it, too; none where it is deleted.
pub(super) type ClaimFacts = Option<(ClaimState, bool)>;

/// Last seen state of the claims of negotiations, to find changes.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// The newest generation that has been looked at.
    seen: Generation,
    claims_seen: Generation,
    claims: BTreeMap<ClaimUid, ClaimFacts>,
}

impl Watch {
    /// Whether a snapshot is newer than the last one that was looked at.
    pub(super) fn is_news(&mut self, snapshot: &Snapshot) -> bool {
        let is_news = snapshot.generation() != self.seen;
        self.seen = snapshot.generation();
        is_news
    }

    /// Has what is there be looked at again, though nothing is new.
    pub(super) fn look_again(&mut self) {
        self.seen = Generation::default();
    }

    /// The claims of negotiations that have changed since, each with the UID of its pod. Others are forgotten.
    pub(super) fn changed_claims<'a>(
        &mut self,
        snapshot: &Snapshot,
        live: impl Iterator<Item = (&'a Arc<str>, &'a ClaimName)>,
    ) -> Vec<(ClaimUid, ClaimFacts)> {
        let changed_at = snapshot.claims().changed();
        let (is_news, mut known) = (changed_at != self.claims_seen, std::mem::take(&mut self.claims));
        self.claims_seen = changed_at;
        let mut changed = Vec::new();
        for (pod, name) in live {
            let before = known.remove(&name.uid);
            if self.claims.contains_key(&name.uid) {
                continue;
            }
            let facts = match before {
                Some(before) if !is_news => before,
                _ => claim(snapshot, name, pod),
            };
            if before != Some(facts) {
                changed.push((Arc::clone(&name.uid), facts));
            }
            self.claims.insert(Arc::clone(&name.uid), facts);
        }
        changed
    }
}

fn claim(snapshot: &Snapshot, name: &ClaimName, pod: &str) -> ClaimFacts {
    let record = snapshot.claims().claim(&name.key()).filter(|record| record.uid == name.uid)?;
    Some((rules::state(record), rules::is_shared(record, pod)))
}

/// Fate of a pod that is not assumed for its negotiation; `None` while it waits for a node.
pub(super) fn fate(pods: &PodIndex, watched: &Watched) -> Option<Fate> {
    match pods.by_uid(&watched.pod) {
        None => watched.is_known.then_some(Fate::Gone),
        Some(record) => record.node_name.is_some().then_some(Fate::Bound),
    }
}

/// Fates of pods that are assumed for their negotiations, under the cache's lock; pods that are still assumed are left out.
pub(super) fn fates_of_assumed(service: &Service, assumed: &[Watched]) -> Vec<(NegotiationId, Fate)> {
    let writer = service.writer().lock();
    let fate = |watched: &Watched| fate_of_assumed(&writer, &watched.pod).map(|fate| (watched.negotiation, fate));
    assumed.iter().filter_map(fate).collect()
}

fn fate_of_assumed(writer: &Writer, pod: &str) -> Option<Fate> {
    if writer.assumption(pod).is_some() {
        return None;
    }
    let is_bound = writer.pods().by_uid(pod).is_some_and(|record| record.node_name.is_some());
    Some(if is_bound { Fate::Bound } else { Fate::Gone })
}
