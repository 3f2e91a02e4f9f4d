//! The pod's claims of devices as the contract shows them: resolved once, then per row which of them can be used.
//!
//! Start at [`Context::device_claims`]. Which claims a pod has is for `nodesift_cache::Claims`.

use std::sync::Arc;

use nodesift_cache::metadata::{Amount, ClaimRecord, ClassRecord, PodClaims};
use nodesift_cache::{ClaimObstacle, ExtendedClaim, Resolved, Row};
use nodesift_object::claim::{DeviceClaim, DeviceConstraint, DeviceFields, DeviceRequest, DeviceToleration};
use nodesift_object::selector::DeviceSelector;
use nodesift_sandbox::wire::claims as wire;

use super::context::Context;

/// kube-scheduler's name for the claim for extended resources that is still to be made.
const TO_BE_MADE: &str = "<extended-resources>";

/// Why a pod's claims are not known. Sources compile pods for a policy before it becomes active.
const NOT_COMPILED: &str = "the pod's claims were not compiled for this policy";

impl Context {
    /// The claims that the pod names, in its order.
    ///
    /// # Errors
    /// None of them can be allocated anywhere.
    pub(crate) fn device_claims(&self) -> Result<Arc<[wire::Claim]>, wire::Obstacle> {
        if let Some(open) = self.open_claims.get() {
            return Ok(Arc::clone(open));
        }
        match self.resolved_claims() {
            // Without an allocation.
            Ok(None) => Ok(Arc::default()),
            Ok(Some(resolved)) => {
                let claims: Arc<[wire::Claim]> = resolved.named.iter().map(|claim| self.claim_of(claim)).collect();
                if !self.has_allocated_claims() {
                    return Ok(Arc::clone(self.open_claims.get_or_init(|| claims)));
                }
                Ok(claims)
            }
            Err(ClaimObstacle { text, is_error }) => {
                Err(wire::Obstacle { text: Arc::from(text.as_str()), is_error: *is_error })
            }
        }
    }

    /// The claim for the pod's extended resources; `None` where no class serves one of them.
    pub(crate) fn extended_resources(&self) -> Option<Arc<wire::Extended>> {
        let resolved = self.resolved_claims().as_ref().ok()?.as_ref()?;
        let extended = resolved.extended.as_ref()?;
        let pod = self.pod.claims.as_ref()?;
        let claim = match extended {
            ExtendedClaim::Known(claim) if claim.spec.requests.is_some() => wire::ExtendedClaim::HasRequests,
            ExtendedClaim::Known(claim) if claim.allocation.is_some() => {
                wire::ExtendedClaim::Allocated(self.usable_rows(claim))
            }
            ExtendedClaim::Known(_) | ExtendedClaim::ToBeMade => wire::ExtendedClaim::ToBeMade(containers(pod)),
        };
        let resources = pod.resources.iter().map(|resource| self.extended_resource(resource)).collect();
        Some(Arc::new(wire::Extended { claim, resources }))
    }

    /// The claims over all rows: what cached verdicts are told apart by. Most pods have none, and that is seen at once.
    pub(crate) fn claims_over_all(&self) -> Result<Arc<[wire::Claim]>, wire::Obstacle> {
        if !self.may_have_claims() {
            return Ok(Arc::default());
        }
        if self.has_allocated_claims() { self.over_all(Self::device_claims) } else { self.device_claims() }
    }

    /// Whether a claim that the pod names is allocated, so that rows can be told apart by it.
    fn has_allocated_claims(&self) -> bool {
        let resolved = self.resolved_claims().as_ref().ok().and_then(Option::as_ref);
        resolved.is_some_and(|resolved| resolved.named.iter().any(|claim| claim.allocation.is_some()))
    }

    /// The claim for extended resources over all rows.
    pub(crate) fn extended_over_all(&self) -> Option<Arc<wire::Extended>> {
        // Most pods have none, and for them nothing is looked up.
        self.pod.claims.as_ref()?;
        self.resolved_claims().as_ref().ok()?.as_ref()?.extended.as_ref()?;
        self.over_all(Self::extended_resources)
    }

    /// `namespace/name` of a claim by its number; that for extended resources comes after the last. Empty for any other number.
    pub(crate) fn name_of_claim(&self, number: u32) -> Arc<str> {
        let Ok(Some(resolved)) = self.resolved_claims() else { return Arc::default() };
        if let Some(claim) = resolved.named.get(number as usize) {
            return claim.key().into();
        }
        match &resolved.extended {
            Some(extended) if number as usize == resolved.named.len() => match extended {
                ExtendedClaim::Known(claim) => claim.key().into(),
                ExtendedClaim::ToBeMade => format!("{}/{TO_BE_MADE}", self.pod.namespace).into(),
            },
            _ => Arc::default(),
        }
    }

