//! Counts of devices for each request of the pod's claims, to explain why a pod is pending. Counted anew for each question, and
//! only for explanations.
//!
//! Start at [`Context::requested_devices`].

use std::sync::Arc;

use nodesift_cache::metadata::ClaimRecord;
use nodesift_cache::{Device, SeenDevice, SeenPool};
use nodesift_object::claim::{DeviceConstraint, DeviceFields, DeviceToleration};
use nodesift_object::device::{AttributeRef, DeviceTaint, DeviceTaintEffect};
use nodesift_object::selector::DeviceSelector;
use nodesift_sandbox::wire::devices::Answer;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::answer::RequestedDevices;
use crate::facts::context::Context;
use crate::facts::gathered::{Answers, Gathered, GatheredPool};
use crate::limits::EXPLAINED_HOLDERS;

/// Driver, pool and name of a device.
type Identity<'a> = (&'a str, &'a str, &'a str);

impl Context {
    /// Counts devices for each request of the pod's claims, in their order; empty where expressions are not evaluated, or not in
    /// time, or the claims cannot be allocated anywhere. An allocated claim has one entry, about the nodes that it can be used on.
    pub(crate) fn requested_devices(&self) -> Vec<RequestedDevices> {
        let (Some(_), Ok(Some(resolved))) = (self.selectors(), self.resolved_claims()) else { return Vec::new() };
        let mut found = Vec::new();
        for claim in resolved.known() {
            if claim.allocation.is_some() {
                let nodes = self.usable_rows(claim).iter().filter(|usable| **usable == 1).count();
                found.push(RequestedDevices { claim: claim.key(), is_allocated: true, nodes, ..Default::default() });
                continue;
            }
            for request in claim.spec.requests.iter().flatten() {
                let exactly = request.exactly.iter().map(|fields| (request.name.clone(), fields));
                let alternatives = request.first_available.iter();
                let alternatives = alternatives.map(|fields| (format!("{}/{}", request.name, fields.name), fields));
                found.extend(exactly.chain(alternatives).map(|(name, fields)| self.requested(claim, name, fields)));
            }
        }
        // Of devices about which not all is known, too few would count.
        if self.gathered.get().is_some_and(|gathered| gathered.in_time().is_err()) {
            return Vec::new();
        }
        found
    }

    fn requested(&self, claim: &ClaimRecord, request: String, fields: &DeviceFields) -> RequestedDevices {
        let gathered = self.gathered();
        let wanted = if fields.allocation_mode == "All" { 0 } else { u64::try_from(fields.count).unwrap_or(0) };
        let asked = Asked::new(self, gathered, fields);
        let [match_attributes, distinct_attributes] = attributes(&claim.spec.constraints, &request);
        let mut counted = RequestedDevices {
            claim: claim.key(),
            request,
            match_attributes,
            distinct_attributes,
            class: fields.device_class_name.clone(),
            wanted,
            ..RequestedDevices::default()
        };
        let mut met: FxHashSet<Identity<'_>> = FxHashSet::default();
        let mut matching: FxHashSet<Identity<'_>> = FxHashSet::default();
        let mut enough = Vec::with_capacity(gathered.sights.len());
        for sight in &gathered.sights {
            let mut free: Vec<&Device> = Vec::new();
            let pools = sight.iter().flat_map(|list| gathered.pools_of(*list));
            for (pool, place, seen) in pools.flat_map(devices_of) {
                let stage = asked.stage(place, seen);
                free.extend((stage == Stage::Free).then_some(&*seen.device));
                if stage == Stage::Other || !met.insert(identity(pool, seen)) {
                    continue;
                }
                counted.of_class += 1;
                counted.matching += usize::from(stage >= Stage::Matching);
                counted.tolerated += usize::from(stage >= Stage::Tolerated);
                counted.free += usize::from(stage == Stage::Free);
                if stage == Stage::Tolerated {
                    matching.insert(identity(pool, seen));
                }
            }
            enough.push(together(&free, &counted) as u64 >= wanted.max(1));
        }
        let is_enough = |sight: &&u32| enough.get(**sight as usize).copied().unwrap_or(false);
        counted.nodes = gathered.seen.iter().filter(is_enough).count();
        counted.holders = self.holders(&matching);
        counted
    }

    /// The first claims by name that hold some of these devices.
    fn holders(&self, devices: &FxHashSet<Identity<'_>>) -> Vec<String> {
        let holds = |claim: &&Arc<ClaimRecord>| {
            claim.allocation.iter().flat_map(|allocation| allocation.held.iter()).any(|hold| {
                let device = &hold.device;
                devices.contains(&(&*device.driver, &*device.pool, &*device.device))
            })
        };
        if devices.is_empty() {
            return Vec::new();
        }
        let mut holders: Vec<String> = self.snapshot().claims().all().filter(holds).map(|claim| claim.key()).collect();
        holders.sort_unstable();
        holders.truncate(EXPLAINED_HOLDERS);
        holders
    }
}

