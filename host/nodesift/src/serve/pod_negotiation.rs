//! Decisions about pods with external parties, each in an object of the cluster: `PodNegotiation`, owned by its pod.
//!
//! ```text
//! document   decisions ↔ objects
//! ```
//!
//! Every write names the version that it replaces, so that of several sidecars the first wins, and a restart goes on from what stands. The
//! object has a finalizer: it outlives its pod until every party has given back what it held. Start at [`record`].

mod document;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fmt, fs};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::time::Instant;

use document::{Stored, Version};
use nodesift_api::Readiness;
use nodesift_cache::SharedWriter;
use nodesift_parties::record::{
    DecidedPod, Decision, DecisionState, NoRecord, Record, RecordError, Recorded, Revision, Written,
};
use nodesift_policy::spec::{GROUP, VERSION};
use nodesift_source::kube::connection::Connection;
use nodesift_source::kube::kinds::Resource;
use nodesift_source::kube::{Answered, Failure, Objects, Server, StoredObjects};

use super::policy_object::replica_name;
use crate::args::{RecordPlace, ServeArgs};
use crate::limits::{RECORD_TRIES, RECORD_UNSEEN_HOLDER};

/// Tells whether the sidecar of a name is there.
type IsThere = Box<dyn Fn(&str) -> bool + Send + Sync>;

/// Where the cache has the pod of a decision, by its UID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    /// Under the name and in the namespace of the decision.
    Here,
    /// Under another name or in another namespace: the decision is none about it.
    Elsewhere,
    /// It does not have it: the pod has ended, or was never there.
    Nowhere,
}

/// Looks the pod of a decision up in the cache.
type Find = Box<dyn Fn(&DecidedPod) -> Found + Send + Sync>;

/// Decisions, as an API server serves them.
const NEGOTIATIONS: Resource = Resource {
    kind: document::KIND,
    group: GROUP,
    versions: &[VERSION],
    plural: "podnegotiations",
    namespaced: true,
    optional: true,
};

/// File in which a pod finds the name of its namespace.
const NAMESPACE_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/// The record that the arguments ask for: objects beside a cluster, unless nothing is to be written; for files one in memory. Readiness
/// tells while decisions cannot be written.
pub(super) fn record(
    args: &ServeArgs,
    connection: Option<&Connection>,
    writer: &SharedWriter,
    readiness: &Readiness,
) -> Arc<dyn Record> {
    let Some(connection) = connection.filter(|_| args.record != Some(RecordPlace::None)) else {
        return Arc::new(NoRecord::default());
    };
    let holder = match fs::read_to_string(NAMESPACE_FILE) {
        // Not `--replica-name`, which may be anything: others look for the pod of this name.
        Ok(namespace) => format!("{}/{}", namespace.trim(), replica_name(env::var("POD_NAME").ok().as_deref())),
        Err(_) => replica_name(args.replica_name.as_deref()),
    };
    let reader = writer.lock().reader();
    let pods = reader.clone();
    let find = move |pod: &DecidedPod| match pods.pods().by_uid(&pod.uid) {
        Some(known) if known.namespace == pod.namespace && known.name == pod.name => Found::Here,
        Some(_) => Found::Elsewhere,
        None => Found::Nowhere,
    };
    // One outside of the cluster cannot be seen.
    let is_there = move |holder: &str| match holder.split_once('/') {
        Some((namespace, name)) => reader.pods().by_name(namespace, name).is_some(),
        None => !holder.is_empty(),
    };
    let server = Arc::new(connection.server.clone());
    let record = Arc::new(ObjectRecord::new(server, holder, Box::new(is_there), Box::new(find)));
    let (naming, counting) = (Arc::clone(&record), Arc::clone(&record));
    readiness.remark_naming(
        move || Some(format!("{UNWRITTEN}: {}", naming.trouble()?)),
        move || counting.trouble().map(|_| UNWRITTEN.to_owned()),
    );
    record
}

/// State of a record that the API server does not take.
const UNWRITTEN: &str = "decisions about pods are not written to PodNegotiations";

/// A record of decisions in the objects of a cluster.
struct ObjectRecord<S> {
    objects: StoredObjects<S>,
    /// This sidecar, as others know it: `NAMESPACE/NAME` of its pod; outside of a cluster the name of the replica.
    holder: String,
    /// Whether a sidecar of this name is there.
    is_there: IsThere,
    find: Find,
    /// Objects of the last list that are no work of a sidecar.
    foreign: AtomicUsize,
    /// Decisions that sidecars outside of the cluster give back, by version, with the time of the first list that had it.
    unseen_holders: Mutex<BTreeMap<Arc<str>, Instant>>,
    /// Why the last call failed, if it did.
    trouble: Mutex<Option<String>>,
}

impl<S> fmt::Debug for ObjectRecord<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectRecord").finish_non_exhaustive()
    }
}

