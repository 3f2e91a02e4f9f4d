//! A policy object of a cluster as a source of policy: what is known of it, and what became of it. Start at [`PolicyObject`].
//!
//! Whoever watches the object says what it sees by [`PolicyObject::see`]; the thread of reloads reads it as it reads a file, and
//! tells what became of each state of it. Between the two there is one state, the newest: neither ever waits for the other.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::{Condvar, Mutex};

use super::notice::Notice;
use crate::limits::POLICY_FILE_BYTES;
use crate::reach::Reach;
use crate::spec::{GROUP, KIND, PLURAL, PolicyError, PolicyText};
use nodesift_engine::{ActivePolicy, ActivePredicate, Quarantine, Refusal};

/// A state of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectId {
    /// UID of the object, `metadata.uid`.
    pub uid: Arc<str>,
    /// Generation of its spec, `metadata.generation`.
    pub generation: i64,
}

/// Last seen state of a policy object.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ObjectState {
    /// Not known yet: the API server has not shown whether the object exists.
    #[default]
    Unknown,
    /// The API server does not serve the kind.
    NotServed,
    /// There is no object of the name.
    Absent,
    /// The object exists in the cluster.
    Present {
        /// UID and generation of the object.
        id: ObjectId,
        /// Policy document in the object, as JSON.
        document: Arc<str>,
    },
}

/// Outcome of a state of an object in this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// UID and generation of the object.
    pub object: ObjectId,
    /// The generation of the policy that is active since; 0 where there is none.
    pub policy_generation: u64,
    /// The version of Kubernetes whose verdicts that policy gives, for people; empty where there is none.
    pub kubernetes: String,
    /// Whether this state of the object is the active policy.
    pub outcome: AttemptOutcome,
    /// Time at which the policy became active, or was refused.
    pub at: SystemTime,
    /// Which predicates of the active policy are in quarantine since.
    pub quarantined: Vec<Quarantined>,
    /// Facts that predicates of the active policy miss, as [`ActivePolicy::warnings`] says.
    pub warnings: Vec<String>,
}

/// A predicate or scorer in quarantine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quarantined {
    /// Name of the predicate or scorer.
    pub predicate: String,
    /// Its last fault when that was noticed.
    pub last_fault: String,
}

impl Quarantined {
    /// Returns the predicates and scorers of a policy that are in quarantine, in its order.
    pub(super) fn from_policy(policy: &ActivePolicy) -> Vec<Self> {
        let found = policy.components().filter_map(|predicate| Some((predicate, predicate.breaker.quarantine()?)));
        let named = |(predicate, open): (&ActivePredicate, Quarantine)| Self {
            predicate: predicate.name.to_string(),
            last_fault: open.last_fault.to_string(),
        };
        found.map(named).collect()
    }
}

/// Whether a state of an object has become the active policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// It is the active policy.
    Active,
    /// It did not become active, or was rolled back.
    Refused(Refusal),
}

/// A policy object; clones are the same one.
#[derive(Clone)]
pub struct PolicyObject(Arc<Shared>);

struct Shared {
    name: String,
    reach: Reach,
    state: Mutex<ObjectState>,
    seen: Condvar,
    notice: Arc<Notice>,
    told: Box<dyn Fn(Attempt) + Send + Sync>,
}

impl fmt::Debug for PolicyObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PolicyObject").field("name", &self.0.name).finish_non_exhaustive()
    }
}

impl PartialEq for PolicyObject {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for PolicyObject {}

impl PolicyObject {
    /// The object with this name, of which nothing is known yet, and which names only what is within reach. `told` is called with the
    /// outcome of each of its states; it must not block.
    pub fn new(name: &str, reach: Reach, told: impl Fn(Attempt) + Send + Sync + 'static) -> Self {
        let (name, notice, told) = (name.to_owned(), Arc::default(), Box::new(told));
        Self(Arc::new(Shared { name, reach, state: Mutex::default(), seen: Condvar::new(), notice, told }))
    }

    /// Name of the object in messages: its kind and name.
    pub fn source(&self) -> String {
        format!("{KIND} {}", self.0.name)
    }

