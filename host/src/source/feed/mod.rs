//! The feed: brings what sources have seen into the cache, in one place and one at a time.

use std::sync::Arc;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::change::{Change, Compiled, Identity, Record};
use crate::cache::{SharedWriter, Writer};
use crate::object::Kind;

/// Takes changes from sources; clones feed the same cache.
#[derive(Clone)]
pub struct Feed {
    writer: SharedWriter,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// Held until the first whole list of a kind has been applied.
    waiting: FxHashMap<Kind, Box<dyn Send>>,
}

impl Feed {
    /// A feed into a cache.
    pub fn new(writer: SharedWriter) -> Self {
        Self { writer, state: Arc::default() }
    }

    /// Holds a guard, such as a readiness latch, until the first whole list of a kind has been reconciled.
    pub fn hold_until_whole(&self, kind: Kind, guard: Box<dyn Send>) {
        self.state.lock().waiting.insert(kind, guard);
    }

    /// Hands a change over. Changes of one object are applied in the order in which they are delivered; some may be merged.
    pub fn deliver(&self, change: Change) {
        let mut writer = self.writer.lock();
        match change {
            Change::Applied(object) => apply(&mut writer, object),
            Change::Gone(identity) => remove(&mut writer, &identity),
            Change::Replaced { kind, objects, .. } => {
                objects.into_iter().for_each(|object| apply(&mut writer, object));
                writer.publish();
                self.state.lock().waiting.remove(&kind);
            }
            Change::Seen { .. } => {}
        }
        writer.publish();
    }
}

fn apply(writer: &mut Writer, object: Compiled) {
    let Identity { kind: _, key, uid, .. } = object.identity;
    match object.record {
        Record::Node(node) => writer.apply_node(&node),
        Record::Pod(pod) => writer.apply_pod(*pod),
        Record::EndedPod => writer.remove_pod(&uid),
        Record::Namespace(labels) => writer.apply_namespace(&key, &labels),
        Record::DeviceClass(_) => {}
        Record::Workload(workload) => writer.apply_workload(&workload),
        Record::Storage(record) => writer.apply_storage(*record),
        Record::Unreadable => {}
    }
}

fn remove(writer: &mut Writer, gone: &Identity) {
    match gone.kind {
        Kind::Node => writer.remove_node(&gone.key),
        Kind::Pod => writer.remove_pod(&gone.uid),
        _ => {}
    }
}
