//! Evaluation for an `Assume` before it is carried out: with `check` whether the pod fits its node, with `allocate` also which
//! devices its claims get there.
//!
//! Both are found on one snapshot: without the lock of the cache's writer first, and again under it where anything has been published
//! meanwhile. Start at [`Service::evaluate_locked`].
//!
//! A pod that holds devices in flight from an earlier call gets them anew: it is evaluated on a snapshot without its own hold, which
//! ends only where the call succeeds. So a core that has lost an answer repeats the call, and one that changes its mind moves the pod
//! without forgetting it first.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::plan::AssumePlan;
use crate::admission::deadline::Deadline;
use crate::{Error, Service, limits};
use nodesift_cache::{Generation, Placed, Plan, PodHolds, Snapshot, Writer};
use nodesift_engine::allocation::ClaimAllocation;
use nodesift_engine::{self as engine, Nodes, Options, OverlaySpec, PodAnswer, PodRef, Query};

/// Result of the evaluation of a plan.
pub(super) struct Found {
    /// Generations of cache and policy for which the plan was evaluated.
    at: (Generation, u64),
    /// Devices that the pod's claims get; empty without `allocate`.
    allocations: Vec<ClaimAllocation>,
}

/// Snapshot on which a plan is evaluated.
struct Ground {
    snapshot: Arc<Snapshot>,
    /// The generation of the cache for which it is: that of the snapshot, or, where the snapshot lacks the pod's own hold, the one
    /// with that hold and nothing else changed.
    at: Generation,
}

/// Questions that are evaluated for a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Needs {
    /// Whether to evaluate if the pod fits.
    fit: bool,
    /// Whether to allocate devices for the pod's claims.
    devices: bool,
    /// Whether the node was agreed on with parties, as in [`AssumePlan::is_agreed`].
    is_agreed: bool,
}

impl Needs {
    fn new(request: &AssumePlan, plan: &Plan) -> Self {
        Self {
            fit: request.check && takes_room(plan),
            // The claims of a bound pod are allocated.
            devices: request.allocate && plan.placed != Placed::AlreadyBound,
            is_agreed: request.is_agreed,
        }
    }

    fn nothing(self) -> bool {
        !self.fit && !self.devices
    }
}

