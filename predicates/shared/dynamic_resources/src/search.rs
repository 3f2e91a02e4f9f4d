//! The search: depth first, one device after the other, in the order of claims, requests, pools and devices. The first complete
//! solution is the answer.
//!
//! Start at [`Search::run`]. What would be recursion elsewhere is a list of frames here, so that no claim can exhaust a guest's
//! stack. Source: allocator_incubating.go of kube-scheduler.

use std::ops::Range;

use crate::count::Counting;
use crate::facts::{Broken, EXCLUSIVE, PoolState};
use crate::limits;
use crate::picks::{Given, Pick, Picks, Refusal};
use crate::plan::Mode;
use crate::problem::Problem;
use crate::prune::Pruning;

/// How a search ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// There is a solution: [`Search::picks`].
    Found,
    /// There is no solution.
    NotFound,
    /// There is none, and a pool contradicts itself.
    InvalidPools,
    /// The search met a problem that ends the scheduling cycle.
    Problem(Problem),
}

/// Why a search stops before its end.
enum Stop {
    Problem(Problem),
    Broken(Broken),
}

/// Searches, one situation after the other.
#[derive(Debug)]
pub(crate) struct Search<'a> {
    given: Given<'a>,
    picks: Picks<'a>,
    pruning: Pruning<'a>,
    /// Where it is enough to count.
    counting: Option<Counting<'a>>,
    frames: Vec<Frame>,
    /// By what is asked: how many devices.
    counts: Vec<u64>,
    /// Devices of what asks for all of them, and by what is asked where its own begin.
    all: Vec<usize>,
    all_from: Vec<usize>,
    /// Devices of the situation, as a range of the columns.
    devices: Range<usize>,
    /// An invalid pool of the situation, where the allocator fails when it comes to one. Its pools are in any order: here, the invalid one
    /// is the last, which is the best for the pod.
    failing: Option<usize>,
    /// Steps in this situation, how many it has, and devices passed over.
    steps: u32,
    most_steps: u32,
    passed: usize,
    /// Whether each device is looked for among all, which matters where constraints do not remember all devices.
    restarts: bool,
}

/// A place in the search.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// Places in the plan.
    claim: usize,
    request: usize,
    asked: usize,
    /// The number of the device within what is asked.
    number: usize,
    /// Whether one of alternatives has been taken.
    is_chosen: bool,
    /// Devices before this one are not tried: within what is asked, their combinations have been.
    from: usize,
}

/// A step of the search that was entered, kept for backtracking.
#[derive(Debug, Clone, Copy)]
enum Frame {
    /// The claim after a complete one.
    Claim,
    /// An alternative; all earlier ones of its request were too many devices, or not.
    Alternative { place: Place, all_too_many: bool },
    /// One of several devices that would do.
    Any { place: Place, device: usize },
    /// The only device that would do.
    Only,
}

/// Why there is no way on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dead {
    /// No device is left to try.
    End,
    /// The claim would have too many devices: alternatives with fewer may do.
    TooMany,
}

/// Next move of the search: forward, back, or to its end.
enum Turn {
    Enter(Place),
    Back(Dead),
    Found,
}

impl From<Broken> for Stop {
    fn from(broken: Broken) -> Self {
        Self::Broken(broken)
    }
}

impl<'a> Search<'a> {
    /// A search through these situations.
    pub(crate) fn new(given: Given<'a>) -> Self {
        Self {
            given,
            picks: Picks::new(given),
            pruning: Pruning::new(given),
            counting: None,
            frames: Vec::new(),
            counts: Vec::new(),
            all: Vec::new(),
            all_from: Vec::new(),
            devices: 0..0,
            failing: None,
            steps: 0,
            most_steps: limits::SEARCH_STEPS,
            passed: 0,
            restarts: given.plan.switches.experimental_allocator
                && given.plan.constraints.iter().any(|constraint| !constraint.must_match),
        }
    }

    /// Has the next situation take as many steps as are left where searches before it have taken this many.
    pub(crate) fn continue_after(&mut self, steps: u64) {
        let left = u64::from(limits::SEARCH_STEPS).saturating_sub(steps);
        self.most_steps = u32::try_from(left).unwrap_or(u32::MAX).max(limits::LEAST_STEPS);
    }

    /// Creates a search of which only the ending is asked for: where it is enough to count devices, none are picked.
    pub(crate) fn without_picks(given: Given<'a>) -> Self {
        Self { counting: Counting::try_new(given), ..Self::new(given) }
    }

