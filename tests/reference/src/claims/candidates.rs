//! Whether one device may be picked next. Everything is computed anew from the picks so far.

use std::collections::BTreeMap;

use nodesift_fixtures::json::{flag, is_set, list, text, texts};
use serde_json::Value;

use super::attributes::{are_equal, lookup};
use super::capacity;
use super::pools::{Pool, consumed_counters, taints_of};
use super::requests::Request;
use super::state::{Amounts, Held, add};
use super::{DeviceId, World};
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
    pub(super) world: &'a World<'a>,
    pub(super) held: &'a Held,
    pub(super) pools: &'a [Pool<'a>],
    pub(super) claims: &'a [&'a Value],
    pub(super) picks: Vec<Pick<'a>>,
    /// By claim and number of a constraint: what `distinctAttribute` remembers where that is one device of each request.
    pub(super) remembered: BTreeMap<(usize, usize), Remembered<'a>>,
}

/// How many devices a constraint has, and the attribute of the last one of each request, as far as that was not given back.
#[derive(Debug, Default)]
pub(super) struct Remembered<'a> {
    count: usize,
    by_request: BTreeMap<&'a str, &'a Value>,
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
        if !self.world.switches.has("DRAConsumableCapacity") {
            return true;
        }
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
        let shared = self.is_shared(candidate.device);
        // A share of a device may be picked again even with admin access.
        if !(shared && request.admin_access()) && self.in_use(claim, request, &id) {
            return Err(Refusal::Unavailable);
        }
        if !self.has_counters(request, &id, candidate) || self.is_tainted(candidate, request) {
            return Err(Refusal::Unavailable);
        }
        let all = list(self.claims[claim], "spec.devices.constraints").len();
        for number in 0..all {
            if !self.satisfies(claim, number, request, candidate) {
                self.forget(claim, number, request);
                return Err(Refusal::Constraint);
            }
        }
        if !self.has_capacity(request, &id, candidate.device) {
            self.forget(claim, all, request);
            return Err(Refusal::Unavailable);
        }
        let share = shared.then(|| capacity::consumed(request.fields, candidate.device));
        self.picks.push(Pick { claim, request: request.clone(), id, candidate, share });
        Ok(())
    }

    /// Takes the last pick back.
    pub(super) fn undo(&mut self) {
        if let Some(pick) = self.picks.pop() {
            self.forget(pick.claim, list(self.claims[pick.claim], "spec.devices.constraints").len(), &pick.request);
        }
    }

    fn is_shared(&self, device: &Value) -> bool {
        flag(device, "allowMultipleAllocations") && self.world.switches.has("DRAConsumableCapacity")
    }

    /// Whether the counters of the pool suffice. A shared device pays once; one that is only looked at does not.
    fn has_counters(&self, request: &Request<'_>, id: &DeviceId, candidate: Candidate<'_>) -> bool {
        let consumed = consumed_counters(candidate.device);
        if !self.world.switches.has("DRAPartitionableDevices") {
            return list(candidate.device, "consumesCounters").is_empty();
        }
        if self.world.switches.has("AdminAccessPaysCounters") {
            return self.has_counters_as_released(id, candidate);
        }
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

    /// Whether there are counters where every pick pays: those with administrative access, and what is held is paid for again.
    fn has_counters_as_released(&self, id: &DeviceId, candidate: Candidate<'_>) -> bool {
        let held = if self.world.switches.has("SharedDevicePaysCountersTwice") {
            self.held.consumed.contains(id)
        } else {
            self.held.shared.contains_key(id)
        };
        let consumed = consumed_counters(candidate.device);
        let is_share = self.is_shared(candidate.device);
        if consumed.is_empty() || (is_share && (held || self.picks.iter().any(|pick| pick.id == *id))) {
            return true;
        }
        let mut paid = consumed;
        for (position, pick) in self.picks.iter().enumerate().filter(|(_, pick)| pick.candidate.pool == candidate.pool)
        {
            let is_first = self.picks.iter().position(|other| other.id == pick.id) == Some(position);
            let is_held = if self.world.switches.has("SharedDevicePaysCountersTwice") {
                self.held.consumed.contains(&pick.id)
            } else {
                self.held.shared.contains_key(&pick.id)
            };
            if !self.is_shared(pick.candidate.device) || (is_first && !is_held) {
                paid.extend(consumed_counters(pick.candidate.device));
            }
        }
        self.pools[candidate.pool].counters.iter().all(|(key, left)| {
            let drawn = paid.iter().filter(|(counter, _)| counter == key);
            let sum = drawn.fold(Quantity::ZERO, |sum, (_, amount)| sum.plus(*amount));
            !sum.plus(left.held).exceeds(left.total)
        })
    }

    /// Whether a device satisfies a constraint together with the picks; where constraints remember devices, it does from now on.
    fn satisfies(&mut self, claim: usize, number: usize, request: &Request<'a>, candidate: Candidate<'a>) -> bool {
        let constraint = &list(self.claims[claim], "spec.devices.constraints")[number];
        let names = texts(constraint, "requests");
        if !request.is_named_by(&names) {
            return true;
        }
        let must_match = is_set(constraint, "matchAttribute");
        let attribute = text(constraint, if must_match { "matchAttribute" } else { "distinctAttribute" });
        let driver = text(candidate.slice, "spec.driver");
        let Some(own) = lookup(candidate.device, driver, attribute) else { return false };
        let by_address = self.world.switches.has("DistinctAttributeByAddress");
        let differ = |other: &Value| match are_equal(own, other) {
            Some(are_equal) => by_address || !are_equal,
            None => false,
        };
        if !must_match && self.world.switches.has("DistinctAttributePerRequest") {
            let remembered = self.remembered.entry((claim, number)).or_default();
            if remembered.count > 0 && !remembered.by_request.values().all(|other| differ(other)) {
                return false;
            }
            remembered.count += 1;
            remembered.by_request.insert(request.base, own);
            return true;
        }
        let same_claim = self.picks.iter().filter(|pick| pick.claim == claim && pick.request.is_named_by(&names));
        let mut others = same_claim.filter_map(|pick| lookup(pick.candidate.device, &pick.id.0, attribute));
        if must_match {
            // All others equal the first one.
            others.next().is_none_or(|first| are_equal(own, first) == Some(true))
        } else {
            others.all(differ)
        }
    }

    /// Has the first constraints of a claim forget a device of a request, and with it any other device of that request.
    fn forget(&mut self, claim: usize, constraints: usize, request: &Request<'_>) {
        for number in 0..constraints {
            let constraint = &list(self.claims[claim], "spec.devices.constraints")[number];
            if request.is_named_by(&texts(constraint, "requests"))
                && let Some(remembered) = self.remembered.get_mut(&(claim, number))
            {
                remembered.by_request.remove(request.base);
                remembered.count -= 1;
            }
        }
    }

    fn is_tainted(&self, candidate: Candidate<'_>, request: &Request<'_>) -> bool {
        if !self.world.switches.has("DRADeviceTaints") {
            return false;
        }
        let keeps_out = |taint: &&Value| matches!(text(taint, "effect"), "NoSchedule" | "NoExecute");
        let taints = taints_of(self.world, &self.pools[candidate.pool], candidate.device);
        taints.iter().filter(keeps_out).any(|taint| !request.tolerations().iter().any(|it| tolerates(it, taint)))
    }
}

fn tolerates(toleration: &Value, taint: &Value) -> bool {
    let any_or_same = |field: &str| text(toleration, field).is_empty() || text(toleration, field) == text(taint, field);
    let value = match text(toleration, "operator") {
        "" | "Equal" => text(toleration, "value") == text(taint, "value"),
        "Exists" => true,
        _ => false,
    };
    any_or_same("effect") && any_or_same("key") && value
}
