//! Which kinds are followed, with which annotations, and for whom: each policy that is in use, or is to be, holds a lease.
//!
//! A kind is followed by one task for as long as any lease names it. When its last lease ends, the task ends, and after that
//! everything of the kind is dropped: whatever the task may still say goes nowhere. Annotation keys are those of all leases
//! together; where one brings new keys, nodes and pods are listed again. Start at [`Following::lease`].

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use nodesift_cache::metadata::Selection;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::health::Health;
use super::kinds::is_by_name;
use super::metrics::Metrics;
use super::reflector::keys::{Keys, selection_of};
use super::reflector::objects::Objects;
use super::reflector::outlet::{Deliver, Outlet};
use super::reflector::parts::{Part, Parts, StartPart};
use super::reflector::task::{ReflectorTask, forever};
use super::server::Server;
use crate::change::Compiler;
use crate::freshness::Freshness;
use nodesift_object::Kind;

/// A cluster that is followed as far as leases ask for it. Clones share it.
#[derive(Clone)]
pub struct Following {
    shared: Arc<Shared>,
}

/// Guard of what is followed for one policy, for as long as this lives. The end of the last lease ends all tasks, and leaves what has been
/// delivered as it is.
#[must_use = "dropping it ends what is followed for it alone"]
pub struct Lease {
    shared: Arc<Shared>,
    number: u64,
    needs: Arc<Needs>,
}

/// Kinds that one policy reads, and what it selects of their objects.
#[derive(Debug)]
struct Needs {
    kinds: BTreeSet<Kind>,
    selection: Selection,
}

/// Starts the task of a kind.
type Start = Box<dyn Fn(Kind, &Arc<Keys>, &Arc<Outlet>) -> AbortHandle + Send + Sync>;

/// Tasks that follow one kind.
enum Running {
    /// One task all of its objects.
    Whole(AbortHandle),
    /// A task each those that policies list.
    Parts(Arc<Parts>),
}

impl Running {
    fn abort(&self) {
        match self {
            Self::Whole(task) => task.abort(),
            Self::Parts(parts) => parts.abort(),
        }
    }
}

struct Shared {
    start: Start,
    start_part: StartPart,
    compiler: Compiler,
    deliver: Deliver,
    freshness: Freshness,
    health: Health,
    /// Union of the selections of all leases.
    wanted: watch::Sender<Arc<Selection>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The number of the next lease.
    next: u64,
    leases: BTreeMap<u64, Arc<Needs>>,
    tasks: BTreeMap<Kind, Task>,
}

/// The task of one kind.
struct Task {
    running: Running,
    keys: Arc<Keys>,
    outlet: Arc<Outlet>,
}