    /// It has been seen in this state.
    pub fn see(&self, state: ObjectState) {
        let mut known = self.0.state.lock();
        // Most events are about its status.
        if *known != state {
            *known = state;
            drop(known);
            self.0.seen.notify_all();
            self.0.notice.wake();
        }
    }

    /// Waits until anything is known of it, and no longer than this.
    pub fn wait(&self, most: Duration) {
        let until = Instant::now() + most;
        let mut state = self.0.state.lock();
        while *state == ObjectState::Unknown && !self.0.seen.wait_until(&mut state, until).timed_out() {}
    }

    /// Returns the last seen state of the object.
    pub fn state(&self) -> ObjectState {
        self.0.state.lock().clone()
    }

    /// Returns the policy document in the object.
    ///
    /// # Errors
    ///
    /// [`PolicyError::Object`] where it is not there, [`PolicyError::TooLarge`].
    pub fn text(&self) -> Result<PolicyText, PolicyError> {
        self.text_in(&self.state())
    }

    pub(super) fn text_in(&self, state: &ObjectState) -> Result<PolicyText, PolicyError> {
        let missing = |reason: String| Err(PolicyError::Object { name: self.source(), reason });
        match state {
            ObjectState::Unknown => missing("the API server has not shown it yet".to_owned()),
            ObjectState::NotServed => {
                missing(format!("the API server does not serve {}.{}: apply deploy/crd.yaml", PLURAL, GROUP))
            }
            ObjectState::Absent => missing("there is no such object".to_owned()),
            ObjectState::Present { document, .. } if document.len() as u64 > POLICY_FILE_BYTES => {
                Err(PolicyError::TooLarge { path: PathBuf::from(self.source()) })
            }
            ObjectState::Present { document, .. } => {
                Ok(PolicyText::from_object(self.source(), document, &self.0.reach))
            }
        }
    }

    /// Tells what became of a state of it.
    pub fn tell(&self, attempt: Attempt) {
        (self.0.told)(attempt);
    }

    pub(super) fn notice(&self) -> &Arc<Notice> {
        &self.0.notice
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn present(generation: i64, document: &str) -> ObjectState {
        ObjectState::Present { id: ObjectId { uid: Arc::from("u"), generation }, document: Arc::from(document) }
    }

    #[test]
    fn an_object_that_is_not_there_says_why_and_one_that_is_gives_its_document() {
        let object = PolicyObject::new("default", Reach::default(), |_| ());
        let text = |object: &PolicyObject| object.text().map_err(|error| error.to_string());
        assert!(text(&object).unwrap_err().contains("PredicatePolicy default: the API server has not shown it"));
        object.see(ObjectState::NotServed);
        assert!(text(&object).unwrap_err().contains("apply deploy/crd.yaml"));
        object.see(ObjectState::Absent);
        assert!(text(&object).unwrap_err().ends_with("there is no such object"));
        object.see(present(1, "{}\n"));
        assert_eq!(text(&object).unwrap().text, "{}\n");
        object.see(present(2, &"x".repeat(2 << 20)));
        assert!(text(&object).unwrap_err().contains("more than 1024 KiB"));
    }

    #[test]
    fn a_waiting_start_is_woken_by_the_first_state_and_waits_no_longer_than_it_may() {
        let object = PolicyObject::new("default", Reach::default(), |_| ());
        object.wait(Duration::from_millis(1));
        assert_eq!(object.state(), ObjectState::Unknown);
        let seeing = object.clone();
        let thread = std::thread::spawn(move || seeing.see(ObjectState::Absent));
        object.wait(Duration::from_secs(600));
        assert_eq!(object.state(), ObjectState::Absent);
        thread.join().unwrap();
    }

    #[test]
    fn only_what_changes_the_document_or_its_generation_wakes_the_reload() {
        let object = PolicyObject::new("default", Reach::default(), |_| ());
        object.see(present(1, "a"));
        assert!(object.notice().take_due());
        object.see(present(1, "a"));
        assert!(!object.notice().take_due(), "nothing has changed");
        object.see(present(2, "a"));
        assert!(object.notice().take_due());
    }
}
