//! A target with faults on demand, in place of the cache's writer.

use std::collections::BTreeMap;

use super::*;

/// A target that holds versions and fails on demand.
#[derive(Default)]
pub(super) struct Faulty {
    pub(super) held: BTreeMap<ObjectId, Arc<str>>,
    /// How an object fails, as long as it is in here.
    pub(super) faults: BTreeMap<Arc<str>, Fault>,
    /// UIDs of what was attempted, in order.
    pub(super) tried: Vec<String>,
    /// The versions observed, each with the UID that was attempted last before it.
    pub(super) observed: Vec<(String, String)>,
    pub(super) published: usize,
    pub(super) publish_panics: bool,
    /// How often all nodes and pods of the first lists were there.
    pub(super) completed: usize,
    pub(super) recounts: usize,
    /// How long one object takes, by busy waiting.
    pub(super) pace: Duration,
}

#[derive(Clone, Copy)]
pub(super) enum Fault {
    Error,
    Panic,
    /// A panic after the object is held.
    PanicHalfway,
}

impl Faulty {
    fn trip(&mut self, uid: &str) -> Result<(), ApplyError> {
        let began = Instant::now();
        while began.elapsed() < self.pace {}
        self.tried.push(uid.to_owned());
        match self.faults.get(uid) {
            None => Ok(()),
            Some(Fault::Error) => Err(ApplyError::NoNamespace { key: uid.to_owned() }),
            Some(Fault::Panic) => panic!("on purpose"),
            // Later, once the object is held.
            Some(Fault::PanicHalfway) => Ok(()),
        }
    }
}

impl Target for Faulty {
    fn apply(&mut self, object: &Compiled) -> Result<(), ApplyError> {
        let Identity { kind, uid, version, .. } = &object.identity;
        self.trip(uid)?;
        self.held.insert((*kind, Arc::clone(uid)), Arc::clone(version));
        assert!(!matches!(self.faults.get(uid), Some(Fault::PanicHalfway)), "on purpose");
        Ok(())
    }

    fn remove(&mut self, deleted: &Identity) -> Result<(), ApplyError> {
        self.trip(&deleted.uid)?;
        self.held.remove(&(deleted.kind, Arc::clone(&deleted.uid)));
        Ok(())
    }

    fn note_ended(&mut self, _: &str) {}

    fn recount(&mut self, _: Kind, uid: &str) -> Result<(), ApplyError> {
        self.recounts += 1;
        self.trip(uid)
    }

    fn pod(&self, uid: &str, _: &str) -> Option<Arc<PodRecord>> {
        let version = self.held.get(&(Kind::Pod, Arc::from(uid)))?;
        Some(Arc::new(record(uid, version)))
    }

    fn pods(&self) -> Vec<Arc<PodRecord>> {
        let pods = self.held.iter().filter(|((kind, _), _)| *kind == Kind::Pod);
        pods.map(|((_, uid), version)| Arc::new(record(uid, version))).collect()
    }

    fn pod_count(&self) -> usize {
        0
    }

    fn observe(&mut self, _: Kind, version: &Arc<str>) {
        self.observed.push((self.tried.last().cloned().unwrap_or_default(), version.to_string()));
    }

    fn forget_version(&mut self, kind: Kind) {
        self.observed.push((self.tried.last().cloned().unwrap_or_default(), format!("{kind} void")));
    }

    fn publish(&mut self) {
        self.published += 1;
        assert!(!self.publish_panics, "on purpose");
    }

    fn complete_start(&mut self) {
        self.completed += 1;
    }
}
