//! Ends of pods for which parties hold something. A party never watches pods: it is told once the cache has removed one. Start at [`Ends`].

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use nodesift_cache::{Generation, PodIndex, Snapshot};
use nodesift_negotiation::{ClaimUid, Decision, Stage};

use crate::limits::{ENDS_LOOKED_AT, NAMED_LOOKS};
use crate::rules;

/// Pods that are bound and for which parties hold something, looked at in turn.
#[derive(Debug, Default)]
pub(crate) struct Ends {
    pods: BTreeMap<Arc<str>, Watched>,
    /// The last one that was looked at.
    after: Option<Arc<str>>,
}

#[derive(Debug, Default)]
struct Watched {
    /// Claims that parties hold for it.
    claims: Vec<ClaimUid>,
    /// For a pod that has ended while others used some of these: when claims had changed last.
    ended_at: Option<Generation>,
    /// Looks until it comes again without such a change, since a pod on a node names one of these; 0: it does not.
    looks: u32,
}

impl Ends {
    /// Notes a decision: the pod of one that is held is watched, and no other.
    pub(crate) fn note(&mut self, decision: &Decision) {
        let held = decision.held.iter().filter(|held| !held.gives_back);
        if decision.stage != Stage::Bound || held.clone().next().is_none() {
            self.pods.remove(&decision.pod);
            return;
        }
        let claims = held.flat_map(|held| held.claims.iter().cloned()).collect();
        self.pods.entry(Arc::clone(&decision.pod)).or_default().claims = claims;
    }

    /// The pods that have ended since, each with those of its claims that other pods use, among the next [`ENDS_LOOKED_AT`]. A pod with
    /// such claims comes again once claims have changed; after [`NAMED_LOOKS`] in any case, where a pod on a node names one that may not be
    /// reserved for it yet, since the end of that pod need not change any claim.
    pub(crate) fn find(&mut self, pods: &PodIndex, snapshot: &Snapshot) -> Vec<(Arc<str>, Vec<ClaimUid>)> {
        let changed = snapshot.claims().changed();
        let after = self.after.take().map_or(Bound::Unbounded, Bound::Excluded);
        let mut ended = Vec::new();
        let mut looked_at = 0;
        for (pod, watched) in self.pods.range_mut::<Arc<str>, _>((after, Bound::Unbounded)).take(ENDS_LOOKED_AT) {
            looked_at += 1;
            self.after = Some(Arc::clone(pod));
            let is_due = watched.looks == 1;
            watched.looks = watched.looks.saturating_sub(1);
            if (watched.ended_at == Some(changed) && !is_due) || pods.by_uid(pod).is_some() {
                continue;
            }
            watched.ended_at = Some(changed);
            ended.push((Arc::clone(pod), watched.claims.clone()));
        }
        if looked_at < ENDS_LOOKED_AT {
            self.after = None;
        }
        let uses = rules::Uses::find(pods, snapshot, &ended);
        for (pod, claims) in &mut ended {
            claims.retain(|claim| uses.is_used_by_others(claim, pod));
            if let Some(watched) = self.pods.get_mut(&**pod) {
                let is_named = claims.iter().any(|claim| uses.is_named(claim));
                watched.looks = if is_named { NAMED_LOOKS } else { 0 };
            }
        }
        ended
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use nodesift_cache::metadata::{self, Selection};
    use nodesift_cache::{self as cache, Record, Writer};
    use nodesift_negotiation::{CallId, Held};
    use serde_json::json;

    use super::*;

    fn held(pod: &str, claim: &str) -> Decision {
        let held = Held { party: "a".into(), call: CallId(1), claims: vec![claim.into()], gives_back: false };
        Decision { pod: pod.into(), stage: Stage::Bound, held: vec![held] }
    }

    /// A pod that names the claim `shared`, on a node or on none.
    fn add_pod(writer: &mut Writer, name: &str, node: Option<&str>) {
        let pod = json!({"metadata": {"name": name, "namespace": "ns", "uid": name},
                         "spec": {"nodeName": node, "containers": [],
                                  "resourceClaims": [{"name": "c", "resourceClaimName": "shared"}]}});
        let schedulers = ["default-scheduler".to_owned()];
        let selection = Selection { pod_claims: true, ..Selection::default() };
        writer.apply(metadata::pod_record_selecting(&serde_json::from_value(pod).unwrap(), &schedulers, &selection));
    }

    #[test]
    fn a_claim_is_used_while_a_pod_on_a_node_names_it_for_which_it_is_not_reserved_yet() {
        let (mut writer, reader) = cache::new();
        let claim = json!({"metadata": {"name": "shared", "namespace": "ns", "uid": "c"}, "spec": {},
                           "status": {"reservedFor": [{"resource": "pods", "name": "first", "uid": "first"}]}});
        writer.apply(metadata::resource_claim(&serde_json::from_value(claim).unwrap()));
        writer.apply(metadata::node(&serde_json::from_value(json!({"metadata": {"name": "n"}})).unwrap()));
        add_pod(&mut writer, "second", Some("n"));
        add_pod(&mut writer, "waiting", None);
        writer.publish();
        let mut ends = Ends::default();
        ends.note(&held("first", "c"));
        let mut find = || -> Vec<String> {
            let ended = ends.find(reader.pods(), &reader.snapshot());
            ended.iter().map(|(pod, shared)| format!("{pod}: {}", shared.join(","))).collect()
        };
        assert_eq!(find(), ["first: c"]);
        assert_eq!(find(), Vec::<String>::new());
        writer.apply(Record::EndedPod("second".into()));
        writer.publish();
        let later: Vec<_> = (2..=NAMED_LOOKS).flat_map(|_| find()).collect();
        assert_eq!(later, ["first: "], "it comes again, and the claim is nobody's");
        assert_eq!(find(), Vec::<String>::new());
    }
}
