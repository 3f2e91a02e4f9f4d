//! Per claim the document for its status, and the devices to hold. Start at [`results`].

use std::sync::Arc;

use nodesift_cache::limits::CONFIGURATION_BYTES;
use nodesift_cache::metadata::{ClaimRecord, Configurations};
use nodesift_cache::{ExtendedClaim, Row, SeenDevice, SeenPool, SeenPools, Snapshot};
use nodesift_object::claim::AllocatedDevice;
use nodesift_object::device_configuration::DeviceConfiguration;
use nodesift_object::time::rfc3339;
use nodesift_object::{Quantity, ResourceList};
use nodesift_sandbox::wire::claims::NanoUnits;
use serde_json::value::RawValue;

use super::document::{self, AllocationResult, Configuration, Device, Devices, Toleration};
use super::nodes::{self, Reached};
use super::requests::{self, Taken};
use super::{Allocation, AllocationError, ClaimAllocation, ExtendedSpec, NewClaim, Pick, amount};
use crate::facts::Context;
use crate::limits::{ALLOCATION_BYTES, CLAIM_DEVICES};

/// Devices that a predicate gave on a row, per claim of the pod that is not allocated yet, in the order of the claims; a claim that
/// the pod names twice is there twice, and of the two the last is to be written. A claim for extended resources without requests is
/// not there: none is needed.
///
/// # Errors
/// The picks name what is not there, or what they name cannot be written.
pub fn results(context: &Context, row: Row, allocation: &Allocation) -> Result<Vec<ClaimAllocation>, AllocationError> {
    let resolved = match context.resolved_claims() {
        Ok(Some(resolved)) => resolved,
        Ok(None) => return Ok(Vec::new()),
        Err(obstacle) => return Err(AllocationError::Obstacle(obstacle.text.clone())),
    };
    let pools =
        context.snapshot().devices().seen_by(row).map_err(|error| AllocationError::Obstacle(error.to_string()))?;
    let claims = u32::try_from(resolved.named.len()).unwrap_or(u32::MAX);
    if allocation.picks.iter().any(|pick| pick.claim > claims) {
        return Err(AllocationError::Unknown("claim"));
    }
    let place = Place { context, row, pools };
    let mut results = Vec::new();
    for (number, claim) in (0..).zip(&resolved.named).filter(|(_, claim)| claim.allocation.is_none()) {
        let picks = picks_of(allocation, number)?;
        let requests = requests::for_claim(claim, &picks).ok_or(AllocationError::Unknown("alternative"))?;
        let (result, devices) = place.give(&picks, &requests, Some(claim))?;
        let (uid, claim) = (Arc::clone(&claim.uid), Some(Arc::clone(claim)));
        results.push(ClaimAllocation { claim, uid, result, devices, extended: None });
    }
    let picks = picks_of(allocation, claims)?;
    match (&resolved.extended, allocation.extended.as_ref().filter(|claim| !claim.requests.is_empty())) {
        (_, None) if picks.is_empty() => {}
        (Some(extended), Some(new)) => {
            let requests = requests::for_new_claim(new);
            let (result, devices) = place.give(&picks, &requests, None)?;
            let (uid, claim) = match extended {
                ExtendedClaim::Known(claim) => (Arc::clone(&claim.uid), Some(Arc::clone(claim))),
                ExtendedClaim::ToBeMade => (Arc::clone(context.pod_uid()), None),
            };
            let extended = Some(place.extended_spec(new)?);
            results.push(ClaimAllocation { claim, uid, result, devices, extended });
        }
        _ => return Err(AllocationError::Unknown("claim")),
    }
    if results.iter().map(ClaimAllocation::bytes).sum::<usize>() > ALLOCATION_BYTES {
        return Err(AllocationError::TooLarge { limit: ALLOCATION_BYTES });
    }
    Ok(results)
}

fn picks_of(allocation: &Allocation, claim: u32) -> Result<Vec<&Pick>, AllocationError> {
    let picks: Vec<&Pick> = allocation.picks.iter().filter(|pick| pick.claim == claim).collect();
    if picks.len() > CLAIM_DEVICES {
        return Err(AllocationError::TooManyDevices { limit: CLAIM_DEVICES });
    }
    Ok(picks)
}

/// The row on which devices are given.
struct Place<'a> {
    context: &'a Context,
    row: Row,
    pools: SeenPools,
}