/// The attributes that devices of a request must have in common, and those in which they must differ.
fn attributes(constraints: &[DeviceConstraint], request: &str) -> [Vec<String>; 2] {
    let base = request.split_once('/').map_or(request, |(base, _)| base);
    let is_meant = |constraint: &&DeviceConstraint| {
        constraint.requests.is_empty() || constraint.requests.iter().any(|name| name == request || name == base)
    };
    let meant = || constraints.iter().filter(is_meant);
    let distinct = |constraint: &DeviceConstraint| {
        constraint.distinct_attribute.clone().filter(|_| constraint.match_attribute.is_none())
    };
    [meant().filter_map(|it| it.match_attribute.clone()).collect(), meant().filter_map(distinct).collect()]
}

/// How many of these devices a request may have together at most, for all that it alone says.
fn together(devices: &[&Device], request: &RequestedDevices) -> usize {
    let mut groups: FxHashMap<Vec<AttributeRef<'_>>, Vec<&Device>> = FxHashMap::default();
    for device in devices {
        let values: Option<Vec<_>> = request.match_attributes.iter().map(|name| value(device, name)).collect();
        if let Some(values) = values {
            groups.entry(values).or_default().push(device);
        }
    }
    let most = |(values, group): (&Vec<AttributeRef<'_>>, &Vec<&Device>)| {
        // Values of unknown type are equal to nothing.
        let alike = if values.contains(&AttributeRef::Unsupported) { 1 } else { group.len() };
        let different = |name: &String| {
            let values = group.iter().filter_map(|device| value(device, name));
            values.collect::<FxHashSet<AttributeRef<'_>>>().len()
        };
        request.distinct_attributes.iter().map(different).fold(alike, usize::min)
    };
    groups.iter().map(most).max().unwrap_or(0)
}

fn value<'a>(device: &'a Device, attribute: &str) -> Option<AttributeRef<'a>> {
    device.attribute_at(device.attribute_place(attribute)?).map(AttributeRef::compared)
}

/// How far a device gets with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    /// It is of another class, or not for the node.
    Other,
    /// A selector of the request does not match it, or fails.
    OfClass,
    /// It has a taint that is not tolerated.
    Matching,
    /// It is in use.
    Tolerated,
    /// Nobody has it, or claims share it.
    Free,
}

/// A request, and what its selectors say of each device.
struct Asked<'a> {
    fields: &'a DeviceFields,
    class: Arc<Answers>,
    own: Arc<Answers>,
}

impl<'a> Asked<'a> {
    fn new(context: &Context, gathered: &Gathered, fields: &'a DeviceFields) -> Self {
        let class = context.snapshot().claims().class(&fields.device_class_name);
        let class: Option<Vec<String>> =
            class.map(|class| class.selectors.iter().map(|it| it.clone().unwrap_or_default()).collect());
        let own = |selector: &DeviceSelector| Some(selector.cel.as_ref()?.expression.clone());
        let own: Vec<String> = fields.selectors.iter().filter_map(own).collect();
        Self {
            fields,
            class: gathered.answers(context.selectors(), &class.unwrap_or_default()),
            own: gathered.answers(context.selectors(), &own),
        }
    }

    fn stage(&self, place: usize, seen: &SeenDevice) -> Stage {
        let says_yes = |answers: &Answers| answers.at(place) == Some(&Answer::Yes);
        if !says_yes(&self.class) || *seen.reaches() != Ok(true) {
            return Stage::Other;
        }
        if !says_yes(&self.own) {
            return Stage::OfClass;
        }
        let traits = &seen.device.traits().content;
        if traits.taints.iter().chain(&traits.rule_taints).any(|taint| self.is_kept_away_by(taint)) {
            return Stage::Matching;
        }
        let is_shared = seen.shared().is_some() && !traits.multiple_allocations;
        if !self.fields.admin_access && (seen.exclusive() || is_shared) { Stage::Tolerated } else { Stage::Free }
    }

    fn is_kept_away_by(&self, taint: &DeviceTaint) -> bool {
        taint.effect != DeviceTaintEffect::Other && !self.fields.tolerations.iter().any(|it| tolerates(it, taint))
    }
}

/// Source: `ToleratesTaint` in k8s.io/dynamic-resource-allocation/resourceclaim.
fn tolerates(toleration: &DeviceToleration, taint: &DeviceTaint) -> bool {
    let effect = match taint.effect {
        DeviceTaintEffect::NoSchedule => "NoSchedule",
        DeviceTaintEffect::NoExecute => "NoExecute",
        DeviceTaintEffect::Other => "",
    };
    (toleration.effect.is_empty() || toleration.effect == effect)
        && (toleration.key.is_empty() || toleration.key == taint.key)
        && match toleration.operator.as_str() {
            "" | "Equal" => toleration.value == taint.value,
            operator => operator == "Exists",
        }
}

fn devices_of(pool: &GatheredPool) -> impl Iterator<Item = (&SeenPool, usize, &SeenDevice)> {
    pool.devices().map(|(place, seen)| (&*pool.pool, place, seen))
}

fn identity<'a>(pool: &'a SeenPool, seen: &'a SeenDevice) -> Identity<'a> {
    (&pool.name.driver, &pool.name.name, &seen.device.name)
}