    /// Alternatives that an allocated claim has got: for each of its requests with alternatives the number of the one, in order. Empty for
    /// any other number.
    pub(crate) fn chosen_in_claim(&self, number: u32) -> Arc<[u32]> {
        let Ok(Some(resolved)) = self.resolved_claims() else { return Arc::default() };
        let claim = resolved.named.get(number as usize);
        let allocation = claim.and_then(|claim| claim.allocation.as_ref());
        allocation.map(|allocation| Arc::from(&*allocation.chosen)).unwrap_or_default()
    }

    /// Requests with derived attributes in a claim that is to be allocated: numbers among the alternatives of all its requests, in order.
    pub(crate) fn deriving_in_claim(&self, number: u32) -> Arc<[u32]> {
        let Ok(Some(resolved)) = self.resolved_claims() else { return Arc::default() };
        let claim = resolved.named.get(number as usize).filter(|claim| claim.allocation.is_none());
        let requests = claim.and_then(|claim| claim.spec.requests.as_deref()).unwrap_or_default();
        let asked = requests.iter().flat_map(|request| match &*request.first_available {
            [] => vec![request.exactly.as_ref().is_some_and(|fields| fields.derives)],
            alternatives => alternatives.iter().map(|fields| fields.derives).collect(),
        });
        (0..).zip(asked).filter_map(|(number, derives)| derives.then_some(number)).collect()
    }

    /// The pod's claims, looked up once; without those that parties of the policy allocate. Claims that nobody can use now, since they are
    /// being allocated or deleted, are obstacles whoever allocates them.
    pub(crate) fn resolved_claims(&self) -> &Result<Option<Resolved>, ClaimObstacle> {
        self.claims.get_or_init(|| {
            let (name, uid) = &self.owner;
            if self.pod.claims.is_none() && !self.pod.resource_claims.is_empty() {
                // Where the pod was compiled for a policy without claims. It must not simply fit.
                return Arc::new(Err(ClaimObstacle { text: NOT_COMPILED.to_owned(), is_error: true }));
            }
            let mut resolved = self.snapshot.claims().resolve(&self.pod, name, uid);
            if let Ok(Some(resolved)) = &mut resolved {
                resolved.named.retain(|claim| !self.is_allocated_by_parties(claim));
            }
            Arc::new(resolved)
        })
    }

    /// The first moment at which a claim of the pod can be used otherwise, though nothing in the cluster changes; `None` where there is
    /// none.
    pub(crate) fn next_change_of_claims(&self) -> Option<i64> {
        let resolved = self.resolved_claims().as_ref().ok()?.as_ref()?;
        resolved.known().filter_map(|claim| claim.next_change(self.now())).min()
    }

    /// Whether the pod may have claims of devices, or extended resources that are served by them.
    pub(crate) fn may_have_claims(&self) -> bool {
        self.pod.claims.is_some() || !self.pod.resource_claims.is_empty()
    }

    /// `namespace/name` of allocated claims of the pod that keep it away from some row of the batch, and that nobody but the pod uses:
    /// taken back, they can be allocated elsewhere. In the order of the pod. Of use where no row is feasible.
    ///
    /// Source: `PostFilter` in dynamicresources.go.
    pub fn claims_to_release(&self) -> Vec<String> {
        if self.pod.claims.is_none() {
            return Vec::new();
        }
        let Ok(Some(resolved)) = self.resolved_claims() else { return Vec::new() };
        let keeps_away = |claim: &ClaimRecord| self.usable_rows(claim).contains(&0);
        resolved.releasable(&self.owner.1, keeps_away).iter().map(|claim| claim.key()).collect()
    }

    fn claim_of(&self, claim: &Arc<ClaimRecord>) -> wire::Claim {
        if claim.allocation.is_some() {
            return wire::Claim::Allocated(self.usable_rows(claim));
        }
        let DeviceClaim { requests, constraints, config: _ } = &*claim.spec;
        let requests = requests.iter().flatten().map(|request| self.request(request)).collect();
        let constraints = constraints.iter().map(constraint).collect();
        wire::Claim::Unallocated(Arc::new(wire::Unallocated { requests, constraints }))
    }