impl Place<'_> {
    fn snapshot(&self) -> &Snapshot {
        self.context.snapshot()
    }

    /// The allocation of one claim, and its devices. `claim` is the one that has configurations.
    fn give(
        &self,
        picks: &[&Pick],
        requests: &[Taken<'_>],
        claim: Option<&Arc<ClaimRecord>>,
    ) -> Result<(String, Vec<AllocatedDevice>), AllocationError> {
        let mut reached = Vec::with_capacity(picks.len());
        let mut results = Vec::with_capacity(picks.len());
        let mut devices = Vec::with_capacity(picks.len());
        for pick in picks {
            let request = requests.get(pick.request as usize).ok_or(AllocationError::Unknown("request"))?;
            let pool = self.pools.get(pick.pool as usize).ok_or(AllocationError::Unknown("pool"))?;
            let seen = pool.devices.get(pick.device as usize).ok_or(AllocationError::Unknown("device"))?;
            reached.push(self.reached(pool, seen)?);
            let taken = claim.map(|claim| requests::of_pick(claim, pick));
            let taken = taken.map(|taken| taken.ok_or(AllocationError::Unknown("alternative"))).transpose()?;
            let result = device(pick, taken.as_ref().unwrap_or(request), pool, seen);
            devices.push(held(&result, pick)?);
            results.push(result);
        }
        let node = nodes::named(self.snapshot().node_name(self.row));
        let document = AllocationResult {
            devices: Devices { results, config: self.configurations(requests, claim)? },
            node_selector: nodes::selector(&reached, &node)?,
            allocation_timestamp: rfc3339(self.context.now()),
        };
        Ok((document::write(&document)?, devices))
    }

    fn reached(&self, pool: &SeenPool, seen: &SeenDevice) -> Result<Reached, AllocationError> {
        let snapshot = self.snapshot();
        let labels = snapshot.labels().get(self.row);
        let name = snapshot.node_name(self.row);
        let nodes = labels.and_then(|labels| snapshot.devices().nodes_of(&pool.name, &seen.device, name, labels));
        Ok(Reached {
            nodes: nodes.ok_or(AllocationError::Unknown("device"))?,
            binds_to_node: seen.device.traits().content.binds_to_node,
        })
    }

    /// Configurations of the classes, each class once, then those of the claim.
    fn configurations<'a>(
        &'a self,
        requests: &[Taken<'_>],
        claim: Option<&'a Arc<ClaimRecord>>,
    ) -> Result<Vec<Configuration<'a>>, AllocationError> {
        let mut written = Vec::new();
        let mut classes: Vec<&str> = Vec::new();
        for class in requests.iter().map(|request| request.class) {
            let Some(record) = self.snapshot().claims().class(class).filter(|_| !classes.contains(&class)) else {
                continue;
            };
            classes.push(class);
            let of_class = requests.iter().filter(|request| request.class == class);
            let names: Vec<String> = of_class.map(Taken::full_name).collect();
            let of = || format!("DeviceClass {class}");
            for config in kept(&record.configurations, of)? {
                written.push(configuration("FromClass", names.clone(), config, of)?);
            }
        }
        let Some(claim) = claim else { return Ok(written) };
        let of = || format!("ResourceClaim {}", claim.key());
        for config in kept(&claim.configurations, of)? {
            let names = &config.requests;
            // Once for every request that it names, as kube-scheduler 1.36 does.
            let times = match names.is_empty() {
                true => 1,
                false => requests.iter().filter(|request| request.is_named_by(names)).count(),
            };
            for _ in 0..times {
                written.push(configuration("FromClaim", names.clone(), config, of)?);
            }
        }
        Ok(written)
    }

    fn extended_spec(&self, claim: &NewClaim) -> Result<ExtendedSpec, AllocationError> {
        let pod = self.context.pod().claims.as_ref().ok_or(AllocationError::Unknown("claim"))?;
        let requests = claim.requests.iter().map(|request| document::Request {
            name: &request.name,
            exactly: document::Exactly {
                device_class_name: &request.class,
                allocation_mode: "ExactCount",
                count: request.count,
            },
        });
        let mapping = |mapping: &super::Mapping| -> Option<(Arc<str>, Arc<str>)> {
            let container = pod.containers.get(mapping.container as usize)?;
            Some((Arc::clone(&container.name), Arc::clone(pod.resources.get(mapping.resource as usize)?)))
        };
        let named: Option<Vec<_>> = claim.mappings.iter().map(mapping).collect();
        let named = named.ok_or(AllocationError::Unknown("container"))?;
        let mappings = named.iter().zip(&claim.mappings).map(|((container, resource), mapping)| {
            let request_name = &mapping.request;
            document::RequestMapping { container_name: container, resource_name: resource, request_name }
        });
        Ok(ExtendedSpec {
            spec: document::write(&document::Spec { devices: document::Requests { requests: requests.collect() } })?,
            mappings: document::write(&mappings.collect::<Vec<_>>())?,
        })
    }
}

