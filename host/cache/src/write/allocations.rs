//! Events recorded: which pod came to which node, or left it, with the free amounts before and after; and watermarks that nodes cross.
//!
//! Each is published with the generation that shows it: in the log of the last events of all nodes, and in the history of its node. Those of
//! allocations are lines at debug; lines about watermarks are left to a reader, who holds no lock. Start at [`Writer::follow_allocations`].

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::SystemTime;

use rustc_hash::FxHashMap;

use super::Writer;
use super::event_log::{EventLog, EventReader};
use super::events::{AllocationChange, AllocationEvent, Event, Free, FreeChange, Taken};
use super::history::Histories;
use crate::columns::{Delta, Generation, Row};
use crate::limits::{EVENT_RESOURCES, EVENTS};
use crate::metadata::PodRecord;
use crate::metadata::requests::PODS;
use crate::nodes::Epoch;
use crate::pods::amounts_change::AmountsChange;

/// The writer's side of events.
#[derive(Debug)]
pub(super) struct Allocations {
    log: EventLog,
    histories: Histories,
    /// Events to be published next: no more than are kept.
    waiting: VecDeque<Event>,
    /// Events before these that were dropped since the last publication.
    dropped: u64,
    /// Whether what is applied is there at the start, and no event.
    is_starting: bool,
    /// The name of the resource of which each pod takes one.
    pods: Arc<str>,
}

impl Default for Allocations {
    fn default() -> Self {
        Self {
            log: EventLog::default(),
            histories: Histories::default(),
            waiting: VecDeque::new(),
            dropped: 0,
            is_starting: false,
            pods: PODS.into(),
        }
    }
}

/// A reader of events, and where it begins.
#[derive(Debug)]
pub struct Following {
    /// The cache that generations are of.
    pub epoch: Epoch,
    /// The reader gets every event after this generation.
    pub start: Generation,
    /// Events in their order.
    pub events: EventReader,
}

impl Allocations {
    /// Records an event. A pod that is removed from a node and added to it again at once is updated.
    pub(super) fn record(&mut self, event: Event) {
        if let Event::Allocation(event) = &event
            && tracing::enabled!(tracing::Level::DEBUG)
        {
            log_allocation(event);
        }
        self.keep(event);
    }

    /// Keeps events of the same publication. `dropped` is how many there were before them that nobody has kept.
    pub(super) fn keep_all(&mut self, dropped: u64, events: impl IntoIterator<Item = Event>) {
        self.dropped += dropped;
        events.into_iter().for_each(|event| self.keep(event));
    }

    fn keep(&mut self, event: Event) {
        if let Event::Allocation(next) = &event
            && next.change != AllocationChange::Removed
            && let Some(Event::Allocation(last)) = self.waiting.back_mut()
            && last.is_about_the_same(next)
        {
            return last.merge(next.clone());
        }
        self.waiting.push_back(event);
        if self.waiting.len() > EVENTS {
            self.waiting.pop_front();
            self.dropped += 1;
        }
    }

    /// Sets whether what is applied is there at the start.
    pub(super) fn set_starting(&mut self, is_starting: bool) {
        self.is_starting = is_starting;
    }

    /// Whether what is applied is there at the start.
    pub(super) fn is_starting(&self) -> bool {
        self.is_starting
    }

    /// Whether a change is there at the start. No event is made of it, and readers that began earlier lose one.
    fn skips(&mut self) -> bool {
        self.dropped += u64::from(self.is_starting);
        self.is_starting
    }

    /// Publishes what was recorded, with this generation.
    pub(super) fn publish(&mut self, generation: Generation) {
        if self.waiting.is_empty() && self.dropped == 0 {
            return;
        }
        #[allow(clippy::disallowed_methods, reason = "shown to people and never compared")]
        let at = SystemTime::now();
        let events = self.waiting.drain(..).map(|event| Arc::new(event.published(generation, at)));
        let events: Vec<Arc<Event>> = events.collect();
        events.iter().for_each(|event| self.histories.push(event));
        self.log.publish(generation, std::mem::take(&mut self.dropped), events);
    }
}

fn log_allocation(event: &AllocationEvent) {
    let AllocationEvent { pod, assumed, .. } = event;
    let change = match event.change {
        AllocationChange::Added => "allocation added",
        AllocationChange::Removed => "allocation removed",
        AllocationChange::Updated => "allocation updated",
    };
    let (namespace, name, uid, node) = (&pod.namespace, &pod.name, &pod.uid, &pod.node);
    let (takes, free) = (Taken(&pod.usage), Free(&event.free));
    tracing::debug!(
        pod = %format_args!("{namespace}/{name}"), %uid, %node, ownership = ?pod.ownership, assumed, %takes, %free,
        "{change}"
    );
}

/// Events, to be read.
impl Writer {
    /// Subscribes to allocations: every change after `since`, as far as changes are kept, or after the present generation. What has
    /// changed until now is published.
    pub fn follow_allocations(&mut self, since: Option<Generation>) -> Following {
        self.publish();
        let (start, events) = self.allocations.log.follow(since, self.generation);
        Following { epoch: self.epoch, start, events }
    }

    /// The last changes of the allocations on a node, the oldest first, as far as they are kept and published.
    pub fn history_on(&self, node: &str) -> Vec<Arc<Event>> {
        self.allocations.histories.events_on(node)
    }

