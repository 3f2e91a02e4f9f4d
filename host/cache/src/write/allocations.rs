//! Allocations as a stream: which pod was added to which node, and which was removed from it.
//!
//! Each change is logged at debug. Nothing is recorded without subscribers. Changes are sent once they are published, with the generation
//! that shows them; a subscriber that reads too slowly learns how many it has lost. Start at [`Writer::follow_allocations`].

use std::sync::Arc;

use tokio::sync::broadcast;

use super::Writer;
use crate::columns::Generation;
use crate::limits::ALLOCATION_EVENTS;
use crate::metadata::PodRecord;

/// Kind of change of an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllocationChange {
    /// The pod counts on its node from now on.
    Added,
    /// The pod no longer counts on its node.
    Removed,
    /// The pod still counts on the same node, with something about it changed: amounts, labels, or no longer only assumed.
    Updated,
}

/// One change of one allocation.
#[derive(Debug, Clone)]
pub struct AllocationEvent {
    /// Kind of change: added, removed or updated.
    pub change: AllocationChange,
    /// The first published generation that shows it.
    pub generation: Generation,
    /// The pod; its node is the one that the event is about.
    pub pod: Arc<PodRecord>,
    /// Whether the pod is only assumed on the node.
    pub assumed: bool,
}

/// The writer's side of the stream.
#[derive(Debug)]
pub(super) struct Allocations {
    subscribers: broadcast::Sender<AllocationEvent>,
    /// Events to be sent at the next publication.
    waiting: Vec<AllocationEvent>,
}

impl Default for Allocations {
    fn default() -> Self {
        Self { subscribers: broadcast::Sender::new(ALLOCATION_EVENTS), waiting: Vec::new() }
    }
}

impl Allocations {
    /// Records a change. A pod that is removed from a node and added to it again at once is updated.
    pub(super) fn record(&mut self, change: AllocationChange, pod: &Arc<PodRecord>, assumed: bool) {
        log(change, pod, assumed);
        if self.subscribers.receiver_count() == 0 {
            return;
        }
        let of_same = |last: &AllocationEvent| last.pod.uid == pod.uid && last.pod.node_name == pod.node_name;
        let mut event = AllocationEvent { change, generation: Generation(0), pod: Arc::clone(pod), assumed };
        match (self.waiting.last_mut(), change) {
            (Some(last), AllocationChange::Added | AllocationChange::Updated) if of_same(last) => {
                if last.change == AllocationChange::Removed {
                    event.change = AllocationChange::Updated;
                } else {
                    event.change = last.change;
                }
                *last = event;
            }
            _ => self.waiting.push(event),
        }
    }

    /// Sends what was recorded, as published with this generation.
    pub(super) fn publish(&mut self, generation: Generation) {
        for mut event in self.waiting.drain(..) {
            event.generation = generation;
            // Without subscribers the event is not needed.
            let _unsent = self.subscribers.send(event);
        }
    }
}

fn log(change: AllocationChange, pod: &PodRecord, assumed: bool) {
    if !tracing::enabled!(tracing::Level::DEBUG) {
        return;
    }
    let (namespace, name, uid) = (&pod.namespace, &pod.name, &pod.uid);
    let (node, ownership) = (pod.node_name.as_deref().unwrap_or_default(), pod.ownership);
    let change = match change {
        AllocationChange::Added => "allocation added",
        AllocationChange::Removed => "allocation removed",
        AllocationChange::Updated => "allocation updated",
    };
    tracing::debug!(pod = %format_args!("{namespace}/{name}"), %uid, node, ?ownership, assumed, "{change}");
}

impl Writer {
    /// Subscribes to allocations: every change after the returned generation, which is published.
    pub fn follow_allocations(&mut self) -> (Generation, broadcast::Receiver<AllocationEvent>) {
        self.publish();
        (self.generation, self.allocations.subscribers.subscribe())
    }
}
