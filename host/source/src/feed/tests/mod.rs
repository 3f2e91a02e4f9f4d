//! The feed's guarantees: order, merging, retries, tombstones, sync, waiters. Tests of time use a clock of their own. Start
//! with [`Bench`], an applier without its thread.
#![allow(clippy::unwrap_used, clippy::panic)]

mod ended;
mod order;
mod pulse;
mod retries;
mod rounds;
mod running;
mod target;

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use self::target::{Fault, Faulty};
use super::applier::{Applier, Published};
use super::queue::{Queue, Step};
use super::target::{ApplyError, Target};
use super::{Feed, Metrics, WaitError};
use crate::change::{Change, Compiled, Identity, ObjectChange, ObjectId, Record};
use nodesift_cache::metadata::{Ownership, PodFacts, PodRecord};
use nodesift_object::Kind;

const KIND: Kind = Kind::Namespace;

fn identity(uid: &str, version: u32) -> Identity {
    let (uid, version) = (Arc::from(uid), Arc::from(version.to_string()));
    Identity { kind: KIND, key: Arc::clone(&uid), uid, version }
}

fn object(uid: &str, version: u32) -> Compiled {
    Compiled { identity: identity(uid, version), record: Record::Namespace(Arc::from(uid), Arc::default()) }
}

/// A pod that is pending.
fn record(uid: &str, version: &str) -> PodRecord {
    PodRecord {
        uid: Arc::from(uid),
        namespace: Arc::from("ns"),
        name: Arc::from(uid),
        resource_version: Arc::from(version),
        node_name: None,
        terminating: false,
        ownership: Ownership::Own,
        priority: 0,
        nominated_node: None,
        facts: Arc::new(PodFacts::default()),
        account: None,
        pending: None,
    }
}

fn pod(uid: &str, version: u32) -> Compiled {
    let record = record(uid, &version.to_string());
    let key = Arc::from(format!("ns/{uid}"));
    let (uid, version) = (Arc::clone(&record.uid), Arc::clone(&record.resource_version));
    Compiled { identity: Identity { kind: Kind::Pod, key, uid, version }, record: Record::Pod(Arc::new(record)) }
}

fn applied(uid: &str, version: u32) -> Change {
    Change::Object(ObjectChange::Applied(object(uid, version)))
}

fn deleted(uid: &str, version: u32) -> Change {
    Change::Object(ObjectChange::Deleted(identity(uid, version)))
}

fn list(objects: &[(&str, u32)], version: u32) -> Change {
    let objects = objects.iter().map(|(uid, version)| object(uid, *version)).collect();
    Change::Replaced { kind: KIND, objects, version: Arc::from(version.to_string()) }
}

/// An applier without its thread, and a clock of its own.
struct Bench {
    target: Arc<Mutex<Faulty>>,
    applier: Applier<Faulty>,
    queue: Queue,
    now: Instant,
}

impl Bench {
    fn new() -> Self {
        let target = Arc::<Mutex<Faulty>>::default();
        let applier = Applier::new(Arc::clone(&target), Arc::default(), Metrics::default());
        Self { target, applier, queue: Queue::default(), now: Instant::now() }
    }

    fn push(&mut self, changes: impl IntoIterator<Item = Change>) {
        for change in changes {
            self.queue.push(change, self.now);
        }
    }

    fn turn(&mut self) -> Published {
        let batch = self.queue.drain();
        self.applier.turn(batch, self.now)
    }

    fn held(&self) -> Vec<(String, String)> {
        let held = &self.target.lock().held;
        held.iter().map(|((_, uid), version)| (uid.to_string(), version.to_string())).collect()
    }

    fn tried(&self) -> Vec<String> {
        std::mem::take(&mut self.target.lock().tried)
    }

    fn observed(&self) -> Vec<(String, String)> {
        std::mem::take(&mut self.target.lock().observed)
    }

    fn fail(&self, uid: &str, fault: Fault) {
        self.target.lock().faults.insert(Arc::from(uid), fault);
    }

    fn applier_metrics(&self) -> Metrics {
        self.applier.metrics().clone()
    }

    fn mend(&self) {
        self.target.lock().faults.clear();
    }
}

fn held(pairs: &[(&str, u32)]) -> Vec<(String, String)> {
    pairs.iter().map(|(uid, version)| ((*uid).to_owned(), version.to_string())).collect()
}
