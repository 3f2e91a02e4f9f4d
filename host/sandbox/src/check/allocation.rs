//! Checks the devices that a guest gave. Start at [`allocation`].

use super::malformed;
use crate::fault::{Fault, FaultKind};
use crate::limits::ALLOCATION_PICKS;
use crate::wire::allocation::{Allocation, NewClaim, Pick};

/// Checks an allocation as far as it can be without the facts that the guest has read.
///
/// # Errors
///
/// `OutputTooLarge` where it has too many picks, and `MalformedVerdict` where it contradicts the contract.
pub(in super::super) fn allocation(raw: Allocation) -> Result<Allocation, Fault> {
    if raw.picks.len() > ALLOCATION_PICKS {
        let detail = format!("{} devices in an allocation, at most {ALLOCATION_PICKS} are allowed", raw.picks.len());
        return Err(Fault { kind: FaultKind::OutputTooLarge, detail });
    }
    if let Some(place) = raw.picks.iter().position(|pick| !is_share_sorted(pick)) {
        return malformed(format!("the capacities of device {place} are not sorted, or one is there twice"));
    }
    if let Some(claim) = &raw.extended {
        check_new_claim(claim)?;
    }
    Ok(raw)
}

fn is_share_sorted(pick: &Pick) -> bool {
    pick.share.as_ref().is_none_or(|share| share.is_sorted_by(|(a, _), (b, _)| a < b))
}

fn check_new_claim(claim: &NewClaim) -> Result<(), Fault> {
    if !claim.requests.is_sorted_by(|a, b| a.name < b.name) {
        return malformed("the requests for extended resources are not sorted, or one is there twice".to_owned());
    }
    if let Some(request) = claim.requests.iter().find(|request| request.count < 1) {
        return malformed(format!("a request for {} devices", request.count));
    }
    let is_known = |name: &String| claim.requests.binary_search_by(|request| request.name.cmp(name)).is_ok();
    match claim.mappings.iter().position(|mapping| !is_known(&mapping.request)) {
        Some(place) => malformed(format!("mapping {place} names a request that is not there")),
        None => Ok(()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::wire::allocation::{Mapping, NewRequest};
    use crate::wire::claims::NanoUnits;

    fn pick(share: Option<&[&str]>) -> Pick {
        let amount = |name: &&str| ((*name).to_owned(), NanoUnits::default());
        let share = share.map(|share| share.iter().map(amount).collect());
        Pick { claim: 0, request: 0, alternative: 0, pool: 0, device: 0, share }
    }

    fn from_picks(picks: Vec<Pick>) -> Result<Allocation, Fault> {
        allocation(Allocation { picks, extended: None })
    }

    fn from_claim(requests: &[(&str, i64)], mappings: &[&str]) -> Result<Allocation, Fault> {
        let request =
            |(name, count): &(&str, i64)| NewRequest { name: (*name).to_owned(), class: "c".to_owned(), count: *count };
        let mapping = |request: &&str| Mapping { container: 0, resource: 0, request: (*request).to_owned() };
        let (requests, mappings) = (requests.iter().map(request).collect(), mappings.iter().map(mapping).collect());
        allocation(Allocation { picks: Vec::new(), extended: Some(NewClaim { requests, mappings }) })
    }

    #[test]
    fn an_allocation_has_as_many_devices_as_the_limit_says() {
        assert_eq!(from_picks(vec![pick(None); ALLOCATION_PICKS]).unwrap().picks.len(), ALLOCATION_PICKS);
        assert_eq!(from_picks(vec![pick(None); ALLOCATION_PICKS + 1]).unwrap_err().kind, FaultKind::OutputTooLarge);
    }

    #[test]
    fn capacities_of_a_share_are_sorted() {
        for share in [None, Some(&[][..]), Some(&["a"]), Some(&["a", "b"])] {
            assert!(from_picks(vec![pick(share)]).is_ok(), "{share:?}");
        }
        for share in [["b", "a"], ["a", "a"]] {
            let fault = from_picks(vec![pick(None), pick(Some(&share))]).unwrap_err();
            assert_eq!(fault.kind, FaultKind::MalformedVerdict);
            assert!(fault.detail.contains("device 1"), "{fault}");
        }
    }

    #[test]
    fn requests_are_sorted_and_mappings_name_them() {
        assert!(from_claim(&[], &[]).is_ok());
        assert!(from_claim(&[("a", 1), ("b", i64::MAX)], &["b", "a", "b"]).is_ok());
        for (requests, mappings, detail) in [
            (&[("b", 1), ("a", 1)][..], &[][..], "not sorted"),
            (&[("a", 1), ("a", 1)], &[], "not sorted"),
            (&[("a", 0)], &[], "a request for 0 devices"),
            (&[("a", i64::MIN)], &[], "devices"),
            (&[("a", 1)], &["a", "b"], "mapping 1 names"),
            (&[], &[""], "mapping 0 names"),
        ] {
            let fault = from_claim(requests, mappings).unwrap_err();
            assert_eq!(fault.kind, FaultKind::MalformedVerdict);
            assert!(fault.detail.contains(detail), "{fault}");
        }
    }
}
