//! Requests of a claim, each with the alternative that was taken. Start at [`for_claim`].

use nodesift_cache::metadata::ClaimRecord;
use nodesift_object::claim::{DeviceRequest, DeviceToleration};

use super::{NewClaim, Pick};

/// A request, or the alternative of it that was taken.
pub(super) struct Taken<'a> {
    /// Name of the request, without the alternative.
    base: &'a str,
    /// The name of the alternative, if it is one.
    alternative: Option<&'a str>,
    pub(super) class: &'a str,
    pub(super) admin_access: bool,
    pub(super) tolerations: &'a [DeviceToleration],
}

impl Taken<'_> {
    /// Name as in allocations: `request`, or `request/alternative`.
    pub(super) fn full_name(&self) -> String {
        match self.alternative {
            Some(alternative) => format!("{}/{alternative}", self.base),
            None => self.base.to_owned(),
        }
    }

    /// Whether one of the names means it.
    pub(super) fn is_named_by(&self, names: &[String]) -> bool {
        names.iter().any(|name| *name == self.base || *name == self.full_name())
    }
}

/// The requests of a claim, by their numbers; `picks` are those of the claim. `None` where an alternative does not exist.
pub(super) fn for_claim<'a>(claim: &'a ClaimRecord, picks: &[&Pick]) -> Option<Vec<Taken<'a>>> {
    let requests = claim.spec.requests.as_deref().unwrap_or_default();
    (0..).zip(requests).map(|(number, request)| taken(request, number, picks)).collect()
}

fn taken<'a>(request: &'a DeviceRequest, number: u32, picks: &[&Pick]) -> Option<Taken<'a>> {
    let alternative = picks.iter().find(|pick| pick.request == number).map_or(0, |pick| pick.alternative);
    of_alternative(request, alternative)
}

/// The request of a claim that a device is for, with the alternative that it was picked for: where the alternatives of a version mix,
/// devices of one request are of several. `None` where there is no such request or alternative.
pub(super) fn of_pick<'a>(claim: &'a ClaimRecord, pick: &Pick) -> Option<Taken<'a>> {
    let requests = claim.spec.requests.as_deref().unwrap_or_default();
    of_alternative(requests.get(pick.request as usize)?, pick.alternative)
}

fn of_alternative(request: &DeviceRequest, alternative: u32) -> Option<Taken<'_>> {
    let DeviceRequest { name, exactly, first_available } = request;
    let is_alternative = !first_available.is_empty();
    let fields = if is_alternative { first_available.get(alternative as usize)? } else { exactly.as_ref()? };
    Some(Taken {
        base: name,
        alternative: is_alternative.then_some(fields.name.as_str()),
        class: &fields.device_class_name,
        admin_access: !is_alternative && fields.admin_access,
        tolerations: &fields.tolerations,
    })
}

/// The requests of a claim for extended resources.
pub(super) fn for_new_claim(claim: &NewClaim) -> Vec<Taken<'_>> {
    let taken = claim.requests.iter().map(|request| Taken {
        base: &request.name,
        alternative: None,
        class: &request.class,
        admin_access: false,
        tolerations: &[],
    });
    taken.collect()
}