    /// Per row of the batch 1 where a claim can be used, else 0.
    pub(super) fn usable_rows(&self, claim: &ClaimRecord) -> Arc<[u8]> {
        let (names, labels) = (self.snapshot.names(), self.snapshot.labels());
        let mut usable = vec![0; self.rows() as usize];
        self.for_each_row(|place, row| {
            if let (Some(usable), Some(name), Some(labels)) = (usable.get_mut(place), names.get(row), labels.get(row)) {
                let claims = self.snapshot.claims();
                let has_operations = claims.has_operations(claim, self.snapshot.features_of(row));
                *usable = u8::from(has_operations && claims.is_usable_on(claim, labels, name, self.now()));
            }
        });
        usable.into()
    }

    fn extended_resource(&self, resource: &Arc<str>) -> wire::ExtendedResource {
        let mut rows: Vec<Row> = Vec::with_capacity(self.rows() as usize);
        self.for_each_row(|_, row| rows.push(row));
        wire::ExtendedResource {
            class: self.snapshot.claims().class_serving(resource).map(|class| class_of(&class.name, Some(class))),
            own: self.snapshot.own(resource, rows).into_iter().map(|own| own as u8).collect(),
        }
    }

    fn request(&self, request: &DeviceRequest) -> wire::Request {
        let DeviceRequest { name, exactly, first_available } = request;
        let asked =
            |fields: &DeviceFields, own_name: &str, is_alternative| self.asked(fields, own_name, is_alternative);
        let alternatives = if first_available.is_empty() {
            vec![asked(exactly.as_ref().unwrap_or(&DeviceFields::default()), name, false)]
        } else {
            first_available.iter().map(|fields| asked(fields, &fields.name, true)).collect()
        };
        wire::Request { base: text(name), alternatives }
    }

    fn asked(&self, fields: &DeviceFields, own_name: &str, is_alternative: bool) -> wire::Asked {
        let class = &fields.device_class_name;
        let selector = |selector: &DeviceSelector| selector.cel.as_ref().map(|cel| text(&cel.expression));
        wire::Asked {
            own_name: text(own_name),
            is_alternative,
            class: class_of(class, self.snapshot.claims().class(class)),
            selectors: fields.selectors.iter().map(selector).collect(),
            mode: text(&fields.allocation_mode),
            count: fields.count,
            admin_access: !is_alternative && fields.admin_access,
            tolerations: fields.tolerations.iter().map(toleration).collect(),
            capacity: fields
                .capacity
                .requests
                .iter()
                .map(|(name, quantity)| (text(name), amount(Amount::from(quantity))))
                .collect(),
        }
    }
}

fn class_of(name: &str, class: Option<&Arc<ClassRecord>>) -> wire::Class {
    let expression = |expression: &Option<String>| text(expression.as_deref().unwrap_or_default());
    wire::Class { name: text(name), selectors: class.map(|class| class.selectors.iter().map(expression).collect()) }
}

fn toleration(toleration: &DeviceToleration) -> wire::Toleration {
    let DeviceToleration { key, operator, value, effect, toleration_seconds: _ } = toleration;
    wire::Toleration { key: text(key), operator: text(operator), value: text(value), effect: text(effect) }
}

fn constraint(constraint: &DeviceConstraint) -> wire::Constraint {
    let DeviceConstraint { requests, match_attribute, distinct_attribute } = constraint;
    let kind = match (match_attribute, distinct_attribute) {
        (Some(attribute), _) => wire::ConstraintKind::Match(text(attribute)),
        (None, Some(attribute)) => wire::ConstraintKind::Distinct(text(attribute)),
        (None, None) => wire::ConstraintKind::Unknown,
    };
    wire::Constraint { requests: requests.iter().map(|request| text(request)).collect(), kind }
}

fn containers(pod: &PodClaims) -> Vec<wire::Container> {
    let container = |container: &nodesift_cache::metadata::ContainerResources| wire::Container {
        is_short: container.is_short,
        resources: container
            .resources
            .iter()
            .map(|it| wire::ContainerResource { key: it.key, resource: it.resource, count: it.count })
            .collect(),
    };
    pod.containers.iter().map(container).collect()
}

/// An amount as the contract shows it.
pub(super) fn amount(amount: Amount) -> wire::Amount {
    wire::Amount { nano_units: amount.nano_units.into(), units: amount.units }
}

fn text(text: &str) -> Arc<str> {
    Arc::from(text)
}
