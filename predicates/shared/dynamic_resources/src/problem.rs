//! Problems that end the cycle, and their texts, which are kube-scheduler's.
//!
//! Start at [`Problem::text`].

use crate::capacity;
use crate::facts::{Broken, Facts, PoolState};
use crate::fit::{Selection, selection};
use crate::limits;
use crate::picks::Given;
use crate::plan::{Fault, Mode};

/// Between the selector and the words of the CEL library.
const RUNTIME_ERROR: &str = ": CEL runtime error: ";

/// A problem. Claims and what is asked are places in the plan; pools, devices and kinds are numbers in the facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Problem {
    /// Nothing can be allocated for what is asked.
    Asked { asked: usize },
    /// All devices are asked for, and a pool cannot be used.
    Pool { asked: usize, pool: usize },
    /// An invalid pool was come to.
    InvalidPool { pool: usize },
    /// The claim asks for too many devices: at least this many.
    TooManyDevices { claim: usize, least: u64 },
    /// With this request, the claim asks for too many devices: at least so many more than the requests before it.
    TooManyWithRequest { claim: usize, request: usize, fewest: u64, least: u64 },
    /// A request asks for capacity although no device can be shared.
    CapacityRefused { request: usize },
    /// A constraint of the claim is of an unknown kind.
    Constraint { claim: usize },
    /// A selector fails for a device.
    Selector { asked: usize, device: usize },
    /// A capacity of a device is an error.
    Capacity { asked: usize, device: usize, is_one_of_all: bool },
    /// All devices are asked for, and a constraint refuses one.
    Unsatisfied { asked: usize, device: usize },
    /// The search took too many steps.
    Steps,
}

impl Problem {
    /// The text where a search takes too long.
    pub(crate) const TIMED_OUT: &str = "timed out trying to allocate devices";

