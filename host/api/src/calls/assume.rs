//! `Assume` and `Forget`: decisions of a core → the cache's writer, published before the call returns; and [`expire`], which ends
//! assumptions that no event has confirmed in time.
//!
//! A conditional `Assume` is decided and carried out under one lock of the writer, so of two cores that take the last room of a
//! node, or the last device, one is refused; what it evaluates is in [`check`](super::check). Start at [`Service::assume`].

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use nodesift_proto::v1;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::{MissedTickBehavior, interval};

use super::check::hold_again;
use super::plan::{AssumePlan, evaluates};
use super::request::pod_ref;
use super::response;
use crate::admission::deadline::Deadline;
use crate::admission::scope::RequestScope;
use crate::admission::slots::Size;
use crate::{Error, Service, limits};
use nodesift_cache::metadata::PodRecord;
use nodesift_cache::{Overdue, Placed, Plan, Writer};
use nodesift_engine::PodRef;

impl Service {
    /// Answers `Assume`. With `check` or `allocate` it evaluates, which takes an evaluation slot; without, it needs none.
    pub(crate) async fn assume(
        &self,
        scope: &RequestScope,
        request: v1::AssumeRequest,
    ) -> Result<v1::AssumeResponse, Error> {
        let deadline = scope.deadline;
        if evaluates(&request) {
            let service = self.clone();
            scope.pend()?;
            let _work = scope.peer.work();
            // One pod on one node. Once it has begun it is waited for: the client has to know what became of it.
            return self.evaluate_to_end(scope, Size::Small, move |_| service.assume_by(request, deadline)).await;
        }
        self.write(scope, move |service| service.assume_by(request, deadline)).await
    }

    /// Carries out an `Assume` like [`Self::assume`], on this thread. Takes the cache's lock: not for an I/O thread.
    pub(super) fn assume_by(
        &self,
        request: v1::AssumeRequest,
        deadline: Deadline,
    ) -> Result<v1::AssumeResponse, Error> {
        self.assume_planned(&self.assume_plan("", request)?, deadline)
    }

    /// The cache's writer, for a change that a client has asked for.
    ///
    /// # Errors
    ///
    /// [`Error::DeadlineExceeded`] where it is held by others until then. The client may have given up by now and sent what it wants
    /// instead, which a change that is made later would undo.
    pub(super) fn lock_by(&self, deadline: Deadline) -> Result<MutexGuard<'_, Writer>, Error> {
        // Taken at the last moment, it is too late as well.
        let writer = self.writer().try_lock_until(deadline.for_engine()).ok_or_else(|| deadline.exceeded())?;
        deadline.check()?;
        Ok(writer)
    }

    /// Assumes a pod in one step of its own, and publishes it.
    pub(super) fn assume_planned(&self, request: &AssumePlan, deadline: Deadline) -> Result<v1::AssumeResponse, Error> {
        let until = Instant::now() + request.ttl;
        // Evaluated without the lock first: refusals, columns that have to be built and slow predicates keep nobody waiting.
        // Under the lock only what has changed meanwhile is evaluated again.
        let found = if request.check { self.evaluate_unlocked(request, deadline)? } else { None };

        let mut writer = self.lock_by(deadline)?;
        let plan = self.plan(&mut writer, request)?;
        let held = writer.held_for_pod(&plan.pod.uid);
        let found = self.evaluate_locked(&mut writer, request, &plan, found)?;
        let placed = self.place(&mut writer, &plan, until, &found);
        if let (Err(_), Some(held)) = (&placed, held) {
            hold_again(&mut writer, &plan.pod.uid, held);
        }
        let version = self.publish(&mut writer);
        drop(writer);
        let placed = placed?;
        let allocations = found.into_iter().map(response::allocation).collect();
        Ok(v1::AssumeResponse { allocations, ..assumed(&plan, placed, Some(version)) })
    }

    /// Assumes a pod on a node that was agreed on with parties if it fits there, and holds claims whose devices others allocate: no
    /// other pod gets them meanwhile. The pod is the record, or, where the cache has known it before, whatever the cache has by
    /// now.
    pub(crate) fn assume_holding(
        &self,
        pod: &Arc<PodRecord>,
        is_known: bool,
        node: &str,
        claims: &[Arc<str>],
    ) -> Result<v1::AssumeResponse, Error> {
        let whole = || nodesift_engine::accounted(PodRecord::clone(pod), &self.engine().policy());
        let request = AssumePlan {
            pod: if is_known { PodRef::Uid(pod.uid.to_string()) } else { PodRef::Known(Arc::clone(pod)) },
            whole: (!is_known).then(whole),
            node: node.to_owned(),
            ttl: limits::ASSUME_TTL_MAX,
            if_generation: None,
            check: true,
            allocate: false,
            is_agreed: true,
        };
        let until = Instant::now() + request.ttl;
        let is_held = self.uid(&request.pod).is_some_and(|uid| self.writer().lock().held_for_pod(&uid).is_some());
        // Nobody waits for it who could give up.
        let deadline = Deadline::after(tokio::time::Instant::now(), request.ttl);
        let found = if is_held { None } else { self.evaluate_unlocked(&request, deadline)? };

        let mut writer = self.writer().lock();
        // What the pod itself holds must not keep it from another node.
        let held = self.uid(&request.pod).and_then(|uid| writer.held_for_pod(&uid).map(|held| (uid, held)));
        if let Some((uid, _)) = &held {
            writer.release_pod(uid);
            writer.publish();
        }
        let placed = self.plan(&mut writer, &request).and_then(|plan| {
            self.evaluate_locked(&mut writer, &request, &plan, found)?;
            let nothing = claims.iter().map(|uid| (Arc::clone(uid), Vec::new())).collect::<Vec<_>>();
            let placed = writer.carry_out_holding(&plan, until, &nothing);
            let placed = placed.map_err(|error| Error::Held { pod: plan.pod.uid.to_string(), error })?;
            Ok((plan, placed))
        });
        if let (Err(_), Some((uid, held))) = (&placed, held) {
            hold_again(&mut writer, &uid, held);
        }
        let version = self.publish(&mut writer);
        let (plan, placed) = placed?;
        Ok(assumed(&plan, placed, Some(version)))
    }

    /// Answers `Forget`. Takes the cache's lock: not for an I/O thread.
    pub(crate) fn forget_by(
        &self,
        request: v1::ForgetRequest,
        deadline: Deadline,
    ) -> Result<v1::ForgetResponse, Error> {
        let pod = pod_ref("pod", request.pod.unwrap_or_default())?;
        let mut writer = self.lock_by(deadline)?;
        let was_assumed = self.forget_in(&mut writer, &pod)?;
        let version = self.publish(&mut writer);
        Ok(v1::ForgetResponse { version: Some(version), was_assumed })
    }

    /// Ends the assumption of a pod, without publishing; false where there is none.
    pub(super) fn forget_in(&self, writer: &mut Writer, pod: &PodRef) -> Result<bool, Error> {
        Ok(self.uid(pod).is_some_and(|uid| writer.forget(&uid)))
    }

    /// Publishes the change, and returns the version that shows it.
    pub(super) fn publish(&self, writer: &mut Writer) -> v1::Version {
        writer.publish();
        response::version(&self.reader().snapshot(), self.engine().policy().generation, self.staleness().age())
    }
}

