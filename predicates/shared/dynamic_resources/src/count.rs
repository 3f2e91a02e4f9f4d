//! Claims whose devices only have to be counted: one request for some devices that differ in nothing that matters, perhaps with
//! attributes that all of them must have in common. Whether there is a solution follows from numbers;
//! which one is for the search.
//!
//! Start at [`Counting::try_new`].

use std::ops::Range;

use crate::facts::{Broken, EXCLUSIVE, Kind, UNKNOWN_TYPE};
use crate::fit::Fit;
use crate::limits;
use crate::picks::Given;
use crate::plan::{Mode, Plan};

/// Counts devices of situations.
#[derive(Debug)]
pub(crate) struct Counting<'a> {
    given: Given<'a>,
    wanted: usize,
    /// The attributes that all devices must have in common, by their numbers in the query.
    attributes: Vec<usize>,
    /// By kind: whether its devices may be picked.
    is_candidate: Vec<bool>,
    /// Devices that differ in an attribute, each with how many there are like it.
    groups: Vec<(usize, usize)>,
}

impl<'a> Counting<'a> {
    /// For a plan and kinds of devices with which no search can end with a problem, and a pick leaves to others all devices but its own,
    /// and of these all with its attributes; else `None`.
    pub(crate) fn try_new(given: Given<'a>) -> Option<Self> {
        let Plan { claims, requests, asked, constraints, switches: _ } = given.plan;
        let ([claim], [request], [asked]) = (&claims[..], &requests[..], &asked[..]) else { return None };
        let Mode::Count(wanted) = asked.mode else { return None };
        let wanted = usize::try_from(wanted).ok().filter(|wanted| (1..=limits::CLAIM_DEVICES).contains(wanted))?;
        let is_plain = asked.fault.is_none()
            && request.refused_capacity.is_none()
            && !asked.admin_access
            && claim.unknown_constraint.is_none();
        let are_under = asked.constraints.iter().map(|constraint| constraints.get(*constraint));
        let are_under: Vec<_> = are_under.collect::<Option<_>>()?;
        if !is_plain || are_under.iter().any(|constraint| !constraint.must_match) {
            return None;
        }
        let fits = given.fits.for_asked(0).iter().zip(&given.devices.kinds);
        let candidate = |(fit, kind): (&Fit, &Kind)| match fit.is_candidate() {
            true if fit.is_error() || !kind.consumes.is_empty() => None,
            is_candidate => Some(is_candidate),
        };
        let is_candidate = fits.map(candidate).collect::<Option<_>>()?;
        let attributes = are_under.iter().map(|constraint| constraint.attribute).collect();
        Some(Self { given, wanted, attributes, is_candidate, groups: Vec::new() })
    }

    /// Whether there are enough devices among these; `None` where that does not follow from numbers.
    ///
    /// # Errors
    /// Facts about devices are missing.
    pub(crate) fn has_enough(&mut self, devices: Range<usize>) -> Result<Option<bool>, Broken> {
        self.groups.clear();
        let kinds = self.given.devices.device_kinds.get(devices.clone()).ok_or(Broken::Devices)?;
        let in_use = self.given.devices.in_use.get(devices.clone()).ok_or(Broken::Devices)?;
        let mut count = 0;
        for (device, (kind, in_use)) in devices.zip(kinds.iter().zip(in_use)) {
            if in_use & EXCLUSIVE != 0 || !*self.is_candidate.get(*kind as usize).ok_or(Broken::Kinds)? {
                continue;
            }
            // Of shares of the device: whether enough is left depends on what is asked of its capacities.
            if *in_use != 0 {
                return Ok(None);
            }
            let alike = if self.attributes.is_empty() {
                count += 1;
                count
            } else {
                self.add_to_group(device)?
            };
            if alike >= self.wanted {
                return Ok(Some(true));
            }
        }
        Ok(Some(false))
    }

    /// Counts a device. Returns how many there are like it, itself included; 0 where it cannot be picked together with as many as are wanted.
    fn add_to_group(&mut self, device: usize) -> Result<usize, Broken> {
        let values = self.values(device)?;
        for attribute in &self.attributes {
            let value = *values.get(*attribute).ok_or(Broken::Devices)?;
            // Values of unknown type are equal to nothing, so that one device has no other like it.
            if value == 0 || (value == UNKNOWN_TYPE && self.wanted > 1) {
                return Ok(0);
            }
        }
        for place in 0..self.groups.len() {
            let (first, alike) = *self.groups.get(place).ok_or(Broken::Devices)?;
            let others = self.values(first)?;
            if self.attributes.iter().all(|attribute| values.get(*attribute) == others.get(*attribute)) {
                let alike = alike + 1;
                *self.groups.get_mut(place).ok_or(Broken::Devices)? = (first, alike);
                return Ok(alike);
            }
        }
        self.groups.push((device, 1));
        Ok(1)
    }

    /// The values of a device's attributes.
    fn values(&self, device: usize) -> Result<&'a [u32], Broken> {
        let count = self.given.attributes;
        let start = device.saturating_mul(count);
        self.given.devices.values.get(start..start.saturating_add(count)).ok_or(Broken::Devices)
    }
}
