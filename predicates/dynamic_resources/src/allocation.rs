//! Conversion of the library's allocation on a row into the records of the contract. Start at [`allocation`].

use nodesift_dynamic_resources::facts::{NanoUnits, Request};
use nodesift_dynamic_resources::{Picked, extended};
use nodesift_sdk::allocator::{Allocation, Mapping, NewClaim, NewRequest, Pick};
use nodesift_sdk::columns::pod_claims;

/// Converts the devices that claims get, and the claim to be made for extended resources.
pub(crate) fn allocation(given: nodesift_dynamic_resources::Allocation) -> Allocation {
    Allocation { picks: given.picks.into_iter().map(pick).collect(), extended: given.special.map(new_claim) }
}

fn pick(picked: Picked) -> Pick {
    let Picked { claim, request, alternative, pool, device, share } = picked;
    let taken = |(capacity, NanoUnits { high, low })| (capacity, pod_claims::NanoUnits { high, low });
    let share = share.map(|share| share.into_iter().map(taken).collect());
    Pick { claim, request, alternative, pool, device, share }
}

fn new_claim(special: extended::Special) -> NewClaim {
    NewClaim {
        requests: special.requests.into_iter().flat_map(new_requests).collect(),
        mappings: special.mappings.into_iter().map(mapping).collect(),
    }
}

/// The request: it has no alternatives but itself.
fn new_requests(request: Request) -> impl Iterator<Item = NewRequest> {
    let Request { base, alternatives } = request;
    alternatives.into_iter().map(move |asked| NewRequest {
        name: base.clone(),
        class: asked.class.name,
        count: asked.count,
    })
}

fn mapping(mapping: extended::Mapping) -> Mapping {
    let extended::Mapping { container, resource, request } = mapping;
    Mapping { container, resource, request }
}