impl<S: Server + Objects> ObjectRecord<S> {
    /// The objects on a server, as the sidecar of a name writes them. Nothing is sent yet.
    fn new(server: Arc<S>, holder: String, is_there: IsThere, find: Find) -> Self {
        let objects = StoredObjects::new(server, NEGOTIATIONS);
        Self {
            objects,
            holder,
            is_there,
            find,
            foreign: AtomicUsize::new(0),
            unseen_holders: Mutex::default(),
            trouble: Mutex::default(),
        }
    }

    fn trouble(&self) -> Option<String> {
        self.trouble.lock().clone()
    }

    /// Whether this sidecar goes on from a decision that stands: what is held until a pod ends is everybody's. What another sidecar works on
    /// is of that one for as long as it is there, and so is what it gives back: its `Allocate` may still be on the way to a party, and would
    /// come after a `Deallocate` of this sidecar, with nobody left who knows of the allocation.
    fn goes_on_from(&self, stored: &Stored) -> bool {
        stored.decision.state == DecisionState::Bound || stored.holder == self.holder || self.is_left(stored)
    }

    /// Whether a decision was left by a sidecar that is not there any more.
    fn is_left(&self, stored: &Stored) -> bool {
        stored.holder != self.holder && !(self.is_there)(&stored.holder)
    }

    /// Whether another sidecar outside of the cluster gives this back, which nobody can see.
    fn is_given_back_unseen(&self, stored: &Stored) -> bool {
        stored.decision.state == DecisionState::Deallocating
            && stored.holder != self.holder
            && !stored.holder.contains('/')
    }

    /// Reads the decisions that others have left: also what a sidecar that cannot be seen has not written for long.
    async fn left(&self) -> Result<Vec<Recorded>, RecordError> {
        let (now, before, seen) = (Instant::now(), self.unseen_holders.lock().clone(), Mutex::new(BTreeMap::new()));
        let is_overdue = |stored: &Stored| {
            if !self.is_given_back_unseen(stored) {
                return false;
            }
            let version = stored.version.revision().0;
            let since = before.get(&version).copied().unwrap_or(now);
            seen.lock().insert(version, since);
            now.saturating_duration_since(since) >= RECORD_UNSEEN_HOLDER
        };
        let left = self.read_all(|stored| self.is_left(stored) || is_overdue(stored)).await?;
        *self.unseen_holders.lock() = seen.into_inner();
        Ok(left)
    }

    /// Reads the decisions that are wanted: those of pods that the cache has come first, since of two decisions with one call the first
    /// counts. Objects that are no work of a sidecar are passed over.
    async fn read_all(&self, is_wanted: impl Fn(&Stored) -> bool + Send) -> Result<Vec<Recorded>, RecordError> {
        let objects = match self.objects.list().await {
            Ok(objects) => objects,
            Err(Failure::NotServed { .. }) => {
                return Err(RecordError::Refused(format!(
                    "the API server does not serve {}.{GROUP}: apply deploy/podnegotiations.yaml, or serve with --record none",
                    NEGOTIATIONS.plural
                )));
            }
            Err(failure) => return Err(refused(&failure)),
        };
        let (mut all, mut ended, mut foreign) = (Vec::with_capacity(objects.len()), Vec::new(), 0);
        for object in objects {
            match Stored::read(object.get().as_bytes()) {
                Ok(stored) => match (self.find)(&stored.decision.pod) {
                    Found::Elsewhere => foreign += 1,
                    _ if !stored.is_in_place => foreign += 1,
                    _ if !is_wanted(&stored) => {}
                    Found::Here => all.push(stored.recorded()),
                    Found::Nowhere => ended.push(stored.recorded()),
                },
                // One that somebody has broken must not stop all others.
                Err(error) => {
                    tracing::error!(%error, "a PodNegotiation cannot be read: what it holds is not given back")
                }
            }
        }
        if self.foreign.swap(foreign, Ordering::Relaxed) != foreign {
            tracing::warn!(objects = foreign, "PodNegotiations that are no work of a sidecar are passed over");
        }
        all.append(&mut ended);
        Ok(all)
    }

    /// The object of a pod as it stands, if there is one.
    async fn stands(&self, pod: &DecidedPod) -> Result<Option<Stored>, RecordError> {
        match self.objects.get(&pod.namespace, &document::name(pod)).await.map_err(|failure| refused(&failure))? {
            Answered::Done(object) => Ok(Some(Stored::read(&object)?)),
            Answered::Conflict | Answered::Absent => Ok(None),
        }
    }

