//! Checked `Assume` requests, and the changes that they would make to the cache as it is. Nothing here evaluates or changes
//! anything. Start at [`AssumePlan`].

use std::sync::Arc;
use std::time::Duration;

use nodesift_proto::v1;

use super::request::{TERMINATED, pod_ref};
use crate::{Error, Service, limits};
use nodesift_cache::metadata::{self, PodRecord};
use nodesift_cache::{AssumeError, Plan, Writer};
use nodesift_engine::PodRef;
use nodesift_object::Pod;

/// An `Assume` request, checked.
pub(super) struct AssumePlan {
    pub(super) pod: PodRef,
    /// The cache's record of a pod that is given whole.
    pub(super) whole: Option<PodRecord>,
    pub(super) node: String,
    pub(super) ttl: Duration,
    /// The generation at which the cache has to be.
    pub(super) if_generation: Option<u64>,
    /// Whether the pod has to fit.
    pub(super) check: bool,
    /// Whether its claims get devices; then `check` is set too.
    pub(super) allocate: bool,
    /// Whether the node was agreed on: one fits of which a party says nothing any more.
    pub(super) is_agreed: bool,
}

impl Service {
    /// Checks a request; `place` is the path of its fields in errors, with the dot.
    pub(super) fn assume_plan(&self, place: &str, request: v1::AssumeRequest) -> Result<AssumePlan, Error> {
        let check = evaluates(&request);
        let v1::AssumeRequest { pod, node, ttl_ms, if_generation, check: _, allocate } = request;
        let ttl = self.ttl(place, ttl_ms)?;
        if node.is_empty() {
            return Err(Error::invalid(format!("{place}node"), "is empty"));
        }
        let pod = pod_ref(&format!("{place}pod"), pod.unwrap_or_default())?;
        let whole = match &pod {
            PodRef::Whole(pod) => Some(self.record(place, pod, &node)?),
            PodRef::Uid(_) | PodRef::Name { .. } | PodRef::Version { .. } | PodRef::Known(_) => None,
        };
        Ok(AssumePlan { pod, whole, node, ttl, if_generation, check, allocate, is_agreed: false })
    }

    /// Plans the change that the request would make, where its `if_generation` holds.
    pub(super) fn plan(&self, writer: &mut Writer, request: &AssumePlan) -> Result<Plan, Error> {
        if request.if_generation.is_some() || request.check {
            // Everybody publishes before unlocking, except where that has failed.
            writer.publish();
        }
        let found = self.reader().snapshot().generation().0;
        if let Some(wanted) = request.if_generation
            && wanted != found
        {
            return Err(Error::GenerationChanged { wanted, found });
        }
        let plan = match &request.whole {
            Some(record) => writer.plan_whole(record, &request.node)?,
            None => {
                let unknown = || AssumeError::UnknownPod { pod: request.pod.to_string() };
                writer.plan(&self.uid(&request.pod).ok_or_else(unknown)?, &request.node)?
            }
        };
        Ok(plan)
    }

    fn ttl(&self, place: &str, milliseconds: Option<u32>) -> Result<Duration, Error> {
        let Some(milliseconds) = milliseconds else { return Ok(self.settings().assume_ttl) };
        let ttl = Duration::from_millis(milliseconds.into());
        if ttl.is_zero() || ttl > limits::ASSUME_TTL_MAX {
            let most = limits::ASSUME_TTL_MAX.as_millis();
            return Err(Error::invalid(format!("{place}ttl_ms"), format!("from 1 to {most}")));
        }
        Ok(ttl)
    }

    /// The cache's record of a pod given whole.
    fn record(&self, place: &str, pod: &Pod, node: &str) -> Result<PodRecord, Error> {
        if metadata::is_terminated(pod) {
            return Err(Error::invalid(format!("{place}pod"), TERMINATED));
        }
        let bound = &pod.spec.node_name;
        if !bound.is_empty() && bound != node {
            return Err(Error::invalid(
                format!("{place}pod.spec.nodeName"),
                format!("is {bound:?}, and the node to assume it on is {node:?}: send the same, or leave it out"),
            ));
        }
        let policy = self.engine().policy();
        let record = metadata::pod_record_selecting(pod, &policy.scheduler_names, &policy.selection());
        // Here, so that the writer mostly knows it while it is locked.
        Ok(nodesift_engine::accounted(record, &policy))
    }

    /// The UID that the cache has for a pod, or would have.
    pub(super) fn uid(&self, pod: &PodRef) -> Option<Arc<str>> {
        self.engine().uid(pod)
    }
}

/// Whether a predicate is called for a request.
pub(super) fn evaluates(request: &v1::AssumeRequest) -> bool {
    request.check || request.allocate
}
