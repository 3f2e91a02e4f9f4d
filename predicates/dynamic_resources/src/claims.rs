//! `pod-claims` in the library's form.

use nodesift_dynamic_resources::facts::{
    Asked, Claim, Class, Constraint, ConstraintKind, Container, ContainerResource, Extended, ExtendedClaim,
    ExtendedResource, Obstacle, Request, Toleration,
};
use nodesift_sdk::columns::pod_claims;

use crate::convert::IntoFact;

impl IntoFact for pod_claims::Obstacle {
    type Fact = Obstacle;

    fn into_fact(self) -> Obstacle {
        Obstacle { text: self.text, is_error: self.is_error }
    }
}

impl IntoFact for pod_claims::Claim {
    type Fact = Claim;

    fn into_fact(self) -> Claim {
        match self {
            Self::Unallocated(claim) => {
                Claim::Unallocated { requests: claim.requests.into_fact(), constraints: claim.constraints.into_fact() }
            }
            Self::Allocated(usable) => Claim::Allocated(usable),
        }
    }
}

impl IntoFact for pod_claims::Request {
    type Fact = Request;

    fn into_fact(self) -> Request {
        Request { base: self.base, alternatives: self.alternatives.into_fact() }
    }
}

impl IntoFact for pod_claims::Asked {
    type Fact = Asked;

    fn into_fact(self) -> Asked {
        Asked {
            own_name: self.own_name,
            is_alternative: self.is_alternative,
            class: self.class.into_fact(),
            selectors: self.selectors,
            mode: self.mode,
            count: self.count,
            admin_access: self.admin_access,
            tolerations: self.tolerations.into_fact(),
            capacity: self.capacity.into_fact(),
        }
    }
}

impl IntoFact for pod_claims::Class {
    type Fact = Class;

    fn into_fact(self) -> Class {
        Class { name: self.name, selectors: self.selectors }
    }
}

impl IntoFact for pod_claims::Toleration {
    type Fact = Toleration;

    fn into_fact(self) -> Toleration {
        Toleration { key: self.key, operator: self.operator, value: self.value, effect: self.effect }
    }
}

impl IntoFact for pod_claims::Constraint {
    type Fact = Constraint;

    fn into_fact(self) -> Constraint {
        let kind = match self.kind {
            pod_claims::ConstraintKind::Match(attribute) => ConstraintKind::Match(attribute),
            pod_claims::ConstraintKind::Distinct(attribute) => ConstraintKind::Distinct(attribute),
            pod_claims::ConstraintKind::Unknown => ConstraintKind::Unknown,
        };
        Constraint { requests: self.requests, kind }
    }
}

impl IntoFact for pod_claims::ExtendedResources {
    type Fact = Extended;

    fn into_fact(self) -> Extended {
        let claim = match self.claim {
            pod_claims::ExtendedClaim::HasRequests => ExtendedClaim::HasRequests,
            pod_claims::ExtendedClaim::Allocated(usable) => ExtendedClaim::Allocated(usable),
            pod_claims::ExtendedClaim::ToBeMade(containers) => ExtendedClaim::ToBeMade(containers.into_fact()),
        };
        Extended { claim, resources: self.resources.into_fact() }
    }
}

impl IntoFact for pod_claims::ExtendedResource {
    type Fact = ExtendedResource;

    fn into_fact(self) -> ExtendedResource {
        ExtendedResource { class: self.class.into_fact(), own: self.own }
    }
}

impl IntoFact for pod_claims::Container {
    type Fact = Container;

    fn into_fact(self) -> Container {
        Container { is_short: self.is_short, resources: self.resources.into_fact() }
    }
}

impl IntoFact for pod_claims::ContainerResource {
    type Fact = ContainerResource;

    fn into_fact(self) -> ContainerResource {
        ContainerResource { key: self.key, resource: self.resource, count: self.count }
    }
}