    /// Returns the devices that were picked, where a solution was found.
    pub(crate) fn picks(&self) -> &[Pick] {
        self.picks.all()
    }

    /// The steps of the last run.
    pub(crate) fn steps(&self) -> u32 {
        self.steps
    }

    /// Searches in a situation.
    ///
    /// # Errors
    /// Facts contradict themselves.
    pub(crate) fn run(&mut self, situation: usize) -> Result<Ending, Broken> {
        let pools = self.given.layout.pools_of(situation);
        let is_invalid =
            |pool: &usize| self.given.devices.pools.get(*pool).is_some_and(|it| it.state == PoolState::Invalid);
        let fails = self.given.plan.switches.experimental_allocator;
        self.failing = pools.clone().find(is_invalid).filter(|_| fails);
        self.devices = self.given.layout.span(pools.clone()).devices;
        (self.steps, self.passed) = (0, 0);
        if let Some(counting) = &mut self.counting
            && let Some(found) = counting.has_enough(self.devices.clone())?
            && (found || self.failing.is_none())
        {
            return if found { Ok(Ending::Found) } else { self.not_found(pools) };
        }
        self.picks.start(pools.clone());
        self.pruning.start(self.devices.clone());
        self.frames.clear();
        let found = match self.prepare(pools.clone()).and_then(|()| self.walk()) {
            Ok(found) => found,
            Err(Stop::Problem(problem)) => return Ok(Ending::Problem(problem)),
            Err(Stop::Broken(broken)) => return Err(broken),
        };
        if found { Ok(Ending::Found) } else { self.not_found(pools) }
    }

    /// How a search ends that has found no solution.
    fn not_found(&self, pools: Range<usize>) -> Result<Ending, Broken> {
        let pools = self.given.devices.pools.get(pools).ok_or(Broken::Pools)?;
        let has_invalid = pools.iter().any(|pool| pool.state == PoolState::Invalid);
        Ok(if has_invalid { Ending::InvalidPools } else { Ending::NotFound })
    }

    /// Checks claims, and counts the devices of what is asked.
    fn prepare(&mut self, pools: Range<usize>) -> Result<(), Stop> {
        let plan = self.given.plan;
        self.counts.clear();
        self.all.clear();
        self.all_from.clear();
        for (claim, planned) in plan.claims.iter().enumerate() {
            let mut least = 0_u64;
            for (number, request) in
                planned.requests.clone().zip(plan.requests.get(planned.requests.clone()).unwrap_or_default())
            {
                if request.refused_capacity.is_some() {
                    return Err(Stop::Problem(Problem::CapacityRefused { request: number }));
                }
                let mut fewest = u64::MAX;
                for asked in request.asked.clone() {
                    let count = self.count(asked, request.asked.start, pools.clone())?;
                    self.counts.push(count);
                    fewest = fewest.min(count);
                }
                let most = (limits::CLAIM_DEVICES as u64).saturating_sub(least);
                if plan.switches.limit_by_request && fewest > most {
                    return Err(Stop::Problem(Problem::TooManyWithRequest { request: number, claim, fewest, least }));
                }
                least = least.saturating_add(fewest);
            }
            if least > limits::CLAIM_DEVICES as u64 {
                return Err(Stop::Problem(Problem::TooManyDevices { claim, least }));
            }
            if planned.unknown_constraint.is_some() {
                return Err(Stop::Problem(Problem::Constraint { claim }));
            }
        }
        Ok(())
    }

    /// How many devices are asked for. All of them are listed. `first` is the place of the request's first alternative.
    fn count(&mut self, place: usize, first: usize, pools: Range<usize>) -> Result<u64, Stop> {
        let plan = self.given.plan;
        let asked = plan.asked.get(place).ok_or(Broken::Alternatives)?;
        self.all_from.push(self.all.len());
        if asked.fault.is_some() || matches!(asked.mode, Mode::Unknown(_)) {
            return Err(Stop::Problem(Problem::Asked { asked: place }));
        }
        if let Mode::Count(count) = asked.mode {
            return Ok(count);
        }
        let before = self.all.len();
        let is_first_for_all = plan.asked.get(first).is_some_and(|asked| asked.mode == Mode::All);
        if plan.switches.alternatives_mix && asked.alternative == 1 && is_first_for_all {
            let from = self.all_from.get(first).copied().ok_or(Broken::Alternatives)?;
            self.all.extend_from_within(from..);
            return Ok((self.all.len() - before) as u64);
        }
        for pool in pools {
            if self.given.devices.pools.get(pool).ok_or(Broken::Pools)?.state != PoolState::Ok {
                return Err(Stop::Problem(Problem::Pool { asked: place, pool }));
            }
            let span = self.given.layout.pools(pool..pool.saturating_add(1)).first().ok_or(Broken::Pools)?;
            for device in span.devices.clone() {
                if self.is_selected(place, device, true)? && self.belongs_to_all(place, device)? {
                    self.all.push(device);
                }
            }
        }
        Ok((self.all.len() - before) as u64)
    }

