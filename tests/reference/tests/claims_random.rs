//! DynamicResources on random clusters: what is allocated can be, and what is not cannot.
//!
//! Every allocation is counted again from the objects alone. Where the allocator finds nothing, all ways to give the claims
//! devices are tried, as far as there are few of them. `NODESIFT_SEED` sets the only seed; a failure names its own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]
#![allow(missing_docs, reason = "tests are named as sentences")]

use std::collections::BTreeMap;

use nodesift_fixtures::json::{at, entries, flag, is_set, labels, list, name, text, texts};
use nodesift_fixtures::random::claims::{DeviceCluster, devices_of};
use nodesift_reference::claims::{Selectors, World, judge};
use nodesift_reference::kubernetes::Switches;
use nodesift_reference::quantity::Quantity;
use nodesift_reference::selector::node_selector_matches;
use serde_json::Value;

/// Clusters of a run; half of their seeds are the same in every run.
const CLUSTERS: u64 = 300;

/// Ways to allocate that are tried at most, per pod and node.
const MOST_WAYS: usize = 3_000;

/// Cases that a run has at least, so that the generator cannot degenerate unnoticed.
const LEAST_ALLOCATIONS: usize = 1_000;
const LEAST_SEARCHES: usize = 300;

#[test]
fn allocations_hold_when_they_are_counted_again_and_none_is_missed() {
    let selectors = Selectors::default();
    let (mut allocations, mut searches) = (0, 0);
    let mut texts_seen: BTreeMap<String, usize> = BTreeMap::new();
    for seed in seeds() {
        let made = DeviceCluster::new(seed);
        let switches = Switches::documented();
        let world = World { cluster: &made.cluster, in_flight: &[], now_s: 0, switches: &switches };
        for pod in &made.pods {
            let decision = judge(&world, &selectors, pod);
            for node in made.cluster.nodes() {
                let recount = Recount { world: &world, selectors: &selectors, node };
                let of = format!("seed {seed}, {} on {}", name(pod), name(node));
                if let Some(failure) = decision.outcome.failures.get(name(node)) {
                    *texts_seen.entry(failure.reasons.join("|")).or_default() += 1;
                    if failure.reasons == ["cannot allocate all claims"] {
                        let Some(way) = recount.search(pod) else { continue };
                        searches += 1;
                        assert_eq!(way, None, "{of}: a way to allocate was missed");
                    }
                } else if let Some(allocated) = decision.allocations.get(name(node)) {
                    allocations += 1;
                    let picks = recount.picks_of(pod, allocated);
                    if let Err(fault) = recount.check(&picks).and_then(|()| recount.count(pod, &picks)) {
                        panic!("{of}: {fault}\n{}", Value::from(allocated.clone()));
                    }
                }
            }
        }
    }
    println!("{allocations} allocations counted again, {searches} exhaustive searches, {} texts", texts_seen.len());
    if nodesift_seed::repeated().is_none() {
        assert!(allocations >= LEAST_ALLOCATIONS && searches >= LEAST_SEARCHES, "{allocations} and {searches}");
    }
}

fn seeds() -> Vec<u64> {
    if let Some(seed) = nodesift_seed::repeated() {
        return vec![seed];
    }
    // New ones in every run; a failure names its own.
    let first = nodesift_seed::fresh();
    (0..CLUSTERS / 2).chain(first..first + CLUSTERS / 2).collect()
}

/// A device for a request.
#[derive(Debug, Clone, PartialEq)]
struct Pick<'a> {
    claim: &'a Value,
    request: &'a str,
    fields: &'a Value,
    slice: &'a Value,
    device: &'a Value,
    /// Of a share: what it takes.
    takes: BTreeMap<String, Quantity>,
}

impl Pick<'_> {
    fn id(&self) -> (&str, &str, &str) {
        (text(self.slice, "spec.driver"), text(self.slice, "spec.pool.name"), text(self.device, "name"))
    }

    fn is_share(&self) -> bool {
        flag(self.device, "allowMultipleAllocations")
    }

    fn is_admin(&self) -> bool {
        flag(self.fields, "adminAccess")
    }
}

struct Recount<'a> {
    world: &'a World<'a>,
    selectors: &'a Selectors,
    node: &'a Value,
}

