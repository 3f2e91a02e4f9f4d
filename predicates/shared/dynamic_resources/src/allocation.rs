//! Allocation of devices to the pod's claims on one row. Start at [`allocate`].

use crate::extended::Special;
use crate::facts::{Broken, Facts, NanoUnits};
use crate::filter::{Outcome, search_one, situation_of};
use crate::fit::Fits;
use crate::layout::Layout;
use crate::picks::{Given, Pick};
use crate::pod::{Pod, Task};
use crate::search::{Ending, Search};
use crate::switches::Switches;

/// Devices that the pod's claims get on one row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Allocation {
    /// Devices, in the order picked.
    pub picks: Vec<Picked>,
    /// The claim for extended resources that has to be made; it may have no requests.
    pub special: Option<Special>,
}

/// A device that a claim gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picked {
    /// The number of the claim; that for extended resources comes after the last of the pod.
    pub claim: u32,
    /// The number of the request in the claim.
    pub request: u32,
    /// The number of the alternative; 0 where there are none.
    pub alternative: u32,
    /// The number of the pool in the row's situation.
    pub pool: u32,
    /// The number of the device in the pool.
    pub device: u32,
    /// For a share, what it takes of each capacity by name, sorted; `None` where the claim has the device for itself.
    pub share: Option<Vec<(String, NanoUnits)>>,
}

/// Allocates devices to the pod's claims on a row; `None` where the row does not fit. The allocation is empty where all claims are
/// allocated already.
///
/// # Errors
/// The host's facts contradict themselves.
pub fn allocate(
    facts: &impl Facts,
    rows: usize,
    row: usize,
    switches: &Switches,
) -> Result<Option<Allocation>, Broken> {
    let Ok(pod) = Pod::resolve(facts, rows, switches)? else { return Ok(None) };
    if row >= rows {
        return Err(Broken::Rows);
    }
    let plan = match pod.task(row) {
        _ if pod.is_without_claims() => return Ok(Some(Allocation::default())),
        Task::Nothing => return Ok(Some(Allocation::default())),
        Task::Reject(_) => return Ok(None),
        _ if !pod.is_available(row) => return Ok(None),
        Task::Use => return Ok(Some(Allocation::default())),
        Task::Allocate(plan) => plan,
    };
    let special = pod.special(plan).cloned();
    let (plans, query) = pod.plans(switches)?;
    let plan = plans.get(plan).ok_or(Broken::Rows)?;
    let mut devices = facts.devices(&query);
    devices.hide(&query, switches);
    let layout = Layout::try_new(&devices, &query, rows)?;
    let fits = Fits::new(plan, &devices)?;
    let given = Given { plan, devices: &devices, layout: &layout, fits: &fits, attributes: query.attributes.len() };
    let mut search = Search::new(given);
    let situation = situation_of(&devices, row)?;
    if !matches!(search_one(&mut search, &devices, situation)?, Outcome::Searched(Ending::Found)) {
        return Ok(None);
    }
    let first_pool = layout.pools_of(situation).start;
    let picks = search.picks().iter().map(|pick| picked(given, *pick, first_pool)).collect::<Result<_, _>>()?;
    Ok(Some(Allocation { picks, special }))
}

fn picked(given: Given<'_>, pick: Pick, first_pool: usize) -> Result<Picked, Broken> {
    let asked = given.plan.asked.get(pick.asked).ok_or(Broken::Alternatives)?;
    let claim = given.plan.claims.get(asked.claim).ok_or(Broken::Alternatives)?.number;
    let pool = given.layout.pool_of(pick.device);
    let span = given.layout.pools(pool..pool.saturating_add(1)).first().ok_or(Broken::Pools)?;
    let (kind, found) = given.kind(pick.device)?;
    let taken = given.fits.taken(pick.asked, kind, found.capacities.len());
    let share = found.capacities.iter().zip(taken);
    let share = share.map(|(capacity, taken)| (capacity.name.clone(), taken.nano_units().into())).collect();
    Ok(Picked {
        claim,
        request: asked.request,
        alternative: asked.alternative,
        pool: number(pool.wrapping_sub(first_pool))?,
        device: number(pick.device.wrapping_sub(span.devices.start))?,
        share: found.multiple_allocations.then_some(share),
    })
}

fn number(place: usize) -> Result<u32, Broken> {
    u32::try_from(place).map_err(|_| Broken::Pools)
}
