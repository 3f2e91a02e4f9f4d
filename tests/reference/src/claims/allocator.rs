//! The search: depth first, one device after the other, in the order of claims, requests, pools, slices and devices. The first
//! complete solution is the answer.

use std::cell::RefCell;
use std::collections::BTreeMap;

use nodesift_fixtures::json::{flag, is_set, key, list, text};
use serde_json::Value;

use super::candidates::{Candidate, Picks, Refusal};
use super::capacity;
use super::pools::{self, Pool};
use super::requests::Request;
use super::results;
use super::selectors::Selectors;
use super::state::Held;
use super::{DeviceId, World};

/// Devices that one claim can have.
const CLAIM_LIMIT: usize = 32;

/// One allocation on one node.
#[derive(Debug)]
pub(super) struct Search<'a> {
    pub(super) world: &'a World<'a>,
    pub(super) selectors: &'a Selectors,
    pub(super) held: &'a Held,
    pub(super) node: &'a Value,
    pub(super) claims: &'a [&'a Value],
}

/// Why there is no answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// For this node only.
    OnNode(String),
    /// It ends the cycle.
    Error(String),
}

/// Why a branch of the search ends.
enum Stop {
    /// The claim would have too many devices: alternatives with fewer may do.
    TooMany,
    Error(String),
}

/// A request with the number of its devices, and for `All` the devices.
struct Asked<'a> {
    request: Request<'a>,
    class: &'a Value,
    count: usize,
    all: Option<Vec<Candidate<'a>>>,
}

/// A place in the search: the numbers of claim, request and alternative, and of the device within the request.
#[derive(Clone, Copy)]
struct Place {
    claim: usize,
    request: usize,
    alternative: usize,
    device: usize,
}

struct Running<'a> {
    search: &'a Search<'a>,
    pools: &'a [Pool<'a>],
    /// By claim, request and alternative.
    asked: Vec<Vec<Vec<Asked<'a>>>>,
    state: Picks<'a>,
    /// The alternative that was taken, by claim and request.
    taken: BTreeMap<(usize, usize), usize>,
    /// By claim, request, alternative and device: whether the selectors match.
    selectable: RefCell<BTreeMap<(usize, usize, usize, DeviceId), bool>>,
}

impl Search<'_> {
    /// The allocations of all claims as JSON, or `None` where there is no solution.
    pub(super) fn allocate(&self) -> Result<Option<Vec<Value>>, Fault> {
        let pools = pools::gather(self.world, self.held, self.node);
        let pools = pools.map_err(|error| Fault::Error(format!("gather pool information: {error}")))?;
        let state = Picks {
            world: self.world,
            held: self.held,
            pools: &pools,
            claims: self.claims,
            picks: Vec::new(),
            remembered: BTreeMap::new(),
        };
        let mut running = Running {
            search: self,
            pools: &pools,
            asked: Vec::new(),
            state,
            taken: BTreeMap::new(),
            selectable: RefCell::default(),
        };
        for claim in 0..self.claims.len() {
            running.prepare(claim).map_err(Fault::Error)?;
        }
        running.selectable.borrow_mut().clear();
        let start = Place { claim: 0, request: 0, alternative: 0, device: 0 };
        match running.allocate_one(start, false, 0) {
            Err(Stop::Error(error)) => Err(Fault::Error(error)),
            Ok(true) => {
                let Running { asked, state, taken, .. } = &running;
                let class_of = |claim: usize, request: usize| {
                    let alternative = taken.get(&(claim, request)).copied().unwrap_or(0);
                    asked[claim][request].get(alternative).map(|asked| (asked.class, asked.request.clone()))
                };
                let claims = self.claims.iter().enumerate();
                let results = claims.map(|(number, claim)| {
                    let requests =
                        (0..asked[number].len()).filter_map(|request| class_of(number, request)).collect::<Vec<_>>();
                    let picks: Vec<_> = state.picks.iter().filter(|pick| pick.claim == number).collect();
                    results::claim_allocation(claim, &picks, &requests, self.node)
                });
                Ok(Some(results.collect()))
            }
            Ok(false) | Err(Stop::TooMany) if pools.iter().any(|pool| pool.is_invalid) => {
                Err(Fault::OnNode("invalid resource pools were encountered".to_owned()))
            }
            Ok(false) | Err(Stop::TooMany) => Ok(None),
        }
    }
}

