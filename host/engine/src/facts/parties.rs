//! Answers of external parties for the rows of the batch: which parties decide about the pod, and their answers as columns.
//!
//! Start at [`Context::party_columns`]. A pod is known to negotiations by [`Context::negotiated_pod`], so that a question and the column
//! that its answer changes are about the same subject.

mod driver;
pub(super) mod untaken;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use nodesift_cache::metadata::{ClaimRecord, ClaimReference, ClassRecord};
use nodesift_negotiation::{Claim, ClaimState, Concern, Pod, Scope, Suitability};
use nodesift_object::claim::{DeviceFields, DeviceRequest};
use nodesift_sandbox::wire::PartyColumn;
use rustc_hash::FxHashMap;

use super::context::Context;
use crate::answer::ExplainedParties;
use crate::party::{PartySeat, PolicyParty};
use driver::can_select;

/// The state of a row in a column: see `node-parties` in the contract.
const SUITABLE: u8 = 1;
const UNSUITABLE: u8 = 2;

/// The reason for which a node does not suit a party whose node selector does not match it.
const OUT_OF_REACH: &str = "outside its nodeSelector";

impl Context {
    /// The pod as negotiations know it, and the parties whose pod selectors match it. A negotiation that is made of these keeps its
    /// answers where the predicates of the pod look for them.
    pub fn negotiated_pod(&self) -> (Pod, Vec<Arc<str>>) {
        let is_selected = |party: &&PolicyParty| {
            party.party.concern == Concern::Pods && self.is_matched_by(std::slice::from_ref(&party.pods))
        };
        let selected_by = self.parties().iter().filter(is_selected).map(|party| Arc::clone(&party.party.name));
        // Made of everything that predicates can read of the pod, so only where somebody asks for it.
        let is_asked = self.parties().iter().any(|party| party.party.scope == Scope::Template);
        let template = if is_asked { self.template_key() } else { Arc::default() };
        let (uid, claims, pending_volumes) = (self.negotiated_uid(), self.negotiated_claims(), self.pending_volumes());
        let pod = Pod { uid, template, claims, pending_volumes };
        (pod, selected_by.collect())
    }

    /// The UID by which negotiations know the pod. Without one, a pod is told apart by its name.
    fn negotiated_uid(&self) -> Arc<str> {
        if self.owner.1.is_empty() { self.pod_key().into() } else { Arc::clone(&self.owner.1) }
    }

    /// The pod and the parties that decide about it, for answers; none where the policy has no parties.
    pub(crate) fn explained_parties(&self) -> Option<ExplainedParties> {
        if self.parties().is_empty() {
            return None;
        }
        let seats = Arc::clone(self.party_seats());
        let answers = |seat: &PartySeat| self.snapshot.parties().get(&seat.party, &seat.subject);
        let known = seats.iter().map(|seat| answers(seat).map_or(0, |answers| answers.len())).collect();
        Some(ExplainedParties { pod: self.negotiated_uid(), seats, known })
    }

    /// The parties that decide about the pod, in the order of the policy; looked up once.
    pub fn party_seats(&self) -> &Arc<[PartySeat]> {
        self.party_seats.get_or_init(|| {
            if self.parties().is_empty() {
                return Arc::default();
            }
            let (pod, selected_by) = self.negotiated_pod();
            let seat = |known: &PolicyParty| {
                let (subject, _) = known.party.seat(&pod, &selected_by)?;
                Some(PartySeat {
                    party: Arc::clone(&known.party.name),
                    subject,
                    nodes: Arc::clone(&known.nodes),
                    unknown_fits: self.is_negotiated || known.unknown_fits(),
                })
            };
            self.parties().iter().filter_map(seat).collect()
        })
    }

    /// Answers of each party that decides about the pod, as one column per party over the batch.
    pub(crate) fn party_columns(&self) -> Arc<[PartyColumn]> {
        self.party_seats().iter().map(|seat| self.party_column(seat)).collect()
    }

    /// Answers of each party that decides about the pod, as columns over all rows.
    pub(crate) fn party_columns_over_all(&self) -> Arc<[PartyColumn]> {
        self.over_all(Self::party_columns)
    }

    /// Whether a claim is to be allocated, and every class that it names is the `deviceClass` of a party: parties allocate it, and no
    /// devices of the cluster. Of any other claim, predicates have to decide about a part at least.
    pub(super) fn is_allocated_by_parties(&self, claim: &ClaimRecord) -> bool {
        let is_of_party = |class: &&str| {
            self.parties()
                .iter()
                .any(|known| matches!(&known.party.concern, Concern::DeviceClass(of) if **of == **class))
        };
        let mut classes = fields_of(claim).map(|fields| fields.device_class_name.as_str()).peekable();
        claim.allocation.is_none() && classes.peek().is_some() && classes.all(|class| is_of_party(&class))
    }