    /// Whether selectors match a device and it is for the node. `is_one_of_all` is what errors of its capacity depend on.
    fn is_selected(&self, place: usize, device: usize, is_one_of_all: bool) -> Result<bool, Stop> {
        let (kind, _) = self.given.kind(device)?;
        let fit = self.given.fits.for_asked(place).get(kind).ok_or(Broken::Kinds)?;
        if fit.has_failed() {
            return Err(Stop::Problem(Problem::Selector { asked: place, device }));
        }
        if fit.is_out_of_range() {
            return Err(Stop::Problem(Problem::Capacity { asked: place, device, is_one_of_all }));
        }
        Ok(fit.is_selected())
    }

    /// Whether a device that is selected is one of all that a request asks for.
    fn belongs_to_all(&self, place: usize, device: usize) -> Result<bool, Stop> {
        if !self.given.plan.switches.all_by_static_capacity {
            return Ok(self.picks.has_room(place, device)?);
        }
        let (kind, _) = self.given.kind(device)?;
        Ok(!self.given.fits.for_asked(place).get(kind).ok_or(Broken::Kinds)?.is_too_small())
    }

    /// Whether there is a solution, which is then in the picks.
    fn walk(&mut self) -> Result<bool, Stop> {
        let mut turn = self.first_of_claim(0);
        loop {
            if self.failing.is_none() && self.pruning.pays_after(self.steps) && !self.pruning.look()? {
                return Ok(false);
            }
            turn = match turn {
                Turn::Found => return Ok(true),
                Turn::Enter(place) => self.enter(place)?,
                Turn::Back(dead) => match self.frames.pop() {
                    None => return Ok(false),
                    Some(frame) => self.back(frame, dead)?,
                },
            }
        }
    }

    /// Begins a claim; behind the last one everything is found.
    fn first_of_claim(&self, claim: usize) -> Turn {
        match self.given.plan.claims.get(claim) {
            None => Turn::Found,
            Some(planned) => {
                let request = planned.requests.start;
                Turn::Enter(Place { claim, request, asked: 0, number: 0, is_chosen: false, from: self.devices.start })
            }
        }
    }

    /// Goes one step on from a place.
    fn enter(&mut self, place: Place) -> Result<Turn, Stop> {
        self.step()?;
        let plan = self.given.plan;
        let claim = plan.claims.get(place.claim).ok_or(Broken::Alternatives)?;
        if place.request >= claim.requests.end {
            self.frames.push(Frame::Claim);
            return Ok(self.first_of_claim(place.claim + 1));
        }
        let request = plan.requests.get(place.request).ok_or(Broken::Alternatives)?;
        let place = if place.is_chosen { place } else { Place { asked: request.asked.start, ..place } };
        if request.has_alternatives && !place.is_chosen {
            let place = Place { is_chosen: true, ..place };
            self.frames.push(Frame::Alternative { place, all_too_many: true });
            return Ok(Turn::Enter(place));
        }
        let count = self.counts.get(place.asked).copied().ok_or(Broken::Alternatives)?;
        let is_all = plan.asked.get(place.asked).ok_or(Broken::Alternatives)?.mode == Mode::All;
        if is_all && count == 0 {
            return Ok(Turn::Back(Dead::End));
        }
        let number = place.number as u64;
        if number >= count {
            return Ok(Turn::Enter(Place {
                request: place.request + 1,
                number: 0,
                is_chosen: false,
                from: self.devices.start,
                ..place
            }));
        }
        let wanted = (self.picks.devices_in_claim(place.claim) as u64).saturating_add(count - number);
        if wanted > limits::CLAIM_DEVICES as u64 {
            return Ok(Turn::Back(Dead::TooMany));
        }
        if is_all { self.pick_only(place) } else { self.pick_any(place) }
    }