impl Service {
    /// Evaluates without the lock. None where there is nothing to evaluate, the state is not settled, or the pod holds devices and the
    /// generation has to stay as it is.
    pub(super) fn evaluate_unlocked(&self, request: &AssumePlan, deadline: Deadline) -> Result<Option<Found>, Error> {
        let (plan, needs, ground) = {
            let mut writer = self.lock_by(deadline)?;
            let plan = self.plan(&mut writer, request)?;
            let needs = Needs::new(request, &plan);
            let would_change = request.if_generation.is_some() && own_hold(&writer, &plan, needs).is_some();
            if needs.nothing() || would_change {
                return Ok(None);
            }
            let ground = self.ground(&mut writer, &plan, needs);
            (plan, needs, ground)
        };
        match self.evaluate_plan(&plan, needs, &ground, limits::CHECK_TIME) {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.is_unsettled() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Snapshot on which a plan is evaluated once the lock is released: the published state, without devices that the pod itself
    /// holds. It holds them again when this returns.
    fn ground(&self, writer: &mut Writer, plan: &Plan, needs: Needs) -> Ground {
        let Some(held) = own_hold(writer, plan, needs) else { return self.newest() };
        writer.release_pod(&plan.pod.uid);
        // Whoever reads this one sees the devices free for a moment; who places by it is evaluated again, since the generation moves on.
        writer.publish();
        let snapshot = self.reader().snapshot();
        hold_again(writer, &plan.pod.uid, held);
        writer.publish();
        Ground { snapshot, ..self.newest() }
    }

    /// The published state, as a snapshot to evaluate on.
    fn newest(&self) -> Ground {
        let snapshot = self.reader().snapshot();
        Ground { at: snapshot.generation(), snapshot }
    }

    /// Evaluates a plan under the lock, unless what was found without it still holds. Returns what the pod's claims get; where that is
    /// asked for, the pod holds nothing any more.
    ///
    /// # Errors
    ///
    /// [`Error::DoesNotFit`], [`Error::CheckInterrupted`], and those of the engine. The pod holds then what it has held.
    pub(super) fn evaluate_locked(
        &self,
        writer: &mut Writer,
        request: &AssumePlan,
        plan: &Plan,
        found: Option<Found>,
    ) -> Result<Vec<ClaimAllocation>, Error> {
        let time = self.locked_time().left(Instant::now(), limits::LOCKED_CHECK_TIME);
        let start = Instant::now();
        let found = self.evaluate_locked_within(time, writer, request, plan, found);
        self.locked_time().spend(Instant::now(), start.elapsed());
        found
    }

    fn evaluate_locked_within(
        &self,
        time: Duration,
        writer: &mut Writer,
        request: &AssumePlan,
        plan: &Plan,
        found: Option<Found>,
    ) -> Result<Vec<ClaimAllocation>, Error> {
        let interrupted = |error| match error {
            Error::Engine(engine::Error::DeadlineExceeded) => Error::CheckInterrupted,
            error => error,
        };
        let needs = Needs::new(request, plan);
        if needs.nothing() {
            return Ok(Vec::new());
        }
        let state = (self.reader().snapshot().generation(), self.engine().policy().generation);
        let held = own_hold(writer, plan, needs);
        if held.is_some() {
            writer.release_pod(&plan.pod.uid);
        }
        if let Some(found) = found.filter(|found| found.at == state) {
            return Ok(found.allocations);
        }
        if held.is_some() {
            writer.publish();
        }
        let found = self.evaluate_plan(plan, needs, &self.newest(), time).map_err(interrupted);
        if let (Err(_), Some(held)) = (&found, held) {
            hold_again(writer, &plan.pod.uid, held);
            writer.publish();
        }
        Ok(found?.allocations)
    }

    /// Carries out a plan, and holds what the pod's claims get.
    ///
    /// # Errors
    ///
    /// [`Error::Held`] where it cannot be held; the pod is not assumed then.
    pub(super) fn place(
        &self,
        writer: &mut Writer,
        plan: &Plan,
        until: Instant,
        allocations: &[ClaimAllocation],
    ) -> Result<Placed, Error> {
        if allocations.is_empty() {
            return Ok(writer.carry_out(plan, until));
        }
        let held = allocations.iter().map(|allocation| {
            // A pod that was sent without UID has one in the cache.
            let uid = allocation.claim.as_ref().map_or(&plan.pod.uid, |claim| &claim.uid);
            (Arc::clone(uid), allocation.devices.clone())
        });
        let held: Vec<_> = held.collect();
        writer
            .carry_out_holding(plan, until, &held)
            .map_err(|error| Error::Held { pod: plan.pod.uid.to_string(), error })
    }

    /// Evaluates the pod of a plan on its node, as if it were pending.
    ///
    /// # Errors
    ///
    /// [`Error::DoesNotFit`], and those of the engine.
    fn evaluate_plan(&self, plan: &Plan, needs: Needs, ground: &Ground, time: Duration) -> Result<Found, Error> {
        let counts_already = plan.placed != Placed::Assumed;
        let removed = counts_already.then(|| PodRef::Uid(plan.pod.uid.to_string())).into_iter().collect();
        let overlay = OverlaySpec { removed, ..OverlaySpec::default() };
        let snapshot = self.engine().overlay_snapshot_on(&ground.snapshot, &overlay)?;
        let policy = self.engine().policy().generation;
        let pod = PodRef::Known(Arc::clone(&plan.pod));
        let deadline = Some(Instant::now() + time);
        let policy = if needs.fit { self.check_fit(&snapshot, plan, &pod, needs, deadline)? } else { policy };
        let allocations = match needs.devices {
            true => self.engine().allocate(&snapshot, &pod, &plan.node, deadline)?,
            false => Vec::new(),
        };
        Ok(Found { at: (ground.at, policy), allocations })
    }

    /// Checks that the pod fits; returns the generation of the policy.
    fn check_fit(
        &self,
        snapshot: &Arc<Snapshot>,
        plan: &Plan,
        pod: &PodRef,
        needs: Needs,
        deadline: Option<Instant>,
    ) -> Result<u64, Error> {
        let query = Query::new([pod.clone()]).with_nodes(Nodes::Named(vec![plan.node.to_string()]));
        // What parties have agreed on need not stand any more.
        let query = query.with_deadline(deadline).with_negotiated(needs.is_agreed);
        let answer = self.engine().answer(&query, Options::on(snapshot))?;
        match answer.pods.first() {
            Some(pod) if pod.feasible.is_empty() => Err(does_not_fit(pod, &plan.node)),
            Some(_) => Ok(answer.policy_generation),
            None => Err(Error::Internal),
        }
    }
}

/// Devices in flight that the pod of a plan holds itself, where it is to get devices.
fn own_hold(writer: &Writer, plan: &Plan, needs: Needs) -> Option<PodHolds> {
    needs.devices.then(|| writer.held_for_pod(&plan.pod.uid)).flatten()
}

/// Holds again what a pod has held a moment ago: it can be, where nobody else has had the lock.
pub(super) fn hold_again(writer: &mut Writer, pod: &str, held: PodHolds) {
    if let Err(error) = writer.hold_again(held) {
        tracing::error!(%error, pod, "claims in flight are not held any more");
    }
}

/// Whether the pod counts on the node, or counts for something else there, only once the plan is carried out.
fn takes_room(plan: &Plan) -> bool {
    match plan.placed {
        Placed::Assumed | Placed::Moved => true,
        Placed::Renewed => plan.replaces,
        Placed::AlreadyBound => false,
    }
}

fn does_not_fit(pod: &PodAnswer, node: &str) -> Error {
    let why = match pod.failures.first() {
        Some(failure) => format!("{} ({}): {}", failure.predicate, failure.code.name(), failure.reasons.join(", ")),
        None => "no reason given".to_owned(),
    };
    Error::DoesNotFit { pod: pod.pod.clone(), node: node.to_owned(), why }
}

#[cfg(test)]
mod tests;
