//! Devices that no solution has, so that a long search passes over them. It changes how long a search takes, not how it ends.
//!
//! Start at [`Pruning::look`]. Where all devices of a claim must have one value, a value that too few free devices have is no
//! choice; and where too few devices are left for a request, there is no solution. Both hold for any order of picks, so the first
//! solution stays the first. Where a search might end with a problem, or with too many devices, nothing is pruned: it would have
//! to be met as before.

use std::ops::Range;

use crate::facts::{Broken, EXCLUSIVE, UNKNOWN_TYPE};
use crate::limits;
use crate::picks::Given;
use crate::plan::{Mode, PlannedClaim, PlannedRequest};

/// Devices of a situation that no solution has, by what is asked.
#[derive(Debug)]
pub(crate) struct Pruning<'a> {
    given: Given<'a>,
    /// Whether no search with this plan can end with a problem or with too many devices.
    is_sound: bool,
    is_ready: bool,
    /// Devices of the situation, as a range of the columns.
    devices: Range<usize>,
    /// By what is asked, then by device: whether no solution has the device for it.
    is_blocked: Vec<bool>,
    /// Devices with their values of one attribute, sorted by value.
    by_value: Vec<(u32, usize)>,
}

impl<'a> Pruning<'a> {
    /// Nothing known. [`Pruning::start`] begins a situation.
    pub(crate) fn new(given: Given<'a>) -> Self {
        let plan = given.plan;
        let most = |request: &PlannedRequest<'_>| {
            let asked = plan.asked.get(request.asked.clone()).unwrap_or_default().iter();
            let counts =
                asked.map(|asked| if let Mode::Count(count) = asked.mode { narrow(count) } else { usize::MAX });
            counts.max().unwrap_or(0)
        };
        let is_small = |claim: &PlannedClaim| {
            let requests = plan.requests.get(claim.requests.clone()).unwrap_or_default();
            requests.iter().fold(0_usize, |sum, request| sum.saturating_add(most(request))) <= limits::CLAIM_DEVICES
        };
        let has_failed =
            || (0..plan.asked.len()).any(|asked| given.fits.for_asked(asked).iter().any(|fit| fit.is_error()));
        // What constraints remember may depend on devices that were tried in vain.
        let is_exact = !plan.switches.distinct_per_request || plan.constraints.iter().all(|it| it.must_match);
        let is_sound = is_exact && plan.claims.iter().all(is_small) && !has_failed();
        Self { given, is_sound, is_ready: false, devices: 0..0, is_blocked: Vec::new(), by_value: Vec::new() }
    }

    /// Forgets everything and begins a situation with these devices.
    pub(crate) fn start(&mut self, devices: Range<usize>) {
        self.devices = devices;
        self.is_ready = false;
    }

    /// Whether it pays to look now: after about as much time as looking takes.
    pub(crate) fn pays_after(&self, steps: u32) -> bool {
        let looks = self.devices.len().saturating_mul(self.given.plan.asked.len());
        self.is_sound
            && !self.is_ready
            && steps as usize >= limits::STEPS_BEFORE_PRUNING.max(looks / limits::LOOKS_PER_STEP)
    }

    /// Whether no solution has the device for what is asked; false as long as nobody has looked.
    pub(crate) fn is_blocked(&self, asked: usize, device: usize) -> bool {
        self.is_ready && self.is_blocked.get(self.place(asked, device)).is_some_and(|is_blocked| *is_blocked)
    }

    /// Looks at all devices. False: there is no solution.
    ///
    /// # Errors
    /// Facts about devices are missing.
    pub(crate) fn look(&mut self) -> Result<bool, Broken> {
        let plan = self.given.plan;
        self.is_ready = true;
        self.is_blocked.clear();
        for (number, asked) in plan.asked.iter().enumerate() {
            let excluding = if asked.admin_access { 0 } else { EXCLUSIVE };
            let fits = self.given.fits.for_asked(number);
            for device in self.devices.clone() {
                let (kind, _) = self.given.kind(device)?;
                let in_use = self.given.devices.in_use.get(device).ok_or(Broken::Devices)?;
                let fit = fits.get(kind).ok_or(Broken::Kinds)?;
                self.is_blocked.push(in_use & excluding != 0 || !fit.is_candidate());
            }
        }
        for claim in &plan.claims {
            for constraint in claim.constraints.clone() {
                self.look_at_constraint(claim, constraint)?;
            }
        }
        let all = self.devices.clone();
        let has_enough = |request: &PlannedRequest<'_>| {
            let mut asked = request.asked.clone();
            asked
                .any(|asked| all.clone().filter(|device| !self.is_blocked(asked, *device)).count() >= self.count(asked))
        };
        Ok(plan.requests.iter().all(has_enough) && self.can_match()?)
    }

    /// Whether requests could have their devices if nothing but who may have which counted: a matching of what they want with devices.
    /// n requests that want n - 1 devices have none, which a search would find out by trying all orders. Requests with alternatives, for
    /// all devices, or with administrative access want nothing here.
    ///
    /// # Errors
    /// Facts about devices are missing.
    fn can_match(&self) -> Result<bool, Broken> {
        let plan = self.given.plan;
        let single = plan.requests.iter().filter(|request| request.asked.len() == 1).map(|request| request.asked.start);
        let is_exclusive = |asked: &usize| plan.asked.get(*asked).is_some_and(|asked| !asked.admin_access);
        let wanting: Vec<usize> = single.filter(is_exclusive).filter(|asked| self.count(*asked) > 0).collect();
        let wanted = wanting.iter().fold(0_usize, |sum, asked| sum.saturating_add(self.count(*asked)));
        let mut choices: Vec<Vec<usize>> = Vec::with_capacity(wanting.len());
        for asked in &wanting {
            let mut devices = Vec::new();
            for device in self.devices.clone().filter(|device| !self.is_blocked(*asked, *device)) {
                // A device that is shared is there for everybody.
                if self.given.kind(device)?.1.multiple_allocations {
                    devices.clear();
                    break;
                }
                devices.push(device.wrapping_sub(self.devices.start));
                // Enough for all: what it takes keeps it from nobody, and nobody from it.
                if devices.len() >= wanted {
                    devices.clear();
                    break;
                }
            }
            choices.push(devices);
        }
        let mut holders: Vec<Option<usize>> = vec![None; self.devices.len()];
        for (request, asked) in wanting.iter().enumerate() {
            // What need not be counted has no choices here.
            if choices.get(request).is_none_or(Vec::is_empty) {
                continue;
            }
            for _ in 0..self.count(*asked) {
                let mut is_tried = vec![false; holders.len()];
                if !give(request, &choices, &mut holders, &mut is_tried) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Blocks devices with a value that cannot be that of all devices of the constraint.
    fn look_at_constraint(&mut self, claim: &PlannedClaim, constraint: usize) -> Result<(), Broken> {
        let plan = self.given.plan;
        let planned = plan.constraints.get(constraint).ok_or(Broken::Devices)?;
        if !planned.must_match {
            return Ok(());
        }
        let mut by_value = std::mem::take(&mut self.by_value);
        by_value.clear();
        for device in self.devices.clone() {
            let at = device.saturating_mul(self.given.attributes).saturating_add(planned.attribute);
            by_value.push((*self.given.devices.values.get(at).ok_or(Broken::Devices)?, device));
        }
        by_value.sort_unstable();
        let requests = plan.requests.get(claim.requests.clone()).unwrap_or_default();
        for group in by_value.chunk_by(|a, b| a.0 == b.0) {
            // Several devices of unknown type do not match, yet one of them may be all that is wanted.
            let is_unknown = group.first().is_some_and(|(value, _)| *value == UNKNOWN_TYPE);
            let has_none = group.first().is_some_and(|(value, _)| *value == 0);
            if is_unknown || (!has_none && self.suffices(group, constraint, requests)?) {
                continue;
            }
            for asked in requests.iter().flat_map(|request| request.asked.clone()) {
                if self.is_under(asked, constraint) {
                    for (_, device) in group {
                        let place = self.place(asked, *device);
                        *self.is_blocked.get_mut(place).ok_or(Broken::Devices)? = true;
                    }
                }
            }
        }
        self.by_value = by_value;
        Ok(())
    }

    /// Whether all that requests want under a constraint might be in one group of devices.
    fn suffices(
        &self,
        group: &[(u32, usize)],
        constraint: usize,
        requests: &[PlannedRequest<'_>],
    ) -> Result<bool, Broken> {
        let free = |asked: usize| group.iter().filter(|(_, device)| !self.is_blocked(asked, *device)).count();
        let mut wanted = 0_usize;
        for request in requests {
            let mut least = usize::MAX;
            for asked in request.asked.clone() {
                let count = if self.is_under(asked, constraint) { self.count(asked) } else { 0 };
                if count == 0 || free(asked) >= count {
                    least = least.min(count);
                }
            }
            if least == usize::MAX {
                return Ok(false);
            }
            wanted = wanted.saturating_add(least);
        }
        if let [PlannedRequest { asked, .. }] = requests
            && asked.len() == 1
        {
            // Nobody else wants them.
            return Ok(true);
        }
        let mut supply = 0_usize;
        for (_, device) in group {
            let mut asked = requests.iter().flat_map(|request| request.asked.clone());
            if asked.any(|asked| self.is_under(asked, constraint) && !self.is_blocked(asked, *device)) {
                // A claim has a device once, or one share of it per request.
                let shares = self.given.kind(*device)?.1.multiple_allocations;
                supply = supply.saturating_add(if shares { requests.len() } else { 1 });
            }
        }
        Ok(supply >= wanted)
    }

    fn count(&self, asked: usize) -> usize {
        match self.given.plan.asked.get(asked).map(|asked| asked.mode) {
            Some(Mode::Count(count)) => narrow(count),
            _ => 0,
        }
    }

    fn is_under(&self, asked: usize, constraint: usize) -> bool {
        self.given.plan.asked.get(asked).is_some_and(|asked| asked.constraints.contains(&constraint))
    }

    fn place(&self, asked: usize, device: usize) -> usize {
        asked.saturating_mul(self.devices.len()).saturating_add(device.wrapping_sub(self.devices.start))
    }
}

/// Gives a request one more device, if need be one that another request has, which gets another one for it. False: there is none.
fn give(request: usize, choices: &[Vec<usize>], holders: &mut [Option<usize>], is_tried: &mut [bool]) -> bool {
    // Breadth first, without recursion: a guest's stack is small. By device, from whose wish it was reached.
    let mut reached: Vec<(usize, Option<usize>)> = Vec::new();
    let mut next = 0;
    let mut wish = (request, None);
    loop {
        for device in choices.get(wish.0).into_iter().flatten() {
            if !is_tried.get(*device).copied().unwrap_or(true) {
                is_tried.iter_mut().skip(*device).take(1).for_each(|tried| *tried = true);
                reached.push((*device, wish.1));
                if holders.get(*device).copied().flatten().is_none() {
                    // Everybody on the way takes the device that was reached by their wish.
                    let mut at = Some(reached.len() - 1);
                    while let Some((device, from)) = at.and_then(|at| reached.get(at)).copied() {
                        let holder = match from {
                            Some(from) => {
                                reached.get(from).and_then(|(device, _)| holders.get(*device).copied().flatten())
                            }
                            None => Some(request),
                        };
                        holders.iter_mut().skip(device).take(1).for_each(|place| *place = holder);
                        at = from;
                    }
                    return true;
                }
            }
        }
        let Some((device, _)) = reached.get(next).copied() else { return false };
        let Some(holder) = holders.get(device).copied().flatten() else { return false };
        wish = (holder, Some(next));
        next += 1;
    }
}

/// A count, or the largest there is: no claim may have so many devices.
fn narrow(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