    /// The text; `None` where it names a pool or device and the facts have no names.
    ///
    /// # Errors
    /// What it names does not exist.
    pub(crate) fn text(self, given: Given<'_>, named: bool, facts: &impl Facts) -> Result<Option<String>, Broken> {
        let text = match self {
            Self::Asked { asked } => {
                let about = about(asked, given, facts)?;
                let asked = given.plan.asked.get(asked).ok_or(Broken::Alternatives)?;
                match (asked.fault, asked.mode) {
                    (Some(Fault::Derives), _) => {
                        format!("{about}: cannot handle request with derived attributes, the feature is disabled")
                    }
                    (Some(Fault::Selector(number)), _) => {
                        format!("{about}, selector #{number}: CEL expression empty (unsupported selector type?)")
                    }
                    (Some(Fault::NoClass), _) => {
                        format!("{about}: missing device class name (unsupported request type?)")
                    }
                    (Some(Fault::UnknownClass), _) => {
                        format!("{about}: could not retrieve device class {}", asked.class)
                    }
                    (None, Mode::Unknown(mode)) => format!("{about}: unsupported count mode {mode}"),
                    (None, Mode::All | Mode::Count(_)) => return Err(Broken::Alternatives),
                }
            }
            Self::Pool { .. } | Self::InvalidPool { .. } | Self::Unsatisfied { .. } | Self::Capacity { .. }
                if !named =>
            {
                return Ok(None);
            }
            Self::Pool { asked, pool } => {
                let found = given.devices.pools.get(pool).ok_or(Broken::Pools)?;
                let state = if found.state == PoolState::Invalid { "invalid" } else { "being updated" };
                let (about, pool) = (about(asked, given, facts)?, pool_name(pool, given)?);
                format!("{about}: asks for all devices, but resource pool {pool} is currently {state}")
            }
            Self::InvalidPool { pool } => {
                let name = given.devices.pool_names.get(pool).ok_or(Broken::Names)?;
                let span = given.layout.pools(pool..pool.saturating_add(1)).first().ok_or(Broken::Pools)?;
                let names = given.devices.names.get(span.devices.clone()).ok_or(Broken::Names)?;
                let is_repeated =
                    |(place, name): &(usize, &String)| names.iter().take(*place).any(|other| other == *name);
                let repeated = names.iter().enumerate().find(is_repeated).map_or("", |(_, name)| name.as_str());
                format!("pool {name} is invalid: duplicate device name {repeated}")
            }
            Self::TooManyDevices { claim, least } => {
                let (claim, limit) = (claim_name(claim, given, facts)?, limits::CLAIM_DEVICES);
                format!("claim {claim}: number of requested devices {least} exceeds the claim limit of {limit}")
            }
            Self::TooManyWithRequest { claim, request, fewest, least } => {
                let (claim, limit) = (claim_name(claim, given, facts)?, limits::CLAIM_DEVICES);
                let request = given.plan.requests.get(request).ok_or(Broken::Alternatives)?.base;
                format!(
                    "claim {claim}, request {request}: adding {fewest} devices exceeds the claim limit of {limit}, with {least} already \
                     accounted for"
                )
            }
            Self::CapacityRefused { request } => {
                let request = given.plan.requests.get(request).ok_or(Broken::Alternatives)?;
                let asked = request.refused_capacity.and_then(|asked| given.plan.asked.get(asked));
                let asked = asked.ok_or(Broken::Alternatives)?;
                let about = if request.has_alternatives && !given.plan.switches.experimental_allocator {
                    format!("subrequest {}", asked.own_name)
                } else {
                    format!("request {}", request.base)
                };
                let claim = claim_name(asked.claim, given, facts)?;
                format!(
                    "claim {claim}, {about}: has capacity requests, but the DRAConsumableCapacity feature is disabled"
                )
            }
            Self::Capacity { asked, device, is_one_of_all } => {
                let about = about(asked, given, facts)?;
                let device_name = if is_one_of_all {
                    given.devices.names.get(device).ok_or(Broken::Names)?.clone()
                } else {
                    device_name(device, given)?
                };
                let asked = given.plan.asked.get(asked).ok_or(Broken::Alternatives)?;
                let (_, kind) = given.kind(device)?;
                let problem = capacity::problem(asked.capacity, &kind.capacities).ok_or(Broken::Kinds)?;
                format!("{about}: checking capacity for device {device_name}: {problem}")
            }
            Self::Constraint { claim } => {
                let planned = given.plan.claims.get(claim).ok_or(Broken::Alternatives)?;
                let number = planned.unknown_constraint.ok_or(Broken::Alternatives)?;
                let claim = facts.claim_name(planned.number);
                format!("claim {claim}, constraint #{number}: empty constraint (unsupported constraint type?)")
            }
            Self::Selector { asked, device } => {
                let asked = given.plan.asked.get(asked).ok_or(Broken::Alternatives)?;
                let (whose, error) = match selection(asked, given.kind(device)?.1)? {
                    Selection::ByClass(error) => (format!("class {}", asked.class), error),
                    Selection::ByRequest(error) => (format!("claim {}", claim_name(asked.claim, given, facts)?), error),
                    Selection::ByNode(error) => return Ok(Some(error.to_owned())),
                    Selection::Yes | Selection::No => return Err(Broken::Kinds),
                };
                match error.split_once(RUNTIME_ERROR) {
                    Some(_) if given.plan.switches.selector_errors_name_device && !named => return Ok(None),
                    Some((selector, error)) if given.plan.switches.selector_errors_name_device => {
                        let device = device_name(device, given)?;
                        format!("{whose}: {selector} on device {device}{RUNTIME_ERROR}{error}")
                    }
                    _ => format!("{whose}: {error}"),
                }
            }
            Self::Unsatisfied { asked, device } => {
                let about = about(asked, given, facts)?;
                let device = device_name(device, given)?;
                format!("{about}: cannot add device {device} because a claim constraint would not be satisfied")
            }
            Self::Steps => Self::TIMED_OUT.to_owned(),
        };
        Ok(Some(text))
    }
}

/// Which request of which claim a text is about.
fn about(asked: usize, given: Given<'_>, facts: &impl Facts) -> Result<String, Broken> {
    let asked = given.plan.asked.get(asked).ok_or(Broken::Alternatives)?;
    Ok(format!("claim {}, request {}", claim_name(asked.claim, given, facts)?, asked.own_name))
}

fn claim_name(claim: usize, given: Given<'_>, facts: &impl Facts) -> Result<String, Broken> {
    Ok(facts.claim_name(given.plan.claims.get(claim).ok_or(Broken::Alternatives)?.number))
}

fn device_name(device: usize, given: Given<'_>) -> Result<String, Broken> {
    let pool = pool_name(given.layout.pool_of(device), given)?;
    let name = given.devices.names.get(device).ok_or(Broken::Names)?;
    Ok(format!("{pool}/{name}"))
}

fn pool_name(pool: usize, given: Given<'_>) -> Result<String, Broken> {
    let name = given.devices.pool_names.get(pool).ok_or(Broken::Names)?;
    let pool = given.devices.pools.get(pool).ok_or(Broken::Pools)?;
    let driver = given.devices.drivers.get(pool.driver as usize).ok_or(Broken::Names)?;
    Ok(format!("{driver}/{name}"))
}
