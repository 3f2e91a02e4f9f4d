//! Work of a [`Service`] for whoever negotiates: candidates evaluated, pods assumed and forgotten, each within the limits of any other
//! call. Start at [`Service::evaluate_candidates`].

use std::sync::Arc;

use nodesift_cache::metadata::PodRecord;
use nodesift_engine::Engine;
use nodesift_proto::v1::{self, pod};
use tokio::time::Instant;

use crate::admission::consistency::MinimumVersions;
use crate::admission::deadline::Deadline;
use crate::admission::slots::Size;
use crate::{Error, RequestScope, Service, limits};

impl Service {
    /// Waits until the cache has the minimum versions of a request. Returns its scope with the deadline of what follows.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidField`], [`Error::NotSeen`], [`Error::Overloaded`].
    pub async fn until_seen(
        &self,
        mut scope: RequestScope,
        consistency: Option<&v1::Consistency>,
    ) -> Result<RequestScope, Error> {
        let minimum = MinimumVersions::parse(consistency)?;
        if let Some(minimum) = minimum.filter(|minimum| !minimum.are_met(&self.reader().snapshot())) {
            scope.deadline = self.version_waiters().wait(&scope, &minimum).await?;
        }
        Ok(scope)
    }

    /// Evaluates in a slot for large requests, so that small ones always find one. The work is given its deadline, which is not that of the
    /// request that it goes back to.
    ///
    /// # Errors
    ///
    /// [`Error::Overloaded`] and others of evaluations, and those of the work.
    pub async fn evaluate_candidates<T, W>(&self, scope: &RequestScope, work: W) -> Result<T, Error>
    where
        T: Send + 'static,
        W: FnOnce(&Engine, std::time::Instant) -> Result<T, Error> + Send + 'static,
    {
        let scope = scope.renewed(self.settings().request_time);
        let deadline = scope.deadline.for_engine();
        self.evaluate(&scope, Size::Large, move |engine| work(engine, deadline)).await
    }

    /// Assumes a pod in an evaluation slot, on a node that it fits and that was agreed on, and holds claims whose devices others allocate.
    /// The pod is the record, or, where the cache has known it before, whatever the cache has by now.
    ///
    /// # Errors
    ///
    /// [`Error::DoesNotFit`], [`Error::Held`], [`Error::Assume`], and those of evaluations.
    pub async fn assume_candidate(
        &self,
        scope: &RequestScope,
        pod: Arc<PodRecord>,
        is_known: bool,
        node: Arc<str>,
        claims: Vec<Arc<str>>,
    ) -> Result<(), Error> {
        let scope = scope.renewed(self.settings().request_time);
        let service = self.clone();
        let work = move |_: &Engine| service.assume_holding(&pod, is_known, &node, &claims);
        self.evaluate_to_end(&scope, Size::Small, work).await.map(drop)
    }

    /// Ends the assumption of a pod, however long that takes.
    ///
    /// # Errors
    ///
    /// [`Error::Internal`] where the work panics.
    pub async fn forget_candidate(&self, pod: &str) -> Result<(), Error> {
        let request = v1::ForgetRequest { pod: Some(v1::Pod::from(pod::Pod::Uid(pod.to_owned()))) };
        // After this time the assumption ends by itself.
        let deadline = Deadline::after(Instant::now(), limits::ASSUME_TTL_MAX);
        let service = self.clone();
        let forgotten = tokio::task::spawn_blocking(move || service.forget_by(request, deadline)).await;
        forgotten.map_err(|_| Error::Internal)?.map(drop)
    }
}
