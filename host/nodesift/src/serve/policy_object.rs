//! `--policy-resource`: the policy is an object of the watched cluster. It is followed from before the checks on, because it decides
//! what else is followed; and every replica writes into its status what became of it.
//!
//! Between watch, reloads and status there is one state each, the newest, so that none of them waits for another. Start at
//! [`Followed::start`].

use std::fs;
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::live;
use crate::args::ServeArgs;
use crate::exit::Failure;
use crate::limits::{
    FIELD_MANAGER_BYTES, POLICY_OBJECT_TIME, STATUS_BEAT, STATUS_END_TIME, STATUS_UNSEEN, STATUS_WRITE_PERIOD,
    STATUS_WRITES,
};
use nodesift_api::{Readiness, rfc3339};
use nodesift_policy::object::{self, Report};
use nodesift_policy::reload::{Attempt, AttemptOutcome, ObjectId, ObjectState, PolicyObject, start_refusal};
use nodesift_policy::spec::{GROUP, KIND, PLURAL, VERSION};
use nodesift_source::kube::connection::Connection;
use nodesift_source::kube::kinds::Resource;
use nodesift_source::kube::{self, ApiServer, Health, Metrics, Seen, StatusTrouble, StatusWriter, Wanted};

/// Policies, as an API server serves them.
const POLICIES: Resource =
    Resource { kind: KIND, group: GROUP, versions: &[VERSION], plural: PLURAL, namespaced: false, optional: true };

/// A policy object that is followed until this is dropped.
pub(super) struct Followed {
    /// The followed policy object.
    pub(super) object: PolicyObject,
    /// The connection over which it is followed.
    pub(super) connection: Connection,
    /// Failures of the requests about the object, and of all others over the connection.
    pub(super) health: Health,
    /// The requests about it.
    pub(super) metrics: Metrics,
    trouble: StatusTrouble,
    status: Arc<Status>,
    writer: Arc<StatusWriter<ApiServer>>,
    reporting: JoinSet<()>,
    _watch: kube::FollowingNamed,
}

impl Followed {
    /// Follows the object that the arguments name, if they do, and waits a while until anything is known of it.
    ///
    /// # Errors
    ///
    /// [`Failure::Usage`] without a cluster to watch, and as [`live::connect`].
    pub(super) fn start(args: &ServeArgs, runtime: &Runtime) -> Result<Option<Self>, Failure> {
        let Some(name) = &args.policy_resource else { return Ok(None) };
        let origin = args.kube.origin().ok_or_else(|| {
            Failure::Usage(
                "--policy-resource needs a cluster to watch: use --kube, --kubeconfig FILE or --context NAME"
                    .to_owned(),
            )
        })?;
        let reach = args.reach.reach(true)?;
        let connection = runtime.block_on(live::connect(&origin))?;
        let _inside = runtime.enter();
        let status = Arc::new(Status::new(name, args.replica_name.as_deref()));
        let telling = Arc::clone(&status);
        let object = PolicyObject::new(name, reach, move |attempt| telling.tell(attempt));
        let (seeing, showing) = (object.clone(), Arc::clone(&status));
        let see = move |seen: Seen| {
            showing.see(&seen);
            seeing.see(state_of(seen));
        };
        let (server, health, metrics) = (Arc::new(connection.server.clone()), Health::default(), Metrics::default());
        let watch = kube::follow_named(&server, POLICIES, name, see, &health, &metrics);
        let trouble = StatusTrouble::default();
        let writer = Arc::new(StatusWriter::start(&server, &trouble));
        let mut reporting = JoinSet::new();
        reporting.spawn(report(Arc::clone(&status), Arc::clone(&writer)));
        object.wait(POLICY_OBJECT_TIME);
        Ok(Some(Self { object, connection, health, metrics, trouble, status, writer, reporting, _watch: watch }))
    }

    /// Why its status cannot be written at present.
    pub(super) fn trouble(&self) -> impl Fn() -> Option<String> + Send + Sync + use<> {
        let trouble = self.trouble.clone();
        move || trouble.report()
    }

    /// Has readiness tell what fails.
    pub(super) fn remark(&self, readiness: &Readiness) {
        let (health, counted) = (self.health.clone(), self.health.clone());
        readiness.remark_naming(move || health.report(), move || counted.counts());
        let (trouble, troubled) = (self.trouble(), self.trouble());
        readiness.remark_naming(
            move || Some(format!("the status of the policy's object is not written: {}", trouble()?)),
            move || troubled().map(|_| "the status of the policy's object is not written".to_owned()),
        );
    }

    /// The start has no policy at all: tells why, as of a reload that was refused.
    pub(super) fn refuse(&self, error: &anyhow::Error) {
        let ObjectState::Present { id, .. } = self.object.state() else { return };
        let inner = match error.downcast_ref() {
            Some(Failure::Policy(inner)) => inner,
            _ => error,
        };
        let outcome = AttemptOutcome::Refused(start_refusal(self.object.source(), inner.as_ref()));
        let (policy_generation, kubernetes, quarantined, warnings) = (0, String::new(), Vec::new(), Vec::new());
        self.object.tell(Attempt {
            object: id,
            policy_generation,
            kubernetes,
            outcome,
            at: now(),
            quarantined,
            warnings,
        });
    }