    /// Bytes of events that are kept, at most.
    pub(crate) fn event_bytes(&self) -> usize {
        self.allocations.log.bytes() + self.allocations.histories.bytes()
    }
}

/// Events, to be recorded.
impl Writer {
    /// Notes that a pod comes to count on a row, or ceases to. The columns have not changed yet.
    pub(super) fn note_placed(&mut self, delta: Delta, row: Row, pod: &PodRecord) {
        if self.allocations.skips() {
            return;
        }
        let change = match delta {
            Delta::Add => AllocationChange::Added,
            Delta::Remove => AllocationChange::Removed,
        };
        let around = |resource: &Arc<str>, before: i64, amount: i64| {
            let after = before.wrapping_sub(amount.wrapping_mul(delta.sign()));
            FreeChange { resource: Arc::clone(resource), before, after }
        };
        let taken = pod.usage().iter().filter(|(_, amount)| *amount != 0);
        let free = taken.filter_map(|(resource, amount)| {
            Some(around(resource, self.nodes.resources().free_in(row, resource)?, *amount))
        });
        let mut free: Vec<FreeChange> = free.take(EVENT_RESOURCES).collect();
        let places = self.nodes.slots().free().get(row).copied().unwrap_or(0);
        free.push(around(&self.allocations.pods, places, 1));
        let assumed = self.assumed.contains(&pod.uid);
        self.allocations.record(Event::Allocation(AllocationEvent::new(change, pod, assumed, free)));
    }

    /// Notes that a pod which was only assumed on its node is bound to it.
    pub(super) fn note_confirmed(&mut self, pod: &PodRecord) {
        if self.allocations.skips() {
            return;
        }
        let event = AllocationEvent::new(AllocationChange::Updated, pod, false, Vec::new());
        self.allocations.record(Event::Allocation(event));
    }

    /// Notes that pods on a row take other amounts, one after the other. The columns have not changed yet.
    pub(super) fn note_amounts(&mut self, row: Row, changes: &[AmountsChange]) {
        if self.allocations.skips() {
            return;
        }
        // How much more of each resource is free by the changes so far.
        let mut freed: FxHashMap<Arc<str>, i64> = FxHashMap::default();
        for change in changes {
            let mut more: BTreeMap<&Arc<str>, i64> = BTreeMap::new();
            for (pod, delta) in change.states() {
                for (resource, amount) in pod.usage() {
                    let more = more.entry(resource).or_default();
                    *more = more.wrapping_sub(amount.wrapping_mul(delta.sign()));
                }
            }
            let mut free = Vec::new();
            for (resource, more) in more.into_iter().filter(|(_, more)| *more != 0) {
                let Some(column) = self.nodes.resources().free_in(row, resource) else { continue };
                let freed = freed.entry(Arc::clone(resource)).or_default();
                let before = column.wrapping_add(*freed);
                *freed = freed.wrapping_add(more);
                free.push(FreeChange { resource: Arc::clone(resource), before, after: before.wrapping_add(more) });
            }
            free.truncate(EVENT_RESOURCES);
            let assumed = self.assumed.contains(&change.pod.uid);
            let event = AllocationEvent::new(AllocationChange::Updated, &change.pod, assumed, free);
            self.allocations.record(Event::Allocation(event));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::write::model::{random_node, random_pod, text};
    use crate::{Identity, new};

    #[test]
    fn free_amounts_of_a_history_follow_from_one_another_and_end_with_what_is_free() {
        let seed = nodesift_seed::seed();
        let mut random = fastrand::Rng::with_seed(seed);
        let (mut compared, until) = (0, Instant::now() + Duration::from_secs(3600));
        for _ in 0..60 {
            let (mut writer, reader) = new();
            let nodes: Vec<String> = (0..3).map(|number| format!("n{number}")).collect();
            for node in &nodes {
                writer.apply(random_node(&mut random, node));
            }
            for _ in 0..random.usize(1..80) {
                let (name, node) = (format!("p{}", random.u8(0..8)), &nodes[random.usize(0..nodes.len())]);
                match random.u8(0..6) {
                    0..3 => {
                        let on = random.bool().then(|| text(node));
                        writer.apply(PodRecord { uid: text(&name), ..random_pod(&mut random, &name, on) });
                    }
                    3 => writer.remove(&Identity::pod(&name)),
                    4 => drop(writer.assume(&name, node, until)),
                    _ => writer.publish(),
                }
            }
            writer.publish();
            let snapshot = reader.snapshot();
            for node in &nodes {
                let mut free: BTreeMap<Arc<str>, i64> = BTreeMap::new();
                let history = writer.history_on(node);
                let changes = history.iter().flat_map(|event| match &**event {
                    Event::Allocation(event) => event.free.as_slice(),
                    Event::Watermark(_) => &[],
                });
                for change in changes {
                    let known = free.insert(Arc::clone(&change.resource), change.after);
                    assert!(
                        known.is_none_or(|known| known == change.before),
                        "seed {seed} {node}: {change:?} {known:?}"
                    );
                }
                let row = snapshot.node_row(node).unwrap_or(Row(u32::MAX));
                for (resource, after) in free {
                    let found = match &*resource {
                        PODS => snapshot.pod_room().get(row).copied(),
                        name => snapshot.resource(name).and_then(|resource| resource.free.get(row).copied()),
                    };
                    assert_eq!(found, Some(after), "seed {seed} {node} {resource}");
                    compared += 1;
                }
            }
        }
        assert!(compared > 100, "seed {seed}: {compared}");
    }
}