/// The response for an assumed pod.
pub(super) fn assumed(plan: &Plan, placed: Placed, version: Option<v1::Version>) -> v1::AssumeResponse {
    let placed = match placed {
        Placed::Assumed => v1::Placed::Assumed,
        Placed::Renewed => v1::Placed::Renewed,
        Placed::Moved => v1::Placed::Moved,
        Placed::AlreadyBound => v1::Placed::AlreadyBound,
    };
    let (pod, uid) = (name(&plan.pod), plan.pod.uid.to_string());
    v1::AssumeResponse { version, pod, uid, placed: placed.into(), allocations: Vec::new() }
}

fn name(pod: &PodRecord) -> String {
    format!("{}/{}", pod.namespace, pod.name)
}

/// Ends expired assumptions every [`limits::ASSUME_TICK`], until the cache is dropped. `silence` is the time since the source has
/// confirmed what it says of pods; none for a source of files.
///
/// An assumption ends only once the source has been heard after its deadline: until then the pod may have been bound, and its
/// room would be given away.
pub async fn expire(writer: Weak<Mutex<Writer>>, silence: impl Fn() -> Option<Duration>) {
    let mut ticks = interval(limits::ASSUME_TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut hearing = Hearing::default();
    loop {
        ticks.tick().await;
        let Some(writer) = writer.upgrade() else { return };
        let (now, silence) = (Instant::now(), silence().unwrap_or_default());
        let heard = hearing.until(now, silence);
        // The lock may be held for some milliseconds: too long for an I/O thread.
        let ended = tokio::task::spawn_blocking(move || {
            let mut writer = writer.lock();
            let expired = heard.map(|heard| writer.expire(heard)).unwrap_or_default();
            if expired.count > 0 {
                writer.publish();
            }
            (expired, writer.overdue(now))
        });
        match ended.await {
            Ok((expired, overdue)) => {
                if expired.count > 0 {
                    let count = expired.count;
                    tracing::warn!(count, pods = %expired, "assumptions expired: no event has confirmed them");
                }
                if hearing.is_to_warn(&overdue, now, silence) {
                    let (count, silent_s) = (overdue.count, silence.as_secs());
                    tracing::warn!(
                        count, pods = %overdue, silent_s,
                        "assumptions kept past their time to live: the API server is silent and may have bound these pods"
                    );
                }
            }
            Err(error) => tracing::error!(%error, "assumptions cannot be expired"),
        }
    }
}

/// Up to when the source has been heard, as far as assumptions may rely on it.
#[derive(Debug, Default)]
struct Hearing {
    /// Where it was silent for long: when what happened meanwhile has arrived.
    caught_up: Option<Instant>,
    /// The last warning, and how many assumptions it was about.
    warned: Option<(Instant, usize)>,
}

impl Hearing {
    /// Assumptions with a deadline up to this moment may end; none while it is unknown what has happened to their pods.
    fn until(&mut self, now: Instant, silence: Duration) -> Option<Instant> {
        if silence >= limits::ASSUME_SILENCE {
            self.caught_up = Some(now + limits::ASSUME_CATCH_UP);
        }
        if self.caught_up.is_some_and(|caught_up| now < caught_up) {
            return None;
        }
        self.caught_up = None;
        now.checked_sub(silence)
    }

    /// Whether to warn of assumptions that a silence keeps.
    fn is_to_warn(&mut self, overdue: &Overdue, now: Instant, silence: Duration) -> bool {
        if overdue.count == 0 {
            self.warned = None;
            return false;
        }
        let is_new = self.warned.is_none_or(|(at, count)| {
            count != overdue.count && now.saturating_duration_since(at) >= limits::ASSUME_WARN_PERIOD
        });
        if silence < limits::ASSUME_SILENCE || !is_new {
            return false;
        }
        self.warned = Some((now, overdue.count));
        true
    }
}

#[cfg(test)]
mod tests;
