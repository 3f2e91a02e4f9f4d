//! The devices picked so far, and whether another one may be: use, counters, taints, constraints, capacity.
//!
//! Start at [`Picks::pick`]. Each pick changes a few numbers, which [`Picks::undo`] sets back.

use std::ops::Range;

use crate::facts::{Broken, Devices, EXCLUSIVE, Held, Kind, SHARED, UNKNOWN_TYPE};
use crate::fit::{Fit, Fits};
use crate::layout::Layout;
use crate::plan::{Plan, PlannedAsked};
use crate::quantity::Quantity;

/// Inputs of a search. Devices are numbers in the columns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Given<'a> {
    pub(crate) plan: &'a Plan<'a>,
    pub(crate) devices: &'a Devices,
    pub(crate) layout: &'a Layout,
    pub(crate) fits: &'a Fits,
    /// How many attributes the query has.
    pub(crate) attributes: usize,
}

/// A device and what it was picked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pick {
    /// The place in the plan of what is asked.
    pub(crate) asked: usize,
    pub(crate) device: usize,
    /// Where the changes of counters begin that it made.
    changes: usize,
}

/// Why a device cannot be picked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// In use, or not enough is left, or it is tainted.
    Unavailable,
    /// A constraint of the claim.
    Constraint,
}

/// The picks so far.
#[derive(Debug)]
pub(crate) struct Picks<'a> {
    given: Given<'a>,
    picks: Vec<Pick>,
    /// The situation's first device and first counter in the columns.
    first_device: usize,
    first_counter: usize,
    /// By device of the situation: how often it was picked.
    times: Vec<u32>,
    /// By counter of the situation: what picks draw.
    drawn: Vec<Quantity>,
    /// Counters changed, with what was drawn before.
    changes: Vec<(usize, Quantity)>,
    /// By claim: how many devices it has.
    by_claim: Vec<usize>,
    /// By constraint: what it remembers of its devices.
    memories: Vec<Memory>,
}

/// Values of the devices under one constraint.
#[derive(Debug, Clone, Default)]
struct Memory {
    /// All of them, in order; with [`Switches::distinct_per_request`] and for `distinctAttribute`, by number of the request the last one,
    /// and 0 for none.
    ///
    /// [`Switches::distinct_per_request`]: crate::switches::Switches::distinct_per_request
    values: Vec<u32>,
    /// How many devices are under the constraint.
    count: usize,
}

impl<'a> Picks<'a> {
    /// No picks. [`Picks::start`] begins a situation.
    pub(crate) fn new(given: Given<'a>) -> Self {
        Self {
            given,
            picks: Vec::new(),
            first_device: 0,
            first_counter: 0,
            times: Vec::new(),
            drawn: Vec::new(),
            changes: Vec::new(),
            by_claim: Vec::new(),
            memories: Vec::new(),
        }
    }

    /// Forgets all picks and begins the situation with these pools.
    pub(crate) fn start(&mut self, pools: Range<usize>) {
        let span = self.given.layout.span(pools);
        (self.first_device, self.first_counter) = (span.devices.start, span.counters.start);
        self.picks.clear();
        self.changes.clear();
        refill(&mut self.times, span.devices.len(), 0);
        refill(&mut self.drawn, span.counters.len(), Quantity::default());
        refill(&mut self.by_claim, self.given.plan.claims.len(), 0);
        self.memories.clear();
        self.memories.resize(self.given.plan.constraints.len(), Memory::default());
    }

    /// All picks, in order.
    pub(crate) fn all(&self) -> &[Pick] {
        &self.picks
    }

    /// How many devices a claim has.
    pub(crate) fn devices_in_claim(&self, claim: usize) -> usize {
        self.by_claim.get(claim).copied().unwrap_or(0)
    }

    /// Whether the device is in use so that the request must not even look at it. Shares do not count.
    ///
    /// # Errors
    /// The device or its kind does not exist.
    pub(crate) fn is_in_use(&self, asked: &PlannedAsked<'_>, device: usize) -> Result<bool, Broken> {
        let is_picked = self.times_picked(device)? > 0;
        if !asked.admin_access && self.in_use(device)? & EXCLUSIVE != 0 {
            return Ok(true);
        }
        if !is_picked || self.kind(device)?.1.multiple_allocations {
            return Ok(false);
        }
        let claim_of = |pick: &Pick| self.given.plan.asked.get(pick.asked).map(|asked| asked.claim);
        let of_claim = |pick: &Pick| pick.device == device && claim_of(pick) == Some(asked.claim);
        Ok(!asked.admin_access || self.picks.iter().any(of_claim))
    }

