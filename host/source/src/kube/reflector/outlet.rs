//! The outlet of a reflector: what it delivers, and the signs of life that it gives.
//!
//! A kind may be listed for a policy that is not active yet. Until it is, only the feed hears of it: neither freshness nor
//! health speak of the kind. Once the kind is not followed any more nothing counts that its task may still say. Start at
//! [`Outlet`].

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::change::Change;
use crate::freshness::Freshness;
use crate::kube::failure::Failure;
use crate::kube::health::Health;
use nodesift_object::Kind;

/// Takes changes that arrived together. It must not block.
pub type Deliver = Arc<dyn Fn(Vec<Change>) + Send + Sync>;

/// Outputs of the reflector of one kind: changes, freshness and health.
pub(in crate::kube) struct Outlet {
    kind: Kind,
    deliver: Deliver,
    freshness: Freshness,
    health: Health,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    stage: Stage,
    /// When the server last showed its newest state.
    confirmed: Option<Instant>,
    /// The last failure since then.
    failure: Option<String>,
}

/// Who hears the reflector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Stage {
    /// The feed: no active policy reads the kind.
    #[default]
    Candidate,
    /// Freshness and health as well.
    Counted,
    /// Nobody: the kind is not followed any more.
    Closed,
}

impl Outlet {
    /// Of a kind that no active policy reads yet.
    pub(in crate::kube) fn new(kind: Kind, deliver: Deliver, freshness: Freshness, health: Health) -> Self {
        Self { kind, deliver, freshness, health, state: Mutex::default() }
    }

    /// Delivers changes. The lock is held meanwhile, so that nothing is delivered after [`Self::close`].
    pub(in crate::kube) fn deliver(&self, changes: Vec<Change>) {
        let state = self.state.lock();
        if state.stage != Stage::Closed {
            (self.deliver)(changes);
        }
    }

    /// At this time the server has shown its newest state of the kind.
    pub(in crate::kube) fn confirm_at(&self, at: Instant) {
        let mut state = self.state.lock();
        state.confirmed = Some(at);
        state.failure = None;
        if state.stage == Stage::Counted {
            self.freshness.confirm_at(self.kind, at);
            self.health.recovered(self.kind);
        }
    }

    /// The state is that of the server at this time, and the watch lags: it is as fresh as that, and no failure is over.
    pub(in crate::kube) fn confirm_past(&self, at: Instant) {
        let mut state = self.state.lock();
        state.confirmed = Some(at);
        if state.stage == Stage::Counted {
            self.freshness.confirm_at(self.kind, at);
        }
    }

    /// The cluster was restored from a backup: a list at this version has replaced everything up to the versions `seen`.
    pub(in crate::kube) fn restored(&self, version: &str, seen: &str) {
        self.health.restored(self.kind, version, seen);
    }

    /// A request has failed.
    pub(in crate::kube) fn failed(&self, failure: &Failure) {
        let mut state = self.state.lock();
        state.failure = Some(failure.to_string());
        if state.stage == Stage::Counted {
            self.health.failed(self.kind, failure);
        }
    }

    /// The active policy reads the kind: from now on freshness and health speak of it.
    pub(in crate::kube) fn count(&self) {
        let mut state = self.state.lock();
        if state.stage == Stage::Candidate {
            state.stage = Stage::Counted;
            if let Some(at) = state.confirmed {
                self.freshness.confirm_at(self.kind, at);
            }
        }
    }

    /// Whether an active policy reads the kind.
    pub(in crate::kube) fn is_counted(&self) -> bool {
        self.state.lock().stage == Stage::Counted
    }

    /// Why the last request failed; `None` where none has failed since the server last showed its newest state.
    pub(in crate::kube) fn failure(&self) -> Option<String> {
        self.state.lock().failure.clone()
    }

    /// The kind is not followed any more: all that was delivered of it goes, and nothing is delivered after that.
    pub(in crate::kube) fn close(&self) {
        let mut state = self.state.lock();
        if state.stage != Stage::Closed {
            state.stage = Stage::Closed;
            self.freshness.forget(self.kind);
            self.health.forget(self.kind);
            (self.deliver)(vec![Change::Dropped { kind: self.kind }]);
        }
    }
}