    /// Takes what this replica has written out of the status: it is about to end.
    pub(super) async fn end(mut self) {
        self.reporting.shutdown().await;
        let Some(last) = self.status.released() else { return };
        // The task of reports has ended, and held the other one.
        let Some(writer) = Arc::into_inner(self.writer) else { return };
        if let Err(error) = writer.finish(&last, STATUS_END_TIME).await {
            tracing::debug!(%error, "the status of the policy's object keeps the entry of this replica");
        }
    }
}

fn state_of(seen: Seen) -> ObjectState {
    match seen {
        Seen::NotServed => ObjectState::NotServed,
        Seen::Absent => ObjectState::Absent,
        Seen::Present(seen) => ObjectState::Present {
            id: ObjectId { uid: seen.uid, generation: seen.generation },
            document: object::document(&seen.json).into(),
        },
    }
}

/// The time that operators are told.
#[allow(clippy::disallowed_methods, reason = "shown to people and never compared")]
fn now() -> SystemTime {
    SystemTime::now()
}

/// State from which the status of the object is written.
struct Status {
    name: String,
    replica: String,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    /// The object as it was seen last.
    shown: Option<(Arc<str>, Arc<str>)>,
    attempt: Option<Attempt>,
    /// How often the status was written since the last attempt, and when last.
    written: (u32, Option<Instant>),
}

impl Status {
    fn new(name: &str, replica: Option<&str>) -> Self {
        Self { name: name.to_owned(), replica: replica_name(replica), state: Mutex::default(), changed: Notify::new() }
    }

    fn see(&self, seen: &Seen) {
        self.state.lock().shown = match seen {
            Seen::Present(object) => Some((Arc::clone(&object.uid), Arc::clone(&object.json))),
            Seen::NotServed | Seen::Absent => None,
        };
        self.changed.notify_one();
    }

    fn tell(&self, attempt: Attempt) {
        let mut state = self.state.lock();
        state.attempt = Some(attempt);
        state.written = (0, None);
        drop(state);
        self.changed.notify_one();
    }

    /// Returns the status to be written now, if any. `is_due` is whether it is time to confirm again that this replica is running.
    fn wanted(&self, is_due: bool) -> Option<Wanted> {
        let mut state = self.state.lock();
        let (Some((uid, json)), Some(attempt)) = (&state.shown, &state.attempt) else { return None };
        // Nothing has become of this object yet: it has replaced another one of the same name.
        if *uid != attempt.object.uid {
            return None;
        }
        let shown: Value = serde_json::from_str(json).ok()?;
        let time = now();
        let (at, now) = (rfc3339(attempt.at), rfc3339(time));
        let report = Report { object: &self.name, replica: &self.replica, attempt, at: &at, now: &now, is_due };
        let wanted = object::status(&shown, &report)?;
        // A server that does not keep what is written would be written to for ever.
        let (count, last) = if is_due { (0, None) } else { state.written };
        if count >= STATUS_WRITES && last.is_some_and(|last| last.elapsed() < STATUS_WRITE_PERIOD) {
            return None;
        }
        // Those of replicas that were killed.
        let before = time.checked_sub(STATUS_UNSEEN).map(rfc3339).unwrap_or_default();
        let unseen = object::unseen(&shown, &self.replica, &before);
        let release = object::released(&self.name, attempt);
        let after = unseen.iter().map(|replica| self.applied(replica, &release)).collect();
        state.written = (count.saturating_add(1), Some(Instant::now()));
        Some(Wanted { after, ..self.applied(&self.replica, &wanted) })
    }

    /// Returns the requests by which this replica gives up ownership of its fields in the status; `None` where it has written
    /// nothing.
    fn released(&self) -> Option<Wanted> {
        let state = self.state.lock();
        let (Some((_, json)), Some(attempt)) = (&state.shown, &state.attempt) else { return None };
        if state.written.0 == 0 {
            return None;
        }
        let shown: Value = serde_json::from_str(json).ok()?;
        let before = self.applied(&self.replica, &object::ended(&self.name, &shown, attempt));
        let released = self.applied(&self.replica, &object::released(&self.name, attempt));
        Some(Wanted { after: vec![before], ..released })
    }

    fn applied(&self, replica: &str, body: &Value) -> Wanted {
        let uri = POLICIES.status_uri(0, &self.name, manager(replica));
        Wanted { uri, body: body.to_string(), after: Vec::new() }
    }
}

/// Writes the status whenever it is not what it should be, and now and then to say that this replica is there.
async fn report(status: Arc<Status>, writer: Arc<StatusWriter<ApiServer>>) {
    let mut beat = interval(STATUS_BEAT);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let is_due = tokio::select! {
            _ = beat.tick() => true,
            () = status.changed.notified() => false,
        };
        if let Some(wanted) = status.wanted(is_due) {
            writer.write(wanted);
        }
    }
}

/// The replica as a field manager, whose name is limited: the end, by which the names of pods differ.
fn manager(replica: &str) -> &str {
    let excess = replica.len().saturating_sub(FIELD_MANAGER_BYTES);
    replica.get(replica.ceil_char_boundary(excess)..).unwrap_or(replica)
}

/// The name of this replica: the one that it is given, or else that of its machine.
pub(super) fn replica_name(given: Option<&str>) -> String {
    given.filter(|name| !name.is_empty()).map_or_else(host_name, str::to_owned)
}

/// The name of this machine, which in a pod is that of the pod.
fn host_name() -> String {
    let read = fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = read.as_deref().map(str::trim).filter(|name| !name.is_empty());
    name.unwrap_or("nodesift").to_owned()
}

#[cfg(test)]
mod tests;