fn kept(configurations: &Configurations, of: impl Fn() -> String) -> Result<&[DeviceConfiguration], AllocationError> {
    let missing = || AllocationError::Configurations { of: of(), limit: CONFIGURATION_BYTES };
    configurations.as_deref().ok_or_else(missing)
}

fn configuration<'a>(
    source: &'static str,
    requests: Vec<String>,
    config: &'a DeviceConfiguration,
    of: impl Fn() -> String,
) -> Result<Configuration<'a>, AllocationError> {
    let raw = |text: &'a str| {
        let read = serde_json::from_str::<&'a RawValue>(text);
        read.map_err(|error| AllocationError::NoJson { of: of(), reason: error.to_string() })
    };
    let opaque = config.opaque.as_ref().map(|opaque| raw(&opaque.0)).transpose()?;
    Ok(Configuration { source, requests, opaque })
}

fn device<'a>(pick: &'a Pick, request: &Taken<'a>, pool: &'a SeenPool, seen: &'a SeenDevice) -> Device<'a> {
    let binding = seen.device.traits().content.binding.as_ref();
    let texts = |texts: &'a [Arc<str>]| texts.iter().map(|text| &**text).collect();
    let consumed = pick.share.iter().flatten();
    Device {
        request: request.full_name(),
        driver: &pool.name.driver,
        pool: &pool.name.name,
        device: &seen.device.name,
        admin_access: request.admin_access,
        tolerations: request.tolerations.iter().map(Toleration::new).collect(),
        binding_conditions: binding.map(|binding| texts(&binding.conditions)).unwrap_or_default(),
        binding_failure_conditions: binding.map(|binding| texts(&binding.failure_conditions)).unwrap_or_default(),
        share_id: pick.share.is_some().then(amount::share_id),
        consumed_capacity: consumed.map(|(name, nano)| (name.as_str(), amount::quantity((*nano).into()))).collect(),
    }
}

/// Converts a device of an allocation to the form in which the cache decodes it from a claim's status.
fn held(device: &Device<'_>, pick: &Pick) -> Result<AllocatedDevice, AllocationError> {
    let amount = |(name, nano): &(String, NanoUnits)| {
        let nano = i128::from(*nano);
        let amount = amount::quantity(nano).parse::<Quantity>();
        amount.map(|amount| (name.clone(), amount)).map_err(|_| AllocationError::Amount(nano))
    };
    let amounts = pick.share.iter().flatten().map(amount);
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    Ok(AllocatedDevice {
        request: device.request.clone(),
        driver: device.driver.to_owned(),
        pool: device.pool.to_owned(),
        device: device.device.to_owned(),
        admin_access: device.admin_access,
        share_id: device.share_id.clone(),
        consumed_capacity: amounts.collect::<Result<ResourceList, AllocationError>>()?,
        binding_conditions: texts(&device.binding_conditions),
        binding_failure_conditions: texts(&device.binding_failure_conditions),
        skip_node_operations: Vec::new(),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use nodesift_object::device_configuration::JsonText;

    use super::*;

    #[test]
    fn parameters_that_are_no_json_are_named_as_such() {
        let written = |text: &str| {
            let config = DeviceConfiguration { requests: Vec::new(), opaque: Some(JsonText(text.to_owned())) };
            configuration("FromClass", Vec::new(), &config, || "DeviceClass gpu".to_owned()).map(|_| ())
        };
        assert_eq!(written(r#"{"driver":"d"}"#), Ok(()));
        let error = written("{").unwrap_err().to_string();
        assert!(error.starts_with("DeviceClass gpu: the parameters of a configuration are no JSON: EOF"), "{error}");
    }
}
