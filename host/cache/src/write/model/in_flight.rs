//! Allocations in flight for the claims of pods in the model: each with the pod and the node for which it is held.

use serde_json::json;

use super::*;

/// An allocation in flight.
pub(super) struct Held {
    /// The UID of the pod that it is for.
    pod: String,
    /// The node on which the pod counts; none while it is pending, before it counts on one.
    node: Option<Arc<str>>,
}

impl Model {
    /// Ends what is held for pods that are gone, or not where they were.
    pub(super) fn settle_in_flight(&mut self) {
        let before = self.in_flight.len();
        self.in_flight.retain(|_, held| {
            let Some(pod) = self.pods.values().find(|pod| *pod.uid == *held.pod) else { return false };
            held.node = held.node.take().or_else(|| pod.node_name.clone());
            held.node == pod.node_name
        });
        if self.in_flight.len() < before {
            self.note_in_flight("held no more");
        }
    }

    /// Allocates for claims, or shows that they are allocated, in the model and in the cache; both must say the same of it.
    pub(super) fn allocate(&mut self, random: &mut fastrand::Rng, writer: &mut Writer) {
        let claim = format!("c{}", random.u8(0..8));
        match random.u8(0..9) {
            0..5 => {
                let known = random.choice(self.pods.values()).filter(|_| random.u8(0..8) > 0);
                let pod = known.map_or_else(|| "p0-2".to_owned(), |pod| pod.uid.to_string());
                let claims: Vec<String> = (0..random.u8(0..3)).map(|_| format!("c{}", random.u8(0..8))).collect();
                let allocations: Vec<_> = claims.iter().map(|claim| (text(claim), Vec::new())).collect();
                let expected = self.hold(&pod, &claims);
                assert_eq!(writer.hold_for_pod(&pod, &allocations), expected, "{claims:?} for {pod}");
                self.note_in_flight(&expected.map_or_else(|error| format!("held: {error:?}"), |()| "held".to_owned()));
            }
            5 => {
                writer.remove(&Identity::new(Kind::ResourceClaim, &format!("default/{claim}")));
                if self.claims.remove(&claim).is_some() {
                    self.in_flight.remove(&claim);
                }
            }
            6 => {
                // As where the pod is to be placed anew, and is refused.
                let Some(pod) = random.choice(self.in_flight.values()).map(|held| text(&held.pod)) else { return };
                let of_pod = || self.in_flight.iter().filter(|(_, held)| *held.pod == *pod).map(|(claim, _)| claim);
                let holds = writer.held_for_pod(&pod).unwrap();
                writer.release_pod(&pod);
                assert!(writer.held_for_pod(&pod).is_none());
                assert!(of_pod().all(|claim| !writer.claims.shown().is_in_flight(claim)));
                writer.hold_again(holds).unwrap();
                self.note_in_flight("held again");
            }
            _ => {
                let is_allocated = random.bool();
                let status = if is_allocated { json!({"allocation": {}}) } else { json!({}) };
                let object = json!({"metadata": {"name": claim, "uid": claim}, "status": status});
                writer.apply(resource_claim(&serde_json::from_value(object).unwrap()));
                if is_allocated {
                    self.in_flight.remove(&claim);
                }
                self.claims.insert(claim, is_allocated);
            }
        }
    }

    pub(super) fn check_in_flight(&self, writer: &Writer) {
        for claim in (0..8).map(|number| format!("c{number}")) {
            assert_eq!(writer.claims.shown().is_in_flight(&claim), self.in_flight.contains_key(&claim), "{claim}");
        }
    }

    fn hold(&mut self, uid: &str, claims: &[String]) -> Result<(), InFlightError> {
        let Some(pod) = self.pods.values().find(|pod| *pod.uid == *uid) else { return Err(InFlightError::UnknownPod) };
        for claim in claims.iter().collect::<BTreeSet<_>>() {
            if self.claims.get(claim) == Some(&true) {
                return Err(InFlightError::Allocated);
            }
            if self.in_flight.contains_key(claim) {
                return Err(InFlightError::InFlight);
            }
        }
        for claim in claims {
            self.in_flight.insert(claim.clone(), Held { pod: uid.to_owned(), node: pod.node_name.clone() });
        }
        Ok(())
    }

    fn note_in_flight(&mut self, outcome: &str) {
        *self.met.entry(outcome.to_owned()).or_default() += 1;
    }
}