    async fn write(&self, decision: &Decision, seen: Option<&Revision>) -> Result<Written, RecordError> {
        let pod = &decision.pod;
        let mut known = seen.map(Version::from_revision).transpose()?;
        for _ in 0..RECORD_TRIES {
            let object = document::write(decision, &self.holder, known.as_ref());
            let answer = match &known {
                None => self.objects.create(&pod.namespace, &object).await,
                Some(_) => self.objects.update(&pod.namespace, &document::name(pod), &object).await,
            };
            match answer.map_err(|failure| refused(&failure))? {
                Answered::Done(object) => return Ok(Written::Yes(Stored::read(&object)?.version.revision())),
                Answered::Absent if known.is_some() => return Ok(Written::Lost(None)),
                Answered::Absent => {
                    let missing = format!("namespace {} or kind {} is not there", pod.namespace, NEGOTIATIONS.kind);
                    return Err(RecordError::Refused(missing));
                }
                Answered::Conflict => {}
            }
            match self.stands(pod).await? {
                // An earlier try of this process, of whose success it has not heard: ids of calls are of one process.
                Some(stored) if stored.decision == *decision => return Ok(Written::Yes(stored.version.revision())),
                // Another decision that it has written without hearing of it, so that no party was told.
                Some(stored) if known.is_none() && stored.holder == self.holder => known = Some(stored.version),
                Some(stored) if known.as_ref().is_some_and(|seen| stored.version.is_same_decision(seen)) => {
                    known = Some(stored.version);
                }
                Some(stored) => return Ok(Written::Lost(Some(Box::new(stored.recorded())))),
                None if known.is_some() => return Ok(Written::Lost(None)),
                // It has gone since.
                None => {}
            }
        }
        Err(too_busy(pod))
    }

    /// Deletes the object, which waits for its finalizer, and takes that away. Where none was seen, only one that this sidecar has written.
    async fn delete(&self, pod: &DecidedPod, seen: Option<&Revision>) -> Result<Written, RecordError> {
        let mut known = match seen {
            Some(seen) => Version::from_revision(seen)?,
            None => match self.stands(pod).await? {
                Some(stored) if stored.holder == self.holder => stored.version,
                other => return Ok(Written::Lost(other.map(|stored| Box::new(stored.recorded())))),
            },
        };
        let seen = known.revision();
        let name = document::name(pod);
        for _ in 0..RECORD_TRIES {
            let options = document::delete_options(&known);
            let answer = self.objects.delete(&pod.namespace, &name, &options).await;
            let mut answer = answer.map_err(|failure| refused(&failure))?;
            if let Answered::Done(object) = &answer {
                let Some(released) = document::released(object)? else { return Ok(Written::Yes(seen)) };
                let updated = self.objects.update(&pod.namespace, &name, &released).await;
                answer = updated.map_err(|failure| refused(&failure))?;
            }
            if !matches!(answer, Answered::Conflict) {
                return Ok(Written::Yes(seen));
            }
            match self.stands(pod).await? {
                None => return Ok(Written::Yes(seen)),
                Some(stored) if stored.version.is_same_decision(&known) => known = stored.version,
                Some(stored) => return Ok(Written::Lost(Some(Box::new(stored.recorded())))),
            }
        }
        Err(too_busy(pod))
    }

    /// Reads the decisions to go on from. The pods of the cluster are known by now.
    async fn first(&self) -> Result<Vec<Recorded>, RecordError> {
        let loaded = self.read_all(|stored| self.goes_on_from(stored)).await?;
        if !(self.is_there)(&self.holder) {
            let holder = &self.holder;
            tracing::error!(
                holder,
                "this sidecar finds no pod of its own name, so that others take what it decides for left: set POD_NAME to metadata.name"
            );
        }
        Ok(loaded)
    }

    /// Logs the first of failures for one reason, and their end.
    fn note<T>(&self, outcome: Result<T, RecordError>) -> Result<T, RecordError> {
        let failed = outcome.as_ref().err().map(ToString::to_string);
        let before = std::mem::replace(&mut *self.trouble.lock(), failed.clone());
        match (before, failed) {
            (None, None) => {}
            (Some(_), None) => tracing::info!("decisions about pods are written to PodNegotiations again"),
            (Some(before), Some(failed)) if before == failed => {
                tracing::debug!(failed, "decisions about pods are still not written");
            }
            (_, Some(failed)) => {
                tracing::warn!(failed, "{UNWRITTEN}: no party allocates meanwhile");
            }
        }
        outcome
    }
}

impl<S: Server + Objects> Record for ObjectRecord<S> {
    fn load(&self) -> BoxFuture<'_, Result<Vec<Recorded>, RecordError>> {
        async move { self.note(self.first().await) }.boxed()
    }

    fn load_left(&self) -> BoxFuture<'_, Result<Vec<Recorded>, RecordError>> {
        async move { self.note(self.left().await) }.boxed()
    }

    fn decide<'a>(
        &'a self,
        decision: &'a Decision,
        seen: Option<&'a Revision>,
    ) -> BoxFuture<'a, Result<Written, RecordError>> {
        async move { self.note(self.write(decision, seen).await) }.boxed()
    }

    fn remove<'a>(
        &'a self,
        pod: &'a DecidedPod,
        seen: Option<&'a Revision>,
    ) -> BoxFuture<'a, Result<Written, RecordError>> {
        async move { self.note(self.delete(pod, seen).await) }.boxed()
    }
}

fn refused(failure: &Failure) -> RecordError {
    let text = failure.to_string();
    if failure.is_temporary() { RecordError::Unavailable(text) } else { RecordError::Refused(text) }
}

fn too_busy(pod: &DecidedPod) -> RecordError {
    let DecidedPod { namespace, name, .. } = pod;
    RecordError::Unavailable(format!("the object of pod {namespace}/{name} changes with each look"))
}

#[cfg(test)]
mod tests;