impl<'a> Running<'a> {
    /// Checks a claim, and counts the devices of its requests.
    fn prepare(&mut self, claim: usize) -> Result<(), String> {
        let object = self.search.claims[claim];
        let mut least = 0_usize;
        let mut prepared = Vec::new();
        let switches = self.search.world.switches;
        for alternatives in Request::from_claim(object) {
            self.check_capacity(object, &alternatives)?;
            let name = alternatives[0].base;
            let mut asked = Vec::new();
            for request in alternatives {
                asked.push(self.prepare_request(claim, prepared.len(), asked.len(), request)?);
            }
            let fewest = asked.iter().map(|asked: &Asked<'_>| asked.count).min().unwrap_or(0);
            if switches.has("DeviceLimitByRequest") && fewest > CLAIM_LIMIT - least {
                let claim = key(object);
                return Err(format!(
                    "claim {claim}, request {name}: adding {fewest} devices exceeds the claim limit of {CLAIM_LIMIT}, with {least} already \
                     accounted for"
                ));
            }
            least = least.saturating_add(fewest);
            prepared.push(asked);
        }
        self.asked.push(prepared);
        if least > CLAIM_LIMIT {
            let claim = key(object);
            return Err(format!(
                "claim {claim}: number of requested devices {least} exceeds the claim limit of {CLAIM_LIMIT}"
            ));
        }
        let knows_distinct = self.knows_capacity();
        let known = |constraint: &Value| {
            is_set(constraint, "matchAttribute") || (knows_distinct && is_set(constraint, "distinctAttribute"))
        };
        match list(object, "spec.devices.constraints").iter().position(|constraint| !known(constraint)) {
            Some(number) => {
                let claim = key(object);
                Err(format!("claim {claim}, constraint #{number}: empty constraint (unsupported constraint type?)"))
            }
            None => Ok(()),
        }
    }

    /// Whether the allocator is not the stable one, which has neither `distinctAttribute` nor capacity. That one is taken where all features
    /// that it does not support are off. The experimental one of 1.34 is taken for a gate that is on there by default.
    fn knows_capacity(&self) -> bool {
        let unsupported = ["DRAConsumableCapacity", "DRADeviceBindingConditions", "ExperimentalAllocator"];
        unsupported.iter().any(|name| self.search.world.switches.has(name))
    }

    /// Refuses requests for capacity where no device can be shared.
    fn check_capacity(&self, claim: &Value, alternatives: &[Request<'_>]) -> Result<(), String> {
        let switches = self.search.world.switches;
        if switches.has("DRAConsumableCapacity") || !self.knows_capacity() {
            return Ok(());
        }
        match alternatives.iter().find(|request| is_set(request.fields, "capacity")) {
            None => Ok(()),
            Some(request) => {
                let about = match request.alternative {
                    Some(own) if !switches.has("ExperimentalAllocator") => format!("subrequest {own}"),
                    _ => format!("request {}", request.base),
                };
                let claim = key(claim);
                Err(format!(
                    "claim {claim}, {about}: has capacity requests, but the DRAConsumableCapacity feature is disabled"
                ))
            }
        }
    }

    fn prepare_request(
        &self,
        claim: usize,
        number: usize,
        alternative: usize,
        request: Request<'a>,
    ) -> Result<Asked<'a>, String> {
        let about = format!("claim {}, request {}", key(self.search.claims[claim]), request.own_name());
        if self.search.world.switches.has("DerivedAttributesRefused") && !request.derived_attributes().is_empty() {
            return Err(format!("{about}: cannot handle request with derived attributes, the feature is disabled"));
        }
        if let Some(number) = request.selectors().iter().position(|selector| !is_set(selector, "cel")) {
            return Err(format!("{about}, selector #{number}: CEL expression empty (unsupported selector type?)"));
        }
        if request.class().is_empty() {
            return Err(format!("{about}: missing device class name (unsupported request type?)"));
        }
        let Some(class) = self.search.world.cluster.get("DeviceClass", request.class()) else {
            return Err(format!("{about}: could not retrieve device class {}", request.class()));
        };
        let mut asked = Asked { request, class, count: 0, all: None };
        match asked.request.mode() {
            "ExactCount" => asked.count = usize::try_from(asked.request.count()).unwrap_or(0),
            "All" => {
                // What matches is kept by the number of the alternative, which is that of the one before where it is counted up too late.
                let mixes = self.search.world.switches.has("AlternativesForAllMix");
                let kept_as = if mixes { alternative.saturating_sub(1) } else { alternative };
                let mut all = Vec::new();
                for (position, pool) in self.pools.iter().enumerate() {
                    let state = match (pool.is_incomplete, pool.is_invalid) {
                        (true, _) => "being updated",
                        (_, true) => "invalid",
                        _ => "",
                    };
                    if !state.is_empty() {
                        let pool = format!("{}/{}", pool.driver, pool.name);
                        return Err(format!(
                            "{about}: asks for all devices, but resource pool {pool} is currently {state}"
                        ));
                    }
                    for (slice, device) in &pool.devices {
                        let candidate = Candidate { pool: position, slice, device };
                        let selectable = self.is_selectable((claim, number, kept_as), &asked, candidate)?;
                        if selectable && self.belongs_to_all(&about, &asked.request, candidate)? {
                            all.push(candidate);
                        }
                    }
                }
                asked.count = all.len();
                asked.all = Some(all);
            }
            mode => return Err(format!("{about}: unsupported count mode {mode}")),
        }
        Ok(asked)
    }

    /// Whether a device that is selected is one of all.
    fn belongs_to_all(&self, about: &str, request: &Request<'_>, candidate: Candidate<'a>) -> Result<bool, String> {
        let switches = self.search.world.switches;
        self.check_range(about, request, candidate.device, text(candidate.device, "name"))?;
        let id = self.pools[candidate.pool].device_id(candidate.device);
        Ok(if switches.has("AllDevicesByStaticCapacity") && switches.has("DRAConsumableCapacity") {
            capacity::fits(request.fields, candidate.device, &[])
        } else {
            self.state.has_capacity(request, &id, candidate.device)
        })
    }

    /// Refuses amounts of capacity that cannot be computed.
    fn check_range(&self, about: &str, request: &Request<'_>, device: &Value, name: &str) -> Result<(), String> {
        let switches = self.search.world.switches;
        if !switches.has("CapacityRangeErrors") || !switches.has("DRAConsumableCapacity") {
            return Ok(());
        }
        match capacity::problem(request.fields, device) {
            None => Ok(()),
            Some(problem) => Err(format!("{about}: checking capacity for device {name}: {problem}")),
        }
    }

    /// Whether a device matches the selectors of class and request, and is for the node.
    fn is_selectable(
        &self,
        of: (usize, usize, usize),
        asked: &Asked<'a>,
        candidate: Candidate<'a>,
    ) -> Result<bool, String> {
        let id = self.pools[candidate.pool].device_id(candidate.device);
        let known = (of.0, of.1, of.2, id);
        if let Some(selectable) = self.selectable.borrow().get(&known) {
            return Ok(*selectable);
        }
        let (driver, device) = (text(candidate.slice, "spec.driver"), candidate.device);
        let (selectors, switches) = (self.search.selectors, self.search.world.switches);
        if pools::is_hidden(self.search.world, device) {
            return Ok(false);
        }
        let named = |error: String| match error.split_once(": CEL runtime error: ") {
            Some((selector, error)) if self.search.world.switches.has("SelectorErrorsNameDevice") => {
                format!("{selector} on device {}: CEL runtime error: {error}", known.3)
            }
            _ => error,
        };
        let by_class = selectors.match_all(switches, list(asked.class, "spec.selectors"), driver, device);
        let by_class =
            by_class.map_err(|error| format!("class {}: {}", text(asked.class, "metadata.name"), named(error)))?;
        let by_request = by_class && {
            let matches = selectors.match_all(switches, asked.request.selectors(), driver, device);
            matches.map_err(|error| format!("claim {}: {}", key(self.search.claims[of.0]), named(error)))?
        };
        let for_node = || match flag(candidate.slice, "spec.perDeviceNodeSelection") {
            true => pools::is_for_node(device, self.search.node),
            false => Ok(true),
        };
        let selectable = by_request && for_node()?;
        self.selectable.borrow_mut().insert(known, selectable);
        Ok(selectable)
    }

    /// Allocates the device at a place and all after it. Devices before `from`, counted over all pools, are not tried: within
    /// one request their combinations have been.
    fn allocate_one(&mut self, at: Place, in_alternative: bool, from: usize) -> Result<bool, Stop> {
        let Some(requests) = self.asked.get(at.claim) else { return Ok(true) };
        if at.request >= requests.len() {
            let next = Place { claim: at.claim + 1, request: 0, alternative: 0, device: 0 };
            // A claim with too many devices may do with another choice in an earlier claim.
            return match self.allocate_one(next, false, 0) {
                Err(Stop::TooMany) => Ok(false),
                outcome => outcome,
            };
        }
        let alternatives = &requests[at.request];
        if !in_alternative && alternatives[0].request.alternative.is_some() {
            return self.allocate_alternatives(at, alternatives.len());
        }
        let asked = &alternatives[at.alternative];
        if asked.all.as_ref().is_some_and(Vec::is_empty) {
            return Ok(false);
        }
        if at.device >= asked.count {
            return self.allocate_one(Place { request: at.request + 1, alternative: 0, device: 0, ..at }, false, 0);
        }
        let picked = self.state.picks.iter().filter(|pick| pick.claim == at.claim).count();
        if picked + asked.count - at.device > CLAIM_LIMIT {
            return Err(Stop::TooMany);
        }
        match asked.all.as_ref().map(|all| all[at.device]) {
            Some(candidate) => self.allocate_this(at, in_alternative, candidate),
            None => self.allocate_any(at, in_alternative, from),
        }
    }

    fn allocate_alternatives(&mut self, at: Place, alternatives: usize) -> Result<bool, Stop> {
        let mut all_too_many = true;
        for alternative in 0..alternatives {
            match self.allocate_one(Place { alternative, ..at }, true, 0) {
                Err(Stop::TooMany) => continue,
                Err(error) => return Err(error),
                Ok(true) => {
                    self.taken.insert((at.claim, at.request), alternative);
                    return Ok(true);
                }
                Ok(false) => all_too_many = false,
            }
        }
        if all_too_many { Err(Stop::TooMany) } else { Ok(false) }
    }

    /// For `All`: exactly this device, or none.
    fn allocate_this(&mut self, at: Place, in_alternative: bool, candidate: Candidate<'a>) -> Result<bool, Stop> {
        let request = self.asked[at.claim][at.request][at.alternative].request.clone();
        match self.state.pick(at.claim, &request, candidate) {
            Ok(()) => {}
            Err(Refusal::Unavailable) => return Ok(false),
            Err(Refusal::Constraint) => {
                let claim = key(self.search.claims[at.claim]);
                let (request, device) = (request.own_name(), self.pools[candidate.pool].device_id(candidate.device));
                return Err(Stop::Error(format!(
                    "claim {claim}, request {request}: cannot add device {device} because a claim constraint would not be \
                     satisfied"
                )));
            }
        }
        let mut next = Place { device: at.device + 1, ..at };
        if self.search.world.switches.has("AlternativesForAllMix") {
            // The number of the alternative is not handed on.
            next.alternative = 0;
        }
        let outcome = self.allocate_one(next, in_alternative, 0);
        if !matches!(outcome, Ok(true)) {
            self.state.undo();
        }
        outcome
    }

    /// For a count: the first device with which everything after it works.
    fn allocate_any(&mut self, at: Place, in_alternative: bool, from: usize) -> Result<bool, Stop> {
        let pools = self.pools;
        let mut position = 0;
        for (number, pool) in pools.iter().enumerate() {
            for (slice, device) in &pool.devices {
                position += 1;
                if position <= from || pool.is_invalid {
                    continue;
                }
                let candidate = Candidate { pool: number, slice, device };
                if !self.is_candidate(at, candidate)? {
                    continue;
                }
                let request = self.asked[at.claim][at.request][at.alternative].request.clone();
                if self.state.pick(at.claim, &request, candidate).is_err() {
                    continue;
                }
                let from = if self.search.world.switches.has("ExperimentalAllocator") { 0 } else { position };
                let outcome = self.allocate_one(Place { device: at.device + 1, ..at }, in_alternative, from);
                if matches!(outcome, Ok(true)) {
                    return outcome;
                }
                self.state.undo();
                outcome?;
            }
        }
        let mut invalid = pools.iter().filter(|pool| pool.is_invalid);
        match invalid.next() {
            // Pools are in any order there. This is the answer where invalid ones come last.
            Some(pool) if self.search.world.switches.has("ExperimentalAllocator") => {
                let duplicate = pool.duplicate.unwrap_or_default();
                Err(Stop::Error(format!("pool {} is invalid: duplicate device name {duplicate}", pool.name)))
            }
            _ => Ok(false),
        }
    }

    /// Whether a device may be tried: not in use, then selected, then large enough.
    fn is_candidate(&self, at: Place, candidate: Candidate<'a>) -> Result<bool, Stop> {
        let asked = &self.asked[at.claim][at.request][at.alternative];
        let id = self.pools[candidate.pool].device_id(candidate.device);
        if self.state.in_use(at.claim, &asked.request, &id) {
            return Ok(false);
        }
        let of = (at.claim, at.request, at.alternative);
        if !self.is_selectable(of, asked, candidate).map_err(Stop::Error)? {
            return Ok(false);
        }
        let about = format!("claim {}, request {}", key(self.search.claims[at.claim]), asked.request.own_name());
        self.check_range(&about, &asked.request, candidate.device, &id.to_string()).map_err(Stop::Error)?;
        Ok(self.state.has_capacity(&asked.request, &id, candidate.device))
    }
}
