//! Problems that end the cycle, and their texts, which are kube-scheduler's.
//!
//! Start at [`Problem::text`].

use crate::facts::{Broken, Facts, PoolState};
use crate::fit::{Selection, selection};
use crate::limits;
use crate::picks::Given;
use crate::plan::{Fault, Mode};

/// A problem. Claims and what is asked are places in the plan; pools, devices and kinds are numbers in the facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Problem {
    /// Nothing can be allocated for what is asked.
    Asked { asked: usize },
    /// All devices are asked for, and a pool cannot be used.
    Pool { asked: usize, pool: usize },
    /// The claim asks for too many devices: at least this many.
    TooManyDevices { claim: usize, least: u64 },
    /// A constraint of the claim is of an unknown kind.
    Constraint { claim: usize },
    /// A selector fails for a kind of devices.
    Selector { asked: usize, kind: usize },
    /// All devices are asked for, and a constraint refuses one.
    Unsatisfied { asked: usize, device: usize },
    /// The search took too many steps.
    Steps,
}

impl Problem {
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
            Self::Pool { .. } | Self::Unsatisfied { .. } if !named => return Ok(None),
            Self::Pool { asked, pool } => {
                let found = given.devices.pools.get(pool).ok_or(Broken::Pools)?;
                let state = if found.state == PoolState::Invalid { "invalid" } else { "being updated" };
                let (about, pool) = (about(asked, given, facts)?, pool_name(pool, given)?);
                format!("{about}: asks for all devices, but resource pool {pool} is currently {state}")
            }
            Self::TooManyDevices { claim, least } => {
                let (claim, limit) = (claim_name(claim, given, facts)?, limits::CLAIM_DEVICES);
                format!("claim {claim}: number of requested devices {least} exceeds the claim limit of {limit}")
            }
            Self::Constraint { claim } => {
                let planned = given.plan.claims.get(claim).ok_or(Broken::Alternatives)?;
                let number = planned.unknown_constraint.ok_or(Broken::Alternatives)?;
                let claim = facts.claim_name(planned.number);
                format!("claim {claim}, constraint #{number}: empty constraint (unsupported constraint type?)")
            }
            Self::Selector { asked, kind } => {
                let asked = given.plan.asked.get(asked).ok_or(Broken::Alternatives)?;
                match selection(asked, given.devices.kinds.get(kind).ok_or(Broken::Kinds)?)? {
                    Selection::ByClass(error) => format!("class {}: {error}", asked.class),
                    Selection::ByRequest(error) => {
                        format!("claim {}: {error}", claim_name(asked.claim, given, facts)?)
                    }
                    Selection::ByNode(error) => error.to_owned(),
                    Selection::Yes | Selection::No => return Err(Broken::Kinds),
                }
            }
            Self::Unsatisfied { asked, device } => {
                let about = about(asked, given, facts)?;
                let pool = pool_name(given.layout.pool_of(device), given)?;
                let device = given.devices.names.get(device).ok_or(Broken::Names)?;
                format!("{about}: cannot add device {pool}/{device} because a claim constraint would not be satisfied")
            }
            Self::Steps => "timed out trying to allocate devices".to_owned(),
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

fn pool_name(pool: usize, given: Given<'_>) -> Result<String, Broken> {
    let name = given.devices.pool_names.get(pool).ok_or(Broken::Names)?;
    let pool = given.devices.pools.get(pool).ok_or(Broken::Pools)?;
    let driver = given.devices.drivers.get(pool.driver as usize).ok_or(Broken::Names)?;
    Ok(format!("{driver}/{name}"))
}