    /// Whether what is asked of the device's capacities is left.
    ///
    /// # Errors
    /// The device or its kind does not exist.
    pub(crate) fn has_room(&self, place: usize, device: usize) -> Result<bool, Broken> {
        let (number, kind) = self.kind(device)?;
        if self.fit(place, number)?.is_too_small() {
            return Ok(false);
        }
        let has_held = self.in_use(device)? & SHARED != 0;
        let has_picked = kind.multiple_allocations && self.times_picked(device)? > 0;
        if kind.capacities.is_empty() || !(has_held || has_picked) {
            return Ok(true);
        }
        let held = if has_held { self.given.held_of(device) } else { &[] };
        let count = kind.capacities.len();
        let wanted = self.given.fits.taken(place, number, count);
        for (capacity, (limit, wanted)) in kind.capacities.iter().zip(wanted).enumerate() {
            let held = held.iter().filter(|held| held.capacity as usize == capacity);
            let mut used = held.fold(*wanted, |sum, held| sum.plus(held.amount.into()));
            if has_picked {
                for pick in self.picks.iter().filter(|pick| pick.device == device) {
                    let taken = self.given.fits.taken(pick.asked, number, count).get(capacity);
                    used = used.plus(taken.copied().unwrap_or_default());
                }
            }
            if used > limit.value.into() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Picks a device if possible.
    ///
    /// # Errors
    /// Facts about it are missing.
    pub(crate) fn pick(&mut self, place: usize, device: usize) -> Result<Result<(), Refusal>, Broken> {
        let plan = self.given.plan;
        let asked = plan.asked.get(place).ok_or(Broken::Alternatives)?;
        let (number, kind) = self.kind(device)?;
        let fit = self.fit(place, number)?;
        if fit.is_tainted() || self.is_in_use(asked, device)? {
            return Ok(Err(Refusal::Unavailable));
        }
        let changes = self.changes.len();
        if !self.draw(asked, device, kind)? {
            self.restore(changes);
            return Ok(Err(Refusal::Unavailable));
        }
        for (added, constraint) in asked.constraints.iter().enumerate() {
            if !self.remember(asked, *constraint, device)? {
                self.forget(asked, added);
                self.restore(changes);
                return Ok(Err(Refusal::Constraint));
            }
        }
        if !self.has_room(place, device)? {
            self.forget(asked, asked.constraints.len());
            self.restore(changes);
            return Ok(Err(Refusal::Unavailable));
        }
        if self.in_use(device)? != 0 && !plan.switches.admin_access_pays {
            // What devices in use draw is off the totals already.
            self.restore(changes);
        }
        *self.times.get_mut(device.wrapping_sub(self.first_device)).ok_or(Broken::Devices)? += 1;
        *self.by_claim.get_mut(asked.claim).ok_or(Broken::Devices)? += 1;
        self.picks.push(Pick { asked: place, device, changes });
        Ok(Ok(()))
    }

    /// Takes the last pick back.
    pub(crate) fn undo(&mut self) {
        let Some(pick) = self.picks.pop() else { return };
        self.restore(pick.changes);
        if let Some(times) = self.times.get_mut(pick.device.wrapping_sub(self.first_device)) {
            *times -= 1;
        }
        let Some(asked) = self.given.plan.asked.get(pick.asked) else { return };
        if let Some(count) = self.by_claim.get_mut(asked.claim) {
            *count -= 1;
        }
        self.forget(asked, asked.constraints.len());
    }

    /// Draws on the pool's counters what the device consumes; false where they do not suffice. A shared device draws once; one
    /// that is only looked at does not.
    fn draw(&mut self, asked: &PlannedAsked<'_>, device: usize, kind: &'a Kind) -> Result<bool, Broken> {
        if kind.consumes.is_empty() || (asked.admin_access && !self.given.plan.switches.admin_access_pays) {
            return Ok(true);
        }
        if kind.multiple_allocations && (self.has_paid(device)? || self.is_drawing(device)) {
            return Ok(true);
        }
        let pool = self.given.layout.pool_of(device);
        let span = self.given.layout.pools(pool..pool.saturating_add(1)).first().ok_or(Broken::Pools)?;
        let first = span.counters.start.wrapping_sub(self.first_counter);
        for (counter, amount) in &kind.consumes {
            let counter = *counter as usize;
            if counter >= span.counters.len() {
                return Err(Broken::Counters);
            }
            let drawn = self.drawn.get_mut(first + counter).ok_or(Broken::Counters)?;
            self.changes.push((first + counter, *drawn));
            *drawn = drawn.plus((*amount).into());
        }
        let counters = self.given.devices.counters.get(span.counters.clone()).ok_or(Broken::Counters)?;
        let drawn = self.drawn.get(first..).unwrap_or_default();
        // All of them count: where one is oversold, the pool gives nothing that draws.
        Ok(counters.iter().zip(drawn).all(|(counter, drawn)| drawn.plus(counter.held.into()) <= counter.total.into()))
    }

    /// Whether a share that somebody holds has drawn for the device.
    fn has_paid(&self, device: usize) -> Result<bool, Broken> {
        let switches = &self.given.plan.switches;
        Ok(if switches.shares_pay_twice {
            !self.given.held_of(device).is_empty()
        } else if switches.admin_access_pays {
            self.in_use(device)? & SHARED != 0
        } else {
            self.in_use(device)? != 0
        })
    }

    /// Whether a pick draws for the device.
    fn is_drawing(&self, device: usize) -> bool {
        let all_pay = self.given.plan.switches.admin_access_pays;
        let asked = |pick: &Pick| self.given.plan.asked.get(pick.asked);
        let draws = |pick: &Pick| all_pay || asked(pick).is_some_and(|asked| !asked.admin_access);
        self.picks.iter().any(|pick| pick.device == device && draws(pick))
    }

    fn restore(&mut self, changes: usize) {
        while self.changes.len() > changes {
            let Some((counter, before)) = self.changes.pop() else { return };
            if let Some(drawn) = self.drawn.get_mut(counter) {
                *drawn = before;
            }
        }
    }

    /// Adds a device to those under a constraint, if they satisfy it together.
    fn remember(&mut self, asked: &PlannedAsked<'_>, constraint: usize, device: usize) -> Result<bool, Broken> {
        let value = self.value(constraint, device)?;
        let is_per_request = self.is_per_request(constraint);
        let memory = self.memories.get_mut(constraint).ok_or(Broken::Devices)?;
        let must_match = self.given.plan.constraints.get(constraint).is_some_and(|constraint| constraint.must_match);
        let is_known = value != UNKNOWN_TYPE;
        // Addresses of two devices' values always differ.
        let differs = |other: u32| self.given.plan.switches.distinct_by_address || value != other;
        let holds = if must_match {
            // All others equal the first one.
            memory.values.first().is_none_or(|first| is_known && value == *first)
        } else {
            memory.values.iter().filter(|other| **other != 0).all(|other| is_known && differs(*other))
        };
        if value == 0 || !(holds || memory.count == 0) {
            return Ok(false);
        }
        if is_per_request {
            let request = asked.request as usize;
            if memory.values.len() <= request {
                memory.values.resize(request + 1, 0);
            }
            *memory.values.get_mut(request).ok_or(Broken::Alternatives)? = value;
        } else {
            memory.values.push(value);
        }
        memory.count += 1;
        Ok(true)
    }

    /// Takes the last device back from the first `count` constraints that it is under.
    fn forget(&mut self, asked: &PlannedAsked<'_>, count: usize) {
        for constraint in asked.constraints.iter().take(count) {
            let is_per_request = self.is_per_request(*constraint);
            let Some(memory) = self.memories.get_mut(*constraint) else { continue };
            if is_per_request {
                // Even where another device of the request is still under the constraint.
                memory.values.iter_mut().skip(asked.request as usize).take(1).for_each(|value| *value = 0);
            } else {
                memory.values.pop();
            }
            memory.count = memory.count.saturating_sub(1);
        }
    }

    /// Whether a constraint remembers one device of each request.
    fn is_per_request(&self, constraint: usize) -> bool {
        let plan = self.given.plan;
        plan.switches.distinct_per_request && plan.constraints.get(constraint).is_some_and(|it| !it.must_match)
    }

    /// The value of a device's attribute that a constraint is about.
    fn value(&self, constraint: usize, device: usize) -> Result<u32, Broken> {
        let constraint = self.given.plan.constraints.get(constraint).ok_or(Broken::Devices)?;
        let at = device.saturating_mul(self.given.attributes).saturating_add(constraint.attribute);
        self.given.devices.values.get(at).copied().ok_or(Broken::Devices)
    }

    fn times_picked(&self, device: usize) -> Result<u32, Broken> {
        self.times.get(device.wrapping_sub(self.first_device)).copied().ok_or(Broken::Devices)
    }

    fn in_use(&self, device: usize) -> Result<u8, Broken> {
        self.given.devices.in_use.get(device).copied().ok_or(Broken::Devices)
    }

    fn fit(&self, place: usize, kind: usize) -> Result<Fit, Broken> {
        self.given.fits.for_asked(place).get(kind).copied().ok_or(Broken::Kinds)
    }

    fn kind(&self, device: usize) -> Result<(usize, &'a Kind), Broken> {
        self.given.kind(device)
    }
}

impl<'a> Given<'a> {
    /// The kind of a device, with its number.
    pub(crate) fn kind(&self, device: usize) -> Result<(usize, &'a Kind), Broken> {
        let number = *self.devices.device_kinds.get(device).ok_or(Broken::Devices)? as usize;
        Ok((number, self.devices.kinds.get(number).ok_or(Broken::Kinds)?))
    }

    /// Returns the amounts that shares hold of a device's capacities.
    fn held_of(&self, device: usize) -> &'a [Held] {
        let held = &self.devices.held;
        let start = held.partition_point(|held| (held.device as usize) < device);
        let end = held.partition_point(|held| held.device as usize <= device);
        held.get(start..end).unwrap_or_default()
    }
}

/// Makes a list so many of one value.
fn refill<T: Copy>(list: &mut Vec<T>, count: usize, value: T) {
    list.clear();
    list.resize(count, value);
}
