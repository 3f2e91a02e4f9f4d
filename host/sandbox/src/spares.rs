//! The thread that makes spare instances beside the requests and drops used ones, and the slots that both take. Start at [`Maker`].

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};
use rustix::process::nice;

use super::guest::Guest;
use super::instance::Instance;
use super::slots::{Slot, Slots};
use crate::limits::{SPARE_NICE, SPARE_SLOTS};

/// A component that has spare instances.
pub(super) trait Spared: Send + Sync {
    /// Makes the spares that are wanted and that there is room for.
    fn fill_spares(&self);
}

/// State that components share to have spare instances: the slots and the queue of the thread.
#[derive(Debug)]
pub(super) struct Spares<W: Guest> {
    slots: Arc<Slots>,
    queue: Mutex<Queue<W>>,
    asked: Condvar,
}

#[derive(Debug)]
struct Queue<W: Guest> {
    /// Components that are to have spares.
    components: VecDeque<Weak<dyn Spared>>,
    /// Instances that have been called and are not called again. Each holds a slot.
    used: Vec<Instance<W>>,
    is_closed: bool,
}

/// Work of the thread: instances to drop, and then a component that is to have spares.
struct Work<W: Guest> {
    used: Vec<Instance<W>>,
    component: Option<Weak<dyn Spared>>,
}

impl<W: Guest> Spares<W> {
    /// A slot for an instance that waits, or is to be dropped; none where all are in use. Half of them are for components that have none yet.
    pub(super) fn slot(&self, is_first: bool) -> Option<Slot> {
        let is_granted = is_first || self.slots.free() > SPARE_SLOTS / 2;
        is_granted.then(|| self.slots.take(Instant::now))?
    }

    /// Asks for spares of a component. Each asks once until the thread begins with it.
    pub(super) fn ask(&self, component: Weak<dyn Spared>) {
        let mut queue = self.queue.lock();
        if !queue.is_closed {
            queue.components.push_back(component);
            drop(queue);
            self.asked.notify_one();
        }
    }

    /// Drops an instance on the thread: giving its memory back takes longer than many a call. Here, where no slot is free.
    pub(super) fn discard(&self, mut instance: Instance<W>) {
        let Some(slot) = self.slot(false) else { return };
        instance.hold(slot);
        let mut queue = self.queue.lock();
        if !queue.is_closed {
            queue.used.push(instance);
            drop(queue);
            self.asked.notify_one();
        }
    }

    /// Waits for the next work of the thread; `None` once the thread has to end.
    fn next(&self) -> Option<Work<W>> {
        let mut queue = self.queue.lock();
        let is_idle = |queue: &mut Queue<W>| queue.components.is_empty() && queue.used.is_empty() && !queue.is_closed;
        self.asked.wait_while(&mut queue, is_idle);
        let is_closed = queue.is_closed;
        (!is_closed).then(|| Work { used: std::mem::take(&mut queue.used), component: queue.components.pop_front() })
    }
}

/// The thread. It ends when this is dropped; components may outlive it, and then have no more spares.
#[derive(Debug)]
pub(super) struct Maker<W: Guest> {
    spares: Arc<Spares<W>>,
    thread: Option<JoinHandle<()>>,
}

impl<W: Guest> Maker<W> {
    /// # Errors
    ///
    /// The system has no thread for it.
    pub(super) fn start() -> std::io::Result<Self> {
        let queue = Mutex::new(Queue { components: VecDeque::new(), used: Vec::new(), is_closed: false });
        let spares = Arc::new(Spares { slots: Slots::new(SPARE_SLOTS), queue, asked: Condvar::new() });
        let work = {
            let spares = Arc::clone(&spares);
            move || {
                // Requests go first: they can make their own. Without that, it only competes with them.
                let _ = nice(SPARE_NICE);
                while let Some(Work { used, component }) = spares.next() {
                    // First: a spare may take their slots.
                    drop(used);
                    if let Some(component) = component.and_then(|component| component.upgrade()) {
                        component.fill_spares();
                    }
                }
            }
        };
        let thread = Some(thread::Builder::new().name("spares".to_owned()).spawn(work)?);
        Ok(Self { spares, thread })
    }

    /// Returns the queue and slots that components share with the thread.
    pub(super) fn spares(&self) -> &Arc<Spares<W>> {
        &self.spares
    }
}

impl<W: Guest> Drop for Maker<W> {
    fn drop(&mut self) {
        self.spares.queue.lock().is_closed = true;
        self.spares.asked.notify_all();
        if let Some(thread) = self.thread.take() {
            // A guest that it runs ends at its deadline.
            let _ = thread.join();
        }
    }
}
