//! The thread that makes spare instances beside the requests and drops used ones, and the slots that both take. Start at [`Maker`].

use std::collections::VecDeque;
use std::fmt::Debug;
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};
use rustix::process::nice;

use super::instance::Instance;
use super::slots::{Slot, Slots};
use crate::limits::{SPARE_NICE, SPARE_SLOTS};

/// A module whose spares the thread makes.
pub(super) trait Spared: Debug + Send + Sync {
    /// Makes the spares that are wanted and that there is room for.
    fn fill(&self);
}

/// State that modules share to have spare instances: the slots and the queue of the thread.
#[derive(Debug)]
pub(super) struct Spares {
    slots: Arc<Slots>,
    queue: Mutex<Queue>,
    asked: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    modules: VecDeque<Weak<dyn Spared>>,
    /// Instances that have been called and are not called again. Each holds a slot.
    used: Vec<Instance>,
    is_closed: bool,
}

/// One unit of work for the thread: drop used instances, or make spares of a module.
#[derive(Debug)]
enum Work {
    Drop(Vec<Instance>),
    Fill(Weak<dyn Spared>),
}

impl Spares {
    /// A slot for an instance that waits, or is to be dropped; none where all are in use. Half of them are for modules that have none yet.
    pub(super) fn slot(&self, is_first: bool) -> Option<Slot> {
        let is_granted = is_first || self.slots.free() > SPARE_SLOTS / 2;
        is_granted.then(|| self.slots.take(Instant::now))?
    }

    /// Asks for spares of a module. Each module asks once until the thread begins with it.
    pub(super) fn ask(&self, module: Weak<dyn Spared>) {
        let mut queue = self.queue.lock();
        if !queue.is_closed {
            queue.modules.push_back(module);
            drop(queue);
            self.asked.notify_one();
        }
    }

    /// Drops an instance on the thread: giving its memory back takes longer than many a call. Here, where no slot is free.
    pub(super) fn discard(&self, mut instance: Instance) {
        let Some(slot) = self.slot(false) else { return };
        instance.hold([Some(slot), None]);
        let mut queue = self.queue.lock();
        if !queue.is_closed {
            queue.used.push(instance);
            drop(queue);
            self.asked.notify_one();
        }
    }

    /// Waits for the next unit of work of the thread; `None` once the thread has to end.
    fn next(&self) -> Option<Work> {
        let mut queue = self.queue.lock();
        let is_idle = |queue: &mut Queue| queue.modules.is_empty() && queue.used.is_empty() && !queue.is_closed;
        self.asked.wait_while(&mut queue, is_idle);
        if queue.is_closed {
            return None;
        }
        // Slots first: a spare may take them.
        if queue.used.is_empty() {
            return queue.modules.pop_front().map(Work::Fill);
        }
        Some(Work::Drop(std::mem::take(&mut queue.used)))
    }
}

/// The thread. It ends when this is dropped; modules may outlive it, and then have no more spares.
#[derive(Debug)]
pub(super) struct Maker {
    spares: Arc<Spares>,
    thread: Option<JoinHandle<()>>,
}

impl Maker {
    /// # Errors
    ///
    /// The system has no thread for it.
    pub(super) fn start() -> std::io::Result<Self> {
        let (queue, asked) = (Mutex::default(), Condvar::new());
        let spares = Arc::new(Spares { slots: Slots::new(SPARE_SLOTS), queue, asked });
        let work = {
            let spares = Arc::clone(&spares);
            move || {
                // Requests go first: they can make their own. Without that, it only competes with them.
                let _ = nice(SPARE_NICE);
                while let Some(work) = spares.next() {
                    match work {
                        Work::Drop(used) => drop(used),
                        Work::Fill(module) => {
                            if let Some(module) = module.upgrade() {
                                module.fill();
                            }
                        }
                    }
                }
            }
        };
        let thread = Some(thread::Builder::new().name("spares".to_owned()).spawn(work)?);
        Ok(Self { spares, thread })
    }

    /// Returns the queue and slots that modules share with the thread.
    pub(super) fn spares(&self) -> &Arc<Spares> {
        &self.spares
    }
}

impl Drop for Maker {
    fn drop(&mut self) {
        self.spares.queue.lock().is_closed = true;
        self.spares.asked.notify_all();
        if let Some(thread) = self.thread.take() {
            // A guest that it runs ends at its deadline.
            let _ = thread.join();
        }
    }
}