    /// Goes back over what was entered, or on from there.
    fn back(&mut self, frame: Frame, dead: Dead) -> Result<Turn, Stop> {
        match frame {
            // A claim with too many devices may do with another choice in an earlier claim.
            Frame::Claim => Ok(Turn::Back(Dead::End)),
            Frame::Alternative { place, all_too_many } => {
                let all_too_many = all_too_many && dead == Dead::TooMany;
                let place = Place { asked: place.asked + 1, number: 0, from: self.devices.start, ..place };
                let request = self.given.plan.requests.get(place.request).ok_or(Broken::Alternatives)?;
                if place.asked < request.asked.end {
                    self.frames.push(Frame::Alternative { place, all_too_many });
                    return Ok(Turn::Enter(place));
                }
                Ok(Turn::Back(if all_too_many { Dead::TooMany } else { Dead::End }))
            }
            Frame::Any { place, device } => {
                self.picks.undo();
                if dead == Dead::TooMany {
                    return Ok(Turn::Back(dead));
                }
                self.pick_any(Place { from: device + 1, ..place })
            }
            Frame::Only => {
                self.picks.undo();
                Ok(Turn::Back(dead))
            }
        }
    }

    /// Of all devices: exactly this one, or none.
    fn pick_only(&mut self, place: Place) -> Result<Turn, Stop> {
        let from = self.all_from.get(place.asked).copied().ok_or(Broken::Devices)?;
        let device = self.all.get(from.saturating_add(place.number)).copied().ok_or(Broken::Devices)?;
        match self.picks.pick(place.asked, device)? {
            Ok(()) => {
                self.frames.push(Frame::Only);
                let request = self.given.plan.requests.get(place.request).ok_or(Broken::Alternatives)?;
                let mixes = self.given.plan.switches.alternatives_mix;
                let asked = if mixes { request.asked.start } else { place.asked };
                Ok(Turn::Enter(Place { asked, number: place.number + 1, ..place }))
            }
            Err(Refusal::Unavailable) => Ok(Turn::Back(Dead::End)),
            Err(Refusal::Constraint) => Err(Stop::Problem(Problem::Unsatisfied { asked: place.asked, device })),
        }
    }

    /// Of some devices: the first with which everything after it may work, and then the next ones until there are enough.
    fn pick_any(&mut self, mut place: Place) -> Result<Turn, Stop> {
        let from = place.from;
        let given = self.given;
        let asked = given.plan.asked.get(place.asked).ok_or(Broken::Alternatives)?;
        let count = self.counts.get(place.asked).copied().ok_or(Broken::Alternatives)?;
        let fits = given.fits.for_asked(place.asked);
        let kinds = given.devices.device_kinds.get(from..self.devices.end).ok_or(Broken::Devices)?;
        let in_use = given.devices.in_use.get(from..self.devices.end).ok_or(Broken::Devices)?;
        let excluding = if asked.admin_access { 0 } else { EXCLUSIVE };
        let mut seen = 0;
        for (number, (kind, in_use)) in kinds.iter().zip(in_use).enumerate() {
            let fit = fits.get(*kind as usize).ok_or(Broken::Kinds)?;
            if in_use & excluding != 0 || !fit.is_candidate() {
                continue;
            }
            let device = from + number;
            if self.pruning.is_blocked(place.asked, device) {
                continue;
            }
            self.pass(number - seen)?;
            seen = number;
            self.step()?;
            if fit.is_error() {
                if self.picks.is_in_use(asked, device)? {
                    continue;
                }
                self.is_selected(place.asked, device, false)?;
            }
            if self.picks.pick(place.asked, device)?.is_ok() {
                self.frames.push(Frame::Any { place, device });
                let from = if self.restarts { self.devices.start } else { device + 1 };
                place = Place { number: place.number + 1, from, ..place };
                if self.restarts || place.number as u64 >= count {
                    return Ok(Turn::Enter(place));
                }
                self.step()?;
            }
        }
        self.pass(kinds.len() - seen)?;
        match self.failing {
            Some(pool) => Err(Stop::Problem(Problem::InvalidPool { pool })),
            None => Ok(Turn::Back(Dead::End)),
        }
    }

    fn step(&mut self) -> Result<(), Stop> {
        self.steps += 1;
        if self.steps > self.most_steps { Err(Stop::Problem(Problem::Steps)) } else { Ok(()) }
    }

    /// Counts devices that were passed over.
    fn pass(&mut self, devices: usize) -> Result<(), Stop> {
        self.passed += devices;
        while self.passed >= limits::PASSED_PER_STEP {
            self.passed -= limits::PASSED_PER_STEP;
            self.step()?;
        }
        Ok(())
    }
}
