//! Whether one device may be picked next. Everything is computed anew from the picks so far.

use std::collections::BTreeMap;

use nodesift_fixtures::json::{flag, is_set, list, text, texts};
use serde_json::Value;

use super::DeviceId;
use super::attributes::{are_equal, lookup};
use super::capacity;
use super::pools::{Pool, consumed_counters};
use super::requests::Request;
use super::state::{Amounts, Held, add};
use crate::quantity::Quantity;

/// A device and where it comes from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate<'a> {
    /// The number of its pool.
    pub(super) pool: usize,
    pub(super) slice: &'a Value,
    pub(super) device: &'a Value,
}

/// A device that the search has picked.
#[derive(Debug, Clone)]
pub(super) struct Pick<'a> {
    pub(super) claim: usize,
    pub(super) request: Request<'a>,
    pub(super) id: DeviceId,
    pub(super) candidate: Candidate<'a>,
    /// Whether it is a share of a device, and what it consumes.
    pub(super) share: Option<Amounts>,
}

/// Why a device cannot be picked.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// In use, or not enough is left, or it is tainted.
    Unavailable,
    /// A constraint of the claim.
    Constraint,
}

/// The picks so far, and what they are to be checked against.
#[derive(Debug)]
pub(super) struct Picks<'a> {
    pub(super) held: &'a Held,
    pub(super) pools: &'a [Pool<'a>],
    pub(super) claims: &'a [&'a Value],
    pub(super) picks: Vec<Pick<'a>>,
}

impl<'a> Picks<'a> {
    /// Whether the device is in use so that the request must not even look at it. Shares do not count.
    pub(super) fn in_use(&self, claim: usize, request: &Request<'_>, id: &DeviceId) -> bool {
        let mut whole = self.picks.iter().filter(|pick| pick.id == *id && pick.share.is_none());
        if request.admin_access() {
            return whole.any(|pick| pick.claim == claim);
        }
        self.held.exclusive.contains(id) || whole.next().is_some()
    }

    /// Whether what the request takes of the device's capacities is left.
    pub(super) fn has_capacity(&self, request: &Request<'_>, id: &DeviceId, device: &Value) -> bool {
        let mut picked = Amounts::new();
        for share in self.picks.iter().filter(|pick| pick.id == *id).filter_map(|pick| pick.share.as_ref()) {
            add(&mut picked, share);
        }
        let nothing = Amounts::new();
        let held = self.held.shared.get(id).unwrap_or(&nothing);
        capacity::fits(request.fields, device, &[held, &picked])
    }

    /// Picks a device if possible.
    pub(super) fn pick(
        &mut self,
        claim: usize,
        request: &Request<'a>,
        candidate: Candidate<'a>,
    ) -> Result<(), Refusal> {
        let id = self.pools[candidate.pool].device_id(candidate.device);
        let shared = flag(candidate.device, "allowMultipleAllocations");
        // A share of a device may be picked again even with admin access.
        if !(shared && request.admin_access()) && self.in_use(claim, request, &id) {
            return Err(Refusal::Unavailable);
        }
        if !self.has_counters(request, &id, candidate) || is_tainted(candidate.device, request) {
            return Err(Refusal::Unavailable);
        }
        if !self.satisfies_constraints(claim, request, candidate) {
            return Err(Refusal::Constraint);
        }
        if !self.has_capacity(request, &id, candidate.device) {
            return Err(Refusal::Unavailable);
        }
        let share = shared.then(|| capacity::consumed(request.fields, candidate.device));
        self.picks.push(Pick { claim, request: request.clone(), id, candidate, share });
        Ok(())
    }

    /// Whether the counters of the pool suffice. A shared device pays once; one that is only looked at does not.
    fn has_counters(&self, request: &Request<'_>, id: &DeviceId, candidate: Candidate<'_>) -> bool {
        let consumed = consumed_counters(candidate.device);
        let pays = |pick: &&Pick<'_>| !pick.request.admin_access();
        let is_paid = self.held.has(id) || self.picks.iter().filter(pays).any(|pick| pick.id == *id);
        if consumed.is_empty()
            || request.admin_access()
            || (flag(candidate.device, "allowMultipleAllocations") && is_paid)
        {
            return true;
        }
        let pool = &self.pools[candidate.pool];
        let mut paying: BTreeMap<&DeviceId, Vec<_>> = BTreeMap::new();
        for pick in self.picks.iter().filter(pays).filter(|pick| pick.candidate.pool == candidate.pool) {
            // The counters of devices that claims hold are off the total already.
            if !self.held.has(&pick.id) {
                paying.insert(&pick.id, consumed_counters(pick.candidate.device));
            }
        }
        paying.insert(id, consumed);
        pool.counters.iter().all(|(key, left)| {
            let consumed = paying.values().flatten().filter(|(counter, _)| counter == key);
            let sum = consumed.fold(Quantity::ZERO, |sum, (_, amount)| sum.plus(*amount));
            !sum.plus(left.held).exceeds(left.total)
        })
    }

    fn satisfies_constraints(&self, claim: usize, request: &Request<'_>, candidate: Candidate<'_>) -> bool {
        list(self.claims[claim], "spec.devices.constraints").iter().all(|constraint| {
            let names = texts(constraint, "requests");
            if !request.is_named_by(&names) {
                return true;
            }
            let must_match = is_set(constraint, "matchAttribute");
            let attribute = text(constraint, if must_match { "matchAttribute" } else { "distinctAttribute" });
            let driver = text(candidate.slice, "spec.driver");
            let Some(own) = lookup(candidate.device, driver, attribute) else { return false };
            let same_claim = self.picks.iter().filter(|pick| pick.claim == claim && pick.request.is_named_by(&names));
            let mut others = same_claim.filter_map(|pick| lookup(pick.candidate.device, &pick.id.0, attribute));
            if must_match {
                // All others equal the first one.
                others.next().is_none_or(|first| are_equal(own, first) == Some(true))
            } else {
                others.all(|other| are_equal(own, other) == Some(false))
            }
        })
    }
}

fn is_tainted(device: &Value, request: &Request<'_>) -> bool {
    let keeps_out = |taint: &&Value| matches!(text(taint, "effect"), "NoSchedule" | "NoExecute");
    list(device, "taints").iter().filter(keeps_out).any(|taint| {
        let tolerates = |toleration: &Value| {
            let any_or_same =
                |field: &str| text(toleration, field).is_empty() || text(toleration, field) == text(taint, field);
            let value = match text(toleration, "operator") {
                "" | "Equal" => text(toleration, "value") == text(taint, "value"),
                "Exists" => true,
                _ => false,
            };
            any_or_same("effect") && any_or_same("key") && value
        };
        !request.tolerations().iter().any(tolerates)
    })
}
