//! Changes that a `Filter` request makes before its pods are evaluated: assumptions that end, and pods that are assumed.
//!
//! All of them are made in order and published once, so that a core that places pod after pod sends each placement with the
//! next request and waits for nothing else. One that is refused stops neither the others nor the evaluation. Start at
//! [`Service::change`].

use std::time::Instant;

use nodesift_proto::v1::{self, assume_outcome, forget_outcome};
use parking_lot::MutexGuard;

use super::assume::assumed;
use super::plan::{AssumePlan, evaluates};
use super::request::pod_ref;
use crate::admission::deadline::Deadline;
use crate::admission::scope::RequestScope;
use crate::admission::slots::Size;
use crate::error::at_most;
use crate::paths::Class;
use crate::{Error, Service, limits};
use nodesift_cache::Writer;

/// The changes of one request, in the order in which they are made.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) forget: Vec<v1::ForgetRequest>,
    pub(crate) assume: Vec<v1::AssumeRequest>,
}

/// Results of the changes, in the order of the request.
#[derive(Debug, Default)]
pub(crate) struct Outcomes {
    pub(crate) forgotten: Vec<v1::ForgetOutcome>,
    pub(crate) assumed: Vec<v1::AssumeOutcome>,
}

impl Changes {
    /// Whether a predicate is evaluated for one of them.
    fn check_any(&self) -> bool {
        self.assume.iter().any(evaluates)
    }

    fn len(&self) -> usize {
        self.forget.len() + self.assume.len()
    }
}

impl Outcomes {
    /// Whether there were no changes.
    pub(crate) fn is_empty(&self) -> bool {
        self.forgotten.is_empty() && self.assumed.is_empty()
    }
}

/// The cache's writer, locked for as long as consecutive changes need no evaluation, and what the answers hold so far.
#[derive(Default)]
struct Batch<'a> {
    writer: Option<MutexGuard<'a, Writer>>,
    /// The answers that name the version of the next publication.
    forgotten: Vec<usize>,
    assumed: Vec<usize>,
    /// Bytes of the allocations so far.
    allocation_bytes: usize,
}

impl Service {
    /// Checks the rest of a request by `parse`, makes its changes, and publishes them. Without `check` and `allocate`
    /// that needs no evaluation slot. Once it has begun it is waited for: the client has to know what became of it.
    ///
    /// # Errors
    ///
    /// [`Error::Denied`] where the caller may not make changes, [`Error::TooMuch`] for more than
    /// [`limits::REQUEST_CHANGES`], those of `parse`, and those of [`Self::write`]. Nothing has changed then.
    pub(crate) async fn change<T: Send + 'static>(
        &self,
        scope: &RequestScope,
        changes: Changes,
        parse: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> Result<(T, Outcomes), Error> {
        scope.rights.check(Class::Decide)?;
        at_most("placements", changes.len(), limits::REQUEST_CHANGES)?;
        let deadline = scope.deadline;
        if changes.check_any() {
            let service = self.clone();
            let size = if changes.len() <= limits::CACHED_PODS { Size::Small } else { Size::Large };
            scope.pend()?;
            let _work = scope.peer.work();
            return self
                .evaluate_to_end(scope, size, move |_| Ok((parse()?, service.change_now(changes, deadline))))
                .await;
        }
        self.write(scope, move |service| Ok((parse()?, service.change_now(changes, deadline)))).await
    }

    /// Makes the changes on this thread. Takes the cache's lock: not for an I/O thread.
    pub(super) fn change_now(&self, changes: Changes, deadline: Deadline) -> Outcomes {
        // Whole pods are decoded and compiled before the lock is taken.
        let forget = changes.forget.into_iter().enumerate();
        let forget = forget.map(|(at, forget)| pod_ref(&format!("forget[{at}].pod"), forget.pod.unwrap_or_default()));
        let forget: Vec<_> = forget.collect();
        let assume = changes.assume.into_iter().enumerate();
        let assume: Vec<_> = assume.map(|(at, assume)| self.assume_plan(&format!("assume[{at}]."), assume)).collect();

        let mut outcomes = Outcomes::default();
        let mut batch = Batch::default();
        for pod in forget {
            let answer = pod.and_then(|pod| {
                let writer = self.lock_once(&mut batch, deadline)?;
                let was_assumed = self.forget_in(writer, &pod)?;
                batch.forgotten.push(outcomes.forgotten.len());
                Ok(v1::ForgetResponse { version: None, was_assumed })
            });
            let outcome = match answer {
                Ok(answer) => forget_outcome::Outcome::Answer(answer),
                Err(error) => forget_outcome::Outcome::Error(error.into()),
            };
            outcomes.forgotten.push(v1::ForgetOutcome { outcome: Some(outcome) });
        }
        for request in assume {
            let answer = request.and_then(|request| self.assume_next(&request, &mut batch, &mut outcomes, deadline));
            let outcome = match answer {
                Ok(answer) => assume_outcome::Outcome::Answer(answer),
                Err(error) => assume_outcome::Outcome::Error(error.into()),
            };
            outcomes.assumed.push(v1::AssumeOutcome { outcome: Some(outcome) });
        }
        self.publish_batch(&mut batch, &mut outcomes);
        outcomes
    }

    /// Makes the next assumption, within the batch where it needs no evaluation.
    fn assume_next<'a>(
        &'a self,
        request: &AssumePlan,
        batch: &mut Batch<'a>,
        outcomes: &mut Outcomes,
        deadline: Deadline,
    ) -> Result<v1::AssumeResponse, Error> {
        if request.check {
            // It locks by itself, after it has evaluated without the lock.
            self.publish_batch(batch, outcomes);
            deadline.check()?;
            if request.allocate && batch.allocation_bytes > limits::REQUEST_ALLOCATION_BYTES {
                return Err(Error::TooManyAllocations);
            }
            let answer = self.assume_planned(request, deadline)?;
            batch.allocation_bytes += answer.allocations.iter().map(prost::Message::encoded_len).sum::<usize>();
            return Ok(answer);
        }
        let until = Instant::now() + request.ttl;
        let writer = self.lock_once(batch, deadline)?;
        let plan = self.plan(writer, request)?;
        let placed = writer.carry_out(&plan, until);
        batch.assumed.push(outcomes.assumed.len());
        Ok(assumed(&plan, placed, None))
    }

    /// The writer, which the batch keeps until it publishes. One that has begun is ended: its answers say what became of each change.
    fn lock_once<'a, 'b>(&'a self, batch: &'b mut Batch<'a>, deadline: Deadline) -> Result<&'b mut Writer, Error> {
        match &mut batch.writer {
            Some(writer) => Ok(writer),
            none => Ok(none.insert(self.lock_by(deadline)?)),
        }
    }

    /// Publishes what the batch has changed, names the version in its answers, and unlocks the writer.
    fn publish_batch(&self, batch: &mut Batch<'_>, outcomes: &mut Outcomes) {
        let Some(mut writer) = batch.writer.take() else { return };
        let version = self.publish(&mut writer);
        drop(writer);
        for at in batch.forgotten.drain(..) {
            if let Some(forget_outcome::Outcome::Answer(answer)) =
                outcomes.forgotten.get_mut(at).and_then(|outcome| outcome.outcome.as_mut())
            {
                answer.version = Some(version.clone());
            }
        }
        for at in batch.assumed.drain(..) {
            if let Some(assume_outcome::Outcome::Answer(answer)) =
                outcomes.assumed.get_mut(at).and_then(|outcome| outcome.outcome.as_mut())
            {
                answer.version = Some(version.clone());
            }
        }
    }
}