impl<'a> Recount<'a> {
    /// The pod's claims that are not allocated, and their requests: name, fields.
    fn requests(&self, pod: &Value) -> Vec<(&'a Value, Vec<(String, &'a Value)>)> {
        let references = list(pod, "spec.resourceClaims").iter();
        let claims = references.filter_map(|reference| {
            self.world.cluster.get("ResourceClaim", &format!("default/{}", text(reference, "resourceClaimName")))
        });
        let open = claims.filter(|claim| !is_set(claim, "status.allocation"));
        open.map(|claim| {
            let mut requests = Vec::new();
            for request in list(claim, "spec.devices.requests") {
                if is_set(request, "exactly") {
                    requests.push((text(request, "name").to_owned(), at(request, "exactly")));
                }
                for alternative in list(request, "firstAvailable") {
                    requests.push((format!("{}/{}", text(request, "name"), text(alternative, "name")), alternative));
                }
            }
            (claim, requests)
        })
        .collect()
    }

    /// The picks of an allocation; those for extended resources have no claim in the cluster and are left out.
    fn picks_of(&self, pod: &Value, allocated: &'a [Value]) -> Vec<Pick<'a>> {
        let mut picks = Vec::new();
        for ((claim, requests), allocated) in self.requests(pod).into_iter().zip(allocated) {
            assert_eq!(text(allocated, "claim"), name(claim));
            for result in list(allocated, "devices") {
                let same = |(slice, device): &(&Value, &Value)| {
                    text(slice, "spec.driver") == text(result, "driver")
                        && text(slice, "spec.pool.name") == text(result, "pool")
                        && text(device, "name") == text(result, "device")
                        && at(slice, "spec.pool.generation") == 1
                };
                let (slice, device) = devices_of(self.world.cluster).find(same).expect("the device exists");
                let request = text(result, "request");
                let fields = requests.iter().find(|(known, _)| known == request).expect("the request exists").1;
                let takes = quantities(result, "consumedCapacity");
                picks.push(Pick { claim, request, fields, slice, device, takes });
            }
        }
        picks
    }

    /// Whether every request has its devices.
    fn count(&self, pod: &Value, picks: &[Pick<'a>]) -> Result<(), String> {
        for (claim, requests) in self.requests(pod) {
            let mut by_base: BTreeMap<&str, Vec<bool>> = BTreeMap::new();
            for (request, fields) in &requests {
                let of = picks.iter().filter(|pick| name(pick.claim) == name(claim) && pick.request == request);
                let count = i64::try_from(of.count()).unwrap();
                let enough = match text(fields, "allocationMode") {
                    "All" => count > 0,
                    _ => at(fields, "count") == count,
                };
                if count > 0 && !enough {
                    return Err(format!("{request}: {count} devices"));
                }
                by_base.entry(request.split('/').next().unwrap()).or_default().push(enough);
            }
            if by_base.values().any(|enough| enough.iter().filter(|enough| **enough).count() != 1) {
                return Err(format!("{}: not one alternative per request: {by_base:?}", name(claim)));
            }
        }
        Ok(())
    }

    /// Whether these devices can be used together.
    fn check(&self, picks: &[Pick<'a>]) -> Result<(), String> {
        for (number, pick) in picks.iter().enumerate() {
            let fault = |what: &str| Err(format!("{:?} for {}: {what}", pick.id(), pick.request));
            if !self.is_usable(pick.slice, pick.device) {
                return fault("its pool cannot be used here");
            }
            if !self.is_wanted(pick) {
                return fault("the selectors do not match");
            }
            if !is_tolerated(pick) {
                return fault("it is tainted");
            }
            let before = &picks[..number];
            let same = |other: &&Pick<'_>| other.id() == pick.id();
            let in_claim = |other: &&Pick<'_>| name(other.claim) == name(pick.claim);
            if pick.is_share() {
                if before.iter().filter(same).filter(in_claim).any(|other| other.request == pick.request) {
                    return fault("twice in one request");
                }
            } else if pick.is_admin() && before.iter().filter(same).any(|other| in_claim(&other)) {
                return fault("twice in one claim");
            } else if !pick.is_admin() && (self.is_held(pick.id()) || before.iter().any(|other| same(&other))) {
                return fault("in use");
            }
        }
        self.check_capacity(picks)?;
        self.check_counters(picks)?;
        check_constraints(picks)
    }

    /// Whether a device can be reached from the node, in a pool that is complete and valid.
    fn is_usable(&self, slice: &Value, device: &Value) -> bool {
        let pool = |slice: &Value| (text(slice, "spec.driver").to_owned(), text(slice, "spec.pool.name").to_owned());
        let newest: Vec<&Value> = self
            .world
            .cluster
            .all("ResourceSlice")
            .filter(|other| pool(other) == pool(slice) && at(other, "spec.pool.generation") == 1)
            .collect();
        let sets: Vec<&str> =
            newest.iter().flat_map(|slice| list(slice, "spec.sharedCounters")).map(|set| text(set, "name")).collect();
        let consumed = newest
            .iter()
            .flat_map(|slice| list(slice, "spec.devices"))
            .flat_map(|device| list(device, "consumesCounters"));
        let is_valid = consumed.into_iter().all(|consumed| sets.contains(&text(consumed, "counterSet")));
        let is_complete = at(slice, "spec.pool.resourceSliceCount") == newest.len();
        let place = if flag(slice, "spec.perDeviceNodeSelection") { device } else { at(slice, "spec") };
        let selected = is_set(place, "nodeSelector")
            && node_selector_matches(at(place, "nodeSelector"), labels(self.node), name(self.node));
        let reaches = text(place, "nodeName") == name(self.node) || flag(place, "allNodes") || selected;
        at(slice, "spec.pool.generation") == 1 && is_valid && is_complete && reaches
    }

    fn is_wanted(&self, pick: &Pick<'_>) -> bool {
        let class =
            self.world.cluster.get("DeviceClass", text(pick.fields, "deviceClassName")).expect("the class exists");
        let driver = text(pick.slice, "spec.driver");
        let matches = |selectors: &[Value]| {
            self.selectors.match_all(self.world.switches, selectors, driver, pick.device) == Ok(true)
        };
        matches(list(class, "spec.selectors")) && matches(list(pick.fields, "selectors"))
    }

    fn held(&self) -> impl Iterator<Item = &'a Value> {
        let claims = self.world.cluster.all("ResourceClaim");
        let results = claims.flat_map(|claim| list(claim, "status.allocation.devices.results"));
        results.filter(|result| !flag(result, "adminAccess"))
    }

    fn is_held(&self, id: (&str, &str, &str)) -> bool {
        self.held().any(|result| (text(result, "driver"), text(result, "pool"), text(result, "device")) == id)
    }

    fn check_capacity(&self, picks: &[Pick<'_>]) -> Result<(), String> {
        for pick in picks {
            for (capacity, of) in entries(pick.device, "capacity") {
                let asked = quantities(pick.fields, "capacity.requests").get(capacity).copied();
                let total = Quantity::read(at(of, "value")).unwrap();
                let mut sum = asked.unwrap_or(Quantity::ZERO);
                if pick.is_share() {
                    let takes = pick.takes.get(capacity).copied().unwrap_or(Quantity::ZERO);
                    if sum.exceeds(takes) {
                        return Err(format!("{:?}: less {capacity} than asked for", pick.id()));
                    }
                    let id = pick.id();
                    let held = self
                        .held()
                        .filter(|result| (text(result, "driver"), text(result, "pool"), text(result, "device")) == id);
                    let held = held.filter_map(|result| quantities(result, "consumedCapacity").get(capacity).copied());
                    let picked = picks.iter().filter(|other| other.id() == id);
                    let picked = picked.filter_map(|other| other.takes.get(capacity).copied());
                    sum = held.chain(picked).fold(Quantity::ZERO, Quantity::plus);
                }
                if sum.exceeds(total) {
                    return Err(format!("{:?}: more {capacity} than there is", pick.id()));
                }
            }
        }
        Ok(())
    }

    fn check_counters(&self, picks: &[Pick<'_>]) -> Result<(), String> {
        for pick in picks.iter().filter(|pick| is_set(pick.device, "consumesCounters") && !pick.is_admin()) {
            let (driver, pool, _) = pick.id();
            let in_use = devices_of(self.world.cluster).filter(|(slice, device)| {
                let id = (text(slice, "spec.driver"), text(slice, "spec.pool.name"), text(device, "name"));
                let picked = picks.iter().any(|pick| pick.id() == id && !pick.is_admin());
                at(slice, "spec.pool.generation") == 1 && (id.0, id.1) == (driver, pool) && (picked || self.is_held(id))
            });
            // The generator's cards have one counter, of four units.
            let units = in_use.map(|(_, device)| {
                text(&list(device, "consumesCounters")[0], "counters.memory.value").parse::<u32>().unwrap()
            });
            if units.sum::<u32>() > 4 {
                return Err(format!("{driver}/{pool}: more counters than there are"));
            }
        }
        Ok(())
    }

    /// Tries all ways to give the claims devices: one that holds, or none. Nothing where there are too many ways, or where more
    /// than devices would have to be chosen.
    fn search(&self, pod: &Value) -> Option<Option<Vec<Pick<'a>>>> {
        let plain = |fields: &&Value| {
            text(fields, "allocationMode") == "ExactCount"
                && !flag(fields, "adminAccess")
                && !matches!(text(fields, "deviceClassName"), "nic" | "any")
        };
        let claims = self.requests(pod);
        let extended =
            !entries(&list(pod, "spec.containers")[0], "resources.requests").iter().all(|(name, _)| *name == "cpu");
        if extended
            || claims
                .iter()
                .flat_map(|(_, requests)| requests)
                .any(|(name, fields)| name.contains('/') || !plain(fields))
        {
            return None;
        }
        let mut slots: Vec<Vec<Pick<'a>>> = Vec::new();
        for (claim, requests) in &claims {
            for (request, fields) in requests {
                let request = list(claim, "spec.devices.requests")
                    .iter()
                    .map(|own| text(own, "name"))
                    .find(|own| own == request)?;
                let all = devices_of(self.world.cluster).map(|(slice, device)| Pick {
                    claim,
                    request,
                    fields,
                    slice,
                    device,
                    takes: BTreeMap::new(),
                });
                let alone: Vec<Pick<'a>> = all.filter(|pick| self.check(std::slice::from_ref(pick)).is_ok()).collect();
                let count = usize::try_from(at(fields, "count").as_i64()?).ok()?;
                slots.extend(std::iter::repeat_n(alone, count));
            }
        }
        let ways = slots.iter().try_fold(1_usize, |ways, slot| ways.checked_mul(slot.len()))?;
        if ways > MOST_WAYS {
            return None;
        }
        Some((0..ways).find_map(|way| {
            let mut rest = way;
            let mut picks = Vec::new();
            for slot in &slots {
                picks.push(slot[rest % slot.len()].clone());
                rest /= slot.len();
            }
            self.check(&picks).is_ok().then_some(picks)
        }))
    }
}

fn quantities(object: &Value, path: &str) -> BTreeMap<String, Quantity> {
    entries(object, path).into_iter().map(|(name, amount)| (name.clone(), Quantity::read(amount).unwrap())).collect()
}

/// The generator's tolerations tolerate everything that is slow.
fn is_tolerated(pick: &Pick<'_>) -> bool {
    let tainted = list(pick.device, "taints").iter().any(|taint| text(taint, "effect") != "None");
    !tainted || !list(pick.fields, "tolerations").is_empty()
}

fn check_constraints(picks: &[Pick<'_>]) -> Result<(), String> {
    for (number, pick) in picks.iter().enumerate() {
        for constraint in list(pick.claim, "spec.devices.constraints") {
            let names = texts(constraint, "requests");
            let applies = |pick: &Pick<'_>| {
                names.is_empty() || names.iter().any(|name| name == pick.request.split('/').next().unwrap())
            };
            if !applies(pick) {
                continue;
            }
            let full = if is_set(constraint, "matchAttribute") { "matchAttribute" } else { "distinctAttribute" };
            let value = |pick: &Pick<'_>| {
                let full = text(constraint, full);
                let (domain, own) = full.split_once('/').unwrap();
                let attributes = at(pick.device, "attributes");
                let by_name = if domain == pick.id().0 { attributes.get(own) } else { None };
                attributes.get(full).or(by_name).cloned()
            };
            let others = picks[..number].iter().filter(|other| name(other.claim) == name(pick.claim) && applies(other));
            let Some(own) = value(pick) else { return Err(format!("{:?}: no {full}", pick.id())) };
            for other in others {
                if (value(other) == Some(own.clone())) != (full == "matchAttribute") {
                    return Err(format!("{:?} and {:?}: {full}", pick.id(), other.id()));
                }
            }
        }
    }
    Ok(())
}