impl Following {
    /// Follows nothing yet. Must be called within a tokio runtime, in which all tasks will run.
    pub fn new<S: Server>(
        server: &Arc<S>,
        compiler: &Compiler,
        deliver: &Deliver,
        (freshness, health): (&Freshness, &Health),
        metrics: &Metrics,
    ) -> Self {
        let start_part = start_part(server, compiler, metrics);
        let (runtime, server, metrics) = (Handle::current(), Arc::clone(server), metrics.clone());
        let start: Start = Box::new(move |kind, keys, outlet| {
            let (server, metrics) = (Arc::clone(&server), metrics.clone());
            let (keys, outlet) = (Arc::clone(keys), Arc::clone(outlet));
            let task = runtime.spawn(forever(kind.into(), move || {
                let objects = Objects::new(kind, Arc::clone(&keys), Arc::clone(&outlet), metrics.clone());
                ReflectorTask::new(kind.into(), Arc::clone(&server), objects, metrics.clone())
            }));
            task.abort_handle()
        });
        let shared = Shared {
            start,
            start_part,
            compiler: compiler.clone(),
            deliver: Arc::clone(deliver),
            freshness: freshness.clone(),
            health: health.clone(),
            wanted: watch::Sender::new(Arc::default()),
            state: Mutex::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Follows these kinds, and keeps what is selected of nodes and pods, for as long as the lease lives. Neither freshness nor
    /// health speak of what it begins until [`Lease::count`].
    pub fn lease(&self, kinds: BTreeSet<Kind>, selection: &Selection) -> Lease {
        let needs = Arc::new(Needs { kinds, selection: selection.clone() });
        let mut state = self.shared.state.lock();
        let number = state.next;
        state.next += 1;
        state.leases.insert(number, Arc::clone(&needs));
        self.shared.want(&state);
        for kind in &needs.kinds {
            state.tasks.entry(*kind).or_insert_with(|| self.shared.task(*kind));
        }
        want_parts(&state);
        drop(state);
        Lease { shared: Arc::clone(&self.shared), number, needs }
    }

    /// The kinds that active policies read.
    pub fn kinds(&self) -> Vec<Kind> {
        let state = self.shared.state.lock();
        state.tasks.iter().filter(|(_, task)| task.outlet.is_counted()).map(|(kind, _)| *kind).collect()
    }

    /// Compiles objects of a kind as those have been that are held of it.
    pub fn compiler(&self, kind: Kind) -> Compiler {
        let state = self.shared.state.lock();
        state.tasks.get(&kind).map_or_else(|| self.shared.compiler.clone(), |task| task.keys.compiler())
    }
}

impl Lease {
    /// The policy is active: from now on freshness and health speak of its kinds.
    pub fn count(&self) {
        let state = self.shared.state.lock();
        for task in self.needs.kinds.iter().filter_map(|kind| state.tasks.get(kind)) {
            if let Running::Parts(parts) = &task.running {
                parts.count(&self.needs.selection.config_maps);
            }
            task.outlet.count();
        }
    }

    /// Its kinds that no active policy has read before.
    pub fn new_kinds(&self) -> BTreeSet<Kind> {
        let state = self.shared.state.lock();
        let is_new = |kind: &Kind| state.tasks.get(kind).is_some_and(|task| !task.outlet.is_counted());
        self.needs.kinds.iter().copied().filter(is_new).collect()
    }

    /// Its kinds whose objects have been delivered without some of what it selects.
    pub fn not_recompiled(&self) -> BTreeSet<Kind> {
        let state = self.shared.state.lock();
        let is_lacking = |task: &Task| match &task.running {
            Running::Whole(_) => !task.keys.cover(&self.needs.selection),
            Running::Parts(parts) => !parts.cover(&self.needs.selection.config_maps),
        };
        let lacks = |kind: &Kind| state.tasks.get(kind).is_some_and(is_lacking);
        self.needs.kinds.iter().copied().filter(lacks).collect()
    }

    /// Its kinds of which the policy reads annotations, or anything else that it selects.
    pub fn selected(&self) -> BTreeSet<Kind> {
        let is_selected = |kind: &Kind| selection_of(*kind, &self.needs.selection) != Selection::default();
        self.needs.kinds.iter().copied().filter(is_selected).collect()
    }

    /// Why the last request about a kind failed, or about an object of it that the policy lists; `None` where none has failed
    /// since the server last showed its newest state.
    pub fn failure(&self, kind: Kind) -> Option<String> {
        let state = self.shared.state.lock();
        let task = state.tasks.get(&kind)?;
        match &task.running {
            Running::Whole(_) => task.outlet.failure(),
            Running::Parts(parts) => parts.failure(&self.needs.selection.config_maps),
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut state = self.shared.state.lock();
        state.leases.remove(&self.number);
        if state.leases.is_empty() {
            std::mem::take(&mut state.tasks).values().for_each(|task| task.running.abort());
            return;
        }
        self.shared.want(&state);
        let State { leases, tasks, .. } = &mut *state;
        let is_needed = |kind: &Kind| leases.values().any(|needs| needs.kinds.contains(kind));
        tasks.retain(|kind, task| {
            let stays = is_needed(kind);
            if !stays {
                task.running.abort();
                task.outlet.close();
                tracing::info!(%kind, "not followed any more: no policy reads it");
            }
            stays
        });
        want_parts(&state);
    }
}

/// Follows the ConfigMaps that policies list.
fn want_parts(state: &State) {
    if let Some(Task { running: Running::Parts(parts), .. }) = state.tasks.get(&Kind::ConfigMap) {
        let listed = state.leases.values().flat_map(|needs| &*needs.selection.config_maps);
        parts.want(&listed.map(String::as_str).collect());
    }
}

/// Starts the task of one object.
fn start_part<S: Server>(server: &Arc<S>, compiler: &Compiler, metrics: &Metrics) -> StartPart {
    let (runtime, server) = (Handle::current(), Arc::clone(server));
    let (compiler, metrics, nothing) = (compiler.clone(), metrics.clone(), watch::Sender::new(Arc::default()));
    let kind = Kind::ConfigMap;
    Arc::new(move |name, parts| {
        let (name, parts, server) = (Arc::clone(name), Arc::clone(parts), Arc::clone(&server));
        let (compiler, metrics) = (compiler.clone(), metrics.clone());
        let keys = Arc::new(Keys::new(kind, compiler, &nothing.subscribe()));
        let task = runtime.spawn(forever(kind.into(), move || {
            let deliver = Part::deliver(&name, &parts);
            // The outlet of the kind says what freshness and health hear.
            let outlet = Arc::new(Outlet::new(kind, deliver, Freshness::default(), Health::default()));
            let objects = Objects::new(kind, Arc::clone(&keys), outlet, metrics.clone());
            let part = Part::new(&name, &parts, objects);
            ReflectorTask::new(kind.into(), Arc::clone(&server), part, metrics.clone()).with_name(&name)
        }));
        task.abort_handle()
    })
}

impl Shared {
    /// Notes what all leases select.
    fn want(&self, state: &State) {
        let all = state.leases.values().fold(Selection::default(), |all, needs| all.with(&needs.selection));
        self.wanted.send_if_modified(|wanted| {
            let is_same = **wanted == all;
            if !is_same {
                *wanted = Arc::new(all);
            }
            !is_same
        });
    }

    fn task(&self, kind: Kind) -> Task {
        let keys = Arc::new(Keys::new(kind, self.compiler.clone(), &self.wanted.subscribe()));
        let (deliver, freshness) = (Arc::clone(&self.deliver), self.freshness.clone());
        let outlet = Arc::new(Outlet::new(kind, deliver, freshness, self.health.clone()));
        let running = if is_by_name(kind) {
            Running::Parts(Parts::new(kind, Arc::clone(&outlet), Arc::clone(&self.start_part)))
        } else {
            Running::Whole((self.start)(kind, &keys, &outlet))
        };
        Task { running, keys, outlet }
    }
}

impl fmt::Debug for Following {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Following").field("kinds", &self.kinds()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease").field("number", &self.number).field("needs", &self.needs).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
