//! Allocations as a stream: which pod came to which node, which left it, for whoever follows along.
//!
//! Nothing is recorded while nobody follows. Changes are told once they are published, with the generation that shows
//! them; who reads too slowly is told how many it has lost.

use std::sync::Arc;

use tokio::sync::broadcast;

use super::{Generation, Writer};
use crate::limits::ALLOCATION_EVENTS;
use crate::metadata::PodRecord;

/// What happened to an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllocationChange {
    /// The pod counts on its node from now on.
    Added,
    /// It counts there no longer.
    Removed,
    /// It still counts on the same node, with something about it changed: amounts, labels, or no longer only assumed.
    Updated,
}

/// One change of one allocation.
#[derive(Debug, Clone)]
pub struct AllocationEvent {
    /// What happened.
    pub change: AllocationChange,
    /// The first published generation that shows it.
    pub generation: Generation,
    /// The pod; its node is the one that the event is about.
    pub pod: Arc<PodRecord>,
    /// Whether the pod is there because a core has said so, and the watch has not.
    pub assumed: bool,
}

/// The writer's side of the stream.
#[derive(Debug)]
pub(super) struct Allocations {
    followers: broadcast::Sender<AllocationEvent>,
    /// Not yet published.
    waiting: Vec<AllocationEvent>,
}

impl Default for Allocations {
    fn default() -> Self {
        Self { followers: broadcast::Sender::new(ALLOCATION_EVENTS), waiting: Vec::new() }
    }
}

impl Allocations {
    /// Takes note of a change. A pod that leaves a node and comes back to it at once has changed.
    pub(super) fn record(&mut self, change: AllocationChange, pod: &Arc<PodRecord>, assumed: bool) {
        if self.followers.receiver_count() == 0 {
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

    /// Tells what was recorded, as published with this generation.
    pub(super) fn publish(&mut self, generation: Generation) {
        for mut event in self.waiting.drain(..) {
            event.generation = generation;
            // Nobody follows any more: nobody misses it.
            let _unheard = self.followers.send(event);
        }
    }
}

impl Writer {
    /// Follows allocations: every change after the generation that is returned, which is published.
    pub fn follow_allocations(&mut self) -> (Generation, broadcast::Receiver<AllocationEvent>) {
        self.publish();
        (self.generation, self.allocations.followers.subscribe())
    }
}
