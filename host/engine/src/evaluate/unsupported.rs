//! What a pod asks for that no predicate of the policy evaluates: resource claims, and extended resources that only a DeviceClass
//! serves. kube-scheduler's plugin DynamicResources decides about them, and under a policy without a predicate in its place such a
//! pod must not simply fit. It gets the fault [`FaultKind::Unsupported`] under the plugin's name, and the policy says what becomes of
//! the nodes: rejected unless `spec.onUnsupported` is `Ignore`.
//!
//! Start at [`Unsupported::of`]. A pod without claims costs one comparison, and one lookup per request where a DeviceClass
//! serves anything.

use std::fmt::Write as _;
use std::sync::Arc;

use nodesift_cache::metadata::requests::{CPU, EPHEMERAL_STORAGE, MEMORY};
use nodesift_sandbox::Verdict;
use nodesift_sandbox::fault::{Fault, FaultKind};

use super::evaluation::{effect_of, rejecting};
use super::predicate_verdict::{PredicateVerdict, Scope};
use crate::answer::FaultReport;
use crate::facts::Context;
use crate::limits::UNSUPPORTED_NAMES;
use crate::policy::OnError;

/// kube-scheduler's plugin that decides about claims. Faults and failures are reported under its name.
const PREDICATE: &str = "DynamicResources";

/// What the nodes of a batch would have to be evaluated for.
#[derive(Debug, Clone)]
pub(crate) struct Unsupported {
    fault: Fault,
    /// One entry per row of the batch: 1 where the pod needs what is not evaluated, else 0. `None`: every row.
    rows: Option<Vec<u16>>,
}

impl Unsupported {
    /// What the context's pod asks for and no predicate evaluates, over the context's batch; `None` where there is nothing.
    pub(crate) fn of(context: &Context) -> Option<Self> {
        // A predicate of the policy evaluates it.
        if context.selectors().is_some() {
            return None;
        }
        let claims = &context.pod().resource_claims;
        if !claims.is_empty() {
            return Some(Self { fault: fault("spec.resourceClaims", claims), rows: None });
        }
        let snapshot = context.snapshot();
        if !snapshot.device_classes_serve_any() {
            return None;
        }
        let is_served = |(name, amount): &&(Arc<str>, i64)| {
            *amount != 0 && ![CPU, MEMORY, EPHEMERAL_STORAGE].contains(&&**name) && snapshot.device_class_serves(name)
        };
        let served: Vec<Arc<str>> =
            context.pod().requests.iter().filter(is_served).map(|(name, _)| Arc::clone(name)).collect();
        if served.is_empty() {
            return None;
        }
        // A node that lists the resource provides it itself, and NodeResourcesFit decides. Source: `shouldDelegateResourceToDRA`
        // in pkg/scheduler/framework/plugins/noderesources/fit.go.
        let mut rows = vec![0; context.rows() as usize];
        let mut names = Vec::new();
        for name in served {
            let resource = snapshot.resource(&name);
            let mut is_needed = false;
            context.for_each_row(|place, row| {
                let listed = resource.as_ref().and_then(|resource| resource.allocatable.get(row)).copied().unwrap_or(0);
                if let Some(entry) = rows.get_mut(place).filter(|_| listed <= 0) {
                    *entry = 1;
                    is_needed = true;
                }
            });
            names.extend(is_needed.then_some(name));
        }
        (!names.is_empty())
            .then(|| Self { fault: fault("resources that only a DeviceClass serves", &names), rows: Some(rows) })
    }

    /// The fault as reported under a failure policy.
    pub(crate) fn report(&self, on_unsupported: OnError) -> FaultReport {
        FaultReport { predicate: PREDICATE.into(), fault: self.fault.clone(), effect: effect_of(on_unsupported) }
    }

    /// The verdict that the failure policy gives over the context's batch, which has `rows` rows.
    pub(crate) fn verdict(&self, on_unsupported: OnError, rows: usize, scope: Scope) -> PredicateVerdict {
        let verdict = match on_unsupported {
            OnError::Ignore => Verdict::FitsAll,
            OnError::Reject => {
                let codes = self.rows.clone().unwrap_or_else(|| vec![1; rows]);
                rejecting(format!("predicate {PREDICATE:?} failed: {}", self.fault), codes)
            }
        };
        PredicateVerdict { predicate: PREDICATE.into(), verdict: Arc::new(verdict), scope }
    }

    /// Whether the failure policy rejects the row at a place of the batch.
    pub(crate) fn rejects(&self, on_unsupported: OnError, place: usize) -> bool {
        let is_needed = self.rows.as_ref().is_none_or(|rows| rows.get(place) == Some(&1));
        on_unsupported == OnError::Reject && is_needed
    }
}

/// The fault that names what is asked for: the field or kind, then the names.
fn fault(what: &str, names: &[Arc<str>]) -> Fault {
    let mut detail = format!("{what}:");
    for (at, name) in names.iter().take(UNSUPPORTED_NAMES).enumerate() {
        // Writing to a string cannot fail.
        let _ = write!(detail, "{}{name:?}", if at == 0 { " " } else { ", " });
    }
    if names.len() > UNSUPPORTED_NAMES {
        let _ = write!(detail, " and {} more", names.len() - UNSUPPORTED_NAMES);
    }
    Fault::new(FaultKind::Unsupported, &detail)
}
