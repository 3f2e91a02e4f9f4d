//! `Assume` and `Forget`: decisions of a core → the cache's writer, published before the call returns; and [`expire`], which ends
//! assumptions that no event has confirmed in time.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use nodesift_proto::v1;
use parking_lot::Mutex;
use tokio::time::{MissedTickBehavior, interval};

use super::request::{TERMINATED, pod_ref};
use super::response;
use crate::{Error, Service, limits};
use nodesift_cache::metadata::{self, PodRecord};
use nodesift_cache::{AssumeError, Placed, Writer};
use nodesift_engine::PodRef;
use nodesift_object::Pod;

impl Service {
    /// Answers `Assume`. Takes the cache's lock: not for an I/O thread.
    pub(crate) fn assume_now(&self, request: v1::AssumeRequest) -> Result<v1::AssumeResponse, Error> {
        let until = Instant::now() + self.ttl(request.ttl_ms)?;
        if request.node.is_empty() {
            return Err(Error::invalid("node", "is empty"));
        }
        let pod = pod_ref("pod", request.pod.unwrap_or_default())?;
        let whole = match &pod {
            PodRef::Whole(pod) => Some(self.record(pod, &request.node)?),
            PodRef::Uid(_) | PodRef::Name { .. } | PodRef::Known(_) => None,
        };
        let mut writer = self.writer().lock();
        let (uid, placed) = match whole {
            Some(record) => {
                let uid = Arc::clone(&record.uid);
                (uid, writer.assume_whole(&record, &request.node, until)?)
            }
            None => {
                let uid = self.uid(&pod).ok_or_else(|| AssumeError::UnknownPod { pod: shown(&pod) })?;
                let placed = writer.assume(&uid, &request.node, until)?;
                (uid, placed)
            }
        };
        let version = self.publish(&mut writer);
        let pod = self.reader().pods().by_uid(&uid).map_or_else(|| shown(&pod), |pod| name(&pod));
        drop(writer);
        let placed = match placed {
            Placed::Assumed => v1::Placed::Assumed,
            Placed::Renewed => v1::Placed::Renewed,
            Placed::Moved => v1::Placed::Moved,
            Placed::AlreadyBound => v1::Placed::AlreadyBound,
        };
        Ok(v1::AssumeResponse { version: Some(version), pod, uid: uid.to_string(), placed: placed.into() })
    }

    /// Answers `Forget`. Takes the cache's lock: not for an I/O thread.
    pub(crate) fn forget_now(&self, request: v1::ForgetRequest) -> Result<v1::ForgetResponse, Error> {
        let pod = pod_ref("pod", request.pod.unwrap_or_default())?;
        let mut writer = self.writer().lock();
        let was_assumed = self.uid(&pod).is_some_and(|uid| writer.forget(&uid));
        let version = self.publish(&mut writer);
        Ok(v1::ForgetResponse { version: Some(version), was_assumed })
    }

    /// Publishes the change, and returns the version that shows it.
    fn publish(&self, writer: &mut Writer) -> v1::Version {
        writer.publish();
        response::version(&self.reader().snapshot(), self.engine().policy().generation, self.staleness().age())
    }

    fn ttl(&self, milliseconds: Option<u32>) -> Result<Duration, Error> {
        let Some(milliseconds) = milliseconds else { return Ok(self.settings().assume_ttl) };
        let ttl = Duration::from_millis(milliseconds.into());
        if ttl.is_zero() || ttl > limits::ASSUME_TTL_MAX {
            let most = limits::ASSUME_TTL_MAX.as_millis();
            return Err(Error::invalid("ttl_ms", format!("from 1 to {most}")));
        }
        Ok(ttl)
    }

    /// The cache's record of a pod given whole.
    fn record(&self, pod: &Pod, node: &str) -> Result<PodRecord, Error> {
        if metadata::is_terminated(pod) {
            return Err(Error::invalid("pod", TERMINATED));
        }
        let bound = &pod.spec.node_name;
        if !bound.is_empty() && bound != node {
            return Err(Error::invalid(
                "pod.spec.nodeName",
                format!("is {bound:?}, and the node to assume it on is {node:?}: send the same, or leave it out"),
            ));
        }
        let policy = self.engine().policy();
        Ok(metadata::pod_record_with_annotations(pod, &policy.scheduler_names, &policy.annotation_keys))
    }

    /// The UID that the cache has for a pod, or would have.
    fn uid(&self, pod: &PodRef) -> Option<Arc<str>> {
        let by_name =
            |namespace: &str, name: &str| Some(Arc::clone(&self.reader().pods().by_name(namespace, name)?.uid));
        match pod {
            PodRef::Uid(uid) => Some(Arc::from(uid.as_str())),
            PodRef::Name { namespace, name } => by_name(namespace, name),
            PodRef::Known(pod) => Some(Arc::clone(&pod.uid)),
            PodRef::Whole(pod) if pod.metadata.uid.is_empty() => by_name(&pod.metadata.namespace, &pod.metadata.name),
            PodRef::Whole(pod) => Some(Arc::from(pod.metadata.uid.as_str())),
        }
    }
}

fn shown(pod: &PodRef) -> String {
    match pod {
        PodRef::Uid(uid) => uid.clone(),
        PodRef::Name { namespace, name } => format!("{namespace}/{name}"),
        PodRef::Known(pod) => format!("{}/{}", pod.namespace, pod.name),
        PodRef::Whole(pod) => pod.key(),
    }
}

fn name(pod: &PodRecord) -> String {
    format!("{}/{}", pod.namespace, pod.name)
}

/// Ends expired assumptions every [`limits::ASSUME_TICK`], until the cache is dropped.
pub async fn expire(writer: Weak<Mutex<Writer>>) {
    let mut ticks = interval(limits::ASSUME_TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let Some(writer) = writer.upgrade() else { return };
        // The lock may be held for some milliseconds: too long for an I/O thread.
        let expired = tokio::task::spawn_blocking(move || {
            let mut writer = writer.lock();
            let expired = writer.expire(Instant::now());
            if expired > 0 {
                writer.publish();
            }
            expired
        });
        match expired.await {
            Ok(0) => {}
            Ok(pods) => tracing::warn!(pods, "assumptions expired: no event has confirmed them"),
            Err(error) => tracing::error!(%error, "assumptions cannot be expired"),
        }
    }
}
