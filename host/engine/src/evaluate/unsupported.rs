//! Requests of a pod that no predicate of the policy evaluates: resource claims, and extended resources that only a DeviceClass
//! serves. kube-scheduler's plugin DynamicResources decides about them, and under a policy without a predicate in its place such a
//! pod must not simply fit. It gets the fault [`FaultKind::Unsupported`] under the plugin's name, and `spec.onUnsupported` decides
//! about the nodes: rejected unless it is `Ignore`.
//!
//! So does a pod of which the accounting component of the policy does not know what it takes, where the policy refuses such pods: the
//! fault is [`FaultKind::Unaccounted`] then, under the name `accounting`.
//!
//! Start at [`Unsupported::find`]. A pod without claims costs one comparison, and one lookup per request where a DeviceClass
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
use crate::policy::{ActivePolicy, OnError};

/// kube-scheduler's plugin that decides about claims. Faults and failures are reported under its name.
const PREDICATE: &str = "DynamicResources";

/// Predicate name in faults of a pod whose account is not known, where the policy refuses such pods.
const ACCOUNTING: &str = "accounting";

/// Fault of a pod that asks for something that no predicate evaluates, and the rows that it concerns.
#[derive(Debug, Clone)]
pub(crate) struct Unsupported {
    /// Name under which the fault is reported.
    predicate: &'static str,
    fault: Fault,
    /// One entry per row of the batch: 1 where the pod needs what is not evaluated, else 0. `None`: every row.
    rows: Option<Vec<u16>>,
}

impl Unsupported {
    /// Requests of the context's pod that no predicate of the policy evaluates, over the context's batch; `None` where there are none.
    pub(crate) fn find(policy: &ActivePolicy, context: &Context) -> Option<Self> {
        if let Some(text) = context.refusal() {
            let fault = Fault::new(FaultKind::Unaccounted, text);
            return Some(Self { predicate: ACCOUNTING, fault, rows: None });
        }
        let (claims, snapshot) = (&context.pod().resource_claims, context.snapshot());
        if claims.is_empty() && !snapshot.device_classes_serve_any() {
            return None;
        }
        if policy.decides_about_devices() {
            return None;
        }
        if !claims.is_empty() {
            let fault = fault("spec.resourceClaims", claims);
            return Some(Self { predicate: PREDICATE, fault, rows: None });
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
        (!names.is_empty()).then(|| {
            let fault = fault("resources that only a DeviceClass serves", &names);
            Self { predicate: PREDICATE, fault, rows: Some(rows) }
        })
    }

    /// The failure policy. That about unsupported pods does not decide about accounts, of which the policy says that it refuses them.
    fn policy(&self, on_unsupported: OnError) -> OnError {
        if self.predicate == ACCOUNTING { OnError::Reject } else { on_unsupported }
    }

    /// The fault as reported under a failure policy.
    pub(crate) fn report(&self, on_unsupported: OnError) -> FaultReport {
        let effect = effect_of(self.policy(on_unsupported));
        FaultReport { predicate: self.predicate.into(), fault: self.fault.clone(), effect }
    }

    /// The verdict that the failure policy gives over the context's batch, which has `rows` rows.
    pub(crate) fn verdict(&self, on_unsupported: OnError, rows: usize, scope: Scope) -> PredicateVerdict {
        let verdict = match self.policy(on_unsupported) {
            OnError::Ignore => Verdict::FitsAll,
            OnError::Reject => {
                let codes = self.rows.clone().unwrap_or_else(|| vec![1; rows]);
                rejecting(format!("predicate {:?} failed: {}", self.predicate, self.fault), codes)
            }
        };
        PredicateVerdict { predicate: self.predicate.into(), verdict: Arc::new(verdict), scope }
    }

    /// Whether the failure policy rejects the row at a place of the batch.
    pub(crate) fn rejects(&self, on_unsupported: OnError, place: usize) -> bool {
        let is_needed = self.rows.as_ref().is_none_or(|rows| rows.get(place) == Some(&1));
        self.policy(on_unsupported) == OnError::Reject && is_needed
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