    fn party_column(&self, seat: &PartySeat) -> PartyColumn {
        let answers = self.snapshot.parties().get(&seat.party, &seat.subject);
        let (names, labels) = (self.snapshot.names(), self.snapshot.labels());
        let (mut states, mut reasons) = (vec![0; self.rows() as usize], vec![0; self.rows() as usize]);
        let mut texts: Vec<Arc<str>> = vec![Arc::default()];
        let mut codes: FxHashMap<Arc<str>, u32> = FxHashMap::default();
        let mut set = |place: usize, state: u8, reason: Option<&Arc<str>>| {
            if let (Some(state_of), Some(reason_of)) = (states.get_mut(place), reasons.get_mut(place)) {
                *state_of = state;
                *reason_of = reason.filter(|reason| !reason.is_empty()).map_or(0, |reason| {
                    *codes.entry(Arc::clone(reason)).or_insert_with(|| {
                        texts.push(Arc::clone(reason));
                        // There are never more texts than rows.
                        u32::try_from(texts.len() - 1).unwrap_or(0)
                    })
                });
            }
        };
        if !seat.nodes.is_empty() || answers.is_some() {
            let out_of_reach = Arc::from(OUT_OF_REACH);
            self.for_each_row(|place, row| {
                if labels.get(row).is_some_and(|labels| !seat.reaches(labels)) {
                    set(place, UNSUITABLE, Some(&out_of_reach));
                    return;
                }
                match answers.and_then(|answers| answers.get(names.get(row)?)) {
                    Some(Suitability::Suitable) => set(place, SUITABLE, None),
                    Some(Suitability::Unsuitable(reason)) => set(place, UNSUITABLE, Some(reason)),
                    Some(Suitability::Unknown) | None => {}
                }
            });
        }
        PartyColumn {
            party: Arc::clone(&seat.party),
            states: states.into(),
            reasons: reasons.into(),
            texts,
            unknown_fits: seat.unknown_fits,
        }
    }

    /// Key of the pod's template: equal for pods that predicates cannot tell apart but by name and UID, and for no others in
    /// practice. It begins with the namespace, so that a collision of hashes does not reach pods of other namespaces.
    fn template_key(&self) -> Arc<str> {
        let mut hashes = [0_u64, 1];
        for hash in &mut hashes {
            let mut hasher = DefaultHasher::new();
            (*hash, &self.pod).hash(&mut hasher);
            *hash = hasher.finish();
        }
        let [high, low] = hashes;
        format!("{}/{high:016x}{low:016x}", self.pod.namespace).into()
    }

    /// The claims that the pod names and that exist, each once, in the order of the pod.
    fn negotiated_claims(&self) -> Vec<Claim> {
        let Some(named) = self.pod.claims.as_ref().map(|claims| &claims.named) else { return Vec::new() };
        let mut claims: Vec<Claim> = Vec::new();
        for entry in named.iter() {
            let (ClaimReference::Named(name) | ClaimReference::Made(name)) = &entry.claim else { continue };
            let key = [&*self.pod.namespace, "/", name].concat();
            let Some(claim) = self.snapshot.claims().claim(&key) else { continue };
            if !claims.iter().any(|known| known.uid == claim.uid) {
                claims.push(self.negotiated_claim(claim));
            }
        }
        claims
    }

    fn negotiated_claim(&self, claim: &ClaimRecord) -> Claim {
        let mut classes: Vec<Arc<str>> = Vec::new();
        for asked in fields_of(claim) {
            if !classes.iter().any(|known| **known == *asked.device_class_name) {
                classes.push(asked.device_class_name.as_str().into());
            }
        }
        let class = |name: &str| self.snapshot.claims().class(name);
        let drivers = self.parties().iter().filter_map(|party| match &party.party.concern {
            Concern::Driver(driver) if may_be_of_driver(claim, class, driver) => Some(Arc::clone(driver)),
            _ => None,
        });
        Claim {
            uid: Arc::clone(&claim.uid),
            name: Arc::clone(&claim.name),
            drivers: drivers.collect(),
            classes,
            state: match &claim.allocation {
                Some(_) => ClaimState::Allocated,
                None if self.snapshot.claims().is_in_flight(&claim.uid) => ClaimState::InFlight,
                None => ClaimState::Unallocated,
            },
            shared: claim.reserved_for.iter().any(|user| **user != *self.owner.1),
        }
    }
}

/// Requests of a claim for devices, alternatives included.
fn fields_of(claim: &ClaimRecord) -> impl Iterator<Item = &DeviceFields> {
    claim.spec.requests.iter().flatten().flat_map(DeviceRequest::fields)
}

/// Whether a claim may be for devices of a driver: the selectors of some request, and those of its class, can be true for one. Of a class
/// that does not exist nothing is known.
fn may_be_of_driver<'a>(
    claim: &ClaimRecord,
    class: impl Fn(&str) -> Option<&'a Arc<ClassRecord>>,
    driver: &str,
) -> bool {
    fields_of(claim).any(|asked| {
        let of_class = class(&asked.device_class_name).into_iter().flat_map(|class| class.selectors.iter().flatten());
        let own = asked.selectors.iter().filter_map(|selector| Some(&selector.cel.as_ref()?.expression));
        of_class.chain(own).all(|expression| can_select(expression, driver))
    })
}

#[cfg(test)]
mod tests;
