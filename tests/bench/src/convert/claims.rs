//! `pod-claims`: the host's own types as the SDK's.

use nodesift_sandbox::wire::claims as host;
use nodesift_sdk::columns::pod_claims;

use super::{text, texts};

pub(crate) fn amount(amount: host::Amount) -> pod_claims::Amount {
    pod_claims::Amount { nano_units: nano_units(amount.nano_units), units: amount.units }
}

pub(crate) fn nano_units(amount: host::NanoUnits) -> pod_claims::NanoUnits {
    pod_claims::NanoUnits { high: amount.high, low: amount.low }
}

pub(crate) fn obstacle(obstacle: &host::Obstacle) -> pod_claims::Obstacle {
    pod_claims::Obstacle { text: text(&obstacle.text), is_error: obstacle.is_error }
}

pub(crate) fn claim(claim: &host::Claim) -> pod_claims::Claim {
    match claim {
        host::Claim::Unallocated(claim) => pod_claims::Claim::Unallocated(pod_claims::Unallocated {
            requests: claim.requests.iter().map(request).collect(),
            constraints: claim.constraints.iter().map(constraint).collect(),
        }),
        host::Claim::Allocated(usable) => pod_claims::Claim::Allocated(usable.to_vec()),
    }
}

pub(crate) fn extended(extended: &host::Extended) -> pod_claims::ExtendedResources {
    let resource = |resource: &host::ExtendedResource| pod_claims::ExtendedResource {
        class: resource.class.as_ref().map(class),
        own: resource.own.to_vec(),
    };
    pod_claims::ExtendedResources {
        claim: match &extended.claim {
            host::ExtendedClaim::HasRequests => pod_claims::ExtendedClaim::HasRequests,
            host::ExtendedClaim::Allocated(usable) => pod_claims::ExtendedClaim::Allocated(usable.to_vec()),
            host::ExtendedClaim::ToBeMade(containers) => {
                pod_claims::ExtendedClaim::ToBeMade(containers.iter().map(container).collect())
            }
        },
        resources: extended.resources.iter().map(resource).collect(),
    }
}

fn request(request: &host::Request) -> pod_claims::Request {
    pod_claims::Request { base: text(&request.base), alternatives: request.alternatives.iter().map(asked).collect() }
}

fn asked(asked: &host::Asked) -> pod_claims::Asked {
    let toleration = |toleration: &host::Toleration| pod_claims::Toleration {
        key: text(&toleration.key),
        operator: text(&toleration.operator),
        value: text(&toleration.value),
        effect: text(&toleration.effect),
    };
    pod_claims::Asked {
        own_name: text(&asked.own_name),
        is_alternative: asked.is_alternative,
        class: class(&asked.class),
        selectors: asked.selectors.iter().map(|selector| selector.as_ref().map(text)).collect(),
        mode: text(&asked.mode),
        count: asked.count,
        admin_access: asked.admin_access,
        tolerations: asked.tolerations.iter().map(toleration).collect(),
        capacity: asked.capacity.iter().map(|(name, asked)| (text(name), amount(*asked))).collect(),
    }
}

fn class(class: &host::Class) -> pod_claims::Class {
    pod_claims::Class { name: text(&class.name), selectors: class.selectors.as_deref().map(texts) }
}

fn constraint(constraint: &host::Constraint) -> pod_claims::Constraint {
    pod_claims::Constraint {
        requests: texts(&constraint.requests),
        kind: match &constraint.kind {
            host::ConstraintKind::Match(attribute) => pod_claims::ConstraintKind::Match(text(attribute)),
            host::ConstraintKind::Distinct(attribute) => pod_claims::ConstraintKind::Distinct(text(attribute)),
            host::ConstraintKind::Unknown => pod_claims::ConstraintKind::Unknown,
        },
    }
}

fn container(container: &host::Container) -> pod_claims::Container {
    let resource = |resource: &host::ContainerResource| pod_claims::ContainerResource {
        key: resource.key,
        resource: resource.resource,
        count: resource.count,
    };
    pod_claims::Container {
        is_short: container.is_short,
        resources: container.resources.iter().map(resource).collect(),
    }
}
